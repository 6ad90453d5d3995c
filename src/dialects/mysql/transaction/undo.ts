/**
 * The statements that undo a transaction, or a part of it. The time limit of the transaction does not apply to them.
 */
import { databaseUnavailable, outcomeUnknown, type ServiceError, withReason } from '../../../errors.ts'
import type { Statement } from '../../../sql/statement.ts'
import type { Isolation } from '../../dialect.ts'
import { controlStatement } from '../../transaction-commands.ts'
import { ask, send, type Session, within } from '../connection/session.ts'
import type { MysqlError } from '../errors.ts'

/** The warning that changes of tables without transactions remain (ER_WARNING_NOT_COMPLETE_ROLLBACK). */
export const NOT_COMPLETE = 'ER_WARNING_NOT_COMPLETE_ROLLBACK'
const NUMBER = '1196'

/** How long the query may take, in milliseconds. */
const UNENDED_WARNING_DELAY = 5000

/**
 * Whether the server warns that the last statement was undone, by itself or by ROLLBACK, except in tables without
 * transactions. @throws the driver's error, or ETIMEDOUT
 */
export async function warnsOfRest ({ connection, memory }: Session): Promise<boolean> {
  const warnings = await within(UNENDED_WARNING_DELAY, ask(connection, 'show warnings'))
  memory.free()
  return warnings.some(([, code]) => code === NUMBER)
}

/**
 * The time limit for each of them, in milliseconds. After it the connection is closed, and the server rolls back by
 * itself.
 */
const PATIENCE = 5000

/** The bit of the status that is set while a transaction is open (SERVER_STATUS_IN_TRANS). */
const IN_TRANSACTION = 1

/**
 * Runs a statement that undoes. @returns whether there are warnings @throws the driver's error; Error if it takes too
 * long
 */
export async function undo ({ connection, memory }: Session, sql: string): Promise<boolean> {
  const { warnings } = await within(PATIENCE, send(connection, sql))
  memory.free()
  return warnings > 0
}

/** The error if a part wrote tables without transactions. */
export const notComplete = (): ServiceError => withReason(outcomeUnknown(), NOT_COMPLETE)

/**
 * The pool, as far as it is needed here: the pool itself undoes what a session holds, so this file does not import it.
 */
interface Owner {
  discard (session: Session): void
}

/**
 * Whether the server has undone only the last statement and the transaction is still open. Discards the session if the
 * server does not confirm it.
 */
export async function isOpen (session: Session, pool: Owner): Promise<boolean> {
  try {
    const { status } = await within(PATIENCE, send(session.connection, 'do 0'))
    session.memory.free()
    return (status & IN_TRANSACTION) !== 0
  } catch {
    pool.discard(session)
    return false
  }
}

/**
 * Undoes a part of a transaction. Returns the reason if the transaction is over, and discards the session if the server
 * cannot undo the part. `wroteLasting`: whether the part may have written a table without transactions, because the
 * server also warns of earlier parts.
 */
export async function rollBackTo (
  session: Session,
  pool: Owner,
  { name, wroteLasting }: { readonly name: string; readonly wroteLasting: boolean }
): Promise<ServiceError | undefined> {
  try {
    const warns = await undo(session, `rollback to savepoint ${name}`)
    return wroteLasting && warns && (await warnsOfRest(session)) ? notComplete() : undefined
  } catch (error) {
    pool.discard(session)
    return withReason(databaseUnavailable(), (error as MysqlError).code)
  }
}

/** Sets the variables of the session again. @throws as `undo` */
export async function setVariables ({ connection, settingsInTransaction }: Session): Promise<void> {
  await within(PATIENCE, send(connection, settingsInTransaction))
}

// The statements that begin and end a transaction or a part of it.

export const ROLLBACK = 'rollback'

/** If its connection is lost, the outcome is unknown, as with any write. */
export const COMMIT = controlStatement('update', 'commit')

/** Replaces the savepoint of the same name. The status after it shows whether a transaction is open. */
export const setSavepoint = (name: string): Statement => controlStatement('update', `savepoint ${name}`)

/** Sessions are set to REPEATABLE READ (session-settings.ts). */
const SNAPSHOT = [controlStatement('select', 'start transaction with consistent snapshot, read only')]
const REPEATABLE_READ = [controlStatement('select', 'start transaction')]
/** The first of two statements applies only to the next transaction. */
const BEGIN: Readonly<Record<Isolation, readonly Statement[]>> = {
  repeatableRead: REPEATABLE_READ,
  serializable: [controlStatement('select', 'set transaction isolation level serializable'), ...REPEATABLE_READ],
  readCommitted: [controlStatement('select', 'set transaction isolation level read committed'), ...REPEATABLE_READ]
}

/** The statements change nothing, so they may be sent again. */
export function beginStatements ({
  readOnly,
  isolation
}: {
  readonly readOnly: boolean
  readonly isolation: Isolation
}): readonly Statement[] {
  return readOnly ? SNAPSHOT : BEGIN[isolation]
}
