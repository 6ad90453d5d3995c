import type { DeleteBody } from '../../schemas/body.ts'
import type { Table } from '../catalog/catalog.ts'
import type { FilterLimits } from './filters/scope.ts'
import { planRequiredFilters } from './filters/filters.ts'
import type { DeletePlan } from './plan.ts'

/** Plans a delete. @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_BODY, FILTERS_REQUIRED */
export function planDelete ({ verb, filters }: DeleteBody, table: Table, limits: FilterLimits): DeletePlan {
  return Object.freeze({ verb, table, condition: planRequiredFilters(verb, filters, table, limits) } as const)
}
