import type { Column } from '../catalog/catalog.ts'
import { notSupported } from '../errors.ts'
import type { Condition, PlannedRow } from '../plan/plan.ts'
import type { Parameter } from '../types/column-type.ts'

/**
 * The condition that selects the row with the same unique key as a given row. Undefined where there cannot be one: NULL is equal to nothing, and a
 * row without a value for an AUTO_INCREMENT column gets a new one. @throws NOT_SUPPORTED if the database computes a column of the key
 */
export function conditionOf (key: readonly Column[], { columns, parameters }: Pick<PlannedRow, 'columns' | 'parameters'>): Condition | undefined {
  const conditions: Condition[] = []
  for (const column of key) {
    const index = columns.indexOf(column)
    const parameter = index < 0 ? null : parameters[index] as Parameter
    if (index < 0 && !column.autoIncrement) throw notSupported()
    if (parameter === null) return undefined
    conditions.push({ kind: 'compare', column, operator: '=', parameter })
  }
  return { kind: 'and', conditions }
}
