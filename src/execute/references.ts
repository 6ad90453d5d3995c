/** Checks that the rows to which a write refers satisfy the rules of their table. */
import type { Database } from '../databases/database.ts'
import type { Executor } from '../dialects/dialect.ts'
import { noReferencedRow } from '../dialects/violations.ts'
import type { Condition, Plan, Reference } from '../plan/plan.ts'
import { RowCounter } from '../response/count-sink.ts'
import { atRow } from './insert-rows.ts'
import { runStatement } from './run-statement.ts'

/**
 * Runs after the write, so that its rows may refer to each other, and before COMMIT. A row that does not satisfy the rules is refused like
 * one that does not exist. `isUndone`: whether the write has failed, so that its own rows do not exist.
 * @throws FOREIGN_KEY_VIOLATION
 */
export async function checkReferences (tx: Executor, execution: { readonly plan: Plan, readonly database: Database }, isUndone = false): Promise<void> {
  for (const reference of execution.plan.references ?? []) await checkReference(tx, execution, reference, isUndone)
}

/** @throws FOREIGN_KEY_VIOLATION */
export async function checkReference (tx: Executor, execution: { readonly plan: Plan, readonly database: Database }, reference: Reference, isUndone = false): Promise<void> {
  const { all, lookups } = reference
  if (all !== undefined && await countRows(tx, execution, { reference, condition: all, limit: lookups.length }) === lookups.length) return
  for (const { condition, index, isOwn } of lookups) {
    if (isUndone && isOwn) continue
    if (await countRows(tx, execution, { reference, condition, limit: 1 }) === 0) throw atRow(refusalOf(execution.plan, reference), index)
  }
}

/** Names the key only if the grant sees its columns. */
const refusalOf = ({ table }: Plan, { key }: Reference) => noReferencedRow(table.foreignKeys.filter((each) => each === key))

interface Count { readonly reference: Reference, readonly condition: Condition, readonly limit: number }

/** The rows are locked against changes until the end of the transaction. */
async function countRows (tx: Executor, { database }: { readonly database: Database }, { reference: { table, columns }, condition, limit }: Count): Promise<number> {
  const sink = new RowCounter()
  await runStatement(tx, database, { verb: 'select', table, columns, condition, order: [], limit, lock: 'share' }, sink)
  return sink.count
}
