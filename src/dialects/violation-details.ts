/** The details of a violated constraint: its name and columns, but no values from the text of the error. */
import { baseTable, mayFire, type Check, type ForeignKey, type Key, type TriggerTiming } from '../catalog/catalog.ts'
import {
  checkViolation,
  foreignKeyViolation,
  missingColumn,
  notNullViolation,
  pointer,
  uniqueViolation,
  withDetails,
  type Detail,
  type ServiceError
} from '../errors.ts'
import type { Statement } from '../sql/statement.ts'

/** Whether a statement may run a trigger, so that an error may belong to another table that the trigger writes. */
export const firesTrigger = ({ verb, table, isUpsert = false }: Statement, timing?: TriggerTiming): boolean =>
  verb !== 'select' && (mayFire(table, verb, timing) || (isUpsert && mayFire(table, 'update', timing)))

/** `key`: a unique or primary key of the table; undefined for a key of another table, which a trigger wrote to. */
export function uniqueViolationOf (key: Key | undefined): ServiceError {
  return withDetails(uniqueViolation(), ...key === undefined ? [] : details(key.columns, `unique key "${key.name}"`))
}

/** MISSING_COLUMN for an omitted column that the message of the database names; otherwise NOT_NULL_VIOLATION. */
export function notNullViolationOf (
  { verb, table, assigned }: Statement,
  isNamed: (column: string) => boolean
): ServiceError {
  if (verb !== 'insert') return notNullViolation()
  const missing = table.requiredColumns.find((column) => !assigned.includes(column) && isNamed(column.name))
  if (missing === undefined) return notNullViolation()
  return withDetails(missingColumn(`"${missing.name}"`), {
    path: pointer('data', missing.name),
    message: 'has no default'
  })
}

/** A foreign key would refer to a row that does not exist. `keys`: the possible keys of the table. */
export function noReferencedRow (keys: readonly ForeignKey[]): ServiceError {
  return withDetails(
    foreignKeyViolation(),
    ...keys.flatMap(({ name, columns }) => details(columns, `foreign key "${name}"`))
  )
}

/** Other rows refer to a row that would be deleted or changed. The grant may not see their table. */
export function rowIsReferenced (isCertain: boolean): ServiceError {
  return withDetails(foreignKeyViolation(), ...isCertain ? [{ path: '', message: 'other rows refer to this one' }] : [])
}

/** `check`: a CHECK of the table; undefined for one of another table, or for an exception of a trigger. */
export function checkViolationOf (check: Check | undefined): ServiceError {
  if (check === undefined) return checkViolation()
  const named = `check constraint "${check.name}"`
  return withDetails(
    checkViolation(),
    ...(check.columns.length > 0 ? details(check.columns, named) : [{ path: '', message: named }])
  )
}

/** The foreign keys of the base table that an insert or update writes. */
export function foreignKeysWritten ({ table, assigned, parameters }: Statement): ForeignKey[] {
  const written = new Set(assigned.filter((_column, index) => parameters[index] !== null).map(({ name }) => name))
  return baseTable(table).foreignKeys.filter(({ columns }) => columns.some((column) => written.has(column)))
}

function details (columns: readonly string[], constraint: string): Detail[] {
  const message = `${constraint} on ${columns.map((column) => `"${column}"`).join(', ')}`
  return columns.map((column) => ({ path: pointer('data', column), message }))
}
