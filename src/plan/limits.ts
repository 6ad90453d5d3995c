import type { Path } from '../errors.ts'
import type { StandIns } from './holes.ts'

/** Limits on the filters of one body. */
export interface FilterLimits {
  /** Nested levels of combinators such as `$and` and `$not`. */
  readonly depth: number
  readonly conditions: number
  /** Values, summed over all lists. */
  readonly values: number
  /** Characters (code points) of one pattern. */
  readonly pattern: number
  /** Set if the limits apply to several filters or bodies together. */
  readonly counted?: Counted
  /** Such as results of earlier operations. */
  readonly standIns?: StandIns
}

/** Conditions, values of lists, tables that `$some` and `$none` of one body name, and whether it has `$match`. */
export interface Counted {
  conditions: number
  values: number
  isSearch?: boolean
  tables?: Map<string, NamedBy> | undefined
}

/** The first path in a body that names a table, and the combinator there: `$some` or `$none`. */
export interface NamedBy { readonly path: Path, readonly by: string }

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
  readonly include: NonNullable<PlanLimits['include']>
  /** Operations in one transaction. */
  readonly operations: number
  /** Rows of a stream; any number if omitted. */
  readonly streamRows?: number | undefined
  /** Size of a row of an import, in bytes, and the number of rows; any number if omitted. */
  readonly importRow: number
  readonly importRows?: number | undefined
}
