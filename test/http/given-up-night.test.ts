// night: waits for real time limits
/**
 * Statements that continue after the service has given them up, and connections that are idle: the limits on their
 * number and their time.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { connections, runners, running } from '../support/connections.ts'
import { parseMetrics, valueOf } from '../support/metrics.ts'
import type { Proxy } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { type Answer, onEachEngine, type Schema, type Service, startService } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { createUser } from '../support/users.ts'
import { listen, request } from '../support/wire.ts'

const only = ['mariadb', 'mysql'] as const
const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }
const schema: Schema = {
  sqlite,
  mysql: [
    ...mysql, 'create view slow as select id, sleep(1) as slept from customers',
    'create view slower as select id, sleep(2) as slept from customers'
  ]
}
const settings = {
  schema, only, options: { metrics: true }, database: { statementTimeout: 300, pool: { size: 2, wait: 300 } }
}

const select = { verb: 'select', columns: ['id'] }
const update = { verb: 'update', data: { name: 'New' }, filters: { id: 1 } }
const nameOf = async ({ sql }: Service): Promise<unknown> =>
  (await sql('select name from customers where id = 1'))[0].name
const isRunning = (service: Service, start: string) =>
  until(`"${start}" runs`, async () => (await running(service)).some((statement) => statement.startsWith(start)))

async function use ({ server }: Pick<Service, 'server'>): Promise<Record<string, number | undefined>> {
  const samples = parseMetrics(await server.rows.registry.metrics())
  const of = (name: string) => valueOf(samples, `row_query_pool_${name}`, { pool: 'primary' })
  return { open: of('open'), inUse: of('in_use'), ending: of('ending') }
}

function isTimeout (t: Test, answer: Answer): void {
  isRefusal(t, answer, { status: 504, code: 'QUERY_TIMEOUT', why: 'a select' })
  t.equal(answer.headers['retry-after'], undefined, 'a retry would take as long')
}

function isUnknown (t: Test, answer: Answer): void {
  isRefusal(t, answer, { status: 502, code: 'OUTCOME_UNKNOWN', why: 'a write' })
  t.equal(answer.headers['retry-after'], undefined, 'it must not be retried without a check')
}

await onEachEngine(t, 'selects that cannot be killed are 504, and their connections are not reused until they end', {
  ...settings, database: { statementTimeout: 2000, pool: { size: 2, wait: 300 } }
}, async (t, service) => {
  const { post, proxy, statements } = service as Service & { proxy: Proxy }
  await post('customers', select)
  const answers = [post('slow', { verb: 'select' }), post('slow', { verb: 'select' })]
  await until('both run', async () => (await running(service)).length === 2)
  proxy.full = true // KILL needs a connection of its own
  statements()
  for (const answer of answers) isTimeout(t, await answer)
  t.match(await use(service), { open: 2, inUse: 2, ending: 2 })
  const late = await Promise.all([post('slow', { verb: 'select' }), post('customers', update)])
  for (const answer of late) isRefusal(t, answer, { status: 503, code: 'OVERLOADED', why: 'no connection is free' })
  t.equal((await running(service)).length, 2, 'the load of the database has not grown')
  t.same(statements(), [], 'no statement was sent')
  await until('they have ended', async () => (await use(service))['ending'] === 0)
  // MySQL lists a statement for a moment after the last packet of its answer
  await until('they have ended in the database', async () => (await running(service)).length === 0, 0.5)
  t.equal((await post('customers', select)).status, 200, 'on an existing connection, because new ones are impossible')
  t.match(await use(service), { open: 2, ending: 0 })
})

await onEachEngine(t, 'a write that cannot be killed is 502, and its connection is in ' +
  'use until it ends', settings, async (t, service) => {
  const { post, proxy, sql, statements } = service as Service & { proxy: Proxy }
  await sql('begin')
  await sql("update customers set note = 'held' where id = 1")
  const answer = post('customers', update)
  await isRunning(service, 'update `customers`')
  proxy.full = true
  isUnknown(t, await answer)
  t.match(await use(service), { open: 1, inUse: 1, ending: 1 })
  await sql('rollback')
  await until('it has ended', async () => (await use(service))['ending'] === 0)
  t.equal(await nameOf(service), 'New', 'it was executed after all')
  t.equal(statements().filter((statement) => statement.startsWith('update')).length, 1)
  t.equal((await post('customers', select)).status, 200)
})

await onEachEngine(t, 'a write that cannot be killed after its client ' +
  'disconnected is logged', { ...settings, database: { pool: { size: 2 } } }, async (t, service) => {
  const { sql, proxy, log } = service as Service & { proxy: Proxy }
  await sql('begin')
  await sql("update customers set note = 'held' where id = 1")
  const socket = await (await listen(service)).open()
  socket.on('error', () => {})
  socket.write(request({ start: 'POST /api/shop/customers HTTP/1.1', body: JSON.stringify(update) }))
  await isRunning(service, 'update `customers`')
  proxy.full = true
  socket.resetAndDestroy()
  await until(
    'it is logged', () => log.some((line) => line.includes('"OUTCOME_UNKNOWN"') && line.includes('"CLIENT_GONE"'))
  )
  await sql('rollback')
  await until('it has ended', async () => (await use(service))['ending'] === 0)
})

await onEachEngine(t, 'a request whose statement continues after KILL is answered after a while, and its connection ' +
  'is in use until it ends', settings, async (t, service) => {
  const { post, proxy } = service as Service & { proxy: Proxy }
  proxy.killsNothing = true
  const begin = Date.now()
  isTimeout(t, await post('slower', { verb: 'select' }))
  t.ok(Date.now() - begin < 7500, `answered after ${Date.now() - begin} ms`)
  t.match(await use(service), { inUse: 1, ending: 1 })
  t.equal((await running(service)).length, 1)
  t.equal((await post('customers', select)).status, 200, 'other requests use the other connection')
  await until('it has ended', async () => (await use(service))['ending'] === 0)
  // the session is reset first, because a function of the view may have changed it
  await until('its connection is free', async () => (await use(service))['inUse'] === 0)
})

await onEachEngine(t, 'KILL is repeated until it succeeds', settings, async (t, service) => {
  const { post, proxy, sql } = service as Service & { proxy: Proxy }
  await sql('begin')
  await sql("update customers set note = 'held' where id = 1")
  const answer = post('customers', update)
  await isRunning(service, 'update `customers`')
  proxy.full = true
  isUnknown(t, await answer)
  proxy.full = false
  await until('it has ended, although the row is still locked', async () => (await running(service)).length === 0)
  await until('its connection is free', async () => (await use(service))['ending'] === 0)
  await sql('rollback')
  t.equal(await nameOf(service), 'Ada')
})

await onEachEngine(t, 'a select that loses its connection while it is being killed is 504, and its connection is in ' +
  'use until it ends', settings, async (t, service) => {
  const { post, proxy, sql } = service as Service & { proxy: Proxy }
  for (const [table, body] of [['slower', { verb: 'select' }], ['customers', update]] as const) {
    proxy.killsNothing = true
    await sql('begin')
    await sql("update customers set note = 'held' where id = 1")
    const answer = post(table, body)
    await until('it was killed', () => proxy.statements.some((statement) => statement.startsWith('kill query')))
    await sleep(100)
    proxy.full = true
    proxy.cut()
    if (body.verb === 'select') isTimeout(t, await answer)
    else isUnknown(t, await answer)
    t.match(await use(service), { ending: 1 }, 'it is still running')
    proxy.full = proxy.killsNothing = false
    await until('it has ended', async () => (await use(service))['ending'] === 0)
    t.same(await running(service), [])
    await sql('rollback')
    t.equal((await post('customers', select)).status, 200)
    proxy.statements.splice(0)
  }
})

await onEachEngine(t, 'closing the service does not wait for such statements', settings, async (t, service) => {
  const { post, proxy, server } = service as Service & { proxy: Proxy }
  const answer = post('slow', { verb: 'select' })
  await isRunning(service, 'select `id`')
  proxy.full = true
  isTimeout(t, await answer)
  const begin = Date.now()
  await server.app.close()
  t.ok(Date.now() - begin < 2000)
})

await onEachEngine(t, 'a connection that reads the catalog is in use until the read ends', {
  ...settings, database: { statementTimeout: 300, pool: { size: 1, wait: 300 } }
}, async (t, service) => {
  const { post, proxy, server } = service as Service & { proxy: Proxy }
  proxy.silent = true
  await t.rejects(server.rows.refresh(), { code: 'DATABASE_UNAVAILABLE', reason: 'ETIMEDOUT' })
  t.match(await use(service), { open: 1, inUse: 1, ending: 1 })
  isRefusal(t, await post('customers', select), { status: 503, code: 'OVERLOADED', why: 'the only connection' })
  proxy.silent = false
  await until('its connection is given up', async () => (await use(service))['ending'] === 0, 20)
  t.equal((await post('customers', select)).status, 200)
})

await onEachEngine(t, 'the connection of a statement that the account may not kill is in ' +
  'use until it ends', { ...settings, only: ['mariadb'] }, async (t, service) => {
  const { sql } = service
  await sql('create function slowly() returns int not deterministic return sleep(2)')
  await sql('create trigger slow_update before update on customers for each row set new.note = slowly()')
  const [{ name }] = await sql('select database() as name') as [{ name: string }]
  const url = await createUser(t, { url: service.url, name, query: sql }, {})
  const account = await startService(t, url, { options: settings.options, database: settings.database })
  isUnknown(t, await account.post('customers', update))
  t.match(await use(account), { ending: 1 })
  await until('it has ended', async () => (await use(account))['ending'] === 0)
  t.equal((await account.post('customers', select)).status, 200)
})

const TIMEOUT = 600

/** The number of connections of the service, from the list of the server. */
const countOpen = async (service: Service): Promise<number> => (await connections(service)).length

/** Concurrent requests, each of which needs a connection. */
async function together (service: Service, requests: ReadonlyArray<() => Promise<{
  status: number
}>>): Promise<number[]> {
  await service.sql('lock tables customers write')
  const answers = requests.map((request) => request())
  await until('each has a connection', async () => (await runners(service, 'select')).length === requests.length)
  await service.sql('unlock tables')
  return (await Promise.all(answers)).map(({ status }) => status)
}

await onEachEngine(t, 'a process with many databases has no open ' +
  'connections without requests', { schema: shop, only }, async (t, service) => {
  const { url } = service
  await service.server.app.close()
  const names = Array.from({ length: 12 }, (_, index) => `database-${index}`)
  const pool = { size: 4, idleTimeout: TIMEOUT }
  const { post, server } = await startService(t, url, {
    options: { metrics: true, databases: Object.fromEntries(names.map((name) => [name, { url, pool }])) }
  })
  const requests = names.flatMap((database) => [1, 2, 3, 4].map(() => () => post('customers', select, { database })))
  const statuses = await together(service, requests)
  t.same(new Set(statuses), new Set([200]))
  t.ok(await countOpen(service) >= 48, 'they stay open for a while')
  const begin = Date.now()
  await until('all of them are closed', async () => await countOpen(service) === 0)
  t.comment(`48 connections were closed after ${Date.now() - begin} ms`)
  t.match(await server.rows.registry.metrics(), /row_query_pool_open\{database="database-3",pool="primary"\} 0/)
  t.equal(
    (await post('customers', select, { database: 'database-3' })).status, 200, 'and a new one is opened when needed'
  )
})

await onEachEngine(t, 'pool.minimum connections are kept open', {
  schema: shop, only, database: { pool: { size: 5, idleTimeout: TIMEOUT, minimum: 2 } }
}, async (t, service) => {
  const requests = Array.from({ length: 5 }, () => () => service.post('customers', select))
  await together(service, requests)
  await until('the others are closed', async () => await countOpen(service) === 2)
  await sleep(2 * TIMEOUT)
  t.equal(await countOpen(service), 2)
})

await onEachEngine(t, 'a used connection stays open while idle ones are closed', {
  schema: shop, only, database: { pool: { size: 5, idleTimeout: TIMEOUT } }
}, async (t, service) => {
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

await onEachEngine(t, 'reading the catalog does not keep a connection open', {
  schema: shop, only, database: { refreshInterval: TIMEOUT * 2, pool: { idleTimeout: TIMEOUT } }
}, async (t, service) => {
  await until('nothing is open', async () => await countOpen(service) === 0)
  const before = service.proxy?.connections as number
  await until('the catalog has been read again', () => service.proxy?.connections as number > before)
  await until('nothing is open again', async () => await countOpen(service) === 0)
  t.pass()
})

await onEachEngine(t, 'idle connections to replicas are closed too', { schema: shop, only }, async (t, service) => {
  const { url } = service
  await service.server.app.close()
  const { post } = await startService(t, url, {
    database: { replicas: [url, url], pool: { size: 2, idleTimeout: TIMEOUT } }
  })
  await together(service, Array.from({ length: 4 }, () => () => post('customers', select)))
  await until('all are closed', async () => await countOpen(service) === 0)
  t.equal((await post('customers', select)).status, 200)
})
