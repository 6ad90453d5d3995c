import type { QueryError, ResultSetHeader } from 'mysql2'
import { queryTimeout, resultTooLarge, withReason, type ServiceError } from '../../errors.ts'
import type { Plan } from '../../plan/plan.ts'
import type { Query } from '../../query/builder.ts'
import { RowWriter } from '../../response/row-writer.ts'
import type { Client, Result } from '../dialect.ts'
import type { Deadlines } from './deadlines.ts'
import { isLost, isNotHere, toServiceError, wasNotSent, type MysqlError } from './errors.ts'
import { writeStatement } from './literal.ts'
import type { MysqlPool } from './pool.ts'
import type { SendCommand } from './row-command.ts'
import type { Session } from './session.ts'
import { stopStatement, type Stop } from './stop.ts'

export interface ExecutionOptions {
  /** Of the statements that run. */
  readonly deadlines: Deadlines<Stoppable>
  /** Bytes that the answer may have. */
  readonly resultLimit: number
  readonly send: SendCommand
}

export interface Stoppable { stop (): void }

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
export function executeOn (pool: MysqlPool, session: Session, statement: Statement, options: ExecutionOptions): Promise<Result | Interruption> {
  return new Promise((resolve, reject) => { new Execution(pool, session, statement, options, { resolve, reject }).start() })
}

interface Settle { readonly resolve: (outcome: Result | Interruption) => void, readonly reject: (error: unknown) => void }

/** One run of a statement. Few objects, and one promise: there is one of these for each request. */
class Execution implements Stoppable {
  readonly #pool: MysqlPool
  readonly #session: Session
  readonly #statement: Statement
  readonly #options: ExecutionOptions
  readonly #settle: Settle
  readonly #writer: RowWriter | undefined
  #stop: Stop | undefined
  #ended = false

  constructor (pool: MysqlPool, session: Session, statement: Statement, options: ExecutionOptions, settle: Settle) {
    this.#pool = pool
    this.#session = session
    this.#statement = statement
    this.#options = options
    this.#settle = settle
    this.#writer = statement.plan.verb === 'select' ? new RowWriter(statement.plan.columns, options.resultLimit) : undefined
  }

  start (): void {
    const { deadlines, send } = this.#options
    deadlines.add(this)
    // never taken off: it is called once, when the response is over, and does nothing where the statement is as well
    this.#statement.client?.on('close', this.stop)
    send(this.#session.connection, { sql: writeStatement(this.#statement.query), writer: this.#writer, onTooLarge: this.stop, done: this.#done })
  }

  /** Ends the statement, if it runs still. */
  readonly stop = (): void => {
    if (!this.#ended) this.#stop ??= stopStatement(this.#session, this.#done)
  }

  readonly #done = (error: QueryError | Error | null, header?: ResultSetHeader): void => {
    // the connection may be lost, which mysql2 tells, after it was given up
    if (this.#ended) return
    this.#ended = true
    this.#options.deadlines.delete(this)
    if (this.#stop === undefined) this.#leave(error as MysqlError | null, header)
    else this.#stop.done().then(() => this.#leave(error as MysqlError | null, header))
  }

  #leave (error: MysqlError | null, header: ResultSetHeader | undefined): void {
    try {
      this.#settle.resolve(this.#outcome(error, header))
    } catch (refusal) {
      this.#settle.reject(refusal)
    }
    this.#pool.release(this.#session)
  }

  /** @throws ServiceError, or SchemaMoved, where the statement must not be sent again */
  #outcome (error: MysqlError | null, header: ResultSetHeader | undefined): Result | Interruption {
    if (this.#writer?.isTooLarge === true) throw resultTooLarge(this.#options.resultLimit)
    if (error !== null) return this.#interruption(error)
    return this.#writer === undefined ? toChange(header as ResultSetHeader) : { answer: this.#writer.finish(), returned: this.#writer.count, changed: 0, insertId: undefined }
  }

  #interruption (error: MysqlError): Interruption {
    const { plan, client } = this.#statement
    const lost = isLost(error)
    const stopped = this.#stop !== undefined
    if (stopped && !lost) throw client?.destroyed === true ? clientGone() : queryTimeout()
    const refusal = toServiceError(error, plan)
    if (lost || wasNotSent(error)) this.#pool.discard(this.#session)
    const again = lost ? plan.verb === 'select' && !stopped : wasNotSent(error) || (isNotHere(error) && this.#pool.moveOn(this.#session))
    if (again) return new Interruption(refusal, lost)
    throw refusal
  }
}

/** mysql2 reads the new number as signed; what AUTO_INCREMENT gives never is. */
function toChange ({ affectedRows, insertId }: ResultSetHeader): Result {
  return { answer: undefined, changed: affectedRows, insertId: insertId >= 0 ? String(insertId) : String(BigInt.asUintN(64, BigInt(insertId))) }
}
