import type { Column, Table } from '../catalog/catalog.ts'
import { leavesOf } from '../plan/fold.ts'
import type { Condition } from '../plan/plan.ts'

/** The columns of its table that a condition compares, without those of IS NULL, which is the same for every type. */
export function comparedColumns (condition: Condition): Column[] {
  return leavesOf(condition).flatMap((leaf) => {
    switch (leaf.kind) {
      case 'null':
      case 'constant': return []
      case 'exists': return leaf.on.map(({ column }) => column)
      default: return [leaf.column]
    }
  })
}

/** Compared columns of another table. */
export interface RelatedColumns { readonly table: Table, readonly columns: readonly Column[] }

/** The columns that a condition compares in other tables. */
export function relatedColumns (condition: Condition): RelatedColumns[] {
  return leavesOf(condition).flatMap((leaf) => {
    if (leaf.kind !== 'exists') return []
    return [{ table: leaf.table, columns: [...leaf.on.map(({ other }) => other), ...comparedColumns(leaf.condition)] }, ...relatedColumns(leaf.condition)]
  })
}
