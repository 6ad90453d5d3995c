// night: waits for real time limits, which a busy machine exceeds
/** Networks that drop packets without a word: how long a request waits for them. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { movableClock } from '../support/clock.ts'
import { runners } from '../support/connections.ts'
import type { Proxy } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Schema, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

const servers = ['mariadb', 'mysql'] as const
const losing: Schema = {
  sqlite: shop.sqlite,
  mysql: [...shop.mysql, 'create view slow as select id, sleep(1) as slept from customers']
}

const selectIds = { verb: 'select', columns: ['id'] }
const updateOne = { verb: 'update', data: { name: 'New' }, filters: { id: 1 } }

/** Longer than an idle connection is used without a check, in milliseconds. */
const TRUST = 1100

async function runner (service: Service, start: string): Promise<void> {
  await until(`"${start}" runs`, async () => (await runners(service, start)).length > 0)
}

await onEachEngine(t, 'a network that drops all packets does not block a request forever', {
  schema: losing, only: servers, database: { statementTimeout: 300, pool: { size: 2, wait: 20_000 } }
}, async (t, service) => {
  const { post, sql, proxy } = service as Service & { proxy: Proxy }
  await sql('begin')
  await sql("update customers set note = 'held' where id = 1")
  const answers = [post('slow', { verb: 'select' }), post('customers', updateOne)] as const
  await runner(service, 'select `id`')
  await runner(service, 'update `customers`')
  proxy.silent = true
  const [read, write] = await Promise.all(answers)
  isRefusal(t, read, { status: 504, code: 'QUERY_TIMEOUT', why: 'a select that could not be ended' })
  isRefusal(t, write, { status: 502, code: 'OUTCOME_UNKNOWN', why: 'an update that could not be ended' })
  proxy.silent = false
  await sql('rollback')
  t.equal((await post('customers', selectIds)).status, 200, 'and the service recovers with the server')
})

await onEachEngine(t, 'a connection that does not respond delays a request only for a limited time', {
  schema: shop, only: servers, database: { pool: { size: 3, wait: 3000 } }
}, async (t, service) => {
  const { post, proxy, sql } = service as Service & { proxy: Proxy }
  await Promise.all(Array.from({ length: 5 }, () => post('customers', selectIds)))
  movableClock(t).pass(TRUST)
  proxy.silent = true
  const answer = post('customers', { ...updateOne, data: { name: 'Three' } })
  await sleep(TRUST)
  proxy.silent = false
  t.equal((await answer).status, 200)
  t.equal((await sql('select name from customers where id = 1'))[0].name, 'Three')
})
