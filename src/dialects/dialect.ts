/** The interface of a database engine. Only files below this folder use a driver. */
import type { Verb } from '../../schemas/grants.ts'
import {
  type Column, type ServerTraits, type TableFacts, baseTable, mayFire, type Check, type ForeignKey, type Key,
  type TriggerTiming
} from '../catalog/catalog.ts'
import type { Engine } from '../catalog/traits.ts'
import {
  isServiceError, isTrouble, queryTimeout, withReason, type ServiceError, checkViolation, foreignKeyViolation,
  missingColumn, notNullViolation, pointer, uniqueViolation, withDetails, type Detail
} from '../errors.ts'
import type { Statement } from '../sql/statement.ts'
import type { DriverValue } from '../types/column-type.ts'

/** Takes the rows of a select (src/response/response-sink.ts). */
export interface RowSink {
  readonly maxBytes: number
  /** Rows taken since `begin`. */
  readonly count: number
  /** Whether the sink takes no more rows. Must be checked after each row. */
  readonly full: boolean
  /** Called before the first row of each run. `columns`: the columns as the database has them now. */
  begin (columns: readonly Column[]): void
  /**
   * A row of MySQL's text protocol (packets.ts), of `count` values in `bytes` from `from` to `to`. A long row is
   * taken between turns of the event loop: no other row may follow until the promise has settled. @throws
   * UNREADABLE_VALUE, or the promise rejects with it; Error if these are not exactly so many values, which only the
   * sink notices without reading them twice
   */
  textRow (bytes: Buffer, from: number, to: number, count: number): Promise<void> | undefined
  /** A row of values as a driver returns them. The same applies. */
  row (values: ReadonlyArray<DriverValue | null>): Promise<void> | undefined
  /** Reports that the rows are larger than `maxBytes`, without writing them. */
  overflow (): void
}

/** In milliseconds. */
export const STREAM_TIMEOUT = 120_000

export interface RowSource {
  /** Makes the database wait; only rows that have already arrived may follow. */
  pause (): void
  /** Continues; rows that have arrived may be passed during the call. */
  resume (): void
  stop (): void
  /** Called after the first row of a run, from which on the time limit of the whole stream applies. */
  started (): void
  /** Called while a row is taken, when the rows so far have been copied, so that their memory may be reused. */
  forget (): void
}

/** A sink that can pause its source between two rows (src/response/row-stream.ts). */
export interface PausableSink extends RowSink {
  /** Called before each run of the statement. */
  from (source: RowSource): void
  /** Whether rows have been passed on, so the statement must not run again. */
  readonly hasPassed: boolean
  /** Gives up the rows of a run that have not been passed on, before the statement runs again. */
  giveUp (): void
  /** Takes no more rows, and discards those that still arrive without pausing the source. */
  discard (): void
}

export interface StatementResult {
  /** Rows that went into the sink. */
  readonly rows: number
  /** Rows inserted, updated or deleted. An upsert counts an updated row twice. */
  readonly changed: number
  /**
   * SQLite: the id of the last row that an upsert has found; null if the statement names no id, undefined if no row was
   * found.
   */
  readonly existingId?: DriverValue | null | undefined
  /** Rows that an update selected, changed or not. Undefined on SQLite. */
  readonly matched?: number | undefined
  /** Updated rows, for an upsert of several. */
  readonly duplicates?: number | undefined
  /** SQLite, of each upsert: the indexes of the rows that were neither inserted nor updated. */
  readonly untouched?: readonly number[] | undefined
  /**
   * For an insert: the number that the database gave to the row, as digits; any number if it gave none. Undefined if a
   * trigger may have changed the key since.
   */
  readonly insertId?: string | undefined
}

/** The client that waits for the response: that of Node. */
export interface Client {
  readonly destroyed: boolean
  /** Identifies the caller, such as a token. Where requests wait, the callers take turns. */
  readonly caller?: string | undefined
}

export interface WriteOptions {
  /** The client whose disconnection ends the statement. */
  readonly client?: Client | undefined
}

export interface ReadOptions extends WriteOptions {
  /** `primary`: no replica is used. */
  readonly consistency?: 'primary' | undefined
}

export interface Executor {
  /** `sink`: for the rows of a select. @throws StaleCatalog; what the sink throws */
  run (statement: Statement, sink?: RowSink): Promise<StatementResult>
}

/**
 * A transaction, whose statements run one after the other. A refusal (isRefusal) undoes only its statement; after any
 * other error the transaction is over, and `run` throws this error again.
 */
export interface Transaction extends Executor {
  /** Shorter than the limit of statements, in milliseconds. */
  run (statement: Statement, sink?: RowSink, timeLimit?: number): Promise<StatementResult>
  /**
   * Runs a part of the transaction, which is undone alone if `use` throws. Parts may contain others, but must not run
   * at the same time. @throws what `use` throws; OUTCOME_UNKNOWN, which ends the transaction, if a table without
   * transactions was written
   */
  nested<T> (use: (transaction: Transaction) => Promise<T>): Promise<T>
  /** The number of the attempt, from 1. */
  readonly attempt: number
  /**
   * The number of statements so far. Omitted by dialects whose COMMIT does not refuse single statements. No getter:
   * V8 keeps what a getter of an object literal holds until the next full collection.
   */
  readonly ran?: (() => number) | undefined
}

/** `readCommitted` is for single writes, for which an engine may have another level. */
export type Isolation = 'repeatableRead' | 'serializable' | 'readCommitted'

export interface TransactionOptions extends ReadOptions {
  /** Only selects run, in one snapshot whatever `isolation` is. They may run on a replica. */
  readonly readOnly: boolean
  readonly isolation: Isolation
  readonly dryRun?: boolean | undefined
  /**
   * The limit of the whole, in milliseconds; each statement then has the limit of statements, which is otherwise the
   * limit of all together.
   */
  readonly timeLimit?: number | undefined
  /** Whether a host app runs its own statements too, so that an error of COMMIT has no details. */
  readonly isShared?: boolean | undefined
}

export interface ServerFacts {
  /** `MySQL`, `MariaDB`, `TiDB` or `Vitess`. */
  readonly engine: string
  readonly version: string
  /** The settings of a session that it ignores, by the name of the variable, with what that means. */
  readonly ignores: Readonly<Record<string, string>>
  /** Features that it lacks: NOT_SUPPORTED. */
  readonly lacks: readonly string[]
}

export interface Dialect {
  readonly engine: Engine
  /** What plans must know about the server; undefined until the first connection, and for SQLite. */
  readonly traits?: ServerTraits | undefined
  /** The server of the newest connection, on the primary. */
  readonly server?: ServerFacts | undefined
  /** Reads the tables with a fixed number of queries. */
  introspect (): Promise<readonly TableFacts[]>
  /**
   * Runs a select until its last row or until `sink` is full; again if its connection was lost. @throws StaleCatalog;
   * what the sink throws
   */
  read (statement: Statement, sink: RowSink, options?: ReadOptions): Promise<StatementResult>
  /**
   * Runs a select whose rows are read as `sink` takes them; again if its connection was lost before a row was passed
   * on. `statementTimeout` is the time limit for the first row, `streamTimeout` for all of them. @throws StaleCatalog,
   * before the first row; what the sink throws
   */
  stream (statement: Statement, sink: PausableSink, options?: ReadOptions): Promise<StatementResult>
  /** Runs an insert, update or delete once. @throws StaleCatalog */
  write (statement: Statement, options?: WriteOptions): Promise<StatementResult>
  /**
   * Runs `use` in a transaction and commits, or rolls back if `use` throws. `statementTimeout` is the time limit for
   * the whole. After a deadlock it runs again, at most three times, so `use` must have no other effects than its
   * statements. @throws ServiceError, with `statement` if COMMIT refuses one; StaleCatalog; what `use` throws. Nothing
   * was changed, except with OUTCOME_UNKNOWN
   */
  transaction<T> (use: (transaction: Transaction) => Promise<T>, options: TransactionOptions): Promise<T>
  /** The privileges of the account as the database lists them, one per line. */
  privileges (): Promise<string[]>
  /** Finds risks of the account. `configured`: the databases that the service uses. */
  findRisks (configured: readonly string[]): Promise<Risks>
  /** Runs no statement. */
  findDenied (uses: readonly TableUse[]): Promise<Denied[]>
  /** Checks that the database replies, unless every connection is in use. */
  check? (): Promise<void>
  /** The primary, then each replica. */
  poolUse? (): PoolUse[]
  close (): Promise<void>
}

/** `excess`: privileges that the service does not need; `enough`: statements that grant sufficient privileges. */
export interface Risks {
  readonly excess: readonly string[]
  readonly risks: readonly string[]
  readonly enough: readonly string[]
}

/** A use of a table that a grant allows. `columns`: the columns that are read or written; none for a delete. */
export interface TableUse { readonly table: string, readonly verb: Verb, readonly columns: readonly string[] }

export interface Denied extends Pick<TableUse, 'table' | 'verb'> {
  /** The denied columns, if the account may use the others. */
  readonly columns?: readonly string[]
  /** The name of the error, if the definer of a view lacks the privilege. */
  readonly reason?: string
}

export interface PoolUse {
  readonly size: number
  readonly open: number
  readonly idle: number
  /** Open connections whose statement was given up but has not ended yet. */
  readonly ending: number
  readonly waiting: number
  /** Requests that have waited for a connection, and their waiting time in milliseconds in all, since the start. */
  readonly waits: number
  readonly waited: number
  /** Since the start. */
  readonly failures: number
}

/** The catalog is stale: the database lacks a table or column of it, or has another type for a column. */
export class StaleCatalog extends Error {
  /** For the log only: the database's name for the error and, if it is safe, the name of the missing object. */
  declare readonly reason: string | undefined
  /** Whether the table itself may be complete, and a trigger, view or routine names the missing object. */
  declare readonly isElsewhere?: boolean
  /** The missing table or column as the database names it. Not for the log. */
  declare readonly missing?: string | undefined
  /**
   * Whether nothing is missing: the table was rebuilt after the snapshot of the transaction, a definition of the file
   * has changed since the catalog was read, or, without a reason, a column has another type than in the catalog.
   */
  declare readonly isRebuilt: boolean
  /** Whether the statement has changed nothing for certain, so that a write can run again. */
  declare readonly isUndone?: boolean

  constructor (
    reason?: string,
    facts: Partial<Pick<StaleCatalog, 'isElsewhere' | 'missing' | 'isRebuilt' | 'isUndone'>> = {}
  ) {
    super('the catalog is stale')
    Object.assign(this, { name: 'StaleCatalog', reason, isRebuilt: reason === undefined, ...facts })
  }
}

/** A database error that only a bug of the service can cause. Its text is omitted, because it may contain values. */
export class UnknownDatabaseError extends Error {
  constructor (code: string | number) {
    super(`unexpected database error ${code}`)
    this.name = 'UnknownDatabaseError'
  }
}

/** Whether a statement was refused and undone, while the database and its connection work. */
export const isRefusal = (error: unknown): boolean => isServiceError(error) && !isTrouble(error)

const ROW_REFUSED = new Set([
  'UNIQUE_VIOLATION',
  'FOREIGN_KEY_VIOLATION',
  'NOT_NULL_VIOLATION',
  'CHECK_VIOLATION',
  'VALUE_OUT_OF_RANGE',
  'MISSING_COLUMN'
])

/** Whether only a row was refused: the transaction continues, and the other rows may be written without it. */
export const refusesRow = (error: unknown): error is ServiceError => ROW_REFUSED.has((error as ServiceError).code)

/** The reason, for the log, of the error for a client that has disconnected. */
export const CLIENT_GONE = 'CLIENT_GONE'
export const clientGone = (): ServiceError => withReason(queryTimeout(), CLIENT_GONE)

/** Whether a statement may run a trigger, so that an error may belong to another table that the trigger writes. */
export const firesTrigger = ({ verb, table, isUpsert = false }: Statement, timing?: TriggerTiming): boolean =>
  verb !== 'select' && (mayFire(table, verb, timing) || (isUpsert && mayFire(table, 'update', timing)))

/** `key`: undefined for a key of another table, which a trigger wrote to. */
export function uniqueViolationOf (key: Key | undefined): ServiceError {
  return withDetails(uniqueViolation(), ...key === undefined ? [] : details(key.columns, `unique key "${key.name}"`))
}

/** MISSING_COLUMN for an omitted column that the message of the database names; otherwise NOT_NULL_VIOLATION. */
export function notNullViolationOf (
  { verb, table, assigned }: Statement,
  isNamed: (column: string) => boolean
): ServiceError {
  if (verb !== 'insert') return notNullViolation()
  const missing = table.requiredColumns.find((column) => !assigned.includes(column) && isNamed(column.name))
  if (missing === undefined) return notNullViolation()
  return withDetails(missingColumn(`"${missing.name}"`), {
    path: pointer('data', missing.name),
    message: 'has no default'
  })
}

/** A foreign key would refer to a row that does not exist. `keys`: the possible keys of the table. */
export function noReferencedRow ({ name: table }: Statement['table'], keys: readonly ForeignKey[]): ServiceError {
  const refusal = foreignKeyViolation()
  refusal.violated = { table, keys }
  return withDetails(refusal, ...keys.flatMap(({ name, columns }) => details(columns, `foreign key "${name}"`)))
}

/** The grant may not see the table of the rows that refer to this one. `key`: as the database names it. */
export function rowIsReferenced (
  { verb, table: { name: table } }: Statement,
  isCertain: boolean,
  key?: { readonly table: string, readonly name: string }
): ServiceError {
  const refusal = foreignKeyViolation()
  if (!isCertain) return refusal
  refusal.violated = { table, keys: [], referring: { table, event: verb === 'delete' ? 'delete' : 'update', key } }
  return withDetails(refusal, { path: '', message: 'other rows refer to this one' })
}

/** Undefined for a check of another table, or for an exception of a trigger. */
export function checkViolationOf (check: Check | undefined): ServiceError {
  if (check === undefined) return checkViolation()
  const named = `check constraint "${check.name}"`
  return withDetails(
    checkViolation(),
    ...(check.columns.length > 0 ? details(check.columns, named) : [{ path: '', message: named }])
  )
}

/** The foreign keys of the base table that an insert or update writes. */
export function foreignKeysWritten ({ table, assigned, parameters }: Statement): ForeignKey[] {
  const written = new Set(assigned.filter((_column, index) => parameters[index] !== null).map(({ name }) => name))
  return baseTable(table).foreignKeys.filter(({ columns }) => columns.some((column) => written.has(column)))
}

function details (columns: readonly string[], constraint: string): Detail[] {
  const message = `${constraint} on ${columns.map((column) => `"${column}"`).join(', ')}`
  return columns.map((column) => ({ path: pointer('data', column), message }))
}
