/** The statements that undo a transaction, or a part of it. The time limit of the transaction does not apply to them. */
import { databaseUnavailable, outcomeUnknown, withReason, type ServiceError } from '../../../errors.ts'
import { NOT_COMPLETE, warnsOfRest } from '../connection/rest-warning.ts'
import { send, within, type Session } from '../connection/session.ts'
import type { MysqlError } from '../errors.ts'

/** The time limit for each of them, in milliseconds. After it the connection is closed, and the server rolls back by itself. */
const PATIENCE = 5000

/** The bit of the status that is set while a transaction is open (SERVER_STATUS_IN_TRANS). */
const IN_TRANSACTION = 1

/** Runs a statement that undoes. @returns whether there are warnings @throws the driver's error; Error if it takes too long */
export async function undo ({ connection, memory }: Session, sql: string): Promise<boolean> {
  const { warningStatus } = await within(PATIENCE, send(connection, sql))
  memory.free()
  return warningStatus > 0
}

/** The error if a part wrote tables without transactions. */
export const notComplete = (): ServiceError => withReason(outcomeUnknown(), NOT_COMPLETE)

/** The pool, as far as it is needed here: the pool itself undoes what a session holds, so this file does not import it. */
interface Owner {
  discard (session: Session): void
}

/** Whether the server has undone only the last statement and the transaction is still open. Discards the session if the server does not confirm it. */
export async function isOpen (session: Session, pool: Owner): Promise<boolean> {
  try {
    const { serverStatus } = await within(PATIENCE, send(session.connection, 'do 0'))
    session.memory.free()
    return (serverStatus & IN_TRANSACTION) !== 0
  } catch {
    pool.discard(session)
    return false
  }
}

/**
 * Undoes a part of a transaction. Returns the reason if the transaction is over, and discards the session if the server cannot undo the part.
 * `wroteLasting`: whether the part may have written a table without transactions, because the server also warns of earlier parts.
 */
export async function rollBackTo (session: Session, pool: Owner, { name, wroteLasting }: { readonly name: string, readonly wroteLasting: boolean }): Promise<ServiceError | undefined> {
  try {
    const warns = await undo(session, `rollback to savepoint ${name}`)
    return wroteLasting && warns && await warnsOfRest(session) ? notComplete() : undefined
  } catch (error) {
    pool.discard(session)
    return withReason(databaseUnavailable(), (error as MysqlError).code)
  }
}

/** Sets the variables of the session again. @throws as `undo` */
export async function setVariables ({ connection, settingsInTransaction }: Session): Promise<void> {
  await within(PATIENCE, send(connection, settingsInTransaction))
}
