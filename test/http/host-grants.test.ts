/** The function `authenticate` of a host app, beside tokens and instead of them. */
import Fastify, { type FastifyRequest } from 'fastify'
import t, { type Test } from 'tap'
import { rowQuery, type Authenticate, type HostGrant, type RowQueryOptions } from '../../src/index.ts'
import { tokenFor } from '../support/documents.ts'
import { createPair, jwtSetting, serveKeys, sign } from '../support/issuer.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Answer, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const select = { verb: 'select', columns: ['id'], orderBy: 'id' }
const everything: HostGrant = { name: 'ada', permissions: ['select'], databases: '*' }

interface Host { ask (headers: Record<string, string>, body?: unknown, path?: string): Promise<Answer>, readonly log: any[], readonly calls: () => number }

/** An app whose function answers by the header `x-user`. */
async function start (t: Test, { url }: Pick<Service, 'url'>, authenticate: Authenticate, options: Partial<RowQueryOptions> = {}): Promise<Host> {
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
      const response = await app.inject({ method: 'POST', url: path, headers: { 'content-type': 'application/json', ...headers }, payload: typeof body === 'string' ? body : JSON.stringify(body) })
      return { status: response.statusCode, headers: response.headers, text: response.body, json: response.json() }
    }
  }
}

const byUser = (grants: Record<string, HostGrant>) => async ({ headers }: FastifyRequest) => grants[String(headers['x-user'])] ?? null

await onEachEngine(t, 'the function of the app authenticates requests, without any tokens', { schema: shop }, async (t, service) => {
  const { ask } = await start(t as Test, service, byUser({
    ada: everything,
    grace: { name: 'grace', permissions: ['select', 'insert'], databases: { shop: { settings: {}, orders: { permissions: ['select'], columns: { select: ['id'] }, rows: { customer_id: { $claim: '/customer' } } } } }, claims: { customer: 2 } }
  }))
  t.match(await ask({ 'x-user': 'ada' }), { status: 200, json: { data: { count: 4 } } })
  isRefusal(t as Test, await ask({ 'x-user': 'ada' }, { verb: 'insert', data: {} }), { status: 403, code: 'PERMISSION_DENIED', why: 'a verb that the grant lacks' })
  t.match(await ask({ 'x-user': 'grace' }, { verb: 'insert', data: {} }, '/api/shop/settings'), { status: 200 })
  t.match(await ask({ 'x-user': 'grace' }, { verb: 'select' }, '/api/shop/orders'), { status: 200, json: { data: { rows: [{ id: 2 }], count: 1 } } })
  isRefusal(t as Test, await ask({ 'x-user': 'grace' }), { status: 404, code: 'TABLE_NOT_FOUND', why: 'a table that the grant lacks' })
  isRefusal(t as Test, await ask({ 'x-user': 'grace' }, select, '/api/nope/x'), { status: 404, code: 'DATABASE_NOT_FOUND', why: 'a database that is not there' })
})

await onEachEngine(t, 'a request that the app does not know is refused before anything else is checked', { schema: shop }, async (t, service) => {
  for (const nothing of [null, undefined]) {
    const { ask } = await start(t as Test, service, async () => nothing)
    for (const path of ['/api/shop/customers', '/api/nope/nope', '/api/nope']) {
      const answer = await ask({}, 'no JSON', path)
      isRefusal(t as Test, answer, { status: 401, code: 'UNAUTHENTICATED', why: path })
      t.equal(answer.headers['www-authenticate'], 'Bearer')
      t.equal((await ask({ authorization: 'Bearer unknown' }, 'no JSON', path)).headers['www-authenticate'], 'Bearer error="invalid_token"')
    }
  }
})

const pair = await createPair('one')
const keys = await serveKeys(t, [pair.jwk])
const roles = { nobody: { permissions: ['select' as const], databases: {} } }

await onEachEngine(t, 'a thenable that resolves to nothing is a caller that the app does not know', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const thenable = (given: unknown): Promise<HostGrant> => ({ then (resolve: (value: unknown) => void) { resolve(given) } }) as Promise<HostGrant>
  const found = new Map([['ada', everything]])
  const { ask } = await start(t as Test, service, ({ headers }) => thenable(headers['x-user'] === 'null' ? null : found.get(String(headers['x-user']))))
  isRefusal(t as Test, await ask({}), { status: 401, code: 'UNAUTHENTICATED', why: 'undefined' })
  isRefusal(t as Test, await ask({ 'x-user': 'null' }), { status: 401, code: 'UNAUTHENTICATED', why: 'null' })
  t.match(await ask({ 'x-user': 'ada' }), { status: 200 }, 'a grant')
})

await onEachEngine(t, 'tokens and JWTs are tried before the function', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const { ask, calls } = await start(t as Test, service, byUser({ ada: everything }), { tokens: [tokenFor('orders-only', ['select'], { shop: ['orders'] })], jwt: [jwtSetting({ jwks: keys.url })], roles, failedLogins: { max: 3 } })
  const user = { 'x-user': 'ada' }
  t.match(await ask({ ...user, authorization: 'Bearer orders-only' }), { status: 404 }, 'the grant of the token')
  t.match(await ask({ ...user, authorization: `Bearer ${await sign(pair, { role: 'nobody' })}` }), { status: 404 }, 'the grant of the JWT')
  t.equal(calls(), 0)
  for (const authorization of ['Bearer of the app', 'Basic abc', 'Bearer a.b.c', `Bearer ${await sign(pair, { exp: 1 })}`, `Bearer ${await sign(pair, { role: 'unknown' })}`]) {
    t.match(await ask({ ...user, authorization }), { status: 200 }, `${authorization.slice(0, 20)}: the app knows the caller`)
  }
  t.equal(calls(), 5)
  isRefusal(t as Test, await ask({ authorization: `Bearer ${await sign(pair, { role: 'unknown' })}` }), { status: 403, code: 'PERMISSION_DENIED', why: 'a JWT without a role, and the app does not know the caller' })
  for (const authorization of ['Bearer unknown', 'Basic abc', 'Bearer a.b.c']) t.match(await ask({ authorization }), { status: 401 })
  t.match(await ask({ ...user, authorization: 'Bearer of the app' }), { status: 429 }, 'each of the three counted once as a failed login')
})

await onEachEngine(t, 'requests without the header Authorization are no failed logins', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const { ask } = await start(t as Test, service, byUser({ ada: everything }), { failedLogins: { max: 1 } })
  for (let time = 0; time < 3; time++) t.match(await ask({}), { status: 401 })
  t.match(await ask({ 'x-user': 'ada' }), { status: 200 })
})

const fail = (properties: object) => () => { throw Object.assign(new Error('secret of the app'), properties) }
const thrown: Array<[why: string, authenticate: Authenticate, status: number, code: string]> = [
  ['an error with status 401', fail({ statusCode: 401, code: 'FST_JWT_AUTHORIZATION_TOKEN_EXPIRED' }), 401, 'UNAUTHENTICATED'],
  ['an error with status 403', fail({ statusCode: 403 }), 403, 'PERMISSION_DENIED'],
  ['an error with status 429', fail({ statusCode: 429 }), 429, 'RATE_LIMITED'],
  ['an error with status 503', fail({ statusCode: 503 }), 503, 'OVERLOADED'],
  ['an error', fail({}), 500, 'INTERNAL'],
  ['an error in a promise', async () => fail({})(), 500, 'INTERNAL'],
  ['an error with status 200', fail({ statusCode: 200 }), 500, 'INTERNAL'],
  ['text', () => { throw 'secret of the app' }, 500, 'INTERNAL'], // eslint-disable-line no-throw-literal
  ['null', () => { throw null }, 500, 'INTERNAL'] // eslint-disable-line no-throw-literal
]

await onEachEngine(t, 'a function that throws gives no access', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const { ask, log } = await start(t as Test, service, async (request) => await (thrown[Number(request.headers['x-user'])] as typeof thrown[0])[1](request))
  for (const [index, [why, , status, code]] of thrown.entries()) {
    log.splice(0)
    const answer = await ask({ 'x-user': String(index) })
    isRefusal(t as Test, answer, { status, code, why })
    t.equal(answer.headers['retry-after'], [429, 503].includes(status) ? '1' : undefined)
    t.equal(log.some(({ msg }) => msg === 'unexpected error'), status === 500, `${why}: only bugs are logged`)
  }
})

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
  ['a number that is not exact', table({ rows: { id: 2 ** 60 } }), /2\^53/],
  ...[Promise.resolve({ id: 1 }), new Map([['id', 1]]), new Date(), undefined].map((rows): (typeof invalid)[number] => [`rules that are ${Object.prototype.toString.call(rows)}`, table({ rows }), /rows: must (be a plain object|not be undefined)/]),
  ['claims that are a list', { ...everything, claims: [1] }, /claims/],
  ['claims with a function', { ...everything, claims: { tenant: () => 'hunter2' } }, /the claims contain something that cannot be copied/]
]

await onEachEngine(t, 'a grant that is not valid gives no access: it is a bug of the app', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const { ask, log } = await start(t as Test, service, async ({ headers }) => invalid[Number(headers['x-user'])]?.[1] as HostGrant)
  for (const [index, [why, , reason]] of invalid.entries()) {
    log.splice(0)
    isRefusal(t as Test, await ask({ 'x-user': String(index) }), { status: 500, code: 'INTERNAL', why })
    const error = log.find(({ msg }) => msg === 'unexpected error')?.err
    t.match(error?.message, /^authenticate\(\) returned a grant that is not valid: /, why)
    t.match(error?.message, reason, why)
  }
})

await onEachEngine(t, 'the grant is that of the moment, even if the app changes its object', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const shared = { name: 'shared', permissions: ['select' as const], databases: { shop: { customers: { rows: { id: { $claim: '/customer' } } } } }, claims: { customer: 1 } }
  const { ask } = await start(t as Test, service, ({ headers }) => {
    shared.claims.customer = Number(headers['x-user'])
    return shared
  })
  const answers = await Promise.all([1, 2, 3, 4].map(async (id) => await ask({ 'x-user': String(id) })))
  t.same(answers.map(({ json }) => json.data.rows), [[{ id: 1 }], [{ id: 2 }], [{ id: 3 }], [{ id: 4 }]])
})

await onEachEngine(t, 'claims of the app may be bigints, and are exact', { schema: shop }, async (t, service) => {
  const id = 9_223_372_036_854_775_806n
  await service.sql(`insert into orders (id, customer_id) values (${id}, 1)`)
  const { ask } = await start(t as Test, service, ({ headers }) => ({ ...everything, databases: { shop: { orders: { rows: { id: { $claim: '/order' } } } } }, claims: { order: BigInt(String(headers['x-user'])) } }))
  const idsOf = async (user: bigint): Promise<string> => (await ask({ 'x-user': String(user) }, select, '/api/shop/orders')).text
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
  ['a table', () => ({ ...everything, databases: { shop: changing('customers', { columns: { select: ['id'] }, rows: own }, {}) } })],
  ['databases', () => Object.assign(changing('databases', { shop: { customers: { columns: { select: ['id'] }, rows: own } } }, '*'), { name: 'ada', permissions: ['select'] })],
  ['claims', () => Object.assign(changing('claims', { customer: 1 }, { customer: 2 }), table({ columns: { select: ['id'] }, rows: { id: { $claim: '/customer' } } }))],
  ['rules that are not enumerable', () => table(Object.assign(hidden('rows', own), { columns: { select: ['id'] } }))]
]

await onEachEngine(t, 'a grant is checked as it is used: what the app gives is read once', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const { ask } = await start(t as Test, service, ({ headers }) => (isOwn[Number(headers['x-user'])] as typeof isOwn[0])[1]() as HostGrant)
  for (const [index, [why, make]] of isOwn.entries()) {
    t.same((await ask({ 'x-user': String(index) }, { verb: 'select' })).json.data?.rows, [own], why)
    const rows = async () => ((await service.server.rows.execute({ database: 'shop', table: 'customers', body: { verb: 'select' }, grant: make() as HostGrant })) as { rows: object[] }).rows
    t.same(await rows(), [own], `${why}, in process`)
  }
})

await onEachEngine(t, 'a grant with fields of a prototype gives no access', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const inherited = [Object.create({ rows: own }), Object.create(Object.assign(Object.create(null), { rows: own }))]
  const { ask, log } = await start(t as Test, service, ({ headers }) => table(inherited[Number(headers['x-user'])]) as HostGrant)
  for (const index of inherited.keys()) {
    isRefusal(t as Test, await ask({ 'x-user': String(index) }), { status: 500, code: 'INTERNAL', why: String(index) })
    t.match(log.splice(0).find(({ msg }) => msg === 'unexpected error')?.err.message, /databases\.shop\.customers: must be a plain object/)
  }
})

const unusable: Array<[why: string, claim: unknown]> = [
  ['nothing', undefined], ['null', null], ['a list', [1]], ['an object', { a: 1 }], ['a date', new Date(0)], ['a map', new Map([['a', 1]])],
  ['NaN', NaN], ['an integer that may have been rounded', 2 ** 53], ['an object in a circle', (() => { const circle: Record<string, unknown> = {}; circle['a'] = circle; return circle })()]
]

await onEachEngine(t, 'claims of the app that cannot be used give no access', { schema: shop }, async (t, service) => {
  const grant = { ...everything, databases: { shop: { orders: { rows: { id: { $claim: '/order' } } } } } }
  const { ask } = await start(t as Test, service, ({ headers }) => ({ ...grant, claims: { order: unusable[Number(headers['x-user'])]?.[1] } }))
  for (const [index, [why]] of unusable.entries()) isRefusal(t as Test, await ask({ 'x-user': String(index) }, select, '/api/shop/orders'), { status: 403, code: 'PERMISSION_DENIED', why })
})

await onEachEngine(t, 'authenticate must be a function', { schema: shop, only: ['sqlite'] }, async (t, { url }) => {
  const app = Fastify()
  await t.rejects((async () => await app.register(rowQuery, { databases: { shop: { url } }, authenticate: 'yes' as unknown as Authenticate }))(), { code: 'ROW_QUERY_INVALID_CONFIG', message: 'authenticate: must be a function' })
  await app.close()
})
