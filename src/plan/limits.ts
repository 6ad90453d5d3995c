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
  /** The counts so far, if the limits apply to several filters or bodies together. */
  readonly counted?: Counted
}

/** The counted conditions and values of lists, and the tables that `$some` and `$none` of one body name. */
export interface Counted {
  conditions: number
  values: number
  tables?: Set<string> | undefined
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

export const startCount = (): Counted => ({ conditions: 0, values: 0 })

/** Returns limits that apply to all filters of a body together. */
export const counting = <L extends FilterLimits> (limits: L): L => limits.counted === undefined ? { ...limits, counted: startCount() } : limits

/** Limits on one request. */
export interface RequestLimits extends PlanLimits {
  readonly include: NonNullable<PlanLimits['include']>
  /** Operations in one transaction. */
  readonly operations: number
  /** Rows of a stream; any number if omitted. */
  readonly streamRows?: number | undefined
}
