/**
 * Lays out the cells of the rows that a statement with members returns: the columns of the row, then those that only
 * the service needs, then those of joined members. `src/sql` selects them, `src/response` writes them.
 */
import type { Column, Table } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'
import { existsIn } from './filters/scope.ts'
import type { ComputedMember, Condition, ListMember, ManyMember, Member, OneMember, Order, SelectPlan } from './plan.ts'

/** A cell, and the index of its table among those of the statement. */
export interface Cell { readonly column: Column, readonly table: number }

/** A table that is joined to an earlier one. */
export interface Joined { readonly member: OneMember, readonly parent: number }

/** The positions of the columns of a row or joined row, and its members. */
export interface RowCells {
  readonly from: number
  readonly columns: readonly Column[]
  readonly members: ReadonlyArray<JoinedCells | LinkCells>
}

export interface JoinedCells {
  readonly kind: 'joined'
  readonly name: string
  /** A cell that is NULL if there is no such row. */
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
  /** The tables after the first one. */
  readonly joined: readonly Joined[]
  readonly row: RowCells
  /** The members of `row` and of joined rows that need statements of their own. */
  readonly links: readonly LinkCells[]
}

export interface RowToLayOut {
  readonly columns: readonly Column[]
  readonly members: readonly Member[]
  /** Additional columns of the rows, right after `columns`. */
  readonly hidden?: readonly Column[]
  /** The number of cells before the first column. */
  readonly from?: number
}

/** Lays out the cells of a row with its members. Cells before `from` are not in the list. */
export function layOut ({ columns, members, hidden = [], from = 0 }: RowToLayOut): Cells {
  const cells: Cell[] = []
  const joined: Joined[] = []
  const links: LinkCells[] = []
  const cellOf = (column: Column, table: number): number => {
    const found = cells.findIndex((cell) => cell.column === column && cell.table === table)
    return from + (found < 0 ? cells.push({ column, table }) - 1 : found)
  }
  const add = (
    own: readonly Column[],
    table: number,
    theirs: readonly Member[],
    others: readonly Column[]
  ): RowCells => {
    const start = from + cells.length
    for (const column of [...own, ...others]) cells.push({ column, table })
    return {
      from: start,
      columns: own,
      members: theirs.map((member) => (member.kind === 'one' ? join(member, table) : link(member, table)))
    }
  }
  const join = (member: OneMember, parent: number): JoinedCells => {
    const table = joined.push({ member, parent })
    const presence = from + cells.push({ column: (member.on[0] as OneMember['on'][number]).other, table }) - 1
    return { kind: 'joined', name: member.name, presence, row: add(member.columns, table, member.members, []) }
  }
  const link = (member: ListMember, table: number): LinkCells => {
    const found: LinkCells = { kind: 'link', member, links: member.on.map(({ column }) => cellOf(column, table)) }
    links.push(found)
    return found
  }
  const row = add(columns, 0, members, hidden)
  return { cells, joined, row, links }
}

/** The tables of the statement, that of the row first. */
export const tablesIn = (table: Table, { joined }: Cells): readonly Table[] => [
  table,
  ...joined.map(({ member }) => member.table)
]

/**
 * All tables that the statement reads. `conditions`: those on the columns of the table. `order`: the order of its rows,
 * which may be by aggregates of members.
 */
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

/** Whether there is a view among the tables: a statement may read all of it, and what it names may be missing. */
export const haveView = (tables: readonly Table[]): boolean => tables.some(({ kind }) => kind === 'view')

const layouts = new WeakMap<SelectPlan | ManyMember | ComputedMember, Cells>()

/** The cells of the rows of a select with members. */
export function cellsOf (plan: SelectPlan): Cells {
  return getOrCreate(layouts, plan, () => {
    const { columns, members = [], page } = plan
    return layOut({ columns, members, ...page?.by === 'position' && { hidden: page.hidden } })
  })
}

/**
 * The cells of the rows of a member with statements of its own. The first cell identifies the row that they belong to.
 */
export function cellsOfMember (member: ListMember): Cells {
  return getOrCreate(layouts, member, () =>
    layOut({ columns: member.columns, members: member.kind === 'many' ? member.members : [], from: 1 })
  )
}
