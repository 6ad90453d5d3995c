/**
 * References of operations: `{"$ref": "/1/id"}` in place of a value. All operations are planned without the values
 * before anything runs; an operation with references is planned again when the values are known. So a value passes
 * every check that a value in the body passes, and is never an operator.
 */
import type { Column } from '../catalog/catalog.ts'
import { at, invalidBody, invalidValue, type Path } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'
import { stepsOf } from '../json/pointer.ts'
import { type Value, ValueRefused } from '../types/column-type.ts'

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

/** A JSON Pointer (RFC 6901) whose first step is an index. */
const POINTER = /^\/(0|[1-9]\d{0,2})((?:\/(?:[^~/]|~[01])*)*)$/

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
  const [, first, rest] = typeof pointer === 'string' ? POINTER.exec(pointer) ?? [] : []
  if (first === undefined || rest === undefined) {
    throw at(path, invalidBody('"$ref" must be a JSON Pointer into the results, such as "/0/id"'))
  }
  if (Number(first) >= index) throw at(path, invalidBody('"$ref" must lead to the result of an earlier operation'))
  const value = find?.(Number(first), stepsOf(rest))
  if (find !== undefined && value === undefined) throw at(path, invalidValue(name, `"${pointer}" leads to nothing`))
  found.set(given, value)
  return new ResultReference(value)
}

/** Converts the value of a reference. @throws ValueRefused, and the errors of `read` */
export function readResultReference ({ value }: ResultReference, read: (value: unknown) => Value): Value {
  if (value === undefined) return PENDING
  if (value === null) throw new ValueRefused('the reference leads to null')
  return read(value)
}
