/** Whether only the written rows show that they satisfy the rules of a grant: the database computes some of their values. */
import type { Rule } from '../catalog/catalog.ts'
import { unsupported } from '../errors.ts'
import { mayCompute } from './computed.ts'
import { findInsertKey } from './insert-key.ts'
import type { InsertPlan, UpdatePlan, Written, WrittenReference } from './plan.ts'
import { findUpdateKey } from './row-keys.ts'
import { planRules } from './rule.ts'

/**
 * Adds the look-up of the written rows, if it is needed. `references`: those of which only the written rows show the values.
 * @throws NOT_SUPPORTED if the rows could not be found again, or the write not be undone
 */
export function withWritten<P extends InsertPlan | UpdatePlan> (plan: P, rules: readonly Rule[], references: readonly WrittenReference[]): P {
  if (references.length === 0 && (rules.length === 0 || !mayCompute(plan, rules.map(({ column }) => column)))) return plan
  const written = planWritten(plan, rules, references)
  if (written === undefined || !plan.table.transactional) {
    throw unsupported('', `the rows of table "${plan.table.name}" must be checked after the write, which needs transactions and a unique key whose values are known`)
  }
  const rows = plan.verb === 'insert' && plan.rows?.conflict !== undefined ? { rows: { ...plan.rows, isChecked: true as const } } : {}
  return { ...plan, ...rows, written, inTransaction: true }
}

function planWritten (plan: InsertPlan | UpdatePlan, rules: readonly Rule[], references: readonly WrittenReference[]): Written | undefined {
  const condition = planRules(rules)
  if (plan.verb === 'insert' && plan.rows !== undefined) return { rules: condition, references, key: undefined }
  const key = plan.verb === 'update' ? findUpdateKey(plan.table, plan.assignments) : findInsertKey(plan.table, plan.assignments)
  return key === undefined ? undefined : { rules: condition, references, key }
}
