/** Insert: how its body is planned, its plan is run and its counts are returned. */
import type { InsertBody } from '../../schemas/body.ts'
import { type Column, type TableSource, traitsOf } from '../catalog/catalog.ts'
import { at, notNullViolation, pointer, unsupported } from '../errors.ts'
import { runWithCheck } from '../execute/after-write.ts'
import { runInsert, type WatchRow } from '../execute/execute-insert.ts'
import { insertReturning } from '../execute/insert-returning.ts'
import type { Runner } from '../execute/runner.ts'
import { findDefaulted, refuseNulls } from '../plan/assignments.ts'
import { planInsert } from '../plan/inserted-rows.ts'
import { withInsertKey } from '../plan/insert-key.ts'
import { planReturnedMembers } from '../plan/members.ts'
import { bindRows, givesMoment, returnsByMoment } from '../plan/moments.ts'
import { givenValue, type InsertPlan, type PlannedRow, type Returned } from '../plan/plan.ts'
import { restrictInsert } from '../plan/row-rules.ts'
import { counting, type PlanLimits } from '../plan/write-options.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import {
  findParameter, finishWrite, idOfInserted, idOfUpserted, type Result, type RowCounts
} from '../response/result.ts'
import { isMoment } from '../types/moment.ts'
import { withReturnedMembers } from './include.ts'

export const insert = {
  plan (body: InsertBody, source: TableSource, limits: PlanLimits): InsertPlan {
    const planned = planInsert(body, source.table, limits.references)
    const plan = restrictInsert(withMembers(planned, planReturnedMembers(body, { source, limits: counting(limits) })))
    refuseNullsInRows(plan)
    refuseOnlyDefaults(plan)
    const complete = isIdMoment(plan) ? Object.freeze({ ...plan, inTransaction: true as const }) : plan
    return complete.returning === undefined ? complete : withInsertKey(complete)
  },

  hasMoment: (plan: InsertPlan): boolean => givesMoment(plan) || returnsByMoment(plan.returning),

  bindClock: bindRows,

  run (runner: Runner, plan: InsertPlan, { sink }: { readonly sink: ResponseSink | undefined }): Promise<Result> {
    const run = (watchRow?: WatchRow): Promise<Result> =>
      sink === undefined
        ? runInsert({ plan, runner, watchRow })
        : insertReturning({ plan, runner, watchRow }, sink)
    return withReturnedMembers(runner, sink, runWithCheck(runner, plan, run))
  },

  respond: (plan: InsertPlan, result: Result, sink: ResponseSink | undefined): string | Buffer =>
    finishWrite(plan, insertedText(result.bound ?? plan, result), sink),

  rowsOf: (_plan: InsertPlan, { changed }: Result): number => changed
}

const withMembers = (plan: InsertPlan, members: Returned['members']): InsertPlan =>
  members === undefined ? plan : { ...plan, returning: { ...plan.returning as Returned, members } }

/** Whether an insert writes a moment to the column of its id. */
function isIdMoment ({ table: { identity }, rows, conflict }: InsertPlan): boolean {
  if (identity?.type.moment === undefined) return false
  const changed = conflict?.set.kind === 'assignments' ? conflict.set.assignments : []
  return (
    changed.some(({ column, parameter }) => column === identity && isMoment(parameter)) ||
    rows.some((row) => isMoment(givenValue(row, identity)))
  )
}

/** @throws NOT_SUPPORTED if a row gives no values, and only the database knows the defaults of all columns */
function refuseOnlyDefaults ({ table, rows, conflict, isList }: InsertPlan): void {
  if (traitsOf(table).hasDefault || conflict === undefined) return
  const row = rows.find(({ columns }) => columns.length === 0)
  if (row === undefined || findDefaulted(table) !== undefined) return
  throw unsupported(
    isList ? pointer('data', row.index) : '/data',
    `the database computes the defaults of all columns of table "${table.name}": send a value`
  )
}

/** Names the first refused row in the order of the request, because the rows of an upsert are sorted. */
function refuseNullsInRows ({ isList, rows, conflict }: InsertPlan): void {
  let first: { readonly index: number, readonly column: Column } | undefined
  for (const row of rows) {
    const column = findNull(row)
    if (column !== undefined && (first === undefined || row.index < first.index)) first = { index: row.index, column }
  }
  if (first !== undefined) {
    throw at([...(isList ? ['data', first.index] : ['data']), first.column.name], notNullViolation())
  }
  if (conflict?.set.kind === 'assignments') refuseNulls(conflict.set.assignments, ['onConflict', 'set'])
}

function findNull ({ columns, parameters }: PlannedRow): Column | undefined {
  for (let index = 0; index < parameters.length; index++) {
    if (parameters[index] === null && !(columns[index] as Column).nullable) return columns[index]
  }
  return undefined
}

function insertedText (plan: InsertPlan, outcome: Result): string {
  const { table, rows, isList, conflict } = plan
  if (conflict === undefined) {
    const given = findParameter(rows[0] as PlannedRow, table.identity)
    return `"inserted":${outcome.changed},"id":${idOfInserted(table, given, outcome)}`
  }
  const { inserted, updated, unchanged } = outcome.counts as RowCounts
  const id = isList ? 'null' : idOfUpserted(plan, outcome)
  return `"inserted":${inserted},"updated":${updated},"unchanged":${unchanged},"id":${id}`
}
