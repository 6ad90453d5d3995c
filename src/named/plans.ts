/**
 * The plans of named requests, kept without the values of their calls: once for each version of the tables, what the
 * caller sees of them and which parameters a call gives. A call binds its values.
 */
import type { BodyInTransaction } from '../../schemas/body.ts'
import { baseTable, type Table, type TableSource } from '../catalog/catalog.ts'
import { isServiceError } from '../errors.ts'
import { BoundedMap, getOrCreate } from '../get-or-create.ts'
import { bind, NeedsValues } from '../plan/bind.ts'
import { Hole, type Holes, StandIn } from '../plan/holes.ts'
import type { Plan } from '../plan/plan.ts'
import type { References } from '../plan/references.ts'
import type { RequestLimits } from '../plan/write-options.ts'
import type { NamedRequest } from './definition.ts'
import { planParts, requireSameForm } from './fit.ts'
import { isNowByDefault, type Parameters, type PlannedPlace, type Supplied } from './parameters.ts'
import type { Place } from './places.ts'

/** The values of a call. */
export interface Call {
  readonly request: NamedRequest
  /** The optional parameters that it leaves out. */
  readonly omitted: ReadonlySet<string>
  readonly supplied: ReadonlyMap<string, Supplied>
  readonly parameters: Parameters
  /** The values of the parameters that are fields. */
  readonly fields: ReadonlyMap<Place, unknown>
}

/** A body of a request that is planned with the values of a call, but without those of references. */
export interface BoundPart {
  readonly body: BodyInTransaction
  readonly plan: Plan
  readonly references: References | undefined
}

interface Kept {
  readonly parts: ReadonlyArray<BoundPart & { readonly holes: Holes }>
  /** The values in lists, where each parameter that is a list counts as one. */
  readonly values: number
}

/** Maximum number of calls whose plans are kept of each request. */
const KEPT = 32

/** By the table of the first body, with which they are dropped. */
const plans = new WeakMap<NamedRequest, WeakMap<Table, BoundedMap<string, Kept>>>()

/** A number of its own for each table as someone sees it: of two callers only where they see the same. */
const ids = new WeakMap<Table, string>()
let lastId = 0

const idOf = (table: Table): string => getOrCreate(ids, table, () => `${++lastId},`)

/** The part of a position that a hole stands for. */
interface PositionPart { readonly place: Place, readonly name: string }

export class PlansOfCall {
  readonly #call: Call
  readonly #limits: RequestLimits

  constructor (call: Call, limits: RequestLimits) {
    this.#call = call
    this.#limits = limits
  }

  /**
   * Binds the values to the plans of the request, one for each of its bodies, which are planned if there are none yet.
   * Undefined if only plans made with the values are right, or say why they are refused. @throws ServiceError if a
   * member would be in another form without an optional parameter
   */
  find (sources: readonly TableSource[]): readonly BoundPart[] | undefined {
    const kept = this.#keptBy(sources)
    const key = this.#keyOf(sources)
    const known = kept.get(key)
    const found = known ?? this.#plan(sources)
    const bound = found && this.#bind(found)
    if (known !== undefined || found === undefined) return bound
    // what the call itself is refused for comes first
    if (bound !== undefined) this.requireForm(sources)
    if (bound !== undefined || !this.#changesForm) kept.set(key, found)
    return bound
  }

  /** Requires the form of members that they have with all parameters. @throws ServiceError */
  requireForm (sources: readonly TableSource[]): void {
    const { request, omitted } = this.#call
    if (this.#changesForm) requireSameForm(request, omitted, sources, this.#limits)
  }

  /** Whether an optional parameter that is left out might change the form of a member. */
  get #changesForm (): boolean {
    const { request: { parts }, omitted } = this.#call
    return omitted.size > 0 && parts.some(({ others }) => others.length > 0)
  }

  #keptBy ([first]: readonly TableSource[]): BoundedMap<string, Kept> {
    const { request } = this.#call
    const ofRequest = getOrCreate(plans, request, () => new WeakMap<Table, BoundedMap<string, Kept>>())
    return getOrCreate(ofRequest, baseTable((first as TableSource).table), () => new BoundedMap<string, Kept>(KEPT))
  }

  /** What the plans depend on: the tables, and which values there are. */
  #keyOf (sources: readonly TableSource[]): string {
    const { request: { parts, parameters }, supplied, fields } = this.#call
    let key = ''
    for (const [index, { others }] of parts.entries()) {
      const source = sources[index] as TableSource
      key += idOf(source.table)
      for (const other of others) key += idOf(source.see(other, []))
    }
    for (const name of parameters.keys()) {
      const given = supplied.get(name)
      key += given === undefined ? '-' : given.value === null ? '0' : isNowByDefault(given) ? 'n' : '.'
    }
    for (const [{ field }, value] of fields) {
      if (field === 'after' && value !== null) key += JSON.stringify(partsOf(value))
    }
    return key
  }

  #plan (sources: readonly TableSource[]): Kept | undefined {
    const { request, omitted, supplied, fields } = this.#call
    const known = new Map(Array.from(supplied).filter(([, given]) => given.value === null || isNowByDefault(given)))
    const fieldOf = (place: Place, holes: Holes): unknown => {
      const value = fields.get(place)
      return place.field !== 'after'
        ? new Hole(holes, place, (number) => number as number, false)
        : value === null ? null : toPosition(place, value, holes)
    }
    try {
      const { parts, counted } = planParts(request, sources, { limits: this.#limits, omitted, known, fieldOf })
      return { parts, values: counted.values }
    } catch (error) {
      if (isServiceError(error)) return undefined
      throw error
    }
  }

  #bind ({ parts, values }: Kept): readonly BoundPart[] | undefined {
    let left = this.#limits.values - values
    const valueOf = (key: unknown): unknown => {
      const value = this.#valueOf(key as PlannedPlace | PositionPart | Place)
      if (Array.isArray(value) && (left -= value.length - 1) < 0) throw new NeedsValues()
      return value
    }
    try {
      return parts.map(({ holes, plan, ...others }) => ({ ...others, plan: bind(plan, holes, valueOf) }))
    } catch (error) {
      if (error instanceof NeedsValues || isServiceError(error)) return undefined
      throw error
    }
  }

  #valueOf (key: PlannedPlace | PositionPart | Place): unknown {
    const { parameters, fields } = this.#call
    if ('parameter' in key) return parameters.read(key.parameter, key.column, [])
    return 'name' in key ? (fields.get(key.place) as Record<string, unknown>)[key.name] : fields.get(key)
  }
}

/** The columns of a position, and which of them are null. */
const partsOf = (position: unknown): Array<[name: string, isNull: boolean]> =>
  Object.entries(position as object).map(([name, value]): [string, boolean] => [name, value === null]).sort()

const toPosition = (place: Place, position: unknown, holes: Holes): Record<string, unknown> =>
  Object.fromEntries(partsOf(position).map(([name, isNull]) => {
    const part: PositionPart = { place, name }
    return [name, isNull ? null : StandIn.unknown(holes, part)]
  }))
