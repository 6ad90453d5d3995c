/** The details of a violated constraint: its name and columns out of the catalog, never values out of the error's text. */
import type { Table } from '../catalog/catalog.ts'
import { foreignKeyViolation, pointer, uniqueViolation, withDetails, type ServiceError } from '../errors.ts'

/** A unique or primary key, found by its name or by its columns. */
export function uniqueViolationOf (table: Table, found: { name?: string | undefined, columns?: readonly string[] | undefined }): ServiceError {
  const key = table.uniqueKeys.find((each) => each.name === found.name || (found.columns !== undefined && sameColumns(each.columns, found.columns)))
  const columns = key?.columns ?? found.columns ?? []
  const name = key?.name ?? found.name
  if (name === undefined) return withDetails(uniqueViolation())
  return withDetails(uniqueViolation(), ...details(columns, `unique key "${name}"`))
}

/** A foreign key of this table. Where another table's rows refer to this one, that table is not named: the token may not see it. */
export function foreignKeyViolationOf (table: Table, name: string | undefined): ServiceError {
  const key = table.foreignKeys.find((each) => each.name === name)
  if (key === undefined) return withDetails(foreignKeyViolation(), { path: '', message: 'rows of another table refer to this one' })
  return withDetails(foreignKeyViolation(), ...details(key.columns, `foreign key "${key.name}"`))
}

function details (columns: readonly string[], constraint: string) {
  const message = `${constraint} on ${columns.map((column) => `"${column}"`).join(', ')}`
  return columns.map((column) => ({ path: pointer('data', column), message }))
}

const sameColumns = (a: readonly string[], b: readonly string[]): boolean => a.length === b.length && a.every((column) => b.includes(column))
