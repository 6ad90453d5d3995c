import type { Column, Table } from '../catalog/catalog.ts'
import { columnNotWritable, invalidValue, notNullViolation } from '../errors.ts'
import type { Parameter } from '../types/column-type.ts'
import { isObject } from './filters/column-filter.ts'
import { at, getColumn, readValue } from './columns.ts'
import type { Assignment } from './plan.ts'

/** The columns and values of `data`. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, NOT_NULL_VIOLATION */
export function planAssignments (data: Readonly<Record<string, unknown>>, table: Table): Assignment[] {
  return Object.keys(data).map((name) => planAssignment(table, name, data[name]))
}

function planAssignment (table: Table, name: string, given: unknown): Assignment {
  const path = ['data', name]
  const column = getColumn(table, name, path)
  if (column.generated) throw at(path, columnNotWritable(name, 'the database computes it'))
  if (!column.type.writable) throw at(path, columnNotWritable(name, `the type ${column.declaration} is not supported`))
  const value = column.type.holdsJson === true ? unwrap(column, given, path) : given
  return { column, parameter: value === null ? readNull(column, path) : readStored(column, value, path) }
}

function readStored (column: Column, value: unknown, path: string[]): Parameter {
  const parameter = readValue(column, value, path)
  return column.type.stored === undefined ? parameter : column.type.stored(parameter)
}

/**
 * The value of a JSON column. An object whose keys all begin with `$` is not a value but says how to get one, as in filters:
 * `{"$eq": value}` is the value itself.
 */
function unwrap (column: Column, given: unknown, path: string[]): unknown {
  if (!isObject(given)) return given
  const keys = Object.keys(given)
  if (keys.length === 0 || !keys.every((key) => key.startsWith('$'))) return given
  if (keys.length === 1 && keys[0] === '$eq') return given['$eq']
  const form = keys.find((key) => key !== '$eq') as string
  throw at(path, invalidValue(column.name, `"${form}" is not allowed here; send an object whose keys all begin with $ as {"$eq": …}`))
}

/**
 * SQL NULL, or the type's own null where the column takes no other. NULL in a column that is NOT NULL is refused here: MySQL
 * would number an AUTO_INCREMENT column and, in some settings, put the current time into a TIMESTAMP.
 */
function readNull (column: Column, path: string[]): Parameter {
  if (column.nullable) return null
  if (column.type.ownNull !== undefined) return column.type.ownNull
  throw at(path, notNullViolation())
}
