/** The interface of a database engine. Only files below this folder use a driver. */
import type { Verb } from '../../schemas/grant.ts'
import type { Column, TableFacts } from '../catalog/catalog.ts'
import { isServiceError, isTrouble, queryTimeout, withReason, type ServiceError } from '../errors.ts'
import type { Engine, Statement } from '../sql/statement.ts'
import type { DriverValue } from '../types/column-type.ts'

/** Takes the rows of a select (src/response/answer-sink.ts). */
export interface RowSink {
  /** Bytes that the answer may have. */
  readonly maxBytes: number
  /** Rows taken since `begin`. */
  readonly count: number
  /** Whether it takes no more rows: the answer is too large, or nobody waits for it. To be checked after each row. */
  readonly full: boolean
  /** Starts with the first row, again where the statement is run again. `columns`: the columns as the database has them now. */
  begin (columns: readonly Column[]): void
  /** A row of MySQL's text protocol (mysql/length-encoded.ts), in `bytes` from `from` to `to`. @throws UNREADABLE_VALUE */
  textRow (bytes: Buffer, from: number, to: number): void
  /** A row of values as a driver returns them. @throws UNREADABLE_VALUE */
  row (values: ReadonlyArray<DriverValue | null>): void
  /** The rows are larger than `maxBytes`, as was found without writing them. */
  overflow (): void
}

/** Milliseconds that a stream may run, unless a setting says otherwise. */
export const STREAM_TIMEOUT = 120_000

/** Where the rows of a stream come from. */
export interface RowSource {
  /** The database waits: only rows that have arrived already may follow. */
  pause (): void
  /** Rows that have arrived may come during the call. */
  resume (): void
  /** Ends the statement. Does nothing where it has ended. */
  stop (): void
  /** The first row has been taken: from now on the time limit is that of the whole stream. To be called once for each run. */
  started (): void
  /** The rows so far have been copied: the memory that they were read into may be used again. To be called while a row is taken. */
  forget (): void
}

/** Takes rows at its own pace (src/response/row-stream.ts). */
export interface PacedSink extends RowSink {
  /** Called before each run of the statement. */
  from (source: RowSource): void
  /** Whether rows have been passed on: the statement must not run again. */
  readonly hasPassed: boolean
  /** Takes no more rows, and does not pause the source: what still arrives is thrown away. */
  discard (): void
}

/** What a statement did. */
export interface Outcome {
  /** Rows that went into the sink. */
  readonly rows: number
  /** Rows inserted, updated or deleted. For an insert that updates rows where they exist, MySQL counts an updated row twice. */
  readonly changed: number
  /** Rows that an update selected, changed or not. Undefined on SQLite. */
  readonly matched?: number | undefined
  /** For an insert of several rows that updates rows where they exist: how many were updated. Undefined on SQLite, and for one row. */
  readonly duplicates?: number | undefined
  /**
   * For an insert of several rows: the places of those that were neither inserted nor updated, because they had the values already or a trigger of SQLite
   * has left them out. Only on SQLite.
   */
  readonly untouched?: readonly number[] | undefined
  /**
   * For an insert: the number that the database gave the row, as digits; any number if it gave none. Undefined if
   * the key of the row may have changed since.
   */
  readonly insertId?: string | undefined
}

/** The client that waits for the answer: a response of Node. */
export interface Client {
  readonly destroyed: boolean
  /** Identifies who sends the request, such as a token: requests of different callers take turns where they wait. */
  readonly caller?: string
}

export interface WriteOptions {
  /** The statement is ended when this client disconnects. */
  readonly client?: Client | undefined
}

export interface ReadOptions extends WriteOptions {
  /** `primary`: replicas are not asked. */
  readonly consistency?: 'primary' | undefined
}

/** Runs statements on one session. */
export interface Executor {
  /** `sink`: for a select. @throws ServiceError; SchemaMoved where the catalog must be read again; what the sink throws */
  run (statement: Statement, sink?: RowSink): Promise<Outcome>
}

/**
 * A transaction in progress. Its statements run one after the other. After a refusal (isRefusal) only the statement is undone and the next one
 * may run; after any other error the transaction is over and `run` throws that error again.
 */
export interface Transaction extends Executor {
  /** `timeLimit`: milliseconds that this statement may run, less than the whole. */
  run (statement: Statement, sink?: RowSink, timeLimit?: number): Promise<Outcome>
  /**
   * Runs a part of the transaction, whose statements are undone together if `use` throws, as far as their tables have transactions. The
   * transaction goes on. Parts may contain others; of one transaction they must not run at the same time.
   * @throws what `use` throws; OUTCOME_UNKNOWN, which ends the transaction, if a table without transactions was written and cannot be undone
   */
  nested<T> (use: (transaction: Transaction) => Promise<T>): Promise<T>
  /** 1, or more where the transaction runs again. */
  readonly attempt: number
  /** Statements that have been run so far. Left out by dialects whose COMMIT does not refuse single statements. */
  readonly ran?: number
}

/** `readCommitted` is for the service's own statements. */
export type Isolation = 'repeatableRead' | 'serializable' | 'readCommitted'

export interface TransactionOptions extends ReadOptions {
  /** Only selects run. They see one snapshot at REPEATABLE READ, whatever `isolation` is, and may run on a replica. */
  readonly readOnly: boolean
  readonly isolation: Isolation
  /** Rolls back in place of COMMIT. */
  readonly dryRun?: boolean | undefined
  /** Whether a host app runs statements of its own in it: an error of COMMIT has no details then, as they may be about those. */
  readonly isShared?: boolean | undefined
}

/** A connected database. */
export interface Dialect {
  readonly engine: Engine
  /** Reads every table: a fixed number of queries, whatever the size of the database. @throws ServiceError */
  introspect (): Promise<readonly TableFacts[]>
  /**
   * Runs a select until its last row or until `sink` is full. It may use a replica, and runs again where its connection was lost.
   * @throws ServiceError; SchemaMoved where the catalog must be read again; what the sink throws
   */
  read (statement: Statement, sink: RowSink, options?: ReadOptions): Promise<Outcome>
  /**
   * Runs a select whose rows are read from the database as `sink` takes them. It may use a replica, and runs again where its connection was lost
   * before a row was passed on. `statementTimeout` is the time limit for the first row, `streamTimeout` for all of them.
   * @throws ServiceError, also where the client has disconnected; SchemaMoved, before the first row; what the sink throws
   */
  stream (statement: Statement, sink: PacedSink, options?: ReadOptions): Promise<Outcome>
  /** Runs an insert, update or delete, once. @throws ServiceError; SchemaMoved where the catalog must be read again */
  write (statement: Statement, options?: WriteOptions): Promise<Outcome>
  /**
   * Runs `use` in a transaction and commits, or rolls back if `use` throws. `statementTimeout` is the time limit for the whole. After a
   * deadlock the transaction runs again, at most three times, so `use` must have no other effects than those of its statements.
   * @throws ServiceError, with `statement` where COMMIT refuses one; SchemaMoved; what `use` throws. Nothing was changed, except with OUTCOME_UNKNOWN
   */
  transaction<T> (use: (transaction: Transaction) => Promise<T>, options: TransactionOptions): Promise<T>
  /** The privileges of the account, a line each, as the database lists them. @throws ServiceError */
  privileges (): Promise<string[]>
  /** Finds what is dangerous about how the database is used. `configured`: the databases that the service has. @throws ServiceError */
  findRisks (configured: readonly string[]): Promise<Risks>
  /** Returns what the account may not do. No statement runs. @throws ServiceError */
  findDenied (uses: readonly TableUse[]): Promise<Denied[]>
  /** Checks that the database answers. Does not wait in the queue while every connection is in use. @throws ServiceError */
  check? (): Promise<void>
  /** The use of the connection pools, the primary first and then each replica. */
  poolUse? (): PoolUse[]
  close (): Promise<void>
}

/** Lines for a person. `excess`: privileges that the service does not need; `enough`: the statements that grant what it needs. */
export interface Risks { readonly excess: readonly string[], readonly risks: readonly string[], readonly enough: readonly string[] }

/** What a grant allows to do with a table of the catalog. `columns`: those that are read or written; none for a delete. */
export interface TableUse { readonly table: string, readonly verb: Verb, readonly columns: readonly string[] }

/** A use that the account may not make. */
export interface Denied extends Pick<TableUse, 'table' | 'verb'> {
  /** Set if the account may do it with the other columns. */
  readonly columns?: readonly string[]
  /** Set if it is not a privilege that is missing: the name of the error, of a view whose definer lacks one. */
  readonly reason?: string
}

/** Counts of connections, and of requests that wait for one. */
export interface PoolUse {
  readonly size: number
  readonly open: number
  readonly idle: number
  /** Open connections whose statement was given up and has not ended yet. */
  readonly ending: number
  readonly waiting: number
  /** Requests that have waited for a connection since the start, and the sum of their waiting times in milliseconds. */
  readonly waits: number
  readonly waited: number
  /** Attempts to connect that have failed since the start. */
  readonly failures: number
}

/** The database does not know a table or column of the catalog: it was changed since the catalog was read. Nothing ran. */
export class SchemaMoved extends Error {
  /** For the log only: the database's name for the error and, where it is safe, the name of what is missing. */
  readonly reason: string | undefined
  /** Whether the table itself may be complete, and a trigger, view or routine names what is missing. */
  readonly isElsewhere: boolean
  /** What is missing, as the database names it: a table or column, perhaps behind the names of what it is in. Not for the log. */
  readonly missing: string | undefined

  constructor (reason?: string, { isElsewhere = false, missing }: { isElsewhere?: boolean, missing?: string | undefined } = {}) {
    super('the schema has changed')
    this.name = 'SchemaMoved'
    this.reason = reason
    this.isElsewhere = isElsewhere
    this.missing = missing
  }
}

/** A database error that only a wrong statement of the service can cause: a bug. Carries its number, never its text, which may hold values. */
export class UnknownDatabaseError extends Error {
  constructor (code: string | number) {
    super(`unexpected database error ${code}`)
    this.name = 'UnknownDatabaseError'
  }
}

/** Whether the database, or a row sink, has refused a statement: it was undone, and is not the fault of the database or its connection. */
export const isRefusal = (error: unknown): boolean => isServiceError(error) && !isTrouble(error)

/** Errors of one row or value. */
const OF_ROWS = new Set(['UNIQUE_VIOLATION', 'FOREIGN_KEY_VIOLATION', 'NOT_NULL_VIOLATION', 'CHECK_VIOLATION', 'VALUE_OUT_OF_RANGE', 'MISSING_COLUMN'])

/** Whether a row was refused, without which the others may be written. */
export const keepsTransaction = (error: unknown): boolean => OF_ROWS.has((error as ServiceError).code)

/** The client has disconnected before its answer was ready. No client sees this error; the log has its reason. */
export const clientGone = (): ServiceError => withReason(queryTimeout(), 'CLIENT_GONE')
