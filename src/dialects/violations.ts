/** The details of a violated constraint: its name and columns out of the catalog, never values out of the error's text. */
import { mayFire, type Check, type ForeignKey, type Key, type TriggerTiming } from '../catalog/catalog.ts'
import { checkViolation, foreignKeyViolation, missingColumn, notNullViolation, pointer, uniqueViolation, withDetails, type Detail, type ServiceError } from '../errors.ts'
import type { Plan } from '../plan/plan.ts'

/** Whether a statement may run a trigger: an error may then be that of another table, which the trigger writes. */
export const firesTrigger = ({ verb, table }: Plan, timing?: TriggerTiming): boolean => verb !== 'select' && mayFire(table, verb, timing)

/** A unique or primary key of the table; undefined where the key is another table's, which a trigger wrote to. */
export function uniqueViolationOf (key: Key | undefined): ServiceError {
  return withDetails(uniqueViolation(), ...key === undefined ? [] : details(key.columns, `unique key "${key.name}"`))
}

/** A column without a value: one that the insert left out, where `isNamed` finds it in the database's message, or one that was set to NULL. */
export function notNullViolationOf (plan: Plan, isNamed: (column: string) => boolean): ServiceError {
  if (plan.verb !== 'insert') return notNullViolation()
  const given = new Set(plan.assignments.map(({ column }) => column))
  const missing = plan.table.requiredColumns.find((column) => !given.has(column) && isNamed(column.name))
  if (missing === undefined) return notNullViolation()
  return withDetails(missingColumn(`"${missing.name}"`), { path: pointer('data', missing.name), message: 'has no default' })
}

/** A row would refer to none: by one of these foreign keys. None of them where the key is another table's. */
export function noReferencedRow (keys: readonly ForeignKey[]): ServiceError {
  return withDetails(foreignKeyViolation(), ...keys.flatMap(({ name, columns }) => details(columns, `foreign key "${name}"`)))
}

/** Other rows refer to a row that would go. The table that they are in is not named: the token may not see it. */
export function rowIsReferenced (isCertain: boolean): ServiceError {
  return withDetails(foreignKeyViolation(), ...isCertain ? [{ path: '', message: 'other rows refer to this one' }] : [])
}

/** A CHECK of the table; undefined where it is another table's, or an exception of a trigger. */
export function checkViolationOf (check: Check | undefined): ServiceError {
  if (check === undefined) return checkViolation()
  const named = `check constraint "${check.name}"`
  return withDetails(checkViolation(), ...check.columns.length > 0 ? details(check.columns, named) : [{ path: '', message: named }])
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
