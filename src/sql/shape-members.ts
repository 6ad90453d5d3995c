/** The shapes of selects of rows with members, and of the statements of members (shape.ts). */
import { cellsOf, cellsOfMember, type Cells, type RowCells } from '../plan/cells.ts'
import type { ListMember, ManyMember, Order, SelectPlan } from '../plan/plan.ts'
import type { Cell, Parameter } from '../types/column-type.ts'
import { builderFor } from './kysely-builder.ts'
import { marksOf, type Mark } from './marks.ts'
import { rowsOf } from './page.ts'
import { computedKey, conditionKey, pageKey, type Shape } from './shape.ts'
import type { Engine } from './statement.ts'

/** The parameters are in the order of the text: those of joined members, of the condition, of the page. */
export function rowsShape (plan: SelectPlan, engine: Engine): Shape {
  const { table, condition, page, order } = plan
  const parameters: Cell[] = []
  const { mark } = builderFor(engine, table)
  const cells = cellsOf(plan)
  const rows = cellsKey(cells, mark, parameters)
  const where = conditionKey(condition, { mark, parameters })
  const key = `r${rows}?${where}${page === undefined ? '' : pageKey(page, { mark, parameters })}^${orderKey(order, mark, cells)}`
  parameters.push(rowsOf(plan))
  if (page?.by === 'offset') parameters.push(page.offset)
  return { key, parameters }
}

function orderKey (order: readonly Order[], mark: Mark, { joined }: Pick<Cells, 'joined'> = { joined: [] }): string {
  const termOf = ({ column, of }: Order): string => of === undefined ? mark(column) : `${joined.findIndex(({ member }) => member === of)}${marksOf(of.table)(column)}`
  return order.map((term) => termOf(term) + term.direction).join()
}

/** Includes how cells are divided among rows, because statements with the same cells may divide them differently. */
function cellsKey ({ cells, joined, row }: Cells, mark: Mark, parameters: Cell[]): string {
  const marks = [mark, ...joined.map(({ member }) => marksOf(member.table))]
  const joins = joined.map(({ member: { table, on, condition }, parent }, index) => {
    const own = marks[index + 1] as Mark
    const pairs = on.map(({ column, other }) => own(other) + (marks[parent] as Mark)(column)).join('')
    return `${parent}${JSON.stringify(table.name)}${pairs}?${conditionKey(condition, { mark: own, parameters })}`
  })
  return `${cells.map(({ column, table }) => `${table}${(marks[table] as Mark)(column)}`).join('')}${divisionOf(row)}${joins.join('+')}`
}

function divisionOf ({ from, columns, members }: RowCells): string {
  return `[${from},${columns.length}${members.map((member) => member.kind === 'joined' ? divisionOf(member.row) : `:${member.links.join()}`).join('')}]`
}

/** The shape of the part of a statement that selects the rows related to one row. `parametersOf`: the parameters of a part. */
export interface PartShape {
  readonly key: string
  parametersOf (place: number, values: readonly Parameter[]): Cell[]
}

export function partShape (member: ListMember, engine: Engine): PartShape {
  const { table, on, condition } = member
  const { mark } = builderFor(engine, table)
  const before: Cell[] = []
  const rows = member.kind === 'many'
    ? cellsKey(cellsOfMember(member), mark, before)
    : member.columns.map((column) => computedKey(column, engine, { mark, parameters: before })).join()
  const after: Cell[] = []
  const where = conditionKey(condition, { mark, parameters: after })
  const end = member.kind === 'many' ? [member.limit] : []
  const key = `${member.kind}${rows}#${on.map(({ other }) => mark(other)).join('')}?${where}^${member.kind === 'many' ? orderKey(member.order, mark) : ''}!${member.index?.index.name ?? ''}`
  return { key, parametersOf: (place, values) => [place, ...before, ...values, ...after, ...end] }
}

/** The shape of the statement that selects the rows related to all of these values. */
export function firstShape (member: ManyMember, values: readonly Parameter[], rows: number): Shape {
  const { table, condition, order, index, on } = member
  const { mark } = builderFor('mysql', table)
  const parameters: Cell[] = []
  const cells = cellsKey(cellsOfMember(member), mark, parameters)
  parameters.push(...values)
  const where = conditionKey(condition, { mark, parameters })
  parameters.push(rows)
  const key = `first${values.length}${cells}#${on.map(({ other }) => mark(other)).join('')}?${where}^${orderKey(order, mark)}!${index?.index.name ?? ''}${index?.direction ?? ''}`
  return { key, parameters }
}
