/**
 * A plan consists of a statement key (verb, columns, operators, order, everything but the values) and parameters. Plans
 * of one table with the same key have the same SQL text, so the service builds it once. One traversal collects the key
 * and the parameters, in the order of the placeholders in the text; a property test compares them with the output of
 * Kysely (test/sql/statement-key.test.ts).
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
import { builderFor, type KeyOfColumn, columnKeysOf } from './builder.ts'
import type { Engine } from './statement.ts'
import { skipsUnchanged } from './compile-write.ts'

interface StatementKey {
  /** Equal for plans of one table whose statements have the same text. */
  readonly key: string
  readonly parameters: Cell[]
}

/** The state of the traversal. `columnKey`: returns the character for a column. */
interface Traversal { readonly columnKey: (column: Column) => string, readonly parameters: Cell[] }

export function keyOf (
  plan: Exclude<Plan, InsertPlan> | CountPlan,
  engine: Engine,
  columnKey: (column: Column) => string
): StatementKey {
  const traversal: Traversal = { columnKey, parameters: [] }
  return { key: planKey(plan, engine, traversal), parameters: traversal.parameters }
}

function planKey (plan: Exclude<Plan, InsertPlan> | CountPlan, engine: Engine, traversal: Traversal): string {
  switch (plan.verb) {
    case 'select': {
      if (plan.groups !== undefined) return groupsKey(plan, plan.groups, engine, traversal)
      const columns = plan.columns === plan.table.columnList ? '*' : plan.columns.map(traversal.columnKey).join('')
      const condition = conditionKey(plan.condition, traversal)
      const page = plan.page === undefined ? '' : pageKey(plan.page, traversal)
      const order = plan.order.map(({ column, direction }) => traversal.columnKey(column) + direction).join()
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

/** The key of the first computed column, beyond the keys of the columns of a table (builder.ts). */
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
  const columnKey = (column: Column): string =>
    isComputed(column)
      ? String.fromCharCode(FIRST_COMPUTED + plan.columns.indexOf(column))
      : traversal.columnKey(column)
  const describe = (column: Column): string =>
    isComputed(column) ? computedKey(column, engine, traversal) : traversal.columnKey(column)
  const rows = `g${by.map(describe).join()}/${aggregates.map(describe).join()}?${conditionKey(condition, traversal)}`
  const groups = `${conditionKey(having, { ...traversal, columnKey })}^${orderKey(order, columnKey)}`
  const key = `${rows}#${groups}${page === undefined ? '' : pageKey(page, traversal)}`
  traversal.parameters.push(rowsOf(plan))
  if (page?.by === 'offset') traversal.parameters.push(page.offset)
  return key
}

/** Adds the parameters of the condition each time the column, or SQLite's clause, occurs in the SQL (groups.ts). */
function computedKey (
  { name, call, source, sql, condition }: ComputedColumn,
  engine: Engine,
  { columnKey, parameters }: Traversal
): string {
  const key = `${name}=${call}${source === undefined ? '' : columnKey(source)}`
  if (condition === undefined) return key
  const own: Cell[] = []
  const filter = conditionKey(condition, { columnKey, parameters: own })
  for (const part of sql) if (part === (engine === 'sqlite' ? FILTER : COLUMN)) parameters.push(...own)
  return `${key}(${filter})`
}

/**
 * Leaves out the forced index, which the condition and the order determine, and the names of the hidden columns, which
 * the order and the columns determine. Includes the number of hidden columns, because a stream has none.
 */
function pageKey (page: Page, traversal: Traversal): string {
  return page.by === 'offset' ? '>offset' : `>${page.hidden.length}:${conditionKey(page.after, traversal)}`
}

/** The key of assignments; also adds their parameters. */
export function assignmentsKey (assignments: readonly Assignment[], { columnKey, parameters }: Traversal): string {
  let key = ''
  for (const assignment of assignments) {
    addParameters(assignment, parameters)
    key += columnKey(assignment.column) + (assignment.operator ?? '')
  }
  return key
}

/** Adds the parameter each time it occurs in the SQL of an update operator. */
export function addParameters ({ column, parameter, operator }: Assignment, parameters: Cell[]): void {
  const texts = operator === undefined ? undefined : operatorSql(column.type, operator)
  if (texts === undefined) parameters.push(parameter)
  else for (const part of texts) if (part === GIVEN) parameters.push(parameter)
}

export function conditionKey (condition: Condition, traversal: Traversal): string {
  const { parameters } = traversal
  const columnKey: Traversal['columnKey'] =
    findOutlying(condition) === undefined ? traversal.columnKey : (column) => `${traversal.columnKey(column)}o`
  switch (condition.kind) {
    case 'compare':
      parameters.push(condition.parameter)
      return `${columnKey(condition.column)}${condition.operator}${condition.isPosition === true ? 'p' : ''}`
    case 'exact':
      parameters.push(condition.parameter)
      return columnKey(condition.column) + 'x'
    case 'in':
      for (const parameter of condition.parameters) parameters.push(parameter)
      return `${columnKey(condition.column)}${condition.negated ? 'n' : 'i'}${condition.parameters.length}`
    case 'between':
      parameters.push(condition.low, condition.high)
      return `${columnKey(condition.column)}b`
    case 'like':
      parameters.push(condition.pattern)
      return `${columnKey(condition.column)}${condition.negated ? 'k' : 'l'}`
    case 'default':
      return `${columnKey(condition.column)}d`
    case 'has':
      parameters.push(condition.bits, condition.bits)
      return `${columnKey(condition.column)}h`
    case 'null':
      return `${columnKey(condition.column)}${condition.negated ? 'v' : 'z'}`
    case 'not':
      return `!(${conditionKey(condition.condition, traversal)})`
    case 'constant':
      return condition.value ? 't' : 'f'
    case 'exists': {
      const { negated, table, on, condition: inner, index } = condition
      const own = columnKeysOf(table)
      const pairs = on.map(({ column, other }) => own(other) + traversal.columnKey(column)).join('')
      const names = `${JSON.stringify(table.name)}${pairs}!${JSON.stringify(index?.name)}`
      return `${negated ? 'N' : 'S'}${names}(${conditionKey(inner, { columnKey: own, parameters })})`
    }
    case 'and':
    case 'or': {
      const keys = condition.conditions.map((each) => conditionKey(each, traversal))
      return `${condition.kind === 'and' ? '&' : '|'}(${keys.join()})`
    }
  }
}

// The keys of selects of rows with members, and of the statements of members.

/** The parameters are in the order of the text: those of joined members, of the condition, of the page. */
export function rowsKey (plan: SelectPlan, engine: Engine): StatementKey {
  const { table, condition, page, order } = plan
  const parameters: Cell[] = []
  const { columnKey } = builderFor(engine, table)
  const cells = cellsOf(plan)
  const rows = cellsKey(cells, columnKey, parameters)
  const where = conditionKey(condition, { columnKey, parameters })
  const paged = page === undefined ? '' : pageKey(page, { columnKey, parameters })
  const key = `r${rows}?${where}${paged}^${orderKey(order, columnKey, cells)}`
  parameters.push(rowsOf(plan))
  if (page?.by === 'offset') parameters.push(page.offset)
  return { key, parameters }
}

function orderKey (
  order: readonly Order[],
  columnKey: KeyOfColumn,
  { joined }: Pick<Cells, 'joined'> = { joined: [] }
): string {
  const termOf = ({ column, of }: Order): string =>
    of === undefined
      ? columnKey(column)
      : `${joined.findIndex(({ member }) => member === of)}${columnKeysOf(of.table)(column)}`
  return order.map((term) => termOf(term) + term.direction).join()
}

/** Includes how cells are divided among rows, because statements with the same cells may divide them differently. */
function cellsKey ({ cells, joined, row }: Cells, columnKey: KeyOfColumn, parameters: Cell[]): string {
  const columnKeys = [columnKey, ...joined.map(({ member }) => columnKeysOf(member.table))]
  const joins = joined.map(({ member: { table, on, condition }, parent }, index) => {
    const own = columnKeys[index + 1] as KeyOfColumn
    const pairs = on.map(({ column, other }) => own(other) + (columnKeys[parent] as KeyOfColumn)(column)).join('')
    return `${parent}${JSON.stringify(table.name)}${pairs}?${conditionKey(condition, { columnKey: own, parameters })}`
  })
  const selected = cells.map(({ column, table }) => `${table}${(columnKeys[table] as KeyOfColumn)(column)}`).join('')
  return `${selected}${divisionOf(row)}${joins.join('+')}`
}

function divisionOf ({ from, columns, members }: RowCells): string {
  const parts = members.map((member) => member.kind === 'joined' ? divisionOf(member.row) : `:${member.links.join()}`)
  return `[${from},${columns.length}${parts.join('')}]`
}

/**
 * The key of the part of a statement that selects the rows related to one row. `parametersOf`: the parameters of one
 * part.
 */
interface PartKey {
  readonly key: string
  parametersOf (valueId: number, values: readonly Parameter[]): Cell[]
}

export function partKey (member: ListMember, engine: Engine): PartKey {
  const { table, on, condition } = member
  const { columnKey } = builderFor(engine, table)
  const before: Cell[] = []
  const rows = member.kind === 'many'
    ? cellsKey(cellsOfMember(member), columnKey, before)
    : member.columns.map((column) => computedKey(column, engine, { columnKey, parameters: before })).join()
  const after: Cell[] = []
  const where = conditionKey(condition, { columnKey, parameters: after })
  const end = member.kind === 'many' ? [member.limit] : []
  const order = member.kind === 'many' ? orderKey(member.order, columnKey) : ''
  const related = `${on.map(({ other }) => columnKey(other)).join('')}?${where}`
  const key = `${member.kind}${rows}#${related}^${order}!${member.index?.index.name ?? ''}`
  return { key, parametersOf: (valueId, values) => [valueId, ...before, ...values, ...after, ...end] }
}

/** The key of the statement that selects the rows related to all of these values. */
export function firstKey (member: ManyMember, values: readonly Parameter[], rows: number): StatementKey {
  const { table, condition, order, index, on } = member
  const { columnKey } = builderFor('mysql', table)
  const parameters: Cell[] = []
  const cells = cellsKey(cellsOfMember(member), columnKey, parameters)
  parameters.push(...values)
  const where = conditionKey(condition, { columnKey, parameters })
  parameters.push(rows)
  const related = `${on.map(({ other }) => columnKey(other)).join('')}?${where}`
  const found = `${index?.index.name ?? ''}${index?.direction ?? ''}`
  const key = `first${values.length}${cells}#${related}^${orderKey(order, columnKey)}!${found}`
  return { key, parameters }
}
