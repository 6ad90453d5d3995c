/** Starts the service as in production, on a new database of each engine, for tests over HTTP. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { InjectOptions } from 'fastify'
import type { Test } from 'tap'
import type { RowQueryOptions, TokenOptions } from '../../schemas/options.ts'
import { VERBS } from '../../schemas/grants.ts'
import { createServer, type Server, type CreateServerOptions } from '../../src/server/server.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { createTestDatabase, engines, enginesAndSqlite } from '../servers/engines.ts'
import { dataFolder, temporaryFolder } from '../servers/folders.ts'
import { createEngineProxy, type EngineProxy } from './engine-proxy.ts'
import { ENGINES } from './engine-rules.ts'
import { createProxy, recordSqlite, type Proxy } from './recorder.ts'
import { enginesOf } from './rotation.ts'

export type EngineName = 'sqlite' | 'mariadb' | 'mysql'

/** SQL for every engine: one list for SQLite, one for MySQL and MariaDB; or a list for each by name. */
export type Schema = { sqlite: string[], mysql: string[] } | ((engine: EngineName) => string[])

function statementsFor (schema: Schema, engine: EngineName): string[] {
  if (typeof schema === 'function') return schema(engine)
  return engine === 'sqlite' ? schema.sqlite : schema.mysql
}

/** `json` is null if the answer is none, such as a stream. */
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
  /** POST /api/requests/{path}, or GET without parameters; the path may have a query string. */
  call (path: string, parameters?: unknown, options?: PostOptions): Promise<Answer>
  /**
   * Returns the statements that the service sent since the last call, without catalog queries and session settings, and
   * without ROLLBACK, because that of a snapshot comes with the next request or later. `proxy.statements` has all of
   * them.
   */
  statements (): string[]
  /** The proxy between the service and its MySQL server; undefined for SQLite. */
  readonly proxy: Proxy | undefined
  readonly log: string[]
}

export interface PostOptions {
  token?: string | null,
  database?: string,
  headers?: Record<string, string>,
  method?: NonNullable<InjectOptions['method']>
}

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

export interface SharedOptions extends ServiceOptions {
  /**
   * The rows are not put back before a test, because each has tables of its own: necessary for tables with triggers.
   */
  keepsRows?: boolean
}

type Run = (t: Test, service: Service) => Promise<void>

/** Runs a test on every engine that it takes, each with its own database and service. */
export async function onEachEngine (t: Test, name: string, options: ServiceOptions, run: Run): Promise<void> {
  for (const engine of enginesOf(name, await enginesAndSqlite(options.only))) {
    await t.test(
      `${name} (${nameOf(engine)})`, async (t) => { await run(t as Test, await start(t as Test, engine, options)) }
    )
  }
}

/**
 * Returns a function that runs a test on every engine that it takes. The tests of a file share one database and one
 * service for each engine, which take longer to start than most tests. Each test begins with the rows that the schema
 * inserts; it must leave the tables, views and the server as they are, or use `onEachEngine`. The third argument of the
 * function: the engines of the test.
 */
export function sharedOnEachEngine (
  file: Test, options: SharedOptions
): (name: string, run: Run, only?: readonly EngineName[]) => Promise<void> {
  const started = new Map<string, Promise<Started>>()
  return async (name, run, only = options.only) => {
    for (const engine of enginesOf(name, await enginesAndSqlite(only))) {
      await file.test(`${name} (${nameOf(engine)})`, async (t) => {
        const first = started.get(nameOf(engine))
        const starting = first ?? start(file, engine, options)
        started.set(nameOf(engine), starting)
        const { restore, ...service } = await starting
        if (first !== undefined) await restore(options.keepsRows === true)
        await run(t as Test, service)
      })
    }
  }
}

type Started = Service & {
  /**
   * Empties the log. Empties the tables and inserts the rows of the schema again, if anything was written, unless the
   * rows are kept.
   */
  restore (keepsRows: boolean): Promise<void>
}

type TestEngine = Awaited<ReturnType<typeof enginesAndSqlite>>[number]

const nameOf = (engine: TestEngine): EngineName => typeof engine === 'string' ? engine : engine.name as EngineName

const start = (t: Test, engine: TestEngine, options: ServiceOptions): Promise<Started> =>
  typeof engine === 'string' ? startSqlite(t, options) : startMysql(t, engine, options)

/** Statements that leave the rows as they are; all others count as writes. */
const READS = /^\s*(?:select|do|show|set|start|begin|commit|rollback|savepoint|release|kill|explain|pragma|values)\b/i

/** Watches the statements of a service and of its test for writes, and calls `fill` only after one. */
function createRestorer ({ sent, log, schema, fill }: {
  sent: string[], log: string[], schema: readonly string[], fill: (inserts: string[]) => Promise<void>
}) {
  const inserts = schema.filter((statement) => /^\s*insert\b/i.test(statement))
  let isWritten = false
  const watch = (statements: readonly string[]): void => {
    isWritten ||= statements.some((statement) => !READS.test(statement))
  }
  return {
    watch,
    async restore (keepsRows: boolean): Promise<void> {
      watch(sent.splice(0))
      log.splice(0)
      if (keepsRows) return
      if (isWritten && schema.some((statement) => /create\s+trigger/i.test(statement))) {
        throw new Error('inserting the rows again would fire the triggers: use onEachEngine')
      }
      if (isWritten) await fill(inserts)
      isWritten = false
    }
  }
}

async function startSqlite (t: Test, options: ServiceOptions): Promise<Started> {
  const folder = temporaryFolder(join(dataFolder(), 'row-query'))
  const path = join(folder.path, 'test.db')
  // other programs may edit the schema
  const direct = new DatabaseSync(path, { timeout: 10_000, defensive: false })
  direct.exec('pragma synchronous = off') // no test pulls the plug
  const schema = statementsFor(options.schema, 'sqlite')
  for (const statement of schema) direct.exec(statement)
  const recorder = recordSqlite()
  const service = await startService(t, `sqlite:${path}`, options)
  t.teardown(() => {
    recorder.stop()
    direct.close()
    folder.remove()
  })
  const fill = async (inserts: string[]): Promise<void> => {
    const tables = direct.prepare("select name from sqlite_schema where type = 'table'").all().map(
      ({ name }) => String(name)
    )
    direct.exec('pragma foreign_keys = off')
    for (const name of tables) direct.exec(`delete from "${name.replaceAll('"', '""')}"`)
    direct.exec('pragma foreign_keys = on')
    for (const statement of inserts) direct.exec(statement)
  }
  const { watch, restore } = createRestorer({ sent: recorder.statements, log: service.log, schema, fill })
  const sql = async (statement: string, values: unknown[] = []): Promise<any[]> => {
    watch([statement])
    return direct.prepare(statement).all(...values as [])
  }
  return {
    ...service, engine: 'sqlite', sql, statements: () => own(recorder.statements, watch), proxy: undefined, restore
  }
}

/** An engine between the service and the server, if the environment names one (test/engines-night.test.ts). */
async function imitate (url: string, kind: string): Promise<Pick<EngineProxy, 'url' | 'close'>> {
  const rules = ENGINES[process.env['TEST_BEHIND'] ?? '']
  return rules === undefined
    ? { url, close: async () => {} }
    : await createEngineProxy(url, rules, { isMariadb: kind === 'mariadb' })
}

async function startMysql (
  t: Test, engine: Awaited<ReturnType<typeof engines>>[number], options: ServiceOptions
): Promise<Started> {
  const schema = statementsFor(options.schema, engine.name as EngineName)
  const database = await createTestDatabase(engine, schema)
  const behind = await imitate(database.url, engine.name)
  const proxy = await createProxy(behind.url)
  t.teardown(async () => {
    await proxy.close()
    await behind.close()
    await database.drop()
  })
  const service = await startService(t, proxy.url, options)
  const fill = async (inserts: string[]): Promise<void> => {
    const tables = (await database.query("show full tables where Table_type = 'BASE TABLE'")).map(
      (row) => String(Object.values(row)[0])
    )
    await database.query('set foreign_key_checks = 0')
    for (const name of tables) await database.query(`truncate table \`${name.replaceAll('`', '``')}\``)
    await database.query('set foreign_key_checks = 1')
    for (const statement of inserts) await database.query(statement)
  }
  const { watch, restore } = createRestorer({ sent: proxy.statements, log: service.log, schema, fill })
  const sql = async (statement: string, values?: unknown[]): Promise<any[]> => {
    watch([statement])
    return await database.query(statement, values)
  }
  return {
    ...service, engine: engine.name as EngineName, sql, statements: () => own(proxy.statements, watch), proxy, restore
  }
}

const OF_THE_SERVICE = new RegExp([
  'information_schema|^show (?:index|session variables)|sqlite_schema|pragma|^set session|@@hostname|select version',
  '/\\* trial \\*/|limit 0$|^explain |^rollback$'
].join('|'), 'i')

/** Takes the recorded statements, without those that the service sends for itself. */
function own (sent: string[], watch: (statements: readonly string[]) => void): string[] {
  const statements = sent.splice(0)
  watch(statements)
  return statements.filter((sql) => !OF_THE_SERVICE.test(sql))
}

/** Starts the service on an existing or missing database. */
export async function startService (
  t: Test, url: string,
  { options, database, tokens = [], server: settings }: Omit<ServiceOptions, 'schema' | 'only'> = {}
) {
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
  const send = async (
    path: string, body: unknown, { token = TOKEN, headers = {}, method = 'POST' }: PostOptions
  ): Promise<Answer> => {
    const response = await server.app.inject({
      method,
      url: `/api/${path}`,
      headers: {
        ...(token !== null && { authorization: `Bearer ${token}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers
      },
      ...(body !== undefined &&
        { payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body) })
    })
    const isJson = String(response.headers['content-type']).startsWith('application/json') && response.body !== ''
    return {
      status: response.statusCode,
      headers: response.headers,
      text: response.body,
      json: isJson ? JSON.parse(response.body) : null
    }
  }
  const post = (table: string, body: unknown, options: PostOptions = {}): Promise<Answer> =>
    send([options.database ?? 'shop', table].map(encodeURIComponent).join('/'), body, options)
  const operate = (body: unknown, options: PostOptions = {}): Promise<Answer> =>
    send(encodeURIComponent(options.database ?? 'shop'), Array.isArray(body) ? { operations: body } : body, options)
  const call = (path: string, parameters?: unknown, options: PostOptions = {}): Promise<Answer> =>
    send(`requests/${path}`, parameters, { method: parameters === undefined ? 'GET' : 'POST', ...options })
  return { url, server, post, operate, call, log }
}
