/** The law of plans with holes: one that is bound equals the plan that is made with the values. */
import type { Body } from '../../schemas/body.ts'
import type { Column, TableSource } from '../../src/catalog/catalog.ts'
import { type Path, pointer } from '../../src/errors.ts'
import { bind, NeedsValues } from '../../src/plan/bind.ts'
import { Holes, StandIn, type StandIns } from '../../src/plan/holes.ts'
import type { Plan } from '../../src/plan/plan.ts'
import type { PlanLimits } from '../../src/plan/limits.ts'
import { ValueTooLong } from '../../src/types/column-type.ts'
import { createPlan } from '../../src/verbs/index.ts'

export type Kind = 'boolean' | 'text' | 'number' | 'large'

/** The kind of a value that may be a hole; undefined for null, lists and objects. */
export function kindOf (value: unknown): Kind | undefined {
  if (typeof value === 'boolean') return 'boolean'
  if (typeof value === 'string') return 'text'
  if (typeof value === 'number') return Math.abs(value) < 2 ** 53 ? 'number' : 'large'
  return JSON.isRawJSON(value) ? 'large' : undefined
}

/** Where a body has a value for a column. */
export interface Place { readonly path: Path, readonly column: Column, readonly kind: Kind }

/** Leaves a hole for every value of a body but those of the rows of a list after the first. */
export class EveryValue implements StandIns {
  readonly holes = new Holes()
  readonly places = new Map<string, Place>()

  replace (given: unknown, column: Column, path: Path): unknown {
    const kind = kindOf(given)
    if (kind === undefined || path.length === 0 || (path[0] === 'data' && Number(path[1]) > 0)) return given
    const key = pointer(...path)
    this.places.set(key, { path, column, kind })
    return StandIn.unknown(this.holes, key)
  }
}

export const valueAt = (body: unknown, path: Path): unknown => path.reduce<any>((value, step) => value[step], body)

/** Returns a copy of the body with another value at a path. */
export function withValue (body: any, [step, ...rest]: Path, value: unknown): any {
  if (step === undefined) return value
  const copy = Array.isArray(body) ? [...body] : { ...body }
  copy[step] = withValue(body[step], rest, value)
  return copy
}

export interface Planning { readonly source: TableSource, readonly limits: PlanLimits }

function attempt (plan: () => Plan): Plan | Error {
  try {
    return plan()
  } catch (error) {
    return error as Error
  }
}

export type Outcome = 'bound' | 'refused' | 'needs values' | 'not planned'

/**
 * Plans `body` with a hole for each value, and returns what binds it. @throws if it is refused although the body is not
 */
export function planWithHoles (body: Body, { source, limits }: Planning): {
  readonly every: EveryValue, readonly plan: Plan | Error
} {
  const every = new EveryValue()
  const plan = attempt(() => createPlan(body, source, { ...limits, standIns: every }))
  return { every, plan }
}

/**
 * Binds the values of another body of the same shape, and compares the plan with the one that is made of it. @throws if
 * they differ
 */
export function requireSame (
  { every, plan }: ReturnType<typeof planWithHoles>, other: Body, { source, limits }: Planning
): Outcome {
  const planned = attempt(() => createPlan(other, source, limits))
  if (plan instanceof Error) {
    return planned instanceof Error ? 'not planned' : failed(`is refused without the values: ${plan.message}`, other)
  }
  const bound = attempt(
    () => bind(plan, every.holes, (key) => valueAt(other, (every.places.get(key as string) as Place).path))
  )
  if (bound instanceof NeedsValues) {
    if (planned instanceof Error) return 'refused'
    // in filters such a value is a constant
    if (every.holes.needValues || bound.cause instanceof ValueTooLong) return 'needs values'
    return failed('is planned with the values, but not bound', other)
  }
  if (bound instanceof Error) throw bound
  if (planned instanceof Error) return failed(`is bound, but refused with the values: ${planned.message}`, other)
  const difference = differenceOf(bound, planned, [])
  if (difference !== undefined) return failed(`differs at ${difference}`, other)
  if (Object.isFrozen(bound) !== Object.isFrozen(planned)) return failed('is not frozen alike', other)
  return 'bound'
}

function failed (why: string, body: Body): never {
  throw new Error(`the plan ${why}: ${JSON.stringify(body)}`)
}

/** Types of computed columns are made anew for each plan. */
export function differenceOf (one: any, other: any, path: readonly string[]): string | undefined {
  if (Object.is(one, other)) return undefined
  const where = path.join('.')
  if (typeof one !== 'object' || typeof other !== 'object' || one === null ||
    other === null) return `${where}: ${String(one)}, ${String(other)}`
  if (Buffer.isBuffer(one)) return Buffer.isBuffer(other) && one.equals(other) ? undefined : where
  if (Object.getPrototypeOf(one) !== Object.getPrototypeOf(other)) return where
  if (one instanceof Set) return differenceOf([...one], [...other], path)
  const keys = Object.keys(one)
  if (keys.join() !== Object.keys(other).join()) return `${where}: ${keys.join()}, ${Object.keys(other).join()}`
  for (const key of keys) {
    const difference = key === 'type' || key === 'sql' ? undefined : differenceOf(one[key], other[key], [...path, key])
    if (difference !== undefined) return difference
  }
  return undefined
}
