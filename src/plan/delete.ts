import type { DeleteBody } from '../../schemas/body.ts'
import type { TableSource } from '../catalog/catalog.ts'
import type { PlanLimits } from './limits.ts'
import { planRequiredFilters } from './filters/filters.ts'
import type { DeletePlan } from './plan.ts'
import { refuseWritten } from './related-writes.ts'
import { isPlainChange, planChangeTerms } from './terms.ts'

/** Plans a delete. @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_BODY, FILTERS_REQUIRED, NOT_SUPPORTED */
export function planDelete (body: DeleteBody, source: TableSource, limits: PlanLimits): DeletePlan {
  const { table } = source
  const { verb, filters } = body
  const plan: DeletePlan = { verb, table, condition: planRequiredFilters(verb, filters, source, limits) }
  const planned = isPlainChange(body, limits) ? plan : { ...plan, ...planChangeTerms(body, table, limits) }
  refuseWritten(plan, filters)
  return Object.freeze(planned)
}
