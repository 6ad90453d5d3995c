import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { onEachEngine, type Schema, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { liveIds, running } from '../support/connections.ts'
import { until } from '../support/until.ts'
import { listen, request, type Wire } from '../support/wire.ts'

const servers = ['mariadb', 'mysql'] as const
const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }
const schema: Schema = { sqlite, mysql: [...mysql, 'create view slow as select id, sleep(20) as slept from customers'] }

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
