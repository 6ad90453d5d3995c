/** What a run has found, as it is kept in benchmark.json. */
import type { Figures } from '../measure/rounds.ts'
import type { Spread } from '../measure/statistics.ts'

export interface Stamp {
  readonly date: string
  readonly commit: string
  readonly machine: string
  /** Load average of the machine in the minute before. */
  readonly load: number
  readonly versions: Readonly<Record<string, string>>
  /** How long it was measured. */
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
  /** Its CPU against that of the better hand-written route, round by round; undefined where none took part. */
  readonly ratio: Spread | undefined
  /** Answers that were no success. */
  readonly bad: number
}

export interface WorkloadResult { readonly workload: string, readonly rows: readonly Row[], readonly turns: readonly Figures[] }

/** A table of its own: what grows, and what was seen. */
export interface GrowthResult {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: ReadonlyArray<readonly string[]>
  /** A sentence for who reads no tables. */
  readonly summary?: string
}

export interface Results {
  readonly stamp: Stamp
  readonly workloads: readonly WorkloadResult[]
  readonly growth: readonly GrowthResult[]
}
