/** Messages between the service and the process that has a SQLite file open: one reply for each order. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DriverValue } from '../../types/column-type.ts'

/** Argument of a process that only reads. */
export const READS_ONLY = 'reads-only'

/** A function of SQL that names the file, since another file may have the same number. */
export const FILE = 'row_query_file'

/** The number that SQLite changes with every definition of the file, and the file. */
export const SCHEMA_VERSION = `select schema_version || ' ' || ${FILE}() as version from pragma_schema_version`

/** SQLITE_SCHEMA: the definitions are not those that the statement was made for. */
export const SCHEMA_CHANGED = 17

interface OnVersion {
  /**
   * The version of the definitions that the statement was planned with. If the file has another one, in which a column
   * may have another type, the statement does not run.
   */
  readonly version?: string | undefined
}

export interface RunOrder extends OnVersion {
  readonly kind: 'run'
  readonly sql: string
  readonly parameters: readonly unknown[]
  /** Begins a transaction first, which an error rolls back. */
  readonly begin?: boolean
  /**
   * Runs the statement for each row, for all or none: the parameters are the values of the rows, then the ones that
   * they share.
   */
  readonly rows?: RowsOrder | undefined
}

export interface RowsOrder {
  readonly count: number
  /** The number of parameters of a row. */
  readonly cells: number
  /** Whether to undo what BEFORE triggers do for a row that is not inserted. */
  readonly isIdle: boolean
}

/** While it is open, an error undoes only its statement, if SQLite can. */
export interface TransactionOrder {
  readonly kind: 'transaction'
  readonly sql: 'begin' | 'begin immediate' | 'commit' | 'rollback'
}

export interface ReadOrder extends OnVersion {
  readonly kind: 'read'
  readonly sql: string
  readonly parameters: readonly unknown[]
  /** Maximum size of the texts and blobs of its rows, in bytes. */
  readonly limit: number
  /** Rows are objects, and integers JavaScript numbers. */
  readonly named?: boolean
  /** Whether the rows are descriptions of the columns of the select, which does not run; none before Node 22.16. */
  readonly describes?: boolean
}

/**
 * `checkKeys` fails as COMMIT would for a foreign key that is checked there. `script` runs any number of statements.
 * `more` requests the next rows of the select, `end` ends it early.
 */
export type Order =
  | RunOrder
  | TransactionOrder
  | { readonly kind: 'checkKeys' }
  | ReadOrder
  | { readonly kind: 'script', readonly sql: string }
  | { readonly kind: 'more' }
  | { readonly kind: 'end' }

/** Values in the order of the columns; an object if the order has `named`. */
export type Row = ReadonlyArray<DriverValue | null>

export interface Reply {
  /** Set in the first reply, after opening: whether the file may not be written. */
  readonly isReadOnly?: boolean
  readonly rows?: readonly Row[]
  /** The next order is `more` or `end`. */
  readonly more?: boolean
  /** The rows are larger than the limit of the order; the select has ended. */
  readonly tooLarge?: boolean
  /** Rows inserted, updated or deleted; in a list, an updated row counts twice. */
  readonly changes?: number
  /** Rows of a list that were updated. */
  readonly duplicates?: number
  /** The id of the row that the last statement has found; null if it does not name an id. */
  readonly existingId?: DriverValue | null
  /** Of each list: the indexes of rows neither inserted nor updated. */
  readonly untouched?: readonly number[]
  /** The rowid of the last insert, as digits; for a list, the rowid of its first row, if it was inserted. */
  readonly insertId?: string
  /** The error, with its own properties, which would not survive the transfer (SqliteError). */
  readonly error?: {
    readonly thrown: Error
    readonly errcode: number | undefined
    readonly errstr: string | undefined
    readonly isRolledBack: boolean | undefined
    readonly row: number | undefined
  }
}

// `sqlite::memory:`, a database that exists as long as the service. It is a private temporary file, because a database
// in the memory of a process would be lost when a statement exceeds its time limit and the process is killed.

/** The name that stands in place of a path. */
export const MEMORY = ':memory:'

const folders = new Set<string>()

const removeFolder = (folder: string): void => {
  folders.delete(folder)
  rmSync(folder, { recursive: true, force: true })
}

process.on('exit', () => folders.forEach(removeFolder))

/** Creates an empty file that only this account can read. */
export function createMemoryFile (): { readonly path: string, remove (): void } {
  const folder = mkdtempSync(join(tmpdir(), 'row-query-memory-'))
  folders.add(folder)
  const path = join(folder, 'memory.db')
  writeFileSync(path, '')
  return { path, remove: () => removeFolder(folder) }
}
