/** Access to the documents and their caching. */
import t from 'tap'
import { createShop } from '../../src/demo/shop.ts'
import { get, tokenFor } from '../support/documents.ts'
import { isRefusal } from '../support/refusals.ts'
import type { TokenOptions } from '../../schemas/options.ts'
import { onEachEngine, startService, TOKEN, type Answer, type Schema } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const tokens = [
  tokenFor('reader', ['select']),
  tokenFor('writer', ['insert', 'update'], { shop: ['orders', 'order_lines', 'nowhere'] }),
  tokenFor('twin', ['select'], { shop: '*' })
]
const PATHS = ['/openapi.json', '/shop/openapi.json']

/** Without that of several operations. */
const pathsOf = (json: any): string[] => Object.keys(json.paths).filter((path) => path !== '/shop').sort()
const verbsOf = (json: any, path: string): string[] => Object.keys(json.paths[path].post.requestBody.content['application/json'].examples)

await onEachEngine(t, 'the documents require a token', { schema: shop }, async (t, { server }) => {
  for (const path of PATHS) {
    isRefusal(t, await get(server, path, { token: null }), { status: 401, code: 'UNAUTHENTICATED', why: path })
    isRefusal(t, await get(server, path, { token: 'nobody' }), { status: 401, code: 'UNAUTHENTICATED', why: path })
    t.match(await get(server, path), { status: 200, headers: { 'content-type': 'application/json; charset=utf-8', 'x-request-id': String }, json: { openapi: '3.1.0' } })
  }
})

t.test('a database without permissions looks like one that does not exist', async (t) => {
  const folder = t.testdir()
  for (const name of ['shop', 'archive']) createShop(`${folder}/${name}.db`)
  const databases = { shop: { url: `sqlite:${folder}/shop.db` }, archive: { url: `sqlite:${folder}/archive.db` }, docs: { url: `sqlite:${folder}/shop.db` } }
  const { server } = await startService(t, '', { options: { databases, docs: true, tokens: [tokenFor(TOKEN, ['select']), tokenFor('stranger', ['select'], { archive: '*' })] } })
  const answers = await Promise.all(['shop', 'nowhere'].map((name) => get(server, `/${name}/openapi.json`, { token: 'stranger' })))
  const [hidden, absent] = answers.map(({ text }) => text.replaceAll(/shop|nowhere/g, '…'))
  t.equal(hidden, absent)
  isRefusal(t, answers[0] as Answer, { status: 404, code: 'DATABASE_NOT_FOUND', why: 'hidden' })
  isRefusal(t, await get(server, '/constructor/openapi.json'), { status: 404, code: 'DATABASE_NOT_FOUND', why: 'a name that every object has' })
  t.same((await get(server, '/openapi.json', { token: 'stranger' })).json['x-databases'], ['archive'])
  t.match(await get(server, '/docs/openapi.json'), { status: 200, json: { info: { title: 'Row Query: docs' } } }, 'a database that is called as the page is')
})

await onEachEngine(t, 'a document contains only the tables and verbs of the token', { schema: shop, tokens }, async (t, { server }) => {
  const everything = await get(server, '/shop/openapi.json')
  t.same(pathsOf(everything.json), ['customers', 'order_items', 'order_lines', 'orders', 'products', 'settings'].map((table) => `/shop/${table}`))
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
  t.notMatch(JSON.stringify({ paths, tags, schemas }), /customers|products|order_items|order_lines|settings|SelectRequest|nowhere/, 'not even as what a foreign key refers to')

  const own = await get(server, '/openapi.json', { token: 'writer' })
  t.same(verbsOf(own.json, '/{database}/{table}'), ['insert', 'update'])
  t.same(own.json['x-databases'], ['shop'])
})

await onEachEngine(t, 'a document is created once, and not sent again to a client that has it', { schema: shop, tokens }, async (t, { server, sql, engine }) => {
  for (const path of PATHS) {
    const { headers: { etag }, text } = await get(server, path)
    t.match(etag, /^"[\w-]{43}"$/)
    t.match(await get(server, path), { text, headers: { etag, vary: 'authorization', 'cache-control': 'private, no-cache' } })
    for (const known of [etag, `W/${etag}`, `"other", ${etag}`, '*'] as string[]) {
      t.match(await get(server, path, { headers: { 'if-none-match': known } }), { status: 304, text: '', headers: { etag } }, known)
    }
    t.match(await get(server, path, { headers: { 'if-none-match': '"other"' } }), { status: 200, text })
    t.match(await get(server, path, { method: 'HEAD' }), { status: 200, text: '', headers: { etag, 'content-length': String(Buffer.byteLength(text)) } })
    t.not((await get(server, path, { token: 'reader' })).headers.etag, etag, 'another for another token')
    t.equal((await get(server, path, { token: 'reader' })).headers.etag, (await get(server, path, { token: 'twin' })).headers.etag, 'the same for one that sees the same')
  }
  const before = await get(server, '/shop/openapi.json')
  await server.rows.refresh()
  t.equal((await get(server, '/shop/openapi.json')).headers.etag, before.headers.etag, 'tables that are as they were')
  await sql(engine === 'sqlite' ? 'alter table settings add column extra int' : 'alter table settings add column extra int null')
  await server.rows.refresh()
  t.match((await get(server, '/shop/openapi.json', { headers: { 'if-none-match': before.headers.etag as string } })).json.components.schemas.SettingsRow.properties.extra, { type: ['integer', 'null'] })
})

await onEachEngine(t, 'every grant gets its own document, also beyond the limit of the cache', {
  schema: shop, only: ['sqlite'], tokens: Array.from({ length: 20 }, (_, index) => tokenFor(`t${index}`, ['select'], { shop: index % 2 === 0 ? ['orders', `t${index}`] : ['settings', `t${index}`] }))
}, async (t, { server }) => {
  for (let round = 0; round < 2; round++) {
    for (let index = 0; index < 20; index++) t.same(pathsOf((await get(server, '/shop/openapi.json', { token: `t${index}` })).json), [index % 2 === 0 ? '/shop/orders' : '/shop/settings'])
  }
})

await onEachEngine(t, 'a token without tables gets an empty document', { schema: shop, only: ['sqlite'], tokens: [tokenFor('nothing', ['select'], { shop: ['nowhere'] })] }, async (t, { server }) => {
  t.match(await get(server, '/shop/openapi.json', { token: 'nothing' }), { status: 200, json: { paths: {}, tags: [] } })
  t.match((await get(server, '/openapi.json', { token: 'nothing' })).json, { 'x-databases': ['shop'] })
})

await onEachEngine(t, 'public documents show all tables and verbs without a token', { schema: shop, options: { openapi: 'public' }, tokens: [tokenFor('reader', ['select'])] }, async (t, { server, post }) => {
  for (const path of PATHS) {
    const { status, headers, text } = await get(server, path, { token: null })
    t.match({ status, headers }, { status: 200, headers: { 'cache-control': 'no-cache' } })
    for (const token of ['nobody', 'reader', TOKEN]) t.equal((await get(server, path, { token })).text, text)
  }
  t.match(await get(server, '/other/openapi.json', { token: null }), { status: 404, json: { error: { code: 'DATABASE_NOT_FOUND' } } })
  t.match(await post('orders', { verb: 'select' }, { token: null }), { status: 401 }, 'and nothing else')
})

await onEachEngine(t, 'disabled documents are 404', { schema: shop, options: { openapi: 'off' } }, async (t, { server }) => {
  isRefusal(t, await get(server, '/openapi.json'), { status: 404, code: 'NOT_FOUND', why: 'the interface' })
  isRefusal(t, await get(server, '/shop/openapi.json'), { status: 405, code: 'METHOD_NOT_ALLOWED', why: 'a table of that name could be' })
})

await onEachEngine(t, 'the rate limit counts public documents by address, others by token', { schema: shop, only: ['sqlite'], options: { openapi: 'public', rateLimit: { max: 2 } } }, async (t, { server, post }) => {
  const statuses: number[] = []
  for (let count = 0; count < 3; count++) statuses.push((await get(server, '/shop/openapi.json', { token: null })).status)
  t.same(statuses, [200, 200, 429])
  t.match(await post('orders', { verb: 'select' }), { status: 200 })
})

const namesakes = (quote: string) => ['openapi.json', 'docs'].map((table) => `create table ${quote}${table}${quote} (id int not null primary key)`)

await onEachEngine(t, 'a table with the name of a document can still be queried', { schema: (engine) => namesakes(engine === 'sqlite' ? '"' : '`'), options: { docs: true } }, async (t, { server, post }) => {
  for (const table of ['openapi.json', 'docs']) {
    t.match(await post(table, { verb: 'insert', data: { id: 7 } }), { status: 200, json: { data: { id: 7 } } })
    t.match(await post(table, { verb: 'select' }), { status: 200, json: { data: { rows: [{ id: 7 }] } } })
  }
  t.same(pathsOf((await get(server, '/shop/openapi.json')).json), ['/shop/docs', '/shop/openapi.json'])
  isRefusal(t, await get(server, '/shop/openapi.json', { method: 'PUT' }), { status: 405, code: 'METHOD_NOT_ALLOWED', why: 'PUT' })
})

t.test('a database that was never reached has no document', async (t) => {
  const { server } = await startService(t, 'mysql://root@127.0.0.1:1/shop')
  isRefusal(t, await get(server, '/shop/openapi.json'), { status: 503, code: 'DATABASE_UNAVAILABLE', why: 'no catalog' })
  t.match(await get(server, '/openapi.json'), { status: 200 })
})

const regions: Schema = (engine) => [`create table orders (id ${engine === 'sqlite' ? 'integer primary key' : 'int not null auto_increment primary key'}, tenant int not null, region int not null, total int not null)`]
const ruled = (name: string, rows: object) => ({ ...tokenFor(name, ['select', 'insert']), databases: { shop: { orders: { rows } } } } as TokenOptions)

await onEachEngine(t, 'tokens whose rules give values to different columns once shared a document', { schema: regions, tokens: [ruled('by tenant', { tenant: 7 }), ruled('by region', { region: 7 }), ruled('free', { total: { $gte: 0 } })] }, async (t, { server }) => {
  const requiredFor = async (token: string): Promise<string[]> => {
    const { json } = await get(server, '/shop/openapi.json', { token })
    const [schema] = Object.entries(json.components.schemas).filter(([name, { required = [], properties = {} }]: [string, any]) => /Insert|Data|New/.test(name) && required.includes('total') && 'tenant' in properties)
    return (schema?.[1] as { required: string[] } | undefined)?.required.toSorted() ?? []
  }
  t.same([await requiredFor('by tenant'), await requiredFor('by region'), await requiredFor('free')], [['region', 'total'], ['tenant', 'total'], ['region', 'tenant', 'total']])
})
