/**
 * Two requests that write the same rows in different orders end in a deadlock; in the same order, one waits for the
 * other.
 */
import type { Column } from '../catalog/catalog.ts'
import { isMoment } from '../types/moment.ts'
import { valueOr } from './holes.ts'
import type { Given, PlannedRow } from './plan.ts'
import { knownDefault } from './writes.ts'

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
