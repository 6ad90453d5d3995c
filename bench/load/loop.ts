/** A closed loop: each client sends its next request as soon as it has its answer. */
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds } from '../measure/process.ts'
import { percentile } from '../measure/statistics.ts'

/** A client. It sends the operation with the given number and returns whether the answer was a success. */
export type Client = (operation: number, done: (good: boolean) => void) => void

export interface Turn {
  /** Answers for each client before the measurement starts: a server accepts new connections one by one, between other work. */
  readonly warmUp: number
  readonly seconds: number
  /** The process that is measured. */
  readonly pid: number
}

export interface TurnResult {
  readonly requests: number
  readonly seconds: number
  /** Answers that were not a success, including the warm-up. */
  readonly bad: number
  /** Milliseconds, in ascending order, one for each request. */
  readonly latencies: readonly number[]
  /** Percentiles of the latencies. */
  readonly p50: number
  readonly p99: number
  /** CPU seconds of the measured process. */
  readonly cpuSeconds: number
  /** CPU seconds of the load generator, which must not be the bottleneck; 0 if it is the measured process. */
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
  if (warmUp === 0) warm.resolve()
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

/** All values in seconds. */
function clocks (pid: number): { time: number, cpu: number, clientCpu: number } {
  return { time: performance.now() / 1000, cpu: cpuSeconds(pid), clientCpu: cpuSeconds(process.pid) }
}
