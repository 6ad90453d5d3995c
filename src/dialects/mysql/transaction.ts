/**
 * Runs a transaction on one session, which it owns for its statements. One time limit, from BEGIN to COMMIT, applies to
 * all of them.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { databaseUnavailable, notSupported, outcomeUnknown, type ServiceError, withReason } from '../../errors.ts'
import type { Statement } from '../../sql/statement.ts'
import {
  CLIENT_GONE, type Isolation, isRefusal, refusesRow, type RowSink, type StatementResult,
  type Transaction, type TransactionOptions, firesTrigger
} from '../dialect.ts'
import { CommandQueue, controlStatement, createTransaction, type Savepoints } from '../transaction-commands.ts'
import { watch } from '../time-limits.ts'
import type { MysqlError } from './errors.ts'
import { type ExecutionOptions, ownerOf, type Run, runStatement, type SessionOwner } from './execution.ts'
import { isOpen, notComplete, Retryable, rollBackTo, sendIn, warnsOfRest } from './failure.ts'
import type { WriteResult } from '../packets.ts'
import type { Session } from './session.ts'

// A transaction that a deadlock has undone runs again, after a pause. Two transactions that wait for each other's
// locks would otherwise meet again. The last attempt waits for the others, and they for it.

/**
 * The number of retries after a deadlock, and the pause before the first one, in milliseconds; each later pause is
 * about three times as long.
 */
const RETRIES = 3
const PAUSE = 20
const GROWTH = 3

/** Whether the error is a deadlock, or a certification conflict of a cluster, which COMMIT may report. */
const isDeadlock = (error: unknown): boolean => (error as ServiceError | undefined)?.code === 'DEADLOCK'

interface TransactionRequest<T> extends Omit<TransactionOptions, 'consistency'> {
  readonly use: (transaction: Transaction) => Promise<T>
}

/** Returns the session to its pool. @throws Retryable or StaleCatalog; what `use` throws */
export function runTransaction<T> (run: Run<TransactionRequest<T>>): Promise<T> {
  return new TransactionRun(run).runAttempts()
}

/** If its connection is lost, the outcome is unknown, as with any write. */
const COMMIT = controlStatement('update', 'commit')

class TransactionRun<T> {
  readonly #run: Run<TransactionRequest<T>>
  readonly #session: Session
  readonly #owner: SessionOwner
  readonly #options: ExecutionOptions
  /** Rejects the function that uses the transaction while none of its statements runs. */
  #end: (reason: ServiceError) => void = () => {}
  #stopCurrent: ((reason: ServiceError) => void) | undefined
  /** Why no other statement can run. */
  #failure: unknown
  /** The time limit, or a disconnected client. */
  #stopped: ServiceError | undefined
  /** Whether the transaction is being committed or rolled back. */
  #isEnding = false
  /** A trigger may have changed the session since its variables were set, and since the transaction began. */
  #isChanged = false
  #wasChanged = false
  #isGivenUp = false
  /** Statements that may have written a table without transactions. */
  #lasting = 0
  /** One has certainly written such a table. */
  #isLasting = false
  #attempt = 1

  constructor (run: Run<TransactionRequest<T>>) {
    this.#run = run
    this.#session = run.session
    const { pool, options } = run
    const release = (session: Session): void => { if (this.#isGivenUp) pool.discard(session) }
    const restore = (session: Session): void => {
      this.#isChanged = this.#wasChanged = true
      release(session)
    }
    this.#owner = ownerOf(pool, { release, restore })
    this.#options = {
      ...options,
      watch: (_client, stop) => {
        this.#stopCurrent = stop
        return () => { this.#stopCurrent = undefined }
      }
    }
  }

  async runAttempts (): Promise<T> {
    const { pool, options, request: { client, timeLimit, readOnly } } = this.#run
    const attempt = (): Promise<T> => this.#runAttempt()
    const stop = (reason: ServiceError): void => this.#stop(reason)
    const end = timeLimit === undefined ? options.watch(client, stop) : watch(timeLimit, client, stop)
    try {
      for (; ; this.#attempt++) {
        try {
          return await (readOnly ? attempt() : pool.lastAttempts.run(attempt, this.#attempt > RETRIES))
        } catch (error) {
          if (!this.#mayRunAgain(error)) throw error
          await sleep(PAUSE * GROWTH ** (this.#attempt - 1) * (0.5 + Math.random()))
          if (this.#stopped !== undefined) throw error
          this.#failure = undefined
        }
      }
    } finally {
      end()
      // a statement that has not ended keeps the session, which is not used again
      if (!this.#isUsable) this.#isGivenUp = true
      else if (this.#wasChanged) pool.restore(this.#session)
      // the end of a snapshot does not delay the response
      else if (readOnly) pool.restore(this.#session, 'rollback')
      else pool.release(this.#session)
    }
  }

  #mayRunAgain (error: unknown): boolean {
    return error === this.#failure && isDeadlock(error) && this.#attempt <= RETRIES && this.#isUsable
  }

  async #runAttempt (): Promise<T> {
    const { request: { dryRun = false, readOnly } } = this.#run
    await this.#begin()
    const queue = new CommandQueue()
    let result: T
    try {
      result = await this.#use(this.#transactionOf(queue))
      await queue.drain()
      queue.hasEnded = true
      this.#failure ??= this.#stopped
      if (this.#failure !== undefined) throw causeOf(this.#failure)
    } catch (error) {
      queue.hasEnded = true
      this.#failure ??= this.#stopped
      await queue.drain()
      if (!readOnly) await this.#rollBack(this.#failure)
      throw this.#mayRunAgain(this.#failure) || this.#failure instanceof Retryable ? this.#failure : error
    }
    if (!readOnly) await (dryRun ? this.#rollBack() : this.#commit())
    return result
  }

  #transactionOf (queue: CommandQueue): Transaction {
    const run: Transaction['run'] = (statement, sink, timeLimit) =>
      queue.run(() => this.#execute(statement, sink, timeLimit))
    return createTransaction({ attempt: this.#attempt, run }, this.#savepointsOf(queue, run))
  }

  #savepointsOf (queue: CommandQueue, run: Transaction['run']): Savepoints {
    /** Lasting writes before each savepoint. */
    const before = new Map<string, number>()
    return {
      isOver: () => queue.hasEnded || this.#failure !== undefined || this.#stopped !== undefined,
      set: async (name) => {
        before.set(name, this.#lasting)
        // replaces one of the same name
        await run(controlStatement('update', `savepoint ${name}`, 'set a savepoint'))
      },
      undo: (name) =>
        queue.run(async () => {
          // a deadlock that ended the whole meanwhile runs again
          if (this.#failure !== undefined) throw this.#failure
          this.#failure = await rollBackTo(this.#session, this.#run.pool, {
            name,
            wroteLasting: this.#lasting > (before.get(name) as number)
          })
          if (this.#failure !== undefined) throw this.#failure
        })
    }
  }

  /** Settles as the function does, unless the transaction ends before. */
  #use (transaction: Transaction): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#end = reject
      if (this.#stopped === undefined) this.#run.request.use(transaction).then(resolve, reject)
      else reject(this.#stopped)
    })
  }

  async #execute (statement: Statement, sink?: RowSink, timeLimit?: number): Promise<StatementResult> {
    this.#failure ??= this.#stopped
    if (this.#failure !== undefined) throw causeOf(this.#failure)
    const { request: { readOnly, client, timeLimit: ofWhole }, options } = this.#run
    const stop = (reason: ServiceError): void => this.#stopCurrent?.(reason)
    const end = timeLimit === undefined ? undefined : watch(timeLimit, undefined, stop)
    const endOfStatement = ofWhole === undefined ? undefined : options.watch(undefined, stop)
    try {
      if (this.#isChanged) await this.#restoreVariables()
      const request = { statement, sink, client, transaction: readOnly ? ('read' as const) : ('write' as const) }
      if (statement.verb !== 'select' && (!statement.table.transactional || firesTrigger(statement))) this.#lasting++
      const result = await runStatement({ pool: this.#owner, session: this.#session, options: this.#options, request })
      if (statement.verb !== 'select' && !statement.table.transactional) this.#isLasting = true
      // for example through a proxy that sends each statement to another server
      if (statement.verb !== 'select' && !(result as WriteResult).isInTransaction) {
        throw withReason(outcomeUnknown(), 'NO_TRANSACTION')
      }
      return result
    } catch (error) {
      // never rerun a writing transaction on another server, unless this one refused it before running it
      const failure = readOnly || this.#session.open ? error : causeOf(error)
      if (
        !refusesRow(failure) &&
        !(isRefusal(failure) && this.#isUsable && (await isOpen(this.#session, this.#run.pool)))
      ) { this.#failure ??= failure }
      throw causeOf(failure)
    } finally {
      end?.()
      endOfStatement?.()
    }
  }

  /**
   * Begins the transaction, not together with its first statement: proxies expect no command before the previous
   * reply. @throws NOT_SUPPORTED if the server does not have the level; Retryable
   */
  async #begin (): Promise<void> {
    const { pool, request: { readOnly, isolation } } = this.#run
    const { engine: { name, snapshot, lacksIsolation } } = this.#session
    if (!readOnly && lacksIsolation.includes(isolation)) {
      throw withReason(
        notSupported(`The database does not support the isolation "${isolation}"`),
        `NO_SUCH_ISOLATION: ${name} does not have it`
      )
    }
    // an attempt that has failed may have run a trigger that sets the level
    if (this.#wasChanged) this.#session.isolation = undefined
    try {
      // it changes nothing, so it may be sent again
      await this.#control(
        controlStatement('select', readOnly ? snapshot : 'start transaction', 'begin a transaction'),
        isolation
      )
    } catch (error) {
      // the transaction may have begun
      if (this.#isUsable) pool.discard(this.#session)
      throw error
    }
  }

  #control (statement: Statement, isolation?: Isolation): Promise<StatementResult> {
    return runStatement({
      pool: this.#owner,
      session: this.#session,
      options: this.#options,
      request: { statement, sink: undefined, client: this.#run.request.client, isolation }
    })
  }

  async #commit (): Promise<void> {
    this.#isEnding = true
    try {
      await this.#control(COMMIT)
    } catch (error) {
      this.#failure = this.#session.open ? error : causeOf(error)
      await this.#rollBack(error)
      throw this.#failure
    } finally {
      this.#isEnding = false
    }
  }

  /**
   * Rolls back even if the server may have done so, because only some errors end a transaction. @throws OUTCOME_UNKNOWN
   * if a table that cannot be rolled back was written
   */
  async #rollBack (failure?: unknown): Promise<void> {
    if (!this.#isUsable) return this.#requireUndone()
    this.#isEnding = true
    try {
      const before = isDeadlock(failure) && (await warnsOfRest(this.#session))
      const { warnings } = await sendIn(this.#session, 'rollback')
      if (before || (warnings > 0 && (await warnsOfRest(this.#session)))) this.#failure = notComplete()
      else return
    } catch {
      this.#run.pool.discard(this.#session)
      return this.#requireUndone()
    } finally {
      this.#isEnding = false
    }
    throw this.#failure
  }

  /** The end of the connection undoes the rest. @throws OUTCOME_UNKNOWN if a table without transactions was written */
  #requireUndone (): void {
    if (this.#isLasting) throw (this.#failure = notComplete())
  }

  async #restoreVariables (): Promise<void> {
    try {
      await sendIn(this.#session, this.#session.settingsInTransaction)
      this.#isChanged = false
    } catch (error) {
      this.#run.pool.discard(this.#session)
      throw withReason(databaseUnavailable(), (error as MysqlError).code)
    }
  }

  get #isUsable (): boolean {
    return this.#session.open && !this.#isGivenUp && !this.#run.pool.isStopping(this.#session)
  }

  #stop (reason: ServiceError): void {
    // a transaction that is ending only has its time limit
    if (this.#isEnding && reason.reason === CLIENT_GONE) return
    this.#stopped ??= reason
    if (this.#stopCurrent !== undefined) return this.#stopCurrent(reason)
    if (!this.#isEnding) this.#end(reason)
  }
}

const causeOf = (error: unknown): unknown => error instanceof Retryable ? error.refusal : error
