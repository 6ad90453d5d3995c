// night: loads the server again
/** Fastify before 5.10. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import * as fastify from 'fastify'
import t, { type Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { createServer, type Server } from '../../src/server/server.ts'

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

t.test('before Fastify 5.10, which has no LogController, Fastify does not log requests either', async (t) => {
  const { url } = createFile(t, 'create table people (id integer primary key)')
  const { LogController, ...older } = fastify
  t.ok(LogController)
  const module = await t.mockImport<{ createServer: typeof createServer }>('../../src/server/server.ts', { fastify: older })
  const server = await start(t, url, '/api', {}, module.createServer)
  t.match(await select(server, '/api/shop/people'), { status: 200 })
  t.same(server.log, [])
})
