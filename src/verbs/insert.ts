import type { InsertBody } from '../../schemas/body.ts'
import { type Column, type TableSource, traitsOf } from '../catalog/catalog.ts'
import { at, notNullViolation, pointer, unsupported } from '../errors.ts'
import { withCheck } from '../execute/after-write.ts'
import { bindMoments, insertReturning, type ReturningPlan, runInsert } from '../execute/execute-insert.ts'
import type { Runner } from '../execute/runner.ts'
import { findDefaulted, refuseNulls } from '../plan/assignments.ts'
import { sortByKey, withInsertKey } from '../plan/insert-key.ts'
import { planInsert, planReadRows, type ReadRows, type Terms } from '../plan/inserted-rows.ts'
import { planReturnedMembers } from '../plan/members.ts'
import type { InsertPlan, Returned } from '../plan/plan.ts'
import { restrictInsert } from '../plan/row-rules.ts'
import type { PlanLimits } from '../plan/limits.ts'
import { decisionsOf, findDecisions, NO_DECISIONS } from '../plan/writes.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import { finishWrite, type Result, type RowCounts } from '../response/result.ts'
import { isMoment } from '../types/column-type.ts'
import { withReturnedMembers } from './include.ts'
import { counting } from '../plan/filters/scope.ts'
import { givenValue } from '../plan/holes.ts'

export const insert = {
  counts: 'changed' as const,

  plan (body: InsertBody, source: TableSource, limits: PlanLimits): InsertPlan {
    const planned = planInsert(body, source.table, limits.standIns)
    const members = body.include && planReturnedMembers(body.include, { source, limits: counting(limits) })
    return complete(members === undefined
      ? planned
      : { ...planned, returning: { ...planned.returning as Returned, members } })
  },

  /** Plans an insert of rows that have been read, of which it returns none. */
  planReadRows: (rows: ReadRows, terms: Terms, { table }: TableSource): InsertPlan =>
    complete(planReadRows(rows, terms, table)),

  async run (
    runner: Runner,
    planned: InsertPlan,
    { sink }: { readonly sink: ResponseSink | undefined }
  ): Promise<Result> {
    const plan = await bindMoments(planned, runner)
    const running =
      sink === undefined ? runInsert({ plan, runner }) : insertReturning(plan as ReturningPlan, runner, sink)
    const checked = plan.afterWrite === undefined ? running : withCheck(runner, plan, running)
    return await (plan.returning?.members === undefined ? checked : withReturnedMembers(runner, sink, checked))
  },

  respond: (plan: InsertPlan, result: Result, sink: ResponseSink | undefined): string | Buffer =>
    finishWrite(plan, insertedText(plan, result), sink)
}

/** Adds what the rules of the grant require, and refuses what the database would not. */
function complete (planned: InsertPlan): InsertPlan {
  const { granted } = planned.table
  const restricted = granted === undefined ? planned : restrictInsert(planned, granted)
  refuseNullsInRows(restricted)
  refuseOnlyDefaults(restricted)
  const { rows, isList, conflict, afterWrite } = restricted
  // one plain row needs no decision
  const isPlain = !isList && conflict === undefined && afterWrite === undefined
  const decisions = isPlain ? NO_DECISIONS : findDecisions(restricted)
  const isSorted = conflict !== undefined &&
    decisionsOf({ decisions }, rows).every(({ whyInOrder }) => whyInOrder === undefined)
  const plan = Object.freeze({
    ...restricted,
    decisions,
    rows: isSorted ? sortByKey(rows, conflict.key) : rows,
    ...(isIdMoment(restricted) && { inTransaction: true as const })
  })
  return plan.returning === undefined ? plan : withInsertKey(plan)
}

/** A moment is written to the id. */
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
  if (conflict === undefined || traitsOf(table).hasDefault) return
  const row = rows.find(({ columns }) => columns.length === 0)
  if (row === undefined || findDefaulted(table) !== undefined) return
  throw unsupported(
    isList ? pointer('data', row.index) : '/data',
    `the database computes the defaults of all columns of table "${table.name}": send a value`
  )
}

function refuseNullsInRows ({ isList, rows, conflict }: InsertPlan): void {
  for (const { index, columns, parameters } of rows) {
    for (let place = 0; place < parameters.length; place++) {
      const { nullable, name } = columns[place] as Column
      if (parameters[place] !== null || nullable) continue
      throw at([...(isList ? ['data', index] : ['data']), name], notNullViolation())
    }
  }
  if (conflict?.set.kind === 'assignments') refuseNulls(conflict.set.assignments, ['onConflict', 'set'])
}

function insertedText ({ conflict }: InsertPlan, { changed, counts, id, outcomes }: Result): string {
  if (conflict === undefined) return `"inserted":${changed},"id":${id}`
  const { inserted, updated, unchanged } = counts as RowCounts
  const text = `"inserted":${inserted},"updated":${updated},"unchanged":${unchanged},"id":${id}`
  return outcomes === undefined ? text : `${text},"outcomes":${JSON.stringify(outcomes)}`
}
