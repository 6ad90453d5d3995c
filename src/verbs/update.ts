import type { UpdateBody } from '../../schemas/body.ts'
import { baseTable, type Column, type ForeignKey, type TableSource } from '../catalog/catalog.ts'
import { unsupported } from '../errors.ts'
import { withCheck } from '../execute/after-write.ts'
import { countUpdated, runChange } from '../execute/change.ts'
import type { Runner } from '../execute/runner.ts'
import { planAssignments, refuseNulls } from '../plan/assignments.ts'
import { requireSearchKey } from '../plan/filters/match.ts'
import { planRequiredFilters } from '../plan/filters/resolve-filters.ts'
import { existsIn, counting } from '../plan/filters/scope.ts'
import { planReturnedMembers } from '../plan/members.ts'
import type { UpdatePlan } from '../plan/plan.ts'
import { findUpdateKey, mayChangeKey } from '../plan/row-keys.ts'
import { restrictUpdate } from '../plan/row-rules.ts'
import { withUpdateTimes } from '../plan/rule.ts'
import type { PlanLimits } from '../plan/limits.ts'
import { planWriteOptions, refuseWritten } from '../plan/write-options.ts'
import { factsOf } from '../plan/writes.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import { finishWrite, type Result } from '../response/result.ts'
import { withReturnedMembers } from './include.ts'
import { isKeyed, isOfMany, planKeyedUpdates, runKeyedUpdates } from './keyed-updates.ts'

export const update = {
  counts: 'changed' as const,

  plan (body: UpdateBody, source: TableSource, limits: PlanLimits): UpdatePlan {
    if (isOfMany(body)) return planKeyedUpdates(body, source, limits)
    const { granted } = source.table
    const planned = planUpdate(body, source, limits)
    const plan = granted === undefined ? planned : restrictUpdate(planned, granted)
    refuseNulls(plan.assignments, ['data'])
    return granted === undefined ? plan : withUpdateTimes(plan)
  },

  run (runner: Runner, plan: UpdatePlan, { sink }: { readonly sink: ResponseSink | undefined }): Promise<Result> {
    const assignments = runner.bindAssignments(plan.assignments)
    const running = assignments instanceof Promise
      ? assignments.then((bound) => runBound(runner, { ...plan, assignments: bound }, sink))
      : runBound(runner, plan, sink)
    return plan.returning?.members === undefined ? running : withReturnedMembers(runner, sink, running)
  },

  respond: (plan: UpdatePlan, { changed }: Result, sink: ResponseSink | undefined): string | Buffer =>
    finishWrite(plan, `"updated":${changed}`, sink)
}

function runBound (runner: Runner, plan: UpdatePlan, sink: ResponseSink | undefined): Promise<Result> {
  if (isKeyed(plan)) return runKeyedUpdates(runner, plan, sink)
  const running = runChange(runner, plan, { sink })
  return plan.table.granted === undefined
    ? running
    : withCheck(runner, plan, running).then((result) => ({ ...result, changed: countUpdated(plan, result) }))
}

/** @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, INVALID_BODY, FILTERS_REQUIRED, NOT_SUPPORTED */
function planUpdate (body: UpdateBody, source: TableSource, given: PlanLimits): UpdatePlan {
  const { table } = source
  const limits = counting(given)
  const { verb, data, filters } = body
  const condition = planRequiredFilters(verb, filters, source, limits)
  const assignments = planAssignments(data as Readonly<Record<string, unknown>>, table, ['data'], limits)
  const members = body.include && planReturnedMembers(body.include, { source, limits })
  const { tables, isSearch } = limits.counted
  // in the order of the statement, as which its parameters then need not be sorted
  const plan: UpdatePlan = { verb, table, assignments, condition }
  const key = body.returning !== undefined
    ? getUpdateKey(plan)
    : tables !== undefined && movesRelated(plan) ? findUpdateKey(table, assignments) : undefined
  const planned: UpdatePlan = {
    ...plan,
    ...planWriteOptions(body, table, limits, members),
    ...(key && { key, inTransaction: true })
  }
  if (tables !== undefined) refuseWritten(plan, source, tables)
  if (isSearch === true) requireSearchKey(plan)
  return Object.freeze(planned)
}

/**
 * Cascades may move rows by which the filters select (`$some`): servers judge each row when they reach it, so that the
 * rows must be found before.
 */
function movesRelated ({ table, assignments, condition }: UpdatePlan): boolean {
  const written = assignments.map(({ column }) => column)
  const leadsHere = ({ referencedTable, referencedColumns }: ForeignKey): boolean =>
    referencedTable === table.name
      ? written.some(({ name }) => referencedColumns.includes(name))
      : mayChangeKey(table, written)
  return factsOf(table).hasTransactions &&
    existsIn(condition).some((each) => baseTable(each.table).foreignKeys.some(leadsHere))
}

function getUpdateKey ({ table, assignments }: UpdatePlan): readonly Column[] {
  const key = findUpdateKey(table, assignments)
  if (key !== undefined) return key
  throw unsupported(
    '/returning',
    `table "${table.name}" has no unique key that identifies the updated rows: add one, or leave out "returning"`
  )
}
