import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import * as fastify from 'fastify'
import t, { type Test } from 'tap'
import { createServer, type Server } from '../../src/server/server.ts'
import { hashToken } from '../../src/access/tokens.ts'

const TOKEN = 'a-token-of-this-test'

function createFile (t: Test, sql: string): { url: string, database: DatabaseSync } {
  const path = join(t.testdir(), 'shop.db')
  const database = new DatabaseSync(path)
  database.exec(sql)
  t.teardown(() => { database.close() })
  return { url: `sqlite:${path}`, database }
}

async function start (t: Test, url: string, prefix = '/api', options = {}, create = createServer): Promise<Server & { log: string[] }> {
  const log: string[] = []
  const server = await create({
    options: { databases: { shop: { url } }, tokens: [{ name: 'me', sha256: hashToken(TOKEN), permissions: ['select'] }], ...options },
    prefix,
    logLevel: 'info',
    logStream: { write: (line) => { log.push(line) } }
  })
  t.teardown(() => server.app.close())
  return { ...server, log }
}

async function select ({ app }: Server, url: string) {
  const response = await app.inject({ method: 'POST', url, headers: { authorization: `Bearer ${TOKEN}` }, payload: { verb: 'select' } })
  return { status: response.statusCode, json: response.json() }
}

t.test('refresh() reads the catalog again', async (t) => {
  const { url, database } = createFile(t, 'create table people (id integer primary key)')
  const server = await start(t, url)
  t.match(await select(server, '/api/shop/rooms'), { status: 404, json: { error: { code: 'TABLE_NOT_FOUND' } } })
  database.exec('create table rooms (id integer primary key)')
  await server.rows.refresh()
  t.match(await select(server, '/api/shop/rooms'), { status: 200, json: { data: { count: 0 } } })
})

t.test('a request outside the prefix is logged too, if requests are logged', async (t) => {
  const { url } = createFile(t, 'create table people (id integer primary key)')
  const server = await start(t, url, '/api', { requestLog: true })
  for (const path of ['/other?secret', '/api/%zz', '/health/live', '/health/ready']) await server.app.inject({ url: path, headers: { 'x-request-id': path } })
  t.match(server.log.map((line) => JSON.parse(line)), [
    { msg: 'request', requestId: '/other?secret', status: 404, code: 'NOT_FOUND' },
    { msg: 'request', requestId: '/api/%zz', status: 401, code: 'UNAUTHENTICATED' }
  ])
  t.equal(server.log.length, 2, 'and nobody is told of every probe')
})

t.test("Fastify's own lines about a request carry its id, as ours do", async (t) => {
  const { url } = createFile(t, 'create table people (id integer primary key)')
  const { app, log } = await start(t, url)
  app.get('/twice', (_request, reply) => { reply.send('once').send('twice') }) // Fastify warns of it
  app.get('/bug', async () => { throw new Error('a bug') })
  for (const path of ['/twice', '/bug']) await app.inject({ url: path, headers: { 'x-request-id': `id of ${path}` } })
  t.match(log.map((line) => JSON.parse(line)), [{ level: 40, reqId: 'id of /twice', err: { code: 'FST_ERR_REP_ALREADY_SENT' } }, { level: 50, reqId: 'id of /bug', requestId: 'id of /bug', msg: 'unexpected error' }])
})

t.test('an empty prefix puts the databases at the root, with the same answer to every other path', async (t) => {
  const { url } = createFile(t, 'create table people (id integer primary key)')
  const server = await start(t, url, '')
  t.match(await select(server, '/shop/people'), { status: 200 })
  for (const path of ['/', '/shop/people/1']) t.match(await select(server, path), { status: 404, json: { error: { code: 'NOT_FOUND' } } })
})

t.test('before Fastify 5.10, which has no LogController, Fastify does not log requests either', async (t) => {
  const { url } = createFile(t, 'create table people (id integer primary key)')
  const { LogController, ...older } = fastify
  t.ok(LogController)
  const module = await t.mockImport<{ createServer: typeof createServer }>('../../src/server/server.ts', { fastify: older })
  const server = await start(t, url, '/api', {}, module.createServer)
  t.match(await select(server, '/api/shop/people'), { status: 200 })
  t.same(server.log, [])
})

t.test('invalid options are refused', async (t) => {
  await t.rejects(createServer({ options: { databases: {} }, prefix: '/api', logLevel: 'silent' }), { code: 'ROW_QUERY_INVALID_CONFIG' })
})
