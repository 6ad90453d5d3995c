import { accessSync, closeSync, constants, existsSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { pathToFileURL } from 'node:url'

/** How long a statement waits for another process's lock, in milliseconds. */
const LOCK_WAIT = 5000
/** Milliseconds between two attempts to set the journal mode. */
const PAUSE = 10

/** Result codes of SQLite (https://www.sqlite.org/rescode.html). */
const BUSY = 5
const READ_ONLY = 8
const CANNOT_OPEN = { errcode: 14, errstr: 'unable to open database file' }

const codeOf = (error: unknown): number => (error as { errcode?: number }).errcode ?? 0

export interface OpenFile {
  readonly database: DatabaseSync
  /** Whether the file, or the folder in which SQLite has to create others, may not be written. */
  readonly isReadOnly: boolean
}

/** Opens a file, which must exist: SQLite would make an empty one of a wrong name. @throws SqliteError */
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

/** Has to be asked before the file is open: closing a file ends all locks that the process has on it. */
function isWritable (path: string): boolean {
  try {
    closeSync(openSync(path, 'r+'))
    return true
  } catch {
    return false
  }
}

/** Whether the error says that something may not be written. The one of a file that cannot be opened may have other reasons. */
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
 * A file in WAL mode cannot be read where SQLite may not create the files that belong to it, unless it is declared to be immutable. That would
 * ignore what such files contain, so they must be empty.
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

/** Where several processes open a file for the first time, SQLite refuses all but one at once: `busy_timeout` does not hold for the journal mode. */
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
