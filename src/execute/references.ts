/** Checks that the rows to which a write refers satisfy the rules of their table. */
import { noReferencedRow } from '../dialects/violations.ts'
import type { Plan, Reference } from '../plan/plan.ts'
import { atRow } from './insert.ts'
import type { Runner } from './runner.ts'

/**
 * Runs after the write, so that its rows may refer to each other, and before COMMIT. A row that does not satisfy the rules is refused like
 * one that does not exist. `isUndone`: whether the write has failed, so that its own rows do not exist.
 * @throws FOREIGN_KEY_VIOLATION
 */
export async function checkReferences (runner: Runner, plan: Plan, isUndone = false): Promise<void> {
  for (const reference of plan.references ?? []) await checkReference(runner, plan, reference, isUndone)
}

/** The rows are locked against changes until the end of the transaction. @throws FOREIGN_KEY_VIOLATION */
export async function checkReference (runner: Runner, plan: Plan, reference: Reference, isUndone = false): Promise<void> {
  const { all, lookups, table, columns } = reference
  const lock = 'share'
  if (all !== undefined && await runner.countRead({ table, columns, condition: all, limit: lookups.length, lock }) === lookups.length) return
  for (const { condition, index, isOwn } of lookups) {
    if (isUndone && isOwn) continue
    if (!await runner.exists({ table, columns, condition, lock })) throw atRow(refusalOf(plan, reference), index)
  }
}

/** Names the key only if the grant sees its columns. */
const refusalOf = ({ table }: Plan, { key }: Reference) => noReferencedRow(table.foreignKeys.filter((each) => each === key))
