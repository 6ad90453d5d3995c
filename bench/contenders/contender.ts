import type { Generator } from '../load/generator.ts'
import type { TurnResult } from '../load/loop.ts'
import type { Operation, Workload } from '../workloads.ts'

/** The database that all contenders use. */
export interface Stage { readonly databaseUrl: string, readonly generator: Generator }

/** A contender, and how it is started in its own process. */
export interface Contender {
  readonly name: string
  /** The workloads that it supports; all by default. */
  readonly workloads?: readonly string[]
  /** Set if it has no rows to check. */
  readonly withoutRows?: true
  start (stage: Stage): Promise<Running>
}

export interface TurnOptions {
  readonly workload: Workload
  /** The number of concurrent clients. */
  readonly connections: number
  /** Answers for each client before the measurement starts. */
  readonly warmUp: number
  readonly seconds: number
}

export interface Running {
  readonly pid: number
  /** Where it listens; undefined without HTTP. */
  readonly port?: number
  /** Time from the start of the process to the first answer. */
  readonly startSeconds: number
  /** Runs one operation; returns the rows of a select. @throws if the answer is not a success */
  run (operation: Operation): Promise<Array<Record<string, unknown>>>
  turn (options: TurnOptions): Promise<TurnResult>
  /** The statuses of a request without a token and of one with an invalid body; none without HTTP. */
  refusals (): Promise<number[]>
  stop (): Promise<void>
}
