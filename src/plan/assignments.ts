import type { Column, Table } from '../catalog/catalog.ts'
import { columnNotWritable, notNullViolation } from '../errors.ts'
import type { Parameter } from '../types/column-type.ts'
import { at, getColumn, readValue } from './columns.ts'
import type { Assignment } from './plan.ts'

/** The columns and values of `data`. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, NOT_NULL_VIOLATION */
export function planAssignments (data: Readonly<Record<string, unknown>>, table: Table): Assignment[] {
  return Object.keys(data).map((name) => planAssignment(table, name, data[name]))
}

function planAssignment (table: Table, name: string, value: unknown): Assignment {
  const path = ['data', name]
  const column = getColumn(table, name, path)
  if (column.generated) throw at(path, columnNotWritable(name, 'the database computes it'))
  if (!column.type.writable) throw at(path, columnNotWritable(name, `the type ${column.declaration} is not supported`))
  return { column, parameter: value === null ? readNull(column, path) : readValue(column, value, path) }
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
