/**
 * Headers, paths and lengths of requests: what is refused, what asks for another protocol, and what browsers of other
 * origins are told.
 */
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import type { InjectOptions } from 'fastify'
import t from 'tap'
import { createRowQuery } from '../../src/index.ts'
import { hostOf } from '../support/host.ts'
import { dump, isRefusal } from '../support/refusals.ts'
import { type Answer, onEachEngine, type Service, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { type Line, listen, readAnswers, request, SELECT } from '../support/wire.ts'

type Refused = [why: string, line: Line | string | Buffer, status: number, code: string]

const contentType = (value: string): Line => ({ without: ['Content-Type'], with: [`Content-Type: ${value}`] })
const path = (path: string): Line => ({ start: `POST ${path} HTTP/1.1` })
const length = (...lengths: string[]): Line => ({
  without: ['Content-Length'], with: lengths.map((value) => `Content-Length: ${value}`)
})
const chunked = (body: string): Line => ({ without: ['Content-Length'], with: ['Transfer-Encoding: chunked'], body })
const DELETE = '{"verb":"delete","filters":{"id":4}}'
const BODY_LIMIT = 1_048_576

const refused: Refused[] = [
  [
    'parameters in the address, which only imports have', path('/api/shop/customers?verb=delete&limit=5000'), 400,
    'INVALID_BODY'
  ],
  ...[
    'text/plain', 'text/json', 'application/jsonx', 'application/json/x', 'application/json+x',
    'application/vnd.api+json', 'application/json-patch+json', 'application /json', 'application/json, text/plain',
    'application/json x',
    'json', '/', '', '*/*', 'application/*', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x',
    'application/octet-stream', '\xabapplication/json', '"application/json"',
    'application/json; charset=latin1', 'application/json;charset=utf-16', 'application/json; CHARSET=ISO-8859-1',
    'application/json; charset="utf-16"', 'application/json; charset=', 'application/json; charset=""',
    'application/json;\tcharset\t=\tlatin1', 'application/json; v=1; charset=latin1',
    'application/json; charset=latin1; charset=utf-8'
  ].map(
    (value): Refused => [`the content type ${JSON.stringify(value)}`, contentType(value), 415, 'UNSUPPORTED_MEDIA_TYPE']
  ),
  ['no content type', { without: ['Content-Type'] }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  [
    'neither content type nor body', { without: ['Content-Type', 'Content-Length'], body: '' }, 415,
    'UNSUPPORTED_MEDIA_TYPE'
  ],
  [
    'two content types, of which the first is another',
    { without: ['Content-Type'], with: ['Content-Type: text/plain', 'Content-Type: application/json'] }, 415,
    'UNSUPPORTED_MEDIA_TYPE'
  ],
  ['a compressed body', { with: ['Content-Encoding: gzip'], body: gzipSync(SELECT) }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ['a content type without a body', { without: ['Content-Length'], body: '' }, 400, 'INVALID_JSON'],

  ['no authorization', { without: ['Authorization'] }, 401, 'UNAUTHENTICATED'],
  [
    'two authorizations, of which the first is wrong',
    { without: ['Authorization'], with: ['Authorization: Bearer wrong', `Authorization: Bearer ${TOKEN}`] }, 401,
    'UNAUTHENTICATED'
  ],
  [
    'a token in the address', { ...path(`/api/shop/customers?access_token=${TOKEN}`), without: ['Authorization'] }, 401,
    'UNAUTHENTICATED'
  ],
  ['a token in a cookie', { without: ['Authorization'], with: [`Cookie: token=${TOKEN}`] }, 401, 'UNAUTHENTICATED'],
  [
    'no authorization, and a body that never comes',
    { ...length('1000'), without: ['Authorization', 'Content-Length'], body: '' }, 401, 'UNAUTHENTICATED'
  ],

  [
    'a length beyond the limit, before any of the body has come', { ...length('99999999'), body: '' }, 413,
    'BODY_TOO_LARGE'
  ],
  [
    'a body of one byte more than the limit', { body: SELECT + ' '.repeat(BODY_LIMIT + 1 - SELECT.length) }, 413,
    'BODY_TOO_LARGE'
  ],
  [
    'a body in chunks beyond the limit', chunked(`200000\r\n${' '.repeat(0x200000)}\r\n0\r\n\r\n`), 413,
    'BODY_TOO_LARGE'
  ],

  ['a length that ends within the body', { ...length('20'), body: DELETE }, 400, 'INVALID_JSON'],
  ['two lengths', length(String(SELECT.length), '5'), 400, 'INVALID_REQUEST'],
  ['a negative length', length('-1'), 400, 'INVALID_REQUEST'],
  ['a length that is no number', length('1e2'), 400, 'INVALID_REQUEST'],
  ['a length beyond 64 bits', length('99999999999999999999'), 400, 'INVALID_REQUEST'],
  ['a length and chunks', { with: ['Transfer-Encoding: chunked'], body: '0\r\n\r\n' }, 400, 'INVALID_REQUEST'],
  ['chunks of no length', chunked('zz\r\n'), 400, 'INVALID_REQUEST'],
  [
    'a transfer encoding that does not end in chunks',
    { without: ['Content-Length'], with: ['Transfer-Encoding: gzip'] }, 400, 'INVALID_REQUEST'
  ],
  ['no host', { without: ['Host'] }, 400, 'INVALID_REQUEST'],
  ['two hosts', { with: ['Host: elsewhere'] }, 400, 'INVALID_REQUEST'],
  ['two hosts that are the same', { with: ['host: 127.0.0.1'] }, 400, 'INVALID_REQUEST'],
  [
    'two hosts in HTTP/1.0', { start: 'POST /api/shop/customers HTTP/1.0', with: ['HOST: elsewhere'] }, 400,
    'INVALID_REQUEST'
  ],
  [
    'two hosts and a path that cannot be decoded', { ...path('/api/shop/%zz'), with: ['Host: elsewhere'] }, 400,
    'INVALID_REQUEST'
  ],
  ['two hosts without a token', { without: ['Authorization'], with: ['Host: elsewhere'] }, 400, 'INVALID_REQUEST'],
  ['a NUL byte in a header', { with: ['X-Note: a\0b'] }, 400, 'INVALID_REQUEST'],
  ['a header of two lines', { with: ['X-Note: a', ' b'] }, 400, 'INVALID_REQUEST'],
  ['a blank before the colon', { with: ['X-Note : a'] }, 400, 'INVALID_REQUEST'],
  ['a header without a colon', { with: ['X-Note'] }, 400, 'INVALID_REQUEST'],
  ['a header of 20,000 bytes', { with: [`X-Note: ${'a'.repeat(20_000)}`] }, 431, 'HEADERS_TOO_LARGE'],
  ['3,000 headers', { with: Array.from({ length: 3000 }, (_, number) => `X-${number}: a`) }, 431, 'HEADERS_TOO_LARGE'],
  ['line breaks without a carriage return', request().toString().replaceAll('\r\n', '\n'), 400, 'INVALID_REQUEST'],
  ['a method that HTTP does not have', { start: 'SELECT /api/shop/customers HTTP/1.1' }, 400, 'INVALID_REQUEST'],
  ['a method in lower case', { start: 'post /api/shop/customers HTTP/1.1' }, 400, 'INVALID_REQUEST'],
  ['a version that HTTP does not have', { start: 'POST /api/shop/customers HTTP/4.2' }, 400, 'INVALID_REQUEST'],
  ['HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'INVALID_REQUEST'],
  ['TLS', Buffer.from('16030100a5010000a10303', 'hex'), 400, 'INVALID_REQUEST'],
  ['CONNECT', 'CONNECT db.internal:3306 HTTP/1.1\r\nHost: db.internal:3306\r\n\r\n', 405, 'METHOD_NOT_ALLOWED'],
  [
    'CONNECT with a token and bytes for the other end', request({ start: 'CONNECT 127.0.0.1:3306 HTTP/1.1' }), 405,
    'METHOD_NOT_ALLOWED'
  ],
  ['no HTTP at all', 'select * from customers;\r\n\r\n', 400, 'INVALID_REQUEST'],

  ['a blank in the path', path('/api/shop/custo mers'), 400, 'INVALID_REQUEST'],
  ...[
    '/api/shop/customers#x', '/api/shop/customers#', '/api/shop#/customers', '/api/shop/customers?a#b',
    'http://elsewhere/api/shop/customers#x', '/elsewhere#x'
  ]
    .map((target): Refused => [`the fragment in ${target}`, path(target), 400, 'INVALID_REQUEST']),
  ['a path of 20,000 characters', path(`/api/shop/${'x'.repeat(20_000)}`), 431, 'HEADERS_TOO_LARGE'],
  ['a table of 2,000 characters', path(`/api/shop/${'x'.repeat(2000)}`), 404, 'NOT_FOUND'],
  ['a database of 2,000 characters', path(`/api/${'x'.repeat(2000)}/customers`), 404, 'NOT_FOUND'],
  ['a table of 1,000 characters', path(`/api/shop/${'x'.repeat(1000)}`), 404, 'TABLE_NOT_FOUND'],
  ...['%', '%zz', '%ff', '%c3%28', '%ed%a0%80', '%u0041'].map(
    (name): Refused => [`the table ${name}`, path(`/api/shop/${name}`), 404, 'NOT_FOUND']
  ),
  ...[
    '%00', 'customers%00', '%20customers', 'customers%20', '%60customers%60', 'customers%3B', 'customers;x',
    'shop.customers', '..%2f..%2fetc%2fpasswd', '..%5c..', 'customers%2forders', 'CUSTOMERS', '__proto__',
    'constructor', 'customers%25'
  ]
    .map((name): Refused => [`the table ${name}`, path(`/api/shop/${name}`), 404, 'TABLE_NOT_FOUND']),
  ...['__proto__', 'constructor', 'toString', 'SHOP', 'shop%00', '..%2fshop', '%20shop', 'shop%2fcustomers'].map(
    (name): Refused => [`the database ${name}`, path(`/api/${name}/customers`), 404, 'DATABASE_NOT_FOUND']
  ),
  ...[
    '/', '/api', '/api/', '/api/shop/customers/', '/api/shop/customers/1', '/API/shop/customers',
    '//api/shop/customers', '/api/../api/shop/customers', '/api/./shop/customers', '/shop/customers', '*',
    '/api?/shop/customers'
  ]
    .map((target): Refused => [`the path ${target}`, path(target), 404, 'NOT_FOUND']),
  ['a select to the path of operations', path('/api/shop'), 400, 'INVALID_BODY'],
  ['a body that is not JSON to a path of nothing', { ...path('/api/shop/customers/1'), body: '{' }, 404, 'NOT_FOUND'],
  ['a body that is not JSON to a path outside the prefix', { ...path('/elsewhere'), body: '{' }, 404, 'NOT_FOUND'],
  [
    'a body beyond the limit to a path outside the prefix', { ...path('/elsewhere'), ...length('99999999'), body: '' },
    404, 'NOT_FOUND'
  ]
]

const accepted: Array<[why: string, line: Line]> = [
  ...[
    'application/json', 'APPLICATION/JSON', 'Application/Json', 'application/json;', 'application/json;;',
    'application/json\t', 'application/json ; charset=utf-8', 'application/json\t;\tcharset=utf-8',
    'application/json;charset=utf-8',
    'application/json; charset=UTF-8', 'application/json; Charset=Utf8', 'application/json; charset="utf-8"',
    'application/json; v=1; charset=utf-8', 'application/json; charset=utf-8; v=1', 'application/json; v'
  ].map((value): [string, Line] => [`the content type ${JSON.stringify(value)}`, contentType(value)]),
  ['two content types, of which the first is JSON', { with: ['Content-Type: text/plain'] }],
  ['two authorizations, of which the first is right', { with: ['Authorization: Bearer wrong'] }],
  [
    'a body in chunks',
    chunked(`10\r\n${SELECT.slice(0, 16)}\r\n${(SELECT.length - 16).toString(16)}\r\n${SELECT.slice(16)}\r\n0\r\n\r\n`)
  ],
  ['a body of as many bytes as the limit', { body: SELECT + ' '.repeat(BODY_LIMIT - SELECT.length) }],
  ['a body that is not compressed and says so', { with: ['Content-Encoding: identity'] }],
  ['an expectation that there is none of', { with: ['Expect: the-unexpected'] }],
  ['an upgrade that there is none of', {
    without: ['Connection'], with: ['Connection: upgrade, close', 'Upgrade: websocket']
  }],
  ['another method in a header', { with: ['X-HTTP-Method-Override: DELETE'] }],
  ['a wish for HTML', { with: ['Accept: text/html'] }],
  ['HTTP/1.0', { start: 'POST /api/shop/customers HTTP/1.0', without: ['Host'] }],
  ['the whole address in the first line', path('http://elsewhere/api/shop/customers')],
  ['a path that is encoded where it need not be', path('/api/%73hop/%63ustomers')]
]

/** What is decided here does not reach the database, so that one engine is enough. */
const test = sharedOnEachEngine(t, { schema: shop, only: ['sqlite'] })

await test('a request with wrong headers, path or length is refused and changes nothing', async (t, service) => {
  const wire = await listen(service)
  const everything = ['select * from customers order by id']
  const before = await dump(service.sql, everything)
  service.statements()
  for (const [why, line, status, code] of refused) {
    const [answer, ...more] = await wire.send(typeof line === 'string' || Buffer.isBuffer(line) ? line : request(line))
    isRefusal(t, answer ?? { status: 0, headers: {}, text: '', json: null }, { status, code, why })
    const isBeforeRoutes = ['INVALID_REQUEST', 'HEADERS_TOO_LARGE'].includes(code)
    if (isBeforeRoutes) t.equal(answer?.headers['cache-control'], 'no-store', `${why}: no cache keeps it`)
    t.same(
      [more, service.statements(), await dump(service.sql, everything)], [[], [], before],
      `${why}: nothing was asked of the database and no row changed`
    )
  }
  t.same(
    service.log.filter((line) => JSON.parse(line).level >= 40), [],
    'errors of clients are not logged as errors of the service'
  )
})

await test('a request with unusual headers or an unusual path is answered like any other', async (t, service) => {
  const wire = await listen(service)
  for (const [why, line] of accepted) {
    const answers = await wire.send(request(line))
    t.match(answers.map(({ status, text }) => [status, text]), [
      [200, '{"success":true,"data":{"rows":[{"id":1}],"count":1}}']
    ], why)
  }
})

await test('a request that ends before its body changes nothing and is not logged as an error', async (t, service) => {
  const wire = await listen(service)
  for (const line of [{ ...length('1000'), body: DELETE }, chunked(`24\r\n${DELETE}\r\n`)]) {
    t.same(await wire.send(request(line), { hangUp: true }), [])
  }
  await until('the connections have ended', async () =>
    await promisify(service.server.app.server.getConnections.bind(service.server.app.server))() === 0)
  t.same(service.log.filter((line) => JSON.parse(line).level >= 40), [])
  t.match(await service.sql('select count(*) as count from customers'), [{ count: 4 }])
})

await test('bytes that follow a request do not appear as its response', async (t, service) => {
  const wire = await listen(service)
  const insert = request({
    without: ['Connection'], body: '{"verb":"insert","data":{"email":"new@example.com","name":"New"}}'
  })
  t.match((await wire.send(Buffer.concat([insert, Buffer.from('garbage\r\n\r\n')]))).map(({ text }) => text), [
    '{"success":true,"data":{"inserted":1,"id":5}}'
  ])
  t.match(await service.sql('select email from customers where id = 5'), [{ email: 'new@example.com' }])
})

await test('CONNECT after a running request gets its own response, which names the methods', async (t, service) => {
  const wire = await listen(service)
  const connect = Buffer.from('CONNECT db:3306 HTTP/1.1\r\nHost: db:3306\r\n\r\n')
  const insert = request({
    without: ['Connection'], body: '{"verb":"insert","data":{"email":"new@example.com","name":"New"}}'
  })
  t.match((await wire.send(Buffer.concat([insert, connect]))).map(({ text }) => text), [
    '{"success":true,"data":{"inserted":1,"id":5}}'
  ])
  const [answer] = await wire.send(connect)
  t.match(answer?.headers, { allow: 'POST, QUERY', connection: 'close', 'x-request-id': /./ })
})

await test('the connection is closed if a client keeps sending after its CONNECT was refused', async (t, service) => {
  const socket = await (await listen(service)).open()
  const answers = readAnswers(socket)
  socket.write('CONNECT db:3306 HTTP/1.1\r\nHost: db:3306\r\n\r\n')
  const flood = setInterval(() => socket.write('x'.repeat(1000)), 20)
  t.match(await answers, [{ status: 405 }])
  clearInterval(flood)
})

await test('a request that was answered before its body proved invalid gets only that response', async (t, service) => {
  const wire = await listen(service)
  for (const keep of [[], ['Connection']]) {
    const head = request({
      start: 'POST /elsewhere HTTP/1.1',
      without: ['Content-Length', ...keep],
      with: ['Transfer-Encoding: chunked'],
      body: ''
    })
    const broken = Buffer.from('no length\r\n')
    const statuses = (answers: Answer[]): number[] => answers.map(({ status }) => status)
    t.same(statuses(await wire.send(Buffer.concat([head, broken]))), [404], 'all at once')
    const socket = await wire.open()
    const answers = readAnswers(socket)
    socket.write(head)
    await once(socket, 'data')
    socket.write(broken)
    t.same(statuses(await answers), [404], 'the rest later')
  }
})

await onEachEngine(t, 'a request that arrives while the server ' +
  'closes is answered', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const wire = await listen(service)
  const connected = once(service.server.app.server, 'connection') as Promise<[Socket]>
  const socket = await wire.open()
  const [other] = await connected
  const answers = readAnswers(socket)
  const bytes = request({ without: ['Connection'] })
  socket.write(bytes.subarray(0, 40))
  await until('its beginning is read', () => other.bytesRead === 40)
  const closed = service.server.app.close()
  socket.write(bytes.subarray(40))
  t.match(await answers, [
    { status: 200, headers: { connection: 'close' }, json: { success: true, data: { count: 1 } } }
  ])
  await closed
})

const UPGRADE = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c']
/** The request that must not run: it arrives as the body of another one. */
const INNER = request({
  without: ['Connection'], body: '{"verb":"insert","data":{"email":"inner@example.com","name":"Inner"}}'
})
const outer = (line: Line = {}): Buffer => request({ without: ['Connection'], body: INNER, ...line })

/** What arrives in the same packet as the request with the upgrade, and what arrives after its answer has begun. */
const attacks: Array<[why: string, first: Line, together: Buffer, later: Buffer]> = [
  ['the head of the next request together with it', { with: UPGRADE }, outer().subarray(0, -INNER.length), INNER],
  ['the whole next request together with it', { with: UPGRADE }, outer(), INNER],
  ['nothing together with it', { with: UPGRADE }, Buffer.alloc(0), INNER],
  ['two such requests', { with: UPGRADE }, request({ without: ['Connection'], with: UPGRADE }), INNER],
  [
    'the upgrade in two headers', { with: ['Connection: keep-alive', 'Upgrade: websocket', 'Connection: upgrade'] },
    outer().subarray(0, -INNER.length), INNER
  ],
  [
    'the upgrade behind so many headers that Node leaves it out',
    { with: [...new Array<string>(2000).fill('a:'), ...UPGRADE] }, outer().subarray(0, -INNER.length), INNER
  ],
  ['a request in chunks', {
    without: ['Connection', 'Content-Length'],
    with: [...UPGRADE, 'Transfer-Encoding: chunked'],
    body: '2\r\n{}\r\n0\r\n\r\n'
  }, outer().subarray(0, -INNER.length), INNER],
  ['a request without a body', {
    start: 'GET /api/shop/customers HTTP/1.1',
    without: ['Connection', 'Content-Length', 'Content-Type'],
    with: UPGRADE,
    body: ''
  }, outer().subarray(0, -INNER.length), INNER]
]

/** Sends the attack over a new connection, and returns the answers. */
async function attack (port: number, first: Buffer, together: Buffer, later: Buffer): Promise<Answer[]> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const answers = readAnswers(socket)
  socket.write(Buffer.concat([first, together]))
  setImmediate(() => socket.write(later))
  socket.once('data', () => socket.write(later))
  return await answers
}

await test('the body of a request behind one that asks for an upgrade is not run as a request', async (t, service) => {
  await listen(service)
  const { port } = service.server.app.server.address() as AddressInfo
  for (const [why, line, together, later] of attacks) {
    const answers = await attack(port, request({ without: ['Connection'], ...line }), together, later)
    t.match(answers, [{ headers: { connection: 'close' } }], why)
    t.equal(answers.length, 1, `${why}: nothing behind it is answered`)
    t.match(
      await service.sql("select count(*) as count from customers where email = 'inner@example.com'"), [{ count: 0 }],
      `${why}: and nothing is run`
    )
  }
})

await test('a request with a body that asks for an upgrade is answered like any other', async (t, service) => {
  const wire = await listen(service)
  t.match((await wire.send(request({ without: ['Connection'], with: UPGRADE }))).map(({ text }) => text), [
    '{"success":true,"data":{"rows":[{"id":1}],"count":1}}'
  ])
  t.match(
    await wire.send(request({ without: ['Connection'], with: ['Upgrade: h2c', 'Connection: close'] })),
    [{ status: 200 }], 'without the upgrade in Connection it is none'
  )
})

await test('in the server of a host app, also behind a request for one of its own routes', async (t, service) => {
  const host = await hostOf(t, service.url)
  host.get('/own', async () => ({ own: true }))
  await host.register(createRowQuery({ databases: { shop: { url: service.url } } }).plugin, { prefix: '/second' })
  await host.listen({ port: 0 })
  const { port } = host.server.address() as AddressInfo
  const [, , together, later] = attacks[0] as [string, Line, Buffer, Buffer]
  const own = Buffer.from(`GET /own HTTP/1.1\r\nHost: a\r\n${UPGRADE.join('\r\n')}\r\n\r\n`)
  for (const first of [own, request({ without: ['Connection'], with: UPGRADE })]) {
    const answers = await attack(port, first, together, later)
    t.match(answers.map(({ status, headers }) => [status, headers['connection']]), [[200, 'close']])
    t.match(await service.sql("select count(*) as count from customers where email = 'inner@example.com'"), [
      { count: 0 }
    ])
  }
})

const ORIGIN = 'https://app.example.com'
const onSqlite = ['sqlite' as const]
const listedOrigins = {
  schema: shop, only: onSqlite, options: { cors: { origins: [ORIGIN, 'http://localhost:5173'] } }
}

async function ask ({ server: { app } }: Service, {
  method = 'POST', url = '/api/shop/customers', headers = {}, token = TOKEN
}: Pick<InjectOptions, 'method' | 'url'> & { headers?: Record<string, string>, token?: string | null }) {
  const response = await app.inject({
    method,
    url,
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...headers,
      ...(method === 'POST' && { 'content-type': 'application/json' })
    },
    ...(method === 'POST' && { payload: '{"verb":"select","columns":["id"],"limit":1}' })
  })
  const { 'content-type': type } = response.headers
  return {
    status: response.statusCode, headers: response.headers, json: type === undefined ? undefined : response.json()
  }
}

/** The preflight request of a browser, which has no token. */
const asking = (origin: string) => ({
  method: 'OPTIONS' as const,
  token: null,
  headers: {
    origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type'
  }
})
const corsHeaders = (headers: object): string[] =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'))

const testListed = sharedOnEachEngine(t, listedOrigins)

await testListed('a preflight request of a listed origin needs no token', async (t, service) => {
  for (const origin of [ORIGIN, 'http://localhost:5173']) {
    for (const url of ['/api/shop/customers', '/api/shop/no-such-table', '/api/nowhere', '/api/openapi.json']) {
      const { status, headers, json } = await ask(service, { ...asking(origin), url })
      t.same([status, json], [204, undefined], url)
      t.match(headers, {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': 'authorization, content-type, idempotency-key, if-none-match, ' +
          'row-query-consistency, x-request-id',
        'access-control-max-age': '600',
        vary: /origin/i
      })
      t.notOk('access-control-allow-credentials' in headers)
    }
  }
})

await testListed('a page of a listed origin may read every response and its headers', async (t, service) => {
  const headers = { origin: ORIGIN }
  const answers = [
    await ask(service, { headers }), await ask(service, { headers, token: 'wrong' }),
    await ask(service, { headers, url: '/api/shop/nowhere' }), await ask(service, { headers, url: '/api/nowhere' }),
    await ask(service, { headers, method: 'GET', url: '/api/openapi.json' })
  ]
  t.same(answers.map(({ status }) => status), [200, 401, 404, 404, 200])
  for (const { headers } of answers) {
    t.equal(headers['access-control-allow-origin'], ORIGIN)
    t.match(headers['vary'], /origin/i)
    t.match(
      headers['access-control-expose-headers'],
      /x-request-id, retry-after, idempotency-replayed, ratelimit-limit, ratelimit-remaining, ratelimit-reset/
    )
  }
})

await testListed('other origins, and requests without one, get no CORS headers, and their preflight ' +
  'requests are refused', async (t, service) => {
  for (const origin of [
    'https://evil.example.com', 'https://app.example.com.evil.com', 'http://app.example.com', 'null', '*'
  ]) {
    const question = await ask(service, asking(origin))
    t.match(question, { status: 401, json: { error: { code: 'UNAUTHENTICATED' } } })
    const { status, headers } = await ask(service, { headers: { origin } })
    t.same([status, corsHeaders(headers), corsHeaders(question.headers)], [200, [], []], origin)
    t.match(headers['vary'], /origin/i, 'so that caches keep the answers of origins apart')
  }
  t.same(corsHeaders((await ask(service, {})).headers), [])
  t.match(
    await ask(service, { method: 'OPTIONS', headers: { origin: ORIGIN } }),
    { status: 405, headers: { allow: 'POST, QUERY', 'accept-query': 'application/json' } },
    'OPTIONS without the preflight headers is an ordinary request'
  )
  t.match(await ask(service, { method: 'OPTIONS', url: '/api/shop/customers/1' }), {
    status: 404, json: { error: { code: 'NOT_FOUND' } }
  })
})

await onEachEngine(t, '"*" allows every origin, ' +
  'without naming it', { ...listedOrigins, options: { cors: { origins: ['*'] } } }, async (t, service) => {
  for (const { headers, status } of [
    await ask(service, asking('https://any.example.com')), await ask(service, { headers: { origin: 'null' } })
  ]) {
    t.ok(status < 300)
    t.equal(headers['access-control-allow-origin'], '*')
    t.notOk('access-control-allow-credentials' in headers)
  }
})

await test('without the setting there are no CORS headers', async (t, service) => {
  const question = await ask(service, asking(ORIGIN))
  t.equal(question.status, 401)
  const { status, headers } = await ask(service, { headers: { origin: ORIGIN } })
  t.same([status, corsHeaders(headers), headers['vary'], corsHeaders(question.headers)], [200, [], 'Accept', []])
})

await test('every response disables caching and content type guessing', async (t, service) => {
  for (const answer of [
    await ask(service, {}), await ask(service, { token: 'wrong' }), await ask(service, { url: '/api/nowhere' }),
    await ask(service, { method: 'GET' })
  ]) {
    t.match(answer.headers, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }, String(answer.status))
  }
  t.match(
    await ask(service, { method: 'GET', url: '/api/openapi.json' }),
    { headers: { 'cache-control': 'private, no-cache', 'x-content-type-options': 'nosniff' } },
    'a document may be kept and asked about'
  )
})
