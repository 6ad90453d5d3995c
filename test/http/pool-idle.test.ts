// night: waits for real time limits
/** Idle database connections are closed. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { connections, runners } from '../support/connections.ts'
import { onEachEngine, startService, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

const only = ['mariadb', 'mysql'] as const
const TIMEOUT = 600
const select = { verb: 'select', columns: ['id'] }

/** The number of connections of the service, from the list of the server. */
const countOpen = async (service: Service): Promise<number> => (await connections(service)).length

/** Concurrent requests, each of which needs a connection. */
async function together (service: Service, requests: ReadonlyArray<() => Promise<{ status: number }>>): Promise<number[]> {
  await service.sql('lock tables customers write')
  const answers = requests.map((request) => request())
  await until('each has a connection', async () => (await runners(service, 'select `id`')).length === requests.length)
  await service.sql('unlock tables')
  return (await Promise.all(answers)).map(({ status }) => status)
}

await onEachEngine(t, 'a process with many databases has no open connections without requests', { schema: shop, only }, async (t, service) => {
  const { url } = service
  await service.server.app.close()
  const names = Array.from({ length: 12 }, (_, index) => `database-${index}`)
  const pool = { size: 4, idleTimeout: TIMEOUT }
  const { post, server } = await startService(t, url, { options: { metrics: true, databases: Object.fromEntries(names.map((name) => [name, { url, pool }])) } })
  const requests = names.flatMap((database) => [1, 2, 3, 4].map(() => () => post('customers', select, { database })))
  const statuses = await together(service, requests)
  t.same(new Set(statuses), new Set([200]))
  t.ok(await countOpen(service) >= 48, 'they stay open for a while')
  const begin = Date.now()
  await until('all of them are closed', async () => await countOpen(service) === 0)
  t.comment(`48 connections were closed after ${Date.now() - begin} ms`)
  t.match(await server.rows.registry.metrics(), /row_query_pool_open\{database="database-3",pool="primary"\} 0/)
  t.equal((await post('customers', select, { database: 'database-3' })).status, 200, 'and a new one is opened when needed')
})

await onEachEngine(t, 'pool.minimum connections are kept open', { schema: shop, only, database: { pool: { size: 5, idleTimeout: TIMEOUT, minimum: 2 } } }, async (t, service) => {
  const requests = Array.from({ length: 5 }, () => () => service.post('customers', select))
  await together(service, requests)
  await until('the others are closed', async () => await countOpen(service) === 2)
  await sleep(2 * TIMEOUT)
  t.equal(await countOpen(service), 2)
})

await onEachEngine(t, 'a used connection stays open while idle ones are closed', { schema: shop, only, database: { pool: { size: 5, idleTimeout: TIMEOUT } } }, async (t, service) => {
  const { post, proxy } = service
  await together(service, Array.from({ length: 5 }, () => () => post('customers', select)))
  const made = proxy?.connections
  for (let asked = 0; asked < 15; asked++) {
    await sleep(TIMEOUT / 5)
    t.equal((await post('customers', select)).status, 200)
  }
  t.equal(await countOpen(service), 1)
  t.equal(proxy?.connections, made, 'the same connection is used')
})

await onEachEngine(t, 'reading the catalog does not keep a connection open', { schema: shop, only, database: { refreshInterval: TIMEOUT * 2, pool: { idleTimeout: TIMEOUT } } }, async (t, service) => {
  await until('nothing is open', async () => await countOpen(service) === 0)
  const before = service.proxy?.connections as number
  await until('the catalog has been read again', () => service.proxy?.connections as number > before)
  await until('nothing is open again', async () => await countOpen(service) === 0)
  t.pass()
})

await onEachEngine(t, 'idle connections to replicas are closed too', { schema: shop, only }, async (t, service) => {
  const { url } = service
  await service.server.app.close()
  const { post } = await startService(t, url, { database: { replicas: [url, url], pool: { size: 2, idleTimeout: TIMEOUT } } })
  await together(service, Array.from({ length: 4 }, () => () => post('customers', select)))
  await until('all are closed', async () => await countOpen(service) === 0)
  t.equal((await post('customers', select)).status, 200)
})
