/** The options of a write that make one statement not enough, and the isolation of its transaction. */
import type { Expect, InsertBody, UpdateBody } from '../../schemas/body.ts'
import { type Column, mayCascade, type Table, type TableSource } from '../catalog/catalog.ts'
import { writtenBy } from '../catalog/triggers.ts'
import { at, expectationFailed, invalidBody, pointer, type ServiceError, unsupported } from '../errors.ts'
import { getColumn } from './columns.ts'
import type {
  ChangeOptions, DeletePlan, InsertPlan, Plan, Returned, RowRange, UpdatePlan
} from './plan.ts'
import { existsIn, membersOf } from './filters/scope.ts'
import type { NamedBy, PlanLimits } from './limits.ts'
import { mayChangeKey } from './row-keys.ts'
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
  const rows = count > most ? thereAre('more than ', Math.max(most, 0)) : thereAre('', count)
  return at(['expect'], expectationFailed(`${rows} in "${table}" for these filters, and ${describeRange(range)}`))
}

/** The database undoes it if it fails. */
export const isOneStatement = (plan: Plan): boolean =>
  plan.inTransaction !== true && (plan.verb !== 'insert' || isPlainRow(plan))

export const isPlainRow = ({ isList, conflict }: InsertPlan): boolean => !isList && conflict === undefined

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

// The isolation of a write that is alone in its transaction.

/** READ COMMITTED, unless what a write reads must stay as it is until it has written or read again. */
export const isolationOf = (plan: Plan): 'readCommitted' | 'repeatableRead' =>
  whyRepeatable(plan) === undefined ? 'readCommitted' : 'repeatableRead'

/**
 * A trigger may give new rows other keys than those by which they are checked after the write, which then needs a
 * snapshot.
 */
export const mayMoveNew = (table: Table): boolean => table.granted !== undefined && factsOf(table).fillsNew

/** Why a plan must see one snapshot; undefined if it need not. */
export function whyRepeatable (plan: Plan): string | undefined {
  const { table, afterWrite } = plan
  if (plan.verb !== 'insert' && existsIn(plan.condition).length > 0) return 'its filters read other rows'
  if (membersOf(plan).length > 0) return 'several statements read rows and members'
  if (plan.verb === 'insert') {
    return afterWrite !== undefined && mayMoveNew(table) ? 'a snapshot shows only the new rows of the write' : undefined
  }
  if (plan.verb === 'delete') {
    if (plan.returning !== undefined) return 'it reads the rows that it deletes'
    return (plan.expect ?? plan.maximum) !== undefined && mayCascade(table)
      ? 'it counts rows that it may already have deleted'
      : undefined
  }
  if (plan.verb !== 'update' || (plan.returning === undefined && afterWrite === undefined)) return undefined
  return mayChangeKey(table, plan.assignments.map(({ column }) => column))
    ? 'its rows may exchange unique values, so its filters must find them again'
    : undefined
}
