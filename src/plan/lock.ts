/** Plans `lock` of a select in a transaction. */
import { at, invalidBody, unsupported } from '../errors.ts'
import type { Plan } from './plan.ts'

/** Returns a plan that locks the rows that it selects. @throws INVALID_BODY, NOT_SUPPORTED for a table whose locks would not hold */
export function lockRows (plan: Plan): Plan {
  if (plan.verb === 'select' && plan.groups !== undefined) throw at('/lock', invalidBody('"lock" is not allowed with "groupBy" and "aggregates"'))
  if (!plan.table.transactional) throw unsupported('/lock', `the engine of table "${plan.table.name}" has no transactions, so that a lock would not hold`)
  return Object.freeze({ ...plan, lock: 'update' }) as Plan
}
