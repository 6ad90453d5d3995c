import type { Generator } from '../load/generator.ts'
import type { TurnResult } from '../load/loop.ts'
import type { Operation, Workload } from '../workloads.ts'

/** Where everybody works. */
export interface Stage { readonly databaseUrl: string, readonly generator: Generator }

/** Somebody who takes part: how it is started, in a process of its own. */
export interface Contender {
  readonly name: string
  /** Those that it can do; all if left out. */
  readonly workloads?: readonly string[]
  /** Set where it only answers and has no rows to check. */
  readonly withoutRows?: true
  start (stage: Stage): Promise<Running>
}

export interface TurnOptions {
  readonly workload: Workload
  /** Clients that ask at the same time. */
  readonly connections: number
  /** Answers that every client has before anything counts. */
  readonly warmUp: number
  readonly seconds: number
}

export interface Running {
  readonly pid: number
  /** From the start of the process to the first answer. */
  readonly startSeconds: number
  /** Does one operation; rows, where it selects. @throws where the answer is no success */
  run (operation: Operation): Promise<Array<Record<string, unknown>>>
  turn (options: TurnOptions): Promise<TurnResult>
  /** Statuses of a request without a token and of one with a wrong body; none where there is no HTTP. */
  refusals (): Promise<number[]>
  stop (): Promise<void>
}
