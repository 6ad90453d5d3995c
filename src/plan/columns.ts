import type { Column } from '../catalog/catalog.ts'
import { at, columnNotFound, invalidValue, type Path, didYouMean } from '../errors.ts'
import { ValueRefused, type Value } from '../types/column-type.ts'
import { readResultReference, ResultReference } from './result-reference.ts'

/** The columns in which names are looked up: those of a table, or of the result of `groupBy` and `aggregates`. */
export interface ColumnScope {
  /** The name of the table. */
  readonly name: string
  readonly columns: ReadonlyMap<string, Column>
  readonly isResult?: true
}

/**
 * Looks up a column by its exact name. `writable`: columns that are not in the scope, but may be meant in a write.
 * @throws COLUMN_NOT_FOUND
 */
export function getColumn (
  { columns, name: table, isResult }: ColumnScope,
  name: string,
  path: Path,
  writable: ReadonlyMap<string, unknown> = columns
): Column {
  const column = columns.get(name)
  if (column === undefined) {
    const isAll = name === '*' && path.includes('columns')
    const hint = isAll
      ? ': leave out "columns" for all columns'
      : didYouMean(name, [...columns.keys(), ...writable.keys()])
    const where = isResult === true ? 'the result of "groupBy" and "aggregates"' : `table "${table}"`
    throw at(path, columnNotFound(name, where, hint))
  }
  return column
}

/**
 * Converts a JSON value other than null to a parameter for the column, with the function `read`. @throws INVALID_VALUE
 */
export function readValue (column: Column, value: unknown, path: Path, read = column.type.read): Value {
  return readWith(
    typeof value === 'object' && value instanceof ResultReference ? () => readResultReference(value, read) : read,
    column,
    value,
    path
  )
}

/** Converts a JSON value with the function `read`. @throws INVALID_VALUE if `read` throws ValueRefused */
export function readWith<T> (read: (value: unknown) => T, column: Column, value: unknown, path: Path): T {
  try {
    return read(value)
  } catch (error) {
    if (error instanceof ValueRefused) throw at(path, invalidValue(column.name, error.message))
    throw error
  }
}
