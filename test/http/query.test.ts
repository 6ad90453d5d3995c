/** The method QUERY (RFC 10008): a POST that only reads, with an entity tag. */
import { createHash } from 'node:crypto'
import t from 'tap'
import { tokenOf } from '../grants/support.ts'
import { isRefusal } from '../support/refusals.ts'
import { type PostOptions, type Service, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const writer = 'writer'
const ORIGIN = 'https://app.example.com'
const test = sharedOnEachEngine(t, {
  schema: shop,
  tokens: [tokenOf(writer, { permissions: ['insert'] })],
  options: { cors: { origins: [ORIGIN] }, bodyLimit: 2000 }
})

const QUERY = 'QUERY' as NonNullable<PostOptions['method']>
const query = ({ post }: Service, body: unknown, headers: Record<string, string> = {}, table = 'customers') =>
  post(table, body, { method: QUERY, headers })
const operate = (service: Service, body: unknown, headers: Record<string, string> = {}) =>
  service.operate(body, { method: QUERY, headers })

const tagOf = (text: string): string => `"${createHash('sha256').update(text).digest('hex').slice(0, 32)}"`
const tagged = (text: string) => ({
  etag: tagOf(text),
  'cache-control': 'private, no-cache',
  vary: /^Accept, Authorization, Row-Query-Consistency\b/,
  'accept-query': 'application/json',
  'content-type': 'application/json; charset=utf-8'
})

await test('QUERY answers like POST of a select, whose verb may be left out, ' +
  'with an entity tag', async (t, service) => {
  const fields = { columns: ['id', 'email'], orderBy: 'id', limit: 2 }
  const posted = await service.post('customers', { verb: 'select', ...fields })
  t.equal(posted.status, 200)
  t.notOk(['etag', 'accept-query'].some((name) => name in posted.headers), 'POST has no entity tag')
  t.match(posted.headers, { 'cache-control': 'no-store' })
  for (const body of [fields, { verb: 'select', ...fields }]) {
    t.match(await query(service, body), { status: 200, text: posted.text, headers: tagged(posted.text) })
  }
  const groups = await query(service, { aggregates: { n: { $count: '*' } } })
  t.match(groups, { status: 200, headers: tagged(groups.text) })
})

await test('If-None-Match with the tag makes it 304 without a body, after the statement', async (t, service) => {
  const body = { filters: { id: 1 } }
  const { text, headers } = await query(service, body)
  const tag = String(headers['etag'])
  for (const known of [tag, `"other", ${tag}`, `W/${tag}`, '*']) {
    service.statements()
    const answer = await query(service, body, { 'if-none-match': known })
    t.match(answer, {
      status: 304,
      text: '',
      headers: { etag: tag, 'cache-control': 'private, no-cache', 'accept-query': 'application/json' }
    }, known)
    t.equal(service.statements().length, 1, 'it saves bytes, not the database')
  }
  for (const known of ['"other"', tag.slice(1, -1)]) {
    t.match(await query(service, body, { 'if-none-match': known }), { status: 200, text }, known)
  }
  await service.sql("update customers set name = 'Changed' where id = 1")
  t.match(await query(service, body, { 'if-none-match': tag }), {
    status: 200, json: { data: { rows: [{ name: 'Changed' }] } }
  })
  isRefusal(t, await query(service, { filters: { nothing: 1 } }, { 'if-none-match': '*' }), {
    status: 400, code: 'COLUMN_NOT_FOUND', why: 'errors have no tag'
  })
})

await test('QUERY has no other verb', async (t, service) => {
  for (const body of [
    { verb: 'delete', filters: { id: 1 } }, { verb: 'insert', data: {} }, { verb: 'toString' }, { verb: null },
    { verb: 1 }
  ]) {
    const refused = await query(service, body)
    isRefusal(t, refused, { status: 400, code: 'INVALID_BODY', why: JSON.stringify(body) })
    t.match(refused.json.error.details, [{ path: '/verb' }])
    t.notOk('etag' in refused.headers)
  }
  for (const body of ['[]', '1', 'null', '{"limit":']) t.equal((await query(service, body)).status, 400, body)
  t.match(await service.sql('select count(*) as n from customers'), [{ n: /4|4n/ }])
})

await test('QUERY of several operations only selects', async (t, service) => {
  const select = { table: 'customers', verb: 'select', filters: { id: 1 } }
  const body = { operations: [select, { ...select, filters: { id: { $ref: '/0/rows/0/id' } } }] }
  const { text } = await service.operate(body)
  t.match(await operate(service, body), { status: 200, text, headers: tagged(text) })
  t.match(await operate(service, body, { 'if-none-match': tagOf(text) }), { status: 304, text: '' })
  t.notOk('etag' in (await service.operate(body)).headers)
  for (const [given, path] of [
    [{ operations: [select, { table: 'customers', verb: 'delete', filters: { id: 1 } }] }, '/operations/1/verb'],
    [{ operations: [{ ...select, lock: true }] }, '/operations/0/lock'],
    [{ ...body, dryRun: true }, '/dryRun']
  ] as const) {
    const refused = await operate(service, given)
    isRefusal(t, refused, { status: 400, code: 'INVALID_BODY', why: path })
    t.match(refused.json.error.details, [{ path }])
    t.match(refused.headers, { 'accept-query': 'application/json' })
  }
})

await test('options in the path are refused as with POST', async (t, { server }) => {
  const authorization = { authorization: `Bearer ${TOKEN}` }
  for (const [method, path] of [['QUERY', 'shop/customers'], ['QUERY', 'shop'], ['POST', 'shop']]) {
    const payload = path === 'shop' ? { operations: [{ table: 'customers', verb: 'select' }] } : {}
    const { statusCode, body } = await server.app.inject({
      method: method as 'POST', url: `/api/${path}?dryRun=true`, headers: authorization, payload
    })
    t.match(
      [statusCode, JSON.parse(body).error], [400, { code: 'INVALID_BODY', message: /^The option "dryRun"/ }],
      `${method} ${path}`
    )
  }
})

await test('every answer to QUERY and OPTIONS names the media type of QUERY, and 405 ' +
  'names the methods', async (t, service) => {
  const { server } = service
  const accept = { 'accept-query': 'application/json' }
  t.match(await query(service, {}, {}, 'gone'), { status: 404, headers: accept })
  t.match(await service.post('customers', {}, { method: QUERY, token: null }), { status: 401, headers: accept })
  t.match(await service.post('customers', {}, { method: QUERY, token: writer }), { status: 403, headers: accept })
  t.match(await query(service, {}, { 'content-type': 'text/plain' }), { status: 415, headers: accept })
  t.match(await query(service, { filters: { name: 'x'.repeat(3000) } }), { status: 413, headers: accept })
  const authorization = `Bearer ${TOKEN}`
  const ask = async (method: string, url: string, headers = {}) =>
    await server.app.inject({ method: method as 'GET', url, headers: { authorization, ...headers } })
  for (const url of ['/api/shop/customers', '/api/shop']) {
    t.match(await ask('QUERY', url), { statusCode: 415, headers: accept }, 'without a body')
    t.match(await ask('OPTIONS', url), { statusCode: 405, headers: { ...accept, allow: 'POST, QUERY' } }, url)
    t.match(await ask('GET', url), {
      statusCode: 405, headers: { allow: 'POST, QUERY' }, body: /Method GET is not allowed here: use POST or QUERY/
    }, url)
    const preflight = await ask('OPTIONS', url, {
      origin: ORIGIN, 'access-control-request-method': 'QUERY', 'access-control-request-headers': 'if-none-match'
    })
    t.match(preflight, { statusCode: 204, headers: { ...accept, 'access-control-allow-methods': /QUERY/ } }, url)
  }
})

await test('a stream has no tag, and a key is ignored', async (t, service) => {
  const stream = await query(service, { orderBy: 'id' }, { accept: 'application/x-ndjson' })
  t.match(stream, {
    status: 200,
    headers: { 'content-type': /ndjson/, 'accept-query': 'application/json', 'cache-control': 'no-store' }
  })
  t.notOk('etag' in stream.headers)
  t.match(await query(service, { filters: { id: 1 } }, { 'idempotency-key': '' }), { status: 200 })
})

await test('the documents name the method where the token may select', async (t, { server }) => {
  for (const [token, isQuery] of [[TOKEN, true], [writer, undefined]] as const) {
    for (const [url, path] of [
      ['/api/openapi.json', '/{database}/{table}'], ['/api/shop/openapi.json', '/shop/orders'],
      ['/api/shop/openapi.json', '/shop']
    ] as const) {
      const { paths } = (await server.app.inject({ url, headers: { authorization: `Bearer ${token}` } })).json()
      t.equal(paths[path].post['x-query'], isQuery, `${path} ${token}`)
      t.equal(/QUERY/.test(paths[path].post.description), isQuery === true)
    }
  }
})
