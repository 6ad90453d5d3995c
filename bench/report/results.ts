/** The results of a run, as stored in benchmark.json. */
import type { Figures } from '../measure/rounds.ts'
import type { Spread } from '../measure/statistics.ts'

export interface Stamp {
  readonly date: string
  readonly commit: string
  readonly machine: string
  /** Load average of the machine in the minute before. */
  readonly load: number
  readonly versions: Readonly<Record<string, string>>
  /** The duration of the measurement. */
  readonly effort: string
}

export interface Row {
  readonly name: string
  readonly requestsPerSecond: number
  /** Milliseconds, of the requests of all rounds. */
  readonly p50: number
  readonly p99: number
  /** CPU seconds of the contender's process for 10,000 requests. */
  readonly cpu: number
  /** MB. */
  readonly peakMemory: number
  /** The median ratio of its CPU to that of the better hand-written route in each round, with its interval; undefined without such a route. */
  readonly ratio: Spread | undefined
  /** Answers that were not a success. */
  readonly bad: number
}

/** The first requests of a process. */
export type ColdRow = Pick<Row, 'name' | 'cpu' | 'ratio'>

export interface WorkloadResult {
  readonly workload: string
  readonly rows: readonly Row[]
  readonly cold: readonly ColdRow[]
  readonly turns: readonly Figures[]
}

/** The table of a growth measurement. */
export interface GrowthResult {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: ReadonlyArray<readonly string[]>
  /** A summary in one sentence. */
  readonly summary?: string
}

export interface Results {
  readonly stamp: Stamp
  readonly workloads: readonly WorkloadResult[]
  readonly growth: readonly GrowthResult[]
}
