/**
 * References of operations: `{"$ref": "/1/id"}` in place of a value. All operations are planned without the values
 * before anything runs, and the plan gets them when they are known. So a value passes every check that a value in the
 * body passes, and is never an operator.
 */
import type { Column } from '../catalog/catalog.ts'
import { at, invalidBody, invalidValue, type Path } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'
import { stepsOf } from '../json/plain-values.ts'
import { Holes, StandIn, type StandIns } from './holes.ts'

/** The first step of a JSON Pointer (RFC 6901), which is an index. */
const FIRST_STEP = /^\/(0|[1-9]\d{0,2})(?=\/|$)/
/** What no JSON Pointer contains. */
const NO_ESCAPE = /~(?![01])/

/** Steps in the result of an operation. */
export interface Target { readonly operation: number, readonly steps: readonly string[] }

/**
 * Undefined if it is no reference. `index`: of the operation. @throws INVALID_BODY for a reference that is not a JSON
 * Pointer or does not lead to an earlier operation
 */
export function readReference (given: unknown, index: number, path: Path): Target | undefined {
  if (!isObject(given) || !Object.hasOwn(given, '$ref') || Object.keys(given).length !== 1) return undefined
  const pointer = given['$ref']
  const [step, first] = typeof pointer === 'string' ? FIRST_STEP.exec(pointer) ?? [] : []
  if (typeof pointer !== 'string' || step === undefined || NO_ESCAPE.test(pointer)) {
    throw at(path, invalidBody('"$ref" must be a JSON Pointer into the results, such as "/0/id"'))
  }
  const target = { operation: Number(first), steps: stepsOf(pointer.slice(step.length)) }
  if (target.operation < index) return target
  throw at(path, invalidBody('"$ref" must lead to the result of an earlier operation'))
}

/** `index`: of the operation. `find`: their values, if they are known. */
export class References implements StandIns {
  readonly holes = new Holes()
  /** Objects in the body that the planner has read. */
  readonly targets = new Map<object, Target>()
  readonly #index: number
  readonly #find: ((target: Target) => unknown) | undefined
  readonly #outer: StandIns | undefined

  /** `outer`: other values that come from elsewhere. */
  constructor (index: number, outer: StandIns | undefined, find?: (target: Target) => unknown) {
    this.#index = index
    this.#outer = outer
    this.#find = find
  }

  /**
   * @throws INVALID_BODY for a reference that is not a JSON Pointer or does not lead to an earlier operation,
   * INVALID_VALUE for one without a target
   */
  replace (given: unknown, column: Column, path: Path): unknown {
    const target = readReference(given, this.#index, path)
    if (target === undefined) return this.#outer === undefined ? given : this.#outer.replace(given, column, path)
    this.targets.set(given as object, target)
    if (this.#find === undefined) return StandIn.unknown(this.holes, given)
    const value = this.#find(target)
    if (value === undefined) {
      throw at(path, invalidValue(column.name, `"${(given as { $ref: string }).$ref}" leads to nothing`))
    }
    return StandIn.known(value)
  }
}
