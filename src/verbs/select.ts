import type { SelectBody } from '../../schemas/body.ts'
import { DEFAULT_LIMIT } from '../../schemas/limits.ts'
import type { Table, TableSource } from '../catalog/catalog.ts'
import { at, invalidBody, mayBeNew, type Path } from '../errors.ts'
import { requireRoom, type Runner } from '../execute/runner.ts'
import { getColumn } from '../plan/columns.ts'
import { findRelevance } from '../plan/filters/match.ts'
import { planFilters } from '../plan/filters/resolve-filters.ts'
import { planGroups } from '../plan/groups.ts'
import { planMembers } from '../plan/members.ts'
import { planOrder, completeOrder, orderKeyOf, planPage } from '../plan/order.ts'
import type { Condition, Member, Order, SelectPlan } from '../plan/plan.ts'
import { findUnexpected } from '../plan/write-options.ts'
import type { PlanLimits } from '../plan/limits.ts'
import { restrictRows } from '../plan/row-rules.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import type { Result } from '../response/result.ts'
import { readMembers } from './include.ts'
import { counting } from '../plan/filters/scope.ts'

const ALL_ROWS: Condition = Object.freeze({ kind: 'constant', value: true })

export const select = {
  counts: 'rows' as const,

  plan (body: SelectBody, source: TableSource, limits: PlanLimits): SelectPlan {
    const plan = planSelect(body, source, limits)
    return source.table.granted === undefined ? plan : restrictRows(plan, source.table.granted)
  },

  run: runSelect,

  respond (_plan: SelectPlan, { total }: Result, given: ResponseSink | undefined): string | Buffer {
    const sink = given as ResponseSink
    return sink.finish(total === undefined ? sink.next() : `${sink.next()},"total":${total}`)
  }
}

/** @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_ORDER_BY, INVALID_BODY, NOT_SUPPORTED */
export function planSelect (body: SelectBody, source: TableSource, given: PlanLimits): SelectPlan {
  const { table } = source
  if (body.groupBy !== undefined || body.aggregates !== undefined) return planGroups(body, source, given)
  const { filters, columns, limit = DEFAULT_LIMIT, orderBy, include } = body
  const limits = include === undefined ? given : counting(given)
  const rows = {
    columns: columns?.map((name, index) => getColumn(table, name, ['columns', index])) ?? table.visibleColumns,
    condition: filters === undefined ? ALL_ROWS : planFilters(filters, source, limits)
  }
  const members = include === undefined ? undefined : planMembers(include, { source, limits })
  const plan: SelectPlan = {
    verb: 'select',
    table,
    ...rows,
    order: orderBy === undefined ? [] : planRowOrder(orderBy, rows.condition, { table, members, limits }),
    limit
  }
  const isPlain =
    body.after === undefined && body.offset === undefined && body.total === undefined && body.expect === undefined
  const paged = isPlain ? plan : planPage(body, plan, limits)
  return Object.freeze(members === undefined ? paged : withMembers(paged, members))
}

/**
 * An order by relevance or by an aggregate, which many rows share, is completed by the key, as pages are. Relevance
 * depends on rows outside of the rules.
 */
function planRowOrder (
  orderBy: NonNullable<SelectBody['orderBy']>,
  condition: Condition,
  { table, members = [], limits }: {
    readonly table: Table
    readonly members: readonly Member[] | undefined
    readonly limits: PlanLimits
  }
): readonly Order[] {
  const relevance = (table.granted?.rules.length ?? 0) > 0 ? undefined : findRelevance(condition)
  const order = planOrder(orderBy, { table, members, relevance, limits })
  const isShared = order.some(({ column, of }) => column === relevance || of?.kind === 'computed')
  return isShared ? completeOrder(order, orderKeyOf(table)) : order
}

/** Members need a transaction if a statement of their own must see the snapshot of the rows. */
function withMembers (plan: SelectPlan, members: readonly Member[]): SelectPlan {
  return { ...plan, members, ...members.some(hasStatement) && { inTransaction: true } }
}

const hasStatement = (member: Member): boolean => member.kind !== 'one' || member.members.some(hasStatement)

// A stream is like any select, but with any number of rows.

/** More rows than a table has, and a number that both engines accept. */
const EVERY_ROW = Number.MAX_SAFE_INTEGER

/** `limit`: of rows; all of them if omitted. @throws INVALID_BODY, and as planSelect */
export function planStream (
  body: Omit<SelectBody, 'limit'>,
  source: TableSource,
  { limit = EVERY_ROW, limits }: { readonly limit?: number | undefined; readonly limits: PlanLimits }
): SelectPlan {
  const { page, read: _read, ...plan } = select.plan({ ...body, limit: Math.min(limit, EVERY_ROW) }, source, limits)
  refuseLists(plan.members ?? [], ['include'])
  // a stream does not say where the next page begins
  return Object.freeze({
    ...plan,
    ...(page !== undefined && { page: page.by === 'position' ? { ...page, orderOnly: [] } : page })
  })
}

/** Lists need statements of their own for many rows at a time. */
function refuseLists (members: readonly Member[], path: Path): void {
  for (const member of members) {
    const memberPath = [...path, member.name]
    if (member.kind !== 'one') {
      throw at(
        memberPath,
        mayBeNew(invalidBody(
          'in a stream a member must be one row: the columns of "on", with those that "filters" hold equal, must ' +
          'contain a unique key of its table, and "as" must not be "list"'
        ))
      )
    }
    refuseLists(member.members, [...memberPath, 'include'])
  }
}

function runSelect (
  runner: Runner,
  plan: SelectPlan,
  { sink }: { readonly sink: ResponseSink | undefined }
): Promise<Result> {
  const isOneStatement = plan.members === undefined && plan.total === undefined && plan.expect === undefined
  return isOneStatement ? runner.run(plan, sink) : runWithMore(runner, plan, sink as ResponseSink)
}

async function runWithMore (runner: Runner, plan: SelectPlan, sink: ResponseSink): Promise<Result> {
  const total = plan.total && await runner.count(plan.table, plan.condition, plan.total.limit, plan.lock)
  const outcome = await runner.run(plan, sink)
  requireRoom(sink)
  requireExpected(plan, sink.count)
  if (plan.members === undefined) return total === undefined ? outcome : { ...outcome, total }
  return { ...outcome, rows: outcome.rows + await readMembers(runner, sink), total }
}

/** @throws EXPECTATION_FAILED */
function requireExpected ({ expect, table }: SelectPlan, count: number): void {
  const unexpected = expect && findUnexpected(expect, count, table.name)
  if (unexpected !== undefined) throw unexpected
}
