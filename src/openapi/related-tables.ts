/** Finds the tables that are related by foreign keys, for documents and types. */
import type { Table } from '../catalog/catalog.ts'
import { relationsBetween, type Pair } from '../catalog/relations.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { VisibleTable } from './visible.ts'

/** A table whose rows are related to those of another one by only one relation, so that `on` can be omitted. */
export interface RelatedTable { readonly other: Table, readonly on: readonly Pair[] }

/** For each table with foreign keys from or to others: the related tables from which the caller may select. */
export function findRelatedTables (tables: readonly VisibleTable[]): ReadonlyMap<Table, readonly RelatedTable[]> {
  const byName = new Map(tables.filter(({ verbs }) => verbs.includes('select')).map(({ table }) => [table.name, table]))
  const neighbours = new Map<Table, Set<Table>>()
  const connect = (table: Table, other: Table): unknown => getOrCreate(neighbours, table, () => new Set()).add(other)
  for (const table of byName.values()) {
    for (const { referencedTable } of table.foreignKeys) {
      const other = byName.get(referencedTable)
      if (other === undefined) continue
      connect(table, other)
      connect(other, table)
    }
  }
  return new Map(Array.from(neighbours, ([table, others]) => [table, [...others].flatMap((other): RelatedTable[] => {
    const relations = relationsBetween(table, other)
    return relations.length === 1 ? [{ other, on: relations[0] as readonly Pair[] }] : []
  })]))
}
