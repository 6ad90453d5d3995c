import { at, invalidOrderBy, type Path, didYouMean } from '../errors.ts'
import { getColumn, type ColumnScope } from './columns.ts'
import type { ComputedMember, ManyMember, Member, Order, Relevance } from './plan.ts'

const DIRECTION = /\s(asc|desc)$/i
/** An unknown term that looks like a name is COLUMN_NOT_FOUND; any other is INVALID_ORDER_BY. */
const NAME = /^[\p{L}\p{M}\p{N}_$]+$/u

/** A term of a list: the key is the column, the value is the direction; or a member with such a term. */
type Term = Readonly<Record<string, string | Readonly<Record<string, string>>>>

/** The tables in which the columns of an order are looked up. */
export interface OrderScope {
  readonly table: ColumnScope
  readonly path?: Path
  /** Members of the rows, whose columns the order can also name. */
  readonly members?: readonly Member[]
  /** How well the rows match the search of the request, if it has one. */
  readonly relevance?: Relevance | undefined
}

type Terms = Required<Omit<OrderScope, 'relevance'>> & Pick<OrderScope, 'relevance'>

/** A column of the table or of a member, or an aggregate of a member. */
type OrderedColumn = Pick<Order, 'column' | 'of'>

/**
 * Plans `orderBy`: "<column> [ASC|DESC], …", or a list of objects such as {"<column>": "DESC"}. Columns and aggregates
 * of members are "<member>.<column>" and {"<member>": {"<column>": "DESC"}}. @throws INVALID_ORDER_BY, COLUMN_NOT_FOUND
 */
export function planOrder (
  orderBy: string | readonly Term[],
  { table, path = ['orderBy'], members = [], relevance }: OrderScope
): Order[] {
  const scope = { table, path, members, relevance }
  const order =
    typeof orderBy === 'string'
      ? orderBy.split(',').map((term) => planTextTerm(term.trim(), scope))
      : orderBy.map((term, index) => planTerm(term, scope, index))
  if (order.length > 1 && hasRepeat(order)) throw refuse(path, 'contains a column twice')
  return order
}

/** Compares columns together with their members, because several members can have the same table. */
function hasRepeat (order: readonly Order[]): boolean {
  return Array.from(Map.groupBy(order, ({ of }) => of).values()).some(
    (terms) => new Set(terms.map(({ column }) => column)).size < terms.length
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

function planTerm (term: Term, { table, path, members, relevance }: Terms, index: number): Order {
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
  if (member === undefined) {
    const hint = didYouMean(name, members.map((each) => each.name))
    throw refuse(termPath, `contains ${JSON.stringify(name)}, which is not a member of "include"${hint}`)
  }
  const [[column, direction]] = Object.entries(value) as [[string, string]]
  return toOrder(getMemberColumn(member, column, { path, columnPath: [...termPath, column] }), direction, path)
}

function toOrder ({ column, of }: OrderedColumn, direction: string | undefined, path: Path): Order {
  if (!column.type.sortable) {
    throw refuse(path, `contains "${column.name}"; rows cannot be sorted by the type ${column.declaration}`)
  }
  return { column, direction: direction?.toLowerCase() === 'desc' ? 'desc' : 'asc', ...of !== undefined && { of } }
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
  if (!NAME.test(name)) {
    throw refuse(
      path,
      `must contain terms of the form "<column> [ASC|DESC]" separated by commas, not ${JSON.stringify(term)}`
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
  return { column: getColumn(columns, name, columnPath), of: member }
}

const aggregatesOf = ({ name, columns }: ComputedMember): ColumnScope =>
  ({ name, columns: new Map(columns.map((column) => [column.name, column])), isResult: true })

const describeUnsorted = (member: ManyMember | ComputedMember): string =>
  member.kind === 'computed' ? 'of a view' : member.isObject === true ? 'the first of several rows' : 'a list'

const refuse = (path: Path, reason: string) => at(path, invalidOrderBy(reason))
