import type { Table } from '../catalog/catalog.ts'
import type { Client, Dialect, Isolation, Transaction } from '../dialects/dialect.ts'
import { requireUndoable } from '../plan/terms.ts'
import type { KeyCleanUp } from './clean-up.ts'
import { createReservation, type KeyOwner, type RequestKey } from './key.ts'
import { runOnce, type KeysInUse } from './run-once.ts'

/** A database with its idempotency keys. */
export interface KeyedDatabase {
  readonly name: string
  readonly dialect: Dialect
  /** The keys that requests of this process are using, and the clean-up of old ones. */
  readonly keysInUse: KeysInUse
  readonly keyCleanUp: KeyCleanUp
}

/** The additional fields of a request with an idempotency key. */
export interface Keyed {
  readonly key?: RequestKey | undefined
  /** Called if the answer is that to an earlier request. */
  readonly onReplay?: () => void
}

export interface KeyedRequest extends Keyed {
  readonly grant: KeyOwner
  readonly database: KeyedDatabase
  /** The table of the path; undefined for several operations. */
  readonly path: string | undefined
  /** The tables that are used, as the grant sees them. */
  readonly tables: readonly Table[]
  readonly client: Client | undefined
  readonly isolation: Isolation
  /** As in TransactionOptions. */
  readonly isShared: boolean
}

/** Runs `work` in a transaction, or returns the answer to an earlier request with the same key. @throws as runOnce; NOT_SUPPORTED for a table without transactions */
export async function runWithKey (request: KeyedRequest, work: (tx: Transaction) => Promise<string | Buffer>): Promise<string | Buffer> {
  const { key, grant, database, path, tables, client, isolation, isShared } = request
  for (const table of tables) requireUndoable(table, '')
  const reservation = createReservation({ key: key as RequestKey, grant, database: database.name, path, tables })
  const { answer, isReplayed } = await runOnce({ dialect: database.dialect, keysInUse: database.keysInUse, reservation, transaction: { client, isolation, isShared } }, work)
  database.keyCleanUp.noteUse()
  if (isReplayed) request.onReplay?.()
  return answer
}
