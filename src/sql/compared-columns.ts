import type { Column } from '../catalog/catalog.ts'
import type { Condition } from '../plan/plan.ts'

/** The columns that a condition compares. IS NULL is the same for every type. */
export function comparedColumns (condition: Condition): Column[] {
  switch (condition.kind) {
    case 'and':
    case 'or': return condition.conditions.flatMap(comparedColumns)
    case 'not': return comparedColumns(condition.condition)
    case 'null':
    case 'constant': return []
    default: return [condition.column]
  }
}
