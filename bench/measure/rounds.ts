/** Measures all contenders in turns, so that temporary disturbances of the machine affect all of them. */
import type { Contender, Running, Stage } from '../contenders/contender.ts'
import type { TurnResult } from '../load/loop.ts'
import type { Workload } from '../workloads.ts'
import { turnOrder } from './order.ts'
import { memory } from './process.ts'

export interface Effort {
  /** How often each contender is restarted: V8 compiles the same program differently each time. */
  readonly starts: number
  /** The number of rounds, summed over all starts. */
  readonly rounds: number
  /** Seconds of one turn. */
  readonly seconds: number
  /** What the warm-up turns before the first round last at least: seconds, and requests, because V8 compiles code by how often it ran. */
  readonly warmUp: number
  readonly warmUpRequests: number
}

/** A contender with its database and its workload. */
export interface Entry {
  readonly name: string
  readonly contender: Contender
  readonly stage: Stage
  readonly workload: Workload
  /** The number of concurrent clients; 50 by default. */
  readonly connections?: number
  /** Runs before the measurement. @throws if the contender should not be measured */
  readonly check?: (running: Running) => Promise<void>
}

export interface Figures {
  readonly name: string
  /** One for each round. */
  readonly turns: readonly TurnResult[]
  /** MB. */
  readonly peakMemory: number
}

export const CONNECTIONS = 50

/** Answers for each client at the start of a turn that do not count, because its connection is new. */
const SETTLE = 3

/**
 * Uses new processes, so that earlier measurements have no influence. The first `neighbours`
 * entries have their turns next to each other.
 */
export async function measureInTurns (entries: readonly Entry[], effort: Effort, neighbours = 0): Promise<Figures[]> {
  const starts: Figures[][] = []
  for (let start = 0; start < effort.starts; start++) {
    const [first, end] = [start, start + 1].map((number) => Math.round(effort.rounds * number / effort.starts)) as [number, number]
    starts.push(await measureStart(entries, effort, { first, end, neighbours }))
  }
  return entries.map(({ name }, index) => {
    const figures = starts.map((start) => start[index] as Figures)
    return { name, turns: figures.flatMap(({ turns }) => turns), peakMemory: Math.max(...figures.map(({ peakMemory }) => peakMemory)) }
  })
}

/** The rounds from `first` to before `end`. */
async function measureStart (entries: readonly Entry[], effort: Effort, { first, end, neighbours }: { first: number, end: number, neighbours: number }): Promise<Figures[]> {
  const players: Player[] = []
  try {
    for (const entry of entries) players.push(await prepare(entry, effort))
    for (let round = first; round < end; round++) {
      for (const player of turnOrder(players, round, neighbours)) player.turns.push(await play(player, effort.seconds))
    }
    return players.map(({ entry: { name }, running, turns }) => ({ name, turns, peakMemory: memory(running.pid, 'VmHWM') }))
  } finally {
    for (const { running } of players) await running.stop()
  }
}

interface Player { readonly entry: Entry, readonly running: Running, readonly turns: TurnResult[] }

/** A slow contender has fewer requests: its warm-up ends after this multiple of its seconds. */
const LONGEST = 6

/** The warm-up also has turns with new connections: otherwise V8 would recompile code in the first measured turns. */
async function prepare (entry: Entry, { warmUp, warmUpRequests, seconds }: Effort): Promise<Player> {
  try {
    const running = await entry.contender.start(entry.stage)
    await entry.check?.(running)
    const player = { entry, running, turns: [] }
    for (let warm = 0, sent = 0; warm < warmUp || (sent < warmUpRequests && warm < LONGEST * warmUp); warm += seconds) {
      const { bad, requests } = await play(player, seconds)
      sent += requests
      if (bad > 0) console.log(`# ${entry.name}: ${bad} answers of the warm-up were no success`)
    }
    return player
  } catch (error) {
    throw new Error(`${entry.name}, ${entry.workload.name}: ${(error as Error).message}`)
  }
}

function play ({ entry: { workload, connections = CONNECTIONS }, running }: Player, seconds: number): Promise<TurnResult> {
  return running.turn({ workload, connections, warmUp: SETTLE, seconds })
}
