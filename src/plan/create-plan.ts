import { type Body, DEFAULT_LIMIT, type DeleteBody, type SelectBody, type UpdateBody } from '../../schemas/body.ts'
import type { Column, Table, TableSource } from '../catalog/catalog.ts'
import { writtenBy } from '../catalog/triggers.ts'
import { at, invalidBody, notNullViolation, type Path, permissionDenied, pointer, unsupported } from '../errors.ts'
import { planAssignments, refuseOnlyDefaults } from './assignments.ts'
import { getColumn } from './columns.ts'
import { planFilters, planRequiredFilters } from './filters/resolve-filters.ts'
import { planGroups } from './groups.ts'
import { withTouched } from './rule.ts'
import { withInsertKey } from './insert-key.ts'
import { planInsert } from './insert.ts'
import { planMembers } from './members.ts'
import { isIdMoment } from './moments.ts'
import { planOrder } from './order-by.ts'
import { planPage } from './page.ts'
import type { Assignment, DeletePlan, InsertPlan, Member, Plan, PlannedRow, SelectPlan, UpdatePlan } from './plan.ts'
import { findUpdateKey } from './row-keys.ts'
import { applyRules } from './row-rules.ts'
import { type Counted, counting, isPlainChange, planChangeTerms, type PlanLimits } from './terms.ts'

/**
 * Refuses filters by the rows of tables that the write itself changes, which MySQL and MariaDB cannot evaluate.
 * Considers the texts of the triggers that the account may see; only the server knows the rest. To be called when all
 * else is planned. @throws NOT_SUPPORTED
 */
function refuseWritten ({ verb, table }: UpdatePlan | DeletePlan, { tables }: Counted): void {
  if (tables === undefined) return
  const byTriggers = writtenBy(table, verb)
  for (const [name, { path, by }] of tables) {
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

/** Plans a delete. @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_BODY, FILTERS_REQUIRED, NOT_SUPPORTED */
function planDelete (body: DeleteBody, source: TableSource, given: PlanLimits): DeletePlan {
  const { table } = source
  const limits = counting(given)
  const { verb, filters } = body
  const plan: DeletePlan = { verb, table, condition: planRequiredFilters(verb, filters, source, limits) }
  const planned = isPlainChange(body, limits) ? plan : { ...plan, ...planChangeTerms(body, table, limits) }
  refuseWritten(plan, limits.counted)
  return Object.freeze(planned)
}

// Refuses null for NOT NULL columns, as the database should. MySQL would store the next AUTO_INCREMENT number instead
// or, with some settings, the current time in a TIMESTAMP column.

/**
 * Called when the plan is complete, because refusals of the database come after those of the service. @throws
 * NOT_NULL_VIOLATION
 */
function refuseNulls (plan: Plan): void {
  if (plan.verb === 'update') refuseIn(plan.assignments, ['data'])
  if (plan.verb === 'insert') refuseInRows(plan)
}

function refuseIn (assignments: readonly Assignment[], path: Path): void {
  for (const { column, parameter, form } of assignments) {
    if (parameter === null && form === undefined && !column.nullable) {
      throw at([...path, column.name], notNullViolation())
    }
  }
}

/** Names the first refused row in the order of the request, because the rows of an upsert are sorted. */
function refuseInRows ({ isList, rows, conflict }: InsertPlan): void {
  let first: { readonly index: number, readonly column: Column } | undefined
  for (const row of rows) {
    const column = findNull(row)
    if (column !== undefined && (first === undefined || row.index < first.index)) first = { index: row.index, column }
  }
  if (first !== undefined) {
    throw at([...(isList ? ['data', first.index] : ['data']), first.column.name], notNullViolation())
  }
  if (conflict?.set.kind === 'assignments') refuseIn(conflict.set.assignments, ['onConflict', 'set'])
}

function findNull ({ columns, parameters }: PlannedRow): Column | undefined {
  for (let place = 0; place < parameters.length; place++) {
    if (parameters[place] === null && !(columns[place] as Column).nullable) return columns[place]
  }
  return undefined
}

/** Plans a select. @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_ORDER_BY, INVALID_BODY, NOT_SUPPORTED */
export function planSelect (body: SelectBody, source: TableSource, given: PlanLimits): SelectPlan {
  const { table } = source
  if (body.groupBy !== undefined || body.aggregates !== undefined) return planGroups(body, source, given)
  const { filters = {}, columns, limit = DEFAULT_LIMIT, orderBy, include } = body
  const limits = include === undefined ? given : counting(given)
  const rows = {
    columns: columns?.map((name, index) => getColumn(table, name, ['columns', index])) ?? table.columnList,
    condition: planFilters(filters, source, limits)
  }
  const members = include === undefined ? undefined : planMembers(include, { source, limits })
  const plan: SelectPlan = {
    verb: 'select',
    table,
    ...rows,
    order: orderBy === undefined ? [] : planOrder(orderBy, { table, ...(members !== undefined && { members }) }),
    limit
  }
  const isPlain =
    body.after === undefined && body.offset === undefined && body.total === undefined && body.expect === undefined
  const paged = isPlain ? plan : planPage(body, plan, limits)
  return Object.freeze(members === undefined ? paged : withMembers(paged, members))
}

/** Adds members, which need a transaction if a statement of their own must see the snapshot of the rows. */
function withMembers (plan: SelectPlan, members: readonly Member[]): SelectPlan {
  return { ...plan, members, ...members.some(hasStatement) && { inTransaction: true } }
}

/** Whether a member, or one of its members, needs a statement of its own. */
const hasStatement = (member: Member): boolean => member.kind !== 'one' || member.members.some(hasStatement)

/**
 * Plans an update. @throws COLUMN_NOT_FOUND, COLUMN_NOT_WRITABLE, INVALID_VALUE, INVALID_BODY, FILTERS_REQUIRED,
 * NOT_SUPPORTED
 */
function planUpdate (body: UpdateBody, source: TableSource, given: PlanLimits): UpdatePlan {
  const { table } = source
  const limits = counting(given)
  const { verb, data, filters } = body
  const condition = planRequiredFilters(verb, filters, source, limits)
  const assignments = planAssignments(data, table, ['data'], limits.references)
  const plan: UpdatePlan = { verb, table, condition, assignments }
  const planned = isPlainChange(body, limits)
    ? plan
    : {
        ...plan,
        ...planChangeTerms(body, table, limits),
        ...(body.returning !== undefined && { key: getUpdateKey(plan) })
      }
  refuseWritten(plan, limits.counted)
  return Object.freeze(planned)
}

function getUpdateKey ({ table, assignments }: UpdatePlan): readonly Column[] {
  const key = findUpdateKey(table, assignments)
  if (key !== undefined) return key
  throw unsupported(
    '/returning',
    `table "${table.name}" has no unique key that identifies the updated rows: add one, or leave out "returning"`
  )
}

/**
 * Plans a validated body for its table and the others that it names. @throws PERMISSION_DENIED for a write to a view or
 * one that breaks a rule of the grant, NOT_NULL_VIOLATION after all others, and the errors of the verb
 */
export function createPlan (body: Body, source: TableSource, limits: PlanLimits): Plan {
  const { table } = source
  const planned = planBody(body, source, limits)
  const plan = table.granted === undefined ? planned : applyRules(planned, table.granted)
  refuseNulls(plan)
  if (plan.verb === 'update') return withTouched(plan)
  if (plan.verb !== 'insert') return plan
  refuseOnlyDefaults(plan)
  const insert = isIdMoment(plan) ? Object.freeze({ ...plan, inTransaction: true as const }) : plan
  return insert.returning === undefined ? insert : withInsertKey(insert)
}

/** @throws PERMISSION_DENIED for a write to a view */
export function refuseView (verb: Body['verb'], { kind, name }: Table): void {
  if (kind === 'view' && verb !== 'select') throw permissionDenied(`"${name}" is a view; use select`)
}

function planBody (body: Body, source: TableSource, limits: PlanLimits): Plan {
  const { table } = source
  refuseView(body.verb, table)
  switch (body.verb) {
    case 'select': return planSelect(body, source, limits)
    case 'insert': return planInsert(body, table, limits.references)
    case 'update': return planUpdate(body, source, limits)
    case 'delete': return planDelete(body, source, limits)
  }
}

// Plans the select of a stream like that of an answer, but with any number of rows.

/** More rows than a table has, and a number that both engines accept. */
const EVERY_ROW = Number.MAX_SAFE_INTEGER

/** `limit`: the number of rows; all of them if left out. @throws INVALID_BODY, and as createPlan */
export function planStream (
  body: Omit<SelectBody, 'limit'>,
  source: TableSource,
  { limit = EVERY_ROW, limits }: { readonly limit?: number | undefined; readonly limits: PlanLimits }
): SelectPlan {
  const { page, ...plan } = createPlan({ ...body, limit: Math.min(limit, EVERY_ROW) }, source, limits) as SelectPlan
  requireOne(plan.members ?? [], ['include'])
  // a stream does not say where the next page begins
  return Object.freeze({
    ...plan,
    isStream: true,
    ...(page !== undefined && { page: page.by === 'position' ? { ...page, hidden: [] } : page })
  })
}

/** Refuses lists, which need statements of their own for many rows at a time. */
function requireOne (members: readonly Member[], path: Path): void {
  for (const member of members) {
    const place = [...path, member.name]
    if (member.kind !== 'one') {
      throw at(
        place,
        invalidBody(
          'in a stream a member must be one row: the columns of "on", with those that "filters" hold equal, must ' +
          'contain a unique key of its table'
        )
      )
    }
    requireOne(member.members, [...place, 'include'])
  }
}
