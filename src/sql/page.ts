/** What a select reads besides the rows and columns of its answer, to know where the next page begins. */
import type { Column } from '../catalog/catalog.ts'
import type { SelectPlan } from '../plan/plan.ts'

/** The columns of the rows that a select reads: those of the answer, then those that only the position needs. */
export function selectedColumns ({ columns, page }: SelectPlan): readonly Column[] {
  return page?.by === 'position' && page.hidden.length > 0 ? [...columns, ...page.hidden] : columns
}

/** How many rows a select reads. */
export function rowsOf ({ limit, page, isStream }: SelectPlan): number {
  return page === undefined || isStream === true ? limit : limit + 1
}
