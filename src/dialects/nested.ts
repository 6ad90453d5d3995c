/** Runs a part of a transaction that a savepoint can undo alone. */
import type { Transaction } from './dialect.ts'

/** The savepoints of an engine. */
export interface Savepoints {
  /** Whether the transaction has ended, or can only be rolled back. */
  isOver (): boolean
  /** Sets a savepoint. @throws the error that has ended the transaction */
  set (name: string): Promise<void>
  /** Undoes everything since the savepoint. @throws the error that ends the transaction, such as OUTCOME_UNKNOWN if a table without transactions was written since */
  undo (name: string): Promise<void>
  /** Releases the savepoint; omitted by engines that replace it when it is set again. */
  release? (name: string): Promise<void>
}

interface Nested<T> {
  /** Called with the transaction for the statements of the part. */
  readonly use: (transaction: Transaction) => Promise<T>
  readonly transaction: Transaction
  /** The nesting level of the part, from 1. */
  readonly level: number
  readonly savepoints: Savepoints
}

/** Undoes the part after an error, unless the error ends the whole transaction. @throws what `use` throws; as the savepoints do */
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
