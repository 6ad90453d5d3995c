import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import { createRandom } from './random.ts'
import { createRows } from './rows.ts'
import { SCHEMA } from './schema.ts'

/** Any number would do; it stays the same so that documentation and tests can name rows. */
const SEED = 20230301

type Row = Record<string, SQLInputValue>

/** The rows' own keys are the columns: a column left out of a row is left to the database. */
function insert (database: DatabaseSync, table: string, rows: readonly Row[]): void {
  const columns = Object.keys(rows[0] as Row)
  const values = columns.map((column) => `:${column}`)
  const statement = database.prepare(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${values.join(', ')})`)
  for (const row of rows) statement.run(row)
}

/**
 * Builds the whole shop in `file`. The journal stays in memory: the file is thrown away when anything
 * fails, so nothing is ever rolled back, and no second file can be left behind.
 */
function build (file: string): void {
  const database = new DatabaseSync(file)
  try {
    database.exec(`PRAGMA journal_mode = MEMORY; BEGIN; ${SCHEMA}`)
    for (const [table, rows] of Object.entries(createRows(createRandom(SEED)))) insert(database, table, rows)
    database.exec('COMMIT')
  } finally {
    database.close()
  }
}

/** What SQLite kept beside a file that somebody deleted to start afresh: it would be replayed into the new one. */
function removeJournals (path: string): void {
  for (const ending of ['-journal', '-wal', '-shm']) rmSync(path + ending, { force: true })
}

/**
 * Creates the demo database at `path`, with its folder, unless the file is there: a changed row stays changed.
 *
 * The file appears under its name only when it is complete. The name it is built under carries the
 * process id, so that two first starts at once do not write into the same file.
 */
export function createShop (path: string): void {
  if (existsSync(path)) return
  mkdirSync(dirname(path), { recursive: true })
  removeJournals(path)
  const unfinished = `${path}.${process.pid}.tmp`
  rmSync(unfinished, { force: true })
  try {
    build(unfinished)
    renameSync(unfinished, path)
  } finally {
    rmSync(unfinished, { force: true })
  }
}
