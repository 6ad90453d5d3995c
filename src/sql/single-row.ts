import type { Column } from '../catalog/catalog.ts'
import type { Condition, DeletePlan, UpdatePlan } from '../plan/plan.ts'
import { rowKeysOf } from '../plan/row-keys.ts'

/** Whether an update or delete can match at most one row, because its condition holds all columns of a unique key equal to values. */
export function isSingleRow ({ table, condition }: UpdatePlan | DeletePlan): boolean {
  const equal = equalColumns(condition)
  return equal.length > 0 && rowKeysOf(table).some((key) => key.every((column) => equal.includes(column)))
}

/** Leaves out columns that are compared in a form other than the key's, such as JSON of MariaDB, which may equal a value in several rows. */
function equalColumns (condition: Condition): readonly Column[] {
  switch (condition.kind) {
    case 'and': return condition.conditions.flatMap(equalColumns)
    case 'compare': return condition.operator === '=' && condition.column.type.comparedColumn === undefined ? [condition.column] : []
    case 'in': return !condition.negated && condition.parameters.length === 1 && condition.column.type.comparedColumn === undefined ? [condition.column] : []
    default: return []
  }
}
