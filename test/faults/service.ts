/** The program in a process of its own, on servers that a test may end. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import type { Test } from 'tap'
import type { RowQueryOptions } from '../../schemas/options.ts'
import { startOwnServer, type OwnServer } from '../servers/own.ts'
import type { Kind } from '../servers/program.ts'
import { allConnections, type Connection } from '../support/connections.ts'
import { serveRowQuery, type Running } from '../support/row-query.ts'
import { TOKEN, type Answer } from '../support/service.ts'
import { until } from '../support/until.ts'

/**
 * How long a request may take in the end, in milliseconds, on a machine that does much else: never hang is what is
 * meant.
 */
export const BOUND = 30_000

/**
 * How soon a request is answered once its database is there again, in milliseconds. A second is promised, and a tenth
 * of it is what it takes where the machine does nothing else; the rest is for one that does.
 */
export const SOON = 5000

/** The servers to test with: `npm run test:faults` has found them and says so in TEST_FAULTS. */
export const kinds = JSON.parse(process.env['TEST_FAULTS'] ?? '["mariadb", "mysql"]') as Kind[]

/**
 * What V8 may keep of objects that have grown old, in megabytes. On a machine with much memory it would not look for
 * what is not used any more within the time of a test; with this, a leak ends the program, and `MEMORY` is what there
 * is besides, of which Node needs most.
 */
const OLD_OBJECTS = 128
export const MEMORY = 350

export interface Program extends Running {
  /** POST /api/shop/{table} */
  ask (table: string, body: unknown): Promise<Answer>
  /** POST /api/shop */
  operate (operations: readonly object[]): Promise<Answer>
  /** Whether it runs still: it must not have ended by itself. */
  lives (): boolean
  /** Memory that it holds, in megabytes. */
  memory (): number
}

/** Starts `row-query serve` with one database. */
export async function serve (t: Test, database: RowQueryOptions['databases'][string]): Promise<Program> {
  const cwd = mkdtempSync(join(tmpdir(), 'row-query-'))
  t.teardown(() => rmSync(cwd, { recursive: true }))
  writeFileSync(join(cwd, 'row-query.json'), JSON.stringify({ databases: { shop: database } }))
  const running = await serveRowQuery(t, {
    cwd,
    args: ['--config', 'row-query.json'],
    env: {
      API_TOKEN: TOKEN, NODE_OPTIONS: `--max-old-space-size=${OLD_OBJECTS}`
    }
  })
  return {
    ...running,
    ask: (table, body) => running.post(`/api/shop/${table}`, body, TOKEN),
    operate: (operations) => running.post('/api/shop', { operations }, TOKEN),
    lives: () => running.child.exitCode === null && running.child.signalCode === null,
    memory: () =>
      Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${running.child.pid}/status`, 'utf8'))?.[1]) / 1024
  }
}

export type Sql = (statement: string, values?: unknown[]) => Promise<any[]>

export interface Shop {
  readonly server: OwnServer
  /** As `root`, past the service. */
  readonly sql: Sql
  /** The database `shop` with the service's account. */
  readonly url: string
}

/**
 * A server of the test's own with a database `shop`, an account for the service that may do nothing special, and
 * tables.
 */
export async function ownShop (t: Test, kind: Kind, tables: string[], options: string[] = []): Promise<Shop> {
  const server = await startOwnServer(kind, options)
  t.teardown(server.remove)
  await shopOn(server.url, tables)
  return {
    server,
    sql: sqlOn(server.url),
    url: Object.assign(new URL(server.url), {
      username: 'app', password: 'app-password', pathname: '/shop'
    }).href
  }
}

export async function shopOn (url: string, tables: string[]): Promise<void> {
  const sql = sqlOn(url, '')
  await sql('create database if not exists shop')
  await sql("create user if not exists app@'%' identified by 'app-password'")
  await sql("grant select, insert, update, delete on shop.* to app@'%'")
  for (const table of tables) await sqlOn(url)(table)
}

/**
 * Statements as `root`, each on a connection of its own: none of them is lost with the server. `first` is sent before
 * each.
 */
export function sqlOn (url: string, database = 'shop', first = 'do 1'): Sql {
  return async (statement, values = []) => {
    const connection = await createConnection({ uri: Object.assign(new URL(url), { pathname: `/${database}` }).href })
    connection.on('error', () => {})
    try {
      await connection.query(first)
      return (await connection.query(statement, values))[0] as any[]
    } finally {
      connection.destroy()
    }
  }
}

/** Returns the connections of the service, which are the only ones of the user `app`. */
export async function connectionsOfService (sql: Sql): Promise<Connection[]> {
  return (await allConnections(sql)).filter(({ user }) => user === 'app')
}

/** Ends every connection of the service. */
export async function killAll (sql: Sql): Promise<void> {
  const ids = (await connectionsOfService(sql)).map(({ id }) => id)
  // one that has gone by itself cannot be killed
  for (const id of ids) await sql(`kill ${id}`).catch(() => {})
  await until('they are gone', async () => (await connectionsOfService(sql)).every(({ id }) => !ids.includes(id)))
}
