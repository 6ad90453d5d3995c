/** What a plan did, from which its answer is written. */
import type { Outcome } from '../dialects/dialect.ts'
import type { InsertPlan } from '../plan/plan.ts'

/** The outcome of the statement of a plan, and what else its answer contains. */
export interface Result extends Outcome, RowsResult, CountResult {}

/** What became of the rows. */
export interface RowCounts {
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  /** The number that the database gave the first row, or that the row has which was there before. */
  readonly insertId: string | undefined
  /** The rows of the statement that were neither inserted nor updated, by their places (Outcome). */
  readonly untouched?: readonly number[] | undefined
}

/** What an insert of rows adds to the outcome of its statements. */
export interface RowsResult {
  readonly counts?: RowCounts
  /** The id of the row, as JSON, where it had to be read. */
  readonly storedId?: string | undefined
  /** The insert as it ran, with values in place of moments, if its plan had some that were settled before. */
  readonly settled?: InsertPlan
}

/** What a select with `total` adds to the outcome of its statement. */
export interface CountResult {
  /** The number of rows that its condition selects, as digits. */
  readonly total?: string | undefined
}
