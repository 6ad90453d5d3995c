/** The additional rows and columns that a select reads to find the beginning of the next page. */
import type { Column } from '../catalog/catalog.ts'
import type { SelectPlan } from '../plan/plan.ts'

/** The columns of the rows that a select reads: those of the answer, then those that only the position needs. */
export function selectedColumns ({ columns, page }: SelectPlan): readonly Column[] {
  return page?.by === 'position' && page.hidden.length > 0 ? [...columns, ...page.hidden] : columns
}

/** The number of rows that a select reads. */
export function rowsOf ({ limit, page, isStream }: SelectPlan): number {
  return page === undefined || isStream === true ? limit : limit + 1
}
