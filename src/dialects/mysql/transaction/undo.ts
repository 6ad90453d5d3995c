/** What the server is asked while a transaction, or a part of it, is undone. Not under the time limit of the transaction. */
import { send, within, type Session } from '../connection/session.ts'

/** How long each of these may take, in milliseconds. Then the connection is closed, and the server rolls back by itself. */
const PATIENCE = 5000

/** The bit of the status that is set while a transaction is open (SERVER_STATUS_IN_TRANS). */
const IN_TRANSACTION = 1

/** Runs a statement that undoes. @returns whether there are warnings @throws the driver's error; Error where it takes too long */
export async function undo ({ connection, memory }: Session, sql: string): Promise<boolean> {
  const { warningStatus } = await within(PATIENCE, send(connection, sql))
  memory.free()
  return warningStatus > 0
}

/** Whether a transaction is open, as a statement that does nothing shows. @throws as `undo` */
export async function isOpen ({ connection, memory }: Session): Promise<boolean> {
  const { serverStatus } = await within(PATIENCE, send(connection, 'do 0'))
  memory.free()
  return (serverStatus & IN_TRANSACTION) !== 0
}

/** Sets the variables of the session again. @throws as `undo` */
export async function setVariables ({ connection, settingsInTransaction }: Session): Promise<void> {
  await within(PATIENCE, send(connection, settingsInTransaction))
}
