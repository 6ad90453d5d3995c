/** A rule on one column: as a condition, and as a test of a written value. */
import { type Column, type Rule, type RuleTest, type Table } from '../catalog/catalog.ts'
import { isSame, type Parameter, type Value, isMoment } from '../types/column-type.ts'
import { readMoment } from '../types/moment.ts'
import { isExactlyIn, isNull } from './filters/operators.ts'
import { combine } from './filters/scope.ts'
import type { Assignment, Condition, UpdatePlan } from './plan.ts'
import { Hole, type Given } from './holes.ts'
import { factsOf } from './writes.ts'

export function planRules (rules: readonly Rule[]): Condition {
  return combine('and', rules.flatMap(({ column, tests }) => tests.map((test) => planTest(column, test))))
}

/** The rules come first: their columns are usually the first ones of an index. */
export const within = (rules: readonly Rule[], condition: Condition): Condition =>
  combine('and', [planRules(rules), condition])

/** The rules are not folded, because they are no filters of the client. */
export const withinRules = ({ granted }: Table, condition: Condition): Condition =>
  granted === undefined ? condition : within(granted.rules, condition)

function planTest (column: Column, test: RuleTest): Condition {
  switch (test.kind) {
    case 'in':
      return combine('or', [
        isExactlyIn(column, test.values.filter((value) => value !== null)),
        ...test.values.includes(null) ? [isNull(column, false)] : []
      ])
    case 'notNull':
      return isNull(column, true)
    case 'order':
      return { kind: 'compare', column, operator: test.operator, parameter: test.value }
  }
}

/** The only value that the rule allows; undefined if it allows several. */
export function onlyValueOf ({ column, tests }: Rule): Parameter | undefined {
  const equality = tests.find((test) => test.kind === 'in' && test.values.length === 1)
  if (equality?.kind !== 'in') return undefined
  const [value] = equality.values as [Value | null]
  return value === null ? null : toStored(column, value)
}

/** A moment does not, because it is not known before the write. The value of a hole is tested when it is known. */
export function satisfies (rule: Rule, parameter: Given): boolean {
  if (parameter instanceof Hole) {
    parameter.tests.push((value) => satisfies(rule, value))
    return true
  }
  if (isMoment(parameter)) return false
  const { column, tests } = rule
  return tests.every((test) => parameter === null ? allowsNull(column, test) : passes(column, test, parameter))
}

const allowsNull = ({ nullable }: Column, test: RuleTest): boolean =>
  nullable && test.kind === 'in' && test.values.includes(null)

function passes (column: Column, test: RuleTest, parameter: Value): boolean {
  switch (test.kind) {
    case 'in':
      return test.values.some((value) => value !== null && isSame(column.type, toStored(column, value), parameter))
    case 'notNull':
      return true
    case 'order':
      return holds[test.operator](column.type.order?.(parameter, test.value) ?? NaN)
  }
}

const holds: Readonly<Record<'>' | '>=' | '<' | '<=', (order: number) => boolean>> = {
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0
}

const toStored = ({ type }: Column, value: Value): Value => type.stored === undefined ? value : type.stored(value)

// Neither the counts nor the rows of a response may show whether a column that the grant does not see had the written
// value before, so every matched row counts as updated.

/**
 * A BEFORE UPDATE trigger may write a hidden column too. A column with an equality rule is not hidden, because its
 * value is the same in all rows of the grant.
 */
export function writesHidden (table: Table, written: readonly Column[]): boolean {
  const { columns, granted } = table
  if (granted === undefined || written.length === 0) return false
  const isHidden = (column: Column): boolean =>
    !columns.has(column.name) &&
    !granted.rules.some((rule) => rule.column === column && onlyValueOf(rule) !== undefined)
  return written.some(isHidden) || (factsOf(table).precedesChange && granted.base.columnList.some(isHidden))
}

/**
 * If a hidden column is written: the server sets columns with ON UPDATE CURRENT_TIMESTAMP only if a value changes, and
 * `returning` would show that.
 */
export function updateTimesOf (table: Table, written: readonly Column[]): Assignment[] {
  if (!writesHidden(table, written)) return []
  return table.columnList.flatMap((column): Assignment[] => {
    const { moment } = column.type
    return column.onUpdate !== true || moment === undefined || written.includes(column)
      ? []
      : [{ column, parameter: readMoment(true, moment, 'data') }]
  })
}

export function withUpdateTimes (plan: UpdatePlan): UpdatePlan {
  const times = updateTimesOf(plan.table, plan.assignments.map(({ column }) => column))
  return times.length === 0 ? plan : Object.freeze({ ...plan, assignments: [...plan.assignments, ...times] })
}
