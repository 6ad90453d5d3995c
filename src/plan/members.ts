/** `include`: the grant must see each table, and its rules apply. */
import type { Member as MemberBody } from '../../schemas/body.ts'
import type { Include } from '../../schemas/fields.ts'
import { DEFAULT_LIMIT } from '../../schemas/limits.ts'
import type { Column, Table, TableSource } from '../catalog/catalog.ts'
import { at, invalidBody, invalidOrderBy, mayBeNew, type Path } from '../errors.ts'
import { getOrCreate } from '../bounded-map.ts'
import { planAggregate } from './aggregates.ts'
import { getColumn } from './columns.ts'
import { planRelation } from './filters/resolve-filters.ts'
import { createRowScope, type EqualColumns, existsIn } from './filters/scope.ts'
import { planOrder, completeOrder, orderKeyOf } from './order.ts'
import type { ManyMember, Member, Order, Condition, ListMember, OneMember, Returned, SelectPlan } from './plan.ts'
import { isOne, findMemberIndex } from './relation.ts'
import type { PlanLimits } from './limits.ts'

export interface MembersToPlan {
  readonly source: TableSource
  /** The limits, with the counts of the request's filters. */
  readonly limits: PlanLimits
}

/** @throws INVALID_BODY, COLUMN_NOT_FOUND, INVALID_VALUE, INVALID_ORDER_BY; TABLE_NOT_FOUND */
export function planMembers (include: Include, { source, limits }: MembersToPlan): readonly Member[] {
  return planLevel(include, { source, limits }, { table: source.table, path: ['include'], level: 1 })
}

export const planReturnedMembers = (include: Include, { source, limits }: MembersToPlan): readonly Member[] =>
  planMembers(include, { source: withoutViews(source), limits })

/** The rows that a view reads from cannot be locked. */
const withoutViews = (source: TableSource): TableSource => ({
  table: source.table,
  see (name, path) {
    const table = source.see(name, path)
    if (table.kind === 'view') {
      throw at(path, mayBeNew(invalidBody(`"${name}" is a view, which is not allowed beside "returning"`)))
    }
    return table
  }
})

/** The table whose rows have the members, and the path of these in the body. */
interface Level { readonly table: Table, readonly path: Path, readonly level: number }

function planLevel (include: Include, planning: MembersToPlan, { table, path, level }: Level): readonly Member[] {
  return Object.entries(include).map(([name, member]) => {
    const memberPath = [...path, name]
    if (table.columns.has(name)) {
      throw at(
        memberPath,
        mayBeNew(invalidBody(
          `"${name}" is a column of "${table.name}": choose another name for the member, and say its "table"`
        ))
      )
    }
    return planMember(name, member, planning, { table, path: memberPath, level })
  })
}

function planMember (name: string, body: MemberBody, planning: MembersToPlan, { table, path, level }: Level): Member {
  const { source, limits } = planning
  const rowScope = createRowScope({ source, table, limits, level })
  const { table: other, on, condition, equalColumns } = planRelation(name, body, rowScope, path)
  const common = { name, table: other, on, condition }
  if (body.aggregates !== undefined) {
    const scope = { ...rowScope, table: other, isSearchable: undefined, relating: undefined }
    const columns = Object.entries(body.aggregates).map(([key, call]) =>
      planAggregate(key, call, { scope, table: other, path: [...path, 'aggregates', key] })
    )
    return { kind: 'computed', ...common, columns, index: findMemberIndex(other, on, equalColumns.all, []) }
  }
  const rows = {
    ...common,
    columns: planColumns(body, other, path),
    members:
      body.include === undefined
        ? []
        : planLevel(body.include, planning, { table: other, path: [...path, 'include'], level: level + 1 })
  }
  const single = isOne(other, on, equalColumns)
  const isObject = (body.as ?? (single ? 'object' : 'list')) === 'object'
  if (isObject) refuseOfObject(body, { table: other, path })
  const order = planManyOrder(body, { ...rows, path, equalColumns, limits })
  if (isObject && single) return { kind: 'one', ...rows }
  return {
    kind: 'many',
    ...rows,
    order,
    limit: isObject ? 1 : body.limit ?? DEFAULT_LIMIT,
    ...(isObject && { isObject: true as const }),
    index: findMemberIndex(other, on, equalColumns.all, order)
  }
}

/** Only lists have some fields; a form that the request asks for has an order. */
function refuseOfObject (body: MemberBody, { table, path }: Pick<Level, 'table' | 'path'>): void {
  const field = (['orderBy', 'limit'] as const).find(
    (each) => body[each] !== undefined && (each === 'limit' || body.as === undefined)
  )
  if (field === undefined) return
  throw at(
    [...path, field],
    mayBeNew(invalidBody(
      body.as === undefined
        ? `"${field}" is not allowed: the columns of "on", with those that "filters" hold equal, contain a unique ` +
          `key of "${table.name}", so that there is one row at most; "as": "list" makes it a list`
        : `"${field}" is not allowed with "as": "object", which is one row`
    ))
  )
}

const planColumns = ({ columns }: MemberBody, table: Table, path: Path): readonly Column[] =>
  columns?.map((name, index) => getColumn(table, name, [...path, 'columns', index])) ?? table.visibleColumns

/** Leaves out columns that are equal in all related rows, because MariaDB would sort by them again. */
function planManyOrder (
  { orderBy }: MemberBody,
  { table, path, on, members, equalColumns, limits }: Pick<ManyMember, 'table' | 'on' | 'members'> & {
    readonly path: Path
    readonly limits: PlanLimits
    readonly equalColumns: EqualColumns
  }
): readonly Order[] {
  const orderPath = [...path, 'orderBy']
  const asked = orderBy === undefined ? [] : planOrder(orderBy, { table, members, path: orderPath, limits })
  const computed = asked.find(({ of }) => of?.kind === 'computed')?.of
  if (computed !== undefined) {
    throw at(
      orderPath,
      invalidOrderBy(`contains "${computed.name}", which is computed; a list can be sorted by members that are one row`)
    )
  }
  const related = table.kind === 'view' ? asked.find(({ of }) => of !== undefined)?.of : undefined
  if (related !== undefined) {
    throw at(orderPath, invalidOrderBy(`contains "${related.name}"; a list of a view is not sorted by its members`))
  }
  const order = completeOrder(asked, orderKeyOf(table))
  const equal = new Set([...equalColumns.all, ...on.map(({ other }) => other)])
  return order.filter(({ column, of }) => of !== undefined || !equal.has(column))
}

// Lays out the cells of the rows that a statement with members returns: the columns of the row, then those that only
// the service needs, then the cells of joined members. `src/sql` selects them, `src/response` writes them.

/** `table`: its index in the statement. */
export interface Cell { readonly column: Column, readonly table: number }

/** Joined to an earlier one. */
export interface Joined { readonly member: OneMember, readonly parent: number }

/** Positions of the columns of a row or joined row, and its members. */
export interface RowCells {
  readonly from: number
  readonly columns: readonly Column[]
  readonly members: ReadonlyArray<JoinedCells | LinkCells>
}

export interface JoinedCells {
  readonly kind: 'joined'
  readonly name: string
  /** The text before it in a row. */
  readonly before: string
  /** NULL if there is no such row. */
  readonly presence: number
  readonly row: RowCells
}

/** A list or computed values, whose statement needs the values of these cells. */
export interface LinkCells {
  readonly kind: 'link'
  readonly member: ListMember
  /** The cells of `on`, in its order. */
  readonly links: readonly number[]
}

export interface Cells {
  readonly cells: readonly Cell[]
  readonly joined: readonly Joined[]
  readonly row: RowCells
  /** Members of `row` and of joined rows that need statements of their own. */
  readonly links: readonly LinkCells[]
}

/** The rows of a select, of `returning`, and of a member with statements of its own. */
type Rows = SelectPlan | Returned | ListMember

const layouts = new WeakMap<Rows, Cells>()

/** Another cell stands before the cells of a member, and identifies the row that they belong to. */
export const cellsOf = (rows: Rows): Cells => getOrCreate(layouts, rows, () => layOut(rows))

function layOut (rows: Rows): Cells {
  const { columns, members = [], page } = rows as Pick<SelectPlan, 'columns' | 'members' | 'page'>
  const from = 'kind' in rows ? 1 : 0
  const cells: Cell[] = []
  const joined: Joined[] = []
  const links: LinkCells[] = []
  const cellOf = (column: Column, table: number): number => {
    const index = cells.findIndex((cell) => cell.column === column && cell.table === table)
    return from + (index < 0 ? cells.push({ column, table }) - 1 : index)
  }
  const add = (
    own: readonly Column[],
    table: number,
    theirs: readonly Member[],
    others: readonly Column[]
  ): RowCells => {
    const start = from + cells.length
    for (const column of own) cells.push({ column, table })
    for (const column of others) cells.push({ column, table })
    return {
      from: start,
      columns: own,
      members: theirs.map((member) => (member.kind === 'one' ? join(member, table) : link(member, table)))
    }
  }
  const join = (member: OneMember, parent: number): JoinedCells => {
    const table = joined.push({ member, parent })
    const presence = from + cells.push({ column: (member.on[0] as OneMember['on'][number]).other, table }) - 1
    const { name, columns, members } = member
    return { kind: 'joined', name, before: `,"${name}":`, presence, row: add(columns, table, members, []) }
  }
  const link = (member: ListMember, table: number): LinkCells => {
    const cellsOfLink: LinkCells = { kind: 'link', member, links: member.on.map(({ column }) => cellOf(column, table)) }
    links.push(cellsOfLink)
    return cellsOfLink
  }
  const row = add(columns, 0, members, page?.by === 'position' ? page.orderOnly : [])
  return { cells, joined, row, links }
}

/** Members that are one row, and their members. */
export function joinsOf (
  members: readonly Member[],
  parent = 0,
  joined: Joined[] = []
): readonly Joined[] {
  for (const member of members) {
    if (member.kind === 'one') joinsOf(member.members, joined.push({ member, parent }), joined)
  }
  return joined
}

/** The table of the row first. */
export const tablesIn = (table: Table, { joined }: Cells): readonly Table[] => [
  table,
  ...joined.map(({ member }) => member.table)
]

/** `conditions`: on the columns of the table. `order`: of its rows, which may be by aggregates of members. */
export function tablesRead (
  table: Table,
  cells: Cells,
  conditions: readonly Condition[],
  order: readonly Order[] = []
): readonly Table[] {
  const computed = order.flatMap(({ of }) => of?.kind === 'computed' ? [of] : [])
  const members = [...cells.joined.map(({ member }) => member), ...computed]
  const related = [...conditions, ...members.map(({ condition }) => condition)].flatMap(existsIn)
  return [...tablesIn(table, cells), ...[...computed, ...related].map((other) => other.table)]
}

/** A statement may read all of a view, and what it names may be missing. */
export const haveView = (tables: readonly Table[]): boolean => tables.some(({ kind }) => kind === 'view')
