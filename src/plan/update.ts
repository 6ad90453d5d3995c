import type { UpdateBody } from '../../schemas/body.ts'
import type { Column } from '../catalog/catalog.ts'
import type { TableSource } from '../catalog/catalog.ts'
import { unsupported } from '../errors.ts'
import { planAssignments } from './assignments.ts'
import type { PlanLimits } from './limits.ts'
import { planRequiredFilters } from './filters/filters.ts'
import type { UpdatePlan } from './plan.ts'
import { findUpdateKey } from './row-keys.ts'
import { refuseWritten } from './related-writes.ts'
import { isPlainChange, planChangeTerms } from './terms.ts'

/** Plans an update. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, INVALID_BODY, FILTERS_REQUIRED, NOT_SUPPORTED */
export function planUpdate (body: UpdateBody, source: TableSource, limits: PlanLimits): UpdatePlan {
  const { table } = source
  const { verb, data, filters } = body
  const condition = planRequiredFilters(verb, filters, source, limits)
  const plan: UpdatePlan = { verb, table, condition, assignments: planAssignments(data, table, ['data']) }
  const planned = isPlainChange(body, limits) ? plan : { ...plan, ...planChangeTerms(body, table, limits), ...body.returning !== undefined && { key: getUpdateKey(plan) } }
  refuseWritten(plan, filters)
  return Object.freeze(planned)
}

function getUpdateKey ({ table, assignments }: UpdatePlan): readonly Column[] {
  const key = findUpdateKey(table, assignments)
  if (key !== undefined) return key
  throw unsupported('/returning', `table "${table.name}" has no unique key that identifies the updated rows: add one, or leave out "returning"`)
}
