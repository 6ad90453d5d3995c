import type { Table } from '../../catalog/catalog.ts'
import type { TableSource } from '../../catalog/catalog.ts'
import { at, invalidBody, type Path } from '../../errors.ts'
import type { ColumnScope } from '../columns.ts'
import { startCount, type Counted, type FilterLimits, type PlanLimits } from '../limits.ts'

/** The state while the filters of one body are planned: the table of their columns, their limits and the counts so far. */
export interface FilterScope {
  readonly table: ColumnScope
  readonly limits: FilterLimits
  /** Set in `having`, where no value can be a moment. */
  readonly isTimeless?: true
  /** Set if `$some` and `$none` are allowed. */
  readonly relating?: Relating
  readonly counted: Counted
}

/** The rows to which the members of `$some` and `$none` are related. */
export interface Relating {
  readonly source: TableSource
  /** The table whose filters have them. */
  readonly table: Table
  /** The level of the members, counted together with those of `include`. */
  readonly level: number
  /** Levels that are allowed. */
  readonly levels: number
}

/** Counts a condition. @throws INVALID_BODY if there are too many */
export function countCondition ({ counted, limits }: FilterScope, path: Path): void {
  if (++counted.conditions > limits.conditions) throw at(path, invalidBody(`The filters contain more than ${limits.conditions} conditions`))
}

/** Counts the values of a list. Returns whether there are too many. */
export const countValues = ({ counted, limits }: FilterScope, count: number): boolean => (counted.values += count) > limits.values

/** Counts a table that `$some` or `$none` names. Returns whether there are too many. */
export const countTable = ({ counted }: FilterScope, name: string): boolean => (counted.tables ??= new Set()).add(name).size > MAX_TABLES

/** Servers join at most 61 tables, also in the query that confirms columns, which includes the tables of `include`. */
const MAX_TABLES = 10

/** A scope without `$some` and `$none`. */
export function createFilterScope (table: ColumnScope, limits: FilterLimits): FilterScope {
  return { table, limits, counted: limits.counted ?? startCount() }
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
