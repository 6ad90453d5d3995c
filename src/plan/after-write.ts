/** Plans a check of the written rows if only they show whether they satisfy the rules of a grant, because the database computes some values. */
import type { Rule } from '../catalog/catalog.ts'
import { unsupported } from '../errors.ts'
import { mayCompute } from './computed.ts'
import { findInsertKey } from './insert-key.ts'
import type { AfterWrite, InsertPlan, UpdatePlan } from './plan.ts'
import { findUpdateKey } from './row-keys.ts'
import { planRules } from './rule.ts'

/**
 * Adds the look-up of the written rows, if it is needed. `foreignKeys`: those whose values only the written rows show. `given`: the same with the values
 * of the request. @throws NOT_SUPPORTED if the rows could not be found again, or the write could not be undone
 */
export function withCheckAfterWrite<P extends InsertPlan | UpdatePlan> (plan: P, rules: readonly Rule[], { foreignKeys, given }: Pick<AfterWrite, 'foreignKeys' | 'given'>): P {
  if (foreignKeys.length === 0 && (rules.length === 0 || !mayCompute(plan, rules.map(({ column }) => column)))) return plan
  const afterWrite = planAfterWrite(plan, { rules: planRules(rules), foreignKeys, given })
  if (afterWrite === undefined || !plan.table.transactional) {
    throw unsupported('', `the rows of table "${plan.table.name}" must be checked after the write, which needs transactions and a unique key whose values are known`)
  }
  const isChecked = plan.verb === 'insert' && plan.conflict !== undefined
  return { ...plan, ...isChecked && { isChecked }, afterWrite, inTransaction: true }
}

function planAfterWrite (plan: InsertPlan | UpdatePlan, found: Omit<AfterWrite, 'key'>): AfterWrite | undefined {
  if (plan.verb === 'update') {
    const key = findUpdateKey(plan.table, plan.assignments)
    return key && { ...found, key }
  }
  // rows of an upsert are found by the key of the conflict
  return plan.conflict === undefined && !plan.rows.every((row) => findInsertKey(plan.table, [row]) !== undefined) ? undefined : found
}
