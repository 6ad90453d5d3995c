/**
 * The function `authenticate` of a host app, beside tokens and instead of them; the apps with their own authentication
 * in docs/plugin.md and docs/host-grants.md, as they stand there.
 */
import { createSecretKey } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { type Authenticate, type HostGrant, rowQuery, type RowQueryOptions } from '../../src/index.ts'
import { tokenFor } from '../support/documents.ts'
import { createPair, jwtSetting, serveKeys, sign } from '../support/issuer.ts'
import { codeBlocks, readDocument } from '../support/markdown.ts'
import { isRefusal } from '../support/refusals.ts'
import { anyEngine } from '../support/rotation.ts'
import { type Answer, onEachEngine, type Service, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const select = { verb: 'select', columns: ['id'], orderBy: 'id' }
const everything: HostGrant = { name: 'ada', permissions: ['select'], databases: '*' }

interface Host {
  ask (headers: Record<string, string>, body?: unknown, path?: string): Promise<Answer>,
  readonly log: any[],
  readonly calls: () => number
}

/** An app whose function answers by the header `x-user`. */
async function start (
  t: Test, { url }: Pick<Service, 'url'>, authenticate: Authenticate, options: Partial<RowQueryOptions> = {}
): Promise<Host> {
  const log: any[] = []
  let calls = 0
  const app = Fastify({ logger: { stream: { write: (line: string) => { log.push(JSON.parse(line)) } } } })
  t.teardown(() => app.close())
  await app.register(rowQuery, {
    prefix: '/api',
    databases: { shop: { url } },
    authenticate: (request) => {
      calls++
      return authenticate(request)
    },
    ...options
  })
  return {
    log,
    calls: () => calls,
    async ask (headers, body = select, path = '/api/shop/customers') {
      const response = await app.inject({
        method: 'POST',
        url: path,
        headers: { 'content-type': 'application/json', ...headers },
        payload: typeof body === 'string' ? body : JSON.stringify(body)
      })
      return { status: response.statusCode, headers: response.headers, text: response.body, json: response.json() }
    }
  }
}

const byUser = (grants: Record<string, HostGrant>) =>
  async ({ headers }: FastifyRequest) => grants[String(headers['x-user'])] ?? null

const only = await anyEngine(t)
const testShop = sharedOnEachEngine(t, { schema: shop, only })

await testShop('the function of the app authenticates requests, without any tokens', async (t, service) => {
  const { ask } = await start(t as Test, service, byUser({
    ada: everything,
    grace: {
      name: 'grace',
      permissions: ['select', 'insert'],
      databases: {
        shop: {
          settings: {},
          orders: {
            permissions: ['select'], columns: { select: ['id'] }, rows: { customer_id: { $claim: '/customer' } }
          }
        }
      },
      claims: { customer: 2 }
    }
  }))
  t.match(await ask({ 'x-user': 'ada' }), { status: 200, json: { data: { count: 4 } } })
  isRefusal(t as Test, await ask({ 'x-user': 'ada' }, { verb: 'insert', data: {} }), {
    status: 403, code: 'PERMISSION_DENIED', why: 'a verb that the grant lacks'
  })
  t.match(await ask({ 'x-user': 'grace' }, { verb: 'insert', data: {} }, '/api/shop/settings'), { status: 200 })
  t.match(await ask({ 'x-user': 'grace' }, { verb: 'select' }, '/api/shop/orders'), {
    status: 200, json: { data: { rows: [{ id: 2 }], count: 1 } }
  })
  isRefusal(t as Test, await ask({ 'x-user': 'grace' }), {
    status: 404, code: 'TABLE_NOT_FOUND', why: 'a table that the grant lacks'
  })
  isRefusal(t as Test, await ask({ 'x-user': 'grace' }, select, '/api/nope/x'), {
    status: 404, code: 'DATABASE_NOT_FOUND', why: 'a database that is not there'
  })
})

await testShop('a request that the app does not know is refused before ' +
  'anything else is checked', async (t, service) => {
  for (const nothing of [null, undefined]) {
    const { ask } = await start(t as Test, service, async () => nothing)
    for (const path of ['/api/shop/customers', '/api/nope/nope', '/api/nope']) {
      const answer = await ask({}, 'no JSON', path)
      isRefusal(t as Test, answer, { status: 401, code: 'UNAUTHENTICATED', why: path })
      t.equal(answer.headers['www-authenticate'], 'Bearer')
      t.equal(
        (await ask({ authorization: 'Bearer unknown' }, 'no JSON', path)).headers['www-authenticate'],
        'Bearer error="invalid_token"'
      )
    }
  }
})

const pair = await createPair('one')
const keys = await serveKeys(t, [pair.jwk])
const roles = { nobody: { permissions: ['select' as const], databases: {} } }

await testShop('a thenable that resolves to nothing is a caller that the app does not know', async (t, service) => {
  const thenable = (given: unknown): Promise<HostGrant> =>
    ({ then (resolve: (value: unknown) => void) { resolve(given) } }) as Promise<HostGrant>
  const found = new Map([['ada', everything]])
  const { ask } = await start(t as Test, service, ({ headers }) =>
    thenable(headers['x-user'] === 'null' ? null : found.get(String(headers['x-user']))))
  isRefusal(t as Test, await ask({}), { status: 401, code: 'UNAUTHENTICATED', why: 'undefined' })
  isRefusal(t as Test, await ask({ 'x-user': 'null' }), { status: 401, code: 'UNAUTHENTICATED', why: 'null' })
  t.match(await ask({ 'x-user': 'ada' }), { status: 200 }, 'a grant')
}, ['sqlite'])

await testShop('tokens and JWTs are tried before the function', async (t, service) => {
  const { ask, calls } = await start(t as Test, service, byUser({ ada: everything }), {
    tokens: [tokenFor('orders-only', ['select'], { shop: ['orders'] })],
    jwt: [jwtSetting({ jwks: keys.url })],
    roles,
    failedLogins: { max: 3 }
  })
  const user = { 'x-user': 'ada' }
  t.match(await ask({ ...user, authorization: 'Bearer orders-only' }), { status: 404 }, 'the grant of the token')
  t.match(
    await ask({ ...user, authorization: `Bearer ${await sign(pair, { role: 'nobody' })}` }), { status: 404 },
    'the grant of the JWT'
  )
  t.equal(calls(), 0)
  for (const authorization of [
    'Bearer of the app', 'Basic abc', 'Bearer a.b.c', `Bearer ${await sign(pair, { exp: 1 })}`,
    `Bearer ${await sign(pair, { role: 'unknown' })}`
  ]) {
    t.match(
      await ask({ ...user, authorization }), { status: 200 }, `${authorization.slice(0, 20)}: the app knows the caller`
    )
  }
  t.equal(calls(), 5)
  isRefusal(t as Test, await ask({ authorization: `Bearer ${await sign(pair, { role: 'unknown' })}` }), {
    status: 403, code: 'PERMISSION_DENIED', why: 'a JWT without a role, and the app does not know the caller'
  })
  for (const authorization of ['Bearer unknown', 'Basic abc', 'Bearer a.b.c']) {
    t.match(await ask({ authorization }), { status: 401 })
  }
  t.match(
    await ask({ ...user, authorization: 'Bearer of the app' }), { status: 429 },
    'each of the three counted once as a failed login'
  )
}, ['sqlite'])

await testShop('requests without the header Authorization are no failed logins', async (t, service) => {
  const { ask } = await start(t as Test, service, byUser({ ada: everything }), { failedLogins: { max: 1 } })
  for (let time = 0; time < 3; time++) t.match(await ask({}), { status: 401 })
  t.match(await ask({ 'x-user': 'ada' }), { status: 200 })
}, ['sqlite'])

const fail = (properties: object) => () => { throw Object.assign(new Error('secret of the app'), properties) }
const thrown: Array<[why: string, authenticate: Authenticate, status: number, code: string]> = [
  [
    'an error with status 401', fail({ statusCode: 401, code: 'FST_JWT_AUTHORIZATION_TOKEN_EXPIRED' }), 401,
    'UNAUTHENTICATED'
  ],
  ['an error with status 403', fail({ statusCode: 403 }), 403, 'PERMISSION_DENIED'],
  ['an error with status 429', fail({ statusCode: 429 }), 429, 'RATE_LIMITED'],
  ['an error with status 503', fail({ statusCode: 503 }), 503, 'OVERLOADED'],
  ['an error', fail({}), 500, 'INTERNAL'],
  ['an error in a promise', async () => fail({})(), 500, 'INTERNAL'],
  ['an error with status 200', fail({ statusCode: 200 }), 500, 'INTERNAL'],
  ['text', () => { throw 'secret of the app' }, 500, 'INTERNAL'], // eslint-disable-line no-throw-literal
  ['null', () => { throw null }, 500, 'INTERNAL'] // eslint-disable-line no-throw-literal
]

await testShop('a function that throws gives no access', async (t, service) => {
  const { ask, log } = await start(t as Test, service, async (request) =>
    await (thrown[Number(request.headers['x-user'])] as typeof thrown[0])[1](request))
  for (const [index, [why, , status, code]] of thrown.entries()) {
    log.splice(0)
    const answer = await ask({ 'x-user': String(index) })
    isRefusal(t as Test, answer, { status, code, why })
    t.equal(answer.headers['retry-after'], [429, 503].includes(status) ? '1' : undefined)
    t.equal(log.some(({ msg }) => msg === 'unexpected error'), status === 500, `${why}: only bugs are logged`)
  }
}, ['sqlite'])

const table = (options: object) => ({ ...everything, databases: { shop: { customers: options } } })
const invalid: Array<[why: string, grant: unknown, reason: RegExp]> = [
  ['true', true, /the grant: must be an object/],
  ['text', 'ada', /must be an object/],
  ['a list', [], /the grant: must be an object/],
  ['no name', { ...everything, name: undefined }, /name: /],
  ['an empty name', { ...everything, name: '' }, /name: must be a string of 1 to 100 characters/],
  ['a name that is a number', { ...everything, name: 7 }, /name: /],
  ['no databases', { name: 'ada', permissions: ['select'] }, /databases: is required/],
  ['databases that are null', { ...everything, databases: null }, /databases: /],
  ['a list of databases', { ...everything, databases: ['shop'] }, /databases/],
  ['no permissions', { name: 'ada', databases: '*' }, /permissions: is required/],
  ['an unknown permission', { ...everything, permissions: ['select', 'drop'] }, /permissions\.1: /],
  ['a set of permissions', { ...everything, permissions: new Set(['select']) }, /permissions: /],
  ['an unknown field', { ...everything, tables: ['customers'] }, /tables: is not a setting/],
  ['an unknown field of a table', table({ row: {} }), /databases/],
  ['a rule that is no rule', table({ rows: { id: { $like: '1' } } }), /databases/],
  ['a rule by related rows', table({ rows: { $some: { orders: {} } } }), /databases/],
  ['a number that is not exact', table({ rows: { id: 2 ** 60 } }), /2\^53/],
  ...[Promise.resolve({ id: 1 }), new Map([['id', 1]]), new Date(), undefined].map((rows): (typeof invalid)[number] => [
    `rules that are ${Object.prototype.toString.call(rows)}`, table({ rows }),
    /rows: must (be a plain object|not be undefined)/
  ]),
  ['claims that are a list', { ...everything, claims: [1] }, /claims/],
  [
    'claims with a function', { ...everything, claims: { tenant: () => 'hunter2' } },
    /the claims contain something that cannot be copied/
  ]
]

await testShop('a grant that is not valid gives no access: it is a bug of the app', async (t, service) => {
  const { ask, log } = await start(
    t as Test, service, async ({ headers }) => invalid[Number(headers['x-user'])]?.[1] as HostGrant
  )
  for (const [index, [why, , reason]] of invalid.entries()) {
    log.splice(0)
    isRefusal(t as Test, await ask({ 'x-user': String(index) }), { status: 500, code: 'INTERNAL', why })
    const error = log.find(({ msg }) => msg === 'unexpected error')?.err
    t.match(error?.message, /^authenticate\(\) returned a grant that is not valid: /, why)
    t.match(error?.message, reason, why)
  }
}, ['sqlite'])

await testShop('the grant is that of the moment, even if the app changes its object', async (t, service) => {
  const shared = {
    name: 'shared',
    permissions: ['select' as const],
    databases: { shop: { customers: { rows: { id: { $claim: '/customer' } } } } },
    claims: { customer: 1 }
  }
  const { ask } = await start(t as Test, service, ({ headers }) => {
    shared.claims.customer = Number(headers['x-user'])
    return shared
  })
  const answers = await Promise.all([1, 2, 3, 4].map(async (id) => await ask({ 'x-user': String(id) })))
  t.same(answers.map(({ json }) => json.data.rows), [[{ id: 1 }], [{ id: 2 }], [{ id: 3 }], [{ id: 4 }]])
}, ['sqlite'])

await testShop('claims of the app may be bigints, and are exact', async (t, service) => {
  const id = 9_223_372_036_854_775_806n
  await service.sql(`insert into orders (id, customer_id) values (${id}, 1)`)
  const { ask } = await start(t as Test, service, ({ headers }) => ({
    ...everything,
    databases: { shop: { orders: { rows: { id: { $claim: '/order' } } } } },
    claims: { order: BigInt(String(headers['x-user'])) }
  }))
  const idsOf = async (user: bigint): Promise<string> =>
    (await ask({ 'x-user': String(user) }, select, '/api/shop/orders')).text
  t.match(await idsOf(id), '"rows":[{"id":9223372036854775806}]')
  t.match(await idsOf(id + 1n), '"rows":[]')
  t.match(await idsOf(id - 2n), '"rows":[]')
})

/** An object whose field is `first` when it is read for the first time, and `later` after that. */
const changing = (name: string, first: unknown, later: unknown): object => {
  let reads = 0
  return Object.defineProperty({}, name, { enumerable: true, get: () => reads++ === 0 ? first : later })
}
const own = { id: 1 }
const hidden = (name: string, value: unknown): object => Object.defineProperty({}, name, { value })
const isOwn: Array<[why: string, make: () => object]> = [
  ['columns', () => table({ rows: own, columns: changing('select', ['id'], ['id', 'email']) })],
  ['rules', () => table({ columns: { select: ['id'] }, rows: changing('id', 1, { $gt: 0 }) })],
  ['a list in a rule', () => table({ columns: { select: ['id'] }, rows: { id: changing('$in', [1], [1, 2, 3, 4]) } })],
  ['a table', () => ({
    ...everything, databases: { shop: changing('customers', { columns: { select: ['id'] }, rows: own }, {}) }
  })],
  ['databases', () => Object.assign(
    changing('databases', { shop: { customers: { columns: { select: ['id'] }, rows: own } } }, '*'),
    { name: 'ada', permissions: ['select'] }
  )],
  ['claims', () => Object.assign(changing('claims', { customer: 1 }, { customer: 2 }), table({
    columns: { select: ['id'] }, rows: { id: { $claim: '/customer' } }
  }))],
  ['rules that are not enumerable', () => table(Object.assign(hidden('rows', own), { columns: { select: ['id'] } }))]
]

await onEachEngine(t, 'a grant is checked as it is used: what the app ' +
  'gives is read once', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const { ask } = await start(
    t as Test, service, ({ headers }) => (isOwn[Number(headers['x-user'])] as typeof isOwn[0])[1]() as HostGrant
  )
  for (const [index, [why, make]] of isOwn.entries()) {
    t.same((await ask({ 'x-user': String(index) }, { verb: 'select' })).json.data?.rows, [own], why)
    const rows = async () => ((await service.server.rows.execute({
      database: 'shop', table: 'customers', body: { verb: 'select' }, grant: make() as HostGrant
    })) as { rows: object[] }).rows
    t.same(await rows(), [own], `${why}, in process`)
  }
})

await onEachEngine(t, 'a grant with fields of a ' +
  'prototype gives no access', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const inherited = [Object.create({ rows: own }), Object.create(Object.assign(Object.create(null), { rows: own }))]
  const { ask, log } = await start(
    t as Test, service, ({ headers }) => table(inherited[Number(headers['x-user'])]) as HostGrant
  )
  for (const index of inherited.keys()) {
    isRefusal(t as Test, await ask({ 'x-user': String(index) }), { status: 500, code: 'INTERNAL', why: String(index) })
    t.match(
      log.splice(0).find(({ msg }) => msg === 'unexpected error')?.err.message,
      /databases\.shop\.customers: must be a plain object/
    )
  }
})

const unusable: Array<[why: string, claim: unknown]> = [
  ['nothing', undefined], ['null', null], ['a list', [1]], ['an object', { a: 1 }], ['a date', new Date(0)],
  ['a map', new Map([['a', 1]])],
  ['NaN', NaN], ['an integer that may have been rounded', 2 ** 53], [
    'an object in a circle',
    (() => { const circle: Record<string, unknown> = {}; circle['a'] = circle; return circle })()
  ]
]

await testShop('claims of the app that cannot be used give no access', async (t, service) => {
  const grant = { ...everything, databases: { shop: { orders: { rows: { id: { $claim: '/order' } } } } } }
  const { ask } = await start(
    t as Test, service, ({ headers }) => ({ ...grant, claims: { order: unusable[Number(headers['x-user'])]?.[1] } })
  )
  for (const [index, [why]] of unusable.entries()) {
    isRefusal(
      t as Test, await ask({ 'x-user': String(index) }, select, '/api/shop/orders'),
      { status: 403, code: 'PERMISSION_DENIED', why }
    )
  }
})

await testShop('authenticate must be a function', async (t, { url }) => {
  const app = Fastify()
  await t.rejects((async () => await app.register(rowQuery, {
    databases: { shop: { url } }, authenticate: 'yes' as unknown as Authenticate
  }))(), { code: 'ROW_QUERY_INVALID_CONFIG', message: 'authenticate: must be a function' })
  await app.close()
}, ['sqlite'])

const SECRET = 'a-secret-for-tests-0123456789-0123456789'
const schema = (engine: string): string[] => [
  `create table orders (
    id ${engine === 'sqlite' ? 'integer primary key autoincrement' : 'bigint auto_increment primary key'},
    tenant varchar(20) not null, note varchar(20))`,
  "insert into orders (id, tenant, note) values (1, 'acme', 'a'), (2, 'zeta', 'z')"
]

/** Runs the example with the database of the service; it listens to nothing. */
async function hostExamplesStart (
  t: Test, kind: string, { url }: Pick<Service, 'url'>, document = 'docs/plugin.md'
): Promise<FastifyInstance> {
  const text = codeBlocks(readDocument(document)).find((block) => block.kind === kind)?.text as string
  const path = `${t.testdir({})}/${kind.replace(' ', '-')}.mjs`
  const source = new URL('../../src/index.ts', import.meta.url).href
  writeFileSync(path, text.replace("'fastify-row-query'", `'${source}'`).replace(
    "'mysql://user:password@127.0.0.1:3306/shop'", JSON.stringify(url)
  )
    .replace('{ logger: true }', '').replace('await app.listen({ port: 3000 })', 'export { app }'))
  process.env['JWT_SECRET'] = process.env['SESSION_SECRET'] = SECRET
  const { app } = await import(path) as { app: FastifyInstance }
  t.teardown(() => app.close())
  await app.ready()
  return app
}

async function ask (app: FastifyInstance, headers: Record<string, string>, body: object = select) {
  const response = await app.inject({ method: 'POST', url: '/api/shop/orders', headers, payload: body })
  return { status: response.statusCode, json: response.json() }
}

const test = sharedOnEachEngine(t, { schema, only })

await test('the app with @fastify/jwt in docs/plugin.md works', async (t, service) => {
  const app = await hostExamplesStart(t as Test, 'js jwt', service)
  const bearer = async (claims: Record<string, unknown>, key = SECRET) => {
    const signer = { alg: 'HS256' as const, kid: 'any', privateKey: createSecretKey(key, 'utf8') }
    return { authorization: `Bearer ${await sign(signer, claims)}` }
  }
  const acme = await bearer({ sub: 'ada', tenant: 'acme' })
  t.match(await ask(app, acme), { status: 200, json: { data: { rows: [{ id: 1 }], count: 1 } } })
  t.match(await ask(app, await bearer({ sub: 'zoe', tenant: 'zeta' })), {
    status: 200, json: { data: { rows: [{ id: 2 }], count: 1 } }
  })
  t.match(await ask(app, acme, { verb: 'insert', data: { note: 'new' } }), {
    status: 200, json: { data: { inserted: 1 } }
  })
  t.match(await service.sql('select tenant from orders where id = 3'), [{ tenant: 'acme' }], 'the tenant is filled in')
  t.match(await ask(app, acme, { verb: 'insert', data: { tenant: 'zeta' } }), { status: 403 })
  t.match(await ask(app, acme, { verb: 'delete', filters: { id: 1 } }), { status: 403 })
  t.match(await ask(app, await bearer({ sub: 'ada' })), { status: 403 }, 'without a tenant')
  for (const headers of [
    {}, await bearer({ sub: 'ada', tenant: 'acme' }, 'another'.repeat(9)),
    await bearer({ sub: 'ada', tenant: 'acme', exp: 1 }), { authorization: 'Bearer x' }
  ]) {
    t.match(await ask(app, headers as Record<string, string>), {
      status: 401, json: { error: { code: 'UNAUTHENTICATED' } }
    })
  }
})

await test('the app with a session in docs/plugin.md works', async (t, service) => {
  const app = await hostExamplesStart(t as Test, 'js session', service)
  t.match(await ask(app, {}), { status: 401 })
  t.match(await ask(app, { cookie: 'sessionId=abc' }), { status: 401 })
  const login = await app.inject({ method: 'POST', url: '/login', payload: { user: 'ada' } })
  const [{ name, value, sameSite, httpOnly }] = login.cookies as [{
    name: string, value: string, sameSite?: string, httpOnly?: boolean
  }]
  t.same([sameSite, httpOnly], ['Strict', true])
  const cookie = `${name}=${encodeURIComponent(value)}`
  t.match(await ask(app, { cookie }), { status: 200, json: { data: { rows: [{ id: 1 }], count: 1 } } })
  t.match(await ask(app, { cookie }, { verb: 'insert', data: {} }), { status: 403 })
})

await test('the app with its own users in docs/host-grants.md works', async (t, service) => {
  process.env['KEY_OF_ADA'] = 'the-key-of-ada'
  process.env['KEY_OF_ZOE'] = 'the-key-of-zoe'
  const app = await hostExamplesStart(t as Test, 'js users', service, 'docs/host-grants.md')
  const [ada, zoe] = [{ 'x-api-key': 'the-key-of-ada' }, { 'x-api-key': 'the-key-of-zoe' }]
  for (const headers of [{}, { 'x-api-key': '' }, { 'x-api-key': 'another' }]) {
    t.match(await ask(app, headers), { status: 401, json: { error: { code: 'UNAUTHENTICATED' } } })
  }
  t.match(await ask(app, ada, { verb: 'select' }), {
    status: 200, json: { data: { rows: [{ id: 1, note: 'a', tenant: undefined }], count: 1 } }
  })
  t.match(await ask(app, ada, { verb: 'insert', data: { note: 'b' } }), { status: 403 })
  t.match(await ask(app, zoe, { verb: 'insert', data: { note: 'b' } }), {
    status: 200, json: { data: { inserted: 1, id: 3 } }
  })
  t.match(await service.sql('select tenant from orders where id = 3'), [{ tenant: 'zeta' }], 'the tenant is filled in')
  t.match(await ask(app, zoe, { verb: 'update', filters: { id: { $gte: 1 } }, data: { note: 'c' } }), {
    status: 200, json: { data: { updated: 2 } }
  })
  t.match(
    await service.sql('select note from orders where id = 1'), [{ note: 'a' }],
    'the row of the other tenant is as it was'
  )
  t.match(await ask(app, zoe, { verb: 'insert', data: { note: 'b', tenant: 'acme' } }), {
    status: 400, json: { error: { code: 'COLUMN_NOT_FOUND' } }
  })
})
