/**
 * Databases that are busy, lost or silent: the codes of the answers, and what becomes of statements and connections.
 */
import t from 'tap'
import { movableClock } from '../support/clock.ts'
import { connections, liveIds, runners, running } from '../support/connections.ts'
import type { Proxy } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Schema, type Service, sharedOnEachEngine, startService } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

const servers = ['mariadb', 'mysql'] as const
const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }

const busy: Schema = {
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

const isRunning = (service: Service, start: string) =>
  until(`"${start}" runs`, async () => (await running(service)).some((statement) => statement.startsWith(start)))
const rename = (id: number | number[], name = 'New') => ({ verb: 'update', data: { name }, filters: { id } })
const names = async ({ sql }: Service): Promise<string> =>
  (await sql('select name from customers order by id')).map(({ name }) => name).join()

await onEachEngine(t, '503 DEADLOCK for the transaction that the ' +
  'database rolls back', { schema: busy, only: servers }, async (t, service) => {
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

await onEachEngine(t, '503 LOCK_TIMEOUT for a row that stays locked', { schema: busy }, async (t, service) => {
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

await onEachEngine(t, '503 OVERLOADED immediately if too many requests wait', {
  schema: busy, only: servers, database: { pool: { size: 1, queue: 1, wait: 10_000 } }
}, async (t, service) => {
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

await onEachEngine(t, '503 OVERLOADED for a body of more items than there is memory, beside another', {
  schema: busy, only: ['sqlite'], options: { limits: { bodyMemory: 4_194_304 } }
}, async (t, { post, sql }) => {
  const codes: unknown[] = []
  const send = async (tags: unknown): Promise<void> => {
    const body = { verb: 'insert', data: { sku: 'a', name: 'b', price: '1.00', tags }, dryRun: true }
    const { status, json } = await post('products', body)
    codes.push(status === 200 ? 200 : json.error.code)
  }
  const both = (tags: unknown): Array<Promise<void>> => [send(tags), send(tags)]
  await sql('begin immediate') // the first one waits, and keeps its memory
  const waiting = both(Array(20_000).fill(0))
  await Promise.race(waiting)
  await sql('rollback')
  await Promise.all(waiting)
  t.same(codes.splice(0), ['OVERLOADED', 200])
  await Promise.all(both('0,'.repeat(20_000)))
  t.same(codes, [200, 200], 'of a text of as many bytes, both have room')
})

await onEachEngine(t, '503 OVERLOADED for a request that waits too long for a connection', {
  schema: busy, only: servers, database: { pool: { size: 1, queue: 5, wait: 200 } }
}, async (t, service) => {
  await hold(service, 1)
  const first = service.post('customers', rename(1, 'One'))
  await isRunning(service, 'update `customers`')
  const answer = await service.post('customers', rename(2, 'Two'))
  isRefusal(t, answer, { status: 503, code: 'OVERLOADED', why: 'the second' })
  t.equal(answer.headers['retry-after'], '1')
  await service.sql('rollback')
  t.equal((await first).status, 200)
  t.equal(await names(service), 'One,Grace,Linus,Zoë', 'the refused request changed nothing')
  t.equal(
    (await service.post('customers', rename(2, 'Two'))).status, 200, 'the connection that was opened too late is used'
  )
})

await onEachEngine(t, '504 QUERY_TIMEOUT ends the statement in the database and keeps the connection', {
  schema: busy, only: servers, database: { statementTimeout: 300, pool: { size: 1 } }
}, async (t, service) => {
  const { sql, post } = service
  await post('customers', { verb: 'select' })
  const before = await liveIds(service)
  t.equal(before.length, 1)

  await hold(service, 1)
  for (const [table, body] of [
    ['customers', rename(1)], ['customers', { verb: 'delete', filters: { id: 1 } }], ['slow', { verb: 'select' }]
  ] as const) {
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

const losing: Schema = { sqlite, mysql: [...mysql, 'create view slow as select id, sleep(1) as slept from customers'] }

const selectIds = { verb: 'select', columns: ['id'] }
const updateOne = { verb: 'update', data: { name: 'New' }, filters: { id: 1 } }
const writes = [
  updateOne, { verb: 'delete', filters: { id: 4 } }, { verb: 'insert', data: { email: 'new@example.com', name: 'New' } }
]

/** Waits for a statement with this beginning and returns the id of its connection; `before`: a connection to ignore. */
async function runner (service: Service, start: string, before = 0): Promise<number> {
  let found: Array<{ id: number }> = []
  await until(`"${start}" runs`, async () => {
    found = (await runners(service, start)).filter(({ id }) => id !== before)
    return found.length > 0
  })
  return (found[0] as { id: number }).id
}

await onEachEngine(t, '503 DATABASE_UNAVAILABLE only while the ' +
  'server is unreachable', { schema: losing, only: servers }, async (t, service) => {
  const { post, sql, proxy } = service as Service & { proxy: Proxy }
  await post('customers', selectIds)
  await proxy.close()
  for (const body of [selectIds, ...writes]) {
    const answer = await post('customers', body)
    isRefusal(t, answer, { status: 503, code: 'DATABASE_UNAVAILABLE', why: body.verb })
    t.equal(answer.headers['retry-after'], '1')
  }
  t.match(
    await sql('select count(*) as count, max(name) as name from customers'), [{ count: 4, name: 'Zoë' }],
    'nothing was changed'
  )
})

const test = sharedOnEachEngine(t, { schema: losing, only: servers })

await test('503 DATABASE_UNAVAILABLE for every table until the catalog has been read once', async (t, { url }) => {
  const { post } = await startService(t, Object.assign(new URL(url), { pathname: '/not_there' }).href)
  for (const body of [selectIds, ...writes]) {
    isRefusal(t, await post('customers', body), { status: 503, code: 'DATABASE_UNAVAILABLE', why: body.verb })
  }
})

await test('a select that loses its connection is retried once by the service, and may be ' +
  'retried by the client', async (t, service) => {
  const { post, sql, proxy, statements } = service as Service & { proxy: Proxy }
  for (const how of ['cut', 'killed'] as const) {
    statements()
    const answer = post('slow', { verb: 'select' })
    let id = 0
    for (let times = 0; times < 2; times++) {
      id = await runner(service, 'select `id`', id)
      if (how === 'cut') proxy.cut()
      await sql(`kill ${id}`)
    }
    const refusal = await answer
    isRefusal(t, refusal, { status: 503, code: 'DATABASE_UNAVAILABLE', why: how })
    t.equal(refusal.headers['retry-after'], '1')
    t.equal(statements().filter((statement) => statement.includes('`slow`')).length, 2)
    await until('the statement has ended', async () => (await running(service)).length === 0)
    t.equal((await post('customers', selectIds)).status, 200, 'the next request gets a new connection')
  }
})

await test('502 OUTCOME_UNKNOWN for a write that loses its connection; it is not retried', async (t, service) => {
  const { post, sql, proxy, statements } = service as Service & { proxy: Proxy }
  for (const how of ['cut', 'killed'] as const) {
    await sql('begin')
    await sql("update customers set note = 'held' where id = 1")
    statements()
    const answer = post('customers', updateOne)
    const id = await runner(service, 'update `customers`')
    if (how === 'cut') proxy.cut()
    else await sql(`kill ${id}`)
    const refusal = await answer
    isRefusal(t, refusal, { status: 502, code: 'OUTCOME_UNKNOWN', why: how })
    t.equal(refusal.headers['retry-after'], undefined, 'it must not be retried without a check')
    t.equal(statements().filter((statement) => statement.startsWith('update')).length, 1, how)
    await sql('rollback')
    // a write that waited for the lock may still be executed, so the outcome is unknown
    await until('the statement has ended', async () => (await running(service)).length === 0)
    t.equal((await post('customers', selectIds)).status, 200)
  }
})

await onEachEngine(t, 'a write that loses its ' +
  'response is executed once', { schema: losing, only: servers }, async (t, service) => {
  const { post, sql, proxy } = service as Service & { proxy: Proxy }
  await sql('create trigger slow_insert before insert on settings for each row set new.note = sleep(1)')
  const answer = post('settings', { verb: 'insert', data: {} })
  await runner(service, 'insert into `settings`')
  proxy.silent = true
  await until('the row exists', async () => (await sql('select id from settings')).length === 1)
  proxy.silent = false
  proxy.cut()
  isRefusal(t, await answer, { status: 502, code: 'OUTCOME_UNKNOWN', why: 'the row exists' })
  t.equal((await sql('select id from settings')).length, 1)
})

type WithProxy = Service & { proxy: Proxy }
const renameFirst = (name: string) => ({ verb: 'update', data: { name }, filters: { id: 1 } })
const nameOfFirst = async ({ sql }: Service) => (await sql('select name from customers where id = 1'))[0].name
/** Several idle connections. */
const warm = async ({ post }: Service) => {
  await Promise.all(Array.from({ length: 5 }, () => post('customers', selectIds)))
}
/** Longer than an idle connection is used without a check. */
const TRUST = 1100

await test('a select on a silently lost connection is retried once, on a new one', async (t, service) => {
  const { post, proxy, statements } = service as WithProxy
  await warm(service)
  proxy.forget()
  statements()
  t.equal((await post('customers', selectIds)).status, 200)
  t.equal(statements().length, 2)
  const before = proxy.connections
  t.equal((await post('customers', selectIds)).status, 200)
  t.equal(proxy.connections, before, 'the new connection is kept')
})

await test('a write on a connection that was silently lost a moment ago is not retried', async (t, service) => {
  const { post, proxy, statements, sql } = service as WithProxy
  await warm(service)
  proxy.forget()
  statements()
  const insert = { verb: 'insert', data: { name: 'New', email: 'new@example.com' } }
  isRefusal(t, await post('customers', insert), {
    status: 502, code: 'OUTCOME_UNKNOWN', why: 'the server may have received it'
  })
  t.equal(statements().length, 1)
  t.equal((await post('customers', insert)).status, 200, 'the other idle connections are not used either')
  t.match(await sql("select count(*) as count from customers where name = 'New'"), [{ count: 1 }])
})

await test('a write whose table is confirmed first is sent once, on a new connection', async (t, service) => {
  const { post, proxy, statements, sql } = service as WithProxy
  const rename = (name: string) => post('products', { verb: 'update', data: { name }, filters: { sku: 'CUP-1' } })
  const isNamed = async (name: string) => t.match(await sql("select name from products where sku = 'CUP-1'"), [
    { name }
  ])
  await warm(service)
  proxy.forget()
  statements()
  t.match(await rename('New'), { status: 200, json: { data: { updated: 1 } } })
  t.equal(statements().length, 1)
  await isNamed('New')
  proxy.forget()
  isRefusal(t, await rename('Newer'), {
    status: 502, code: 'OUTCOME_UNKNOWN', why: 'the table was confirmed a moment ago'
  })
  t.equal(statements().length, 1)
  await isNamed('New')
})

await test('a connection that was idle for a while is checked first, so that a write ' +
  'gets a working one', async (t, service) => {
  const { post, proxy, statements } = service as WithProxy
  await warm(service)
  const clock = movableClock(t)
  const before = proxy.connections
  clock.pass(TRUST)
  t.equal((await post('customers', renameFirst('One'))).status, 200)
  t.equal(proxy.connections, before, 'a working connection is kept')
  clock.pass(TRUST)
  proxy.forget()
  statements()
  t.equal((await post('customers', renameFirst('Two'))).status, 200)
  t.equal(statements().length, 1)
  t.equal(await nameOfFirst(service), 'Two')
})

await test('after all connections were killed at once, no later request fails', async (t, service) => {
  const { post, sql } = service
  for (let round = 0; round < 3; round++) {
    await warm(service)
    await until('they are gone', async () => {
      const open = await connections(service)
      for (const { id } of open) await sql(`kill ${id}`).catch(() => {})
      return open.length === 0
    })
    t.equal((await post('customers', selectIds)).status, 200)
    t.equal((await post('customers', renameFirst(`Round ${round}`))).status, 200)
  }
})
