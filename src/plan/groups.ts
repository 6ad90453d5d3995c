/** Plans `groupBy`, `aggregates` and `having`. */
import type { AggregateCall, SelectBody } from '../../schemas/body.ts'
import { DEFAULT_LIMIT } from '../../schemas/fields.ts'
import {
  type Column, mayFire, OF_RESULT, type Rule, type Table, type TableSource, type TriggerEvent
} from '../catalog/catalog.ts'
import { at, invalidValue, type Path, unsupported } from '../errors.ts'
import { getOrCreate } from '../get-or-create.ts'
import { COUNT_DISTINCT, COUNT_ROWS, COUNT_VALUES, createMax, createMin } from '../types/aggregates.ts'
import type { ColumnType, Computation, Totals } from '../types/column-type.ts'
import { type ColumnScope, getColumn } from './columns.ts'
import { planGroup } from './filters/resolve-filters.ts'
import { createFilterScope, createRowScope, type FilterScope } from './filters/scope.ts'
import { findInsertKey } from './insert-key.ts'
import { planOrder } from './order-by.ts'
import { planPage } from './page.ts'
import type { AfterWrite, ComputedColumn, InsertPlan, PlannedRow, SelectPlan, UpdatePlan } from './plan.ts'
import { findUpdateKey } from './row-keys.ts'
import { planRules } from './rule.ts'
import { counting, type PlanLimits } from './terms.ts'

/** The operand of `{"$count": "*"}`, which counts rows. */
const ROWS = '*'

/** The aggregate functions: the computation of each for a type; undefined for types that it refuses. */
const functions: ReadonlyMap<string, (type: ColumnType) => Computation | undefined> = new Map([
  ['$count', () => COUNT_VALUES],
  ['$countDistinct', ({ sortable }: ColumnType) => sortable ? COUNT_DISTINCT : undefined],
  ['$sum', (type: ColumnType) => totalsOf(type)?.sum],
  ['$avg', (type: ColumnType) => totalsOf(type)?.avg],
  ['$min', (type: ColumnType) => type.ranked ? createMin(type) : undefined],
  ['$max', (type: ColumnType) => type.ranked ? createMax(type) : undefined]
])

/** The computation of a function for a column of the type; undefined if the function does not accept it. */
export function findAggregate (call: string, type: ColumnType): Computation | undefined {
  return functions.get(call)?.(type)
}

/** Cached, because a type and its schema take longer to create than the rest of a plan. */
const totals = new WeakMap<ColumnType, Totals>()

function totalsOf (type: ColumnType): Totals | undefined {
  return type.totals === undefined ? undefined : getOrCreate(totals, type, type.totals)
}

/** Plans a select of groups. @throws COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_ORDER_BY, INVALID_BODY */
export function planGroups (body: SelectBody, source: TableSource, given: PlanLimits): SelectPlan {
  const { table } = source
  const limits = counting(given)
  const { filters = {}, groupBy = [], aggregates = {}, having = {}, limit = DEFAULT_LIMIT, orderBy } = body
  const scope = createFilterScope(table, limits)
  const condition = planGroup(filters, createRowScope({ source, table, limits, level: 1 }), ['filters'])
  const by = groupBy.map((entry, index) =>
    typeof entry === 'string'
      ? planGroupColumn(getColumn(table, entry, ['groupBy', index]), ['groupBy', index])
      : planPart(entry, ['groupBy', index], table)
  )
  const computed = Object.entries(aggregates).map(([name, call]) =>
    planAggregate(name, call, { scope, table, path: ['aggregates', name] })
  )
  const columns = [...by, ...computed]
  const result: ColumnScope = {
    name: table.name,
    columns: new Map(columns.map((column) => [column.name, column])),
    isResult: true
  }
  const plan: SelectPlan = {
    verb: 'select',
    table,
    columns,
    condition,
    groups: {
      by,
      aggregates: computed,
      having: planGroup(having, { ...scope, table: result, isTimeless: true, references: undefined }, ['having'])
    },
    order: orderBy === undefined ? [] : planOrder(orderBy, { table: result }),
    limit
  }
  return Object.freeze(body.offset === undefined ? plan : planPage(body, plan, limits))
}

function planGroupColumn (column: Column, path: Path): Column {
  if (!column.type.sortable) {
    throw at(path, invalidValue(column.name, `rows cannot be grouped by the type ${column.declaration}`))
  }
  return column
}

/** Plans `{"month": {"$month": "created_at"}}`: both objects have exactly one key. */
function planPart (
  entry: Exclude<NonNullable<SelectBody['groupBy']>[number], string>,
  parent: Path,
  table: Table
): ComputedColumn {
  const [[name, part]] = Object.entries(entry) as [[string, Readonly<Record<string, string>>]]
  const [[key, operand]] = Object.entries(part) as [[string, string]]
  const path = [...parent, name, key]
  const source = getColumn(table, operand, path)
  const found = source.type.parts?.get(key)
  if (found === undefined) throw at(path, invalidValue(operand, `the type ${source.declaration} has no ${key}`))
  return resultColumn(name, key, found, source)
}

/** The place of an aggregate in the body, and the table that it is computed from. */
interface AggregateScope { readonly scope: FilterScope, readonly table: Table, readonly path: Path }

/** Plans `{"$sum": "total"}`, or `{"$sum": "total", "filters": {…}}`. */
export function planAggregate (
  name: string,
  { filters = {}, ...call }: AggregateCall,
  { scope, table, path }: AggregateScope
): ComputedColumn {
  const [[key, operand]] = Object.entries(call) as [[string, string]]
  const column = planFunction(name, [key, operand], [...path, key], table)
  const condition = planGroup(filters, scope, [...path, 'filters'])
  return condition.kind === 'constant' && condition.value ? column : { ...column, condition }
}

function planFunction (name: string, [key, operand]: [string, string], path: Path, table: Table): ComputedColumn {
  if (key === '$count' && operand === ROWS) return resultColumn(name, key, COUNT_ROWS)
  const source = getColumn(table, operand, path)
  const aggregate = findAggregate(key, source.type)
  if (aggregate === undefined) throw at(path, invalidValue(operand, `the type ${source.declaration} has no ${key}`))
  return resultColumn(name, key, aggregate, source)
}

/** `declaration` is used in messages only. */
function resultColumn (name: string, call: string, { type, sql }: Computation, source?: Column): ComputedColumn {
  const isCount = source === undefined || type === COUNT_VALUES.type
  return {
    ...OF_RESULT,
    name,
    type,
    declaration: isCount ? 'count' : source.declaration,
    nullable: !isCount,
    call,
    sql,
    source
  }
}

// Finds out which values of a written row are not known before the write.

/**
 * Whether the database may compute the value of one of these columns: it is generated, has ON UPDATE, or a trigger sets
 * it.
 */
export function mayCompute (plan: InsertPlan | UpdatePlan, columns: readonly Column[]): boolean {
  const { verb, table } = plan
  const changes = verb === 'update' || plan.conflict !== undefined
  return columns.some(({ generated, onUpdate }) => generated || (changes && onUpdate === true)) ||
    (verb === 'insert' && mayReplace(table, 'insert')) || (changes && mayReplace(table, 'update'))
}

/**
 * Whether a trigger may change the written row: a BEFORE trigger of MySQL, or one of SQLite that writes the table
 * again, which for an insert must be an AFTER trigger.
 */
function mayReplace (table: Table, event: TriggerEvent): boolean {
  if (table.engine !== 'sqlite') return mayFire(table, event, 'before')
  return mayFire(table, event, event === 'insert' ? 'after' : undefined)
}

/** Whether the database computes a column of the key of a row, so that only its statement finds the row that exists. */
export const isComputedKey = (key: readonly Column[], { columns }: Pick<PlannedRow, 'columns'>): boolean =>
  key.some((column) => !columns.includes(column) && (column.generated || column.defaultComputed === true))

/** Whether an upsert writes some of these columns to a row that exists, and keeps the others. */
export function mayMix ({ rows, conflict }: InsertPlan, columns: readonly Column[]): boolean {
  if (conflict === undefined || conflict.set.kind === 'assignments' || columns.length === 1) return false
  const { key, set } = conflict
  // the row that exists has the same values in the columns of the key
  const mixes = (written: readonly Column[]): boolean =>
    columns.some((column) => written.includes(column) && !key.includes(column)) &&
    columns.some((column) => !written.includes(column) && !key.includes(column))
  return set.kind === 'columns' ? mixes(set.columns) : rows.some((row: PlannedRow) => mixes(row.columns))
}

/** Whether new rows of an upsert get the default of one of these columns, while rows that exist keep its value. */
export function mayDefault ({ rows, conflict }: InsertPlan, columns: readonly Column[]): boolean {
  const defaulted = columns.filter(
    ({ defaultText, defaultComputed }) => defaultText !== null || defaultComputed === true
  )
  return conflict !== undefined && defaulted.some((column) => rows.some((row) => !row.columns.includes(column)))
}

/** Whether an upsert may write one of these columns to a row that exists. */
export function mayChange (plan: InsertPlan, row: PlannedRow, columns: readonly Column[]): boolean {
  const { conflict } = plan
  if (conflict === undefined || mayCompute(plan, columns)) return true
  const { key, set } = conflict
  switch (set.kind) {
    case 'given': return row.columns.some((column) => columns.includes(column) && !key.includes(column))
    case 'columns': return set.columns.some((column) => columns.includes(column))
    case 'assignments': return set.assignments.some(({ column }) => columns.includes(column))
  }
}

// Plans a check of the written rows if only they show whether they satisfy the rules of a grant, because the database
// computes some values.

/**
 * Adds the look-up of the written rows, if it is needed. `foreignKeys`: those whose values only the written rows show.
 * `given`: the same with the values of the request. @throws NOT_SUPPORTED if the rows could not be found again, or the
 * write could not be undone
 */
export function withCheckAfterWrite<P extends InsertPlan | UpdatePlan> (
  plan: P,
  rules: readonly Rule[],
  { foreignKeys, given }: Pick<AfterWrite, 'foreignKeys' | 'given'>
): P {
  if (
    foreignKeys.length === 0 &&
    (rules.length === 0 ||
      !mayCompute(
        plan,
        rules.map(({ column }) => column)
      ))
  ) { return plan }
  const afterWrite = planAfterWrite(plan, { rules: planRules(rules), foreignKeys, given })
  if (afterWrite === undefined || !plan.table.transactional) {
    throw unsupported(
      '',
      `the rows of table "${plan.table.name}" must be checked after the write, which needs transactions and a unique ` +
      'key whose values are known'
    )
  }
  const isChecked = plan.verb === 'insert' && plan.conflict !== undefined
  return { ...plan, ...(isChecked && { isChecked }), afterWrite, inTransaction: true }
}

function planAfterWrite (plan: InsertPlan | UpdatePlan, found: Omit<AfterWrite, 'key'>): AfterWrite | undefined {
  if (plan.verb === 'update') {
    const key = findUpdateKey(plan.table, plan.assignments)
    return key && { ...found, key }
  }
  // rows of an upsert are found by the key of the conflict
  return plan.conflict === undefined && !plan.rows.every((row) => findInsertKey(plan.table, [row]) !== undefined)
    ? undefined
    : found
}
