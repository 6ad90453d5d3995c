/** The status of answers that do not depend on the rows, and which error of several is answered. */
import { METHODS } from 'node:http'
import { text as readText } from 'node:stream/consumers'
import t from 'tap'
import type { TokenOptions } from '../../schemas/options.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { load } from '../support/load.ts'
import { isRefusal } from '../support/refusals.ts'
import { createRewritingProxy } from '../support/rewriting-proxy.ts'
import {
  onEachEngine, type PostOptions, type Service, sharedOnEachEngine, startService, TOKEN
} from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { startUnforeseen, unforeseen } from '../support/unforeseen.ts'
import { type Line, listen, request } from '../support/wire.ts'

const token = (name: string, rest: Partial<TokenOptions>): TokenOptions => ({
  name, sha256: hashToken(name), permissions: ['select'], ...rest
})
const tokens = [
  token('expired', { expires: '2020-01-01' }),
  token('reader', {}),
  token('orders-only', {
    permissions: ['select', 'insert', 'update', 'delete'], databases: { shop: ['orders', 'gone'] }
  }),
  token('nowhere', { databases: {} })
]

const select = { verb: 'select' }

const unauthenticated: Array<[why: string, authorization: string | undefined, challenge: string]> = [
  ['no token', undefined, 'Bearer'],
  ['another scheme, which is no token (RFC 6750, section 3)', `Basic ${TOKEN}`, 'Bearer'],
  ['a scheme that begins like the right one', `Bearers ${TOKEN}`, 'Bearer'],
  ['a token without a scheme', TOKEN, 'Bearer'],
  ['a token that nobody was given', 'Bearer nobody', 'Bearer error="invalid_token"'],
  ['an expired token', 'Bearer expired', 'Bearer error="invalid_token"'],
  ['no token behind the scheme', 'Bearer', 'Bearer error="invalid_token"'],
  ['two tokens', `Bearer ${TOKEN} ${TOKEN}`, 'Bearer error="invalid_token"'],
  ['a token in quotes', `Bearer "${TOKEN}"`, 'Bearer error="invalid_token"'],
  ['a token with a comma', `Bearer ${TOKEN},`, 'Bearer error="invalid_token"'],
  ['a token in another case', `Bearer ${TOKEN.toUpperCase()}`, 'Bearer error="invalid_token"'],
  ['the name of a property', 'Bearer __proto__', 'Bearer error="invalid_token"'],
  ['half of a token', `Bearer ${TOKEN.slice(0, -1)}`, 'Bearer error="invalid_token"'],
  ['the hash of a token', `Bearer ${hashToken(TOKEN)}`, 'Bearer error="invalid_token"'],
  ['bytes that are no ASCII', 'Bearer t\xf6ken', 'Bearer error="invalid_token"']
]

const test = sharedOnEachEngine(t, {
  schema: (engine) => engine === 'sqlite'
    ? shop.sqlite
    : [
        ...shop.mysql, 'create table notes (id int not null auto_increment primary key, text longtext null)',
        'create table kept (id int not null auto_increment primary key, text longtext null) engine = MyISAM'
      ],
  tokens
})

await test('401 without a valid token, with a challenge that says so', async (t, { post, statements }) => {
  statements()
  for (const [why, authorization, challenge] of unauthenticated) {
    const answer = await post('customers', select, {
      token: null, ...(authorization !== undefined && { headers: { authorization } })
    })
    isRefusal(t, answer, { status: 401, code: 'UNAUTHENTICATED', why })
    t.equal(answer.headers['www-authenticate'], challenge, why)
  }
  t.same(statements(), [])
})

await test('405 for every other method, with the allowed methods', async (t, service) => {
  const wire = await listen(service)
  service.statements()
  for (const method of METHODS.filter((method) => method !== 'POST' && method !== 'QUERY')) {
    // CONNECT names a host in place of a path: it asks for a tunnel
    const target = method === 'CONNECT' ? 'shop:3306' : '/api/shop/customers'
    const [answer] = await wire.send(
      request({ start: `${method} ${target} HTTP/1.1`, ...(method === 'HEAD' && { body: '' }) })
    )
    t.equal(answer?.status, 405, method)
    t.match(answer?.headers, { allow: 'POST, QUERY', connection: 'close' }, method)
    if (answer !== undefined &&
      method !== 'HEAD') isRefusal(t, answer, { status: 405, code: 'METHOD_NOT_ALLOWED', why: method })
  }
  t.same(service.statements(), [])
})

await test('413 and 415 for a body that is too large or not JSON', async (t, { url }) => {
  const { post } = await startService(t, url, { options: { bodyLimit: 100 } })
  isRefusal(t, await post('customers', { verb: 'select', orderBy: 'x'.repeat(100) }), {
    status: 413, code: 'BODY_TOO_LARGE', why: 'too large'
  })
  isRefusal(t, await post('customers', select, { headers: { 'content-type': 'text/plain' } }), {
    status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', why: 'text'
  })
})

await onEachEngine(t, 'a body for which a path or a method has no use changes nothing about the response', {
  schema: shop, only: ['sqlite'], options: { cors: { origins: ['*'] }, docs: true, mcp: {}, metrics: true }, tokens
}, async (t, service) => {
  const wire = await listen(service)
  const paths = [
    '/api/shop/orders', '/api/shop/orders/', '/api/shop/', '/api', '/api/docs', '/api/openapi.json', '/api/mcp',
    '/api/requests/x', '/api/nowhere/x', '/health/live', '/metrics', '*'
  ]
  const types = ['application/json', 'text/csv', 'text/plain']
  const send = async (start: string, line: Line): Promise<number> => {
    const socket = await wire.open()
    socket.write(request({ start: `${start} HTTP/1.1`, ...line }))
    return Number((await readText(socket)).split(' ')[1])
  }
  const without = ['Content-Type', 'Content-Length']
  const statusesOf = async (start: string): Promise<Array<[request: string, status: number, plain: number]>> => {
    const plain = await send(start, { body: '', without })
    const statuses: Array<[request: string, status: number, plain: number]> = []
    for (const type of types.map((type) => `Content-Type: ${type}`)) {
      const lengths: Line[] = [
        { body: '{}', without, with: [type, 'Content-Length: 2'] },
        { body: '2\r\n{}\r\n0\r\n\r\n', without, with: [type, 'Transfer-Encoding: chunked'] }
      ]
      for (const line of lengths) statuses.push([`${start} ${line.with?.join()}`, await send(start, line), plain])
    }
    return statuses
  }
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'POST', 'QUERY']) {
    const statuses = (await Promise.all(paths.map((path) => statusesOf(`${method} ${path}`)))).flat()
    const mayRead = method === 'POST' || method === 'QUERY'
    t.same(statuses.filter(([, status, plain]) => !(mayRead ? status < 500 : status === plain)), [], method)
  }
})

await test('429 for requests of a token beyond its limit in a window', async (t, { url, statements }) => {
  const { post } = await startService(t, url, { options: { rateLimit: { max: 2, window: 30_000 } } })
  for (const remaining of ['1', '0']) {
    const { status, headers } = await post('customers', select)
    t.match([status, headers], [
      200, { 'ratelimit-limit': '2', 'ratelimit-remaining': remaining, 'ratelimit-reset': /^\d+$/ }
    ])
  }
  statements()
  const answer = await post('customers', select)
  isRefusal(t, answer, { status: 429, code: 'RATE_LIMITED', why: 'the third' })
  t.match(answer.headers, {
    'ratelimit-limit': '2', 'ratelimit-remaining': '0', 'ratelimit-reset': /^\d+$/, 'retry-after': /^\d+$/
  })
  t.ok(Number(answer.headers['retry-after']) > 0 && Number(answer.headers['retry-after']) <= 30)
  t.same(statements(), [])
})

await onEachEngine(t, '500 for an unexpected error, which the log contains with its stack ' +
  'and the request id', { schema: unforeseen }, async (t, service) => {
  const { post, log } = await startUnforeseen(t, service)
  const answer = await post('unforeseen', { verb: 'insert', data: { a: 1 } }, {
    headers: { 'x-request-id': 'find me' }
  })
  isRefusal(t, answer, { status: 500, code: 'INTERNAL', why: 'a function with too many arguments' })
  t.equal(answer.headers['x-request-id'], 'find me')
  t.notOk('retry-after' in answer.headers)
  const [event] = log.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50)
  t.match(event, {
    requestId: 'find me',
    err: { type: 'UnknownDatabaseError', message: /^unexpected database error (1|1582)$/, stack: /\n +at / }
  })
  t.notMatch(log.join(''), /syntax|bm25/)
  t.match(await service.sql('select count(*) as count from unforeseen'), [{ count: 0 }])
})

const tokensOfOrder = [
  token('nowhere', { databases: {} }),
  token('elsewhere', { databases: { shop: ['customers'] } }),
  token('reader', { databases: { shop: ['gone', 'orders', 'order_lines'] } }),
  token('writer', { permissions: ['update', 'delete'], databases: { shop: ['gone', 'orders', 'order_lines'] } })
]

type Step = [status: number, code: string, table: string, body: unknown, options: PostOptions]

const text = { 'content-type': 'text/plain' }
const large = `{"verb":"truncate"${' '.repeat(400)}`
const update = { verb: 'update', data: { customer_id: 99 }, filters: { id: 1 } }

/** Each request has all errors of the later requests, and the error that it is rejected for. */
const steps: Step[] = [
  [401, 'UNAUTHENTICATED', 'gone', large, { token: 'nobody', headers: text }],
  [404, 'DATABASE_NOT_FOUND', 'gone', large, { token: 'nowhere', headers: text }],
  [404, 'TABLE_NOT_FOUND', 'gone', large, { token: 'elsewhere', headers: text }],
  [413, 'BODY_TOO_LARGE', 'gone', large, { token: 'reader', headers: text }],
  [415, 'UNSUPPORTED_MEDIA_TYPE', 'gone', '{"verb":"truncate"', { token: 'reader', headers: text }],
  [400, 'INVALID_JSON', 'gone', '{"verb":"truncate"', { token: 'reader' }],
  [400, 'INVALID_BODY', 'gone', { verb: 'truncate' }, { token: 'reader' }],
  [400, 'INVALID_BODY', 'gone', { verb: 'update', data: { nope: 1 }, limit: 1, filters: {} }, { token: 'reader' }],
  [400, 'FILTERS_REQUIRED', 'gone', { verb: 'update', data: { nope: 1 }, filters: {} }, { token: 'reader' }],
  [403, 'PERMISSION_DENIED', 'gone', { verb: 'update', data: { nope: 1 }, filters: { $and: [] } }, { token: 'reader' }],
  [404, 'TABLE_NOT_FOUND', 'gone', { verb: 'update', data: { nope: 1 }, filters: { $and: [] } }, { token: 'writer' }],
  [403, 'PERMISSION_DENIED', 'order_lines', { verb: 'update', data: { nope: 1 }, filters: { $and: [] } }, {
    token: 'writer'
  }],
  [400, 'FILTERS_REQUIRED', 'orders', { ...update, filters: { $and: [] } }, { token: 'writer' }],
  [400, 'COLUMN_NOT_FOUND', 'orders', { ...update, data: { ...update.data, nope: 1 } }, { token: 'writer' }],
  [409, 'FOREIGN_KEY_VIOLATION', 'orders', update, { token: 'writer' }]
]

await test('a request with several errors is answered with the first one in ' +
  'the documented order', async (t, { url, statements }) => {
  const { post } = await startService(t, url, { tokens: tokensOfOrder, options: { bodyLimit: 200 } })
  statements()
  for (const [status, code, table, body, options] of steps) {
    isRefusal(t, await post(table, body, options), {
      status, code, why: `${options.token}: ${JSON.stringify(body).slice(0, 80)}`
    })
    t.equal(statements().length, status === 409 ? 1 : 0, 'the database is asked last')
  }
})

await test('an unknown path is rejected after the token and before the body', async (t, { server, post }) => {
  const send = async (headers: Record<string, string>) => (await server.app.inject({
    method: 'POST', url: '/api/shop', headers: { 'content-type': 'application/json', ...headers }, payload: '{'
  })).statusCode
  t.equal(await send({}), 401)
  t.equal(await send({ authorization: 'Bearer nobody' }), 401)
  isRefusal(t, await post('customers/1', '{', { headers: { 'content-type': 'text/plain' }, method: 'GET' }), {
    status: 405, code: 'METHOD_NOT_ALLOWED', why: 'a method comes before the body too'
  })
})

await test('a path that cannot be decoded is 404 with a token and 401 without one, and its ' +
  'failed logins count', async (t, { url }) => {
  const { server } = await startService(t, url, { options: { failedLogins: { max: 2 } } })
  const paths = [
    '/api/shop/%', '/api/shop/%zz', '/api/%ff/customers', '/api/%c3%28', `/api/shop/${'x'.repeat(2000)}`,
    'http://elsewhere/api/shop/%zz?a=%', '/api/shop/customers/%'
  ]
  const send = async (url: string, authorization?: string, method: 'POST' | 'GET' = 'POST') => {
    const { statusCode, headers, json } = await server.app.inject({
      method,
      url,
      headers: { 'content-type': 'application/json', ...authorization !== undefined && { authorization } },
      ...method === 'POST' && { payload: '{' }
    })
    t.match(headers, { 'x-request-id': String, 'content-type': 'application/json; charset=utf-8' })
    return [statusCode, json().error.code]
  }
  for (const url of paths) {
    t.same(await send(url, `Bearer ${TOKEN}`), [404, 'NOT_FOUND'], url)
    t.same(await send(url, `Bearer ${TOKEN}`, 'GET'), [404, 'NOT_FOUND'], url)
    t.same(await send(url), [401, 'UNAUTHENTICATED'], url)
  }
  t.same(await send('/elsewhere/%zz'), [404, 'NOT_FOUND'], 'outside the prefix, as every path')
  for (let count = 0; count < 2; count++) t.same(await send('/api/shop/%zz', 'Bearer wrong'), [401, 'UNAUTHENTICATED'])
  t.same(await send('/api/shop/%zz', 'Bearer wrong'), [429, 'RATE_LIMITED'])
}, ['sqlite'])

await test('a row of a list that belongs to no row of the response is no bug: the ' +
  'server is not available', async (t, { url, sql }) => {
  await sql('create table coded (code varchar(10) primary key)')
  await sql('create table marked (id int primary key, code varchar(10), note varchar(20), key (code))')
  await sql("insert into coded values ('a')")
  await sql("insert into marked values (1, 'a', 'the mark')")
  let changed = 0
  const toClient = (text: string): string =>
    text.replace('\x010\x08the mark', () => { changed++; return '\x019\x08the mark' })
  const { post, log } = await startService(t, await createRewritingProxy(t, url, { toClient }))
  const response = await post('coded', {
    verb: 'select', include: { marked: { on: { code: 'code' }, columns: ['note'] } }
  })
  t.ok(changed > 0, 'the proxy has changed the row')
  isRefusal(t, response, { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'a changed row' })
  t.ok(log.some((line) => JSON.parse(line).reason === 'UNREADABLE_PACKET'))
}, ['mariadb', 'mysql'])

// Statements that are larger than the server's max_allowed_packet. The server is told to name a smaller one than it
// has.

const LARGEST = '000000000020000+0000'

await test('a statement that the server would not take is not sent, and a list is divided', async (t, { url, sql }) => {
  const toServer = (text: string): string =>
    text.replace('@@max_allowed_packet', LARGEST.padEnd('@@max_allowed_packet'.length))
  const { post } = await startService(t, await createRewritingProxy(t, url, { toServer }))
  const rows = Array.from({ length: 50 }, (_, index) => ({ text: `${index}${'😀'.repeat(400)}` }))
  t.same((await post('notes', { verb: 'insert', data: rows })).json.data, { inserted: 50, id: 1 })
  t.same((await sql('select id from notes where text like concat(id - 1, \'😀%\')')).length, 50, 'in its order')
  const large = { text: 'x'.repeat(20_000) }
  const one = await post('notes', { verb: 'insert', data: large })
  isRefusal(t, one, { status: 422, code: 'VALUE_OUT_OF_RANGE', why: 'one row' })
  const select = await post('notes', { verb: 'select', filters: large })
  isRefusal(t, select, { status: 422, code: 'VALUE_OUT_OF_RANGE', why: 'a select' })
  for (const { json } of [one, select]) t.match(json.error.message, /larger than the database accepts/)
  const answer = await post('notes', { verb: 'insert', data: [...rows.slice(0, 7), large] })
  isRefusal(t, answer, { status: 422, code: 'VALUE_OUT_OF_RANGE', why: 'a row of a list' })
  t.equal(answer.json.error.details[0].path, '/data/7')
  isRefusal(t, await post('notes', { verb: 'update', data: large, filters: { id: 1 } }), {
    status: 422, code: 'VALUE_OUT_OF_RANGE', why: 'an update'
  })
  isRefusal(t, await post('kept', { verb: 'insert', data: large }), {
    status: 422, code: 'VALUE_OUT_OF_RANGE', why: 'nothing was sent to a table without transactions'
  })
  t.equal((await sql('select id from notes')).length, 50)
}, ['mariadb', 'mysql'])

await test('an import is divided as a list, and a row that the server would not take ' +
  'is 413 at its line', async (t, { url, sql }) => {
  const toServer = (text: string): string =>
    text.replace('@@max_allowed_packet', LARGEST.padEnd('@@max_allowed_packet'.length))
  const service = {
    ...await startService(t, await createRewritingProxy(t, url, { toServer })), sql
  } as unknown as Service
  const rows = Array.from({ length: 50 }, (_, index) => `${index}${'😀'.repeat(400)}`)
  t.match(await load(service, 'notes', ['text', ...rows].join('\n')), { status: 200, json: { data: { inserted: 50 } } })
  for (const [query, written] of [['', 50], ['?transaction=batch', 50]] as const) {
    const answer = await load(service, 'notes', ['text', ...rows.slice(0, 7), 'x'.repeat(20_000), 'y'].join('\n'), {
      query
    })
    t.match(
      answer, { status: 413, json: { error: { code: 'BODY_TOO_LARGE', details: [{ path: '/data/7', line: 9 }] } } },
      answer.text
    )
    t.equal((await sql('select id from notes')).length, written)
  }
}, ['mariadb', 'mysql'])
