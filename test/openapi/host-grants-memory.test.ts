// night: many grants and tables
/** A host app whose function returns ever new grants: what is derived from them is bounded. The service runs in a process with a small heap. */
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'

const HEAP_MB = 256
const REQUESTS = 1000
const DOCUMENTS = 400

/** 20 tables of 200 columns. Each grant sees at least 100 columns of each of them. */
const PROGRAM = `
import Fastify from 'fastify'
import { rowQuery } from './src/index.ts'
const names = Array.from({ length: 200 }, (_, index) => 'column_' + index)
const tables = Array.from({ length: 20 }, (_, index) => 'wide' + index)
const setup = tables.map((table) => 'create table ' + table + ' (id integer primary key, ' + names.map((name) => name + ' text null').join(', ') + ')')
const authenticate = ({ headers }) => {
  const number = Number(headers['x-number'])
  const columns = { select: ['id', ...names.filter((_, index) => index < 100 || ((number >> (index % 20)) & 1) === 1)] }
  const granted = headers['x-tables'] === 'all' ? tables : tables.slice(0, 1)
  return { name: 'grant ' + number, permissions: ['select', 'insert', 'update', 'delete'], databases: { shop: Object.fromEntries(granted.map((table) => [table, { columns }])) } }
}
const app = Fastify()
await app.register(rowQuery, { prefix: '/api', databases: { shop: { url: 'sqlite::memory:', setup } }, authenticate })
const counts = {}
const ask = async (options) => {
  const { statusCode, headers } = await app.inject(options)
  const answer = statusCode === 503 ? '503 after ' + headers['retry-after'] : statusCode
  counts[answer] = (counts[answer] ?? 0) + 1
}
const select = (number) => ask({ method: 'POST', url: '/api/shop/wide0', headers: { 'x-number': number, 'content-type': 'application/json' }, payload: { verb: 'select' } })
for (let number = 0; number < ${REQUESTS}; number += 20) await Promise.all(Array.from({ length: 20 }, (_, index) => select(number + index)))
await Promise.all(Array.from({ length: ${DOCUMENTS} }, (_, number) => ask({ url: '/api/shop/openapi.json', headers: { 'x-number': number, 'x-tables': 'all' } })))
await select(7)
console.log(JSON.stringify(counts))
await app.close()
`

t.test('400 documents for different grants, and selects of a thousand, once used up a heap of 256 MB', async (t) => {
  const { NODE_OPTIONS, ...env } = process.env
  const cwd = fileURLToPath(new URL('../..', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, [`--max-old-space-size=${HEAP_MB}`, '--no-warnings', '--input-type=module', '-e', PROGRAM], { cwd, env })
  const { 200: served, '503 after 1': refused, ...others } = JSON.parse(stdout) as Record<string, number>
  t.same(others, {})
  t.equal((served ?? 0) + (refused ?? 0), REQUESTS + DOCUMENTS + 1, 'every request is answered')
  t.ok((served ?? 0) >= REQUESTS + 100, `${served}`)
})
