/**
 * A plan consists of a shape (verb, columns, operators, order, everything but the values) and parameters. Plans of one table with the
 * same shape have the same SQL text, so it is built once. Shape and parameters are collected in one traversal, in the order of the
 * placeholders in the text; a property test compares them with the output of Kysely (test/sql/shape.test.ts).
 */
import type { Column } from '../catalog/catalog.ts'
import { isComputed, type Assignment, type ComputedColumn, type Condition, type CountPlan, type DeletePlan, type Groups, type InsertPlan, type Page, type Plan, type SelectPlan, type UpdatePlan } from '../plan/plan.ts'
import { COLUMN, FILTER, GIVEN, type Cell } from '../types/column-type.ts'
import { formSql } from '../types/forms.ts'
import { findOutlying } from './outlying.ts'
import { rowsOf } from './page.ts'
import { marksOf } from './marks.ts'
import type { Engine } from './statement.ts'
import { skipsUnchanged } from './write.ts'

export interface Shape {
  /** Equal for plans of one table whose statements have the same text. */
  readonly key: string
  readonly parameters: Cell[]
}

/** The state of the traversal. `mark`: the character that stands for a column. */
export interface Traversal { readonly mark: (column: Column) => string, readonly parameters: Cell[] }

export function shapeOf (plan: Exclude<Plan, InsertPlan> | CountPlan, engine: Engine, mark: (column: Column) => string): Shape {
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
      const key = `s${plan.lock ?? ''}${columns}?${condition}${page}^${plan.order.map(({ column, direction }) => traversal.mark(column) + direction).join()}`
      const sequence = plan.sequence === undefined ? '' : `#${plan.sequence.map((each) => conditionKey(each, traversal)).join()}`
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
      const key = `u${assignmentsKey(plan.assignments, traversal)}?${conditionKey(plan.condition, traversal)}${limitKey(plan, traversal)}`
      // SQLite's statement skips rows that already have the values
      if (engine === 'sqlite' && skipsUnchanged(plan.table, plan.assignments)) for (const assignment of plan.assignments) addParameters(assignment, traversal.parameters)
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

/** The first mark of computed columns, beyond those of the columns of a table (marks.ts). */
const FIRST_COMPUTED = 0x2000

/** Includes the names of computed columns, because a cached statement contains them. They consist of letters, digits and `_`. */
function groupsKey (plan: SelectPlan, { by, aggregates, having }: Groups, engine: Engine, traversal: Traversal): string {
  const { condition, order, page } = plan
  const mark = (column: Column): string => {
    return isComputed(column) ? String.fromCharCode(FIRST_COMPUTED + plan.columns.indexOf(column)) : traversal.mark(column)
  }
  const describe = (column: Column): string => isComputed(column) ? computedKey(column, engine, traversal) : traversal.mark(column)
  const rows = `g${by.map(describe).join()}/${aggregates.map(describe).join()}?${conditionKey(condition, traversal)}`
  const key = `${rows}#${conditionKey(having, { ...traversal, mark })}^${order.map(({ column, direction }) => mark(column) + direction).join()}${page === undefined ? '' : pageKey(page, traversal)}`
  traversal.parameters.push(rowsOf(plan))
  if (page?.by === 'offset') traversal.parameters.push(page.offset)
  return key
}

/** Adds the parameters of the condition for each place of the column, or of SQLite's clause (groups.ts). */
export function computedKey ({ name, call, source, sql, condition }: ComputedColumn, engine: Engine, { mark, parameters }: Traversal): string {
  const key = `${name}=${call}${source === undefined ? '' : mark(source)}`
  if (condition === undefined) return key
  const own: Cell[] = []
  const filter = conditionKey(condition, { mark, parameters: own })
  for (const part of sql) if (part === (engine === 'sqlite' ? FILTER : COLUMN)) parameters.push(...own)
  return `${key}(${filter})`
}

/**
 * Needs neither the forced index, which depends on the condition and the order, nor the names of the hidden columns, which are those of the order that are
 * not in the answer; but their number, because a stream has none.
 */
export function pageKey (page: Page, traversal: Traversal): string {
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
  const texts = form === undefined ? undefined : formSql(column.type, form)
  if (texts === undefined) parameters.push(parameter)
  else for (const part of texts) if (part === GIVEN) parameters.push(parameter)
}

export function conditionKey (condition: Condition, traversal: Traversal): string {
  const { parameters } = traversal
  const mark: Traversal['mark'] = findOutlying(condition) === undefined ? traversal.mark : (column) => `${traversal.mark(column)}o`
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
    case 'default': return `${mark(condition.column)}d`
    case 'has':
      parameters.push(condition.bits, condition.bits)
      return `${mark(condition.column)}h`
    case 'null': return `${mark(condition.column)}${condition.negated ? 'v' : 'z'}`
    case 'not': return `!(${conditionKey(condition.condition, traversal)})`
    case 'constant': return condition.value ? 't' : 'f'
    case 'exists': {
      const { negated, table, on, condition: inner, index } = condition
      const own = marksOf(table)
      return `${negated ? 'N' : 'S'}${JSON.stringify(table.name)}${on.map(({ column, other }) => own(other) + traversal.mark(column)).join('')}!${JSON.stringify(index?.name)}(${conditionKey(inner, { mark: own, parameters })})`
    }
    case 'and':
    case 'or': return `${condition.kind === 'and' ? '&' : '|'}(${condition.conditions.map((each) => conditionKey(each, traversal)).join()})`
  }
}
