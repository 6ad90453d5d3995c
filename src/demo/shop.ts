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
 *
 * The file gets its name when it is complete. Its temporary name has the process id, so that two processes that start
 * at the same time do not write into the same file.
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
