import type { Column, Table } from '../catalog/catalog.ts'
import { unsupported } from '../errors.ts'
import { givenValue, type Conflict, type InsertPlan, type PlannedRow } from './plan.ts'
import { rowKeysOf } from './row-keys.ts'

/** The key by which inserted rows are found: each row has its values, or gets a number from the database. Undefined if there is none. */
export function findInsertKey (table: Table, rows: readonly PlannedRow[]): readonly Column[] | undefined {
  return rowKeysOf(table).find((key) => isGiven(key, rows))
}

/** Null for a NOT NULL column is refused later (not-null.ts). */
const isGiven = (key: readonly Column[], rows: readonly PlannedRow[]): boolean =>
  key.every((column) => column.autoIncrement || rows.every((row) => givenValue(row, column) !== null || (!column.nullable && row.columns.includes(column))))

/**
 * Adds the key by which an insert reads the rows that it returns. A single row needs none.
 * @throws NOT_SUPPORTED for several rows or an upsert if the values of no unique key are known
 */
export function withInsertKey (plan: InsertPlan): InsertPlan {
  const { table, rows, isList, conflict } = plan
  const key = conflict === undefined ? findInsertKey(table, rows) : findConflictKey(conflict, rows)
  if (key !== undefined) return Object.freeze({ ...plan, key })
  const number = conflict === undefined ? undefined : findNumber(table, conflict, rows)
  if (number !== undefined) return Object.freeze({ ...plan, isNumbered: true as const, key: [number] })
  if (conflict === undefined && !isList) return plan
  const message = conflict === undefined
    ? `table "${table.name}" has no unique key whose values are known: send the values of one, or leave out "returning"`
    : `rows of "${table.name}" cannot be found again: every row needs values of the key, and "set" must not change it, unless the table has an AUTO_INCREMENT column that is not written`
  throw unsupported('/returning', message)
}

/** The key named by `onConflict`, unless the upsert changes it: only this key also finds rows that exist. */
function findConflictKey ({ key, set }: Conflict, rows: readonly PlannedRow[]): readonly Column[] | undefined {
  const isKept = set.kind !== 'assignments' || set.assignments.every(({ column }) => !key.includes(column))
  return isKept && isGiven(key, rows) ? key : undefined
}

/**
 * The column whose number is known for each row of an upsert, also for rows that exist; undefined if the request writes it. SQLite reports only the
 * numbers of new rows, so rows that exist must be found by the named key.
 */
function findNumber ({ identity, engine }: Table, { key, set }: Conflict, rows: readonly PlannedRow[]): Column | undefined {
  const written = set.kind === 'columns' ? set.columns : set.kind === 'assignments' ? set.assignments.map(({ column }) => column) : rows.flatMap(({ columns }) => columns)
  if (identity?.autoIncrement !== true || written.includes(identity)) return undefined
  const isFound = engine !== 'sqlite' || (!key.some((column) => column.generated || column.defaultComputed === true) && (set.kind !== 'assignments' || !key.some((column) => written.includes(column))))
  return isFound ? identity : undefined
}
