/**
 * A plan has a shape - verb, columns, operators, order, everything but the values - and parameters. Plans of one table with the
 * same shape have the same SQL text, so it is built once. Both are gathered in one walk over the plan, in the order in which the
 * text has its placeholders; a property test holds that order to what Kysely gives (test/sql/shape.test.ts).
 */
import type { Column } from '../catalog/catalog.ts'
import type { Assignment, Condition, Plan } from '../plan/plan.ts'
import type { Parameter } from '../types/column-type.ts'
import type { Engine } from './statement.ts'

export interface Shape {
  /** Equal for plans of one table whose statements have the same text. */
  readonly key: string
  readonly parameters: Parameter[]
}

/** What the walk needs to know: what stands for a column, and where parameters go. */
interface Walk { readonly mark: (column: Column) => string, readonly parameters: Parameter[] }

export function shapeOf (plan: Plan, engine: Engine, mark: (column: Column) => string): Shape {
  const walk: Walk = { mark, parameters: [] }
  return { key: keyOf(plan, engine, walk), parameters: walk.parameters }
}

function keyOf (plan: Plan, engine: Engine, walk: Walk): string {
  switch (plan.verb) {
    case 'select': {
      const columns = plan.columns === plan.table.columnList ? '*' : plan.columns.map(walk.mark).join('')
      const key = `s${columns}?${conditionKey(plan.condition, walk)}^${plan.order.map(({ column, direction }) => walk.mark(column) + direction).join()}`
      walk.parameters.push(plan.limit)
      return key
    }
    case 'insert': return 'i' + assignmentsKey(plan.assignments, walk)
    case 'update': {
      const key = `u${assignmentsKey(plan.assignments, walk)}?${conditionKey(plan.condition, walk)}`
      // SQLite is asked to leave out rows that have the values already (update.ts).
      if (engine === 'sqlite') for (const { parameter } of plan.assignments) walk.parameters.push(parameter)
      return key
    }
    case 'delete': return 'd' + conditionKey(plan.condition, walk)
  }
}

function assignmentsKey (assignments: readonly Assignment[], { mark, parameters }: Walk): string {
  let key = ''
  for (const { column, parameter } of assignments) {
    parameters.push(parameter)
    key += mark(column)
  }
  return key
}

function conditionKey (condition: Condition, walk: Walk): string {
  const { mark, parameters } = walk
  switch (condition.kind) {
    case 'compare':
      parameters.push(condition.parameter)
      return mark(condition.column) + condition.operator
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
    case 'null': return `${mark(condition.column)}${condition.negated ? 'v' : 'z'}`
    case 'not': return `!(${conditionKey(condition.condition, walk)})`
    case 'constant': return condition.value ? 't' : 'f'
    case 'and':
    case 'or': return `${condition.kind === 'and' ? '&' : '|'}(${condition.conditions.map((each) => conditionKey(each, walk)).join()})`
  }
}
