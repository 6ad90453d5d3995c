/** The header Idempotency-Key: the same request has one effect and the same answer, whatever was lost on the way. */
import t from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { waiters } from '../support/connections.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Schema, type Service, sharedOnEachEngine, startService, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { errorPacket, type Proxy } from '../support/recorder.ts'

const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }
const schema: Schema = { sqlite: [...sqlite, ...CREATE.sqlite.split(';').map((sql) => sql.trim()).filter((sql) => sql !== '')], mysql: [...mysql, CREATE.mysql] }
const OTHER = 'another-token-that-may-do-everything-0123456789'
const tokens = [{ name: 'other', sha256: hashToken(OTHER), permissions: ['select' as const, 'insert' as const, 'update' as const] }]
const settings = { schema, tokens }

const insert = { verb: 'insert', data: { customer_id: 1, note: 'new' } }
const withKey = (key: string, headers: Record<string, string> = {}) => ({ headers: { 'idempotency-key': key, ...headers } })
const orders = async ({ sql }: Pick<Service, 'sql'>): Promise<number> => Number((await sql('select count(*) as count from orders'))[0].count)
const keys = async ({ sql }: Pick<Service, 'sql'>): Promise<number> => Number((await sql('select count(*) as count from row_query_keys'))[0].count)

await onEachEngine(t, 'a request that is sent again has one effect and the same answer', settings, async (t, service) => {
  const { post, operate } = service
  const first = await post('orders', insert, withKey('a'))
  t.same(first.json, { success: true, data: { inserted: 1, id: 3 } })
  t.equal(first.headers['idempotency-replayed'], undefined)
  for (let times = 0; times < 2; times++) {
    const again = await post('orders', insert, withKey('a'))
    t.equal(again.text, first.text)
    t.equal(again.headers['idempotency-replayed'], 'true')
    t.equal(again.headers['content-type'], 'application/json; charset=utf-8')
  }
  t.equal(await orders(service), 3)
  t.match((await post('orders', insert, withKey('b'))).json.data, { id: 4 }, 'another key is another request')
  const operations = [{ table: 'orders', ...insert }, { table: 'orders', verb: 'select', filters: { id: { $ref: '/0/id' } }, columns: ['note'] }]
  const together = await operate(operations, withKey('c'))
  t.match(together.json.data, { results: [{ inserted: 1, id: 5 }, { rows: [{ note: 'new' }] }] })
  const replayed = await operate(operations, withKey('c'))
  t.equal(replayed.text, together.text)
  t.equal(replayed.headers['idempotency-replayed'], 'true')
  t.equal(await orders(service), 5)
})

await onEachEngine(t, 'anything else under the key is refused', settings, async (t, service) => {
  const { post, operate } = service
  await post('orders', insert, withKey('a'))
  const others: Array<() => ReturnType<typeof post>> = [
    () => post('orders', { verb: 'insert', data: { customer_id: 1, note: 'other' } }, withKey('a')),
    () => post('orders', `${JSON.stringify(insert)} `, withKey('a')),
    () => post('settings', { verb: 'insert', data: {} }, withKey('a')),
    () => operate([{ table: 'orders', ...insert }], withKey('a'))
  ]
  for (const other of others) isRefusal(t, await other(), { status: 422, code: 'IDEMPOTENCY_KEY_REUSED', why: 'another request' })
  t.equal(await orders(service), 3)
  t.match((await post('orders', insert, { ...withKey('a'), token: OTHER })).json.data, { id: 4 }, 'the key of another token is another key')
})

await onEachEngine(t, 'the form of a key, and requests that have none', settings, async (t, service) => {
  const { post, operate } = service
  for (const key of ['', ' ', 'a b', 'ä', 'x'.repeat(256), 'tab\t1']) {
    isRefusal(t, await post('orders', insert, withKey(key)), { status: 400, code: 'INVALID_IDEMPOTENCY_KEY', why: JSON.stringify(key) })
  }
  t.equal((await post('orders', insert, withKey('x'.repeat(255)))).status, 200)
  t.equal((await post('orders', { verb: 'select' }, withKey(''))).status, 200, 'ignored on reads')
  t.equal((await operate([{ table: 'orders', verb: 'select' }], withKey(''))).status, 200)
  isRefusal(t, await operate({ operations: [{ table: 'orders', ...insert }], dryRun: true }, withKey('d')), { status: 400, code: 'INVALID_BODY', why: 'a dry run' })
  isRefusal(t, await post('row_query_keys', { verb: 'select' }), { status: 404, code: 'TABLE_NOT_FOUND', why: 'the table is hidden' })
  isRefusal(t, await operate([{ table: 'ROW_QUERY_KEYS', verb: 'select' }]), { status: 404, code: 'TABLE_NOT_FOUND', why: 'the table is hidden' })
  t.equal(await keys(service), 1)
})

await onEachEngine(t, 'only what was committed is kept', settings, async (t, service) => {
  const { post, operate } = service
  const missing = { verb: 'insert', data: { customer_id: 99 } }
  isRefusal(t, await post('orders', missing, withKey('a')), { status: 409, code: 'FOREIGN_KEY_VIOLATION', why: 'no such customer' })
  isRefusal(t, await operate([{ table: 'orders', ...insert }, { table: 'orders', ...missing }], withKey('b')), { status: 409, code: 'FOREIGN_KEY_VIOLATION', why: 'no such customer' })
  t.equal(await keys(service), 0)
  t.equal((await post('orders', insert, withKey('a'))).status, 200, 'the key may be used for another request then')
  t.equal(await orders(service), 3)
})

await onEachEngine(t, 'it is authorized and planned before an answer is replayed', settings, async (t, service) => {
  const { post, sql, server, engine } = service
  await post('orders', insert, withKey('a'))
  await sql(engine === 'sqlite' ? 'alter table orders rename column note to remark' : 'alter table orders change note remark varchar(50)')
  await server.rows.refresh()
  isRefusal(t, await post('orders', insert, withKey('a')), { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'the column is gone, for now' })
})

await onEachEngine(t, 'equal requests at once have one effect; those that wait take no connection', { ...settings, database: { pool: { size: 3, queue: 1 } } }, async (t, service) => {
  const { post } = service
  const answers = await Promise.all(Array.from({ length: 20 }, () => post('orders', insert, withKey('a'))))
  t.same(new Set(answers.map(({ text }) => text)).size, 1)
  t.same(answers.filter(({ headers }) => headers['idempotency-replayed'] === 'true').length, 19)
  t.equal(await orders(service), 3)
  const mixed = await Promise.all([post('orders', insert, withKey('b')), post('orders', { verb: 'insert', data: { customer_id: 2 } }, withKey('b'))])
  t.same(mixed.map(({ status }) => status).sort(), [200, 422])
})

const test = sharedOnEachEngine(t, { ...settings, only: ['mariadb', 'mysql'] })

await test('a request waits two seconds for another one with its key', async (t, service) => {
  const { post, sql, url } = service
  const other = await startService(t, url)
  await sql('begin')
  await sql('select * from customers where id = 1 for update')
  const update = { verb: 'update', data: { name: 'New' }, filters: { id: 1 } }
  const first = post('customers', update, withKey('a'))
  await until('it waits for the row', async () => (await waiters({ sql }, 'update `customers`')).length === 1)
  const begin = Date.now()
  const [same, elsewhere] = await Promise.all([post('customers', update, withKey('a')), other.post('customers', update, withKey('a'))])
  for (const [late, why] of [[same, 'in this process'], [elsewhere, 'in another one']] as const) {
    isRefusal(t, late, { status: 409, code: 'IDEMPOTENCY_IN_PROGRESS', why })
    t.equal(late.headers['retry-after'], '1')
  }
  t.ok(Date.now() - begin >= 1900)
  await sql('rollback')
  t.same((await first).json.data, { updated: 1 })
  t.match(await Promise.all([post('customers', update, withKey('a')), other.post('customers', update, withKey('a'))]), [{ status: 200, headers: { 'idempotency-replayed': 'true' } }, { status: 200, headers: { 'idempotency-replayed': 'true' } }])
})

await test('processes that use a key at once', async (t, service) => {
  const others = await Promise.all(Array.from({ length: 3 }, () => startService(t, service.url)))
  for (let round = 0; round < 10; round++) {
    const answers = await Promise.all([service, ...others].flatMap(({ post }) => [post('orders', insert, withKey(`k${round}`)), post('orders', insert, withKey(`k${round}`))]))
    t.same(answers.map(({ status }) => status), Array(8).fill(200))
    t.equal(new Set(answers.map(({ text }) => text)).size, 1)
  }
  t.equal(await orders(service), 12)
})

await onEachEngine(t, 'an answer that was lost during COMMIT is looked up', { ...settings, only: ['mariadb', 'mysql'] }, async (t, service) => {
  const { post, proxy } = service as Service & { proxy: Proxy }
  let commits = 0
  proxy.onStatement = (sql) => {
    if (sql === 'commit' && commits++ === 0) proxy.cut()
    return undefined
  }
  isRefusal(t, await post('orders', insert, withKey('a')), { status: 502, code: 'OUTCOME_UNKNOWN', why: 'it did not arrive' })
  t.equal(await orders(service), 2)
  t.same((await post('orders', insert, withKey('a'))).json.data.inserted, 1, 'and may be sent again')
  commits = 0
  proxy.onStatement = (sql) => {
    if (sql === 'commit' && commits++ === 0) {
      proxy.deaf = true
      setTimeout(() => {
        proxy.deaf = false
        proxy.cut()
      }, 300)
    }
    return undefined
  }
  const answer = await post('orders', insert, withKey('b'))
  t.match(answer, { status: 200, headers: { 'idempotency-replayed': 'true' }, json: { data: { inserted: 1 } } }, 'it was committed')
  t.equal(await orders(service), 4)
})

await onEachEngine(t, 'a deadlock runs it again', { ...settings, only: ['mariadb', 'mysql'] }, async (t, service) => {
  const { post, proxy } = service as Service & { proxy: Proxy }
  let failures = 2
  proxy.onStatement = (sql) => sql.startsWith('insert into `orders`') && failures-- > 0 ? errorPacket(1213, '40001') : undefined
  t.equal((await post('orders', insert, withKey('a'))).status, 200)
  t.equal(await orders(service), 3)
})

await onEachEngine(t, 'without the table there are no keys', { schema: shop }, async (t, { post, sql }) => {
  const refused = await post('orders', insert, withKey('a'))
  isRefusal(t, refused, { status: 422, code: 'NOT_SUPPORTED', why: 'no table' })
  t.match(refused.json.error.details, [{ message: /row-query keys/ }])
  t.same(await sql('select count(*) as count from orders'), [{ count: 2 }])
})

await onEachEngine(t, 'a table without transactions cannot be written with a key', { ...settings, only: ['mariadb', 'mysql'] }, async (t, { post, sql, server }) => {
  await sql('create table plain (id int not null primary key) engine = myisam')
  await server.rows.refresh()
  isRefusal(t, await post('plain', { verb: 'insert', data: { id: 1 } }, withKey('a')), { status: 422, code: 'NOT_SUPPORTED', why: 'MyISAM' })
})

await onEachEngine(t, 'an answer of more than a megabyte is not kept, and nothing happens', {
  schema: (engine) => [
    ...(engine === 'sqlite' ? schema as { sqlite: string[] } : { sqlite: [] }).sqlite, ...(engine === 'sqlite' ? [] : (schema as { mysql: string[] }).mysql),
    engine === 'sqlite' ? 'create table large (id integer primary key, body text)' : 'create table large (id int not null primary key, body longtext)'
  ],
  tokens
}, async (t, service) => {
  const { operate, post, sql } = service
  await post('large', { verb: 'insert', data: { id: 1, body: 'x'.repeat(600_000) } })
  const read = { table: 'large', verb: 'select' }
  isRefusal(t, await operate([{ table: 'orders', ...insert }, read, read], withKey('a')), { status: 422, code: 'RESULT_TOO_LARGE', why: 'two of them' })
  t.equal(await orders(service), 2)
  t.equal((await operate([{ table: 'orders', ...insert }, read], withKey('a'))).status, 200)
  t.match((await operate([{ table: 'orders', ...insert }, read], withKey('a'))).headers, { 'idempotency-replayed': 'true' })
  t.equal((await sql('select id from large')).length, 1)
  t.equal(await orders(service), 3)
})

await onEachEngine(t, 'what a grant sees belongs to the request', settings, async (t, service) => {
  const grantOf = (columns?: string[]) => ({ name: 'changing', sha256: hashToken(OTHER), permissions: ['select' as const, 'insert' as const], databases: { shop: { orders: columns === undefined ? {} : { columns: { select: columns } } } } })
  const before = await startService(t, service.url, { tokens: [grantOf()] })
  const after = await startService(t, service.url, { tokens: [grantOf(['id', 'customer_id', 'note'])] })
  const narrow = await startService(t, service.url, { tokens: [grantOf(['customer_id', 'note'])] })
  t.equal((await before.post('orders', insert, { ...withKey('a'), token: OTHER })).status, 200)
  t.equal((await after.post('orders', insert, { ...withKey('a'), token: OTHER })).json.error.code, 'IDEMPOTENCY_KEY_REUSED')
  t.equal((await narrow.post('orders', insert, { ...withKey('a'), token: OTHER })).json.error.code, 'IDEMPOTENCY_KEY_REUSED')
  t.equal((await before.post('orders', insert, { ...withKey('a'), token: TOKEN })).json.data.id, 4)
})
