/** The result of a plan, from which its answer is written. */
import type { Outcome } from '../dialects/dialect.ts'
import type { InsertPlan } from '../plan/plan.ts'
import type { DriverValue } from '../types/column-type.ts'

/** The outcome of the statement of a plan, and the additional facts of its answer. */
export interface Result extends Outcome, RowsResult, CountResult {}

/** The number of rows with each outcome. */
export interface RowCounts {
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  /** The number that the database gave to the first row, or that of the row that already existed. */
  readonly insertId: string | undefined
  /** The id of the row that existed (Outcome). */
  readonly existing?: DriverValue | null | undefined
  /** The indexes of the rows of the statement that were neither inserted nor updated (Outcome). */
  readonly untouched?: readonly number[] | undefined
}

/** The facts that an insert of rows adds to the outcome of its statements. */
export interface RowsResult {
  readonly counts?: RowCounts
  /** The id of the row as JSON, if it had to be read. */
  readonly storedId?: string | undefined
  /** The id as JSON of the row that an upsert found, as it was before, if it had to be read. */
  readonly existingId?: string | undefined
  /** The insert as it ran, with values in place of moments, if they had to be settled. */
  readonly settled?: InsertPlan
}

/** The fact that a select with `total` adds to the outcome of its statement. */
export interface CountResult {
  /** The number of rows that its condition selects, as digits. */
  readonly total?: string | undefined
}
