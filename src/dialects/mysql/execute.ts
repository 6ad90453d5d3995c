import type { ResultSetHeader } from 'mysql2'
import { queryTimeout, resultTooLarge, withReason, type ServiceError } from '../../errors.ts'
import type { Plan } from '../../plan/plan.ts'
import type { Query } from '../../query/builder.ts'
import { RowWriter } from '../../response/row-writer.ts'
import type { Client, Result } from '../dialect.ts'
import { isLost, isNotHere, toServiceError, wasNotSent, type MysqlError } from './errors.ts'
import { writeStatement } from './literal.ts'
import type { MysqlPool } from './pool.ts'
import type { SendCommand } from './row-command.ts'
import type { Session } from './session.ts'
import { createStop } from './stop.ts'

export interface ExecutionOptions {
  /** Milliseconds that the statement may run. */
  readonly timeout: number
  /** Bytes that the answer may have. */
  readonly resultLimit: number
  readonly send: SendCommand
}

/** A statement as it is to be run: with what is known of who waits for its answer. */
export interface Statement { readonly query: Query, readonly plan: Plan, readonly client: Client | undefined }

/** A statement may be sent once more: it did not run, or it only read and its connection was lost. */
export class Interruption {
  readonly refusal: Error
  readonly wasLost: boolean

  constructor (refusal: Error, wasLost: boolean) {
    this.refusal = refusal
    this.wasLost = wasLost
  }
}

/** Nobody reads this answer; the log tells it from a timeout. */
export const clientGone = (): ServiceError => withReason(queryTimeout(), 'CLIENT_GONE')

/** Runs a statement once and gives the session back to its pool. @throws ServiceError, or SchemaMoved */
export async function executeOn (pool: MysqlPool, session: Session, { query, plan, client }: Statement, options: ExecutionOptions): Promise<Result | Interruption> {
  const { timeout, resultLimit, send } = options
  const writer = plan.verb === 'select' ? new RowWriter(plan.columns, resultLimit) : undefined
  const { promise, resolve, reject } = Promise.withResolvers<ResultSetHeader | undefined>()
  const stop = createStop(session, reject)
  const timer = setTimeout(stop.now, timeout)
  client?.on('close', stop.now)
  send(session.connection, { sql: writeStatement(query), writer, onTooLarge: stop.now, done: (error, header) => error === null ? resolve(header) : reject(error) })
  const requireSize = (): void => { if (writer?.isTooLarge === true) throw resultTooLarge(resultLimit) }
  return await promise.then((header): Result => {
    requireSize()
    return writer === undefined ? toChange(header as ResultSetHeader) : { answer: writer.finish(), changed: 0, insertId: undefined }
  }, (error: MysqlError) => {
    requireSize()
    if (stop.called && !isLost(error)) throw client?.destroyed === true ? clientGone() : queryTimeout()
    return toInterruption(pool, session, error, plan, stop.called)
  }).finally(async () => {
    clearTimeout(timer)
    client?.off('close', stop.now)
    if (stop.called) await stop.done()
    pool.release(session)
  })
}

/** @throws ServiceError, or SchemaMoved, where the statement must not be sent again */
function toInterruption (pool: MysqlPool, session: Session, error: MysqlError, plan: Plan, stopped: boolean): Interruption {
  const refusal = toServiceError(error, plan)
  const lost = isLost(error)
  if (lost || wasNotSent(error)) pool.discard(session)
  const again = lost ? plan.verb === 'select' && !stopped : wasNotSent(error) || (isNotHere(error) && pool.moveOn(session))
  if (again) return new Interruption(refusal, lost)
  throw refusal
}

/** mysql2 reads the new number as signed; what AUTO_INCREMENT gives never is. */
function toChange ({ affectedRows, insertId }: ResultSetHeader): Result {
  const id = BigInt(insertId)
  return { answer: undefined, changed: affectedRows, insertId: String(id < 0n ? BigInt.asUintN(64, id) : id) }
}
