/**
 * The order in which the rows of an upsert are written. Two requests that write the same rows in different orders block each other until the
 * server ends one of them; in the same order one waits for the other.
 */
import type { Column } from '../catalog/catalog.ts'
import type { Parameter } from '../types/column-type.ts'
import type { PlannedRow } from './plan.ts'

/** What a value is sorted by. Undefined if values that look different may be equal in the database. */
type SortValue = bigint | number | string | undefined

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/
const NUMBER = /^-?\d+(\.\d+)?$/

/**
 * Sorts rows by the values of the key. Rows whose keys the database may consider equal keep their order, because the last of them decides what
 * is stored; if that cannot be known, as with texts beyond ASCII, all rows keep their order.
 */
export function sortByKey (rows: readonly PlannedRow[], key: readonly Column[]): readonly PlannedRow[] {
  const sorted: Array<{ readonly row: PlannedRow, readonly values: readonly SortValue[] }> = []
  for (const row of rows) {
    const values = key.map((column) => sortValueOf(row.parameters[row.columns.indexOf(column)]))
    if (values.includes(undefined)) return rows
    sorted.push({ row, values })
  }
  return sorted.sort((a, b) => compare(a.values, b.values)).map(({ row }) => row)
}

/** Equal for values that any column may consider equal. A key that the row does not give is not sorted. */
function sortValueOf (parameter: Parameter | undefined): SortValue {
  if (parameter === null || parameter === undefined) return ''
  if (typeof parameter === 'bigint') return parameter
  if (typeof parameter === 'number') return Math.fround(parameter)
  if (typeof parameter !== 'string') return parameter.toString('hex').replace(/(00)+$/, '')
  const text = parameter.trimEnd()
  if (NUMBER.test(text)) return Number(text)
  return PRINTABLE_ASCII.test(text) ? fold(text) : undefined
}

/** Letters that a collation may consider equal, such as V and W in Swedish; CCS and CSCS are equal in Hungarian. */
function fold (text: string): string {
  return text.toLowerCase().replace(/[jy]/g, 'i').replace(/[vw]/g, 'u').replace(/([cdglnstz])\1([szi])/g, '$1$2$1$2')
}

function compare (a: readonly SortValue[], b: readonly SortValue[]): number {
  for (const [index, value] of a.entries()) {
    const order = compareValues(value as NonNullable<SortValue>, b[index] as NonNullable<SortValue>)
    if (order !== 0) return order
  }
  return 0
}

/** Numbers come before texts. */
function compareValues (a: NonNullable<SortValue>, b: NonNullable<SortValue>): number {
  const [isText, isOtherText] = [typeof a === 'string', typeof b === 'string']
  if (isText !== isOtherText) return isText ? 1 : -1
  return a < b ? -1 : a > b ? 1 : 0
}
