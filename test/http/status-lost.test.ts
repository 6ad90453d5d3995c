import t from 'tap'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, startService, type Schema, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { runners, running } from '../support/connections.ts'
import { until } from '../support/until.ts'
import type { Proxy } from '../support/recorder.ts'

const servers = ['mariadb', 'mysql'] as const
const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }
const schema: Schema = { sqlite, mysql: [...mysql, 'create view slow as select id, sleep(1) as slept from customers'] }

const select = { verb: 'select', columns: ['id'] }
const update = { verb: 'update', data: { name: 'New' }, filters: { id: 1 } }
const writes = [update, { verb: 'delete', filters: { id: 4 } }, { verb: 'insert', data: { email: 'new@example.com', name: 'New' } }]

/** Waits for a statement with this beginning and returns the id of its connection; `before`: a connection to ignore. */
async function runner (service: Service, start: string, before = 0): Promise<number> {
  let found: Array<{ id: number }> = []
  await until(`"${start}" runs`, async () => {
    found = (await runners(service, start)).filter(({ id }) => id !== before)
    return found.length > 0
  })
  return (found[0] as { id: number }).id
}

await onEachEngine(t, '503 DATABASE_UNAVAILABLE only while the server is unreachable', { schema, only: servers }, async (t, service) => {
  const { post, sql, proxy } = service as Service & { proxy: Proxy }
  await post('customers', select)
  await proxy.close()
  for (const body of [select, ...writes]) {
    const answer = await post('customers', body)
    isRefusal(t, answer, { status: 503, code: 'DATABASE_UNAVAILABLE', why: body.verb })
    t.equal(answer.headers['retry-after'], '1')
  }
  t.match(await sql('select count(*) as count, max(name) as name from customers'), [{ count: 4, name: 'Zoë' }], 'nothing was changed')
})

await onEachEngine(t, '503 DATABASE_UNAVAILABLE for every table until the catalog has been read once', { schema, only: servers }, async (t, { url }) => {
  const { post } = await startService(t, Object.assign(new URL(url), { pathname: '/not_there' }).href)
  for (const body of [select, ...writes]) isRefusal(t, await post('customers', body), { status: 503, code: 'DATABASE_UNAVAILABLE', why: body.verb })
})

await onEachEngine(t, 'a select that loses its connection is retried once by the service, and may be retried by the client', { schema, only: servers }, async (t, service) => {
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
    t.equal((await post('customers', select)).status, 200, 'the next request gets a new connection')
  }
})

await onEachEngine(t, '502 OUTCOME_UNKNOWN for a write that loses its connection; it is not retried', { schema, only: servers }, async (t, service) => {
  const { post, sql, proxy, statements } = service as Service & { proxy: Proxy }
  for (const how of ['cut', 'killed'] as const) {
    await sql('begin')
    await sql("update customers set note = 'held' where id = 1")
    statements()
    const answer = post('customers', update)
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
    t.equal((await post('customers', select)).status, 200)
  }
})

await onEachEngine(t, 'a write that loses its response is executed once', { schema, only: servers }, async (t, service) => {
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

await onEachEngine(t, 'a network that drops all packets does not block a request forever', { schema, only: servers, database: { statementTimeout: 300, pool: { size: 2, wait: 20_000 } } }, async (t, service) => {
  const { post, sql, proxy } = service as Service & { proxy: Proxy }
  await sql('begin')
  await sql("update customers set note = 'held' where id = 1")
  const answers = [post('slow', { verb: 'select' }), post('customers', update)] as const
  await runner(service, 'select `id`')
  await runner(service, 'update `customers`')
  proxy.silent = true
  const [read, write] = await Promise.all(answers)
  isRefusal(t, read, { status: 504, code: 'QUERY_TIMEOUT', why: 'a select that could not be ended' })
  isRefusal(t, write, { status: 502, code: 'OUTCOME_UNKNOWN', why: 'an update that could not be ended' })
  proxy.silent = false
  await sql('rollback')
  const begin = Date.now()
  t.equal((await post('customers', select)).status, 200, 'and the service recovers with the server')
  t.ok(Date.now() - begin < 8000, 'soon')
})
