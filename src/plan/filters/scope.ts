import type { ColumnScope } from '../columns.ts'
import type { FilterLimits } from '../limits.ts'

/** The state while the filters of one body are planned: where their columns are, their limits and what has been counted so far. */
export interface FilterScope {
  readonly table: ColumnScope
  readonly limits: FilterLimits
  /** Set where no value can be a moment: in `having`. */
  readonly isTimeless?: true
  conditions: number
  values: number
}

/** Counts a condition. Returns whether there are too many. */
export function countCondition (scope: FilterScope): boolean {
  const { limits: { conditions, counted } } = scope
  scope.conditions++
  return (counted === undefined ? scope.conditions : ++counted.conditions) > conditions
}

/** Counts the values of a list. Returns whether there are too many. */
export function countValues (scope: FilterScope, count: number): boolean {
  const { limits: { values, counted } } = scope
  scope.values += count
  if (counted === undefined) return scope.values > values
  counted.values += count
  return counted.values > values
}

export function createFilterScope (table: ColumnScope, limits: FilterLimits): FilterScope {
  return { table, limits, conditions: 0, values: 0 }
}
