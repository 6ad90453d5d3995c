/** Applies the rules of a grant to a plan: every plan that leaves this room is under them. */
import type { Rule, View } from '../catalog/catalog.ts'
import { permissionDenied } from '../errors.ts'
import { combine } from './filters/constants.ts'
import type { Assignment, Condition, Plan } from './plan.ts'
import { planReferences } from './references.ts'
import { onlyValueOf, planRules, satisfies } from './rule.ts'

/**
 * Adds the rules to the condition of the plan, and checks that the rows that it writes satisfy them. `view` is that of the plan's table.
 * @throws PERMISSION_DENIED
 */
export function applyRules (plan: Plan, view: View): Plan {
  const { rules } = view
  switch (plan.verb) {
    case 'select':
    case 'delete': return Object.freeze({ ...plan, condition: within(rules, plan.condition) })
    case 'update': {
      checkUpdate(rules, plan.assignments)
      return Object.freeze({ ...plan, condition: within(rules, plan.condition), ...referring('update', plan.assignments, view) })
    }
    case 'insert': {
      const assignments = completeRow(rules, plan.assignments)
      return Object.freeze({ ...plan, assignments, ...referring('insert', assignments, view) })
    }
  }
}

/** The rules come first: their columns are usually the first ones of an index. */
const within = (rules: readonly Rule[], condition: Condition): Condition => combine('and', [planRules(rules), condition])

function referring (verb: 'insert' | 'update', assignments: readonly Assignment[], view: View): Pick<Plan, 'references' | 'inTransaction'> {
  const references = planReferences(verb, [{ assignments }], view)
  return references.length === 0 ? {} : { references, inTransaction: true }
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
    const written = assignments.find(({ column }) => column === rule.column)
    const parameter = written === undefined ? onlyValueOf(rule) : written.parameter
    if (parameter === undefined || !satisfies(rule, parameter)) throw refuse()
    if (written === undefined) completed.push({ column: rule.column, parameter })
  }
  return completed
}

/** The message does not name the column: the grant may not see it. */
const refuse = () => permissionDenied('The row would not satisfy the rules of the grant')
