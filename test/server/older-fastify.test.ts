// night: loads the server again
/** Fastify before 5.10. */
import * as fastify from 'fastify'
import t from 'tap'
import '@tapjs/mock/import'
import { createServer } from '../../src/server/server.ts'
import { createFile, select, start } from '../support/file-service.ts'

t.test('before Fastify 5.10, which has no LogController, Fastify does not log requests either', async (t) => {
  const { url } = createFile(t, 'create table people (id integer primary key)')
  const { LogController, ...older } = fastify
  t.ok(LogController)
  const module = await t.mockImport<{ createServer: typeof createServer }>('../../src/server/server.ts', {
    fastify: older
  })
  const server = await start(t, url, '/api', {}, module.createServer)
  t.match(await select(server, '/api/shop/people'), { status: 200 })
  t.same(server.log, [])
})
