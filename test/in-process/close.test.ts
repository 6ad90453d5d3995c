/** What `app.close()` does with requests that no connection of HTTP belongs to. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { RowQueryOptions } from '../../schemas/options.ts'
import type { GrantOptions, OnWrite } from '../../src/index.ts'
import { onEachEngine, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const grant: GrantOptions = { permissions: ['select', 'insert'] }
const insert = { verb: 'insert' as const, data: { customer_id: 1, note: 'new' } }
const orders = async ({ sql }: Pick<Service, 'sql'>): Promise<number> => Number((await sql('select count(*) as count from orders'))[0].count)

await onEachEngine(t, 'closing the app ended a transaction that runs: it waits for it', { schema: shop }, async (t, service) => {
  const { server: { app, rows } } = service
  const started = Promise.withResolvers<void>()
  const running = rows.transaction('shop', async (tx) => {
    await tx.execute({ table: 'orders', body: insert, grant })
    started.resolve()
    await sleep(200)
    await tx.execute({ table: 'orders', body: insert, grant })
  })
  await started.promise
  let ended = false
  running.then(() => { ended = true }, () => {})
  await app.close()
  t.ok(ended, 'closing waits')
  await running
  t.equal(await orders(service), 4)
  await t.rejects(rows.execute({ database: 'shop', table: 'orders', body: insert, grant }), { code: 'DATABASE_UNAVAILABLE' })
})

await onEachEngine(t, 'closing the app ended requests that wait for a connection: it waits for them', { schema: shop, database: { pool: { size: 2 } } }, async (t, service) => {
  const { server: { app, rows } } = service
  const all = Array.from({ length: 20 }, () => rows.execute({ database: 'shop', table: 'orders', body: insert, grant }))
  let settled = 0
  for (const each of all) each.then(() => { settled++ }, () => {})
  await app.close()
  t.equal(settled, 20, 'closing waits')
  await Promise.all(all)
  t.equal(await orders(service), 22)
})

const slowly: OnWrite = async ({ tx }) => {
  await sleep(200)
  await tx.execute({ table: 'orders', body: insert, grant })
}

await onEachEngine(t, 'closing the app ended a request of app.inject in its hook: it waits for it', { schema: shop, options: { onWrite: slowly } as Partial<RowQueryOptions> }, async (t, service) => {
  const { server: { app }, post } = service
  const answer = post('orders', insert)
  await sleep(100)
  await app.close()
  t.match(await answer, { status: 200, json: { data: { inserted: 1 } } })
  t.equal(await orders(service), 4)
})
