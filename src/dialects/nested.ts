/** Runs a part of a transaction that is undone by itself, by a savepoint. */
import type { Transaction } from './dialect.ts'

/** A savepoint as an engine has it. */
export interface Savepoints {
  /** Whether the transaction has ended, or can only be rolled back. */
  isOver (): boolean
  /** @throws why the transaction is over */
  set (name: string): Promise<void>
  /** Undoes what was done since. @throws why the transaction is over now: also OUTCOME_UNKNOWN, where a table without transactions was written since */
  undo (name: string): Promise<void>
  /** Left out by engines where setting it again replaces it. */
  release? (name: string): Promise<void>
}

interface Nested<T> {
  /** Gets the transaction for statements of the part. */
  readonly use: (transaction: Transaction) => Promise<T>
  readonly transaction: Transaction
  /** Of parts that contain each other, from 1. */
  readonly level: number
  readonly savepoints: Savepoints
}

/** An error that ends the transaction leaves everything to its ROLLBACK. @throws what `use` throws; as the savepoints do */
export async function runNested<T> ({ use, transaction, level, savepoints }: Nested<T>): Promise<T> {
  const name = `call_${level}`
  await savepoints.set(name)
  let result: T
  try {
    result = await use(transaction)
  } catch (error) {
    if (!savepoints.isOver()) await savepoints.undo(name)
    throw error
  }
  await savepoints.release?.(name)
  return result
}
