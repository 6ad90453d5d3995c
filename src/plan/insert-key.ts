/** The keys of inserted rows: by which they are found again, and in whose order they are written. */
import { type Column, type Table, traitsOf } from '../catalog/catalog.ts'
import { unsupported } from '../errors.ts'
import { type Value, isMoment } from '../types/column-type.ts'
import { valueOr, boundValue, type Given, givenValue } from './holes.ts'
import type { Conflict, InsertPlan, PlannedRow } from './plan.ts'
import { rowKeysOf, storedKey } from './row-keys.ts'
import { factsOf, isComputed, knownDefault } from './writes.ts'

/**
 * Inserted rows are found by it: each has its values, or gets a number from the database. Undefined if there is none.
 */
export function findInsertKey (table: Table, rows: readonly PlannedRow[]): readonly Column[] | undefined {
  return rowKeysOf(table).find((key) => isGiven(key, rows))
}

/** Null for a NOT NULL column is refused later (src/verbs/insert.ts). */
const isGiven = (key: readonly Column[], rows: readonly PlannedRow[]): boolean =>
  key.every(
    (column) =>
      column.autoIncrement ||
      rows.every((row) => givenValue(row, column) !== null || (!column.nullable && row.columns.includes(column)))
  )

/**
 * Adds the key by which the insert reads the rows that it returns. @throws NOT_SUPPORTED if the values of no unique key
 * are known
 */
export function withInsertKey (plan: InsertPlan): InsertPlan {
  const { table, rows, conflict } = plan
  const key = conflict === undefined ? findInsertKey(table, rows) : findConflictKey(conflict, rows)
  const numberColumn = conflict === undefined ? undefined : findNumberColumn(table, conflict, rows)
  const { altersNew, altersChanged } = factsOf(table)
  // a trigger may give the row another key
  const mayMove = conflict !== undefined && (altersNew || altersChanged)
  if (key !== undefined && (numberColumn === undefined || !mayMove)) return Object.freeze({ ...plan, key })
  if (numberColumn !== undefined) return Object.freeze({ ...plan, isFoundByNumber: true as const, key: [numberColumn] })
  const message =
    conflict === undefined
      ? `table "${table.name}" has no unique key whose values are known: send the values of one, or leave out ` +
        '"returning"'
      : `rows of "${table.name}" cannot be found again: every row needs values of the key, and "set" must not change ` +
        'it, unless the table has an AUTO_INCREMENT column that is not written'
  throw unsupported('/returning', message)
}

/** The key named by `onConflict`, unless the upsert changes it: only this key also finds rows that exist. */
const findConflictKey = (conflict: Conflict, rows: readonly PlannedRow[]): readonly Column[] | undefined =>
  keepsKey(conflict) && isGiven(conflict.key, rows) ? conflict.key : undefined

export const keepsKey = ({ key, set }: Conflict): boolean =>
  set.kind !== 'assignments' || set.assignments.every(({ column }) => !key.includes(column))

/**
 * The column whose number is known for each row of an upsert, also for rows that exist; undefined if the request writes
 * it. On SQLite the number of a row that exists is read by the named key.
 */
function findNumberColumn (
  table: Table,
  { key, set }: Conflict,
  rows: readonly PlannedRow[]
): Column | undefined {
  const { identity } = table
  const written =
    set.kind === 'columns'
      ? set.columns
      : set.kind === 'assignments'
        ? set.assignments.map(({ column }) => column)
        : rows.flatMap(({ columns }) => columns)
  if (identity?.autoIncrement !== true || written.includes(identity)) return undefined
  const isFound =
    traitsOf(table).reportsNumbers ||
    (!key.some(isComputed) &&
      (set.kind !== 'assignments' || !key.some((column) => written.includes(column))))
  return isFound ? identity : undefined
}

/** Null if the database numbers the row, or a BEFORE INSERT trigger may number it differently. */
export function knownKey (
  { table, conflict, isFoundByNumber }: Pick<InsertPlan, 'table' | 'conflict' | 'isFoundByNumber'>,
  row: PlannedRow,
  column: Column
): Value | null {
  const value = boundValue(givenValue(row, column))
  const isRenumbered = conflict === undefined && column.autoIncrement && factsOf(table).fillsNew
  return value === null || isFoundByNumber === true || isRenumbered ? null : storedKey(column, value)
}

/** Which rows of a list have a statement of their own, so that their numbers are known, and why. */
export interface RowsApart {
  readonly rows: 'all' | 'first'
  readonly why: string
}

/**
 * Undefined if one statement for all rows tells the numbers that the response needs: with `returning` that of each row,
 * and otherwise that of the first. Rows that one statement numbers have consecutive numbers, unless some of them
 * already have a number, exist, or are numbered by a trigger; a trigger of SQLite may insert rows in between.
 */
export function whyNumbersApart (plan: InsertPlan): RowsApart | undefined {
  const { table, rows, conflict, key } = plan
  if (rows.length === 1) return undefined
  const { fillsNew, takesNumbers } = factsOf(table)
  const numberColumn = key?.find(({ autoIncrement }) => autoIncrement)
  if (numberColumn === undefined) {
    return conflict === undefined && table.identity?.autoIncrement === true && fillsNew
      ? { rows: 'first', why: 'a trigger may number it, and then the server reports the number of another row' }
      : undefined
  }
  const unknown = rows.filter((row) => knownKey(plan, row, numberColumn) === null)
  const isConsecutive = unknown.length === rows.length && conflict === undefined && !fillsNew && !takesNumbers
  return unknown.length === 0 || isConsecutive
    ? undefined
    : { rows: 'all', why: 'the rows are found by numbers that may not be consecutive' }
}

// Two requests that write the same rows in different orders end in a deadlock; in the same order, one waits for the
// other.

/** Undefined if values that look different may be equal in the database. */
type SortValue = number | string | undefined

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const NUMBER = /^-?\d+(\.\d+)?$/

/**
 * Rows whose keys the database may consider equal keep their order, because the last of them is stored. If equality
 * cannot be known, as for texts beyond ASCII and defaults that only the database knows, all rows keep their order.
 */
export function sortByKey (rows: readonly PlannedRow[], key: readonly Column[]): readonly PlannedRow[] {
  if (rows.length === 1) return rows
  const defaults = key.map(sortValueOfDefault)
  const sorted = rows.map((row) => ({
    row,
    values: key.map((column, part) => {
      const index = row.columns.indexOf(column)
      return index < 0 ? defaults[part] : sortValueOf(row.parameters[index] as Given)
    })
  }))
  return sorted.some(({ values }) => values.includes(undefined)) ? rows : sorted.sort(compare).map(({ row }) => row)
}

/** Numbers come before texts. */
function compare ({ values }: { readonly values: SortValue[] }, { values: others }: { readonly values: SortValue[] }) {
  for (let part = 0; part < values.length; part++) {
    const [a, b] = [values[part] as string, others[part] as string]
    if (a !== b) return (typeof a === typeof b ? a < b : typeof a === 'number') ? -1 : 1
  }
  return 0
}

/** Constant if the database numbers the omitted column, which is always new, or generates it, which no row gives. */
function sortValueOfDefault (column: Column): SortValue {
  if (column.autoIncrement || column.generated) return ''
  const parameter = knownDefault(column)
  return parameter === undefined ? undefined : sortValueOf(parameter)
}

/** Equal for values that any column may consider equal. */
function sortValueOf (given: Given): SortValue {
  const parameter = valueOr(given, null)
  if (parameter === null) return ''
  if (isMoment(parameter)) return undefined
  if (typeof parameter === 'bigint') return Number(parameter)
  if (typeof parameter === 'number') return Math.fround(parameter)
  if (typeof parameter !== 'string') return withoutZeros(parameter).toString('hex')
  const text = parameter.trimEnd()
  if (NUMBER.test(text)) return Number(text)
  return PRINTABLE_ASCII.test(text) ? fold(text) : undefined
}

/** The servers pad BINARY with them. */
function withoutZeros (bytes: Buffer): Buffer {
  let length = bytes.length
  while (length > 0 && bytes[length - 1] === 0) length--
  return bytes.subarray(0, length)
}

/** Equal for letters that a collation may consider equal, such as V and W in Swedish; CCS and CSCS in Hungarian. */
function fold (text: string): string {
  return text.toLowerCase().replace(/[jy]/g, 'i').replace(/[vw]/g, 'u').replace(/([cdglnstz])\1([szi])/g, '$1$2$1$2')
}
