import type { SelectBody } from '../../schemas/body.ts'
import { MAX_COLUMNS } from '../../schemas/limits.ts'
import { type Column, type Table, traitsOf } from '../catalog/catalog.ts'
import {
  at, didYouMean, invalidBody, invalidOrderBy, invalidValue, mayBeNew, type Path, pointer, unsupported
} from '../errors.ts'
import { getOrCreate } from '../bounded-map.ts'
import { objectKeys } from '../json/exact-json.ts'
import { describeType, type Positions, type Value } from '../types/column-type.ts'
import { keepsOrder } from '../types/text.ts'
import { getColumn, type ColumnScope, readValue } from './columns.ts'
import { combine } from './filters/scope.ts'
import { Hole, oneMore, valueOr } from './holes.ts'
import { furtherLists, readPath } from './filters/json-paths.ts'
import {
  type ComputedMember, type Condition, isInside, isRelevance, type JsonPlace, type ManyMember, type Member,
  type Operator, type Order, type Page, type Relevance, type SelectPlan
} from './plan.ts'
import { findColumns } from './row-keys.ts'
import type { FilterLimits, PlanLimits } from './limits.ts'
import { planRange } from './write-options.ts'

const DIRECTION = /\s((?:asc|desc)(?:\s+nulls\s+(?:first|last))?)$/i
/** An unknown term that may be a name is COLUMN_NOT_FOUND; any other is INVALID_ORDER_BY. */
const NO_NAME = /^$|[^\p{L}\p{M}\p{N}_$]/u

/** A direction by its column; or a member with such a term, or paths in JSON. */
interface Term { readonly [name: string]: string | Term }

export interface OrderScope {
  readonly table: ColumnScope
  readonly path?: Path
  /** The order can name their columns. */
  readonly members?: readonly Member[]
  /** How well the rows match the search of the request, if it has one. */
  readonly relevance?: Relevance | undefined
  /** Set where terms can be paths inside JSON: not in groups. */
  readonly limits?: FilterLimits | undefined
}

type Terms = Required<Omit<OrderScope, 'relevance' | 'limits'>> & Pick<OrderScope, 'relevance' | 'limits'>

/** `of`: a member, of which it is a column or an aggregate. */
type OrderedColumn = Pick<Order, 'column' | 'of' | 'inside'>

/**
 * Plans `orderBy`: "<column> [ASC|DESC [NULLS FIRST|LAST]], …", or a list of objects such as {"<column>": "DESC"}.
 * Columns and aggregates of members are "<member>.<column>" and {"<member>": {"<column>": "DESC"}}; members of these
 * that are one row may stand in between. A path in a JSON column is {"<column>": {"$.size": "DESC"}}.
 * @throws INVALID_ORDER_BY, COLUMN_NOT_FOUND, INVALID_BODY, NOT_SUPPORTED
 */
export function planOrder (
  orderBy: string | readonly Term[],
  { table, path = ['orderBy'], members = [], relevance, limits }: OrderScope
): Order[] {
  const scope = { table, path, members, relevance, limits }
  const terms = typeof orderBy === 'string' ? orderBy.split(',') : orderBy
  if (terms.length > MAX_COLUMNS) throw refuse(path, `contains more than ${MAX_COLUMNS} columns`)
  const order = terms.map((term, index) =>
    typeof term === 'string' ? planTextTerm(term.trim(), scope) : planTerm(term, scope, index))
  if (order.length > 1 && hasRepeat(order)) throw refuse(path, 'contains a column or a path twice')
  if (typeof orderBy !== 'string' && limits !== undefined) requireFew(order.filter(isInside), limits, path)
  return order
}

/** @throws INVALID_BODY, NOT_SUPPORTED for more paths than the service or the engine sorts by */
function requireFew (paths: readonly Order[], { conditions }: FilterLimits, path: Path): void {
  const most = paths[0]?.column.type.inside?.maxSorted ?? conditions
  if (most < conditions && paths.length > most) {
    throw unsupported(pointer(...path), `MariaDB can sort by at most ${most} paths inside JSON`)
  }
  const count = paths.reduce((sum, { inside }) => sum + 1 + furtherLists(inside as JsonPlace), 0)
  if (count > conditions) {
    throw at(path, invalidBody(`"orderBy" can have at most ${conditions} paths and further steps into lists`))
  }
}

const keyOf = ({ column, inside }: Order): unknown =>
  inside === undefined ? column : JSON.stringify([column.name, inside.jsonParts])

/** Together with their members, because several members can have the same table. */
function hasRepeat (order: readonly Order[]): boolean {
  return Array.from(Map.groupBy(order, ({ of }) => of).values()).some(
    (terms) => new Set(terms.map(keyOf)).size < terms.length
  )
}

function planTextTerm (term: string, scope: Terms): Order {
  const direction = DIRECTION.exec(term)?.[1]
  return toOrder(
    getTermColumn(scope, { term, name: direction === undefined ? term : term.slice(0, -direction.length).trimEnd() }),
    direction,
    scope.path
  )
}

function planTerm (term: Term, scope: Terms, index: number): Order {
  const { table, path, members, relevance } = scope
  const [[name, value]] = Object.entries(term) as [[string, Term[string]]]
  const termPath = [...path, index, name]
  if (name === '$match' && typeof value === 'string' && !table.columns.has(name)) {
    if (relevance !== undefined) return toOrder({ column: relevance }, value, path)
    throw refuse(
      termPath,
      'contains "$match", which needs exactly one "$match" at the top of "filters" or in "$and" there, and a table ' +
      'without rules: relevance depends on other rows'
    )
  }
  if (typeof value === 'string') return toOrder({ column: getColumn(table, name, termPath) }, value, path)
  const member = members.find((each) => each.name === name)
  if (member !== undefined) return planMemberTerm(member, value, path, termPath)
  const inside = planPathTerm(name, value, scope, termPath)
  if (inside !== undefined) return inside
  const hint = didYouMean(name, members.map((each) => each.name))
  throw refuse(termPath, `contains ${JSON.stringify(name)}, which is not a member of "include"${hint}`)
}

/** `{"$.size": "DESC"}`. Undefined if it is no path, and not for a column of JSON. */
function planPathTerm (name: string, term: Term, { table, path, limits }: Terms, termPath: Path): Order | undefined {
  const [[text, direction]] = Object.entries(term) as [[string, string | Term]]
  const isPath = text.startsWith('$') || table.columns.get(name)?.type.inside !== undefined
  if (limits === undefined || typeof direction !== 'string' || !isPath) return undefined
  const column = getColumn(table, name, termPath)
  if (column.type.inside === undefined) {
    throw refuse(path, `contains a path in "${name}", which is ${describeType(column)} and not JSON`)
  }
  const inside = readPath(text, column, { table, limits, path: [...termPath, text] })
  return toOrder({ column, inside }, direction, path)
}

/** `{"<column>": "DESC"}` of a member, or `{"<member>": {"<column>": "DESC"}}` of one of its members. */
function planMemberTerm (member: Member, term: Term, path: Path, termPath: Path): Order {
  const [[name, value]] = Object.entries(term) as [[string, string | Term]]
  const columnPath = [...termPath, name]
  if (typeof value === 'string') return toOrder(getMemberColumn(member, name, { path, columnPath }), value, path)
  const inner = findInner(member, name)
  if (inner !== undefined) return planMemberTerm(requireOneRow(inner, path), value, path, columnPath)
  throw refuse(columnPath, `contains ${JSON.stringify(name)}, which is not a member of "${member.name}"`)
}

const findInner = (member: Member, name: string): Member | undefined =>
  member.kind === 'one' ? member.members.find((each) => each.name === name) : undefined

/** A member of a member is one row. @throws INVALID_ORDER_BY */
function requireOneRow (member: Member, path: Path): Member {
  if (member.kind === 'one') return member
  throw refuse(path, `contains "${member.name}" of another member, which is not one row`)
}

function toOrder ({ column, of, inside }: OrderedColumn, direction: string | undefined, path: Path): Order {
  if (!column.type.sortable && inside === undefined) {
    throw refuse(path, `contains "${column.name}"; rows cannot be sorted by ${describeType(column)}`)
  }
  const text = direction?.toLowerCase()
  const descends = text?.startsWith('desc') === true
  // a member that is one row may be missing
  const isNullGreatest = text?.endsWith(descends ? 'first' : 'last') === true &&
    (column.nullable || of?.kind === 'one' || inside !== undefined)
  return {
    column,
    direction: descends ? 'desc' : 'asc',
    ...isNullGreatest && { isNullGreatest },
    ...of !== undefined && { of },
    ...inside !== undefined && { inside }
  }
}

function getTermColumn (
  { table, path, members }: Terms,
  { term, name }: { readonly term: string; readonly name: string }
): OrderedColumn {
  const column = table.columns.get(name)
  if (column !== undefined) return { column }
  // names of members have no dot
  const dot = name.indexOf('.')
  const member = dot < 0 ? undefined : members.find((each) => each.name === name.slice(0, dot))
  if (member !== undefined) return getMemberColumn(member, name.slice(dot + 1), { path, columnPath: path })
  if (NO_NAME.test(name)) {
    throw refuse(
      path,
      'must contain terms of the form "<column> [ASC|DESC [NULLS FIRST|LAST]]" separated by commas, not ' +
      JSON.stringify(term)
    )
  }
  return { column: getColumn(table, name, path) }
}

function getMemberColumn (
  member: Member,
  name: string,
  { path, columnPath }: { readonly path: Path; readonly columnPath: Path }
): OrderedColumn {
  if (member.kind === 'many' || (member.kind === 'computed' && member.table.kind === 'view')) {
    throw refuse(
      path,
      `contains "${member.name}", which is ${describeUnsorted(member)}; ` +
        'rows can be sorted by members that are one row, and by aggregates of others'
    )
  }
  const columns = member.kind === 'one' ? member.table : aggregatesOf(member)
  // names of members have no dot
  const dot = columns.columns.has(name) ? -1 : name.indexOf('.')
  const inner = dot < 0 ? undefined : findInner(member, name.slice(0, dot))
  if (inner !== undefined) {
    return getMemberColumn(requireOneRow(inner, path), name.slice(dot + 1), { path, columnPath })
  }
  return { column: getColumn(columns, name, columnPath), of: member }
}

const aggregatesOf = ({ name, columns }: ComputedMember): ColumnScope =>
  ({ name, columns: new Map(columns.map((column) => [column.name, column])), isResult: true })

const describeUnsorted = (member: ManyMember | ComputedMember): string =>
  member.kind === 'computed' ? 'of a view' : member.isObject === true ? 'the first of several rows' : 'a list'

const refuse = (path: Path, reason: string) => at(path, invalidOrderBy(reason))

// In the order of a page no two rows are equal.

// The rows after a position are selected by an OR, column by column: `a > ? or (a = ? and id > ?)`. With it, both
// servers read an index from the position on; with `(a, id) > (?, ?)` they would read it from its beginning. NULL is
// the lowest value, which it is for every engine by default (src/sql/conditions.ts).

/** All rows for null. @throws INVALID_BODY if it has other columns than the order, INVALID_VALUE */
function planPosition (
  after: Readonly<Record<string, unknown>> | null,
  order: readonly Order[],
  table: Pick<Table, 'engine'>
): Condition {
  if (after === null) return { kind: 'constant', value: true }
  const names = order.map(({ column }) => column.name)
  const wrong =
    objectKeys(after).find((name) => !names.includes(name)) ?? names.find((name) => !Object.hasOwn(after, name))
  if (wrong !== undefined) {
    throw at(
      ['after', wrong],
      mayBeNew(invalidBody(`"after" must have the columns of the order and no others: ${names.join(', ')}`))
    )
  }
  const behind = order.reduceRight<Condition>(
    (rest, { column, direction }) => {
      const value = readPosition(column, after[column.name])
      return combine('or', [isBeyond(column, value, direction), combine('and', [isAt(column, value), rest])])
    },
    { kind: 'constant', value: false }
  )
  return traitsOf(table).findsRangeInOr ? behind : combine('and', [boundOf(behind), behind])
}

/**
 * `a >= ?` must accompany the condition on SQLite: it does not know that both values of `a` are the same, and would
 * read the index from its beginning. NULLs, which come last in descending order, have no such bound.
 */
function boundOf (behind: Condition): Condition {
  const [first, ...others] = behind.kind === 'or' ? behind.conditions : []
  if (first?.kind !== 'compare' || others.some(({ kind }) => kind === 'null')) return { kind: 'constant', value: true }
  return { ...first, operator: first.operator === '>' ? '>=' : '<=' }
}

/** Null is allowed in nullable columns. @throws INVALID_VALUE */
function readPosition (column: Column, given: unknown): Value | Hole | null {
  const path = ['after', column.name]
  if (given !== null) return readValue(column, given, path, positionsOf(column)?.read)
  if (!column.nullable) throw at(path, invalidValue(column.name, 'is NOT NULL, so that no row has this position'))
  return null
}

/** How positions hold the values of the column, if it can have others than its type. A rowid is always an integer. */
const positionsOf = ({ type, autoIncrement }: Column): Positions | undefined =>
  autoIncrement ? undefined : type.positions

/** A value that the server refuses is compared as a text between two others. */
function compare (column: Column, operator: Operator, parameter: Value | Hole): Condition {
  const positions = positionsOf(column)
  if (positions === undefined) return { kind: 'compare', column, operator, parameter }
  const condition = { kind: 'compare', column, isPosition: true } as const
  const { around: aroundOf = () => undefined } = positions
  if (parameter instanceof Hole) parameter.tests.push((value) => aroundOf(value as Value) === undefined)
  const around = parameter instanceof Hole ? undefined : aroundOf(parameter)
  if (around === undefined) return { ...condition, operator, parameter }
  const [low, high] = around
  return combine('and', [
    ...(operator === '<' ? [] : [{ ...condition, operator: '>=', parameter: low } as const]),
    ...(operator === '>' ? [] : [{ ...condition, operator: '<', parameter: high } as const]),
    { ...condition, operator, parameter, isText: true }
  ])
}

/** Ties follow the collation of the column, as the order does. */
function isAt (column: Column, value: Value | Hole | null): Condition {
  return value === null ? { kind: 'null', column, negated: false } : compare(column, '=', value)
}

/** Later in this direction. */
function isBeyond (column: Column, value: Value | Hole | null, direction: Order['direction']): Condition {
  if (value === null) {
    return direction === 'asc' ? { kind: 'null', column, negated: true } : { kind: 'constant', value: false }
  }
  const greater = compareTo(column, value, direction)
  return direction === 'desc' && column.nullable
    ? combine('or', [greater, { kind: 'null', column, negated: false }])
    : greater
}

function compareTo (column: Column, given: Value | Hole, direction: Order['direction']): Condition {
  const { ranking } = column.type
  const operator = direction === 'asc' ? '>' : '<'
  if (ranking === undefined) return compare(column, operator, given)
  const value = valueOr(given, '')
  if (ranking.values === undefined) return { kind: 'compare', column, operator, parameter: ranking.rank(value) }
  const rank = ranking.values.indexOf(value)
  const parameters = direction === 'asc' ? ranking.values.slice(rank + 1) : ranking.values.slice(0, rank)
  return parameters.length === 0
    ? { kind: 'constant', value: false }
    : { kind: 'in', column, negated: false, parameters }
}

/** @throws INVALID_BODY, INVALID_VALUE, INVALID_ORDER_BY, NOT_SUPPORTED */
export function planPage (
  { after, offset, total, expect }: SelectBody,
  plan: SelectPlan,
  limits: PlanLimits
): SelectPlan {
  return {
    ...plan,
    ...(expect !== undefined && { expect: planRange(expect) }),
    ...((after !== undefined || offset !== undefined) && { read: oneMore(plan.limit) }),
    ...(after !== undefined && planAfter(after, plan, limits)),
    ...(offset !== undefined && planOffset(offset, plan, limits)),
    // the count and the page must come from one snapshot
    ...(total !== undefined && {
      total: { limit: total === true ? undefined : (total as number) },
      inTransaction: true as const
    })
  }
}

type Paged = Pick<SelectPlan, 'order'> & { readonly page: Page }

function planAfter (
  after: Readonly<Record<string, unknown>> | null,
  { table, columns, order: asked }: SelectPlan,
  limits: PlanLimits
): Paged {
  const ofMember = asked.find(({ of }) => of !== undefined)
  if (ofMember !== undefined) throw refuseAfter(`contains a column of the member "${ofMember.of?.name}"`)
  if (asked.some(({ column }) => isRelevance(column))) throw refuseAfter('contains "$match"')
  const ofNulls = asked.find(({ isNullGreatest }) => isNullGreatest)
  if (ofNulls !== undefined) throw refuseAfter(`sorts the NULLs of "${ofNulls.column.name}" as the greatest values`)
  requirePageable(asked)
  const key = orderKeyOf(table)
  if (key.length === 0) {
    throw unsupported(
      '/after',
      `table "${table.name}" has no primary key and no unique key of NOT NULL columns that the token sees: use ` +
      '"offset", or add such a key'
    )
  }
  const order = completeOrder(asked, key)
  requirePageable(order)
  // servers take seconds for an order of hundreds of columns
  if (order.length > limits.conditions) {
    throw at(['orderBy'], invalidBody(`"orderBy" can have at most ${limits.conditions} columns together with "after"`))
  }
  const orderOnly = order.map(({ column }) => column).filter((column) => !columns.includes(column))
  const nullableKey = key.filter(({ nullable }) => nullable)
  return { order, page: { by: 'position', after: planPosition(after, order, table), orderOnly, nullableKey } }
}

const refuseAfter = (reason: string) =>
  refuse(['orderBy'], `${reason}, which is not possible with "after": use "offset"`)

/** @throws INVALID_ORDER_BY for a column by which no condition can select the rows after a position */
function requirePageable (order: readonly Order[]): void {
  const refused = order.map(({ column }) => column).find((column) => !isPageable(column))
  if (refused === undefined) return
  const { name, collation } = refused
  const why = comparesAsSorted(refused)
    ? describeType(refused)
    : `the collation ${collation}, because the database sorts its texts in another way than it compares them`
  throw refuse(['orderBy'], `contains "${name}"; "after" is not possible with ${why}`)
}

/** Whether a condition can select the rows after a value in the order of the column. */
export const isPageable = (column: Column): boolean =>
  !column.type.structured && column.type.unplaced !== true && comparesAsSorted(column)

/** Whether the database compares values in the order in which it sorts them. ENUMs have the order of their members. */
const comparesAsSorted = ({ type, collation }: Column): boolean =>
  collation === undefined || type.ranking !== undefined || keepsOrder(collation)

/** The key of groups is `groupBy`. */
function planOffset (offset: number, { table, order: asked, groups }: SelectPlan, limits: PlanLimits): Paged {
  if (offset > limits.offset) {
    throw at(['offset'], invalidBody(`"offset" must be from 0 to ${limits.offset}; use "after" for pages behind that`))
  }
  return { order: completeOrder(asked, groups?.by ?? orderKeyOf(table)), page: { by: 'offset', offset } }
}

/**
 * Appends the missing columns of the key in the direction of the last term, so that an index can be read in one
 * direction.
 */
export function completeOrder (order: readonly Order[], key: readonly Column[]): readonly Order[] {
  const direction = order.at(-1)?.direction ?? 'asc'
  const ofTable = order.filter(({ of, inside }) => of === undefined && inside === undefined)
  const columns = new Set(ofTable.map(({ column }) => column))
  return [...order, ...key.filter((column) => !columns.has(column)).map((column) => ({ column, direction }))]
}

/** The keys that complete an order; empty for tables without one. */
const keys = new WeakMap<Table, readonly Column[]>()

/**
 * The primary key, or else the unique key with the fewest columns, all NOT NULL; the first one if there are several. A
 * key with a column that the table does not show is not used. Empty if there is none.
 */
export const orderKeyOf = (table: Table): readonly Column[] => getOrCreate(keys, table, () => {
  const primary = findSortable(table, table.primaryKey)
  const unique = table.indexes.filter((index) => index.unique)
    .map(({ parts }) => findSortable(table, parts.map(({ column }) => column)))
    .filter((key) => key !== undefined && key.every(({ nullable }) => !nullable)) as Array<readonly Column[]>
  return primary ?? unique.toSorted((a, b) => a.length - b.length)[0] ?? []
})

/** The key by which pages can be read with `after`. */
export function findPageKey (table: Table): readonly Column[] | undefined {
  const key = orderKeyOf(table)
  return key.length > 0 && key.every(isPageable) ? key : undefined
}

function findSortable ({ columns }: Table, names: ReadonlyArray<string | null>): readonly Column[] | undefined {
  const key = findColumns(columns, names)
  return key?.every(({ type }) => type.sortable) === true ? key : undefined
}
