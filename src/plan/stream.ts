/** Plans the select of a stream like that of an answer, but with any number of rows. */
import type { SelectBody } from '../../schemas/body.ts'
import type { TableSource } from '../catalog/catalog.ts'
import { at, invalidBody, type Path } from '../errors.ts'
import { createPlan } from './create-plan.ts'
import type { PlanLimits } from './limits.ts'
import type { Member, SelectPlan } from './plan.ts'

/** More rows than a table has, and a number that both engines accept. */
const EVERY_ROW = Number.MAX_SAFE_INTEGER

/** `limit`: the number of rows; all of them if left out. @throws INVALID_BODY, and as createPlan */
export function planStream (body: Omit<SelectBody, 'limit'>, source: TableSource, { limit = EVERY_ROW, limits }: { readonly limit?: number | undefined, readonly limits: PlanLimits }): SelectPlan {
  const { page, ...plan } = createPlan({ ...body, limit: Math.min(limit, EVERY_ROW) }, source, limits) as SelectPlan
  requireOne(plan.members ?? [], ['include'])
  // a stream does not say where the next page begins
  return Object.freeze({ ...plan, isStream: true, ...page !== undefined && { page: page.by === 'position' ? { ...page, hidden: [] } : page } })
}

/** Refuses lists, which need statements of their own for many rows at a time. */
function requireOne (members: readonly Member[], path: Path): void {
  for (const member of members) {
    const place = [...path, member.name]
    if (member.kind !== 'one') throw at(place, invalidBody('in a stream a member must be one row: the columns of "on", with those that "filters" hold equal, must contain a unique key of its table'))
    requireOne(member.members, [...place, 'include'])
  }
}
