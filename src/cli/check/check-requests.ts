/** Named requests in `row-query check`: what each does, who may call it, and whether it fits its tables. */
import type { Catalog } from '../../catalog/catalog.ts'
import { grantOf, mayCall, methodsOf } from '../../named/call.ts'
import { type Declared, type NamedRequest, REQUESTS_PATH } from '../../named/definition.ts'
import { findMisfit, findRefusal, type Fitting } from '../../named/fit.ts'
import { Parameter } from '../../named/places.ts'
import { describeMisfit } from '../../named/refusals.ts'
import type { RequestLimits } from '../../plan/limits.ts'
import type { Denied, Dialect, TableUse } from '../../dialects/dialect.ts'
import { about, describeDenied, findings, type Findings, type Granted, listNames } from './findings.ts'

/** `requests`: of the database of this catalog. */
export async function checkRequests (
  dialect: Dialect,
  requests: readonly NamedRequest[],
  { catalog, grants, limits, prefix }: {
    readonly catalog: Catalog
    readonly grants: readonly Granted[]
    readonly limits: RequestLimits
    readonly prefix: string
  }
): Promise<Findings> {
  const all: Findings[] = []
  for (const request of requests) {
    const { name, verbs, tables, role } = request
    const callers = grants.filter(({ grant, isOfRequests }) => isOfRequests !== true && mayCall(request, grant))
    const labels = callers.map(({ label }) => label)
    const misfit = findMisfit(request, { catalog, limits })
    const rights = role === undefined ? 'with the rights of the caller' : `as "${role.name}"`
    const parameters = [...request.parameters.values()].map((declared) => describeParameter(declared, catalog))
    all.push(about(`request "${name}"`, [
      ...findings('line', [
        `${methodsOf(request).join(', ')} ${prefix}/${REQUESTS_PATH}/${name}: ${verbs.join(', ')} on ` +
        `${listNames(tables)} ${rights}; ` +
        `${parameters.length === 0 ? 'no parameters' : `parameters ${parameters.join(', ')}`}; ` +
        `called by ${labels.length === 0 ? 'nobody' : labels.join(', ')}`
      ]),
      ...findings('error', [
        misfit !== undefined && `does not fit its tables: ${describeMisfit(request, misfit)}`,
        ...misfit === undefined ? callers.map(describeRefusal(request, { catalog, limits })) : [],
        ...misfit === undefined ? await findDeniedWrites(dialect, writesOf(request)) : []
      ]),
      ...findings('warning', [callers.length === 0 && 'nobody may call it'])
    ]))
  }
  return all.flat()
}

/** Names the columns, of which the account may write others. */
async function findDeniedWrites (dialect: Dialect, uses: readonly TableUse[]): Promise<string[]> {
  const denied: Denied[] = []
  for (const use of uses) {
    const all = use.columns.length === 0 ? {} : { columns: use.columns }
    denied.push(...(await dialect.findDenied([use])).map((each) => ({ ...all, ...each })))
  }
  return [...new Set(describeDenied(denied))]
}

/** What each call writes. */
const writesOf = ({ parts, optional }: NamedRequest): TableUse[] => parts.flatMap(({ table, body }): TableUse[] => {
  if (body.verb === 'select') return []
  const rows = body.verb === 'delete' ? [] : [body.data].flat()
  const written = rows.flatMap((row) => Object.entries(row))
    .filter(([, value]) => !(value instanceof Parameter && optional.has(value.name)))
    .filter(([name]) => body.verb !== 'update' || body.key?.includes(name) !== true)
  const columns = [...new Set(written.map(([name]) => name))]
  return body.verb === 'update' && columns.length === 0 ? [] : [{ table, verb: body.verb, columns }]
})

/** The claims of a role come with each JWT. */
const describeRefusal = (request: NamedRequest, fitting: Fitting) => ({ grant, label, knowsClaims }: Granted) => {
  const refusal = knowsClaims ? findRefusal(request, fitting, grantOf(request, grant)) : undefined
  return refusal !== undefined && `each call of ${label} is refused: ${refusal}`
}

/** `status (list, varchar(20), optional)`. */
function describeParameter (
  { name, isList, isOptional, default: otherwise, places: [place] }: Declared,
  { tables }: Catalog
): string {
  const type = place.column === undefined
    ? place.field ?? 'text'
    : tables.get(place.table)?.columns.get(place.column)?.declaration
  const facts = [isList && 'list', type, isOptional && 'optional', otherwise !== undefined && 'with a default']
  return `${name} (${facts.filter(Boolean).join(', ')})`
}
