import type { QueryError, ResultSetHeader } from 'mysql2'
import type { Plan } from '../../../plan/plan.ts'
import type { Query } from '../../../sql/aliases.ts'
import { RowWriter } from '../../../response/sink.ts'
import type { Client, Result } from '../../dialect.ts'
import { confirm, expectationsOf, isConfirmed, type Confirmation, type Expectations, type KnownStatements } from './confirmation.ts'
import type { Deadlines } from '../../time-limits.ts'
import type { Differences } from '../connection/definitions.ts'
import type { Place } from '../../fifo.ts'
import { isLost, type MysqlError } from '../errors.ts'
import { Interruption, killFailed, toInterruption } from './interruption.ts'
import { writeStatement } from '../literal.ts'
import type { MysqlPool } from '../pool/pool.ts'
import type { CommandDone, SendCommand } from '../connection/row-command.ts'
import { reportsChanges, restoreSession, type Session } from '../connection/session.ts'
import { stopStatement, type Stop } from '../connection/kill.ts'

export interface ExecutionOptions {
  /** Of the statements that run. */
  readonly deadlines: Deadlines<Stoppable>
  /** Bytes that the answer may have. */
  readonly resultLimit: number
  readonly send: SendCommand
  /** What is known of the statements that are kept. */
  readonly known: KnownStatements
  readonly differences: Differences
}

/** A statement that runs. */
export interface Stoppable {
  /** Its time is over. */
  stop (): void
  /** Stops where nobody waits for it any more. */
  look (): void
}

/** A statement as it is to be run: with what is known of who waits for its answer. */
export interface Statement { readonly query: Query, readonly plan: Plan, readonly client: Client | undefined }

export interface Run {
  readonly pool: MysqlPool
  readonly session: Session
  readonly statement: Statement
  readonly options: ExecutionOptions
  /** What is to be done instead; called when the session has been given back. */
  readonly onInterruption: (interruption: Interruption) => Promise<Result>
  readonly resolve: (result: Result | Promise<Result>) => void
  /** With a ServiceError, or SchemaMoved. */
  readonly reject: (error: unknown) => void
}

/** Runs a statement and gives the session back to its pool. */
export function executeOn (run: Run): void {
  new Execution(run).start()
}

/** One run of a statement. Few objects, and no promise of its own: there is one of these for each request. */
class Execution implements Stoppable {
  readonly #run: Run
  readonly #expectations: Expectations
  readonly #writer: RowWriter | undefined
  /** What is being asked before the statement itself. */
  #confirmation: Confirmation | undefined
  /** Why the result cannot be read. */
  #failure: unknown
  #place: Place<Stoppable> | undefined
  #stop: Stop | undefined
  #ended = false
  #told = false

  constructor (run: Run) {
    const { statement: { query, plan }, options: { resultLimit, known, differences } } = run
    this.#run = run
    this.#expectations = expectationsOf(known, query, plan, differences)
    const { definitions } = this.#expectations
    this.#writer = definitions === undefined ? undefined : new RowWriter(definitions.columns, resultLimit)
  }

  start (): void {
    const { confirmation } = this.#expectations
    this.#place = this.#run.options.deadlines.push(this)
    if (confirmation === undefined || isConfirmed(this.#run.pool.confirmed, confirmation)) this.#send()
    else this.#confirm(confirmation)
  }

  #send (): void {
    const { session, statement: { query }, options: { send } } = this.#run
    send(session.connection, { sql: writeStatement(query), writer: this.#writer, definitions: this.#expectations.definitions, listener: this })
  }

  /** Asks whether columns are still what they were, and runs the statement where they are. */
  #confirm (confirmation: Confirmation): void {
    const { pool, session, options: { send } } = this.#run
    const { query, definitions } = confirmation
    const since = performance.now()
    this.#confirmation = confirmation
    const done: CommandDone = (error) => {
      if (this.#ended || error !== null || this.#failure !== undefined || this.#stop !== undefined) return this.done(error ?? STOPPED)
      confirm(pool.confirmed, confirmation, since)
      this.#confirmation = undefined
      session.memory.free()
      this.#send()
    }
    send(session.connection, { sql: writeStatement(query), writer: undefined, definitions, listener: { stop () {}, fail: (reason) => this.fail(reason), done } })
  }

  /** Ends the statement, if it runs still. */
  stop (): void {
    if (this.#ended || this.#stop !== undefined) return
    const { pool, session } = this.#run
    const { since } = this.#place as Place<Stoppable>
    this.#stop = stopStatement({ pool, session, since, onGivenUp: () => this.#giveUp() })
  }

  look (): void {
    if (this.#run.statement.client?.destroyed === true) this.stop()
  }

  fail (reason: unknown): void {
    this.#failure = reason
  }

  done (given: QueryError | Error | null, header?: ResultSetHeader): void {
    // the connection may be lost, which mysql2 tells, after it was given up
    if (this.#ended) return
    this.#ended = true
    const error = given as MysqlError | null
    if (this.#stop === undefined) return this.#leave(error, header)
    if (error === null || !isLost(error)) {
      this.#stop.answered().then(() => this.#leave(error, header))
      return
    }
    this.#tell(error, header)
    this.#stop.lost()
  }

  /** The server has not ended the statement in time: its answer is of no use any more. */
  #giveUp (): void {
    this.#tell(killFailed())
    this.#writer?.drop()
  }

  #leave (error: MysqlError | null, header: ResultSetHeader | undefined): void {
    this.#tell(error, header)
    const { pool, session } = this.#run
    session.memory.free()
    if (!mayHaveChangedSession(this.#run, error, header)) return pool.release(session)
    // nobody waits for it: the answer is on its way
    restoreSession(session).then(() => pool.release(session), () => pool.discard(session))
  }

  #tell (error: MysqlError | null, header?: ResultSetHeader): void {
    if (this.#told) return
    this.#told = true
    const { options: { deadlines }, onInterruption, resolve, reject } = this.#run
    deadlines.remove(this.#place as Place<Stoppable>)
    try {
      const outcome = this.#outcome(error, header)
      resolve(outcome instanceof Interruption ? Promise.resolve(outcome).then(onInterruption) : outcome)
    } catch (refusal) {
      reject(refusal)
    } finally {
      this.#writer?.release()
    }
  }

  /** What was under way: a write whose confirmation failed has changed nothing. */
  #asked (): Run {
    const { plan } = this.#confirmation ?? {}
    return plan === undefined ? this.#run : { ...this.#run, statement: { ...this.#run.statement, plan } }
  }

  /** @throws ServiceError, or SchemaMoved, where the statement must not be sent again */
  #outcome (error: MysqlError | null, header: ResultSetHeader | undefined): Result | Interruption {
    if (this.#writer?.isTooLarge === true) throw this.#writer.refusal
    if (this.#failure !== undefined) throw this.#failure
    if (error !== null) return toInterruption(this.#asked(), error, this.#stop !== undefined)
    if (this.#writer === undefined) return toChange(header as ResultSetHeader)
    return { answer: this.#writer.finish(), returned: this.#writer.count, changed: 0, insertId: undefined }
  }
}

/** What an error of the server's means for a statement that was stopped before it was sent. */
const STOPPED: MysqlError = Object.assign(new Error('stopped'), { errno: 1317, sqlState: '70100' })

/**
 * Whether a trigger, or a function that a view calls, may have changed the variables of the session. What a server reports of
 * a write is exact. It reports nothing with an error, and nothing or too late with the rows of a select.
 */
function mayHaveChangedSession ({ session, statement: { plan: { table, verb } } }: Run, error: MysqlError | null, header: ResultSetHeader | undefined): boolean {
  if (!session.open) return false
  if (table.kind === 'view') return true
  if (verb === 'select') return false
  if (error === null && session.reportsChanges) return reportsChanges(header as ResultSetHeader)
  return !table.triggers.known || table.triggers.list.length > 0
}

/** mysql2 reads the new number as signed; what AUTO_INCREMENT gives never is. */
function toChange ({ affectedRows, insertId }: ResultSetHeader): Result {
  return { answer: undefined, changed: affectedRows, insertId: insertId >= 0 ? String(insertId) : String(BigInt.asUintN(64, BigInt(insertId))) }
}
