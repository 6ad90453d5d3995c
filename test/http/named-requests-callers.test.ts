/** Named requests and who calls them: JWTs, pages of other origins, tokens that are replaced; and where they read. */
import t from 'tap'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { createPair, jwtSetting, serveKeys, sign } from '../support/issuer.ts'
import { callerOf, define, optional, param } from '../support/named-requests.ts'
import { anyEngine } from '../support/rotation.ts'
import { type Answer, startService, sharedOnEachEngine } from '../support/service.ts'

const schema = () => [
  'create table things (id int primary key, name varchar(20), tenant int)',
  "insert into things values (1, 'one', 1), (2, 'two', 2)"
]
const roles = {
  front: {
    for: 'requests' as const,
    permissions: ['select' as const, 'insert' as const],
    databases: { shop: { things: { rows: { tenant: { $claim: '/tenant' } } } } }
  },
  visitor: { requests: ['find'] },
  everything: { requests: '*' as const },
  clerk: { permissions: ['select' as const], databases: '*' as const }
}
const names = { verb: 'select', columns: ['name'] }
const requests = {
  find: define('things', { ...names, orderBy: 'id', filters: { id: param('id') } }, {
    as: 'front', parameters: { id: optional }
  }),
  add: define('things', { verb: 'insert', data: { id: param('id'), tenant: param('tenant') } }, { as: 'front' }),
  own: define('things', { ...names, orderBy: 'id' })
}
const pair = await createPair('one')
const keys = await serveKeys(t, [pair.jwk])
const ORIGIN = 'https://www.example.com'

const on = sharedOnEachEngine(t, {
  only: await anyEngine(t),
  schema,
  tokens: [callerOf('website', ['find'], { tenant: 2 })],
  options: {
    jwt: [jwtSetting({ jwks: keys.url })], roles, requests, cors: { origins: [ORIGIN] }, failedLogins: { max: 0 }
  }
})

/** The code, the names of the rows, or the data. */
const resultOf = ({ json: { data, error } }: Answer): unknown =>
  error?.code ?? data.rows?.map(({ name }: { name: string }) => name).join() ?? data

await on('a JWT calls what its role names, with its own claims; a role of ' +
  'requests is none of a JWT', async (t, { call }) => {
  for (const [claims, name, given, result, why] of [
    [{ role: 'visitor', tenant: 1 }, 'find', {}, 'one'],
    [{ role: 'visitor', tenant: 2 }, 'find', {}, 'two'],
    [{ role: 'visitor' }, 'find', {}, 'PERMISSION_DENIED', 'a claim that the rules need'],
    [{ role: 'visitor', tenant: { $gt: 0 } }, 'find', {}, 'PERMISSION_DENIED'],
    [{ role: 'visitor', tenant: 1 }, 'add', { id: 3, tenant: 1 }, 'REQUEST_NOT_FOUND'],
    [{ role: 'everything', tenant: 1 }, 'add', { id: 3, tenant: 2 }, 'PERMISSION_DENIED', 'a value that breaks a rule'],
    [{ role: 'everything', tenant: 1 }, 'add', { id: 3, tenant: 1 }, { inserted: 1 }],
    [{ role: 'clerk', tenant: 1 }, 'find', {}, 'REQUEST_NOT_FOUND'],
    [{ role: 'clerk' }, 'own', {}, 'one,two,', 'with its own rights'],
    [{ role: 'visitor', tenant: 1 }, 'own', {}, 'REQUEST_NOT_FOUND'],
    [{ role: 'front', tenant: 1 }, 'find', {}, 'PERMISSION_DENIED', 'no role of a JWT']
  ] as const) {
    const token = await sign(pair, claims as never)
    t.match(resultOf(await call(name, given, { token })), result, why ?? JSON.stringify([claims, name]))
  }
})

await on('a page of an origin that CORS allows calls by GET and reads the answer', async (t, { call }) => {
  const ask = (headers: Record<string, string>, method: 'GET' | 'OPTIONS' = 'GET') =>
    call('find', undefined, { token: 'website', method, headers })
  t.match(await ask({
    origin: ORIGIN,
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'authorization,row-query-consistency'
  }, 'OPTIONS'), {
    status: 204, headers: { 'access-control-allow-origin': ORIGIN, 'access-control-allow-methods': /\bGET\b/ }
  })
  const answer = await ask({ origin: ORIGIN })
  t.equal(resultOf(answer), 'two')
  t.match(answer.headers, { 'access-control-allow-origin': ORIGIN, 'access-control-expose-headers': /etag/i })
  t.match(answer.headers['vary'], /Authorization, Row-Query-Consistency/)
  t.match(answer.headers['vary'], /Origin/i)
  t.notOk('access-control-allow-origin' in (await ask({ origin: 'https://other.example' })).headers)
})

for (const engine of await engines()) {
  t.test(`those that read are answered by a replica, unless they ask for the primary (${engine.name})`, async (t) => {
    const [primary, replica] = await Promise.all(['primary', 'replica'].map(
      (name) => createTestDatabase(engine, [schema()[0] as string, `insert into things values (1, '${name}', 1)`])
    ))
    if (primary === undefined || replica === undefined) throw new Error('two databases are needed')
    t.teardown(async () => { for (const database of [primary, replica]) await database.drop() })
    const both = define(undefined, { operations: [{ table: 'things', ...names }] }, { as: 'front' })
    const { call, server } = await startService(t as never, primary.url, {
      database: { replicas: [replica.url] },
      tokens: [callerOf('website', '*', { tenant: 1 })],
      options: { roles, requests: { ...requests, both } }
    })
    for (const method of ['GET', 'POST'] as const) {
      const ask = (name: string, headers = {}) =>
        call(name, method === 'GET' ? undefined : {}, { token: 'website', headers })
      for (const [headers, name] of [[{}, 'replica'], [{ 'row-query-consistency': 'primary' }, 'primary']] as const) {
        t.equal(resultOf(await ask('find', headers)), name)
        t.match(resultOf(await ask('both', headers)), { results: [{ rows: [{ name }] }] })
      }
      t.equal((await ask('find', { 'row-query-consistency': 'newest' })).status, 400)
    }
    t.match(resultOf(await call('add', { id: 2, tenant: 1 }, { token: 'website' })), { inserted: 1 })
    t.match(await primary.query('select id from things where id = 2'), [{ id: 2 }])
    t.match(await server.rows.request('find', {}, {
      grant: { requests: '*', claims: { tenant: 1 } }, consistency: 'primary'
    }), { rows: [{ name: 'primary' }, {}] })
  })
}
