/** Plans `groupBy`, `aggregates` and `having`. */
import type { AggregateCall, SelectBody } from '../../schemas/body.ts'
import { DEFAULT_LIMIT } from '../../schemas/limits.ts'
import { type Column, OF_RESULT, type Table, type TableSource } from '../catalog/catalog.ts'
import { at, invalidValue, type Path } from '../errors.ts'
import { getOrCreate } from '../get-or-create.ts'
import { COUNT_DISTINCT, COUNT_ROWS, COUNT_VALUES, createMax, createMin } from '../types/aggregates.ts'
import type { ColumnType, Computation, Totals } from '../types/column-type.ts'
import { type ColumnScope, getColumn } from './columns.ts'
import { planGroup } from './filters/resolve-filters.ts'
import { createFilterScope, createRowScope, type FilterScope } from './filters/scope.ts'
import { planOrder } from './order-by.ts'
import { planPage } from './page-after.ts'
import type { ComputedColumn, SelectPlan } from './plan.ts'
import { counting, type PlanLimits } from './write-options.ts'

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

/** Plans `{"$sum": "total"}`, or `{"$sum": "total", "filters": {…}}`. */
export function planAggregate (
  name: string,
  { filters = {}, ...call }: AggregateCall,
  { scope, table, path }: { readonly scope: FilterScope, readonly table: Table, readonly path: Path }
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
