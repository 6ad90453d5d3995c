// night: waits for real time limits
/** Locks, deadlocks and time limits, and statements that continue after the service has given them up. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { liveIds, running } from '../support/connections.ts'
import { parseMetrics, valueOf } from '../support/metrics.ts'
import type { Proxy } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { type Answer, onEachEngine, type Schema, type Service, startService } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { createUser } from '../support/users.ts'
import { listen, request } from '../support/wire.ts'

const servers = ['mariadb', 'mysql'] as const
const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }

const schema: Schema = {
  sqlite,
  mysql: [
    ...mysql,
    'create table heavy (id int not null primary key, n int not null)',
    `insert into heavy values ${Array.from({ length: 500 }, (_, id) => `(${id}, 0)`).join()}`,
    'create view slow as select id, sleep(5) as slept from customers',
    // the global setting would affect tests that run at the same time
    'create trigger impatient before insert on orders for each row set session innodb_lock_wait_timeout = 1'
  ]
}

/** A transaction that locks a customer without the service; it ends with the test at the latest. */
async function hold ({ sql }: Pick<Service, 'sql'>, id: number): Promise<void> {
  await sql('begin')
  await sql('update customers set note = ? where id = ?', ['held', id])
}

const isRunning = (service: Service, start: string) => until(`"${start}" runs`, async () => (await running(service)).some((statement) => statement.startsWith(start)))
const rename = (id: number | number[], name = 'New') => ({ verb: 'update', data: { name }, filters: { id } })
const names = async ({ sql }: Service): Promise<string> => (await sql('select name from customers order by id')).map(({ name }) => name).join()

await onEachEngine(t, '503 DEADLOCK for the transaction that the database rolls back', { schema, only: servers }, async (t, service) => {
  const { sql, post, statements } = service
  await hold(service, 2)
  await sql('update heavy set n = n + 1') // the server ends the one that has changed less
  statements()
  const answer = post('customers', rename([1, 2]))
  await isRunning(service, 'update `customers`')
  await sql("update customers set note = 'held' where id = 1")
  const refusal = await answer
  isRefusal(t, refusal, { status: 503, code: 'DEADLOCK', why: 'the victim' })
  t.equal(refusal.headers['retry-after'], '1')
  t.equal(statements().filter((statement) => statement.startsWith('update')).length, 1, 'the service does not retry')
  await sql('commit')
  t.equal(await names(service), 'Ada,Grace,Linus,Zoë', 'nothing was changed')
  t.same((await post('customers', rename([1, 2]))).json.data, { updated: 2 }, 'and the client may retry')
})

await onEachEngine(t, '503 LOCK_TIMEOUT for a row that stays locked', { schema }, async (t, service) => {
  const { sql, post, engine } = service
  await sql(engine === 'sqlite' ? 'begin immediate' : 'begin')
  await sql("update customers set note = 'held' where id = 1")
  const answer = await post('orders', { verb: 'insert', data: { customer_id: 1 } })
  isRefusal(t, answer, { status: 503, code: 'LOCK_TIMEOUT', why: 'a locked row' })
  t.equal(answer.headers['retry-after'], '1')
  await sql('rollback')
  t.match(await sql('select count(*) as count from orders'), [{ count: 2 }], 'nothing was changed')
  t.equal((await post('orders', { verb: 'insert', data: { customer_id: 1 } })).status, 200, 'and the client may retry')
})

await onEachEngine(t, '503 OVERLOADED immediately if too many requests wait', { schema, only: servers, database: { pool: { size: 1, queue: 1, wait: 10_000 } } }, async (t, service) => {
  const { sql, post } = service
  await hold(service, 1)
  const answers = [post('customers', rename(1, 'One'))]
  await isRunning(service, 'update `customers`')
  service.statements()
  for (let each = 0; each < 6; each++) answers.push(post('customers', { verb: 'select', columns: ['id'], limit: 1 }))
  let refused = 0
  for (const answer of answers) answer.then(({ status }) => { if (status === 503) refused++ }, () => {})
  await until('all but one are refused while the row is locked', () => refused === 5)
  t.same(service.statements(), [])
  await sql('rollback')
  const results = await Promise.all(answers)
  t.equal(results[0]?.status, 200, 'the running request continues')
  for (const answer of results.filter(({ status }) => status !== 200)) {
    isRefusal(t, answer, { status: 503, code: 'OVERLOADED', why: 'one too many' })
    t.equal(answer.headers['retry-after'], '1')
  }
  t.equal(results.filter(({ status }) => status === 200).length, 2, 'the waiting request is answered')
})

await onEachEngine(t, '503 OVERLOADED for a request that waits too long for a connection', { schema, only: servers, database: { pool: { size: 1, queue: 5, wait: 200 } } }, async (t, service) => {
  await hold(service, 1)
  const first = service.post('customers', rename(1, 'One'))
  await isRunning(service, 'update `customers`')
  const answer = await service.post('customers', rename(2, 'Two'))
  isRefusal(t, answer, { status: 503, code: 'OVERLOADED', why: 'the second' })
  t.equal(answer.headers['retry-after'], '1')
  await service.sql('rollback')
  t.equal((await first).status, 200)
  t.equal(await names(service), 'One,Grace,Linus,Zoë', 'the refused request changed nothing')
  t.equal((await service.post('customers', rename(2, 'Two'))).status, 200, 'the connection that was opened too late is used')
})

await onEachEngine(t, '504 QUERY_TIMEOUT ends the statement in the database and keeps the connection', { schema, only: servers, database: { statementTimeout: 300, pool: { size: 1 } } }, async (t, service) => {
  const { sql, post } = service
  await post('customers', { verb: 'select' })
  const before = await liveIds(service)
  t.equal(before.length, 1)

  await hold(service, 1)
  for (const [table, body] of [['customers', rename(1)], ['customers', { verb: 'delete', filters: { id: 1 } }], ['slow', { verb: 'select' }]] as const) {
    const answer = await post(table, body)
    isRefusal(t, answer, { status: 504, code: 'QUERY_TIMEOUT', why: body.verb })
    t.equal(answer.headers['retry-after'], undefined)
    // the server removes a statement from its list shortly after its answer; the row stays locked much longer
    await until('the statement was ended', async () => (await running(service)).length === 0)
  }
  await sql('rollback')

  t.equal(await names(service), 'Ada,Grace,Linus,Zoë', 'nothing was changed')
  t.same((await post('customers', rename(1))).json.data, { updated: 1 })
  // the connection that sent KILL closes a moment later
  await until('there is one connection', async () => (await liveIds(service)).length === 1)
  t.same(await liveIds(service), before, 'the connection is the same')
})

// Statements that continue after the service has given them up: the answers to their requests, and the limit on their number.

const only = ['mariadb', 'mysql'] as const
const schemaOfStatusGivenUp: Schema = { sqlite, mysql: [...mysql, 'create view slow as select id, sleep(1) as slept from customers', 'create view slower as select id, sleep(2) as slept from customers'] }
const settings = { schema: schemaOfStatusGivenUp, only, options: { metrics: true }, database: { statementTimeout: 300, pool: { size: 2, wait: 300 } } }

const select = { verb: 'select', columns: ['id'] }
const update = { verb: 'update', data: { name: 'New' }, filters: { id: 1 } }
const nameOf = async ({ sql }: Service): Promise<unknown> => (await sql('select name from customers where id = 1'))[0].name

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

await onEachEngine(t, 'selects that cannot be killed are 504, and their connections are not reused until they end', settings, async (t, service) => {
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

await onEachEngine(t, 'a write that cannot be killed is 502, and its connection is in use until it ends', settings, async (t, service) => {
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

await onEachEngine(t, 'a write that cannot be killed after its client disconnected is logged', { ...settings, database: { pool: { size: 2 } } }, async (t, service) => {
  const { sql, proxy, log } = service as Service & { proxy: Proxy }
  await sql('begin')
  await sql("update customers set note = 'held' where id = 1")
  const socket = await (await listen(service)).open()
  socket.on('error', () => {})
  socket.write(request({ start: 'POST /api/shop/customers HTTP/1.1', body: JSON.stringify(update) }))
  await isRunning(service, 'update `customers`')
  proxy.full = true
  socket.resetAndDestroy()
  await until('it is logged', () => log.some((line) => line.includes('"OUTCOME_UNKNOWN"') && line.includes('"CLIENT_GONE"')))
  await sql('rollback')
  await until('it has ended', async () => (await use(service))['ending'] === 0)
})

await onEachEngine(t, 'a request whose statement continues after KILL is answered after a while, and its connection is in use until it ends', settings, async (t, service) => {
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

await onEachEngine(t, 'a select that loses its connection while it is being killed is 504, and its connection is in use until it ends', settings, async (t, service) => {
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

await onEachEngine(t, 'a connection that reads the catalog is in use until the read ends', { ...settings, database: { statementTimeout: 300, pool: { size: 1, wait: 300 } } }, async (t, service) => {
  const { post, proxy, server } = service as Service & { proxy: Proxy }
  proxy.silent = true
  await t.rejects(server.rows.refresh(), { code: 'DATABASE_UNAVAILABLE', reason: 'ETIMEDOUT' })
  t.match(await use(service), { open: 1, inUse: 1, ending: 1 })
  isRefusal(t, await post('customers', select), { status: 503, code: 'OVERLOADED', why: 'the only connection' })
  proxy.silent = false
  await until('its connection is given up', async () => (await use(service))['ending'] === 0, 20)
  t.equal((await post('customers', select)).status, 200)
})

await onEachEngine(t, 'the connection of a statement that the account may not kill is in use until it ends', { ...settings, only: ['mariadb'] }, async (t, service) => {
  const { sql } = service
  await sql('create function slowly() returns int not deterministic return sleep(4)')
  await sql('create trigger slow_update before update on customers for each row set new.note = slowly()')
  const [{ name }] = await sql('select database() as name') as [{ name: string }]
  const url = await createUser(t, { url: service.url, name, query: sql }, {})
  const account = await startService(t, url, { options: settings.options, database: settings.database })
  isUnknown(t, await account.post('customers', update))
  t.match(await use(account), { ending: 1 })
  await until('it has ended', async () => (await use(account))['ending'] === 0)
  t.equal((await account.post('customers', select)).status, 200)
})
