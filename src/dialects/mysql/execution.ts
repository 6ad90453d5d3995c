import type { QueryError } from 'mysql2'
import type { Statement } from '../../sql/statement.ts'
import {
  type Client, type Isolation, type PausableSink, type RowSink, type RowSource, StaleCatalog, type StatementResult,
  firesTrigger
} from '../dialect.ts'
import { controlStatement } from '../transaction-commands.ts'
import {
  definitionsOf, type KnownDifferences, type KnownStatements, missingConfirmations, TableDefinitions
} from './definitions.ts'
import { outcomeUnknown, transactionTooLarge, withReason, type ServiceError } from '../../errors.ts'
import {
  changesIfRebuilt, isLost, isRefusedByPlugin, type MysqlError, rebuilt, toServiceError
} from './errors.ts'
import {
  exceedsGroupLimit, hasLostTransactions, killFailed, NOT_COMPLETE, STOPPED, TOO_LARGE, toFailure,
  type TransactionKind, warnsOfRest
} from './failure.ts'
import type { MysqlPool } from './pool.ts'
import { type OkPacket, WriteResult } from '../packets.ts'
import { sendCommand, writeStatement, type CommandDone } from './statement-command.ts'
import { destroy, type Session } from './session.ts'
import { isolationStatement } from './session-settings.ts'
import { stopStatement, type Stop } from './kill.ts'

export interface ExecutionOptions {
  /** Calls `stop` after the time limit, or when the client has disconnected, until the returned function is called. */
  readonly watch: (client: Client | undefined, stop: (reason: ServiceError) => void) => () => void
  readonly onStarted?: () => void
  readonly definitionsCache: KnownStatements
  readonly differences: KnownDifferences
}

/** Lends a session and gets it back: a pool, or a transaction. */
export type SessionOwner = Pick<
  MysqlPool,
  'confirmed' | 'release' | 'restore' | 'discard' | 'startStopping' | 'isStopping' | 'endStopping' | 'moveOn'
>

/** An owner that takes sessions back in another way. A spread of the pool would evaluate its getters each time. */
export const ownerOf = (
  { confirmed, release, restore, discard, startStopping, isStopping, endStopping, moveOn }: SessionOwner,
  overrides: Partial<Pick<SessionOwner, 'release' | 'restore'>>
): SessionOwner => (
  { confirmed, release, restore, discard, startStopping, isStopping, endStopping, moveOn, ...overrides }
)

export interface Run<Request, Owner extends SessionOwner = MysqlPool> {
  readonly pool: Owner
  readonly session: Session
  readonly options: ExecutionOptions
  readonly request: Request
}

type StatementRun = Run<{
  readonly statement: Statement
  readonly sink: RowSink | undefined
  readonly client: Client | undefined
  /** What the statement, or the transaction that it begins, must have; any if omitted. */
  readonly isolation?: Isolation | undefined
  readonly transaction?: TransactionKind | undefined
  /** `sink`, if it can pause the connection between two rows. */
  readonly stream?: PausableSink | undefined
}, SessionOwner>

/** A value that a row computes, perhaps one that the statement must not show, may have made it fail. */
const isOutOfRange = (error: MysqlError, statement: Statement): boolean =>
  (toServiceError(error, statement) as Partial<ServiceError>).code === 'VALUE_OUT_OF_RANGE'

/** Returns the session to its owner. @throws Retryable or StaleCatalog; what the sink throws */
export function runStatement (run: StatementRun): Promise<StatementResult> {
  return new Promise((resolve, reject) => new Execution(run, resolve, reject).start())
}

/** Every request has one: few objects, and callbacks instead of promises. */
class Execution {
  #run: StatementRun
  readonly #resolve: (result: StatementResult) => void
  readonly #reject: (error: unknown) => void
  /** Runs before the request: sets the isolation, or is a confirmation. */
  #before: Statement | undefined
  /** Why the result cannot be read. */
  #failure: unknown
  #since = 0
  #unwatch: (() => void) | undefined
  #stop: Stop | undefined
  /** Why the connection waits: the reader of a stream does not read, or a row is being taken. */
  #isPaused = false
  #taking: Promise<void> | undefined
  #ended = false
  #told = false

  constructor (run: StatementRun, resolve: (result: StatementResult) => void, reject: (error: unknown) => void) {
    this.#run = run
    this.#resolve = resolve
    this.#reject = reject
  }

  start (): void {
    const { session, request: { client, stream, isolation }, options: { watch } } = this.#run
    this.#since = performance.now()
    this.#unwatch = watch(client, () => this.stop())
    stream?.from(this.#source())
    const level = isolation && session.levels[isolation]
    if (level === undefined || level === session.isolation) this.#confirmTables()
    else this.#isolate(level)
  }

  /** Sets the isolation level of the following transactions of the session, which keeps it. */
  #isolate (level: Isolation): void {
    const { session } = this.#run
    session.isolation = undefined
    this.#sendBefore(controlStatement('select', isolationStatement(level), 'set the isolation level'), () => {
      session.isolation = level
      this.#confirmTables()
    })
  }

  /** Runs a statement before the request, and then `next`. */
  #sendBefore (before: Statement, next: () => void, definitions?: TableDefinitions): void {
    const { session } = this.#run
    this.#before = before
    const done: CommandDone = (error) => {
      if (this.#ended || error !== null || this.#failure !== undefined || this.#stop !== undefined) {
        return this.done(error ?? STOPPED)
      }
      session.memory.free()
      next()
    }
    sendCommand(session.connection, {
      packet: writeStatement(before),
      sink: undefined,
      definitions,
      listener: { fail: () => this.#differs(), done }
    })
  }

  #confirmTables (): void {
    const { pool, request: { statement: { confirmations } } } = this.#run
    const missing = confirmations.length === 0 ? confirmations : missingConfirmations(pool.confirmed, confirmations)
    if (missing.length === 0) this.#send()
    else this.#confirm(missing)
  }

  /** Lets the sink of a stream control the connection until the statement ends; the next one has another sink. */
  #source (): RowSource {
    const { session: { connection, memory }, options: { onStarted } } = this.#run
    return {
      pause: () => {
        if (this.#ended) return
        this.#isPaused = true
        connection.pause()
      },
      resume: () => {
        this.#isPaused = false
        this.#resume()
      },
      stop: () => this.stop(),
      started: () => onStarted?.(),
      forget: () => memory.advance()
    }
  }

  wait (taking: Promise<void>): void {
    this.#run.session.connection.pause()
    this.#taking = taking.then(() => {
      this.#taking = undefined
      this.#resume()
    })
  }

  #resume (): void {
    if (!this.#ended && !this.#isPaused && this.#taking === undefined) this.#run.session.connection.resume()
  }

  #send (): void {
    const { session, request: { statement, sink }, options: { definitionsCache, differences } } = this.#run
    this.#before = undefined
    const packet = writeStatement(statement)
    if (packet.size >= session.maxPacket) return this.done(TOO_LARGE)
    sendCommand(session.connection, {
      packet,
      sink,
      inserts: statement.verb === 'insert' && statement.isUpsert !== true ? statement.rows ?? 1 : undefined,
      isNumbered: statement.isNumbered,
      definitions: statement.verb === 'select' ? definitionsOf(definitionsCache, statement, differences) : undefined,
      listener: this
    })
  }

  /** Then the statement runs, if every column has the type of the catalog. */
  #confirm ([confirmation, ...others]: readonly Statement[]): void {
    const { pool: { confirmed }, options: { differences } } = this.#run
    const { table } = confirmation as Statement
    const since = performance.now()
    const definitions = new TableDefinitions(table, differences)
    this.#sendBefore(confirmation as Statement, () => {
      const shown = definitions.shown()
      if ((confirmed.get(table)?.shown ?? shown) !== shown) {
        this.#differs()
        return this.done(STOPPED)
      }
      confirmed.set(table, { since, shown })
      if (others.length === 0) this.#send()
      else this.#confirm(others)
    }, definitions)
  }

  /** A table that was to be confirmed is not as in the catalog. */
  #differs (): void {
    this.fail(new StaleCatalog(undefined, { isUndone: true }))
  }

  stop (): void {
    if (this.#ended || this.#stop !== undefined) return
    const { pool, session, request: { stream } } = this.#run
    const onGivenUp = (): void => {
      // KILL does not end a statement that waits to write
      if (stream !== undefined) destroy(session.connection)
      this.#tell(killFailed())
    }
    this.#stop = stopStatement({ pool, session, since: this.#since, onGivenUp })
    if (stream === undefined) return
    stream.discard()
    session.connection.resume()
  }

  fail (reason: unknown): void {
    this.#failure = reason
    // any number of rows may follow
    if (this.#run.request.stream !== undefined) this.stop()
  }

  done (given: QueryError | Error | null, ok?: OkPacket): void {
    // mysql2 may report the loss of a connection after the reply
    if (this.#ended) return
    this.#ended = true
    // waits for the last row: the statement may run again, with the same sink
    if (this.#taking === undefined) this.#end(given as MysqlError | null, ok)
    else this.#taking.then(() => this.#end(given as MysqlError | null, ok))
  }

  #end (error: MysqlError | null, ok: OkPacket | undefined): void {
    if (this.#stop === undefined) return this.#askAndGiveBack(error, ok)
    if (error === null || !isLost(error)) {
      this.#stop.replied().then(() => this.#askAndGiveBack(error, ok))
      return
    }
    this.#tell(error, ok)
    this.#stop.connectionLost()
  }

  #askAndGiveBack (error: MysqlError | null, ok: OkPacket | undefined): void {
    const { pool, session, request: { statement, transaction } } = this.#run
    if (error === null || !session.open) return this.#giveBack(error, ok)
    // in a transaction the server is not asked, because the ROLLBACK returns the same warning, unless none may follow
    const isAlone = transaction === undefined && this.#before === undefined
    const mayLeaveRest = isAlone && firesTrigger(statement)
    const maySendAgain = this.#secondForm !== undefined
    const mayBeRebuilt = (isAlone || maySendAgain) && changesIfRebuilt(error, statement)
    if (!mayLeaveRest && !mayBeRebuilt && !isRefusedByPlugin(error)) return this.#sendAgainOrGiveBack(error, ok)
    const asked = this.#ask(error, { mayLeaveRest, mayBeRebuilt, maySendAgain })
    asked.then(() => this.#sendAgainOrGiveBack(error, ok), () => {
      this.#tell(error, ok)
      pool.discard(session)
    })
  }

  /** Another form of the statement, if one may follow. */
  get #secondForm (): Statement['secondForm'] {
    const { request: { statement, stream } } = this.#run
    return this.#before === undefined && this.#stop === undefined && stream === undefined
      ? statement.secondForm
      : undefined
  }

  /** The refused statement has changed nothing. */
  #sendAgainOrGiveBack (error: MysqlError, ok: OkPacket | undefined): void {
    const { session, request } = this.#run
    const secondForm = this.#failure === undefined && session.open ? this.#secondForm : undefined
    if (secondForm === undefined || !isOutOfRange(error, request.statement)) return this.#giveBack(error, ok)
    session.memory.free()
    this.#run = { ...this.#run, request: { ...request, statement: secondForm() } }
    this.#ended = false
    this.#send()
  }

  /** Facts that the error does not contain. */
  async #ask (
    error: MysqlError,
    may: Readonly<Record<'mayLeaveRest' | 'mayBeRebuilt' | 'maySendAgain', boolean>>
  ): Promise<void> {
    const { mayLeaveRest, mayBeRebuilt, maySendAgain } = may
    const { session, request, request: { statement } } = this.#run
    if (mayLeaveRest && (await warnsOfRest(session))) this.#failure = withReason(outcomeUnknown(), NOT_COMPLETE)
    else if (isRefusedByPlugin(error) && (await exceedsGroupLimit(session))) {
      this.#failure = withReason(transactionTooLarge(), 'ER_RUN_HOOK_ERROR')
    }
    if (mayBeRebuilt && (await hasLostTransactions(session, statement.table, maySendAgain))) {
      this.#run = { ...this.#run, request: { ...request, statement: rebuilt(statement) } }
    }
  }

  #giveBack (error: MysqlError | null, ok: OkPacket | undefined): void {
    this.#tell(error, ok)
    const { pool, session } = this.#run
    session.memory.free()
    if (!mayHaveChangedSession(this.#run, error, ok)) return pool.release(session)
    // the request does not wait for the reset, because its result is complete
    pool.restore(session)
  }

  #tell (error: MysqlError | null, ok?: OkPacket): void {
    if (this.#told) return
    this.#told = true
    const { pool, session, request, request: { sink, stream, transaction } } = this.#run
    const isStopped = this.#stop !== undefined
    this.#unwatch?.()
    // rows of a reply that has been lost, or is none of the server's, say nothing
    const isReply = isStopped || error === null || !isLost(error)
    if (isReply && stream === undefined && sink?.full === true) return this.#resolve({ rows: sink.count, changed: 0 })
    if (isReply && this.#failure !== undefined) return this.#reject(this.#failure)
    // a write has changed nothing if what runs before it has failed
    const statement = this.#before ?? request.statement
    if (error === null && !this.#mayBeCutShort(statement)) {
      return this.#resolve(sink === undefined ? new WriteResult(ok as OkPacket) : { rows: sink.count, changed: 0 })
    }
    if (error === null && statement.verb !== 'select' && transaction === undefined) {
      return this.#reject(withReason(outcomeUnknown(), 'KILLED'))
    }
    this.#reject(toFailure(error ?? STOPPED, { pool, session, statement, request, isStopped }))
  }

  /**
   * Whether the result may be wrong although the server reports no error: a killed `sleep` of a view or a trigger ends
   * well. A statement without a table, such as COMMIT, has no such function. The sink of a stream discards the rows
   * after the stop.
   */
  #mayBeCutShort ({ table }: Statement): boolean {
    if (this.#stop === undefined) return false
    return this.#run.request.stream !== undefined || (this.#stop.wasKilled() && table.name !== '')
  }
}

/**
 * Whether a trigger, or a function that a view calls, may have changed the variables of the session. The server reports
 * it exactly, but only for writes without an error.
 */
function mayHaveChangedSession (
  {
    session,
    request: {
      statement: { table, verb, readsView }
    }
  }: StatementRun,
  error: MysqlError | null,
  ok: OkPacket | undefined
): boolean {
  if (!session.open) return false
  if (readsView === true) return true
  if (verb === 'select') return false
  // the server does not report SET TRANSACTION, which it allows outside of a transaction, for the next one
  if (error === null && session.reportsChanges && table.transactional) return (ok as OkPacket).changesSession
  return !table.triggers.isComplete || table.triggers.list.length > 0
}
