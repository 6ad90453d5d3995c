/**
 * Plans are kept without the values of calls: once for each version of the tables, what the caller sees of them and
 * which parameters a call gives. A call binds its values.
 */
import { baseTable, type Table, type TableSource } from '../catalog/catalog.ts'
import { isServiceError, type Path } from '../errors.ts'
import { BoundedMap, getOrCreate } from '../bounded-map.ts'
import { bind, NeedsValues } from '../plan/bind.ts'
import { Hole, type Holes, StandIn } from '../plan/holes.ts'
import type { RequestLimits } from '../plan/limits.ts'
import type { NamedPlans } from '../verbs/operations.ts'
import type { FieldValue } from './bodies.ts'
import type { NamedRequest } from './definition.ts'
import { attempt, idOfTables, type PlannedPart, planParts, requireSameForm } from './fit.ts'
import { isNowByDefault, type Parameters, type PlannedPlace, type Supplied } from './parameters.ts'
import type { Place } from './places.ts'

export interface Call {
  readonly request: NamedRequest
  /** Left out. */
  readonly omitted: ReadonlySet<string>
  /** In the order of the parameters; undefined for those that the call leaves out. */
  readonly supplied: ReadonlyArray<Supplied | undefined>
  readonly parameters: Parameters
  readonly fields: readonly FieldValue[]
}

/** Planned with the values of a call, without the values of references. */
export type BoundPart = Omit<PlannedPart, 'holes'>

interface Kept {
  readonly parts: readonly PlannedPart[]
  /** The values in lists, where each parameter that is a list counts as one. */
  readonly values: number
}

/** Kinds of calls of each request whose plans are kept. */
const KEPT = 32

/** By the table of the first body, with which they are dropped. */
const plans = new WeakMap<NamedRequest, WeakMap<Table, BoundedMap<string, Kept>>>()

/** A hole stands for it. */
interface PositionPart { readonly place: Place, readonly part: string }

export class PlansOfCall implements NamedPlans {
  readonly #call: Call
  readonly #limits: RequestLimits

  constructor (call: Call, limits: RequestLimits) {
    this.#call = call
    this.#limits = limits
  }

  get name (): string { return this.#call.request.name }

  get standIns (): Parameters { return this.#call.parameters }

  /**
   * One plan for each body, made if there is none yet. Undefined if only plans made with the values are right, or say
   * why they are refused. @throws ServiceError if a member would be in another form without an optional parameter
   */
  find (sources: readonly TableSource[]): readonly BoundPart[] | undefined {
    const cache = this.#keptBy(sources)
    const key = this.#keyOf(sources)
    const cached = cache.get(key)
    if (cached !== undefined) return this.#bind(cached)
    const found = this.#plan(sources)
    if (found === undefined) return undefined
    const bound = this.#bind(found)
    // what the call itself is refused for comes first
    if (bound !== undefined) this.requireForm(sources)
    if (bound !== undefined || !this.#changesForm) cache.set(key, found)
    return bound
  }

  /** Requires the form of members that they have with all parameters. */
  requireForm (sources: readonly TableSource[]): void {
    if (this.#changesForm) requireSameForm(this.#call.request, sources, this.#limits)
  }

  /** An optional parameter that is left out might change the form. */
  get #changesForm (): boolean {
    const { optional, parts } = this.#call.request
    return optional.size > 0 && parts.some(({ others }) => others.length > 0)
  }

  #keptBy (sources: readonly TableSource[]): BoundedMap<string, Kept> {
    const { request } = this.#call
    const table = baseTable((sources[0] as TableSource).table)
    const cached = plans.get(request)?.get(table)
    if (cached !== undefined) return cached
    const ofRequest = getOrCreate(plans, request, () => new WeakMap<Table, BoundedMap<string, Kept>>())
    return getOrCreate(ofRequest, table, () => new BoundedMap<string, Kept>(KEPT))
  }

  /** The tables, and which values there are. */
  #keyOf (sources: readonly TableSource[]): string {
    const { request, supplied, fields } = this.#call
    let key = idOfTables(request, sources)
    for (let index = 0; index < supplied.length; index++) {
      const given = supplied[index]
      key += given === undefined ? '-' : given.value === null ? '0' : isNowByDefault(given) ? 'n' : '.'
    }
    for (let index = 0; index < fields.length; index++) {
      const { place, value } = fields[index] as FieldValue
      if (place.field === 'after' && value !== null) key += JSON.stringify(partsOf(value))
    }
    return key
  }

  #plan (sources: readonly TableSource[]): Kept | undefined {
    const { request, omitted, supplied } = this.#call
    const known = supplied.map((given) =>
      given !== undefined && (given.value === null || isNowByDefault(given)) ? given : undefined)
    const fieldOf = (place: Place, holes: Holes): unknown => {
      const value = this.#fieldAt(place)
      return place.field !== 'after'
        ? new Hole(holes, place, (number) => number as number, false)
        : value === null ? null : toPosition(place, value, holes)
    }
    const planned = attempt(() => planParts(request, sources, { limits: this.#limits, omitted, known, fieldOf }))
    return isServiceError(planned) ? undefined : { parts: planned.parts, values: planned.counted.values }
  }

  #bind ({ parts, values }: Kept): readonly BoundPart[] | undefined {
    let left = this.#limits.values - values
    const valueOf = (key: unknown): unknown => {
      const value = this.#valueOf(key as PlannedPlace | PositionPart | Place)
      if (Array.isArray(value) && (left -= value.length - 1) < 0) throw new NeedsValues()
      return value
    }
    try {
      return parts.map(({ body, references, holes, plan }) => ({ body, references, plan: bind(plan, holes, valueOf) }))
    } catch (error) {
      if (error instanceof NeedsValues || isServiceError(error)) return undefined
      throw error
    }
  }

  #valueOf (key: PlannedPlace | PositionPart | Place): unknown {
    if ('parameter' in key) return this.#call.parameters.read(key.parameter, key.column, NO_PATH)
    return 'part' in key ? (this.#fieldAt(key.place) as Record<string, unknown>)[key.part] : this.#fieldAt(key)
  }

  #fieldAt (place: Place): unknown {
    return this.#call.fields.find((field) => field.place === place)?.value
  }
}

/** Where a value is wrong is said by the plan that is made with it. */
const NO_PATH: Path = []

/** The columns of a position, and which of them are null. */
const partsOf = (position: unknown): Array<[name: string, isNull: boolean]> =>
  Object.entries(position as object).map(([name, value]): [string, boolean] => [name, value === null]).sort()

const toPosition = (place: Place, position: unknown, holes: Holes): Record<string, unknown> =>
  Object.fromEntries(partsOf(position).map(([name, isNull]) => {
    const key: PositionPart = { place, part: name }
    return [name, isNull ? null : StandIn.unknown(holes, key)]
  }))
