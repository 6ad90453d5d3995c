// night: large documents and answers; measures CPU
/**
 * The document of a large database is created quickly and does not block other requests; documents for ever new grants
 * are bounded.
 */
import { execFile } from 'node:child_process'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { get, tokenFor } from '../support/documents.ts'
import { startService, TOKEN } from '../support/service.ts'

const TABLES = 500
/** Of the document, for each table of 21 columns. */
const MAX_BYTES = 39 * 1024
const types = [
  'integer not null', 'varchar(40) not null', "decimal(10,2) not null default '1.50'", 'datetime null',
  'boolean not null default 0', 'json null', 'text null', 'double null', 'date null', 'blob null'
]

function createTables (path: string): void {
  const database = new DatabaseSync(path)
  const columns = Array.from({ length: 20 }, (_, index) => `column_${index} ${types[index % types.length]}`)
  database.exec(
    `begin; ${Array.from({ length: TABLES }, (_, index) => `create table table_${index} (id integer primary key
      autoincrement, ${columns.join(', ')});`).join('')} commit`
  )
  database.close()
}

/**
 * 0.9 on a quiet machine, and up to 2.1 on a busy one, where CPU time grows as well. Work that grows with the square of
 * the tables takes far longer.
 */
const MAX_SECONDS = 4

/** CPU seconds of this process, which depend less on the load of the machine than time does. */
async function secondsOf (run: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await run()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1e6
}

t.test(`a document of ${TABLES} tables is created within seconds of CPU and cached`, async (t) => {
  const path = `${t.testdir()}/large.db`
  createTables(path)
  const { server, post } = await startService(t, `sqlite:${path}`, { tokens: [tokenFor('reader', ['select'])] })
  await get(server, '/openapi.json') // warm-up
  const { app } = server
  const ask = (headers: Record<string, string> = {}, token = TOKEN) => app.inject({
    url: '/api/shop/openapi.json', headers: { authorization: `Bearer ${token}`, ...headers }
  })

  const seconds = await secondsOf(ask)
  t.comment(`${seconds.toFixed(2)} s`)
  t.ok(seconds < MAX_SECONDS, `${seconds} s`)
  const { body, headers: { etag } } = await ask()
  t.equal(Object.keys(JSON.parse(body).paths).length, TABLES + 1)
  t.comment(`${(body.length / TABLES / 1024).toFixed(1)} kB for each table`)
  t.ok(body.length < TABLES * MAX_BYTES, `${body.length} bytes`)
  t.same(JSON.parse(body).components.schemas.Operation.oneOf.length, 4, 'operations of many tables have no types')
  const again = await secondsOf(async () => { t.equal((await ask({ 'if-none-match': String(etag) })).statusCode, 304) })
  t.ok(again < seconds / 4, `${again} s to say that it is known`)

  await t.test('other requests are answered meanwhile', async (t) => {
    const made: number[] = []
    const making = ask({}, 'reader').then(({ statusCode }) => { made.push(statusCode) })
    let answered = -1
    while (made.length === 0) {
      t.match(await post('table_0', { verb: 'select' }), { status: 200 })
      answered++
    }
    await making
    t.same(made, [200])
    t.ok(answered >= 10, `${answered} of them`)
  })
})

// A host app whose function returns ever new grants: what is derived from them is bounded. The service runs in a
// process with a small heap.

const HEAP_MB = 256
const REQUESTS = 1000
const DOCUMENTS = 400

/** 20 tables of 200 columns. Each grant sees at least 100 columns of each of them. */
const PROGRAM = `
import Fastify from 'fastify'
import { rowQuery } from './src/index.ts'
const names = Array.from({ length: 200 }, (_, index) => 'column_' + index)
const tables = Array.from({ length: 20 }, (_, index) => 'wide' + index)
const columns = names.map((name) => name + ' text null').join(', ')
const setup = tables.map((table) => 'create table ' + table + ' (id integer primary key, ' + columns + ')')
const authenticate = ({ headers }) => {
  const number = Number(headers['x-number'])
  const columns = { select: ['id', ...names.filter((_, index) => index < 100 || ((number >> (index % 20)) & 1) === 1)] }
  const granted = headers['x-tables'] === 'all' ? tables : tables.slice(0, 1)
  const shop = Object.fromEntries(granted.map((table) => [table, { columns }]))
  return { name: 'grant ' + number, permissions: ['select', 'insert', 'update', 'delete'], databases: { shop } }
}
const app = Fastify()
await app.register(rowQuery, { prefix: '/api', databases: { shop: { url: 'sqlite::memory:', setup } }, authenticate })
const counts = {}
const ask = async (options) => {
  const { statusCode, headers } = await app.inject(options)
  const answer = statusCode === 503 ? '503 after ' + headers['retry-after'] : statusCode
  counts[answer] = (counts[answer] ?? 0) + 1
}
const select = (number) => {
  const headers = { 'x-number': number, 'content-type': 'application/json' }
  return ask({ method: 'POST', url: '/api/shop/wide0', headers, payload: { verb: 'select' } })
}
for (let number = 0; number < ${REQUESTS}; number += 20) {
  await Promise.all(Array.from({ length: 20 }, (_, index) => select(number + index)))
}
await Promise.all(Array.from({ length: ${DOCUMENTS} }, (_, number) =>
  ask({ url: '/api/shop/openapi.json', headers: { 'x-number': number, 'x-tables': 'all' } })))
await select(7)
console.log(JSON.stringify(counts))
await app.close()
`

t.test('400 documents for different grants, and selects of a thousand, fit into a heap of 256 MB', async (t) => {
  const { NODE_OPTIONS, ...env } = process.env
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const { stdout } = await promisify(execFile)(
    process.execPath, [`--max-old-space-size=${HEAP_MB}`, '--no-warnings', '--input-type=module', '-e', PROGRAM],
    { cwd, env }
  )
  const { 200: served, '503 after 1': refused, ...others } = JSON.parse(stdout) as Record<string, number>
  t.same(others, {})
  t.equal((served ?? 0) + (refused ?? 0), REQUESTS + DOCUMENTS + 1, 'every request is answered')
  t.ok((served ?? 0) >= REQUESTS + 100, `${served}`)
})
