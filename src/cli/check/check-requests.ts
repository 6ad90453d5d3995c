/** Named requests in `row-query check`: what each does, who may call it, and whether it fits its tables. */
import type { Catalog } from '../../catalog/catalog.ts'
import { grantOf, mayCall, methodsOf } from '../../named/call.ts'
import { type Declared, type NamedRequest, REQUESTS_PATH } from '../../named/definition.ts'
import { findMisfit, findRefusal, type Fitting } from '../../named/fit.ts'
import { describeMisfit } from '../../named/refusals.ts'
import type { RequestLimits } from '../../plan/write-options.ts'
import { about, findings, type Findings, type Granted, listNames } from './findings.ts'

/** `requests`: of the database of this catalog. */
export function checkRequests (
  requests: readonly NamedRequest[],
  { catalog, grants, limits, prefix }: {
    readonly catalog: Catalog
    readonly grants: readonly Granted[]
    readonly limits: RequestLimits
    readonly prefix: string
  }
): Findings {
  return requests.flatMap((request) => {
    const { name, verbs, tables, role } = request
    const callers = grants.filter(({ grant, isOfRequests }) => isOfRequests !== true && mayCall(request, grant))
    const labels = callers.map(({ label }) => label)
    const misfit = findMisfit(request, { catalog, limits })
    const rights = role === undefined ? 'with the rights of the caller' : `as "${role.name}"`
    const parameters = [...request.parameters.values()].map((declared) => describeParameter(declared, catalog))
    return about(`request "${name}"`, [
      ...findings('line', [
        `${methodsOf(request).join(', ')} ${prefix}/${REQUESTS_PATH}/${name}: ${verbs.join(', ')} on ` +
        `${listNames(tables)} ${rights}; ` +
        `${parameters.length === 0 ? 'no parameters' : `parameters ${parameters.join(', ')}`}; ` +
        `called by ${labels.length === 0 ? 'nobody' : labels.join(', ')}`
      ]),
      ...findings('error', [
        misfit !== undefined && `does not fit its tables: ${describeMisfit(request, misfit)}`,
        ...misfit === undefined ? callers.map(describeRefusal(request, { catalog, limits })) : []
      ]),
      ...findings('warning', [callers.length === 0 && 'nobody may call it'])
    ])
  })
}

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
