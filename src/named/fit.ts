/** Whether named requests fit the database: they are planned without values, as far as values do not decide. */
import type { BodyInTransaction } from '../../schemas/body.ts'
import { describeTable } from '../access/granted-table.ts'
import { createGrant, type Grant, permissionsOn } from '../access/grant.ts'
import type { Catalog, Table, TableSource } from '../catalog/catalog.ts'
import {
  at, brokenDefinition, invalidBody, isServiceError, type Path, type ServiceError, tableNotFound, withReason
} from '../errors.ts'
import { VERBS } from '../../schemas/grants.ts'
import { membersOf } from '../plan/filters/scope.ts'
import type { Member, Plan } from '../plan/plan.ts'
import { References } from '../plan/references.ts'
import { lockRows, type RequestLimits, startCount } from '../plan/write-options.ts'
import { inOperation } from '../request/check-body.ts'
import { createPlan } from '../verbs/index.ts'
import { bodiesIn, bodyOf } from './bodies.ts'
import type { NamedRequest } from './definition.ts'
import { AnyParameters } from './parameters.ts'

/** Requests with the rights of their caller are planned for one that may do everything. */
const EVERYTHING = createGrant('named requests', { permissions: [...VERBS] })

/** The tables as a role sees them, before the claims are known. */
function sourceOf (grant: Grant, database: string, catalog: Catalog, name: string): TableSource {
  const see = (other: string, path: Path): Table => {
    const table = catalog.tables.get(other)
    const reason = table === undefined ? catalog.broken?.get(other) : undefined
    if (reason !== undefined) throw at(path, withReason(brokenDefinition(), reason))
    const isSeen = table !== undefined && permissionsOn(grant, database, other).size > 0
    const seen = isSeen ? describeTable(grant, database, catalog, table) : undefined
    if (seen === undefined) throw at(path, tableNotFound(other, database))
    return seen
  }
  return { table: see(name, ['table']), see }
}

const STAND_INS = { limit: 1, offset: 0, after: null }

/** Plans a request without values. @throws ServiceError */
export function planWithoutValues (
  request: NamedRequest,
  omitted: ReadonlySet<string>,
  { catalog, limits }: { readonly catalog: Catalog, readonly limits: RequestLimits },
  grant = request.role ?? EVERYTHING
): Plan[] {
  const { database, parameters, table } = request
  const fields = [...parameters.values()].filter(({ name }) => !omitted.has(name)).flatMap(({ places }) =>
    places.flatMap(({ path, field }) => field === undefined ? [] : [[path, STAND_INS[field]] as const])
  )
  const counted = startCount()
  const any = new AnyParameters(request)
  return bodiesIn(request, bodyOf(request, omitted, fields)).map(([body, path], index) => {
    const isOperation = table === undefined
    try {
      const source = sourceOf(grant, database, catalog, request.parts[index]?.table as string)
      counted.tables = undefined
      return planBody(body, source, {
        ...limits,
        counted,
        standIns: isOperation ? new References(index, any) : any
      })
    } catch (error) {
      throw isOperation && isServiceError(error) ? inOperation(path[1] as number, error) : error
    }
  })
}

function planBody (body: BodyInTransaction, source: TableSource, limits: RequestLimits): Plan {
  const plan = createPlan(body, source, limits)
  return body.lock === true ? lockRows(plan) : plan
}

/** Why a request does not fit the database; undefined if it does. */
export function findMisfit (
  request: NamedRequest,
  using: { readonly catalog: Catalog, readonly limits: RequestLimits }
): ServiceError | undefined {
  const optional = [...request.parameters.values()].filter(({ isOptional }) => isOptional).map(({ name }) => name)
  try {
    requireSameForm(request, new Set(optional), using)
    return undefined
  } catch (error) {
    if (isServiceError(error)) return error
    throw error
  }
}

/** Plans a request with and without parameters, and compares the forms of its members. @throws ServiceError */
export function requireSameForm (
  request: NamedRequest,
  omitted: ReadonlySet<string>,
  using: { readonly catalog: Catalog, readonly limits: RequestLimits },
  grant?: Grant
): void {
  const all = planWithoutValues(request, new Set(), using, grant)
  if (omitted.size === 0) return
  const fewer = planWithoutValues(request, omitted, using, grant)
  if (JSON.stringify(all.map(shapeOf)) === JSON.stringify(fewer.map(shapeOf))) return
  throw at('/include', invalidBody('without an optional parameter, a member that is one row would be a list'))
}

/** What decides the form of the members of an answer. */
const shapeOf = (plan: Plan): unknown => membersOf(plan).map(formOf)
const formOf = (member: Member): unknown => [
  member.name,
  member.kind,
  'isObject' in member,
  member.kind === 'computed' ? [] : member.members.map(formOf)
]
