import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { dump, isRefusal } from '../support/refusals.ts'
import { onEachEngine, TOKEN, type Answer } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { listen, readAnswers, request, SELECT, type Line } from '../support/wire.ts'

type Refused = [why: string, line: Line | string | Buffer, status: number, code: string]

const type = (value: string): Line => ({ without: ['Content-Type'], with: [`Content-Type: ${value}`] })
const path = (path: string): Line => ({ start: `POST ${path} HTTP/1.1` })
const length = (...lengths: string[]): Line => ({ without: ['Content-Length'], with: lengths.map((value) => `Content-Length: ${value}`) })
const chunked = (body: string): Line => ({ without: ['Content-Length'], with: ['Transfer-Encoding: chunked'], body })
const DELETE = '{"verb":"delete","filters":{"id":4}}'
const BODY_LIMIT = 1_048_576

const refused: Refused[] = [
  ...[
    'text/plain', 'text/json', 'application/jsonx', 'application/json/x', 'application/json+x', 'application/vnd.api+json', 'application/json-patch+json', 'application /json', 'application/json, text/plain', 'application/json x',
    'json', '/', '', '*/*', 'application/*', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x', 'application/octet-stream', '\xabapplication/json', '"application/json"',
    'application/json; charset=latin1', 'application/json;charset=utf-16', 'application/json; CHARSET=ISO-8859-1', 'application/json; charset="utf-16"', 'application/json; charset=', 'application/json; charset=""',
    'application/json;\tcharset\t=\tlatin1', 'application/json; v=1; charset=latin1', 'application/json; charset=latin1; charset=utf-8'
  ].map((value): Refused => [`the content type ${JSON.stringify(value)}`, type(value), 415, 'UNSUPPORTED_MEDIA_TYPE']),
  ['no content type', { without: ['Content-Type'] }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ['neither content type nor body', { without: ['Content-Type', 'Content-Length'], body: '' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ['two content types, of which the first is another', { without: ['Content-Type'], with: ['Content-Type: text/plain', 'Content-Type: application/json'] }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ['a compressed body', { with: ['Content-Encoding: gzip'], body: gzipSync(SELECT) }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
  ['a content type without a body', { without: ['Content-Length'], body: '' }, 400, 'INVALID_JSON'],

  ['no authorization', { without: ['Authorization'] }, 401, 'UNAUTHENTICATED'],
  ['two authorizations, of which the first is wrong', { without: ['Authorization'], with: ['Authorization: Bearer wrong', `Authorization: Bearer ${TOKEN}`] }, 401, 'UNAUTHENTICATED'],
  ['a token in the address', { ...path(`/api/shop/customers?access_token=${TOKEN}`), without: ['Authorization'] }, 401, 'UNAUTHENTICATED'],
  ['a token in a cookie', { without: ['Authorization'], with: [`Cookie: token=${TOKEN}`] }, 401, 'UNAUTHENTICATED'],
  ['no authorization, and a body that never comes', { ...length('1000'), without: ['Authorization', 'Content-Length'], body: '' }, 401, 'UNAUTHENTICATED'],

  ['a length beyond the limit, before any of the body has come', { ...length('99999999'), body: '' }, 413, 'BODY_TOO_LARGE'],
  ['a body of one byte more than the limit', { body: SELECT + ' '.repeat(BODY_LIMIT + 1 - SELECT.length) }, 413, 'BODY_TOO_LARGE'],
  ['a body in chunks beyond the limit', chunked(`200000\r\n${' '.repeat(0x200000)}\r\n0\r\n\r\n`), 413, 'BODY_TOO_LARGE'],

  ['a length that ends within the body', { ...length('20'), body: DELETE }, 400, 'INVALID_JSON'],
  ['two lengths', length(String(SELECT.length), '5'), 400, 'INVALID_REQUEST'],
  ['a negative length', length('-1'), 400, 'INVALID_REQUEST'],
  ['a length that is no number', length('1e2'), 400, 'INVALID_REQUEST'],
  ['a length beyond 64 bits', length('99999999999999999999'), 400, 'INVALID_REQUEST'],
  ['a length and chunks', { with: ['Transfer-Encoding: chunked'], body: '0\r\n\r\n' }, 400, 'INVALID_REQUEST'],
  ['chunks of no length', chunked('zz\r\n'), 400, 'INVALID_REQUEST'],
  ['a transfer encoding that does not end in chunks', { without: ['Content-Length'], with: ['Transfer-Encoding: gzip'] }, 400, 'INVALID_REQUEST'],
  ['no host', { without: ['Host'] }, 400, 'INVALID_REQUEST'],
  ['two hosts', { with: ['Host: elsewhere'] }, 400, 'INVALID_REQUEST'],
  ['two hosts that are the same', { with: ['host: 127.0.0.1'] }, 400, 'INVALID_REQUEST'],
  ['two hosts in HTTP/1.0', { start: 'POST /api/shop/customers HTTP/1.0', with: ['HOST: elsewhere'] }, 400, 'INVALID_REQUEST'],
  ['two hosts and a path that cannot be decoded', { ...path('/api/shop/%zz'), with: ['Host: elsewhere'] }, 400, 'INVALID_REQUEST'],
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
  ['CONNECT with a token and bytes for the other end', request({ start: 'CONNECT 127.0.0.1:3306 HTTP/1.1' }), 405, 'METHOD_NOT_ALLOWED'],
  ['no HTTP at all', 'select * from customers;\r\n\r\n', 400, 'INVALID_REQUEST'],

  ['a blank in the path', path('/api/shop/custo mers'), 400, 'INVALID_REQUEST'],
  ...['/api/shop/customers#x', '/api/shop/customers#', '/api/shop#/customers', '/api/shop/customers?a#b', 'http://elsewhere/api/shop/customers#x', '/elsewhere#x']
    .map((target): Refused => [`the fragment in ${target}`, path(target), 400, 'INVALID_REQUEST']),
  ['a path of 20,000 characters', path(`/api/shop/${'x'.repeat(20_000)}`), 431, 'HEADERS_TOO_LARGE'],
  ['a table of 2,000 characters', path(`/api/shop/${'x'.repeat(2000)}`), 404, 'NOT_FOUND'],
  ['a database of 2,000 characters', path(`/api/${'x'.repeat(2000)}/customers`), 404, 'NOT_FOUND'],
  ['a table of 1,000 characters', path(`/api/shop/${'x'.repeat(1000)}`), 404, 'TABLE_NOT_FOUND'],
  ...['%', '%zz', '%ff', '%c3%28', '%ed%a0%80', '%u0041'].map((name): Refused => [`the table ${name}`, path(`/api/shop/${name}`), 404, 'NOT_FOUND']),
  ...['%00', 'customers%00', '%20customers', 'customers%20', '%60customers%60', 'customers%3B', 'customers;x', 'shop.customers', '..%2f..%2fetc%2fpasswd', '..%5c..', 'customers%2forders', 'CUSTOMERS', '__proto__', 'constructor', 'customers%25']
    .map((name): Refused => [`the table ${name}`, path(`/api/shop/${name}`), 404, 'TABLE_NOT_FOUND']),
  ...['__proto__', 'constructor', 'toString', 'SHOP', 'shop%00', '..%2fshop', '%20shop', 'shop%2fcustomers'].map((name): Refused => [`the database ${name}`, path(`/api/${name}/customers`), 404, 'DATABASE_NOT_FOUND']),
  ...['/', '/api', '/api/', '/api/shop/customers/', '/api/shop/customers/1', '/API/shop/customers', '//api/shop/customers', '/api/../api/shop/customers', '/api/./shop/customers', '/shop/customers', '*', '/api?/shop/customers']
    .map((target): Refused => [`the path ${target}`, path(target), 404, 'NOT_FOUND']),
  ['a select to the path of operations', path('/api/shop'), 400, 'INVALID_BODY'],
  ['a body that is not JSON to a path of nothing', { ...path('/api/shop/customers/1'), body: '{' }, 404, 'NOT_FOUND'],
  ['a body that is not JSON to a path outside the prefix', { ...path('/elsewhere'), body: '{' }, 404, 'NOT_FOUND'],
  ['a body beyond the limit to a path outside the prefix', { ...path('/elsewhere'), ...length('99999999'), body: '' }, 404, 'NOT_FOUND']
]

const accepted: Array<[why: string, line: Line]> = [
  ...[
    'application/json', 'APPLICATION/JSON', 'Application/Json', 'application/json;', 'application/json;;', 'application/json\t', 'application/json ; charset=utf-8', 'application/json\t;\tcharset=utf-8', 'application/json;charset=utf-8',
    'application/json; charset=UTF-8', 'application/json; Charset=Utf8', 'application/json; charset="utf-8"', 'application/json; v=1; charset=utf-8', 'application/json; charset=utf-8; v=1', 'application/json; v'
  ].map((value): [string, Line] => [`the content type ${JSON.stringify(value)}`, type(value)]),
  ['two content types, of which the first is JSON', { with: ['Content-Type: text/plain'] }],
  ['two authorizations, of which the first is right', { with: ['Authorization: Bearer wrong'] }],
  ['a body in chunks', chunked(`10\r\n${SELECT.slice(0, 16)}\r\n${(SELECT.length - 16).toString(16)}\r\n${SELECT.slice(16)}\r\n0\r\n\r\n`)],
  ['a body of as many bytes as the limit', { body: SELECT + ' '.repeat(BODY_LIMIT - SELECT.length) }],
  ['a body that is not compressed and says so', { with: ['Content-Encoding: identity'] }],
  ['an expectation that there is none of', { with: ['Expect: the-unexpected'] }],
  ['an upgrade that there is none of', { without: ['Connection'], with: ['Connection: upgrade, close', 'Upgrade: websocket'] }],
  ['another method in a header', { with: ['X-HTTP-Method-Override: DELETE'] }],
  ['a wish for HTML', { with: ['Accept: text/html'] }],
  ['HTTP/1.0', { start: 'POST /api/shop/customers HTTP/1.0', without: ['Host'] }],
  ['the whole address in the first line', path('http://elsewhere/api/shop/customers')],
  ['parameters in the address', path('/api/shop/customers?verb=delete&limit=5000')],
  ['a path that is encoded where it need not be', path('/api/%73hop/%63ustomers')]
]

await onEachEngine(t, 'a request with wrong headers, path or length is refused and changes nothing', { schema: shop }, async (t, service) => {
  const wire = await listen(service)
  const everything = ['select * from customers order by id']
  const before = await dump(service.sql, everything)
  service.statements()
  for (const [why, line, status, code] of refused) {
    const [answer, ...more] = await wire.send(typeof line === 'string' || Buffer.isBuffer(line) ? line : request(line))
    isRefusal(t, answer ?? { status: 0, headers: {}, text: '', json: null }, { status, code, why })
    t.same([more, service.statements(), await dump(service.sql, everything)], [[], [], before], `${why}: nothing was asked of the database and no row changed`)
  }
  t.same(service.log.filter((line) => JSON.parse(line).level >= 40), [], 'errors of clients are not logged as errors of the service')
})

await onEachEngine(t, 'a request with unusual headers or an unusual path is answered like any other', { schema: shop }, async (t, service) => {
  const wire = await listen(service)
  for (const [why, line] of accepted) {
    const answers = await wire.send(request(line))
    t.match(answers.map(({ status, text }) => [status, text]), [[200, '{"success":true,"data":{"rows":[{"id":1}],"count":1}}']], why)
  }
})

await onEachEngine(t, 'a request that ends before its body changes nothing and is not logged as an error', { schema: shop }, async (t, service) => {
  const wire = await listen(service)
  for (const line of [{ ...length('1000'), body: DELETE }, chunked(`24\r\n${DELETE}\r\n`)]) t.same(await wire.send(request(line), { hangUp: true }), [])
  while (await promisify(service.server.app.server.getConnections.bind(service.server.app.server))() > 0) await sleep(10)
  await sleep(10)
  t.same(service.log.filter((line) => JSON.parse(line).level >= 40), [])
  t.match(await service.sql('select count(*) as count from customers'), [{ count: 4 }])
})

await onEachEngine(t, 'bytes that follow a request do not appear as its response', { schema: shop }, async (t, service) => {
  const wire = await listen(service)
  const insert = request({ without: ['Connection'], body: '{"verb":"insert","data":{"email":"new@example.com","name":"New"}}' })
  t.match((await wire.send(Buffer.concat([insert, Buffer.from('garbage\r\n\r\n')]))).map(({ text }) => text), ['{"success":true,"data":{"inserted":1,"id":5}}'])
  t.match(await service.sql('select email from customers where id = 5'), [{ email: 'new@example.com' }])
})

await onEachEngine(t, 'CONNECT after a running request gets its own response, which names the methods', { schema: shop }, async (t, service) => {
  const wire = await listen(service)
  const connect = Buffer.from('CONNECT db:3306 HTTP/1.1\r\nHost: db:3306\r\n\r\n')
  const insert = request({ without: ['Connection'], body: '{"verb":"insert","data":{"email":"new@example.com","name":"New"}}' })
  t.match((await wire.send(Buffer.concat([insert, connect]))).map(({ text }) => text), ['{"success":true,"data":{"inserted":1,"id":5}}'])
  const [answer] = await wire.send(connect)
  t.match(answer?.headers, { allow: 'POST', connection: 'close', 'x-request-id': /./ })
})

await onEachEngine(t, 'the connection is closed if a client keeps sending after its CONNECT was refused', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const socket = await (await listen(service)).open()
  const answers = readAnswers(socket)
  socket.write('CONNECT db:3306 HTTP/1.1\r\nHost: db:3306\r\n\r\n')
  const flood = setInterval(() => socket.write('x'.repeat(1000)), 20)
  t.match(await answers, [{ status: 405 }])
  clearInterval(flood)
})

await onEachEngine(t, 'a request that was answered before its body proved invalid gets only that response', { schema: shop, only: ['sqlite'] }, async (t, service) => {
  const wire = await listen(service)
  for (const keep of [[], ['Connection']]) {
    const head = request({ start: 'POST /elsewhere HTTP/1.1', without: ['Content-Length', ...keep], with: ['Transfer-Encoding: chunked'], body: '' })
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

await onEachEngine(t, 'a request that arrives while the server closes is answered', { schema: shop }, async (t, service) => {
  const socket = await (await listen(service)).open()
  const answers = readAnswers(socket)
  const bytes = request({ without: ['Connection'] })
  socket.write(bytes.subarray(0, 40))
  await sleep(50)
  const closed = service.server.app.close()
  await sleep(50)
  socket.write(bytes.subarray(40))
  t.match(await answers, [{ status: 200, headers: { connection: 'close' }, json: { success: true, data: { count: 1 } } }])
  await closed
})
