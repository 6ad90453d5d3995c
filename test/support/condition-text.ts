/** Writes a condition as text, for tests that compare plans: `(a > 1 or (a = 1 and id > 2))`. */
import type { Compared, Condition, Order } from '../../src/plan/plan.ts'
import { isMoment } from '../../src/types/moment.ts'

const valueText = (value: Compared): string => {
  if (value !== null && typeof value === 'object' && !Buffer.isBuffer(value) && isMoment(value)) return 'now'
  return typeof value === 'string' ? `'${value}'` : String(value)
}

/** Kinds that these tests do not need are written as their names. */
export function conditionText (condition: Condition): string {
  switch (condition.kind) {
    case 'compare': return `${condition.column.name} ${condition.operator} ${valueText(condition.parameter)}`
    case 'exact': return `${condition.column.name} == ${valueText(condition.parameter)}`
    case 'in': return `${condition.column.name} ${condition.negated ? 'not ' : ''}in (${condition.parameters.map(valueText).join(', ')})`
    case 'null': return `${condition.column.name} is ${condition.negated ? 'not ' : ''}null`
    case 'and':
    case 'or': return `(${condition.conditions.map(conditionText).join(` ${condition.kind} `)})`
    case 'not': return `not ${conditionText(condition.condition)}`
    case 'constant': return String(condition.value)
    default: return condition.kind
  }
}

export const orderText = (order: readonly Order[]): string => order.map(({ column, direction, isNullGreatest }) =>
  `${column.name} ${direction}${isNullGreatest === true ? ' null greatest' : ''}`).join(', ')
