/** The embedded default, by `node:sqlite`: one file, one connection, statements one after the other. */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { Column } from '../../catalog/catalog.ts'
import { resultTooLarge, ServiceError } from '../../errors.ts'
import { RowWriter } from '../../response/row-writer.ts'
import type { Dialect, Result } from '../dialect.ts'
import { toReadError, toServiceError } from './errors.ts'
import { findFileRisks } from './file-risks.ts'
import { introspectSqlite } from './introspect.ts'

/** How long a statement waits for another process's lock, in milliseconds. */
const LOCK_WAIT = 5000

/** Statements kept prepared. */
const MAX_PREPARED = 100

export interface SqliteSettings {
  readonly path: string
  /** Bytes that one answer may have. */
  readonly resultLimit: number
}

/** Opens the file; it must exist. `node:sqlite` is loaded here, so that programs without SQLite never load it. */
export async function openSqlite ({ path, resultLimit }: SqliteSettings): Promise<Dialect> {
  const { DatabaseSync } = await import('node:sqlite')
  const database = new DatabaseSync(path, { enableForeignKeyConstraints: true })
  database.exec(`pragma busy_timeout = ${LOCK_WAIT}; pragma journal_mode = wal; pragma case_sensitive_like = on`)
  const prepared: Prepared = new Map()
  return {
    engine: 'sqlite',
    introspect: async () => {
      try {
        return introspectSqlite(database)
      } catch (error) {
        throw toReadError(error as Error)
      }
    },
    execute: async (query, plan) => {
      try {
        const statement = prepare(database, prepared, query.sql)
        const parameters = query.parameters as SQLInputValue[]
        return plan.verb === 'select' ? select(statement, parameters, plan.columns, resultLimit) : change(statement, parameters)
      } catch (error) {
        throw error instanceof ServiceError ? error : toServiceError(error as Error, plan)
      }
    },
    privileges: async () => ['reads and writes the file'],
    findRisks: async () => findFileRisks(path),
    close: async () => database.close()
  }
}

type Prepared = Map<string, StatementSync>

/** A statement prepared before, or prepared now; the one that was not used for longest is given up first. */
function prepare (database: DatabaseSync, prepared: Prepared, sql: string): StatementSync {
  const statement = prepared.get(sql) ?? database.prepare(sql)
  statement.setReadBigInts(true)
  prepared.delete(sql)
  prepared.set(sql, statement)
  if (prepared.size > MAX_PREPARED) prepared.delete(prepared.keys().next().value as string)
  return statement
}

function select (statement: StatementSync, parameters: SQLInputValue[], columns: readonly Column[], resultLimit: number): Result {
  const writer = new RowWriter(columns, resultLimit)
  for (const row of statement.iterate(...parameters)) {
    // As objects: Node 22.13 cannot return arrays yet. The names are the query's own (v0, v1, …), so their order is kept.
    writer.row(Object.values(row))
    if (writer.isTooLarge) throw resultTooLarge(resultLimit)
  }
  return { answer: writer.finish(), returned: writer.count, changed: 0, insertId: undefined }
}

function change (statement: StatementSync, parameters: SQLInputValue[]): Result {
  const { changes, lastInsertRowid } = statement.run(...parameters)
  return { answer: undefined, changed: Number(changes), insertId: String(lastInsertRowid) }
}
