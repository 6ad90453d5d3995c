import { foreignKeyViolation, outcomeUnknown, type ServiceError } from '../../errors.ts'
import type { Client } from '../dialect.ts'
import type { Writes } from './broken-keys.ts'
import type { SqliteError } from './errors.ts'
import type { Session } from './session.ts'

/** SQLITE_CONSTRAINT_FOREIGNKEY */
const BROKEN_KEY = 787

const ROLLBACK = { kind: 'transaction', sql: 'rollback' } as const

/** Applies a time limit to `work`: ends the process of the session, and with it the transaction. @throws QUERY_TIMEOUT; what `work` throws */
export type Limit = <T>(session: Session, client: Client | undefined, work: () => Promise<T>) => Promise<T>

export interface Commit {
  readonly session: Session
  readonly limit: Limit
  /** The writes of the transaction; undefined if an error must not describe them. */
  readonly writes: Writes | undefined
  /** Whether to check only what COMMIT would check, and roll back. */
  readonly dryRun?: boolean
}

/**
 * Ends a transaction that writes. COMMIT has its own time limit and does not end if the client disconnects. After an error, the transaction is rolled back.
 * @throws FOREIGN_KEY_VIOLATION for a key that is checked at COMMIT; SqliteError; OUTCOME_UNKNOWN if the process has ended
 */
export async function commit ({ session, limit, writes, dryRun = false }: Commit): Promise<void> {
  try {
    await limit(session, undefined, () => session.ask(dryRun ? { kind: 'checkKeys' } : { kind: 'transaction', sql: 'commit' }))
  } catch (error) {
    const { errcode } = error as SqliteError
    if (errcode === undefined) throw dryRun ? error : outcomeUnknown()
    const refusal = errcode === BROKEN_KEY ? await findBroken({ session, limit, writes }) : error
    await undo(session, limit)
    throw refusal
  }
  if (dryRun) await limit(session, undefined, () => session.ask(ROLLBACK))
}

/** Rolls back after an error. SQLite may already have done so, or the process may have ended. */
export async function undo (session: Session, limit: Limit): Promise<void> {
  if (!session.isLost) await limit(session, undefined, () => session.ask(ROLLBACK)).catch(() => {})
}

/** Finds the broken key; it is not named if it cannot be found in time. */
async function findBroken ({ session, limit, writes }: Omit<Commit, 'dryRun'>): Promise<ServiceError> {
  if (writes === undefined) return foreignKeyViolation()
  return await limit(session, undefined, () => writes.findBroken(session)).catch(() => foreignKeyViolation())
}
