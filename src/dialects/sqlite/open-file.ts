import { accessSync, closeSync, constants, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { TextDecoder } from 'node:util'
import { NOT_TEXT } from '../../types/column-type.ts'
import type { Row } from './protocol.ts'

/** How long a statement waits for another process's lock, in milliseconds. */
const LOCK_WAIT = 5000
/** The pause between two attempts to set the journal mode, in milliseconds. */
const PAUSE = 10

/** See https://www.sqlite.org/rescode.html. */
const BUSY = 5
const READ_ONLY = 8
const CANNOT_OPEN = { errcode: 14, errstr: 'unable to open database file' }

const codeOf = (error: unknown): number => (error as { errcode?: number }).errcode ?? 0

/** Distinguishes the file that has a path from any other; undefined if none has it. */
export function identify (path: string): string | undefined {
  const stats = statSync(path, { bigint: true, throwIfNoEntry: false })
  return stats && `${stats.dev} ${stats.ino}`
}

export const cannotOpen = (): Error => Object.assign(new Error(CANNOT_OPEN.errstr), CANNOT_OPEN)

/**
 * Opens a file, which must exist. `isReadOnly`: whether the file, or its folder, in which SQLite creates others, may
 * not be written. @throws SqliteError
 */
export function openFile (path: string): { readonly database: DatabaseSync, readonly isReadOnly: boolean } {
  if (isWritable(path)) {
    const database = connect(path, false)
    try {
      setJournalMode(database)
      return { database, isReadOnly: false }
    } catch (error) {
      database.close()
      if (!isRefused(error, path)) throw error
    }
  }
  return { database: openReadOnly(path), isReadOnly: true }
}

/** Must be called before the file is open, because closing a file ends all locks that the process has on it. */
function isWritable (path: string): boolean {
  try {
    closeSync(openSync(path, 'r+'))
    return true
  } catch {
    return false
  }
}

/** Something may not be written; a file may fail to open for other reasons too. */
function isRefused (error: unknown, path: string): boolean {
  if ((codeOf(error) & 0xff) === READ_ONLY) return true
  if (codeOf(error) !== CANNOT_OPEN.errcode) return false
  try {
    accessSync(dirname(path), constants.W_OK)
    return false
  } catch {
    return true
  }
}

/**
 * Opens a file that may not be written. In WAL mode SQLite must create further files, unless the file is declared
 * immutable, which ignores existing ones.
 */
function openReadOnly (path: string): DatabaseSync {
  const database = connect(path, true)
  try {
    database.exec('select 1 from sqlite_schema limit 1')
    return database
  } catch (error) {
    database.close()
    if (
      !isRefused(error, path) ||
      ['-wal', '-journal'].some((suffix) => (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0) > 0)
    ) { throw error }
  }
  return connect(`${pathToFileURL(path).href}?immutable=1`, true)
}

function connect (path: string, readOnly: boolean): DatabaseSync {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: true, readOnly })
  database.exec(`pragma busy_timeout = ${LOCK_WAIT}; pragma case_sensitive_like = on`)
  return database
}

/** Retries, because `busy_timeout` does not apply to the journal mode when several processes open a file. */
function setJournalMode (database: DatabaseSync): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  for (const end = performance.now() + LOCK_WAIT; ;) {
    try {
      return database.exec('pragma journal_mode = wal')
    } catch (error) {
      if (codeOf(error) !== BUSY || performance.now() > end) throw error
      Atomics.wait(sleeper, 0, 0, PAUSE)
    }
  }
}

// Finds texts of SQLite that are not valid in the encoding of their file. Node replaces invalid bytes of UTF-8 with
// U+FFFD, and SQLite makes a character beyond U+FFFF of an invalid pair of UTF-16. Valid texts can contain these
// characters too, so that only the stored bytes show the difference. The same statement reads them, because no other
// statement could find the rows of any select again.

/** `name`: as of TextDecoder; `isSuspect`: whether a text may stand for an invalid one. */
export interface Encoding { readonly name: string, readonly isSuspect: (text: string) => boolean }

const isPaired = (text: string): boolean => /[\ud800-\udfff\ufffd]/.test(text)
const ENCODINGS = new Map<string, Encoding>([
  ['UTF-8', { name: 'utf-8', isSuspect: (text) => text.includes('\ufffd') }],
  ['UTF-16le', { name: 'utf-16le', isSuspect: isPaired }],
  ['UTF-16be', { name: 'utf-16be', isSuspect: isPaired }]
])

export function encodingOf (database: DatabaseSync): Encoding {
  const { encoding } = database.prepare('pragma encoding').get() as { encoding: string }
  return ENCODINGS.get(encoding) as Encoding
}

/** A select, whose columns have names that the service has given them. */
interface Select { readonly sql: string, readonly parameters: readonly SQLInputValue[] }

/** Checks the texts in the rows of a select that is running. */
export class TextCheck {
  readonly #database: DatabaseSync
  readonly #encoding: Encoding
  readonly #select: Select
  /** The bytes of the rows, read in the snapshot of the select from the first suspect row on. */
  #bytes: Iterator<object> | undefined
  /** The rows of the select, and those whose bytes have been read. */
  #count = 0
  #read = 0

  constructor (database: DatabaseSync, encoding: Encoding, select: Select) {
    this.#database = database
    this.#encoding = encoding
    this.#select = select
  }

  check (row: object): Row {
    const values = Object.values(row) as Row
    this.#count++
    const isSuspect = (value: Row[number]): boolean => typeof value === 'string' && this.#encoding.isSuspect(value)
    if (!values.some(isSuspect)) return values
    const bytes = this.#bytesOf(row)
    return values.map((value, index) =>
      isSuspect(value) && !this.#isValid(bytes[index] as Uint8Array) ? NOT_TEXT : value
    )
  }

  #bytesOf (row: object): unknown[] {
    this.#bytes ??= this.#readBytes(Object.keys(row))
    for (;;) {
      const { value } = this.#bytes.next()
      if (++this.#read === this.#count) return Object.values(value as object)
    }
  }

  #readBytes (names: readonly string[]): Iterator<object> {
    const { sql, parameters } = this.#select
    const columns = names.map((name) => `cast(${name} as blob) as ${name}`)
    return this.#database.prepare(`select ${columns.join()} from (${sql})`).iterate(...parameters)
  }

  #isValid (bytes: Uint8Array): boolean {
    try {
      new TextDecoder(this.#encoding.name, { fatal: true }).decode(bytes)
      return true
    } catch {
      return false
    }
  }

  end (): void {
    this.#bytes?.return?.()
  }
}
