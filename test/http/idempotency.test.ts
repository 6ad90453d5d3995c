/**
 * The header Idempotency-Key: the same request has one effect and the same answer, whatever was lost on the way. Whose
 * a key is: a token's, a subject's of an issuer, or a caller's of an app.
 */
import Fastify from 'fastify'
import t from 'tap'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { type HostGrant, rowQuery } from '../../src/index.ts'
import { tokenOf } from '../grants/support.ts'
import { waiters } from '../support/connections.ts'
import { tokenFor } from '../support/documents.ts'
import { createPair, jwtSetting, serveKeys, sign } from '../support/issuer.ts'
import { errorPacket, type Proxy } from '../support/recorder.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Schema, type Service, sharedOnEachEngine, startService, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

const servers = ['mariadb', 'mysql'] as const
const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }
const notes = (id: string): string => `create table notes (id ${id}, tenant varchar(20), note varchar(20))`
const schema: Schema = {
  sqlite: [
    ...sqlite, ...CREATE.sqlite.split(';').map((sql) => sql.trim()).filter((sql) => sql !== ''),
    notes('integer primary key autoincrement'), 'create table large (id integer primary key, body text)'
  ],
  mysql: [
    ...mysql, CREATE.mysql, notes('bigint auto_increment primary key'),
    'create table large (id int not null primary key, body longtext)',
    'create table plain (id int not null primary key) engine = MyISAM'
  ]
}
const OTHER = 'another-token-that-may-do-everything-0123456789'
const tokens = [tokenOf(OTHER, {})]

const pair = await createPair('one')
const keySet = await serveKeys(t, [pair.jwk])
const OTHER_ISSUER = 'https://other.example.com'
const databases = { shop: { notes: { rows: { tenant: { $claim: '/tenant' } } } } }
const permissions = ['select' as const, 'insert' as const]
const options = {
  jwt: [jwtSetting({ jwks: keySet.url }), jwtSetting({ issuer: OTHER_ISSUER, jwks: keySet.url })],
  roles: {
    reader: { permissions, databases },
    clerk: { permissions, databases },
    auditor: { permissions: ['select' as const], databases }
  }
}

// requests that wait for others with their key take no connection
const settings = { schema, tokens, options, database: { pool: { size: 3, queue: 1 } } }
const test = sharedOnEachEngine(t, settings)

const insert = { verb: 'insert', data: { customer_id: 1, note: 'new' } }
const withKey = (key: string, headers: Record<string, string> = {}) => ({
  headers: { 'idempotency-key': key, ...headers }
})
const orders = async ({ sql }: Pick<Service, 'sql'>): Promise<number> =>
  Number((await sql('select count(*) as count from orders'))[0].count)
const keys = async ({ sql }: Pick<Service, 'sql'>): Promise<number> =>
  Number((await sql('select count(*) as count from row_query_keys'))[0].count)

await test('a request that is sent again has one effect and the same answer', async (t, service) => {
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
  const operations = [{ table: 'orders', ...insert }, {
    table: 'orders', verb: 'select', filters: { id: { $ref: '/0/id' } }, columns: ['note']
  }]
  const together = await operate(operations, withKey('c'))
  t.match(together.json.data, { results: [{ inserted: 1, id: 5 }, { rows: [{ note: 'new' }] }] })
  const replayed = await operate(operations, withKey('c'))
  t.equal(replayed.text, together.text)
  t.equal(replayed.headers['idempotency-replayed'], 'true')
  t.equal(await orders(service), 5)
})

await test('anything else under the key is refused', async (t, service) => {
  const { post, operate } = service
  await post('orders', insert, withKey('a'))
  const others: Array<() => ReturnType<typeof post>> = [
    () => post('orders', { verb: 'insert', data: { customer_id: 1, note: 'other' } }, withKey('a')),
    () => post('orders', `${JSON.stringify(insert)} `, withKey('a')),
    () => post('settings', { verb: 'insert', data: {} }, withKey('a')),
    () => operate([{ table: 'orders', ...insert }], withKey('a'))
  ]
  for (const other of others) {
    isRefusal(t, await other(), { status: 422, code: 'IDEMPOTENCY_KEY_REUSED', why: 'another request' })
  }
  t.equal(await orders(service), 3)
  t.match(
    (await post('orders', insert, { ...withKey('a'), token: OTHER })).json.data, { id: 4 },
    'the key of another token is another key'
  )
})

await test('the form of a key, and requests that have none', async (t, service) => {
  const { post, operate } = service
  for (const key of ['', ' ', 'a b', 'ä', 'x'.repeat(256), 'tab\t1']) {
    isRefusal(t, await post('orders', insert, withKey(key)), {
      status: 400, code: 'INVALID_IDEMPOTENCY_KEY', why: JSON.stringify(key)
    })
  }
  t.equal((await post('orders', insert, withKey('x'.repeat(255)))).status, 200)
  t.equal((await post('orders', { verb: 'select' }, withKey(''))).status, 200, 'ignored on reads')
  t.equal((await operate([{ table: 'orders', verb: 'select' }], withKey(''))).status, 200)
  isRefusal(t, await operate({ operations: [{ table: 'orders', ...insert }], dryRun: true }, withKey('d')), {
    status: 400, code: 'INVALID_BODY', why: 'a dry run'
  })
  isRefusal(t, await post('row_query_keys', { verb: 'select' }), {
    status: 404, code: 'TABLE_NOT_FOUND', why: 'the table is hidden'
  })
  isRefusal(t, await operate([{ table: 'ROW_QUERY_KEYS', verb: 'select' }]), {
    status: 404, code: 'TABLE_NOT_FOUND', why: 'the table is hidden'
  })
  t.equal(await keys(service), 1)
})

await test('only what was committed is kept', async (t, service) => {
  const { post, operate } = service
  const missing = { verb: 'insert', data: { customer_id: 99 } }
  isRefusal(t, await post('orders', missing, withKey('a')), {
    status: 409, code: 'FOREIGN_KEY_VIOLATION', why: 'no such customer'
  })
  isRefusal(t, await operate([{ table: 'orders', ...insert }, { table: 'orders', ...missing }], withKey('b')), {
    status: 409, code: 'FOREIGN_KEY_VIOLATION', why: 'no such customer'
  })
  t.equal(await keys(service), 0)
  t.equal((await post('orders', insert, withKey('a'))).status, 200, 'the key may be used for another request then')
  t.equal(await orders(service), 3)
})

await onEachEngine(t, 'it is authorized and planned before an answer is replayed', settings, async (t, service) => {
  const { post, sql, server, engine } = service
  await post('orders', insert, withKey('a'))
  await sql(engine === 'sqlite'
    ? 'alter table orders rename column note to remark'
    : 'alter table orders change note remark varchar(50)')
  await server.rows.refresh()
  isRefusal(t, await post('orders', insert, withKey('a')), {
    status: 503, code: 'DATABASE_UNAVAILABLE', why: 'the column is gone, for now'
  })
})

await test('equal requests at once have one effect; those that wait take no connection', async (t, service) => {
  const { post } = service
  const answers = await Promise.all(Array.from({ length: 20 }, () => post('orders', insert, withKey('a'))))
  t.same(new Set(answers.map(({ text }) => text)).size, 1)
  t.same(answers.filter(({ headers }) => headers['idempotency-replayed'] === 'true').length, 19)
  t.equal(await orders(service), 3)
  const mixed = await Promise.all([
    post('orders', insert, withKey('b')), post('orders', { verb: 'insert', data: { customer_id: 2 } }, withKey('b'))
  ])
  t.same(mixed.map(({ status }) => status).sort(), [200, 422])
})

await test('a request waits two seconds for another one with its key', async (t, service) => {
  const { post, sql, url } = service
  const other = await startService(t, url)
  await sql('begin')
  await sql('select * from customers where id = 1 for update')
  const update = { verb: 'update', data: { name: 'New' }, filters: { id: 1 } }
  const first = post('customers', update, withKey('a'))
  await until('it waits for the row', async () => (await waiters({ sql }, 'update `customers`')).length === 1)
  const [same, elsewhere] = await Promise.all([
    post('customers', update, withKey('a')), other.post('customers', update, withKey('a'))
  ])
  for (const [late, why] of [[same, 'in this process'], [elsewhere, 'in another one']] as const) {
    isRefusal(t, late, { status: 409, code: 'IDEMPOTENCY_IN_PROGRESS', why })
    t.equal(late.headers['retry-after'], '1')
  }
  await sql('rollback')
  t.same((await first).json.data, { updated: 1 })
  t.match(await Promise.all([post('customers', update, withKey('a')), other.post('customers', update, withKey('a'))]), [
    { status: 200, headers: { 'idempotency-replayed': 'true' } },
    { status: 200, headers: { 'idempotency-replayed': 'true' } }
  ])
}, servers)

await test('processes that use a key at once have one effect', async (t, service) => {
  const others = await Promise.all(Array.from({ length: 3 }, () => startService(t, service.url)))
  for (let round = 0; round < 3; round++) {
    const answers = await Promise.all([service, ...others].flatMap(
      ({ post }) => [post('orders', insert, withKey(`k${round}`)), post('orders', insert, withKey(`k${round}`))]
    ))
    t.same(answers.map(({ status }) => status), Array(8).fill(200))
    t.equal(new Set(answers.map(({ text }) => text)).size, 1)
  }
  t.equal(await orders(service), 5)
}, servers)

await test('an answer that was lost during COMMIT is looked up', async (t, service) => {
  const { post, proxy } = service as Service & { proxy: Proxy }
  let commits = 0
  proxy.onStatement = (sql) => {
    if (sql === 'commit' && commits++ === 0) proxy.cut()
    return undefined
  }
  isRefusal(t, await post('orders', insert, withKey('a')), {
    status: 502, code: 'OUTCOME_UNKNOWN', why: 'it did not arrive'
  })
  proxy.onStatement = () => undefined
  t.equal(await orders(service), 2)
  t.same((await post('orders', insert, withKey('a'))).json.data.inserted, 1, 'and may be sent again')
  proxy.onStatement = (sql) => {
    if (sql === 'commit') proxy.deaf = true
    return undefined
  }
  const request = post('orders', insert, withKey('b'))
  await until('it is committed', async () => await orders(service) === 4)
  proxy.onStatement = () => undefined
  proxy.deaf = false
  proxy.cut()
  const answer = await request
  t.match(
    answer, { status: 200, headers: { 'idempotency-replayed': 'true' }, json: { data: { inserted: 1 } } },
    'it was committed'
  )
  t.equal(await orders(service), 4)
}, servers)

await test('a deadlock runs it again', async (t, service) => {
  const { post, proxy } = service as Service & { proxy: Proxy }
  let failures = 2
  proxy.onStatement = (sql) => sql.startsWith('insert into `orders`') && failures-- > 0
    ? errorPacket(1213, '40001')
    : undefined
  t.equal((await post('orders', insert, withKey('a'))).status, 200)
  proxy.onStatement = () => undefined
  t.equal(await orders(service), 3)
}, servers)

await onEachEngine(t, 'without the table there are no keys', { schema: shop }, async (t, { post, sql }) => {
  const refused = await post('orders', insert, withKey('a'))
  isRefusal(t, refused, { status: 422, code: 'NOT_SUPPORTED', why: 'no table' })
  t.match(refused.json.error.details, [{ message: /row-query keys/ }])
  t.same(await sql('select count(*) as count from orders'), [{ count: 2 }])
})

await test('a table without transactions cannot be written with a key', async (t, { post }) => {
  isRefusal(t, await post('plain', { verb: 'insert', data: { id: 1 } }, withKey('a')), {
    status: 422, code: 'NOT_SUPPORTED', why: 'MyISAM'
  })
}, servers)

await test('an answer of more than a megabyte is not kept, and nothing happens', async (t, service) => {
  const { operate, post, sql } = service
  await post('large', { verb: 'insert', data: { id: 1, body: 'x'.repeat(600_000) } })
  const read = { table: 'large', verb: 'select' }
  isRefusal(t, await operate([{ table: 'orders', ...insert }, read, read], withKey('a')), {
    status: 422, code: 'RESULT_TOO_LARGE', why: 'two of them'
  })
  t.equal(await orders(service), 2)
  t.equal((await operate([{ table: 'orders', ...insert }, read], withKey('a'))).status, 200)
  t.match((await operate([{ table: 'orders', ...insert }, read], withKey('a'))).headers, {
    'idempotency-replayed': 'true'
  })
  t.equal((await sql('select id from large')).length, 1)
  t.equal(await orders(service), 3)
})

await test('what a grant sees belongs to the request', async (t, service) => {
  const grantOf = (columns?: string[]) => tokenOf(OTHER, {
    databases: { shop: { orders: columns === undefined ? {} : { columns: { select: columns } } } }
  })
  const before = await startService(t, service.url, { tokens: [grantOf()] })
  const after = await startService(t, service.url, { tokens: [grantOf(['id', 'customer_id', 'note'])] })
  const narrow = await startService(t, service.url, { tokens: [grantOf(['customer_id', 'note'])] })
  t.equal((await before.post('orders', insert, { ...withKey('a'), token: OTHER })).status, 200)
  t.equal(
    (await after.post('orders', insert, { ...withKey('a'), token: OTHER })).json.error.code, 'IDEMPOTENCY_KEY_REUSED'
  )
  t.equal(
    (await narrow.post('orders', insert, { ...withKey('a'), token: OTHER })).json.error.code, 'IDEMPOTENCY_KEY_REUSED'
  )
  t.equal((await before.post('orders', insert, { ...withKey('a'), token: TOKEN })).json.data.id, 4)
})

const note = { verb: 'insert', data: { note: 'new' } }

await test('the key of a JWT belongs to its issuer and subject', async (t, { post, sql }) => {
  const send = async (claims: Record<string, unknown>) =>
    await post('notes', note, { headers: withKey('a').headers, token: await sign(pair, { tenant: 'acme', ...claims }) })
  t.match((await send({})).json.data, { id: 1 })
  for (const claims of [{ exp: 4_000_000_000 }, { role: ['clerk'] }, { jti: 'another token', name: 'Ada' }]) {
    const again = await send(claims)
    t.match(
      [again.json.data, again.headers['idempotency-replayed']], [{ id: 1 }, 'true'],
      `another token of the subject: ${JSON.stringify(claims)}`
    )
  }
  t.match((await send({ sub: 'user-2' })).json.data, { id: 2 }, 'another subject')
  t.match((await send({ iss: OTHER_ISSUER })).json.data, { id: 3 }, 'the same subject of another issuer')
  isRefusal(t, await send({ tenant: 'zeta' }), {
    status: 422, code: 'IDEMPOTENCY_KEY_REUSED', why: 'claims that a rule uses are a part of the request'
  })
  isRefusal(t, await send({ role: 'auditor' }), {
    status: 403, code: 'PERMISSION_DENIED', why: 'it is authorized anew'
  })
  t.same((await sql('select tenant from notes order by id')).map(({ tenant }) => tenant), ['acme', 'acme', 'acme'])
})

await test('a JWT without a subject cannot use keys', async (t, { post, sql }) => {
  for (const sub of [undefined, '', null, 7, ['user-1']]) {
    const token = await sign(pair, { tenant: 'acme', sub })
    isRefusal(t, await post('notes', note, { headers: withKey('a').headers, token }), {
      status: 422, code: 'NOT_SUPPORTED', why: JSON.stringify(sub) ?? 'no sub'
    })
    t.match(
      await post('notes', { verb: 'select' }, { headers: withKey('a').headers, token }), { status: 200 },
      'which are ignored on reads'
    )
  }
  t.equal((await sql('select id from notes')).length, 0)
})

await test('a token and a caller of an app with the same name have keys of their own', async (t, { url }) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(rowQuery, {
    databases: { shop: { url } },
    tokens: [tokenFor('ada', ['insert'])],
    authenticate: ({ headers }): HostGrant => ({
      name: String(headers['x-user']), permissions: ['insert'], databases: '*'
    })
  })
  const idOf = async (more: Record<string, string>): Promise<number> => (await app.inject({
    method: 'POST', url: '/shop/notes', headers: { 'idempotency-key': 'a', ...more }, payload: note
  })).json().data.id
  t.equal(await idOf({ authorization: 'Bearer ada' }), 1)
  t.equal(await idOf({ 'x-user': 'ada' }), 2)
  t.equal(await idOf({ 'x-user': 'grace' }), 3)
  t.same([await idOf({ 'x-user': 'ada' }), await idOf({ authorization: 'Bearer ada' })], [2, 1])
})
