import type { Table } from '../../catalog/catalog.ts'
import type { TableSource } from '../../catalog/table-source.ts'
import type { ColumnScope } from '../columns.ts'
import type { Counted, FilterLimits, PlanLimits } from '../limits.ts'

/** The state while the filters of one body are planned: where their columns are, their limits and what has been counted so far. */
export interface FilterScope {
  readonly table: ColumnScope
  readonly limits: FilterLimits
  /** Set where no value can be a moment: in `having`. */
  readonly isTimeless?: true
  /** Set where `$some` and `$none` are allowed. */
  readonly relating?: Relating
  readonly counted: Counted
}

/** What the members of `$some` and `$none` are related to. */
export interface Relating {
  readonly source: TableSource
  /** The table whose filters have them. */
  readonly table: Table
  /** Their level, together with those of `include`. */
  readonly level: number
  /** Levels that are allowed. */
  readonly levels: number
}

/** Counts a condition. Returns whether there are too many. */
export const countCondition = ({ counted, limits }: FilterScope): boolean => ++counted.conditions > limits.conditions

/** Counts the values of a list. Returns whether there are too many. */
export const countValues = ({ counted, limits }: FilterScope, count: number): boolean => (counted.values += count) > limits.values

/** Counts a table that `$some` or `$none` names. Returns whether there are too many. */
export const countTable = ({ counted }: FilterScope, name: string): boolean => (counted.tables ??= new Set()).add(name).size > MAX_TABLES

/** Servers join 61 tables at most, which confirms their columns: with those of `include`. */
const MAX_TABLES = 10

/** A scope without `$some` and `$none`. */
export function createFilterScope (table: ColumnScope, limits: FilterLimits): FilterScope {
  return { table, limits, counted: limits.counted ?? { conditions: 0, values: 0 } }
}

export interface RowScope {
  readonly source: TableSource
  /** The table of the filters; that of the request if omitted. */
  readonly table?: Table
  readonly limits: PlanLimits
  /** The level of members. */
  readonly level: number
}

/** A scope of filters that select rows of a table, which can have `$some` and `$none`. */
export function createRowScope ({ source, table = source.table, limits, level }: RowScope): FilterScope {
  return { ...createFilterScope(table, limits), relating: { source, table, level, levels: limits.include?.levels ?? 0 } }
}
