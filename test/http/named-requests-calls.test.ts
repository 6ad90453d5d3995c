/**
 * Named requests beside other features: keys, the hook for writes, the log and metrics, grants that are replaced, calls
 * in process and of the client.
 */
import type { AddressInfo } from 'node:net'
import Fastify from 'fastify'
import t from 'tap'
import { createClient } from '../../src/client/index.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { createRowQuery, type WriteEvent } from '../../src/index.ts'
import { callerOf, define, optional, param } from '../support/named-requests.ts'
import { anyEngine } from '../support/rotation.ts'
import { onEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const schema = {
  sqlite: [
    ...shop.sqlite, ...CREATE.sqlite.split(';').map((sql) => sql.trim()).filter((sql) => sql !== ''),
    'create table things (id bigint primary key, name varchar(20))'
  ],
  mysql: [...shop.mysql, CREATE.mysql, 'create table things (id bigint primary key, name varchar(20))']
}
const roles = {
  front: {
    for: 'requests' as const,
    permissions: ['select' as const, 'insert' as const],
    databases: { shop: { things: {}, customers: {} } }
  }
}
const asFront = { as: 'front' }
const [id, ids, name] = ['id', 'ids', 'name'].map(param)
const add = define('things', { verb: 'insert', data: { id, name } }, {
  ...asFront, parameters: { name: { default: null } }
})
/** Another definition of the same request. */
const body = { verb: 'insert' as const, data: { id, name: 'other' } }
const shown = { verb: 'select', columns: ['id', 'name'], orderBy: 'id' }
const find = define('things', { ...shown, filters: { id: { $in: ids } } }, asFront)
const both = define(undefined, {
  operations: [
    { table: 'things', verb: 'insert', data: { id } },
    { table: 'things', verb: 'select', columns: ['id'], filters: { id } }
  ]
}, asFront)
const tokens = [callerOf('website'), callerOf('other')]
/** Configurations have large integers as bigints. */
const exact = define('things', { ...shown, filters: { id: { $in: ids, $gte: param('least') } } }, {
  ...asFront, parameters: { ids: { default: [9007199254740993n] }, least: { default: 9007199254740993n } }
})
const requests = { add, find, both, exact }

const website = { token: 'website' }

await onEachEngine(t, 'beside other features', {
  only: await anyEngine(t),
  schema,
  tokens,
  options: { roles, requests, metrics: true, requestLog: true }
}, async (t, service) => {
  const { server, sql, log, call } = service
  await t.test('a key makes a call have one effect, for its caller and its request', async (t) => {
    const headers = { 'idempotency-key': 'k1' }
    t.match((await call('add', { id: 1 }, { ...website, headers })).json, { data: { inserted: 1 } })
    const again = await call('add', { id: 1 }, { ...website, headers })
    t.match(again, { status: 200, json: { data: { inserted: 1 } }, headers: { 'idempotency-replayed': 'true' } })
    t.match((await call('add', { id: 2 }, { ...website, headers })).json.error, { code: 'IDEMPOTENCY_KEY_REUSED' })
    t.match((await call('both', { id: 1 }, { ...website, headers })).json.error, { code: 'IDEMPOTENCY_KEY_REUSED' })
    t.match((await call('add', { id: 3 }, { token: 'other', headers })).json, { data: { inserted: 1 } })
    t.match((await call('find', { ids: [1] }, { ...website, headers })).json.data.count, 1, 'a read ignores it')
    const others = { ...requests, add: { ...add, parameters: { id: {} }, body } }
    server.rows.replaceGrants({ tokens, roles, requests: others })
    const redefined = await call('add', { id: 1 }, { ...website, headers })
    t.match(redefined, { json: { data: { inserted: 1 } }, headers: { 'idempotency-replayed': 'true' } })
    server.rows.replaceGrants({ tokens, roles, requests })
    await sql('delete from things')
  })

  await t.test('the log has the name of the request and no value, and metrics only known names', async (t) => {
    log.splice(0)
    for (const [name, id] of [['find', 4711], ['nothing', 4711], ['find', 'x4711']] as const) {
      await call(name, { ids: [id] }, website)
    }
    const lines = log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'request')
    t.match(lines, [
      { request: 'find', verb: 'select', database: 'shop', table: 'things', token: 'website', status: 200 },
      { status: 404 }, { request: 'find', status: 400 }
    ])
    t.equal(lines[1].request, undefined)
    await call('find?ids=4711', undefined, website)
    await call('find?ids=x4711', undefined, website)
    await call('find?ids=4711', undefined, { token: null })
    t.notMatch(log.join(), /4711/)
    const text = await server.rows.registry.metrics()
    t.match(text, /row_query_named_requests_total\{request="find",status="200"\} \d/)
    t.match(text, /row_query_named_request_duration_seconds_count\{request="find"\} \d/)
    t.notMatch(text, /request="nothing"/)
  })

  await t.test('a program calls them without HTTP, exact to 64 bits', async (t) => {
    const grant = { requests: ['add', 'find', 'both'] }
    t.same(await server.rows.request('add', { id: 9007199254740993n, name: 'x' }, { grant }), {
      inserted: 1, id: 9007199254740993n
    })
    t.same((await server.rows.request('find', { ids: [9007199254740993n] }, { grant })).rows, [
      { id: 9007199254740993n, name: 'x' }
    ])
    t.same((await server.rows.request('find', { ids: ['9007199254740993'] }, {
      grant, bigints: 'string', consistency: 'primary'
    })).rows, [{ id: '9007199254740993', name: 'x' }])
    t.same(
      (await server.rows.request('exact', {}, { grant: { requests: '*' } })).rows,
      [{ id: 9007199254740993n, name: 'x' }], 'a default keeps all its digits'
    )
    t.same((await server.rows.request('both', { id: 9007199254740995n }, { grant })).results[1].rows, [
      { id: 9007199254740995n }
    ])
    await t.rejects(server.rows.request('find', { ids: [1] }, { grant: { permissions: ['select'] } }), {
      code: 'REQUEST_NOT_FOUND'
    })
    await t.rejects(server.rows.request('nothing', {}, { grant }), { code: 'REQUEST_NOT_FOUND' })
    await t.rejects(server.rows.request('find', {}, { grant }), { code: 'INVALID_BODY' })
    await t.rejects(server.rows.request('find', { ids: [Symbol('x')] as never }, { grant }), { code: 'INVALID_BODY' })
    await t.rejects(server.rows.request('find', { ids: [1] }, { grant, dryRun: true } as never), {
      code: 'INVALID_BODY'
    })
    await t.rejects(server.rows.execute({ database: 'shop', table: 'things', body: { verb: 'select' }, grant }), {
      code: 'DATABASE_NOT_FOUND'
    })
    await sql('delete from things')
  })

  await t.test('the client calls them by POST and by GET', async (t) => {
    await server.app.listen({ host: '127.0.0.1', port: 0 })
    const client = createClient({
      url: `http://127.0.0.1:${(server.app.server.address() as AddressInfo).port}/api`, token: 'website'
    })
    t.same(await client.request('add', { id: 2n ** 53n + 1n, name: 'a&b=ü+' }), { inserted: 1, id: 2n ** 53n + 1n })
    t.same((await client.request('find', { ids: [2n ** 53n + 1n, 5] }, { method: 'GET' })).rows, [
      { id: 2n ** 53n + 1n, name: 'a&b=ü+' }
    ])
    t.same((await client.request('find', { ids: [] })).count, 0)
    await t.rejects(client.request('find', { ids: [] }, { method: 'GET' }), { code: 'INVALID_BODY' })
    await t.rejects(client.request('find', { ids: null }, { method: 'GET' }), { code: 'INVALID_BODY' })
    await t.rejects(client.request('add', { id: 1 }, { method: 'GET' }), { code: 'METHOD_NOT_ALLOWED' })
    await t.rejects(client.request('find', { verb: 'select', operations: 1 }), {
      code: 'INVALID_BODY', details: [{ path: '/verb' }]
    })
  })
})

t.test('the hook for writes gets the name of the request, and the values in place', async (t) => {
  const writes: WriteEvent[] = []
  const rows = createRowQuery({
    databases: {
      shop: {
        url: 'sqlite::memory:', setup: ['create table things (id bigint primary key, name varchar(20), meta json)']
      }
    },
    roles,
    requests: {
      ...requests,
      meta: define('things', { verb: 'insert', data: { id, meta: param('meta'), name: param('other') } }, {
        ...asFront, parameters: { other: optional }
      }),
      clear: define('things', { verb: 'delete', filters: { id: { $in: ids }, name: { $ne: name } } })
    },
    onWrite: (write) => { writes.push(write) }
  })
  const app = Fastify()
  await app.register(rows.plugin)
  await app.ready()
  t.teardown(() => app.close())
  const grant = { name: 'page', claims: { tenant: 7 }, requests: '*' as const, permissions: ['delete' as const] }
  await rows.request('meta', { id: 2n ** 60n, meta: { $gt: 0, value: 'x' } }, { grant })
  await rows.request('both', { id: 5 }, { grant })
  await rows.request('clear', { ids: [1, 2n ** 60n], name: 'x' }, { grant })
  await rows.execute({ database: 'shop', table: 'things', body: { verb: 'delete', filters: { id: 5 } }, grant })
  t.same(writes.map(({ request, data, filters }) => ({ request, data, filters })), [
    { request: 'meta', data: { id: 2n ** 60n, meta: { $gt: 0, value: 'x' } }, filters: undefined },
    { request: 'both', data: { id: 5 }, filters: undefined },
    { request: 'clear', data: undefined, filters: { id: { $in: [1, 2n ** 60n] }, name: { $ne: 'x' } } },
    { request: undefined, data: undefined, filters: { id: 5 } }
  ])
  for (const { grant: { name, claims }, tx } of writes) {
    t.same([name, claims], ['page', { tenant: 7 }], 'its caller, not the role')
    t.notOk('request' in tx)
  }
  await rows.transaction('shop', async (tx) => { t.notOk('request' in tx, 'no named requests in transactions') })
})

t.test('requests are replaced together with tokens and roles, all or none; the path is ' +
  'that of the start', async (t) => {
  const databases = {
    shop: { url: 'sqlite::memory:', setup: ['create table things (id bigint primary key, name varchar(20))'] }
  }
  // a tool whose request is gone is no error
  const rows = createRowQuery({ databases, tokens, roles, requests, mcp: { requests: ['find'] } })
  const app = Fastify()
  await app.register(rows.plugin, { prefix: '/api' })
  await app.ready()
  t.teardown(() => app.close())
  const status = async (name: string, target = app): Promise<string> => {
    const answer = await target.inject({
      method: 'POST',
      url: `/api/requests/${name}`,
      headers: { authorization: 'Bearer website' },
      payload: { ids: [1] }
    })
    return answer.json().error?.code ?? 'done'
  }
  t.same([await status('find'), await status('seek')], ['done', 'REQUEST_NOT_FOUND'])
  rows.replaceGrants({ tokens, roles, requests: { seek: find } })
  t.same([await status('find'), await status('seek')], ['REQUEST_NOT_FOUND', 'done'])
  t.throws(() => rows.replaceGrants({ tokens, roles, requests: { find, broken: { ...find, as: 'nobody' } } }))
  t.same([await status('find'), await status('seek')], ['REQUEST_NOT_FOUND', 'done'])
  const running = rows.request('seek', { ids: [1] }, { grant: { requests: '*' } })
  rows.replaceGrants({ tokens, roles })
  t.match(await running, { rows: [] }, 'a call that runs ends as it began')
  t.same(await status('seek'), 'REQUEST_NOT_FOUND')

  const without = createRowQuery({ databases, tokens: [], roles })
  const other = Fastify()
  await other.register(without.plugin, { prefix: '/api' })
  t.teardown(() => other.close())
  await other.ready()
  without.replaceGrants({ tokens, roles, requests })
  t.equal(await status('find', other), 'DATABASE_NOT_FOUND', 'a database may be called "requests"')
})

t.test('a host app may parse query strings in its own way, and its grants name requests', async (t) => {
  const rows = createRowQuery({
    databases: {
      shop: { url: 'sqlite::memory:', setup: ['create table things (id int primary key, name varchar(20))'] }
    },
    roles,
    requests: { find },
    authenticate: async ({ headers }) => headers['x-user'] === undefined
      ? null
      : { name: 'ada', requests: headers['x-user'] === 'ada' ? ['find'] : [] }
  })
  const app = Fastify({
    routerOptions: { querystringParser: (text) => ({ ids: [`parsed ${text}`], other: { $gt: 0 } }) }
  })
  await app.register(rows.plugin, { prefix: '/api' })
  t.teardown(() => app.close())
  const get = async (query: string, user = 'ada') => {
    const { statusCode, body } = await app.inject({ url: `/api/requests/find${query}`, headers: { 'x-user': user } })
    return [statusCode, JSON.parse(body).error?.code ?? 'done']
  }
  t.same(await get('?ids=1&ids=2'), [200, 'done'])
  t.same(await get('?ids[$gt]=0'), [400, 'INVALID_BODY'])
  t.same(await get(''), [400, 'INVALID_BODY'])
  t.same(await get('?ids=1', 'grace'), [404, 'REQUEST_NOT_FOUND'])
})

t.test('rate limits are those of the caller, and a page keeps no refusal', async (t) => {
  const rows = createRowQuery({
    databases: {
      shop: { url: 'sqlite::memory:', setup: ['create table things (id int primary key, name varchar(20))'] }
    },
    tokens,
    roles,
    requests: { find },
    rateLimit: { max: 2 }
  })
  const app = Fastify()
  await app.register(rows.plugin, { prefix: '/api' })
  t.teardown(() => app.close())
  const get = async (token: string, method: 'GET' | 'HEAD' = 'GET') => {
    const headers = { authorization: `Bearer ${token}` }
    const answer = await app.inject({ method, url: '/api/requests/find?ids=1', headers })
    return [answer.statusCode, answer.headers['cache-control']]
  }
  for (let time = 0; time < 2; time++) t.same(await get('website'), [200, 'private, no-cache'])
  t.same(await get('website'), [429, 'no-store'])
  t.same(await get('website', 'HEAD'), [429, 'no-store'])
  t.same(await get('other'), [200, 'private, no-cache'], 'another one with the same role')
})
