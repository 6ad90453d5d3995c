import type { AggregateCall } from '../../schemas/body.ts'
import type { MemberColumn } from '../../schemas/fields.ts'
import { type Column, OF_RESULT, type Table } from '../catalog/catalog.ts'
import { at, invalidValue, type Path } from '../errors.ts'
import { getOrCreate } from '../bounded-map.ts'
import { COUNT_DISTINCT, COUNT_VALUES, MAX, MIN } from '../types/aggregates.ts'
import { type ColumnType, type Computation, describeType, type Totals } from '../types/column-type.ts'
import { getColumn, getRelatedColumn } from './columns.ts'
import { planGroup } from './filters/resolve-filters.ts'
import type { FilterScope } from './filters/scope.ts'
import type { ComputedColumn, OneMember } from './plan.ts'

/** The operand of `{"$count": "*"}`, which counts rows. */
const ROWS = '*'

/** The aggregate functions: the computation of each for a type; undefined for types that it refuses. */
const functions: ReadonlyMap<string, (type: ColumnType) => Computation | undefined> = new Map([
  ['$count', () => COUNT_VALUES],
  ['$countDistinct', ({ sortable }: ColumnType) => sortable ? COUNT_DISTINCT : undefined],
  ['$sum', (type: ColumnType) => totalsOf(type)?.sum],
  ['$avg', (type: ColumnType) => totalsOf(type)?.avg],
  ['$min', (type: ColumnType) => type.ranked ? { type, sql: MIN } : undefined],
  ['$max', (type: ColumnType) => type.ranked ? { type, sql: MAX } : undefined]
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

export interface AggregateScope {
  readonly scope: FilterScope
  readonly table: Table
  readonly path: Path
  /** The members of the rows, of which an aggregate may use columns. */
  readonly members?: readonly OneMember[]
}

/** Plans `{"$sum": "total"}`, or `{"$sum": {"customer": "credit"}, "filters": {…}}`. */
export function planAggregate (
  name: string,
  { filters = {}, ...call }: AggregateCall,
  given: AggregateScope
): ComputedColumn {
  const [[key, operand]] = Object.entries(call) as [[string, string | MemberColumn]]
  const column = planFunction(name, [key, operand], given)
  const condition = planGroup(filters, given.scope, [...given.path, 'filters'])
  return condition.kind === 'constant' && condition.value ? column : { ...column, condition }
}

function planFunction (
  name: string,
  [key, operand]: [string, string | MemberColumn],
  { table, path: parent, members = [] }: AggregateScope
): ComputedColumn {
  if (key === '$count' && operand === ROWS) return resultColumn(name, key, COUNT_VALUES)
  const place = [...parent, key]
  const { column: source, path } = typeof operand === 'string'
    ? { column: getColumn(table, operand, place), path: place }
    : getRelatedColumn(members, operand, place)
  const aggregate = findAggregate(key, source.type)
  if (aggregate === undefined) throw at(path, invalidValue(source.name, `${describeType(source)} has no ${key}`))
  return resultColumn(name, key, aggregate, source)
}

/** `declaration`: for messages. */
export function resultColumn (name: string, call: string, { type, sql }: Computation, source?: Column): ComputedColumn {
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
