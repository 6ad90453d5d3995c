/**
 * MySQL computes the VIRTUAL columns that a statement uses in each row that it looks at, before it tests conditions, as
 * does an upsert of MariaDB. One that fails in a row of others would show that there is such a row. A statement that
 * has failed runs again in another form: a derived table finds the keys of the rows that satisfy the rules, and only
 * these rows are joined to it. It locks them shared, because MySQL would compute the columns of a row that it locks for
 * an update.
 */
import { baseTable, type Column, type Index, type Table } from '../catalog/catalog.ts'
import { findUniqueIndex, rowKeysOf } from './row-keys.ts'

/** Undefined for a table without virtual columns, rules, or a key of other columns. */
export function guardOf (table: Table): { readonly key: readonly Column[], readonly index: Index } | undefined {
  if (table.granted === undefined || table.granted.rules.length === 0) return undefined
  if (!baseTable(table).columnList.some(isVirtual)) return undefined
  const key = rowKeysOf(table).find((columns) => columns.every((each) => !each.nullable && !isVirtual(each)))
  const index = key && findUniqueIndex(table, key)
  return key === undefined || index === undefined ? undefined : { key, index }
}

export const haveGuard = (tables: readonly Table[]): boolean => tables.some((table) => guardOf(table) !== undefined)

export const isVirtual = ({ virtual }: Column): boolean => virtual === true
