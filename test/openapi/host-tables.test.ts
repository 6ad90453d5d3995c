/** The tables in the document of a host app with @fastify/swagger. */
import swagger from '@fastify/swagger'
import { Validator } from '@seriousme/openapi-schema-validator'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createShop } from '../../src/demo/shop.ts'
import { createRowQuery, type HostGrant } from '../../src/index.ts'
import { referencesIn } from '../support/documents.ts'

const everything: HostGrant = { name: 'docs', permissions: ['select', 'insert', 'update', 'delete'], databases: '*' }

interface Host { openapi?: string, prefixes?: string[], grant?: HostGrant, server?: string }

async function createHost (t: Test, { openapi = '3.1.0', prefixes = ['/api'], grant = everything, server = '/' }: Host = {}): Promise<FastifyInstance> {
  const path = `${t.testdir()}/shop.db`
  createShop(path)
  const services = prefixes.map(() => createRowQuery({ databases: { shop: { url: `sqlite:${path}` } } }))
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, {
    openapi: { openapi, info: { title: 'Host', version: '2.0.0' }, servers: [{ url: server }], tags: [{ name: 'own' }], components: { securitySchemes: { own: { type: 'http', scheme: 'basic' } } } },
    transformObject: services.map(({ swaggerTables }) => swaggerTables(grant)).reduce((first, second) => (document) => second({ openapiObject: first(document) }))
  })
  app.get('/v1/own', { schema: { operationId: 'own', response: { 200: { description: 'ok', type: 'string' } } } }, async () => 'own')
  for (const [index, { plugin }] of services.entries()) await app.register(plugin, { prefix: prefixes[index] as string })
  await app.ready()
  return app
}

/** Whether each reference of a document leads somewhere. */
function danglingIn (document: any): string[] {
  return referencesIn(document).filter((reference) => reference.slice(2).split('/').reduce((node, step) => node?.[step], document) === undefined)
}

t.test('the tables are in the document of the host, beside its own routes', async (t) => {
  const app = await createHost(t)
  const document = app.swagger() as any
  t.same(Object.keys(document.paths), ['/v1/own', '/api/{database}/{table}', '/api/shop', '/api/shop/categories', '/api/shop/customers', '/api/shop/order_items', '/api/shop/order_totals', '/api/shop/orders', '/api/shop/products'])
  const { post } = document.paths['/api/shop/orders']
  t.match(post, { operationId: 'queryApiShopOrders', tags: ['shop.orders'], security: [{ ApiShopToken: [] }], requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/ApiShopOrdersRequest' } } } } })
  t.equal(document.paths['/api/shop'].post.operationId, 'runApiShopOperations')
  t.match(document.components.securitySchemes, { own: { scheme: 'basic' }, ApiShopToken: { scheme: 'bearer' } })
  t.match(document.tags, [{ name: 'own' }, { name: 'shop.categories' }])
  t.same(danglingIn(document), [])
  t.match(await new Validator().validate(structuredClone(document)), { valid: true })
  t.match(app.swagger({ yaml: true }), /^ {2}\/api\/shop\/orders:$/m)
})

t.test('the document has what the grant sees', async (t) => {
  const app = await createHost(t, { grant: { name: 'docs', permissions: ['select'], databases: { shop: { orders: { columns: { select: ['id', 'status'] } } } } } })
  const document = app.swagger() as any
  t.same(Object.keys(document.paths), ['/v1/own', '/api/{database}/{table}', '/api/shop', '/api/shop/orders'])
  t.same(Object.keys(document.components.schemas.ApiShopOrdersRow.properties), ['id', 'status'])
  t.notMatch(JSON.stringify(document), /ApiShopOrdersInsert/)
})

t.test('an app that registers the plugin twice has the tables of both', async (t) => {
  const app = await createHost(t, { prefixes: ['/api', '/other/v2', ''] })
  const document = app.swagger() as any
  for (const path of ['/api/shop/orders', '/other/v2/shop/orders', '/shop/orders']) t.ok(document.paths[path], path)
  const ids = Object.values<any>(document.paths).flatMap(({ post }) => post?.operationId ?? [])
  t.equal(new Set(ids).size, ids.length)
  t.same(danglingIn(document), [])
  t.match(await new Validator().validate(structuredClone(document)), { valid: true })
})

t.test('paths are relative to the server of the host, as its own', async (t) => {
  const app = await createHost(t, { server: 'http://localhost/v1', prefixes: ['/v1/api'] })
  const document = app.swagger() as any
  t.ok(document.paths['/own'])
  t.ok(document.paths['/api/shop/orders'])
})

t.test('a document of another version, and a grant that is not valid, are errors', async (t) => {
  const app = await createHost(t, { openapi: '3.0.3' })
  t.throws(() => app.swagger(), { code: 'ROW_QUERY_HOST_DOCUMENT', message: /3\.1/ })
  for (const grant of [{ name: 'docs', permissions: ['read'], databases: '*' }, { name: 'docs', permissions: ['select'] }]) {
    const other = await createHost(t, { grant: grant as unknown as HostGrant })
    t.throws(() => other.swagger(), { message: /^swaggerTables\(\) was called with a grant that is not valid/ })
  }
  const unregistered = createRowQuery({ databases: { shop: { url: 'sqlite::memory:' } } }).swaggerTables(everything)
  t.throws(() => unregistered({ openapiObject: { openapi: '3.1.0', paths: {} } }), { message: /requires that the plugin is registered/ })
})
