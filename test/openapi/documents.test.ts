/**
 * Documents: access, caching, the document of the interface with every error as the service returns it, and what the
 * setting `openapiInfo` says.
 */
import t from 'tap'
import { BodySchema } from '../../schemas/body.ts'
import type { TokenOptions } from '../../schemas/options.ts'
import { createShop } from '../../src/demo/shop.ts'
import { catalogue } from '../../src/errors.ts'
import { createRowQuery } from '../../src/index.ts'
import { runInProcess } from '../support/command.ts'
import { get, tokenFor, validate } from '../support/documents.ts'
import { isRefusal } from '../support/refusals.ts'
import { type Answer, onEachEngine, type Schema, sharedOnEachEngine, startService, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const tokens = [
  tokenFor('reader', ['select']),
  tokenFor('writer', ['insert', 'update'], { shop: ['orders', 'order_lines', 'nowhere'] }),
  tokenFor('twin', ['select'], { shop: '*' }),
  tokenFor('inserter', ['insert']),
  tokenFor('nothing', ['select'], { shop: ['nowhere'] })
]
const PATHS = ['/openapi.json', '/shop/openapi.json']

const testShop = sharedOnEachEngine(t, { schema: shop, tokens })

/** Without that of several operations. */
const pathsOf = (json: any): string[] => Object.keys(json.paths).filter((path) => path !== '/shop').sort()
const verbsOf = (json: any, path: string): string[] =>
  Object.keys(json.paths[path].post.requestBody.content['application/json'].examples)

await testShop('the documents require a token', async (t, { server }) => {
  for (const path of PATHS) {
    isRefusal(t, await get(server, path, { token: null }), { status: 401, code: 'UNAUTHENTICATED', why: path })
    isRefusal(t, await get(server, path, { token: 'nobody' }), { status: 401, code: 'UNAUTHENTICATED', why: path })
    t.match(await get(server, path), {
      status: 200,
      headers: { 'content-type': 'application/json; charset=utf-8', 'x-request-id': String },
      json: { openapi: '3.1.0' }
    })
  }
})

t.test('a database without permissions looks like one that does not exist', async (t) => {
  const folder = t.testdir()
  for (const name of ['shop', 'archive']) createShop(`${folder}/${name}.db`)
  const databases = {
    shop: { url: `sqlite:${folder}/shop.db` },
    archive: { url: `sqlite:${folder}/archive.db` },
    docs: { url: `sqlite:${folder}/shop.db` }
  }
  const { server } = await startService(t, '', {
    options: {
      databases, docs: true, tokens: [tokenFor(TOKEN, ['select']), tokenFor('stranger', ['select'], { archive: '*' })]
    }
  })
  const answers = await Promise.all(
    ['shop', 'nowhere'].map((name) => get(server, `/${name}/openapi.json`, { token: 'stranger' }))
  )
  const [hidden, absent] = answers.map(({ text }) => text.replaceAll(/shop|nowhere/g, '…'))
  t.equal(hidden, absent)
  isRefusal(t, answers[0] as Answer, { status: 404, code: 'DATABASE_NOT_FOUND', why: 'hidden' })
  isRefusal(t, await get(server, '/constructor/openapi.json'), {
    status: 404, code: 'DATABASE_NOT_FOUND', why: 'a name that every object has'
  })
  t.same((await get(server, '/openapi.json', { token: 'stranger' })).json['x-databases'], ['archive'])
  t.match(
    await get(server, '/docs/openapi.json'), { status: 200, json: { info: { title: 'Row Query: docs' } } },
    'a database that is called as the page is'
  )
})

await testShop('a document contains only the tables and verbs of the token', async (t, { server }) => {
  const everything = await get(server, '/shop/openapi.json')
  t.same(pathsOf(everything.json), ['customers', 'order_items', 'order_lines', 'orders', 'products', 'settings'].map(
    (table) => `/shop/${table}`
  ))
  t.same(verbsOf(everything.json, '/shop/orders'), ['select', 'insert', 'update', 'delete'])
  t.same(verbsOf(everything.json, '/shop/order_lines'), ['select'], 'a view')

  const reader = await get(server, '/shop/openapi.json', { token: 'reader' })
  t.same(pathsOf(reader.json), pathsOf(everything.json))
  t.same(verbsOf(reader.json, '/shop/orders'), ['select'])
  t.notMatch(reader.text, /Insert|Update|Delete/)

  const writer = await get(server, '/shop/openapi.json', { token: 'writer' })
  t.same(pathsOf(writer.json), ['/shop/orders'], 'nothing can be written to the view')
  t.same(verbsOf(writer.json, '/shop/orders'), ['insert', 'update'])
  const { paths, tags, components: { schemas } } = writer.json
  t.notMatch(
    JSON.stringify({ paths, tags, schemas }),
    /customers|products|order_items|order_lines|settings|SelectRequest|nowhere/,
    'not even as what a foreign key refers to'
  )

  const own = await get(server, '/openapi.json', { token: 'writer' })
  t.same(verbsOf(own.json, '/{database}/{table}'), ['insert', 'update'])
  t.same(own.json['x-databases'], ['shop'])
})

await onEachEngine(t, 'a document is created once, and not sent again to a ' +
  'client that has it', { schema: shop, tokens }, async (t, { server, sql, engine }) => {
  for (const path of PATHS) {
    const { headers: { etag }, text } = await get(server, path)
    t.match(etag, /^"[0-9a-f]{32}"$/)
    t.match(await get(server, path), {
      text, headers: { etag, vary: 'Authorization', 'cache-control': 'private, no-cache' }
    })
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*'] as string[]) {
      t.match(await get(server, path, { headers: { 'if-none-match': known } }), {
        status: 304, text: '', headers: { etag }
      }, known)
    }
    t.match(await get(server, path, { headers: { 'if-none-match': '"other"' } }), { status: 200, text })
    t.match(await get(server, path, { method: 'HEAD' }), {
      status: 200, text: '', headers: { etag, 'content-length': String(Buffer.byteLength(text)) }
    })
    t.not((await get(server, path, { token: 'reader' })).headers.etag, etag, 'another for another token')
    t.equal(
      (await get(server, path, { token: 'reader' })).headers.etag,
      (await get(server, path, { token: 'twin' })).headers.etag, 'the same for one that sees the same'
    )
  }
  const before = await get(server, '/shop/openapi.json')
  await server.rows.refresh()
  t.equal((await get(server, '/shop/openapi.json')).headers.etag, before.headers.etag, 'tables that are as they were')
  await sql(
    engine === 'sqlite' ? 'alter table settings add column extra int' : 'alter table settings add column extra int null'
  )
  await server.rows.refresh()
  t.match((await get(server, '/shop/openapi.json', {
    headers: { 'if-none-match': before.headers.etag as string }
  })).json.components.schemas.SettingsRow.properties.extra, { type: ['integer', 'null'] })
})

await onEachEngine(t, 'every grant gets its own document, also beyond the limit of the cache', {
  schema: shop,
  only: ['sqlite'],
  tokens: Array.from({ length: 20 }, (_, index) => tokenFor(`t${index}`, ['select'], {
    shop: index % 2 === 0 ? ['orders', `t${index}`] : ['settings', `t${index}`]
  }))
}, async (t, { server }) => {
  for (let round = 0; round < 2; round++) {
    for (let index = 0; index < 20; index++) {
      t.same(
        pathsOf((await get(server, '/shop/openapi.json', { token: `t${index}` })).json),
        [index % 2 === 0 ? '/shop/orders' : '/shop/settings']
      )
    }
  }
})

await testShop('a token without tables gets an empty document', async (t, { server }) => {
  t.match(await get(server, '/shop/openapi.json', { token: 'nothing' }), { status: 200, json: { paths: {}, tags: [] } })
  t.match((await get(server, '/openapi.json', { token: 'nothing' })).json, { 'x-databases': ['shop'] })
})

await onEachEngine(t, 'public documents show all tables and verbs without a token', {
  schema: shop, only: ['sqlite'], options: { openapi: 'public' }, tokens: [tokenFor('reader', ['select'])]
}, async (t, { server, post }) => {
  for (const path of PATHS) {
    const { status, headers, text } = await get(server, path, { token: null })
    t.match({ status, headers }, { status: 200, headers: { 'cache-control': 'no-cache' } })
    for (const token of ['nobody', 'reader', TOKEN]) t.equal((await get(server, path, { token })).text, text)
  }
  t.match(await get(server, '/other/openapi.json', { token: null }), {
    status: 404, json: { error: { code: 'DATABASE_NOT_FOUND' } }
  })
  t.match(await post('orders', { verb: 'select' }, { token: null }), { status: 401 }, 'and nothing else')
})

await onEachEngine(t, 'disabled documents are 404', {
  schema: shop, only: ['sqlite'], options: { openapi: 'off' }
}, async (t, { server }) => {
  isRefusal(t, await get(server, '/openapi.json'), { status: 404, code: 'NOT_FOUND', why: 'the interface' })
  isRefusal(t, await get(server, '/shop/openapi.json'), {
    status: 405, code: 'METHOD_NOT_ALLOWED', why: 'a table of that name could be'
  })
})

await onEachEngine(t, 'the rate limit counts public documents by address, others by token', {
  schema: shop, only: ['sqlite'], options: { openapi: 'public', rateLimit: { max: 2 } }
}, async (t, { server, post }) => {
  const statuses: number[] = []
  for (let count = 0; count < 3; count++) {
    statuses.push((await get(server, '/shop/openapi.json', { token: null })).status)
  }
  t.same(statuses, [200, 200, 429])
  t.match(await post('orders', { verb: 'select' }), { status: 200 })
})

const namesakes = ['openapi.json', 'docs'].map((table) => `create table "${table}" (id int not null primary key)`)

await onEachEngine(t, 'a table with the name of a document can still be queried', {
  schema: () => namesakes,
  only: ['sqlite'],
  options: { docs: true }
}, async (t, { server, post }) => {
  for (const table of ['openapi.json', 'docs']) {
    t.match(await post(table, { verb: 'insert', data: { id: 7 } }), { status: 200, json: { data: { id: 7 } } })
    t.match(await post(table, { verb: 'select' }), { status: 200, json: { data: { rows: [{ id: 7 }] } } })
  }
  t.same(pathsOf((await get(server, '/shop/openapi.json')).json), ['/shop/docs', '/shop/openapi.json'])
  isRefusal(t, await get(server, '/shop/openapi.json', { method: 'PUT' }), {
    status: 405, code: 'METHOD_NOT_ALLOWED', why: 'PUT'
  })
})

t.test('a database that was never reached has no document', async (t) => {
  const { server } = await startService(t, 'mysql://root@127.0.0.1:1/shop')
  isRefusal(t, await get(server, '/shop/openapi.json'), {
    status: 503, code: 'DATABASE_UNAVAILABLE', why: 'no catalog'
  })
  t.match(await get(server, '/openapi.json'), { status: 200 })
})

const regions: Schema = () => [
  'create table orders (id integer primary key, tenant int not null, region int not null, total int not null)'
]
const ruled = (name: string, rows: object) =>
  ({ ...tokenFor(name, ['select', 'insert']), databases: { shop: { orders: { rows } } } } as TokenOptions)

await onEachEngine(t, 'tokens whose rules give values to different columns have documents of their own', {
  schema: regions,
  only: ['sqlite'],
  tokens: [ruled('by tenant', { tenant: 7 }), ruled('by region', { region: 7 }), ruled('free', { total: { $gte: 0 } })]
}, async (t, { server }) => {
  const requiredFor = async (token: string): Promise<string[]> => {
    const { json } = await get(server, '/shop/openapi.json', { token })
    const [schema] = Object.entries(json.components.schemas).filter((
      [name, { required = [], properties = {} }]: [string, any]
    ) => /Insert|Data|New/.test(name) && required.includes('total') && 'tenant' in properties)
    return (schema?.[1] as { required: string[] } | undefined)?.required.toSorted() ?? []
  }
  t.same([await requiredFor('by tenant'), await requiredFor('by region'), await requiredFor('free')], [
    ['region', 'total'], ['tenant', 'total'], ['region', 'tenant', 'total']
  ])
})

// the document of the interface

await testShop('the interface has one path with a union of the verbs', async (t, { server }) => {
  const { json } = await get(server, '/openapi.json')
  t.match(json, { openapi: '3.1.0', servers: [{ url: '/api' }], security: [{ token: [] }], 'x-databases': ['shop'] })
  t.match(json.components.securitySchemes, { token: { type: 'http', scheme: 'bearer' } })
  t.same(Object.keys(json.paths), ['/{database}', '/{database}/{table}'])
  const { post } = json.paths['/{database}/{table}']
  t.match(post.parameters, [
    { in: 'path', name: 'database', required: true }, { in: 'path', name: 'table', required: true }
  ])
  t.same(post.requestBody.content['application/json'].schema, { $ref: '#/components/schemas/RowsRequest' })
  const { RowsRequest: schema, RowsResponse: answers } = json.components.schemas
  t.match(schema.discriminator, {
    propertyName: 'verb',
    mapping: { select: '#/components/schemas/RowsSelectRequest', delete: '#/components/schemas/RowsDeleteRequest' }
  })
  t.equal(answers.anyOf.length, 4)
  t.equal(schema.oneOf.length, 4)
  for (const body of BodySchema.anyOf) {
    const verb = body.properties.verb.const
    const { properties, required } = json.components.schemas[`Rows${verb[0]?.toUpperCase()}${verb.slice(1)}Request`]
    t.same(
      { fields: Object.keys(properties), required }, { fields: Object.keys(body.properties), required: body.required },
      `${verb}: the schema that requests are held against`
    )
  }
})

await testShop('the document has every error under its status, with an example', async (t, { server }) => {
  const { json } = await get(server, '/openapi.json')
  const { responses } = json.paths['/{database}/{table}'].post
  const found = Object.entries<any>(responses).filter(([status]) => status !== '200')
    .flatMap(([status, { content, description }]) =>
      Object.entries<any>(content['application/json'].examples).map(([code, { value }]) => {
        t.match(value, { success: false, data: {}, error: { code, message: /^[^%]{10,}$/, details: Array } }, code)
        t.match(description, code)
        return [code, Number(status)]
      }))
  t.same(found.sort(), [...catalogue].sort())
  t.same(json.components.schemas.ErrorResponse.properties.error.properties.code.enum, [...catalogue.keys()])
})

await onEachEngine(t, 'the document has the headers of responses', {
  schema: shop, only: ['sqlite'], options: { rateLimit: { max: 4 } }
}, async (t, { server, post }) => {
  const { json } = await get(server, '/openapi.json')
  const { responses } = json.paths['/{database}/{table}'].post
  const usual = [
    'content-type', 'content-length', 'date', 'connection', 'keep-alive', 'cache-control', 'vary',
    'x-content-type-options'
  ]
  const answers = [
    await post('orders', { verb: 'select' }),
    await post('orders', { verb: 'select' }, { token: null }),
    await post('orders', { verb: 'select' }, { method: 'PUT' }),
    await post('orders', { verb: 'drop' }),
    await post('orders', { verb: 'select' }),
    await post('orders', { verb: 'select' })
  ]
  t.same(answers.map(({ status }) => status), [200, 401, 405, 400, 200, 429])
  for (const { status, headers } of answers) {
    const described = Object.keys(responses[status].headers).map((name) => name.toLowerCase())
    const sent = Object.keys(headers).filter(
      (name) => !usual.includes(name) && (status === 429 || !name.startsWith('ratelimit-'))
    )
    t.same(sent.sort(), described.sort(), String(status))
  }
  for (const status of ['408', '503']) {
    t.match(responses[status].headers, { 'Retry-After': { schema: { type: 'integer' } } })
  }
})

await testShop('the answer of a select has each media type that it may be sent in', async (t, { server }) => {
  const typesFor = async (token?: string): Promise<string[]> => Object.keys((await get(
    server, '/openapi.json', token === undefined ? {} : { token }
  )).json.paths['/{database}/{table}'].post.responses[200].content)
  const types = await typesFor()
  t.same(types, ['application/json', 'application/x-ndjson', 'text/csv'])
  for (const accept of types) {
    const { headers } = await server.app.inject({
      method: 'POST',
      url: '/api/shop/orders',
      headers: { authorization: `Bearer ${TOKEN}`, accept },
      payload: { verb: 'select' }
    })
    t.match(headers, { 'content-type': new RegExp(`^${accept};|^${accept}$`) })
  }
  t.same(await typesFor('inserter'), ['application/json'], 'nothing else is answered so')
})

await testShop('the documents name the media types of imports where the token may insert, that of the interface ' +
  'with their options', async (t, { server }) => {
  const postOf = async (path: string, table: string, token?: string) =>
    (await get(server, path, token === undefined ? {} : { token })).json.paths[table].post
  const types = ['application/json', 'application/x-ndjson', 'text/csv']
  const { requestBody, parameters } = await postOf('/openapi.json', '/{database}/{table}')
  t.same(Object.keys(requestBody.content), types)
  t.same(parameters.filter((each: any) => each.in === 'query').map(({ name }: { name: string }) => name), [
    'onConflict', 'set', 'dryRun', 'transaction', 'separator'
  ])
  const reader = await postOf('/openapi.json', '/{database}/{table}', 'reader')
  t.same([Object.keys(reader.requestBody.content), reader.parameters.map(({ name }: { name: string }) => name)], [
    ['application/json'], ['database', 'table']
  ])
  const orders = await postOf('/shop/openapi.json', '/shop/orders')
  t.same(
    [Object.keys(orders.requestBody.content), orders.parameters], [['application/json'], undefined],
    'what clients are generated from'
  )
  for (const type of types.slice(1)) t.ok(orders.requestBody.description.includes(type))
  t.notOk('description' in (await postOf('/shop/openapi.json', '/shop/orders', 'reader')).requestBody)
  const { statusCode } = await server.app.inject({
    method: 'POST',
    url: '/api/shop/orders?dryRun=true&separator=;',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/csv' },
    payload: 'customer_id\n1\n'
  })
  t.equal(statusCode, 200)
})

await testShop('the examples of errors equal real responses', async (t, { server, post }) => {
  const { json } = await get(server, '/openapi.json')
  const examples = Object.assign({}, ...Object.values<any>(json.paths['/{database}/{table}'].post.responses).map(
    ({ content }) => content['application/json'].examples
  ))
  const answers = [
    await post('customers', '{"verb":"select",}'),
    await post('customers', { verb: 'drop' }),
    await post('customers', { verb: 'delete' }),
    await post('products', { verb: 'select', columns: ['sku', 'colour'] }),
    await post('products', { verb: 'insert', data: { sku: 'A', name: 'A', price: '1.505' } }),
    await post('products', { verb: 'select', orderBy: 'sku, sku' }),
    await post('products', { verb: 'select', limit: 5000 }),
    await post('products', { verb: 'insert', data: { sku: 'A', price: '1' } }),
    await post('products', { verb: 'select' }, { token: 'nobody' }),
    await post('products', { verb: 'delete', filters: { sku: 'A' } }, { token: 'reader' }),
    await post('products', 'verb=select', { headers: { 'content-type': 'text/plain' } })
  ]
  for (const { json } of answers) t.same(json, examples[json.error.code].value, json.error.code)
})

// openapiInfo

const openapiInfo = {
  title: 'Acme rows',
  description: 'Rows of *Acme*.',
  version: '2.1.0',
  termsOfService: 'https://acme.example/terms',
  license: { name: 'Apache 2.0', identifier: 'Apache-2.0' },
  contact: { name: 'Ada', url: 'https://acme.example', email: 'ada@acme.example' },
  servers: [{ url: 'https://rows.acme.example/api', description: 'production' }, { url: '/api' }]
}
const { servers, ...info } = openapiInfo

await onEachEngine(t, 'the title, description, licence, contact and servers of ' +
  'documents can be set', { schema: shop, only: ['sqlite'], options: { openapiInfo } }, async (t, { server, url }) => {
  const [own, shopDocument] = await Promise.all(
    ['/openapi.json', '/shop/openapi.json'].map((path) => get(server, path))
  )
  t.same(own?.json.info, info)
  t.same(shopDocument?.json.info, { ...info, title: 'Acme rows: shop' })
  for (const answer of [own, shopDocument]) {
    t.same(answer?.json.servers, servers)
    t.match(await validate(answer?.json), { valid: true })
  }
  const config = t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url } }, openapiInfo }) })
  const { stdout } = await runInProcess(t, ['openapi', 'shop', '--config', `${config}/row-query.json`])
  t.same(JSON.parse(stdout), shopDocument?.json, 'row-query openapi prints them too')
})

await onEachEngine(t, 'what is not set stays as it was', {
  schema: shop, only: ['sqlite'], options: { openapiInfo: { title: 'Acme' } }
}, async (t, { server }) => {
  t.match((await get(server, '/shop/openapi.json')).json, {
    info: {
      title: 'Acme: shop', version: '1.0.0', description: /^Reads and changes rows/, license: { name: 'Not stated' }
    },
    servers: [{ url: '/api' }]
  })
})

t.test('a licence has an identifier or a URL', async (t) => {
  const license = { name: 'Own', identifier: 'LicenseRef-own', url: 'https://acme.example/licence' }
  const create = (own: object) =>
    () => createRowQuery({ databases: { shop: { url: 'sqlite::memory:' } }, openapiInfo: own })
  t.throws(create({ license }), /openapiInfo\.license: cannot have both identifier and url/)
  t.throws(create({ contact: { email: 'ada' } }), /openapiInfo\.contact\.email/)
  t.throws(create({ licence: license }), /openapiInfo\.licence/)
})
