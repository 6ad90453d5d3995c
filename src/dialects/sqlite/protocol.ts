/** The messages between the service and the process that has a SQLite file open. There is one order at a time, and each has one reply. */
import type { DriverValue } from '../../types/column-type.ts'

/** The argument of a process that only reads. */
export const READS_ONLY = 'reads-only'

/** Runs a statement that gives no rows. After an error nothing is left of the transaction that it begins; else it stays open. */
export interface RunOrder {
  readonly kind: 'run'
  readonly sql: string
  readonly parameters: readonly unknown[]
  /** Whether to begin a transaction first. */
  readonly begin?: boolean
  /** Runs the statement for each row: the parameters are those of the rows, then those that are the same for each row. All rows or none are written. */
  readonly rows?: RowsOrder | undefined
}

export interface RowsOrder {
  readonly count: number
  /** Parameters of a row. */
  readonly cells: number
  /** The statement that inserts a row unless it exists. The statement of the order then runs for rows that exist, unless it is the same. */
  readonly probe: string | undefined
}

/** Begins or ends a transaction. While it is open, an error of another order undoes the statement alone, if SQLite can. It stays open if COMMIT fails. */
export interface TransactionOrder {
  readonly kind: 'transaction'
  readonly sql: 'begin' | 'begin immediate' | 'commit' | 'rollback'
}

/** Fails as COMMIT would because of a foreign key that is checked there, and changes nothing. */
export interface CheckKeysOrder {
  readonly kind: 'checkKeys'
}

/** Runs a select. */
export interface ReadOrder {
  readonly kind: 'read'
  readonly sql: string
  readonly parameters: readonly unknown[]
  /** Maximum size of the texts and blobs of its rows, in bytes. */
  readonly limit: number
  /** Whether rows are objects, and integers JavaScript numbers. */
  readonly named?: boolean
}

/** Runs any number of statements. */
export interface ScriptOrder {
  readonly kind: 'script'
  readonly sql: string
}

/** `more` requests the next rows of the select, `end` ends it early. */
export type Order = RunOrder | TransactionOrder | CheckKeysOrder | ReadOrder | ScriptOrder | { readonly kind: 'more' } | { readonly kind: 'end' }

/** Values in the order of the columns; an object if the order has `named`. */
export type Row = ReadonlyArray<DriverValue | null>

export interface Reply {
  /** In the first reply, which says that the file is open: whether it may not be written. */
  readonly isReadOnly?: boolean
  readonly rows?: readonly Row[]
  /** Whether there may be more rows: the next order is `more` or `end`. */
  readonly more?: boolean
  /** The rows are larger than the limit of the order; the select has ended. */
  readonly tooLarge?: boolean
  /** Rows inserted, updated or deleted; of a list, a row that was updated counts twice. */
  readonly changes?: number
  /** Rows of a list that were updated. */
  readonly duplicates?: number
  /** The places of the rows of a list that were neither inserted nor updated. */
  readonly untouched?: readonly number[]
  /** The rowid that the last insert gave, as digits; of a list, that of its first row, if it was inserted. */
  readonly insertId?: string
  /**
   * What SQLite or Node threw. Properties of its own do not survive the way between processes, so they stand beside it.
   * `isRolledBack`: the open transaction has ended with the error. `row`: the row of a list that failed.
   */
  readonly error?: { readonly thrown: Error, readonly errcode: number | undefined, readonly errstr: string | undefined, readonly isRolledBack: boolean | undefined, readonly row: number | undefined }
}
