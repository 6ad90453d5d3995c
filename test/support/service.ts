/** Starts the service as in production, on a new database of each engine, for tests over HTTP. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { InjectOptions } from 'fastify'
import type { Test } from 'tap'
import type { RowQueryOptions, TokenOptions } from '../../schemas/options.ts'
import { VERBS } from '../../schemas/grant.ts'
import { createServer, type Server, type CreateServerOptions } from '../../src/server/server.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { createTestDatabase, engines, enginesAndSqlite } from '../servers/engines.ts'
import { COMPILED } from '../servers/folders.ts'
import { createProxy, recordSqlite, type Proxy } from './recorder.ts'

export type EngineName = 'sqlite' | 'mariadb' | 'mysql'

/** SQL for every engine: one list for SQLite, one for MySQL and MariaDB; or a list for each by name. */
export type Schema = { sqlite: string[], mysql: string[] } | ((engine: EngineName) => string[])

function statementsFor (schema: Schema, engine: EngineName): string[] {
  if (typeof schema === 'function') return schema(engine)
  return engine === 'sqlite' ? schema.sqlite : schema.mysql
}

export interface Answer { status: number, headers: Record<string, unknown>, text: string, json: any }

export interface Service {
  readonly engine: EngineName
  /** URL of the database. */
  readonly url: string
  readonly server: Server
  /** Runs a statement directly on the database, without the service. Rows are objects. */
  sql (statement: string, values?: unknown[]): Promise<any[]>
  /** POST /api/{database}/{table}; `body` may be text or bytes to send as they are. */
  post (table: string, body: unknown, options?: PostOptions): Promise<Answer>
  /** POST /api/{database}; `body` may be the list of operations. */
  operate (body: unknown, options?: PostOptions): Promise<Answer>
  /**
   * Returns the statements that the service sent since the last call, without catalog queries and session settings, and without ROLLBACK, because that of a snapshot
   * comes with the next request or later. `proxy.statements` has all of them.
   */
  statements (): string[]
  /** The proxy between the service and its MySQL server; undefined for SQLite. */
  readonly proxy: Proxy | undefined
  readonly log: string[]
}

export interface PostOptions { token?: string | null, database?: string, headers?: Record<string, string>, method?: NonNullable<InjectOptions['method']> }

/** A token with all permissions. */
export const TOKEN = 'test-token-that-may-do-everything-0123456789'

export interface ServiceOptions {
  schema: Schema
  /** Engines of the test; all if omitted. */
  only?: readonly EngineName[]
  /** Merged over the defaults. */
  options?: Partial<RowQueryOptions>
  database?: Partial<RowQueryOptions['databases'][string]>
  tokens?: TokenOptions[]
  /** Settings of the server. */
  server?: Partial<CreateServerOptions>
}

/** Runs a test on every available engine, each with its own database and service. */
export async function onEachEngine (t: Test, name: string, options: ServiceOptions, run: (t: Test, service: Service) => Promise<void>): Promise<void> {
  for (const engine of await enginesAndSqlite(options.only)) {
    const engineName = typeof engine === 'string' ? engine : engine.name
    await t.test(`${name} (${engineName})`, async (t) => {
      const service = typeof engine === 'string' ? await startSqlite(t as Test, options) : await startMysql(t as Test, engine, options)
      await run(t as Test, service)
    })
  }
}

/**
 * For processes that start from now on: without coverage and with Node's compile cache they take half the CPU time. What the processes of SQLite
 * run is measured by test/dialects/sqlite. tap has no option for it.
 */
function startWithoutCoverage (): void {
  if (process.env['TEST_COVERAGE'] !== undefined) Object.assign(process.env, { _TAPJS_PROCESSINFO_COVERAGE_: '0', NODE_COMPILE_CACHE: COMPILED })
}

async function startSqlite (t: Test, options: ServiceOptions): Promise<Service> {
  startWithoutCoverage()
  const folder = mkdtempSync(join(tmpdir(), 'row-query-'))
  const path = join(folder, 'test.db')
  // other programs may edit the schema
  const direct = new DatabaseSync(path, { defensive: false })
  for (const statement of statementsFor(options.schema, 'sqlite')) direct.exec(statement)
  const recorder = recordSqlite()
  const service = await startService(t, `sqlite:${path}`, options)
  t.teardown(() => {
    recorder.stop()
    direct.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const sql = async (statement: string, values: unknown[] = []): Promise<any[]> => direct.prepare(statement).all(...values as [])
  return { ...service, engine: 'sqlite', sql, statements: () => own(recorder.statements), proxy: undefined }
}

async function startMysql (t: Test, engine: Awaited<ReturnType<typeof engines>>[number], options: ServiceOptions): Promise<Service> {
  const database = await createTestDatabase(engine, statementsFor(options.schema, engine.name))
  const proxy = await createProxy(database.url)
  t.teardown(async () => {
    await proxy.close()
    await database.drop()
  })
  const service = await startService(t, proxy.url, options)
  return { ...service, engine: engine.name as EngineName, sql: database.query, statements: () => own(proxy.statements), proxy }
}

/** Takes the recorded statements, without those that the service sends for itself. */
function own (statements: string[]): string[] {
  return statements.splice(0).filter((sql) => !/information_schema|^show index|sqlite_schema|pragma|^set session|@@hostname|select version|\/\* trial \*\/|limit 0$|^rollback$/i.test(sql))
}

/** Starts the service on an existing or missing database. */
export async function startService (t: Test, url: string, { options, database, tokens = [], server: settings }: Omit<ServiceOptions, 'schema' | 'only'> = {}) {
  const log: string[] = []
  const everything: TokenOptions = { name: 'everything', sha256: hashToken(TOKEN), permissions: [...VERBS] }
  const server = await createServer({
    options: { databases: { shop: { url, ...database } }, tokens: [everything, ...tokens], ...options },
    prefix: '/api',
    logLevel: 'info',
    ...settings,
    logStream: { write: (line) => { log.push(line) } }
  })
  await server.app.ready()
  t.teardown(async () => { await server.app.close() })
  const send = async (path: readonly string[], body: unknown, { token = TOKEN, headers = {}, method = 'POST' }: PostOptions): Promise<Answer> => {
    const response = await server.app.inject({
      method,
      url: ['/api', ...path.map(encodeURIComponent)].join('/'),
      headers: { ...(token !== null && { authorization: `Bearer ${token}` }), 'content-type': 'application/json', ...headers },
      payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    })
    return { status: response.statusCode, headers: response.headers, text: response.body, json: JSON.parse(response.body || 'null') }
  }
  const post = (table: string, body: unknown, options: PostOptions = {}): Promise<Answer> => send([options.database ?? 'shop', table], body, options)
  const operate = (body: unknown, options: PostOptions = {}): Promise<Answer> => send([options.database ?? 'shop'], Array.isArray(body) ? { operations: body } : body, options)
  return { url, server, post, operate, log }
}
