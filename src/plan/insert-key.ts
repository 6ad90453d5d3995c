import type { Column, Table } from '../catalog/catalog.ts'
import { unsupported } from '../errors.ts'
import type { Moment, Parameter } from '../types/column-type.ts'
import type { Assignment, Conflict, InsertPlan, PlannedRow } from './plan.ts'
import { rowKeysOf } from './row-keys.ts'

/** The key by which an inserted row is found; undefined if the values of none are known. */
export function findInsertKey (table: Table, assignments: readonly Assignment[]): readonly Column[] | undefined {
  // null for a NOT NULL column is refused later (not-null.ts)
  const given = new Set(assignments.flatMap(({ column, parameter }) => parameter === null && column.nullable ? [] : [column]))
  return rowKeysOf(table).find((columns) => columns.every((column) => given.has(column) || column.autoIncrement))
}

/**
 * Adds the key by which an insert reads the rows that it returns; none to a single row if the values of no unique key are known.
 * @throws NOT_SUPPORTED for several rows and for an upsert then
 */
export function withInsertKey (plan: InsertPlan): InsertPlan {
  const { table, assignments, rows } = plan
  const key = rows === undefined ? findInsertKey(table, assignments) : rows.conflict === undefined ? findListKey(table, rows.rows) : findConflictKey(rows.conflict, rows.rows)
  if (key !== undefined) return Object.freeze({ ...plan, key })
  const number = rows?.conflict === undefined ? undefined : findNumber(table, rows.conflict, rows.rows)
  if (rows !== undefined && number !== undefined) return Object.freeze({ ...plan, rows: { ...rows, isNumbered: true as const }, key: [number] })
  if (rows === undefined) return plan
  const message = rows.conflict === undefined
    ? `table "${table.name}" has no unique key whose values are known: send the values of one, or leave out "returning"`
    : `rows of "${table.name}" cannot be found again: every row needs values of the key, and "set" must not change it, unless the table has an AUTO_INCREMENT column that is not written`
  throw unsupported('/returning', message)
}

/** A row gets a number from the database where it has no value for the column. */
function findListKey (table: Table, rows: readonly PlannedRow[]): readonly Column[] | undefined {
  return rowKeysOf(table).find((key) => isGiven(key, rows))
}

const isGiven = (key: readonly Column[], rows: readonly PlannedRow[]): boolean => key.every((column) => column.autoIncrement || rows.every((row) => givenValue(row, column) !== null))

/** Only the named key is that of a row that exists as well. */
function findConflictKey ({ key, set }: Conflict, rows: readonly PlannedRow[]): readonly Column[] | undefined {
  const isKept = set.kind !== 'assignments' || set.assignments.every(({ column }) => !key.includes(column))
  return isKept && isGiven(key, rows) ? key : undefined
}

/**
 * The column whose number is reported for each row of an upsert, also for one that exists; undefined if the request writes it. SQLite reports that of
 * a new row alone: rows that exist are found by the named key.
 */
function findNumber ({ identity, engine }: Table, { key, set }: Conflict, rows: readonly PlannedRow[]): Column | undefined {
  const written = set.kind === 'columns' ? set.columns : set.kind === 'assignments' ? set.assignments.map(({ column }) => column) : rows.flatMap(({ columns }) => columns)
  if (identity?.autoIncrement !== true || written.includes(identity)) return undefined
  const isFound = engine !== 'sqlite' || (!key.some((column) => column.generated || column.defaultComputed === true) && (set.kind !== 'assignments' || !key.some((column) => written.includes(column))))
  return isFound ? identity : undefined
}

/** The value that the request gives a column; null if it gives none. It is a moment only until the plan is settled. */
export function givenValue ({ columns, parameters }: PlannedRow, column: Column): Parameter | Moment {
  return parameters[columns.indexOf(column)] ?? null
}
