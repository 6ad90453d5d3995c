/** Foreign keys that SQLite checks at COMMIT. */
import t from 'tap'
import { VERBS } from '../../schemas/grant.ts'
import { hashToken } from '../../src/access/tokens.ts'
import type { RowQueryOptions } from '../../schemas/options.ts'
import type { OnWrite } from '../../src/index.ts'
import { onEachEngine } from '../support/service.ts'

const deferred = 'deferrable initially deferred'
const schema = {
  sqlite: [
    'create table customers (id integer primary key)',
    'create table shops (id integer primary key)',
    `create table orders (id integer primary key, shop_id integer references shops ${deferred}, customer_id integer references customers ${deferred}, parent_id integer references orders ${deferred}, note text)`,
    'insert into customers values (1)',
    'insert into shops values (1)',
    'insert into orders (id, shop_id) values (1, 1)',
    'create table log (id integer primary key, order_id integer references orders deferrable initially deferred)'
  ],
  mysql: []
}
const only = ['sqlite'] as const
const STRANGER = 'a-token-that-does-not-see-customers-012345'
const tokens = [{ name: 'stranger', sha256: hashToken(STRANGER), permissions: [...VERBS], databases: { shop: { orders: { columns: { select: ['id', 'shop_id'], insert: ['id', 'shop_id', 'customer_id'] } } } } }]

const customer = { path: '/data/customer_id', message: 'foreign key "orders_1" on "customer_id"' }
const refused = (...details: object[]) => ({ status: 409, json: { error: { code: 'FOREIGN_KEY_VIOLATION', details } } })
const inOperation = (index: number, { path, message }: typeof customer) => ({ path: `/operations/${index}${path}`, message })
const insert = (data: unknown) => ({ verb: 'insert', data })

await onEachEngine(t, 'a key that COMMIT refused was another one than the error said, and a dry run did not find it', { schema, only, tokens }, async (t, { post, sql }) => {
  const keep = async () => sql('select * from orders')
  const before = await keep()
  for (const dryRun of [false, true]) {
    const send = async (body: object, token?: string) => await post('orders', { ...body, dryRun }, token === undefined ? {} : { token })
    t.match(await send(insert({ shop_id: 1, customer_id: 9 })), refused(customer))
    t.same((await send(insert({ shop_id: 1, customer_id: 9 }))).json.error.details, [customer])
    t.match(await send({ verb: 'update', data: { shop_id: 1, customer_id: 9 }, filters: { id: 1 } }), refused(customer))
    t.same((await send(insert({ id: 5, shop_id: 1, customer_id: 9 }), STRANGER)).json.error.details, [], 'a hidden column is not named')
    t.match(await send(insert({ id: 5, parent_id: 5, customer_id: 9 })), refused(customer), 'a row may refer to itself')
    t.match(await send({ ...insert([{ id: 5, shop_id: 1 }, { id: 6, parent_id: 5, customer_id: 9 }]) }), { status: 409 })
    t.same(await keep(), before)
    t.match(await send(insert({ id: 5, parent_id: 5, customer_id: 1 })), { status: 200 })
    if (!dryRun) await sql('delete from orders where id = 5')
  }
  t.match(await post('orders', insert([{ id: 5, parent_id: 1, customer_id: 1 }, { id: 6, parent_id: 5, customer_id: 9 }])), refused({ ...customer, path: '/data/1/customer_id' }))
  for (const dryRun of [false, true]) t.same((await post('customers', { verb: 'delete', filters: { id: 1 }, dryRun })).status, 200)
  await sql('insert into customers values (1)')
  for (const dryRun of [true, false]) t.match(await post('shops', { verb: 'delete', filters: { id: 1 }, dryRun }), refused({ path: '', message: 'other rows refer to this one' }))
  t.same(await keep(), before)
})

await onEachEngine(t, 'operations whose COMMIT was refused named a key without their operation', { schema, only }, async (t, { operate, sql }) => {
  const bad = { table: 'orders', ...insert({ id: 7, shop_id: 1, customer_id: 9 }) }
  const good = { table: 'orders', ...insert({ id: 8, shop_id: 1, customer_id: 1 }) }
  for (const dryRun of [false, true]) {
    const send = (...operations: object[]) => operate({ operations, dryRun })
    t.same((await send(good, bad, { table: 'shops', verb: 'select', lock: true }, { ...good, data: { shop_id: 1 } })).json.error.details, [inOperation(1, customer)])
    t.same((await send(bad, good, { table: 'orders', verb: 'update', data: { customer_id: 1 }, filters: { id: 7 } }, { table: 'shops', verb: 'delete', filters: { id: 1 } })).json.error.details, [], 'the first one is cured, the last one is not certain')
    t.match(await send(bad, { table: 'customers', ...insert({ id: 9 }) }, { table: 'orders', verb: 'delete', filters: { id: 7 } }, { table: 'customers', verb: 'delete', filters: { id: 9 } }), { status: 200 })
    t.match(await send(good, { table: 'orders', ...insert([{ shop_id: 1 }, { customer_id: 9 }]) }), refused({ path: '/operations/1', message: customer.message }))
  }
  t.same(await sql('select id from orders'), [{ id: 1 }])
})

const logs: OnWrite = async ({ tx }) => {
  await tx.execute({ table: 'log', body: insert({ order_id: 99 }), grant: { permissions: ['insert'] } })
}

await onEachEngine(t, 'a write of a hook that COMMIT refused was told to the client with its key', { schema, only, options: { onWrite: logs } as Partial<RowQueryOptions> }, async (t, { post, operate, server: { rows }, sql }) => {
  const good = insert({ shop_id: 1 })
  for (const dryRun of [false, true]) {
    t.same((await post('orders', { ...good, dryRun })).json.error, { code: 'FOREIGN_KEY_VIOLATION', message: 'A foreign key does not allow this change', details: [] })
    t.same((await operate({ operations: [{ table: 'orders', ...good }], dryRun })).json.error.details, [])
    await t.rejects(rows.transaction('shop', (tx) => tx.execute({ table: 'orders', body: good, grant: { permissions: ['insert'] } }), { dryRun }), { code: 'FOREIGN_KEY_VIOLATION', details: [] })
  }
  t.same(await sql('select id from orders'), [{ id: 1 }])
})
