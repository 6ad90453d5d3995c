/** The details of a violated constraint: its name and columns out of the catalog, never values out of the error's text. */
import type { ForeignKey, Key } from '../catalog/catalog.ts'
import { foreignKeyViolation, pointer, uniqueViolation, withDetails, type Detail, type ServiceError } from '../errors.ts'
import type { Plan } from '../plan/plan.ts'

/** A unique or primary key of the table; undefined where the key is another table's, which a trigger wrote to. */
export function uniqueViolationOf (key: Key | undefined): ServiceError {
  return withDetails(uniqueViolation(), ...key === undefined ? [] : details(key.columns, `unique key "${key.name}"`))
}

/** A row would refer to none: by one of these foreign keys. None of them where the key is another table's. */
export function noReferencedRow (keys: readonly ForeignKey[]): ServiceError {
  return withDetails(foreignKeyViolation(), ...keys.flatMap(({ name, columns }) => details(columns, `foreign key "${name}"`)))
}

/** Other rows refer to a row that would go. The table that they are in is not named: the token may not see it. */
export function rowIsReferenced (): ServiceError {
  return withDetails(foreignKeyViolation(), { path: '', message: 'other rows refer to this one' })
}

/** The foreign keys that a statement gives a value to: an insert or update of them may name a row that is not there. */
export function foreignKeysWritten (plan: Plan): ForeignKey[] {
  if (plan.verb === 'select' || plan.verb === 'delete') return []
  const written = new Set(plan.assignments.filter(({ parameter }) => parameter !== null).map(({ column }) => column.name))
  return plan.table.foreignKeys.filter(({ columns }) => columns.some((column) => written.has(column)))
}

function details (columns: readonly string[], constraint: string): Detail[] {
  const message = `${constraint} on ${columns.map((column) => `"${column}"`).join(', ')}`
  return columns.map((column) => ({ path: pointer('data', column), message }))
}
