/**
 * The order in which the rows of an upsert are written. Two requests that write the same rows in different orders end in a deadlock; in the same order,
 * one waits for the other.
 */
import { baseTable, mayFillColumns, type Column, type Table } from '../catalog/catalog.ts'
import type { Moment, Parameter } from '../types/column-type.ts'
import { isMoment } from '../types/moment.ts'
import { knownDefault } from './known-default.ts'
import type { Conflict, PlannedRow } from './plan.ts'

/** The value by which rows are sorted. Undefined if values that look different may be equal in the database. */
type SortValue = number | string | undefined

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const NUMBER = /^-?\d+(\.\d+)?$/

/**
 * Whether the order of the rows makes no difference: no row refers to another one, none releases a value of another unique key that the
 * next one may take, and no trigger gives two of them the same key.
 */
export function isAnyOrder (rows: readonly PlannedRow[], { key, set }: Conflict, table: Table): boolean {
  const { name, foreignKeys, uniqueKeys } = baseTable(table)
  if (mayFillColumns(table)) return false
  if (foreignKeys.some(({ referencedTable }) => referencedTable === name)) return false
  const others = new Set(uniqueKeys.flatMap(({ columns }) => columns))
  const isOther = (column: Column): boolean => others.has(column.name) && !key.includes(column)
  switch (set.kind) {
    case 'given': return !Array.from(new Set(rows.map(({ columns }) => columns))).flat().some(isOther)
    case 'columns': return !set.columns.some((column) => others.has(column.name))
    case 'assignments': return !set.assignments.some(({ column }) => others.has(column.name))
  }
}

/**
 * Sorts rows by the values of the key. Rows whose keys the database may consider equal keep their order, because the last of them is stored. If
 * equality cannot be known, as for texts beyond ASCII and defaults that only the database knows, all rows keep their order.
 */
export function sortByKey (rows: readonly PlannedRow[], key: readonly Column[]): readonly PlannedRow[] {
  if (rows.length === 1) return rows
  const defaults = key.map(sortValueOfDefault)
  let columns: readonly Column[] | undefined
  let places: readonly number[] = []
  const sorted: Keyed[] = []
  for (const row of rows) {
    if (row.columns !== columns) {
      columns = row.columns
      places = key.map((column) => row.columns.indexOf(column))
    }
    const values: Keyed['values'][number][] = []
    for (let index = 0; index < places.length; index++) {
      const place = places[index] as number
      const value = place < 0 ? defaults[index] : sortValueOf(row.parameters[place] as Parameter)
      if (value === undefined) return rows
      values.push(value)
    }
    sorted.push({ row, values })
  }
  return sorted.sort(compare).map(({ row }) => row)
}

interface Keyed { readonly row: PlannedRow, readonly values: ReadonlyArray<NonNullable<SortValue>> }

/** The sort value of rows that omit a column of the key: constant if the database numbers it, which is always new, or generates it, which no row gives. */
function sortValueOfDefault (column: Column): SortValue {
  if (column.autoIncrement || column.generated) return ''
  const parameter = knownDefault(column)
  return parameter === undefined ? undefined : sortValueOf(parameter)
}

/** Returns equal results for values that any column may consider equal. */
function sortValueOf (parameter: Parameter | Moment): SortValue {
  if (parameter === null) return ''
  if (isMoment(parameter)) return undefined
  if (typeof parameter === 'bigint') return Number(parameter)
  if (typeof parameter === 'number') return Math.fround(parameter)
  if (typeof parameter !== 'string') return parameter.toString('hex').replace(/(00)+$/, '')
  const text = parameter.trimEnd()
  if (NUMBER.test(text)) return Number(text)
  return PRINTABLE_ASCII.test(text) ? fold(text) : undefined
}

/** Maps letters that a collation may consider equal to the same text, such as V and W in Swedish; CCS and CSCS are equal in Hungarian. */
function fold (text: string): string {
  return text.toLowerCase().replace(/[jy]/g, 'i').replace(/[vw]/g, 'u').replace(/([cdglnstz])\1([szi])/g, '$1$2$1$2')
}

function compare ({ values }: Keyed, { values: others }: Keyed): number {
  for (let index = 0; index < values.length; index++) {
    const order = compareValues(values[index] as NonNullable<SortValue>, others[index] as NonNullable<SortValue>)
    if (order !== 0) return order
  }
  return 0
}

/** Compares sort values; numbers come before texts. */
function compareValues (a: NonNullable<SortValue>, b: NonNullable<SortValue>): number {
  if (a === b) return 0
  const isText = typeof a === 'string'
  if (isText !== (typeof b === 'string')) return isText ? 1 : -1
  return a < b ? -1 : 1
}
