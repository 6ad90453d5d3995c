/** Dialects with the schema of a test, for tests of what a dialect does with statements. */
import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Body } from '../../schemas/body.ts'
import { createCatalog, type Table } from '../../src/catalog/catalog.ts'
import type { Dialect, RowSink } from '../../src/dialects/dialect.ts'
import { createMysqlDialect, type MysqlSettings } from '../../src/dialects/mysql/dialect.ts'
import { openSqlite } from '../../src/dialects/sqlite/dialect.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { createPlan } from '../../src/verbs/index.ts'
import type { Statement } from '../../src/sql/statement.ts'
import { ResponseSink } from '../../src/response/response-sink.ts'
import { createTestDatabase, enginesAndSqlite } from '../servers/engines.ts'
import { addressOf } from './mysql.ts'
import { createProxy, type Proxy } from './recorder.ts'
import type { EngineName, Schema } from './service.ts'
import { compilePlan, LIMITS } from './sql.ts'

export interface DialectTest {
  readonly engine: EngineName
  readonly dialect: Dialect
  /** Undefined for SQLite. */
  readonly proxy: Proxy | undefined
  sql (statement: string, values?: unknown[]): Promise<any[]>
  statement (table: string, body: object): Statement
  /** A sink for the rows of a select of all columns. */
  sink (table: string): ResponseSink
}

export interface DialectOptions {
  readonly schema: Extract<Schema, { sqlite: string[] }>
  readonly only?: readonly EngineName[]
  readonly settings?: Partial<Omit<MysqlSettings, 'address'>>
}

export async function onEachDialect (
  t: Test, name: string, { schema, only, settings }: DialectOptions,
  run: (t: Test, dialect: DialectTest) => Promise<void>
): Promise<void> {
  const limits = { pool: { size: 2, queue: 10, wait: 5000 }, statementTimeout: 5000, ...settings }
  for (const engine of await enginesAndSqlite(only)) {
    const engineName = (typeof engine === 'string' ? engine : engine.name) as EngineName
    await t.test(`${name} (${engineName})`, async (t) => {
      if (typeof engine === 'string') {
        const path = join(t.testdir(), 'test.db')
        const direct = new DatabaseSync(path)
        direct.exec('pragma synchronous = off')
        for (const statement of schema.sqlite) direct.exec(statement)
        const dialect = await openSqlite({ path, ...limits })
        t.teardown(async () => {
          await dialect.close()
          direct.close()
        })
        return await run(t as Test, {
          ...await compilers(dialect),
          engine: 'sqlite',
          dialect,
          proxy: undefined,
          sql: async (statement, values = []) => direct.prepare(statement).all(...values as [])
        })
      }
      const database = await createTestDatabase(engine, schema.mysql)
      const proxy = await createProxy(database.url)
      const dialect = createMysqlDialect({ address: addressOf(proxy.url), ...limits })
      t.teardown(async () => {
        await dialect.close()
        await proxy.close()
        await database.drop()
      })
      await run(t as Test, { ...await compilers(dialect), engine: engineName, dialect, proxy, sql: database.query })
    })
  }
}

async function compilers (dialect: Dialect): Promise<Pick<DialectTest, 'statement' | 'sink'>> {
  const { tables } = createCatalog(await dialect.introspect(), 0)
  return {
    statement: (table, body) =>
      compilePlan(createPlan(body as Body, alone(tables.get(table) as Table), LIMITS), dialect.engine),
    sink: (table) => new ResponseSink((tables.get(table) as Table).columnList, 2 ** 20)
  }
}

/** The rows in a sink. */
export const rowsIn = (sink: RowSink): any[] => JSON.parse(String((sink as ResponseSink).finish())).data.rows
