/** Clients that disconnect while their statements run or wait. */
import { once } from 'node:events'
import { connect as connectHttp2, constants, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { createRowQuery } from '../../src/app.ts'
import { onEachEngine, TOKEN, type Schema, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { liveIds, running } from '../support/connections.ts'
import { until } from '../support/until.ts'
import { listen, request, type Wire } from '../support/wire.ts'

const servers = ['mariadb', 'mysql'] as const
const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }
const schema: Schema = { sqlite: [...sqlite, 'create view slow as with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) as id from n'], mysql: [...mysql, 'create view slow as select id, sleep(20) as slept from customers'] }

const send = async (wire: Wire, table: string, body: object) => {
  const socket = await wire.open()
  socket.on('error', () => {})
  socket.write(request({ start: `POST /api/shop/${table} HTTP/1.1`, body: JSON.stringify(body) }))
  return socket
}
const isRunning = (service: Service, start: string) => until(`"${start}" runs`, async () => (await running(service)).some((statement) => statement.startsWith(start)))
const rename = { verb: 'update', data: { name: 'New' }, filters: { id: 1 } }

await onEachEngine(t, 'when a client disconnects, its statement is killed in the database, and the connection is reused', { schema, only: servers, database: { pool: { size: 1 } } }, async (t, service) => {
  const { sql, post, log } = service
  const wire = await listen(service)
  await post('customers', { verb: 'select' })
  const before = await liveIds(service)
  await sql('begin')
  await sql("update customers set note = 'held' where id = 1")
  for (const [table, body, start] of [['slow', { verb: 'select' }, 'select `id`'], ['customers', rename, 'update `customers`']] as const) {
    const socket = await send(wire, table, body)
    await isRunning(service, start)
    socket.resetAndDestroy()
    await until('the statement has ended', async () => (await running(service)).length === 0)
    await until('the reason is logged', () => log.some((line) => line.includes('"reason":"CLIENT_GONE"')))
    log.splice(0)
  }
  await sql('rollback')
  t.match(await sql('select name from customers where id = 1'), [{ name: 'Ada' }], 'nothing was changed')
  t.equal((await post('customers', rename)).status, 200)
  t.same(await liveIds(service), before)
})

await onEachEngine(t, 'when a client disconnects while it waits for a connection, its statement is not sent', { schema, only: servers, database: { pool: { size: 1 } } }, async (t, service) => {
  const { sql, post, statements } = service
  const wire = await listen(service)
  await sql('begin')
  await sql("update customers set note = 'held' where id = 1")
  const first = post('customers', rename)
  await isRunning(service, 'update `customers`')
  statements()
  const socket = await send(wire, 'customers', { verb: 'delete', filters: { id: 4 } })
  await sleep(200)
  socket.resetAndDestroy()
  await once(socket, 'close')
  await sleep(100)
  await sql('rollback')
  t.equal((await first).status, 200)
  t.equal((await post('customers', { verb: 'select', columns: ['id'] })).json.data.count, 4)
  t.notMatch(statements().join(), /delete/)
})

await onEachEngine(t, 'over HTTP/2 the statements of clients that had disconnected once ran on', { schema }, async (t, { engine, url, sql, statements }) => {
  const log: string[] = []
  const app = Fastify({ http2: true, logger: { level: 'info', stream: { write: (line: string) => { log.push(line) } } } }) as unknown as FastifyInstance
  await app.register(createRowQuery({ databases: { shop: { url, pool: { size: 4 }, statementTimeout: 20_000 } }, tokens: [{ name: 'all', sha256: hashToken(TOKEN), permissions: ['select', 'update'] }] }).plugin, { prefix: '/api' })
  t.teardown(() => app.close())
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const ways: Array<(stream: ClientHttp2Stream, client: ClientHttp2Session) => void> = [(stream) => { stream.close(constants.NGHTTP2_CANCEL) }, (_stream, client) => { client.destroy() }]

  await sql(engine === 'sqlite' ? 'begin immediate' : 'begin')
  await sql("update customers set note = 'held' where id = 1")
  for (const [table, body, accept] of [['slow', { verb: 'select' }, 'application/json'], ['slow', { verb: 'select' }, 'text/csv'], ['customers', rename, 'application/json']] as const) {
    for (const leave of ways) {
      statements()
      log.splice(0)
      const client = connectHttp2(`http://127.0.0.1:${port}`)
      const stream = client.request({ ':method': 'POST', ':path': `/api/shop/${table}`, authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept })
      for (const each of [client, stream]) each.on('error', () => {})
      stream.end(JSON.stringify(body))
      await until('the statement is sent', () => statements().some((statement) => statement.startsWith(body.verb)))
      const since = performance.now()
      leave(stream, client)
      await until('the reason is logged', () => log.some((line) => line.includes('"reason":"CLIENT_GONE"')))
      t.ok(performance.now() - since < 5000, `${table} ${accept}`)
      client.destroy()
    }
  }
  await sql('rollback')
  await sleep(200)
  t.match(await sql('select name from customers where id = 1'), [{ name: 'Ada' }], 'nothing was changed')
})
