import type { UpdateBody } from '../../schemas/body.ts'
import type { Table } from '../catalog/catalog.ts'
import { planAssignments, type Place } from './assignments.ts'
import type { FilterLimits } from './filters/scope.ts'
import { planRequiredFilters } from './filters/filters.ts'
import type { UpdatePlan } from './plan.ts'

const DATA: Place = { path: ['data'], forms: true }

/** Plans an update. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, INVALID_BODY, FILTERS_REQUIRED, NOT_NULL_VIOLATION */
export function planUpdate ({ verb, data, filters }: UpdateBody, table: Table, limits: FilterLimits): UpdatePlan {
  const condition = planRequiredFilters(verb, filters, table, limits)
  return Object.freeze({ verb, table, condition, assignments: planAssignments(data, table, DATA) } as const)
}
