/** The embedded demo database: a small shop that `row-query serve` creates if no database is configured. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const SEED = new URL('seed.sql', import.meta.url)

/**
 * Runs the seed in a new file. The journal stays in memory, because a failure removes the file instead of rolling back,
 * and so that no second file can be left behind.
 */
function build (file: string): void {
  const database = new DatabaseSync(file)
  try {
    database.exec(`PRAGMA journal_mode = MEMORY; BEGIN; ${readFileSync(SEED, 'utf8')}`)
    database.exec('COMMIT')
  } finally {
    database.close()
  }
}

/** Removes the journals of a deleted database file, which SQLite would replay into the new file. */
function removeJournals (path: string): void {
  for (const ending of ['-journal', '-wal', '-shm']) rmSync(path + ending, { force: true })
}

/**
 * Creates the demo database at `path`, with its folder, unless the file exists, so that changed rows stay changed.
 * Returns whether it was created.
 *
 * The file gets its name when it is complete. Its temporary name has the process id, so that two processes that start
 * at the same time do not write into the same file.
 */
export function createShop (path: string): boolean {
  if (existsSync(path)) return false
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
  return true
}

/**
 * Replaces everything in the database by the seed, in one transaction, so that a running server sees either. Creates
 * the database if there is none.
 */
export function resetShop (path: string): void {
  if (createShop(path)) return
  const database = new DatabaseSync(path)
  try {
    database.exec('PRAGMA busy_timeout = 5000; PRAGMA foreign_keys = OFF; BEGIN IMMEDIATE')
    const objects = database.prepare(
      "SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY type DESC"
    )
    const quoted = (name: unknown): string => `"${String(name).replaceAll('"', '""')}"`
    for (const { type, name } of objects.all()) {
      if (type !== 'index') database.exec(`DROP ${String(type)} IF EXISTS ${quoted(name)}`)
    }
    database.exec(readFileSync(SEED, 'utf8'))
    database.exec('COMMIT')
  } finally {
    database.close()
  }
}
