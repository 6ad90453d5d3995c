/**
 * MySQL computes the VIRTUAL columns that a statement uses in each row that it looks at, before it tests conditions, as
 * does an upsert of MariaDB. One that fails in a row of others would show that there is such a row. A statement that
 * has failed runs again in a second form: a derived table finds the keys of the rows that satisfy the rules, and only
 * these rows are joined to it. It locks them shared, because MySQL would compute the columns of a row that it locks for
 * an update.
 */
import { baseTable, type Column, type Index, type Table } from '../catalog/catalog.ts'
import { leavesOf } from './filters/scope.ts'
import type { Condition } from './plan.ts'
import { findUniqueIndex, rowKeysOf } from './row-keys.ts'

/** What the derived table finds. Undefined for a table without virtual columns, rules, or a key of other columns. */
export function foundFirst (table: Table): { readonly key: readonly Column[], readonly index: Index } | undefined {
  if (table.granted === undefined || table.granted.rules.length === 0) return undefined
  if (!baseTable(table).columnList.some(isVirtual)) return undefined
  const key = rowKeysOf(table).find((columns) => columns.every((each) => !each.nullable && !isVirtual(each)))
  const index = key && findUniqueIndex(table, key)
  return key === undefined || index === undefined ? undefined : { key, index }
}

export const needSecondForm = (tables: readonly Table[]): boolean =>
  tables.some((table) => foundFirst(table) !== undefined)

const isVirtual = ({ virtual }: Column): boolean => virtual === true

/** Those that a row can satisfy before its virtual columns are read, and the others. All of them must hold. */
export function divide (conditions: readonly Condition[]): readonly [readonly Condition[], readonly Condition[]] {
  const all = conditions.flatMap(partsOf)
  return [all.filter(isEarly), all.filter((each) => !isEarly(each))]
}

const partsOf = (condition: Condition): readonly Condition[] =>
  condition.kind === 'and' ? condition.conditions.flatMap(partsOf) : [condition]

const isEarly = (condition: Condition): boolean => leavesOf(condition).every((leaf) => {
  switch (leaf.kind) {
    case 'constant': return true
    case 'exists': return false
    case 'match': return !leaf.columns.some(isVirtual)
    case 'columns': return !isVirtual(leaf.column) && !isVirtual(leaf.other)
    default: return !isVirtual(leaf.column)
  }
})
