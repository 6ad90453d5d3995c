import type { Column, Table } from '../catalog/catalog.ts'
import { columnNotWritable, invalidValue, notNullViolation } from '../errors.ts'
import type { Parameter } from '../types/column-type.ts'
import { isObject } from './filters/column-filter.ts'
import { at, getColumn, readValue } from './columns.ts'
import type { Assignment } from './plan.ts'

/** Resolves `data` to columns and parameters. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, NOT_NULL_VIOLATION */
export function planAssignments (data: Readonly<Record<string, unknown>>, table: Table): Assignment[] {
  return Object.keys(data).map((name) => planAssignment(table, name, data[name]))
}

function planAssignment (table: Table, name: string, given: unknown): Assignment {
  const path = ['data', name]
  const column = getColumn(table, name, path)
  if (column.generated) throw at(path, columnNotWritable(name, 'the database computes it'))
  if (!column.type.writable) throw at(path, columnNotWritable(name, `the type ${column.declaration} is not supported`))
  const value = column.type.holdsJson === true ? unwrapEq(column, given, path) : given
  return { column, parameter: value === null ? readNull(column, path) : readStored(column, value, path) }
}

function readStored (column: Column, value: unknown, path: string[]): Parameter {
  const parameter = readValue(column, value, path)
  return column.type.stored === undefined ? parameter : column.type.stored(parameter)
}

/** The value for a JSON column. As in filters, an object whose keys all begin with `$` is an operator: only `{"$eq": value}` is allowed. */
function unwrapEq (column: Column, given: unknown, path: string[]): unknown {
  if (!isObject(given)) return given
  const keys = Object.keys(given)
  if (keys.length === 0 || !keys.every((key) => key.startsWith('$'))) return given
  if (keys.length === 1 && keys[0] === '$eq') return given['$eq']
  const operator = keys.find((key) => key !== '$eq') as string
  throw at(path, invalidValue(column.name, `"${operator}" is not allowed here; send an object whose keys all begin with $ as {"$eq": …}`))
}

/**
 * SQL NULL for a nullable column, otherwise the type's own null (JSON). NULL for any other NOT NULL column is rejected here, because
 * MySQL would store the next AUTO_INCREMENT number or, with some settings, the current time of a TIMESTAMP column.
 */
function readNull (column: Column, path: string[]): Parameter {
  if (column.nullable) return null
  if (column.type.ownNull !== undefined) return column.type.ownNull
  throw at(path, notNullViolation())
}
