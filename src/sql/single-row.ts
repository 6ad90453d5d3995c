import type { Column } from '../catalog/catalog.ts'
import type { Condition, DeletePlan, UpdatePlan } from '../plan/plan.ts'
import { rowKeysOf } from '../plan/row-keys.ts'

/** Whether an update or delete can match one row at most: its condition holds all columns of a unique key equal to values. */
export function isSingleRow ({ table, condition }: UpdatePlan | DeletePlan): boolean {
  const equal = equalColumns(condition)
  return equal.length > 0 && rowKeysOf(table).some((key) => key.every((column) => equal.includes(column)))
}

/** A column that is compared in another form than the key has it, as JSON of MariaDB, may equal a value in several rows. */
function equalColumns (condition: Condition): readonly Column[] {
  switch (condition.kind) {
    case 'and': return condition.conditions.flatMap(equalColumns)
    case 'compare': return condition.operator === '=' && condition.column.type.comparedColumn === undefined ? [condition.column] : []
    case 'in': return !condition.negated && condition.parameters.length === 1 && condition.column.type.comparedColumn === undefined ? [condition.column] : []
    default: return []
  }
}
