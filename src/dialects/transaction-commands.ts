/** Runs a part of a transaction that a savepoint can undo alone. */
import type { Column, Table } from '../catalog/catalog.ts'
import { overloaded } from '../errors.ts'
import { type Statement, withoutForeignKeys } from '../sql/statement.ts'
import type { Executor, Transaction } from './dialect.ts'

export interface Savepoints {
  /** Whether the transaction has ended, or can only be rolled back. */
  isOver (): boolean
  /** @throws the error that has ended the transaction */
  set (name: string): Promise<unknown>
  /**
   * @throws the error that ends the transaction, such as OUTCOME_UNKNOWN if a table without transactions was written
   * since
   */
  undo (name: string): Promise<unknown>
  /** Omitted by engines that replace a savepoint when it is set again. */
  release? (name: string): Promise<unknown>
}

/** Its parts are undone alone after an error, unless that ends the whole. `level`: of nesting; 0 is the whole. */
export function createTransaction (
  of: Omit<Transaction, 'nested'>,
  savepoints: Savepoints,
  level = 0
): Transaction {
  const name = `call_${level + 1}`
  return {
    attempt: of.attempt,
    run: of.run,
    ran: of.ran,
    async nested (use) {
      await savepoints.set(name)
      let result
      try {
        result = await use(createTransaction(of, savepoints, level + 1))
      } catch (error) {
        if (!savepoints.isOver()) await savepoints.undo(name)
        throw error
      }
      await savepoints.release?.(name)
      return result
    }
  }
}

/** Statements. */
export const MAX_WAITING = 1000

/** The statements, or requests, of one transaction. */
export class CommandQueue {
  #pending = 0
  #last: Promise<unknown> = Promise.resolve()
  readonly #settled = (): void => { this.#pending-- }
  /** What has not begun, and what comes, is refused. */
  hasEnded = false

  /** @throws OVERLOADED if more wait; Error after the end; what `work` throws */
  run<T> (work: () => Promise<T>): Promise<T> {
    if (this.#pending > MAX_WAITING) return Promise.reject(overloaded())
    const result = this.#pending === 0 && !this.hasEnded ? work() : this.#last.then(() => this.#begin(work))
    this.#pending++
    this.#last = result.then(this.#settled, this.#settled)
    return result
  }

  #begin<T> (work: () => Promise<T>): Promise<T> {
    if (this.hasEnded) throw new Error('The transaction has ended')
    return work()
  }

  async drain (): Promise<void> {
    while (this.#pending > 0) await this.#last
  }
}

// Statements that begin and end transactions, in the form of other statements but without a table.

const NONE: readonly Column[] = []

/** A table without triggers, for the description of errors. */
export const controlTable = (name: string): Table => Object.freeze({
  name,
  kind: 'table',
  comment: '',
  engine: '',
  transactional: true,
  triggers: { isComplete: true, list: [] },
  columns: new Map(),
  columnList: NONE,
  visibleColumns: NONE,
  requiredColumns: NONE,
  primaryKey: [],
  uniqueKeys: [],
  indexes: [],
  foreignKeys: [],
  checks: [],
  identity: undefined
})

const NO_TABLE = controlTable('')

/** `does`: for messages if the server refuses it. */
export const controlStatement = (verb: Statement['verb'], sql: string, does?: string): Statement => ({
  verb,
  does,
  table: NO_TABLE,
  sql,
  pieces: [sql],
  columns: NONE,
  assigned: NONE,
  confirmations: [],
  parameters: []
})

const DEFER = controlStatement('select', 'pragma defer_foreign_keys = on')
const DEFER_NO_MORE = controlStatement('select', 'pragma defer_foreign_keys = off')

/**
 * Runs a part of a transaction whose writes do not check foreign keys. It must throw, so that it is undone. `defers`:
 * whether the engine defers the checks.
 */
export async function runWithoutForeignKeys (
  tx: Transaction,
  use: (run: Executor['run']) => Promise<never>,
  defers: boolean
): Promise<never> {
  if (!defers) return await tx.nested((part) => use((statement, rows) => part.run(withoutForeignKeys(statement), rows)))
  await tx.run(DEFER)
  try {
    return await tx.nested((part) => use(part.run))
  } finally {
    await tx.run(DEFER_NO_MORE)
  }
}
