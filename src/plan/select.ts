import { DEFAULT_LIMIT, type SelectBody } from '../../schemas/body.ts'
import type { Table } from '../catalog/catalog.ts'
import { getColumn } from './columns.ts'
import { planFilters } from './filters/filters.ts'
import { planGroups } from './groups.ts'
import type { PlanLimits } from './filters/scope.ts'
import { planOrder } from './order-by.ts'
import { planPage } from './page.ts'
import type { SelectPlan } from './plan.ts'

/** Plans a select. @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_ORDER_BY, INVALID_BODY, NOT_SUPPORTED */
export function planSelect (body: SelectBody, table: Table, limits: PlanLimits): SelectPlan {
  if (body.groupBy !== undefined || body.aggregates !== undefined) return planGroups(body, table, limits)
  const { filters = {}, columns, limit = DEFAULT_LIMIT, orderBy } = body
  const plan: SelectPlan = {
    verb: 'select',
    table,
    columns: columns?.map((name, index) => getColumn(table, name, ['columns', index])) ?? table.columnList,
    condition: planFilters(filters, table, limits),
    order: orderBy === undefined ? [] : planOrder(orderBy, table),
    limit
  }
  const isPlain = body.after === undefined && body.offset === undefined && body.total === undefined && body.expect === undefined
  return Object.freeze(isPlain ? plan : planPage(body, plan, limits))
}
