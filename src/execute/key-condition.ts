import type { Column } from '../catalog/catalog.ts'
import { unsupported } from '../errors.ts'
import { knownDefault } from '../plan/known-default.ts'
import { settled } from '../plan/moments.ts'
import type { Condition, PlannedRow } from '../plan/plan.ts'
import { storedKey } from '../plan/row-keys.ts'

/**
 * The condition that selects the row with the same unique key as a given row. Undefined if no such row can exist: NULL is equal to nothing, and a row
 * without a value for an AUTO_INCREMENT column gets a new one. The database compares constant defaults whose exact value only it knows.
 * @throws NOT_SUPPORTED if the database computes a column of the key
 */
export function conditionOf (key: readonly Column[], { columns, parameters }: Pick<PlannedRow, 'columns' | 'parameters'>): Condition | undefined {
  const conditions: Condition[] = []
  for (const column of key) {
    const index = columns.indexOf(column)
    const parameter = index >= 0 ? settled(parameters[index]) : column.autoIncrement ? null : knownDefault(column)
    if (parameter === null) return undefined
    if (parameter === undefined && (column.generated || column.defaultComputed === true)) throw unsupported('/onConflict/key', `the database computes "${column.name}": send a value`)
    conditions.push(parameter === undefined ? { kind: 'default', column } : { kind: 'compare', column, operator: '=', parameter: storedKey(column, parameter) })
  }
  return { kind: 'and', conditions }
}
