import type { Expect, InsertBody, UpdateBody } from '../../schemas/body.ts'
import type { Column, Table, TableSource } from '../catalog/catalog.ts'
import { writtenBy } from '../catalog/triggers.ts'
import { at, expectationFailed, invalidBody, type Path, pointer, type ServiceError, unsupported } from '../errors.ts'
import { getColumn } from './columns.ts'
import type {
  ChangeOptions, DeletePlan, InsertPlan, Plan, Returned, RowRange, UpdatePlan
} from './plan.ts'
import type { StandIns } from './holes.ts'
import { factsOf } from './writes.ts'

/** `expect`: a number, or bounds that must all hold. */
export function planRange (expect: Expect): RowRange {
  const { $eq, $gt, $gte, $lt, $lte } = typeof expect === 'number' ? { $eq: expect } as Exclude<Expect, number> : expect
  return {
    least: Math.max(0, ...[$eq, $gte, $gt === undefined ? undefined : $gt + 1].filter(isGiven)),
    most: Math.min(Infinity, ...[$eq, $lte, $lt === undefined ? undefined : $lt - 1].filter(isGiven))
  }
}

const thereAre = (bound: string, count: number): string =>
  count === 1 ? `there is ${bound}1 row` : `there are ${bound}${count} rows`

function describeRange ({ least, most }: RowRange): string {
  if (most < least) return 'no number is within its bounds'
  const range =
    least === most
      ? `${least}`
      : most === Infinity
        ? `at least ${least}`
        : least === 0
          ? `at most ${most}`
          : `${least} to ${most}`
  return `${range} ${range === '1' || range.endsWith(' 1') ? 'is' : 'are'} expected`
}

const isGiven = (bound: number | undefined): bound is number => bound !== undefined

/** EXPECTATION_FAILED if the number of rows is not in the range. */
export function findUnexpected (range: RowRange, count: number, table: string): ServiceError | undefined {
  const { least, most } = range
  if (count >= least && count <= most) return undefined
  // rows beyond the upper bound are not counted to the end
  const found = count > most ? thereAre('more than ', Math.max(most, 0)) : thereAre('', count)
  return at(['expect'], expectationFailed(`${found} in "${table}" for these filters, and ${describeRange(range)}`))
}

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

export const startCount = (): Counted => ({ conditions: 0, values: 0 })

/** Returns limits that apply to all filters of a body together. */
export const counting = <L extends FilterLimits>(limits: L): L & { readonly counted: Counted } =>
  ({ ...limits, counted: limits.counted ?? startCount() })

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

/** The database undoes it if it fails. */
export const isOneStatement = (plan: Plan): boolean =>
  plan.inTransaction !== true && (plan.verb !== 'insert' || isOneRow(plan))

export const isOneRow = ({ isList, conflict }: InsertPlan): boolean => !isList && conflict === undefined

/** `path`: the field that requires it. @throws NOT_SUPPORTED if writes to the table cannot be undone */
export function requireUndoable (table: Table, path: string): void {
  if (!factsOf(table).hasTransactions) {
    throw unsupported(path, `the engine of table "${table.name}" has no transactions, so that nothing can be undone`)
  }
}

const NONE = Object.freeze({})

/**
 * The options that make one statement not enough. @throws COLUMN_NOT_FOUND, NOT_SUPPORTED: to be called when all else
 * is planned
 */
export function planWriteOptions (
  { returning, dryRun, expect }: Pick<InsertBody, 'returning' | 'dryRun'> & Pick<UpdateBody, 'expect'>,
  table: Table,
  { changed }: Pick<PlanLimits, 'changed'> = NONE,
  members?: Returned['members']
): ChangeOptions {
  const columns = returning === undefined ? undefined : planReturning(returning, table)
  if (dryRun === true) requireUndoable(table, '/dryRun')
  if (columns === undefined && dryRun !== true && expect === undefined && changed === undefined) return NONE
  return {
    inTransaction: true,
    ...(columns !== undefined && { returning: { columns, members } }),
    ...(dryRun === true && { dryRun }),
    ...(expect !== undefined && { expect: planRange(expect) }),
    ...(changed !== undefined && { maximum: changed })
  }
}

function planReturning (returning: '*' | readonly string[], table: Table): readonly Column[] {
  return returning === '*'
    ? table.visibleColumns
    : returning.map((name, index) => getColumn(table, name, ['returning', index]))
}

/**
 * Refuses filters by the rows of views, which may read any table, and of tables that the write itself changes, which
 * MySQL and MariaDB cannot evaluate. Only the triggers that the account may see are known. To be called when all else
 * is planned.
 * @throws NOT_SUPPORTED
 */
export function refuseWritten (
  { verb, table }: UpdatePlan | DeletePlan,
  source: TableSource,
  tables: ReadonlyMap<string, NamedBy>
): void {
  const byTriggers = writtenBy(table, verb)
  for (const [name, { path, by }] of tables) {
    // members are read by statements of their own
    if (path[0] === 'include') continue
    if (source.see(name, path).kind === 'view') {
      throw unsupported(
        pointer(...path),
        `"${by}" cannot name the view "${name}" in a write: select the rows first, and filter by their keys`
      )
    }
    if (name === table.name) {
      throw unsupported(
        pointer(...path),
        `"${by}" cannot name the table that is written: select the rows first, and filter by their keys`
      )
    }
    if (byTriggers.has(name)) {
      throw unsupported(
        pointer(...path),
        `"${by}" cannot name "${name}", which a trigger of "${table.name}" writes: select the rows first, and filter ` +
        'by their keys'
      )
    }
  }
}

// `lock` of a select in a transaction.

/** @throws INVALID_BODY, NOT_SUPPORTED for a table whose locks would not hold */
export function lockRows (plan: Plan): Plan {
  if (plan.verb === 'select' && plan.groups !== undefined) {
    throw at('/lock', invalidBody('"lock" is not allowed with "groupBy" and "aggregates"'))
  }
  if (!factsOf(plan.table).hasTransactions) {
    throw unsupported(
      '/lock',
      `the engine of table "${plan.table.name}" has no transactions, so that a lock would not hold`
    )
  }
  return Object.freeze({ ...plan, lock: 'update' }) as Plan
}
