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
  const database = new DatabaseSync(path, { timeout: LOCK_WAIT, enableForeignKeyConstraints: true })
  database.exec('pragma journal_mode = wal; pragma case_sensitive_like = on')
  return {
    engine: 'sqlite',
    introspect: async () => introspectSqlite(database),
    execute: async (query, plan) => {
      try {
        return run(database, query, plan)
      } catch (error) {
        throw toServiceError(error as Error, plan.table)
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
    statement.setReturnArrays(true)
    return { rows: statement.all(...parameters as SQLInputValue[]) as unknown as Array<Array<DriverValue | null>>, changed: 0, insertId: undefined }
  }
  const { changes, lastInsertRowid } = statement.run(...parameters as SQLInputValue[])
  return { rows: [], changed: Number(changes), insertId: String(lastInsertRowid) }
}
