/**
 * A plan consists of a shape (verb, columns, operators, order, everything but the values) and parameters. Plans of one
 * table with the same shape have the same SQL text, so it is built once. Shape and parameters are collected in one
 * traversal, in the order of the placeholders in the text; a property test compares them with the output of Kysely
 * (test/sql/shape.test.ts).
 */
import type { Column } from '../catalog/catalog.ts'
import { type Cells, cellsOf, cellsOfMember, type RowCells } from '../plan/cells.ts'
import {
  type Assignment, type ComputedColumn, type Condition, type CountPlan, type DeletePlan, type Groups, type InsertPlan,
  isComputed, type ListMember, type ManyMember, type Order, type Page, type Plan, type SelectPlan, type UpdatePlan
} from '../plan/plan.ts'
import { type Cell, COLUMN, FILTER, GIVEN, type Parameter } from '../types/column-type.ts'
import { operatorSql } from '../types/update-operators.ts'
import { findOutlying, rowsOf } from './conditions.ts'
import { builderFor, type Mark, marksOf } from './builder.ts'
import type { Engine } from './statement.ts'
import { skipsUnchanged } from './write.ts'

interface Shape {
  /** Equal for plans of one table whose statements have the same text. */
  readonly key: string
  readonly parameters: Cell[]
}

/** The state of the traversal. `mark`: the character that stands for a column. */
interface Traversal { readonly mark: (column: Column) => string, readonly parameters: Cell[] }

export function shapeOf (
  plan: Exclude<Plan, InsertPlan> | CountPlan,
  engine: Engine,
  mark: (column: Column) => string
): Shape {
  const traversal: Traversal = { mark, parameters: [] }
  return { key: keyOf(plan, engine, traversal), parameters: traversal.parameters }
}

function keyOf (plan: Exclude<Plan, InsertPlan> | CountPlan, engine: Engine, traversal: Traversal): string {
  switch (plan.verb) {
    case 'select': {
      if (plan.groups !== undefined) return groupsKey(plan, plan.groups, engine, traversal)
      const columns = plan.columns === plan.table.columnList ? '*' : plan.columns.map(traversal.mark).join('')
      const condition = conditionKey(plan.condition, traversal)
      const page = plan.page === undefined ? '' : pageKey(plan.page, traversal)
      const order = plan.order.map(({ column, direction }) => traversal.mark(column) + direction).join()
      const key = `s${plan.lock ?? ''}${columns}?${condition}${page}^${order}`
      const sequence =
        plan.sequence === undefined ? '' : `#${plan.sequence.map((each) => conditionKey(each, traversal)).join()}`
      traversal.parameters.push(rowsOf(plan))
      if (plan.page?.by === 'offset') traversal.parameters.push(plan.page.offset)
      return key + sequence
    }
    case 'count': {
      const key = `${plan.limit === undefined ? 'n' : 'm'}${plan.lock ?? ''}${conditionKey(plan.condition, traversal)}`
      if (plan.limit !== undefined) traversal.parameters.push(plan.limit)
      return key
    }
    case 'update': {
      const assigned = assignmentsKey(plan.assignments, traversal)
      const key = `u${assigned}?${conditionKey(plan.condition, traversal)}${limitKey(plan, traversal)}`
      // SQLite's statement skips rows that already have the values
      if (engine === 'sqlite' && skipsUnchanged(plan.table, plan.assignments)) {
        for (const assignment of plan.assignments) addParameters(assignment, traversal.parameters)
      }
      return key
    }
    case 'delete': return `d${conditionKey(plan.condition, traversal)}${limitKey(plan, traversal)}`
  }
}

function limitKey ({ limit }: UpdatePlan | DeletePlan, { parameters }: Traversal): string {
  if (limit === undefined) return ''
  parameters.push(limit)
  return '<'
}

/** The first mark of computed columns, beyond those of the columns of a table (builder.ts). */
const FIRST_COMPUTED = 0x2000

/**
 * Includes the names of computed columns, because a cached statement contains them. They consist of letters, digits and
 * `_`.
 */
function groupsKey (
  plan: SelectPlan,
  { by, aggregates, having }: Groups,
  engine: Engine,
  traversal: Traversal
): string {
  const { condition, order, page } = plan
  const mark = (column: Column): string => {
    return isComputed(column)
      ? String.fromCharCode(FIRST_COMPUTED + plan.columns.indexOf(column))
      : traversal.mark(column)
  }
  const describe = (column: Column): string =>
    isComputed(column) ? computedKey(column, engine, traversal) : traversal.mark(column)
  const rows = `g${by.map(describe).join()}/${aggregates.map(describe).join()}?${conditionKey(condition, traversal)}`
  const groups = `${conditionKey(having, { ...traversal, mark })}^${orderKey(order, mark)}`
  const key = `${rows}#${groups}${page === undefined ? '' : pageKey(page, traversal)}`
  traversal.parameters.push(rowsOf(plan))
  if (page?.by === 'offset') traversal.parameters.push(page.offset)
  return key
}

/** Adds the parameters of the condition for each place of the column, or of SQLite's clause (groups.ts). */
function computedKey (
  { name, call, source, sql, condition }: ComputedColumn,
  engine: Engine,
  { mark, parameters }: Traversal
): string {
  const key = `${name}=${call}${source === undefined ? '' : mark(source)}`
  if (condition === undefined) return key
  const own: Cell[] = []
  const filter = conditionKey(condition, { mark, parameters: own })
  for (const part of sql) if (part === (engine === 'sqlite' ? FILTER : COLUMN)) parameters.push(...own)
  return `${key}(${filter})`
}

/**
 * Needs neither the forced index, which depends on the condition and the order, nor the names of the hidden columns,
 * which are those of the order that are not in the answer; but their number, because a stream has none.
 */
function pageKey (page: Page, traversal: Traversal): string {
  return page.by === 'offset' ? '>offset' : `>${page.hidden.length}:${conditionKey(page.after, traversal)}`
}

/** The key of assignments; also adds their parameters. */
export function assignmentsKey (assignments: readonly Assignment[], { mark, parameters }: Traversal): string {
  let key = ''
  for (const assignment of assignments) {
    addParameters(assignment, parameters)
    key += assignment.form === undefined ? mark(assignment.column) : mark(assignment.column) + assignment.form
  }
  return key
}

/** Adds the parameter of a form for each of its places in the SQL. */
export function addParameters ({ column, parameter, form }: Assignment, parameters: Cell[]): void {
  const texts = form === undefined ? undefined : operatorSql(column.type, form)
  if (texts === undefined) parameters.push(parameter)
  else for (const part of texts) if (part === GIVEN) parameters.push(parameter)
}

export function conditionKey (condition: Condition, traversal: Traversal): string {
  const { parameters } = traversal
  const mark: Traversal['mark'] =
    findOutlying(condition) === undefined ? traversal.mark : (column) => `${traversal.mark(column)}o`
  switch (condition.kind) {
    case 'compare':
      parameters.push(condition.parameter)
      return `${mark(condition.column)}${condition.operator}${condition.isPlace === true ? 'p' : ''}`
    case 'exact':
      parameters.push(condition.parameter)
      return mark(condition.column) + 'x'
    case 'in':
      for (const parameter of condition.parameters) parameters.push(parameter)
      return `${mark(condition.column)}${condition.negated ? 'n' : 'i'}${condition.parameters.length}`
    case 'between':
      parameters.push(condition.low, condition.high)
      return `${mark(condition.column)}b`
    case 'like':
      parameters.push(condition.pattern)
      return `${mark(condition.column)}${condition.negated ? 'k' : 'l'}`
    case 'default':
      return `${mark(condition.column)}d`
    case 'has':
      parameters.push(condition.bits, condition.bits)
      return `${mark(condition.column)}h`
    case 'null':
      return `${mark(condition.column)}${condition.negated ? 'v' : 'z'}`
    case 'not':
      return `!(${conditionKey(condition.condition, traversal)})`
    case 'constant':
      return condition.value ? 't' : 'f'
    case 'exists': {
      const { negated, table, on, condition: inner, index } = condition
      const own = marksOf(table)
      const pairs = on.map(({ column, other }) => own(other) + traversal.mark(column)).join('')
      const names = `${JSON.stringify(table.name)}${pairs}!${JSON.stringify(index?.name)}`
      return `${negated ? 'N' : 'S'}${names}(${conditionKey(inner, { mark: own, parameters })})`
    }
    case 'and':
    case 'or': {
      const keys = condition.conditions.map((each) => conditionKey(each, traversal))
      return `${condition.kind === 'and' ? '&' : '|'}(${keys.join()})`
    }
  }
}

// The shapes of selects of rows with members, and of the statements of members (shape.ts).

/** The parameters are in the order of the text: those of joined members, of the condition, of the page. */
export function rowsShape (plan: SelectPlan, engine: Engine): Shape {
  const { table, condition, page, order } = plan
  const parameters: Cell[] = []
  const { mark } = builderFor(engine, table)
  const cells = cellsOf(plan)
  const rows = cellsKey(cells, mark, parameters)
  const where = conditionKey(condition, { mark, parameters })
  const paged = page === undefined ? '' : pageKey(page, { mark, parameters })
  const key = `r${rows}?${where}${paged}^${orderKey(order, mark, cells)}`
  parameters.push(rowsOf(plan))
  if (page?.by === 'offset') parameters.push(page.offset)
  return { key, parameters }
}

function orderKey (order: readonly Order[], mark: Mark, { joined }: Pick<Cells, 'joined'> = { joined: [] }): string {
  const termOf = ({ column, of }: Order): string =>
    of === undefined ? mark(column) : `${joined.findIndex(({ member }) => member === of)}${marksOf(of.table)(column)}`
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
  const selected = cells.map(({ column, table }) => `${table}${(marks[table] as Mark)(column)}`).join('')
  return `${selected}${divisionOf(row)}${joins.join('+')}`
}

function divisionOf ({ from, columns, members }: RowCells): string {
  const parts = members.map((member) => member.kind === 'joined' ? divisionOf(member.row) : `:${member.links.join()}`)
  return `[${from},${columns.length}${parts.join('')}]`
}

/**
 * The shape of the part of a statement that selects the rows related to one row. `parametersOf`: the parameters of a
 * part.
 */
interface PartShape {
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
  const order = member.kind === 'many' ? orderKey(member.order, mark) : ''
  const related = `${on.map(({ other }) => mark(other)).join('')}?${where}`
  const key = `${member.kind}${rows}#${related}^${order}!${member.index?.index.name ?? ''}`
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
  const related = `${on.map(({ other }) => mark(other)).join('')}?${where}`
  const found = `${index?.index.name ?? ''}${index?.direction ?? ''}`
  const key = `first${values.length}${cells}#${related}^${orderKey(order, mark)}!${found}`
  return { key, parameters }
}
