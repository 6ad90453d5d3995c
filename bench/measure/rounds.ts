/** Measures all contenders in turns, so that temporary disturbances of the machine affect all of them. */
import type { Contender, Running, Stage } from '../contenders/contender.ts'
import type { TurnResult } from '../load/loop.ts'
import type { Workload } from '../workloads.ts'
import { turnOrder } from './order.ts'
import { memory, otherSeconds } from './process.ts'

export interface Effort {
  /** How often each contender is restarted: V8 compiles the same program differently each time. */
  readonly starts: number
  /** The number of rounds, summed over all starts. */
  readonly rounds: number
  /** Seconds of one turn. */
  readonly seconds: number
  /**
   * The requests of the warm-up turns before the first round, because V8 compiles code by how often it ran. The warm-up
   * also ends when the other threads, which compile, have less to do than `QUIET`, or after `longestWarmUp` seconds.
   */
  readonly warmUpRequests: number
  readonly longestWarmUp: number
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
  /** The first requests of the process, one for each start. */
  readonly cold: readonly ColdStart[]
  /** MB. */
  readonly peakMemory: number
}

/** What the first requests of a process have cost. */
export type ColdStart = Pick<TurnResult, 'requests' | 'cpuSeconds'>

/** The number of the first requests. */
export const FIRST = 1500

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
    return { name, turns: figures.flatMap(({ turns }) => turns), cold: figures.flatMap(({ cold }) => cold), peakMemory: Math.max(...figures.map(({ peakMemory }) => peakMemory)) }
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
    return players.map(({ entry: { name }, running, turns, cold }) => ({ name, turns, cold: [cold], peakMemory: memory(running.pid, 'VmHWM') }))
  } finally {
    for (const { running } of players) await running.stop()
  }
}

interface Player { readonly entry: Entry, readonly running: Running, readonly turns: TurnResult[], readonly cold: ColdStart }

/** The share of the other threads at which everything is compiled. */
const QUIET = 0.05

/** The warm-up also has turns with new connections: otherwise V8 would recompile code in the first measured turns. */
async function prepare (entry: Entry, { warmUpRequests, longestWarmUp, seconds }: Effort): Promise<Player> {
  try {
    const running = await entry.contender.start(entry.stage)
    await entry.check?.(running)
    const player = { entry, running, turns: [], cold: { requests: 0, cpuSeconds: 0 } }
    const { cold } = player
    let isQuiet = false
    for (let warm = 0, sent = 0; warm < longestWarmUp && sent < warmUpRequests && !isQuiet; warm += seconds) {
      const others = otherSeconds(running.pid)
      const isFirst = sent < FIRST
      const { bad, requests, cpuSeconds } = await play(player, seconds, isFirst ? 0 : SETTLE)
      sent += requests
      if (isFirst) {
        cold.requests += requests
        cold.cpuSeconds += cpuSeconds
      } else isQuiet = (otherSeconds(running.pid) - others) / cpuSeconds < QUIET
      if (bad > 0) console.log(`# ${entry.name}: ${bad} answers of the warm-up were no success`)
    }
    return player
  } catch (error) {
    throw new Error(`${entry.name}, ${entry.workload.name}: ${(error as Error).message}`)
  }
}

function play (
  { entry: { workload, connections = CONNECTIONS }, running }: Pick<Player, 'entry' | 'running'>,
  seconds: number,
  warmUp = SETTLE
): Promise<TurnResult> {
  return running.turn({ workload, connections, warmUp, seconds })
}
