import type { Column, Table } from '../catalog/catalog.ts'
import { columnNotFound, invalidValue, pointer, withDetails, type ServiceError } from '../errors.ts'
import { ValueRefused, type Value } from '../types/column-type.ts'

/** Where in the body something stands, for the details of a refusal. */
export type Path = ReadonlyArray<string | number>

/** A column by its exact name. @throws COLUMN_NOT_FOUND */
export function getColumn (table: Table, name: string, path: Path): Column {
  const column = table.columns.get(name)
  if (column === undefined) throw at(path, columnNotFound(name, table.name))
  return column
}

/** A JSON value that is not null as the parameter of its column. @throws INVALID_VALUE */
export function readValue (column: Column, value: unknown, path: Path): Value {
  return readWith(column.type.read, column, value, path)
}

/** The same by any way of reading. @throws INVALID_VALUE */
export function readWith<T> (read: (value: unknown) => T, column: Column, value: unknown, path: Path): T {
  try {
    return read(value)
  } catch (error) {
    if (error instanceof ValueRefused) throw at(path, invalidValue(column.name, error.message))
    throw error
  }
}

/** The error with the place in the body as its one detail. */
export function at (path: Path, error: ServiceError): ServiceError {
  return withDetails(error, { path: pointer(...path), message: error.message })
}
