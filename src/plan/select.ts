import { DEFAULT_LIMIT, type SelectBody } from '../../schemas/body.ts'
import type { TableSource } from '../catalog/catalog.ts'
import { getColumn } from './columns.ts'
import { planFilters } from './filters/filters.ts'
import { planGroups } from './groups.ts'
import { counting, type PlanLimits } from './limits.ts'
import { planMembers } from './members.ts'
import { planOrder } from './order-by.ts'
import { planPage } from './page.ts'
import type { Member, SelectPlan } from './plan.ts'

/** Plans a select. @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_ORDER_BY, INVALID_BODY, NOT_SUPPORTED */
export function planSelect (body: SelectBody, source: TableSource, given: PlanLimits): SelectPlan {
  const { table } = source
  if (body.groupBy !== undefined || body.aggregates !== undefined) return planGroups(body, source, given)
  const { filters = {}, columns, limit = DEFAULT_LIMIT, orderBy, include } = body
  const limits = include === undefined ? given : counting(given)
  const rows = {
    columns: columns?.map((name, index) => getColumn(table, name, ['columns', index])) ?? table.columnList,
    condition: planFilters(filters, source, limits)
  }
  const members = include === undefined ? undefined : planMembers(include, { source, limits })
  const plan: SelectPlan = { verb: 'select', table, ...rows, order: orderBy === undefined ? [] : planOrder(orderBy, { table, ...members !== undefined && { members } }), limit }
  const isPlain = body.after === undefined && body.offset === undefined && body.total === undefined && body.expect === undefined
  const paged = isPlain ? plan : planPage(body, plan, limits)
  return Object.freeze(members === undefined ? paged : withMembers(paged, members))
}

/** Adds members, which need a transaction if a statement of their own must see the snapshot of the rows. */
function withMembers (plan: SelectPlan, members: readonly Member[]): SelectPlan {
  return { ...plan, members, ...members.some(hasStatement) && { inTransaction: true } }
}

/** Whether a member, or one of its members, needs a statement of its own. */
const hasStatement = (member: Member): boolean => member.kind !== 'one' || member.members.some(hasStatement)
