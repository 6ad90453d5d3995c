/** A closed loop: so many clients, each of which asks again as soon as it has its answer. */
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds } from '../measure/process.ts'
import { percentile } from '../measure/statistics.ts'

/** One client. It asks for the operation of that number and says whether the answer was a good one. */
export type Client = (operation: number, done: (good: boolean) => void) => void

export interface Turn {
  /** Answers that every client has before anything counts: a server accepts many new ones one by one, between other work. */
  readonly warmUp: number
  readonly seconds: number
  /** The process that is measured. */
  readonly pid: number
}

export interface TurnResult {
  readonly requests: number
  readonly seconds: number
  /** Answers that were no success, those of the warm-up included. */
  readonly bad: number
  /** Milliseconds, in ascending order, one for each request. */
  readonly latencies: readonly number[]
  /** Of these. */
  readonly p50: number
  readonly p99: number
  /** Of the process that is measured. */
  readonly cpuSeconds: number
  /** Of the process that asks, which must not be what everybody waits for; 0 where it is the one that is measured. */
  readonly clientCpuSeconds: number
}

export async function runLoop (clients: readonly Client[], operations: number, { warmUp, seconds, pid }: Turn): Promise<TurnResult> {
  let latencies: number[] = []
  let next = 0
  let bad = 0
  let settled = 0
  let open = true
  const warm = Promise.withResolvers<void>()

  const loop = (client: Client): Promise<void> => new Promise((resolve) => {
    let answers = 0
    const ask = (): void => {
      if (!open) return resolve()
      const begin = performance.now()
      client(next++ % operations, (good) => {
        latencies.push(performance.now() - begin)
        if (!good) bad++
        if (++answers === warmUp && ++settled === clients.length) warm.resolve()
        ask()
      })
    }
    ask()
  })
  const loops = clients.map(loop)

  await warm.promise
  latencies = []
  const begin = clocks(pid)
  await sleep(seconds * 1000)
  const counted = latencies
  const end = clocks(pid)
  open = false
  latencies = []
  await Promise.all(loops)

  const sorted = Float64Array.from(counted).sort()
  return {
    requests: sorted.length,
    seconds: end.time - begin.time,
    bad,
    latencies: Array.from(sorted, (time) => Math.round(time * 100) / 100),
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
    cpuSeconds: end.cpu - begin.cpu,
    clientCpuSeconds: pid === process.pid ? 0 : end.clientCpu - begin.clientCpu
  }
}

/** All in seconds. */
function clocks (pid: number): { time: number, cpu: number, clientCpu: number } {
  return { time: performance.now() / 1000, cpu: cpuSeconds(pid), clientCpu: cpuSeconds(process.pid) }
}
