import { accessSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

/** How long a statement waits for another process's lock, in milliseconds. */
const LOCK_WAIT = 5000
/** The pause between two attempts to set the journal mode, in milliseconds. */
const PAUSE = 10

/** Result codes of SQLite (https://www.sqlite.org/rescode.html). */
const BUSY = 5
const READ_ONLY = 8
const CANNOT_OPEN = { errcode: 14, errstr: 'unable to open database file' }

const codeOf = (error: unknown): number => (error as { errcode?: number }).errcode ?? 0

export interface OpenFile {
  readonly database: DatabaseSync
  /** Whether the file, or the folder in which SQLite must create others, may not be written. */
  readonly isReadOnly: boolean
}

/** Opens a file, which must exist, because SQLite would create an empty file for a wrong name. @throws SqliteError */
export function openFile (path: string): OpenFile {
  if (!existsSync(path)) throw Object.assign(new Error(CANNOT_OPEN.errstr), CANNOT_OPEN)
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

/** Whether the error says that something may not be written. The error of a file that cannot be opened may have other reasons. */
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
 * Opens a file that may not be written. In WAL mode SQLite must create further files to read it, unless the file is declared immutable. This would
 * ignore the content of existing ones, so they must be empty.
 */
function openReadOnly (path: string): DatabaseSync {
  const database = connect(path, true)
  try {
    database.exec('select 1 from sqlite_schema limit 1')
    return database
  } catch (error) {
    database.close()
    if (!isRefused(error, path) || ['-wal', '-journal'].some((suffix) => (statSync(path + suffix, { throwIfNoEntry: false })?.size ?? 0) > 0)) throw error
  }
  return connect(`${pathToFileURL(path).href}?immutable=1`, true)
}

function connect (path: string, readOnly: boolean): DatabaseSync {
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: true, readOnly })
  database.exec(`pragma busy_timeout = ${LOCK_WAIT}; pragma case_sensitive_like = on`)
  return database
}

/** Retries, because SQLite refuses all but one of several processes that open a file for the first time: `busy_timeout` does not apply to the journal mode. */
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
