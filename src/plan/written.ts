/** Whether only the written rows show that they satisfy the rules of a grant: the database computes some of their values. */
import { mayFire, type Rule, type Table, type TriggerEvent } from '../catalog/catalog.ts'
import { unsupported } from '../errors.ts'
import { findInsertKey } from './insert-key.ts'
import type { InsertPlan, Plan, UpdatePlan, Written } from './plan.ts'
import { findUpdateKey } from './row-keys.ts'
import { planRules } from './rule.ts'

/** Adds the look-up of the written rows, if it is needed. @throws NOT_SUPPORTED if the rows could not be found again, or the write not be undone */
export function withWritten<P extends InsertPlan | UpdatePlan> (plan: P, rules: readonly Rule[]): P {
  if (!mustLookUp(plan, rules)) return plan
  const written = planWritten(plan, rules)
  if (written === undefined || !plan.table.transactional) {
    throw unsupported('', `the rows of table "${plan.table.name}" must be checked after the write, which needs transactions and a unique key whose values are known`)
  }
  return { ...plan, written, inTransaction: true }
}

function mustLookUp (plan: Plan, rules: readonly Rule[]): boolean {
  if (rules.length === 0) return false
  const changes = plan.verb === 'update' || (plan.verb === 'insert' && plan.rows?.conflict !== undefined)
  return rules.some(({ column }) => column.generated || (changes && column.onUpdate === true)) ||
    (plan.verb === 'insert' && mayReplace(plan.table, 'insert')) || (changes && mayReplace(plan.table, 'update'))
}

/** Whether a trigger may change the row that is written. Only BEFORE triggers of MySQL can, and those of SQLite that write the table again, of an insert the AFTER triggers. */
function mayReplace (table: Table, event: TriggerEvent): boolean {
  if (table.engine !== 'sqlite') return mayFire(table, event, 'before')
  return mayFire(table, event, event === 'insert' ? 'after' : undefined)
}

function planWritten (plan: InsertPlan | UpdatePlan, rules: readonly Rule[]): Written | undefined {
  const condition = planRules(rules)
  if (plan.verb === 'insert' && plan.rows !== undefined) return { rules: condition, key: undefined }
  const key = plan.verb === 'update' ? findUpdateKey(plan.table, plan.assignments) : findInsertKey(plan.table, plan.assignments)
  return key === undefined ? undefined : { rules: condition, key }
}
