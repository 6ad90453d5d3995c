/** Writes parts of plans as text, to compare them: `(a > 1 or (a = 1 and id > 2))`. */
import {
  type Compared, type Condition, type Exists, isRelevance, type JsonPlace, type JsonTest, type Order
} from '../../src/plan/plan.ts'
import { Hole } from '../../src/plan/holes.ts'
import { isMoment } from '../../src/types/column-type.ts'

export const valueText = (value: Compared): string => {
  if (value instanceof Hole) return '?'
  if (Buffer.isBuffer(value)) return `x'${value.toString('hex')}'`
  if (value !== null && isMoment(value)) return momentText(value)
  return typeof value === 'string' ? `'${value}'` : String(value)
}

const momentText = ({ months, seconds }: { months: number, seconds: number }): string =>
  `now${months === 0 ? '' : ` ${months} months`}${seconds === 0 ? '' : ` ${seconds} seconds`}`

const valuesText = (values: readonly Compared[]): string => `(${values.map(valueText).join(', ')})`

const placeText = ({ jsonParts }: JsonPlace): string =>
  jsonParts.map(({ jsonPath, isFromEnd }) => `${isFromEnd === true ? 'end' : ''}${jsonPath}`).join(' ')

function testText (test: JsonTest): string {
  switch (test.kind) {
    case 'exists':
    case 'null': return `${test.negated ? 'not ' : ''}${test.kind}`
    case 'compare': return `${test.operator} ${test.scalar} ${valueText(test.parameter)}`
    case 'in': return `${test.negated ? 'not ' : ''}in ${test.scalar} ${valuesText(test.parameters)}`
    case 'find': return `${test.isStart ? 'starts' : 'contains'} ${valueText(test.parameter)}`
  }
}

export const pairsText = (on: Exists['on']): string =>
  on.map(({ column, other }) => `${column.name}=${other.name}`).join(', ')

export function conditionText (condition: Condition): string {
  const name = 'column' in condition ? condition.column.name : ''
  switch (condition.kind) {
    case 'compare': return `${name} ${condition.operator} ${valueText(condition.parameter)}`
    case 'exact': return `${name} == ${valueText(condition.parameter)}`
    case 'default': return `${name} = default`
    case 'in':
      return `${name} ${condition.negated ? 'not ' : ''}in ${valuesText(condition.parameters)}` +
        (condition.isExact === true ? ' exactly' : '')
    case 'between': return `${name} between ${valueText(condition.low)} and ${valueText(condition.high)}`
    case 'like': return `${name} ${condition.negated ? 'not ' : ''}like ${valueText(condition.pattern)}`
    case 'columns': return `${name} ${condition.operator} ${condition.other.name}`
    case 'lower': return `lower ${conditionText(condition.comparison)}`
    case 'null': return `${name} is ${condition.negated ? 'not ' : ''}null`
    case 'has': return `${name} has ${valueText(condition.bits)}`
    case 'and':
    case 'or': return `(${condition.conditions.map(conditionText).join(` ${condition.kind} `)})`
    case 'not': return `not ${conditionText(condition.condition)}`
    case 'constant': return String(condition.value)
    case 'match':
      return `match (${condition.columns.map((column) => column.name).join(', ')}) ${valueText(condition.parameter)}`
    case 'at': return `${name} ${placeText(condition)} ${testText(condition.test)}`
    case 'exists': return existsText(condition)
  }
}

function existsText ({ negated, offset, table, on, condition, index }: Exists): string {
  const by = index === undefined ? '' : ` by ${index.name}`
  return `${negated ? 'no' : 'some'}${offset === undefined ? '' : ` after ${offset}`} ` +
    `${table.name}[${pairsText(on)}${by}${whereText(condition)}]`
}

/** Nothing for a condition that is always true. */
export const whereText = (condition: Condition): string =>
  condition.kind === 'constant' && condition.value ? '' : ` where ${conditionText(condition)}`

export const orderText = (order: readonly Order[]): string =>
  order.map(({ column, direction, isNullGreatest, of, inside }) =>
    `${of === undefined ? '' : `${of.name}.`}${isRelevance(column) ? 'relevance' : column.name}` +
    `${inside === undefined ? '' : ` ${placeText(inside)}`} ${direction}` +
    `${isNullGreatest === true ? ' null greatest' : ''}`).join(', ')
