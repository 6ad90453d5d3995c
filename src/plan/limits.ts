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
