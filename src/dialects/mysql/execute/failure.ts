/** Converts an error of a statement to a refusal or another attempt. */
import { databaseUnavailable, notSupported, outcomeUnknown, withReason } from '../../../errors.ts'
import type { Statement } from '../../../sql/statement.ts'
import { clientGone, type Client } from '../../dialect.ts'
import type { Session } from '../connection/session.ts'
import { isLost, isNotHere, isReadOnlyTransaction, namedByMariadb, toServiceError, toTimeout, wasNotSent, type MysqlError } from '../errors.ts'
import type { MysqlPool } from '../pool/pool.ts'

/** Thrown if a statement may be sent again, because it did not run, or only read and lost its connection. */
export class Retryable extends Error {
  /** The answer if there is no other attempt. */
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

/** The error in place of the missing answer if the server has not ended the statement in time. The outcome is unknown, as if the connection were lost. */
export const killFailed = (): MysqlError => Object.assign(new Error('the statement could not be ended'), { code: KILL_FAILED })

/** The error in place of the server's answer to a statement larger than max_allowed_packet, which is not sent. */
export const TOO_LARGE: MysqlError = Object.assign(new Error('the statement is larger than the server allows'), { errno: 1153, sqlState: '08S01', code: 'ER_NET_PACKET_TOO_LARGE' })

/** The error in place of the answer to a statement that was stopped before it was sent. */
export const STOPPED: MysqlError = Object.assign(new Error('stopped'), { errno: 1317, sqlState: '70100' })

export type TransactionKind = 'read' | 'write'

export interface Failure {
  readonly pool: Pick<MysqlPool, 'discard' | 'moveOn'>
  readonly session: Session
  /** The statement that failed: that of the request, or the confirmation before it. */
  readonly statement: Statement
  readonly request: { readonly client: Client | undefined, readonly transaction?: TransactionKind | undefined }
  /** Whether the service stopped the statement. */
  readonly isStopped: boolean
}

/** Converts an error of the driver to Retryable, a ServiceError or SchemaMoved. Discards the session if it was lost. */
export function toFailure (given: MysqlError, { pool, session, statement, request: { client, transaction }, isStopped }: Failure): Error {
  const error = session.product === 'MariaDB' ? namedByMariadb(given) : given
  const lost = isLost(error)
  // the server undoes uncommitted changes
  const isCertain = statement.verb === 'select' || (transaction !== undefined && statement.table.transactional)
  const isGone = client?.destroyed === true
  if (wasNotSent(error) || (lost && error.code !== KILL_FAILED)) pool.discard(session)
  if (isStopped && lost && !isCertain) return withReason(outcomeUnknown(), isGone ? 'CLIENT_GONE' : error.code)
  if (isStopped) return isGone ? clientGone() : withReason(toTimeout(statement), lost ? error.code : undefined)
  if (transaction === 'read' && isReadOnlyTransaction(error)) return withReason(notSupported('A function that a view calls writes or locks rows, which a read-only transaction does not allow'), error.code)
  const refusal = lost && isCertain ? withReason(databaseUnavailable(), error.code) : toServiceError(error, statement)
  const mayRunAgain = lost ? statement.verb === 'select' : wasNotSent(error) || (isNotHere(error) && pool.moveOn(session))
  return mayRunAgain ? new Retryable(refusal, lost) : refusal
}
