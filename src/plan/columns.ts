import type { Column } from '../catalog/catalog.ts'
import { at, columnNotFound, didYouMean, invalidBody, invalidValue, type Path } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'
import { stepsOf } from '../json/plain-values.ts'
import { type Value, ValueRefused } from '../types/column-type.ts'

// References of operations: `{"$ref": "/1/id"}` in place of a value. All operations are planned without the values
// before anything runs; an operation with references is planned again when the values are known. So a value passes
// every check that a value in the body passes, and is never an operator.

/** The parameter of a reference in a plan before its value is known. */
export const PENDING: Value = Buffer.alloc(0)

/** The references in an operation. */
export interface References {
  /** The index of the operation. */
  readonly index: number
  /** The objects in its body that the planner has read as references, and their values once they are known. */
  readonly found: Map<object, unknown>
  /** Finds a value in the results of earlier operations; omitted before these have run. */
  readonly find?: (operation: number, steps: readonly string[]) => unknown
}

/** Stands for a value that an earlier operation returns. It is undefined until it is known. */
export class ResultReference {
  readonly value: unknown

  constructor (value: unknown) {
    this.value = value
  }
}

/** The first step of a JSON Pointer (RFC 6901), which is an index. */
const FIRST_STEP = /^\/(0|[1-9]\d{0,2})(?=\/|$)/
/** What no JSON Pointer contains. */
const NO_ESCAPE = /~(?![01])/

/**
 * Returns a reference in place of `{"$ref": …}`, and any other value unchanged. Callers pass the whole value of a
 * column in `data`, or an operand in `filters` or a value of its list. Elsewhere, as within a JSON value, such an
 * object is an ordinary one. @throws INVALID_BODY for one that is not a JSON Pointer or does not lead to an earlier
 * operation, INVALID_VALUE for one without a target
 */
export function toReference (
  given: unknown,
  { name }: Column,
  references: References | undefined,
  path: Path
): unknown {
  if (references === undefined || !isObject(given) || !Object.hasOwn(given, '$ref')) return given
  if (Object.keys(given).length !== 1) return given
  const { index, found, find } = references
  const pointer = given['$ref']
  const [step, first] = typeof pointer === 'string' ? FIRST_STEP.exec(pointer) ?? [] : []
  if (typeof pointer !== 'string' || step === undefined || NO_ESCAPE.test(pointer)) {
    throw at(path, invalidBody('"$ref" must be a JSON Pointer into the results, such as "/0/id"'))
  }
  if (Number(first) >= index) throw at(path, invalidBody('"$ref" must lead to the result of an earlier operation'))
  const value = find?.(Number(first), stepsOf(pointer.slice(step.length)))
  if (find !== undefined && value === undefined) throw at(path, invalidValue(name, `"${pointer}" leads to nothing`))
  found.set(given, value)
  return new ResultReference(value)
}

/** Converts the value of a reference. @throws ValueRefused, and the errors of `read` */
function readResultReference ({ value }: ResultReference, read: (value: unknown) => Value): Value {
  if (value === undefined) return PENDING
  if (value === null) throw new ValueRefused('the reference leads to null')
  return read(value)
}

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
