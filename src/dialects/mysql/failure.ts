import { databaseUnavailable, notSupported, outcomeUnknown, withReason, type ServiceError } from '../../errors.ts'
import { baseTable, type Table } from '../../catalog/catalog.ts'
import { WITHOUT_TRANSACTIONS } from '../../sql/mysql-catalog.ts'
import type { Statement } from '../../sql/statement.ts'
import { type Client, clientGone } from '../dialect.ts'
import { IN_TRANSACTION, type OkPacket } from '../packets.ts'
import { ask, send, type Session, within } from './session.ts'
import {
  isLogOfStatements, isLost, isNotHere, isReadOnlyTransaction, type MysqlError, namedByMariadb, toServiceError,
  toTimeout, wasNotSent
} from './errors.ts'
import type { MysqlPool } from './pool.ts'

/** The statement did not run, or only read and lost its connection. */
export class Retryable extends Error {
  /** The error for the client if there is no other attempt. */
  readonly refusal: Error
  readonly wasLost: boolean

  constructor (refusal: Error, wasLost: boolean) {
    super('the statement may be sent again')
    this.name = 'Retryable'
    this.refusal = refusal
    this.wasLost = wasLost
  }
}

const KILL_FAILED = 'KILL_FAILED'

/** The server has not ended the statement in time: the outcome is unknown. */
export const killFailed = (): MysqlError =>
  Object.assign(new Error('the statement could not be ended'), { code: KILL_FAILED })

/** Larger than max_allowed_packet: not sent. */
export const TOO_LARGE: MysqlError = Object.assign(new Error('the statement is larger than the server allows'), {
  errno: 1153,
  sqlState: '08S01',
  code: 'ER_NET_PACKET_TOO_LARGE'
})

/** Stopped before it was sent. */
export const STOPPED: MysqlError = Object.assign(new Error('stopped'), { errno: 1317, sqlState: '70100' })

export type TransactionKind = 'read' | 'write'

/** Discards the session if it was lost. */
export function toFailure (
  reported: MysqlError,
  { pool, session, statement, request: { client, transaction }, isStopped }: {
    readonly pool: Pick<MysqlPool, 'discard' | 'moveOn'>
    readonly session: Session
    /** The statement that failed: the request's, or the confirmation before it. */
    readonly statement: Statement
    readonly request: { readonly client: Client | undefined, readonly transaction?: TransactionKind | undefined }
    readonly isStopped: boolean
  }
): Error {
  const error = session.engine.name === 'MariaDB' ? namedByMariadb(reported) : reported
  const lost = isLost(error)
  // the server undoes uncommitted changes
  const isCertain = statement.verb === 'select' || (transaction !== undefined && statement.table.transactional)
  const isGone = client?.destroyed === true
  // the format of the binary log was changed after the session was opened, and applies since it was reset
  const isOutdated = isLogOfStatements(error) && session.isolation === 'readCommitted'
  if (isOutdated || wasNotSent(error) || (lost && error.code !== KILL_FAILED)) pool.discard(session)
  if (isStopped && lost && !isCertain) return withReason(outcomeUnknown(), isGone ? 'CLIENT_GONE' : error.code)
  if (isStopped) return isGone ? clientGone() : withReason(toTimeout(statement), lost ? error.code : undefined)
  if (transaction === 'read' && isReadOnlyTransaction(error)) {
    return withReason(
      notSupported('A function that a view calls writes or locks rows, which a read-only transaction does not allow'),
      error.code
    )
  }
  const refusal = (lost && isCertain) || isOutdated
    ? withReason(databaseUnavailable(), error.code)
    : toServiceError(error, statement)
  const mayRunAgain = lost
    ? statement.verb === 'select'
    : isOutdated || wasNotSent(error) || (isNotHere(error) && pool.moveOn(session))
  return mayRunAgain ? new Retryable(refusal, lost) : refusal
}

// Statements that ask for what a failed one has left, or undo it. The time limit of the transaction does not apply to
// them; after their own, in milliseconds, the connection is closed, and the server rolls back by itself.
const PATIENCE = 5000

/**
 * "Error on session 35. Transaction of size … exceeds specified limit …", of this connection and within the last
 * seconds. The column is in the time zone of the session.
 */
const EXCEEDED = `select 1 from performance_schema.error_log where error_code = 'MY-011608'
  and data like concat('%session ', connection_id(), '.%') and logged > now(6) - interval 10 second limit 1`

/**
 * Whether Group Replication has refused the last COMMIT because of its size. Only the log of the server shows this, if
 * the account may read it. @throws ETIMEDOUT, or the driver's error if the connection is lost
 */
export async function exceedsGroupLimit ({ connection, memory }: Session): Promise<boolean> {
  const entries = await within(PATIENCE, ask(connection, EXCEEDED).catch(noneIfRefused))
  memory.free()
  return entries.length > 0
}

/** The account may not read it, or a proxy does not know it. */
function noneIfRefused (error: { readonly sqlState?: string }): [] {
  if (error.sqlState === undefined) throw error
  return []
}

/** The warning that changes of tables without transactions remain (ER_WARNING_NOT_COMPLETE_ROLLBACK). */
export const NOT_COMPLETE = 'ER_WARNING_NOT_COMPLETE_ROLLBACK'
const NOT_COMPLETE_NUMBER = '1196'

/**
 * Whether the server warns that the last statement was undone, by itself or by ROLLBACK, except in tables without
 * transactions. @throws the driver's error, or ETIMEDOUT
 */
export async function warnsOfRest ({ connection, memory }: Session): Promise<boolean> {
  const warnings = await within(PATIENCE, ask(connection, 'show warnings'))
  memory.free()
  return warnings.some(([, code]) => code === NOT_COMPLETE_NUMBER)
}

/** For so long, in milliseconds, an engine is taken for the one that the server named last. */
const TRUST = 1000
/** The tables whose engines were asked for: when, and whether they have lost their transactions. */
const asked = new WeakMap<Table, { readonly at: number, readonly isLost: boolean }>()

/**
 * Whether the engine of a table has lost its transactions since the catalog was read (`alter table … engine = MyISAM`).
 * `isExact`: asks the server now, whatever it said a moment ago.
 * @throws the driver's error, or ETIMEDOUT
 */
export async function hasLostTransactions (
  { connection, memory }: Session,
  given: Table,
  isExact: boolean
): Promise<boolean> {
  const table = baseTable(given)
  const known = asked.get(table)
  if (!isExact && known !== undefined && performance.now() - known.at < TRUST) return known.isLost
  const at = performance.now()
  const found = await within(PATIENCE, ask(connection, WITHOUT_TRANSACTIONS, [table.name]).catch(noneIfRefused))
  memory.free()
  asked.set(table, { at, isLost: found.length > 0 })
  return found.length > 0
}

/** Runs a statement without rows. @throws the driver's error, or ETIMEDOUT */
export async function sendIn ({ connection, memory }: Session, sql: string): Promise<OkPacket> {
  const ok = await within(PATIENCE, send(connection, sql))
  memory.free()
  return ok
}

/** A part wrote tables without transactions. */
export const notComplete = (): ServiceError => withReason(outcomeUnknown(), NOT_COMPLETE)

/** Discards the session if the server does not confirm this. */
export async function isOpen (session: Session, pool: Pick<MysqlPool, 'discard'>): Promise<boolean> {
  try {
    return ((await sendIn(session, 'do 0')).status & IN_TRANSACTION) !== 0
  } catch {
    pool.discard(session)
    return false
  }
}

/**
 * Undoes a part of a transaction. Returns the reason if the transaction is over. `wroteLasting`: whether the part may
 * have written a table without transactions, because the server also warns of earlier parts.
 */
export async function rollBackTo (
  session: Session,
  pool: Pick<MysqlPool, 'discard'>,
  { name, wroteLasting }: { readonly name: string; readonly wroteLasting: boolean }
): Promise<ServiceError | undefined> {
  try {
    const { warnings } = await sendIn(session, `rollback to savepoint ${name}`)
    return wroteLasting && warnings > 0 && (await warnsOfRest(session)) ? notComplete() : undefined
  } catch (error) {
    pool.discard(session)
    return withReason(databaseUnavailable(), (error as MysqlError).code)
  }
}
