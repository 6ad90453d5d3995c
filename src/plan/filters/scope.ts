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
  /** Conditions and values that are counted already, where the limits hold for several bodies together. */
  readonly counted?: { conditions: number, values: number }
}

/** Limits on one body. */
export interface PlanLimits extends FilterLimits {
  /** Rows that "offset" may skip. */
  readonly offset: number
  /** Levels and members of "include"; it is refused if omitted. */
  readonly include?: { readonly levels: number, readonly members: number }
  /** Rows that one update or delete may match; any number if omitted. */
  readonly changed?: number | undefined
}

/** Limits on one request. */
export interface RequestLimits extends PlanLimits {
  /** Operations in one transaction. */
  readonly operations: number
}

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
