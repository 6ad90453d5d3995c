import type { DeleteBody } from '../../schemas/body.ts'
import type { TableSource } from '../catalog/catalog.ts'
import { runChange } from '../execute/change.ts'
import type { Runner } from '../execute/runner.ts'
import { requireSearchKey } from '../plan/filters/match.ts'
import { planRequiredFilters } from '../plan/filters/resolve-filters.ts'
import { planReturnedMembers } from '../plan/members.ts'
import type { DeletePlan } from '../plan/plan.ts'
import { restrictRows } from '../plan/row-rules.ts'
import type { PlanLimits } from '../plan/limits.ts'
import { planWriteOptions, refuseWritten } from '../plan/write-options.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import { finishWrite, type Result } from '../response/result.ts'
import { readMembers } from './include.ts'
import { counting } from '../plan/filters/scope.ts'

export const remove = {
  counts: 'changed' as const,

  plan (body: DeleteBody, source: TableSource, limits: PlanLimits): DeletePlan {
    const plan = planDelete(body, source, limits)
    return source.table.granted === undefined ? plan : restrictRows(plan, source.table.granted)
  },

  run: (runner: Runner, plan: DeletePlan, { sink }: { readonly sink: ResponseSink | undefined }): Promise<Result> =>
    runChange(runner, plan, { sink, readLists: (rows) => readMembers(runner, rows, 'share') }),

  respond: (plan: DeletePlan, { changed }: Result, sink: ResponseSink | undefined): string | Buffer =>
    finishWrite(plan, `"deleted":${changed}`, sink)
}

/** @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_BODY, FILTERS_REQUIRED, NOT_SUPPORTED */
function planDelete (body: DeleteBody, source: TableSource, given: PlanLimits): DeletePlan {
  const { table } = source
  const limits = counting(given)
  const { verb, filters } = body
  const plan: DeletePlan = { verb, table, condition: planRequiredFilters(verb, filters, source, limits) }
  const members = body.include && planReturnedMembers(body.include, { source, limits })
  const planned = { ...plan, ...planWriteOptions(body, table, limits, members) }
  const { tables, isSearch } = limits.counted
  if (tables !== undefined) refuseWritten(plan, source, tables)
  if (isSearch === true) requireSearchKey(plan)
  return Object.freeze(planned)
}
