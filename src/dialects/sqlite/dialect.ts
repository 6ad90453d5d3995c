/** The embedded default, by `node:sqlite`: one file, one connection, statements one after the other. */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite'
import type { Plan } from '../../plan/plan.ts'
import type { Query } from '../../query/builder.ts'
import type { DriverValue } from '../../types/column-type.ts'
import type { Dialect, Result } from '../dialect.ts'
import { toServiceError } from './errors.ts'
import { introspectSqlite } from './introspect.ts'

/** How long a statement waits for another process's lock, in milliseconds. */
const LOCK_WAIT = 5000

/** Opens the file; it must exist. `node:sqlite` is loaded here, so that programs without SQLite never load it. */
export async function openSqlite (path: string): Promise<Dialect> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: true })
  database.exec(`pragma busy_timeout = ${LOCK_WAIT}; pragma journal_mode = wal; pragma case_sensitive_like = on`)
  return {
    engine: 'sqlite',
    introspect: async () => introspectSqlite(database),
    execute: async (query, plan) => {
      try {
        return run(database, query, plan)
      } catch (error) {
        throw toServiceError(error as Error, plan)
      }
    },
    privileges: async () => ['reads and writes the file'],
    close: async () => database.close()
  }
}

function run (database: DatabaseSync, { sql, parameters }: Query, { verb }: Plan): Result {
  const statement = database.prepare(sql)
  statement.setReadBigInts(true)
  if (verb === 'select') {
    // As objects: Node 22.13 cannot return arrays yet. The names are the query's own (v0, v1, …), so their order is kept.
    const rows = statement.all(...parameters as SQLInputValue[]).map((row) => Object.values(row) as Array<DriverValue | null>)
    return { rows, changed: 0, insertId: undefined }
  }
  const { changes, lastInsertRowid } = statement.run(...parameters as SQLInputValue[])
  return { rows: [], changed: Number(changes), insertId: String(lastInsertRowid) }
}
