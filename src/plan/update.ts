import type { UpdateBody } from '../../schemas/body.ts'
import type { Table } from '../catalog/catalog.ts'
import { planAssignments } from './assignments.ts'
import type { FilterLimits } from './filters/scope.ts'
import { planSelectiveFilters } from './filters/filters.ts'
import type { UpdatePlan } from './plan.ts'

/** @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, INVALID_BODY, FILTERS_REQUIRED, NOT_NULL_VIOLATION */
export function planUpdate ({ verb, data, filters }: UpdateBody, table: Table, limits: FilterLimits): UpdatePlan {
  return Object.freeze({
    verb,
    table,
    condition: planSelectiveFilters(verb, filters, table, limits),
    assignments: planAssignments(data, table)
  } as const)
}
