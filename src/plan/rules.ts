/** Applies the rules of a grant to a plan: every plan that leaves this room is under them. */
import type { Column, Rule, RuleTest, View } from '../catalog/catalog.ts'
import { permissionDenied } from '../errors.ts'
import { isSame, type Parameter, type Value } from '../types/column-type.ts'
import { combine } from './filters/constants.ts'
import { isExactly, isNull } from './filters/operators.ts'
import type { Assignment, Condition, Plan } from './plan.ts'

/**
 * Adds the rules to the condition of the plan, and checks that the rows that it writes satisfy them. `view` is that of the plan's table.
 * @throws PERMISSION_DENIED
 */
export function applyRules (plan: Plan, { rules }: View): Plan {
  if (rules.length === 0) return plan
  switch (plan.verb) {
    case 'select':
    case 'delete': return Object.freeze({ ...plan, condition: within(rules, plan.condition) })
    case 'update':
      checkUpdate(rules, plan.assignments)
      return Object.freeze({ ...plan, condition: within(rules, plan.condition) })
    case 'insert': return Object.freeze({ ...plan, assignments: completeRow(rules, plan.assignments) })
  }
}

/** The rules come first: their columns are usually the first ones of an index. */
const within = (rules: readonly Rule[], condition: Condition): Condition => combine('and', [...rules.map(planRule), condition])

/** The condition that a row satisfies if it satisfies the rule. */
export function planRule ({ column, tests }: Rule): Condition {
  return combine('and', tests.map((test) => planTest(column, test)))
}

function planTest (column: Column, test: RuleTest): Condition {
  switch (test.kind) {
    case 'in': return combine('or', test.values.map((value) => value === null ? isNull(column, false) : isExactly(column, value)))
    case 'notNull': return isNull(column, true)
    case 'order': return { kind: 'compare', column, operator: test.operator, parameter: test.value }
  }
}

/** A column that is not written keeps satisfying its rule; one that is written is tested alone. The result of a form is not known. */
function checkUpdate (rules: readonly Rule[], assignments: readonly Assignment[]): void {
  for (const rule of rules) {
    const written = assignments.find(({ column }) => column === rule.column)
    if (written !== undefined && (written.form !== undefined || !satisfies(rule, written.parameter))) throw refuse()
  }
}

/** A row of an insert with the values that rules give to columns which it leaves out. */
function completeRow (rules: readonly Rule[], assignments: readonly Assignment[]): Assignment[] {
  const completed = [...assignments]
  for (const rule of rules) {
    if (rule.column.generated) continue
    let written = assignments.find(({ column }) => column === rule.column)
    if (written === undefined) {
      written = { column: rule.column, parameter: valueOf(rule) }
      completed.push(written)
    }
    if (!satisfies(rule, written.parameter)) throw refuse()
  }
  return completed
}

/** The only value that the rule allows. */
function valueOf ({ column, tests }: Rule): Parameter {
  const equality = tests.find((test) => test.kind === 'in' && test.values.length === 1)
  if (equality?.kind !== 'in') throw refuse()
  const [value] = equality.values as [Value | null]
  return value === null ? null : toStored(column, value)
}

/** The message does not name the column: the grant may not see it. */
const refuse = () => permissionDenied('The row would not satisfy the rules of the grant')

function satisfies ({ column, tests }: Rule, parameter: Parameter): boolean {
  return tests.every((test) => parameter === null ? allowsNull(column, test) : passes(column, test, parameter))
}

const allowsNull = ({ nullable }: Column, test: RuleTest): boolean => nullable && test.kind === 'in' && test.values.includes(null)

function passes (column: Column, test: RuleTest, parameter: Value): boolean {
  switch (test.kind) {
    case 'in': return test.values.some((value) => value !== null && isSame(column.type, toStored(column, value), parameter))
    case 'notNull': return true
    case 'order': return holds[test.operator](column.type.order?.(parameter, test.value) ?? NaN)
  }
}

const holds: Readonly<Record<'>' | '>=' | '<' | '<=', (order: number) => boolean>> = {
  '>': (order) => order > 0,
  '>=': (order) => order >= 0,
  '<': (order) => order < 0,
  '<=': (order) => order <= 0
}

const toStored = ({ type }: Column, value: Value): Value => type.stored === undefined ? value : type.stored(value)
