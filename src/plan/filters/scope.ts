import type { ColumnScope } from '../columns.ts'

/** Limits on the filters of one body. */
export interface FilterLimits {
  /** Nested levels of combinators such as `$and` and `$not`. */
  readonly depth: number
  /** Conditions on columns. */
  readonly conditions: number
  /** Values, summed over all lists. */
  readonly values: number
  /** Characters (code points) of one pattern. */
  readonly pattern: number
}

/** The state while the filters of one body are planned: where their columns are, their limits and what has been counted so far. */
export interface FilterScope {
  readonly table: ColumnScope
  readonly limits: FilterLimits
  conditions: number
  values: number
}

export function createFilterScope (table: ColumnScope, limits: FilterLimits): FilterScope {
  return { table, limits, conditions: 0, values: 0 }
}
