// night: waits for real time limits
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { connections } from '../support/connections.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import type { Proxy } from '../support/recorder.ts'

const only = ['mariadb', 'mysql'] as const
type WithProxy = Service & { proxy: Proxy }

const select = { verb: 'select', columns: ['id'] }
const rename = (name: string) => ({ verb: 'update', data: { name }, filters: { id: 1 } })
const nameOf = async ({ sql }: Service) => (await sql('select name from customers where id = 1'))[0].name
/** Several idle connections. */
const warm = async ({ post }: Service) => { await Promise.all(Array.from({ length: 5 }, () => post('customers', select))) }
/** Longer than an idle connection is used without a check. */
const TRUST = 1100

await onEachEngine(t, 'a select on a silently lost connection is retried once, on a new one', { schema: shop, only }, async (t, service) => {
  const { post, proxy, statements } = service as WithProxy
  await warm(service)
  proxy.forget()
  statements()
  t.equal((await post('customers', select)).status, 200)
  t.equal(statements().length, 2)
  const before = proxy.connections
  t.equal((await post('customers', select)).status, 200)
  t.equal(proxy.connections, before, 'the new connection is kept')
})

await onEachEngine(t, 'a write on a connection that was silently lost a moment ago is not retried', { schema: shop, only }, async (t, service) => {
  const { post, proxy, statements, sql } = service as WithProxy
  await warm(service)
  proxy.forget()
  statements()
  const insert = { verb: 'insert', data: { name: 'New', email: 'new@example.com' } }
  isRefusal(t, await post('customers', insert), { status: 502, code: 'OUTCOME_UNKNOWN', why: 'the server may have received it' })
  t.equal(statements().length, 1)
  t.equal((await post('customers', insert)).status, 200, 'the other idle connections are not used either')
  t.match(await sql("select count(*) as count from customers where name = 'New'"), [{ count: 1 }])
})

await onEachEngine(t, 'a write whose columns are confirmed first is sent once, on a new connection', { schema: shop, only }, async (t, service) => {
  const { post, proxy, statements } = service as WithProxy
  await warm(service)
  proxy.forget()
  statements()
  t.match(await post('customers', rename('New')), { status: 200, json: { data: { updated: 1 } } })
  t.equal(statements().length, 1)
  t.equal(await nameOf(service), 'New')
  proxy.forget()
  isRefusal(t, await post('customers', rename('Newer')), { status: 502, code: 'OUTCOME_UNKNOWN', why: 'the columns were confirmed a moment ago' })
  t.equal(statements().length, 1)
  t.equal(await nameOf(service), 'New')
})

await onEachEngine(t, 'a connection that was idle for a while is checked first, so that a write gets a working one', { schema: shop, only }, async (t, service) => {
  const { post, proxy, statements } = service as WithProxy
  await warm(service)
  const before = proxy.connections
  await sleep(TRUST)
  t.equal((await post('customers', rename('One'))).status, 200)
  t.equal(proxy.connections, before, 'a working connection is kept')
  await sleep(TRUST)
  proxy.forget()
  statements()
  t.equal((await post('customers', rename('Two'))).status, 200)
  t.equal(statements().length, 1)
  t.equal(await nameOf(service), 'Two')
})

await onEachEngine(t, 'a connection that does not respond delays a request only for a limited time', { schema: shop, only, database: { pool: { size: 3, wait: 3000 } } }, async (t, service) => {
  const { post, proxy } = service as WithProxy
  await warm(service)
  await sleep(TRUST)
  proxy.silent = true
  const begin = Date.now()
  const answer = post('customers', rename('Three'))
  await sleep(TRUST)
  proxy.silent = false
  t.equal((await answer).status, 200)
  t.ok(Date.now() - begin < 8000)
  t.equal(await nameOf(service), 'Three')
})

await onEachEngine(t, 'after all connections were killed at once, no later request fails', { schema: shop, only }, async (t, service) => {
  const { post, sql } = service
  for (let round = 0; round < 3; round++) {
    await warm(service)
    await until('they are gone', async () => {
      const open = await connections(service)
      for (const { id } of open) await sql(`kill ${id}`).catch(() => {})
      return open.length === 0
    })
    t.equal((await post('customers', select)).status, 200)
    t.equal((await post('customers', rename(`Round ${round}`))).status, 200)
  }
})
