/** The result of a plan, from which its response is written. */
import { type Column, mayFillColumns, type Table } from '../catalog/catalog.ts'
import type { StatementResult } from '../dialects/dialect.ts'
import { boundValue } from '../plan/moments.ts'
import type { InsertPlan, PlannedRow } from '../plan/plan.ts'
import type { DriverValue, Parameter, Value } from '../types/column-type.ts'

/** The outcome of the statement of a plan, and the additional facts of its response. */
export interface Result extends StatementResult, RowsResult, CountResult {}

/** The number of rows with each outcome. */
export interface RowCounts {
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  /** The number that the database gave to the first row, or that of the row that already existed. */
  readonly insertId: string | undefined
  /** The id of the row that existed (StatementResult). */
  readonly existing?: DriverValue | null | undefined
  /** The indexes of the rows of the statement that were neither inserted nor updated (StatementResult). */
  readonly untouched?: readonly number[] | undefined
}

/** The facts that an insert of rows adds to the outcome of its statements. */
export interface RowsResult {
  readonly counts?: RowCounts
  /** The id of the row as JSON, if it had to be read. */
  readonly storedId?: string | undefined
  /** The id as JSON of the row that an upsert found, as it was before, if it had to be read. */
  readonly existingId?: string | undefined
  /** The insert as it ran, with values in place of moments, if the clock was bound. */
  readonly bound?: InsertPlan
}

/** The fact that a select with `total` adds to the outcome of its statement. */
export interface CountResult {
  /** The number of rows that its condition selects, as digits. */
  readonly total?: string | undefined
}

// Finds `id` in the response to an insert, as JSON.

/**
 * The number that the database gave to the row, or the value that the request gave to its key; null if neither is
 * certain. `given`: the value of the request.
 */
export function idOfInserted (
  table: Table,
  given: Parameter | undefined,
  { insertId, changed }: StatementResult
): string {
  const { identity } = table
  // a trigger of SQLite may skip the row, or change its key afterwards
  if (identity === undefined || changed === 0 || insertId === undefined) return 'null'
  // a BEFORE INSERT trigger may set the key, and the database only reports the value of an AUTO_INCREMENT column
  if (given === undefined || given === null || mayFillColumns(table)) {
    return identity.autoIncrement ? shownNumber(identity, insertId) : 'null'
  }
  return identity.type.storedJson(given)
}

/** The id of the only row of an upsert, as it is after the statement. */
export function idOfUpserted ({ table, rows, conflict }: InsertPlan, outcome: StatementResult & RowsResult): string {
  const { identity } = table
  const { storedId, existingId, insertId, counts } = outcome
  if (storedId !== undefined || identity === undefined) return storedId ?? 'null'
  const given = findParameter(rows[0] as PlannedRow, identity)
  const { inserted } = counts as RowCounts
  if (inserted > 0) return idOfInserted(table, given, outcome)
  const set = conflict?.set
  const assigned = set?.kind === 'assignments' ? set.assignments.find(({ column }) => column === identity) : undefined
  if (assigned !== undefined) {
    return assigned.operator === undefined && assigned.parameter !== null
      ? identity.type.storedJson(boundValue(assigned.parameter) as Value)
      : 'null'
  }
  const isWritten = set?.kind === 'columns' ? set.columns.includes(identity) : set?.kind === 'given'
  if (identity.autoIncrement && insertId !== undefined && !(isWritten && given !== undefined)) {
    return shownNumber(identity, insertId)
  }
  if (existingId !== undefined && !(isWritten && given !== undefined)) return existingId
  // a row that was found by another key has another id, and a BEFORE INSERT trigger may have made it the key of another
  // row
  const isOfRow = isWritten || conflict?.key.includes(identity) === true
  const isKnown = isOfRow && given !== undefined && given !== null && (identity.autoIncrement || !mayFillColumns(table))
  return isKnown ? identity.type.storedJson(given) : 'null'
}

/** The value of a column in a row. */
export function findParameter ({ columns, parameters }: PlannedRow, column: Column | undefined): Parameter | undefined {
  const parameter = column === undefined ? undefined : parameters[columns.indexOf(column)]
  return parameter === undefined ? undefined : boundValue(parameter)
}

/** Numbers of up to so many digits are the same in every type. */
const SHORT = 15

/** The number as JSON. */
export function shownNumber (column: Column, insertId: string): string {
  return insertId.length <= SHORT ? insertId : column.type.storedJson(numberOf(column, insertId))
}

/** The number as a value of the column, because the database does not report whether it is signed. */
export function numberOf ({ type }: Column, insertId: string): Value {
  try {
    return type.read(insertId)
  } catch {
    return BigInt.asIntN(64, BigInt(insertId))
  }
}
