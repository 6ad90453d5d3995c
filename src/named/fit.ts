/** Named requests are planned without values to see whether they fit the database, as far as values do not decide. */
import type { BodyInTransaction } from '../../schemas/body.ts'
import { VERBS } from '../../schemas/grants.ts'
import { getSeen } from '../access/authorize.ts'
import { describeTable, type Viewer } from '../access/granted-table.ts'
import { createGrant, type Grant } from '../access/grant.ts'
import { baseTable, type Catalog, type Table, type TableSource } from '../catalog/catalog.ts'
import {
  at, brokenDefinition, copyOf, invalidBody, isServiceError, type Path, type ServiceError, tableNotFound, withReason
} from '../errors.ts'
import { BoundedMap, getOrCreate } from '../bounded-map.ts'
import { Holes } from '../plan/holes.ts'
import { membersOf, startCount } from '../plan/filters/scope.ts'
import type { Member, Plan } from '../plan/plan.ts'
import { References } from '../plan/references.ts'
import type { Counted, RequestLimits } from '../plan/limits.ts'
import { lockRows, requireUndoable } from '../plan/write-options.ts'
import { inOperation } from '../request/check-body.ts'
import { createPlan } from '../verbs/index.ts'
import { bodiesIn, bodyOf } from './bodies.ts'
import { type Declared, type NamedRequest, STAND_INS } from './definition.ts'
import { AnyParameters, defaultsOf, Parameters, type Supplied } from './parameters.ts'
import type { Place } from './places.ts'

interface ToPlan {
  readonly limits: RequestLimits
  /** Left out. */
  readonly omitted: ReadonlySet<string>
  /** Of the parameters left out, columns of `data` stay. */
  readonly keepsData?: boolean
  /** In the order of the request; parameters without a value leave holes. */
  readonly known: ReadonlyArray<Supplied | undefined>
  readonly fieldOf: (place: Place, holes: Holes, declared: Declared) => unknown
}

export interface PlannedPart {
  readonly body: BodyInTransaction
  readonly plan: Plan
  readonly references: References | undefined
  /** For the values of parameters. */
  readonly holes: Holes
}

/** `sources`: the tables of each body. */
export function planParts (
  request: NamedRequest,
  sources: readonly TableSource[],
  { limits, omitted, keepsData, known, fieldOf }: ToPlan
): { readonly parts: readonly PlannedPart[], readonly counted: Counted } {
  const isOperation = request.table === undefined
  const all = sources.map(() => new Holes())
  const fields = request.fields.filter(({ declared: { name } }) => !omitted.has(name)).map(({ place, declared }) =>
    ({ place, value: fieldOf(place, all[isOperation ? place.path[1] as number : 0] as Holes, declared) }))
  const counted = startCount()
  const parts = bodiesIn(request, bodyOf(request, omitted, fields, keepsData)).map(([body], index): PlannedPart => {
    const holes = all[index] as Holes
    const any = new AnyParameters(new Parameters(request, known), holes)
    const references = isOperation ? new References(index, any) : undefined
    counted.tables = undefined
    try {
      const source = sources[index] as TableSource
      const plan = createPlan(body, source, { ...limits, counted, standIns: references ?? any })
      if (isOperation && plan.verb !== 'select') requireUndoable(source.table, '')
      return { body, plan: body.lock === true ? lockRows(plan) : plan, references, holes }
    } catch (error) {
      throw isOperation && isServiceError(error) ? inOperation(index, error) : error
    }
  })
  return { parts, counted }
}

/** Plans a request without the values of parameters, except for those that are known: by default the defaults. */
function planWithDefaults (
  request: NamedRequest,
  sources: readonly TableSource[],
  { omitted = new Set(), known = defaultsOf(request), ...others }: Pick<ToPlan, 'limits' | 'keepsData'> &
    Partial<Pick<ToPlan, 'omitted' | 'known'>>
): Plan[] {
  const fieldOf = ({ field }: Place, _holes: Holes, { index }: Declared): unknown => {
    const value = known[index]
    return value === undefined ? field && STAND_INS.get(field) : value.value
  }
  return planParts(request, sources, { ...others, omitted, known, fieldOf }).parts.map(({ plan }) => plan)
}

/** Plans without values, of requests as callers see their tables. */
const KEPT = 2000

/** By the table of the first body, with which they are dropped: the plans, or why there are none. */
const plansWithDefaults = new WeakMap<Table, BoundedMap<string, Plan[] | ServiceError>>()

/** Plans with all parameters, or takes the plans of another caller who sees the same. */
function planWhole (request: NamedRequest, sources: readonly TableSource[], limits: RequestLimits): Plan[] {
  const cache = getOrCreate(plansWithDefaults, baseTable((sources[0] as TableSource).table), () =>
    new BoundedMap<string, Plan[] | ServiceError>(KEPT))
  const key = attempt(() => `${idOf(request)}${idOfTables(request, sources)}`)
  const cached = typeof key === 'string' ? cache.get(key) : undefined
  const plans = cached ?? attempt(() => planWithDefaults(request, sources, { limits }))
  if (typeof key === 'string' && cached === undefined) cache.set(key, plans)
  if (plans instanceof Error) throw copyOf(plans)
  return plans
}

/** The refusal is returned, not thrown. */
export function attempt<T> (plan: () => T): T | ServiceError {
  try {
    return plan()
  } catch (error) {
    if (isServiceError(error)) return error
    throw error
  }
}

/** A number of its own for each request, and for each table as someone sees it. */
const ids = new WeakMap<Table | NamedRequest, string>()
let lastId = 0

function idOf (object: Table | NamedRequest): string {
  const before = ids.get(object)
  if (before !== undefined) return before
  const id = `${++lastId},`
  ids.set(object, id)
  return id
}

/** Identifies the tables of a request as someone sees them. @throws ServiceError for a table that is not there */
export function idOfTables ({ parts }: NamedRequest, sources: readonly TableSource[]): string {
  let id = ''
  for (let index = 0; index < parts.length; index++) {
    const source = sources[index] as TableSource
    id += idOf(source.table)
    for (const name of (parts[index] as NamedRequest['parts'][number]).others) id += idOf(source.see(name, []))
  }
  return id
}

/**
 * Members must have the same form without optional conditions as with all of them, and so for any of them. What is left
 * out of `data` changes no form: an insert that then lacks a column, or an update without one, is refused as a call.
 */
export function requireSameForm (
  request: NamedRequest,
  sources: readonly TableSource[],
  limits: RequestLimits
): void {
  const all = planWhole(request, sources, limits)
  if (request.optional.size === 0) return
  const fewer = planWithDefaults(request, sources, { limits, omitted: request.optional, keepsData: true })
  if (JSON.stringify(all.map(shapeOf)) === JSON.stringify(fewer.map(shapeOf))) return
  throw at('/include', invalidBody('without an optional parameter, a member that is one row would be a list'))
}

/** The form of the members of a response. */
const shapeOf = (plan: Plan): unknown => membersOf(plan).map(formOf)
const formOf = (member: Member): unknown => [
  member.name,
  member.kind,
  'isObject' in member,
  member.kind === 'computed' ? [] : member.members.map(formOf)
]

/** Requests with the rights of their caller are planned for one that may do everything. */
const EVERYTHING = createGrant('named requests', { permissions: [...VERBS] })

export interface Fitting { readonly catalog: Catalog, readonly limits: RequestLimits }

function sourceOf (viewer: Viewer, name: string): TableSource {
  const { catalog, database } = viewer
  const see = (other: string, path: Path): Table => {
    const table = catalog.tables.get(other)
    const reason = table === undefined ? catalog.broken?.get(other) : undefined
    if (reason !== undefined) throw at(path, withReason(brokenDefinition(), reason))
    const seen = table && describeTable(viewer, table)
    if (seen === undefined) throw at(path, tableNotFound(other, database))
    return seen
  }
  return { table: see(name, ['table']), see }
}

function sourcesOf (request: NamedRequest, catalog: Catalog, grant = request.role ?? EVERYTHING): TableSource[] {
  const { database, parts, table } = request
  return parts.map((part, index) => {
    try {
      return sourceOf({ grant, database, catalog }, part.table)
    } catch (error) {
      throw table === undefined && isServiceError(error) ? inOperation(index, error) : error
    }
  })
}

/** Plans a request without values, as the grant sees the tables. */
export const planWithoutValues = (request: NamedRequest, { catalog, limits }: Fitting, grant: Grant): Plan[] =>
  planWhole(request, sourcesOf(request, catalog, grant), limits)

/** Undefined if the request fits the database. */
export function findMisfit (request: NamedRequest, { catalog, limits }: Fitting): ServiceError | undefined {
  return attempt(() => {
    requireSameForm(request, sourcesOf(request, catalog), limits)
    return undefined
  })
}

/** Why each call with these rights is refused, whatever its values are; undefined if it is not. */
export function findRefusal (request: NamedRequest, { catalog, limits }: Fitting, grant: Grant): string | undefined {
  const { database, list, parts } = request
  const refusal = attempt(() => {
    const sources = parts.map(({ table }) => getSeen({ grant, database, catalog }, table))
    return planWithDefaults(request, sources, { limits, known: list.map(() => undefined) })
  })
  return isServiceError(refusal) && refusal.statusCode === 403 ? refusal.message : undefined
}
