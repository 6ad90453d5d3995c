// night: waits for real time limits
import t, { type Test } from 'tap'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../servers/free-port.ts'
import { createProxy } from '../support/recorder.ts'
import { tokenFor } from '../support/documents.ts'
import { onEachEngine, startService, TOKEN, type Answer } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const select = { verb: 'select' }

/** Repeats a request until the answer has the status. */
async function until (status: number, ask: () => Promise<Answer>): Promise<Answer> {
  for (;;) {
    const answer = await ask()
    if (answer.status === status) return answer
    await sleep(20)
  }
}

/** What was there a moment ago may come back. */
function isLost (t: Test, { status, headers, json }: Answer, why: string): void {
  t.match({ status, json, retryAfter: headers['retry-after'] }, { status: 503, json: { success: false, data: {}, error: { code: 'DATABASE_UNAVAILABLE' } }, retryAfter: '1' }, why)
}

await onEachEngine(t, 'a table that is created while the service runs can be used right after a refresh', { schema: shop }, async (t, { post, sql, server }) => {
  await sql('create table later (id int not null primary key)')
  t.equal((await post('later', select)).json.error.code, 'TABLE_NOT_FOUND')
  await server.rows.refresh()
  t.same((await post('later', { verb: 'insert', data: { id: 1 } })).json.data, { inserted: 1, id: 1 })
  t.same((await post('later', select)).json.data.rows, [{ id: 1 }])
})

await onEachEngine(t, 'changes are detected after the refresh interval', { schema: shop, database: { refreshInterval: 50 } }, async (t, { post, sql }) => {
  await sql('create table later (id int not null primary key)')
  t.same((await until(200, () => post('later', select))).json.data.rows, [])
  await sql('alter table later add column note varchar(10) null')
  t.same((await until(200, () => post('later', { verb: 'select', columns: ['note'] }))).json.data.rows, [])
  await sql('drop table later')
  t.equal((await until(404, () => post('later', select))).json.error.code, 'TABLE_NOT_FOUND')
})

await onEachEngine(t, 'a select that does not name a dropped column succeeds with the remaining columns', { schema: shop }, async (t, { post, sql }) => {
  await sql('alter table products drop column tags')
  await sql('alter table products add column spare int null')
  const { status, json } = await post('products', { verb: 'select', orderBy: 'sku', limit: 1 })
  t.equal(status, 200)
  t.same(json.data.rows, [{ sku: 'CUP-1', name: 'Cup', price: '5.00', spare: null }])
})

const uses: Array<[column: string, body: object]> = [
  ['a', { verb: 'select', columns: ['id', 'a'] }],
  ['b', { verb: 'select', columns: ['id'], filters: { $or: [{ id: 1 }, { b: 1 }] } }],
  ['c', { verb: 'select', columns: ['id'], orderBy: 'id, c' }],
  ['d', { verb: 'insert', data: { id: 2, d: 1 } }],
  ['e', { verb: 'update', data: { e: 1 }, filters: { id: 1 } }],
  ['f', { verb: 'update', data: { note: 'x' }, filters: { f: null } }],
  ['g', { verb: 'delete', filters: { g: null } }]
]
const wide = [`create table wide (id int not null, note varchar(5) null, ${uses.map(([column]) => `${column} int null`).join(', ')})`, 'insert into wide (id) values (1)']

await onEachEngine(t, 'a request that names a dropped column is rejected once it is sure that it is gone, and the error names the column', { schema: { mysql: wide, sqlite: wide } }, async (t, { post, sql }) => {
  for (const [column, body] of uses) {
    await sql(`alter table wide drop column ${column}`)
    isLost(t, await post('wide', body), column)
  }
  for (const [column, body] of uses) {
    const { status, json } = await until(400, () => post('wide', body))
    t.equal(status, 400, column)
    t.match(json.error, { code: 'COLUMN_NOT_FOUND', message: `Column "${column}" does not exist in table "wide"` }, column)
  }
  t.match(await sql('select * from wide'), [{ id: 1, note: null }], 'nothing was changed')
})

await onEachEngine(t, 'a dropped table is TABLE_NOT_FOUND for every verb once it is sure that it is gone', { schema: shop }, async (t, { post, sql }) => {
  const bodies = [select, { verb: 'insert', data: {} }, { verb: 'update', data: { note: 'x' }, filters: { id: 1 } }, { verb: 'delete', filters: { id: 1 } }]
  await sql('drop table settings')
  for (const body of bodies) isLost(t, await post('settings', body), body.verb)
  await until(404, () => post('settings', select))
  for (const body of bodies) t.match(await post('settings', body), { status: 404, json: { error: { code: 'TABLE_NOT_FOUND' } } }, body.verb)
})

/** A grant that does not see the name of a customer, one whose rule needs it, and one whose rule names a column that was never there. */
const narrow = [
  tokenFor('hidden', ['select'], { shop: { customers: { columns: { select: ['id', 'email'] } } } }),
  tokenFor('ruled', ['select'], { shop: { customers: { rows: { name: 'Ada' } } } }),
  tokenFor('broken', ['select'], { shop: { customers: { rows: { nope: 1 } } } }),
  tokenFor('elsewhere', ['select'], { shop: ['orders'] })
]

await onEachEngine(t, 'a table that was renamed for a moment while the catalog was read was once 404 for a minute', { schema: shop, tokens: narrow }, async (t, { post, operate, sql, server }) => {
  await sql('alter table customers rename to away')
  await server.rows.refresh()
  isLost(t, await post('customers', select), 'a select')
  isLost(t, await post('customers', { verb: 'insert', data: { email: 'a', name: 'b' } }), 'an insert')
  isLost(t, await operate([{ verb: 'select', table: 'orders' }, { verb: 'select', table: 'customers' }]), 'operations')
  isLost(t, await post('customers', { verb: 'select', columns: ['id'] }, { token: 'hidden' }), 'a grant that sees the table')
  t.match(await post('customers', { verb: 'select', columns: ['nope'] }), { status: 503 }, 'nothing is known of its columns')
  for (const token of ['broken', 'elsewhere']) t.match(await post('customers', select, { token }), { status: 404 }, `${token}: as before`)
  t.match(await post('nope', select), { status: 404 })
  t.match(await post('orders', select), { status: 200 }, 'other tables work')
  await sql('alter table away rename to customers')
  t.equal((await until(200, () => post('customers', select))).json.data.count, 4)
})

await onEachEngine(t, 'a column that was renamed for a moment while the catalog was read was once 400 for a minute', { schema: shop, tokens: narrow }, async (t, { post, operate, sql, server }) => {
  await sql('alter table customers rename column name to title')
  await server.rows.refresh()
  const named = { verb: 'select', columns: ['id', 'name'] }
  isLost(t, await post('customers', named), 'a select')
  isLost(t, await post('customers', { verb: 'insert', data: { email: 'a', name: 'b' } }), 'an insert')
  isLost(t, await post('customers', { verb: 'update', data: { note: 'x' }, filters: { name: 'Ada' } }), 'a filter')
  isLost(t, await operate([{ verb: 'select', table: 'customers', columns: ['id'] }, { ...named, table: 'customers' }]), 'operations')
  isLost(t, await post('customers', { verb: 'select', columns: ['id'] }, { token: 'ruled' }), 'a rule')
  for (const [token, column] of [['hidden', 'name'], [TOKEN, 'nope']] as const) {
    t.match(await post('customers', { verb: 'select', columns: [column] }, { token }), { status: 400, json: { error: { code: 'COLUMN_NOT_FOUND' } } }, `${column}: as before`)
  }
  t.match(await post('customers', select, { token: 'broken' }), { status: 404 }, 'as before')
  t.match(await post('customers', { verb: 'select', columns: ['id'] }), { status: 200 }, 'other columns work')
  await sql('alter table customers rename column title to name')
  t.equal((await until(200, () => post('customers', named))).json.data.count, 4)
  t.equal((await post('customers', { verb: 'select', columns: ['id'] }, { token: 'ruled' })).json.data.count, 1)
})

await onEachEngine(t, 'a unique key that is missing for a moment is not refused in an upsert', { schema: shop }, async (t, { server, post, sql, engine }) => {
  if (engine === 'sqlite') await sql('create unique index by_name on settings (level)')
  else await sql('alter table settings add unique key by_name (level)')
  await server.rows.refresh()
  const upsert = { verb: 'insert', data: { level: 7, note: 'x' }, onConflict: { key: ['level'] } }
  t.match(await post('settings', upsert), { status: 200 })
  await sql(engine === 'sqlite' ? 'drop index by_name' : 'alter table settings drop key by_name')
  await server.rows.refresh()
  isLost(t, await post('settings', upsert), 'its key')
  t.match(await until(400, () => post('settings', upsert)), { status: 400 })
})

await onEachEngine(t, 'a write that is valid with the new catalog is not retried; the client must send it again', { schema: shop }, async (t, { post, sql }) => {
  await sql('create trigger audited after insert on orders for each row begin insert into audit values (1); end')
  const insert = () => post('orders', { verb: 'insert', data: { customer_id: 1 } })
  const { status, headers, json } = await insert()
  t.equal(status, 503, 'the trigger is new')
  t.equal(headers['retry-after'], '1')
  t.equal(json.error.code, 'DATABASE_UNAVAILABLE')
  t.equal((await sql('select id from orders')).length, 2, 'nothing was changed')
  await sql('create table audit (id int null)')
  t.equal((await until(200, insert)).json.data.inserted, 1)
})

await onEachEngine(t, 'concurrent requests on a changed table share one read of the catalog', { schema: shop, only: ['mariadb', 'mysql'] }, async (t, { post, sql, proxy }) => {
  await sql('alter table products drop column tags')
  proxy?.statements.splice(0)
  const answers = await Promise.all(Array.from({ length: 20 }, () => post('products', select)))
  t.same(new Set(answers.map(({ status }) => status)), new Set([200]))
  const readings = proxy?.statements.filter((sql) => sql.includes('`information_schema`.`TABLES`')).length ?? 0
  t.ok(readings >= 1 && readings <= 4, `${readings} readings for 20 requests`)
})

await onEachEngine(t, 'a failed refresh keeps the old catalog and rejects for its caller', { schema: shop, only: ['mariadb', 'mysql'] }, async (t, { post, server, proxy, log }) => {
  await proxy?.close()
  await t.rejects(server.rows.refresh(), { code: 'DATABASE_UNAVAILABLE' })
  t.equal((await post('customers', select)).status, 503)
  t.equal((await post('nope', select)).json.error.code, 'TABLE_NOT_FOUND', 'the tables are known still')
  t.equal((await post('customers', { verb: 'select', columns: ['nope'] })).json.error.code, 'COLUMN_NOT_FOUND')
  t.notOk(log.some((line) => line.includes('could not be read')))
})

await onEachEngine(t, 'a background refresh that fails is logged', { schema: shop, only: ['mariadb', 'mysql'], database: { refreshInterval: 30 } }, async (t, { proxy, log }) => {
  await proxy?.close()
  while (!log.some((line) => line.includes('could not be read'))) await sleep(10)
  t.match(JSON.parse(log.find((line) => line.includes('could not be read')) as string), { level: 40, database: 'shop', code: 'DATABASE_UNAVAILABLE' })
})

await onEachEngine(t, 'requests are answered with 503 until a database that was down at the start is reachable', { schema: shop, only: ['mariadb', 'mysql'] }, async (t, { url }) => {
  const port = await freePort()
  const { post, log } = await startService(t, Object.assign(new URL(url), { port }).href)
  t.match(JSON.parse(log[0] as string), { database: 'shop', code: 'DATABASE_UNAVAILABLE', reason: 'ECONNREFUSED', msg: 'the catalog could not be read' })
  for (const [table, body] of [['customers', select], ['nope', select], ['customers', { verb: 'insert', data: {} }]] as const) {
    const { status, headers, json } = await post(table, body)
    t.equal(status, 503)
    t.equal(headers['retry-after'], '1')
    t.match(json, { success: false, data: {}, error: { code: 'DATABASE_UNAVAILABLE' } })
  }
  t.equal((await post('customers', { verb: 'nothing' })).status, 400, 'what needs no database is answered')
  const proxy = await createProxy(url, port)
  t.teardown(() => proxy.close())
  t.equal((await post('customers', select)).json.data.count, 4)
  t.equal((await post('nope', select)).status, 404)
})
