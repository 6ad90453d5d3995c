/**
 * References of operations: `{"$ref": "/1/id"}` in place of a value. All operations are planned without the values before anything runs; an operation
 * with references is planned again when the values are known. So a value passes every check that a value in the body passes, and is never an
 * operator or a form.
 */
import { ValueRefused, type Value } from '../types/column-type.ts'

/** The parameter of a reference in a plan before its value is known. */
export const PENDING: Value = Buffer.alloc(0)

/** Stands in a body for a value that an earlier operation returns. */
export class ResultReference {
  /** The index of that operation, and the steps into its result. */
  readonly operation: number
  readonly steps: readonly string[]
  readonly path: ReadonlyArray<string | number>
  /** Undefined until it is known. */
  value: unknown

  constructor (operation: number, steps: readonly string[], path: ReadonlyArray<string | number>) {
    this.operation = operation
    this.steps = steps
    this.path = path
  }
}

/** Converts the value of a reference. @throws ValueRefused; what `read` throws */
export function readResultReference ({ value }: ResultReference, read: (value: unknown) => Value): Value {
  if (value === undefined) return PENDING
  if (value === null) throw new ValueRefused('the reference leads to null')
  return read(value)
}
