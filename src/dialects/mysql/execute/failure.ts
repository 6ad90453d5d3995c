/** Converts an error of a statement to the error for the client, or to a retry. */
import { databaseUnavailable, notSupported, outcomeUnknown, withReason } from '../../../errors.ts'
import type { Statement } from '../../../sql/statement.ts'
import { type Client, clientGone, type StatementResult } from '../../dialect.ts'
import type { OkPacket } from '../connection/packets.ts'
import { ask, type Session, within } from '../connection/session.ts'
import {
  isLost, isNotHere, isReadOnlyTransaction, type MysqlError, namedByMariadb, toServiceError, toTimeout, wasNotSent
} from '../errors.ts'
import type { MysqlPool } from '../pool/pool.ts'

/** Thrown if a statement may be sent again, because it did not run, or only read and lost its connection. */
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

/**
 * The error that replaces the missing answer if the server has not ended the statement in time. The outcome is unknown,
 * as if the connection were lost.
 */
export const killFailed = (): MysqlError =>
  Object.assign(new Error('the statement could not be ended'), { code: KILL_FAILED })

/** The error for a statement larger than max_allowed_packet, which is not sent. */
export const TOO_LARGE: MysqlError = Object.assign(new Error('the statement is larger than the server allows'), {
  errno: 1153,
  sqlState: '08S01',
  code: 'ER_NET_PACKET_TOO_LARGE'
})

/** The error for a statement that was stopped before it was sent. */
export const STOPPED: MysqlError = Object.assign(new Error('stopped'), { errno: 1317, sqlState: '70100' })

export type TransactionKind = 'read' | 'write'

interface Failure {
  readonly pool: Pick<MysqlPool, 'discard' | 'moveOn'>
  readonly session: Session
  /** The statement that failed: that of the request, or the confirmation before it. */
  readonly statement: Statement
  readonly request: { readonly client: Client | undefined, readonly transaction?: TransactionKind | undefined }
  /** Whether the service stopped the statement. */
  readonly isStopped: boolean
}

/** Converts an error of the driver to Retryable, ServiceError or StaleCatalog. Discards the session if it was lost. */
export function toFailure (
  given: MysqlError,
  { pool, session, statement, request: { client, transaction }, isStopped }: Failure
): Error {
  const error = session.product === 'MariaDB' ? namedByMariadb(given) : given
  const lost = isLost(error)
  // the server undoes uncommitted changes
  const isCertain = statement.verb === 'select' || (transaction !== undefined && statement.table.transactional)
  const isGone = client?.destroyed === true
  if (wasNotSent(error) || (lost && error.code !== KILL_FAILED)) pool.discard(session)
  if (isStopped && lost && !isCertain) return withReason(outcomeUnknown(), isGone ? 'CLIENT_GONE' : error.code)
  if (isStopped) return isGone ? clientGone() : withReason(toTimeout(statement), lost ? error.code : undefined)
  if (transaction === 'read' && isReadOnlyTransaction(error)) {
    return withReason(
      notSupported('A function that a view calls writes or locks rows, which a read-only transaction does not allow'),
      error.code
    )
  }
  const refusal = lost && isCertain ? withReason(databaseUnavailable(), error.code) : toServiceError(error, statement)
  const mayRunAgain = lost
    ? statement.verb === 'select'
    : wasNotSent(error) || (isNotHere(error) && pool.moveOn(session))
  return mayRunAgain ? new Retryable(refusal, lost) : refusal
}

// The server's answer to a statement without rows. Most fields are parsed only if a feature needs them.

/** The bit of the status that is set while a transaction is open (MySQL manual, "SERVER_STATUS_flags_enum"). */
const IN_TRANSACTION = 1

const NUMBERS = /\d+/g

export class WriteResult implements StatementResult {
  readonly rows = 0
  readonly changed: number
  readonly insertId: string
  readonly #ok: OkPacket

  constructor (ok: OkPacket) {
    this.#ok = ok
    this.changed = ok.affectedRows
    this.insertId = ok.insertId
  }

  /** `Rows matched: 2  Changed: 1  Warnings: 0` */
  get matched (): number {
    return this.#number(0) ?? this.changed
  }

  /** `Records: 3  Duplicates: 1  Warnings: 0` */
  get duplicates (): number | undefined {
    return this.#number(1)
  }

  get warnings (): number {
    return this.#ok.warnings
  }

  get isInTransaction (): boolean {
    return (this.#ok.status & IN_TRANSACTION) !== 0
  }

  /**
   * The number at an index in the text about the statement; found by position, because the server translates the words.
   */
  #number (index: number): number | undefined {
    const digits = this.#ok.info.match(NUMBERS)?.[index]
    return digits === undefined ? undefined : Number(digits)
  }
}

/** How long the query may take, in milliseconds. */
const PATIENCE = 5000

/**
 * "Error on session 35. Transaction of size … exceeds specified limit …", of this connection and within the last
 * seconds. The time zone of the column is that of the session.
 */
const EXCEEDED = `select 1 from performance_schema.error_log where error_code = 'MY-011608'
  and data like concat('%session ', connection_id(), '.%') and logged > now(6) - interval 10 second limit 1`

/**
 * Whether Group Replication has rejected the last COMMIT because of `group_replication_transaction_size_limit`. Only
 * the log of the server shows this, if the account may read it. @throws ETIMEDOUT, or the driver's error if the
 * connection is lost
 */
export async function exceedsGroupLimit ({ connection, memory }: Session): Promise<boolean> {
  const entries = await within(PATIENCE, ask(connection, EXCEEDED).catch((error: { sqlState?: string }) => {
    if (error.sqlState === undefined) throw error
    return []
  }))
  memory.free()
  return entries.length > 0
}
