/** Named requests and who calls them: JWTs, pages of other origins, tokens that are replaced; and where they read. */
import t from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { createPair, jwtSetting, serveKeys, sign } from '../support/issuer.ts'
import { anyEngine } from '../support/rotation.ts'
import { startService, sharedOnEachEngine } from '../support/service.ts'

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
const find = {
  database: 'shop',
  table: 'things',
  as: 'front',
  parameters: { id: { optional: true } },
  body: { verb: 'select' as const, columns: ['name'], orderBy: 'id', filters: { id: { $param: 'id' } } }
}
const add = {
  database: 'shop',
  table: 'things',
  as: 'front',
  parameters: { id: {}, tenant: {} },
  body: { verb: 'insert' as const, data: { id: { $param: 'id' }, tenant: { $param: 'tenant' } } }
}
const own = {
  database: 'shop', table: 'things', parameters: {}, body: { verb: 'select' as const, columns: ['name'], orderBy: 'id' }
}
const requests = { find, add, own }
const pair = await createPair('one')
const keys = await serveKeys(t, [pair.jwk])
const ORIGIN = 'https://www.example.com'

const on = sharedOnEachEngine(t, {
  only: await anyEngine(t),
  schema,
  tokens: [{ name: 'website', sha256: hashToken('website'), requests: ['find'], claims: { tenant: 2 } }],
  options: {
    jwt: [jwtSetting({ jwks: keys.url })], roles, requests, cors: { origins: [ORIGIN] }, failedLogins: { max: 0 }
  }
})

type Service = Pick<Awaited<ReturnType<typeof startService>>, 'server'>

async function call ({ server }: Service, name: string, token: string, {
  method = 'POST' as 'GET' | 'POST' | 'OPTIONS', headers = {}, body = {} as object
} = {}) {
  const answer = await server.app.inject({
    method,
    url: `/api/requests/${name}`,
    headers: { authorization: `Bearer ${token}`, ...headers },
    ...method === 'POST' && { payload: body }
  })
  const json = answer.body === '' ? {} : answer.json()
  return {
    status: answer.statusCode,
    headers: answer.headers,
    result: json.error?.code ?? json.data?.rows?.map(({ name }: { name: string }) => name).join() ?? json.data
  }
}

await on('a JWT calls what its role names, with its own claims; a role of ' +
  'requests is none of a JWT', async (t, service) => {
  const result = async (name: string, claims: object, body: object = {}): Promise<unknown> =>
    (await call(service, name, await sign(pair, claims as never), { body })).result
  t.equal(await result('find', { role: 'visitor', tenant: 1 }), 'one')
  t.equal(await result('find', { role: 'visitor', tenant: 2 }), 'two')
  t.equal(await result('find', { role: 'visitor' }), 'PERMISSION_DENIED', 'a claim that the rules need')
  t.equal(await result('find', { role: 'visitor', tenant: { $gt: 0 } }), 'PERMISSION_DENIED')
  t.equal(await result('add', { role: 'visitor', tenant: 1 }, { id: 3, tenant: 1 }), 'REQUEST_NOT_FOUND')
  t.equal(
    await result('add', { role: 'everything', tenant: 1 }, { id: 3, tenant: 2 }), 'PERMISSION_DENIED',
    'a value that breaks its rules'
  )
  t.match(await result('add', { role: 'everything', tenant: 1 }, { id: 3, tenant: 1 }), { inserted: 1 })
  t.equal(await result('find', { role: 'clerk', tenant: 1 }), 'REQUEST_NOT_FOUND')
  t.equal(await result('own', { role: 'clerk' }), 'one,two,', 'with its own rights')
  t.equal(await result('own', { role: 'visitor', tenant: 1 }), 'REQUEST_NOT_FOUND')
  t.equal(await result('find', { role: 'front', tenant: 1 }), 'PERMISSION_DENIED', 'no role of a JWT')
})

await on('a page of an origin that CORS allows calls by GET and reads the answer', async (t, service) => {
  const asked = {
    origin: ORIGIN,
    'access-control-request-method': 'GET',
    'access-control-request-headers': 'authorization,row-query-consistency'
  }
  const preflight = await call(service, 'find', 'website', { method: 'OPTIONS', headers: asked })
  t.match(preflight, {
    status: 204, headers: { 'access-control-allow-origin': ORIGIN, 'access-control-allow-methods': /\bGET\b/ }
  })
  const { headers, result } = await call(service, 'find', 'website', { method: 'GET', headers: { origin: ORIGIN } })
  t.equal(result, 'two')
  t.equal(headers['access-control-allow-origin'], ORIGIN)
  t.match(headers['access-control-expose-headers'], /etag/i)
  t.match(headers['vary'], /Authorization, Row-Query-Consistency/)
  t.match(headers['vary'], /Origin/i)
  t.equal((await call(service, 'find', 'website', {
    method: 'GET', headers: { origin: 'https://other.example' }
  })).headers['access-control-allow-origin'], undefined)
})

for (const engine of await engines()) {
  t.test(`those that read are answered by a replica, unless they ask for the primary (${engine.name})`, async (t) => {
    const [primary, replica] = await Promise.all(['primary', 'replica'].map(
      (name) => createTestDatabase(engine, [schema()[0] as string, `insert into things values (1, '${name}', 1)`])
    ))
    if (primary === undefined || replica === undefined) throw new Error('two databases are needed')
    t.teardown(async () => { for (const database of [primary, replica]) await database.drop() })
    const both = {
      database: 'shop',
      as: 'front',
      body: { operations: [{ table: 'things', verb: 'select' as const, columns: ['name'] }] }
    }
    const service = await startService(t as never, primary.url, {
      database: { replicas: [replica.url] },
      tokens: [{ name: 'website', sha256: hashToken('website'), requests: '*', claims: { tenant: 1 } }],
      options: { roles, requests: { ...requests, both } }
    })
    for (const method of ['GET', 'POST'] as const) {
      t.equal((await call(service, 'find', 'website', { method })).result, 'replica')
      t.equal(
        (await call(service, 'find', 'website', { method, headers: { 'row-query-consistency': 'primary' } })).result,
        'primary'
      )
      t.match((await call(service, 'both', 'website', { method })).result, {
        results: [{ rows: [{ name: 'replica' }] }]
      })
      t.match(
        (await call(service, 'both', 'website', { method, headers: { 'row-query-consistency': 'primary' } })).result,
        { results: [{ rows: [{ name: 'primary' }] }] }
      )
      t.match(await call(service, 'find', 'website', { method, headers: { 'row-query-consistency': 'newest' } }), {
        status: 400
      })
    }
    t.match((await call(service, 'add', 'website', { body: { id: 2, tenant: 1 } })).result, { inserted: 1 })
    t.match(await primary.query('select id from things where id = 2'), [{ id: 2 }])
    t.match(await service.server.rows.request('find', {}, {
      grant: { requests: '*', claims: { tenant: 1 } }, consistency: 'primary'
    }), { rows: [{ name: 'primary' }, {}] })
  })
}
