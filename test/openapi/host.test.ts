// night: an app for each test, with the documents of another plugin
/** The route and the tables in the document of a host app with @fastify/swagger. */
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createShop } from '../../src/demo/shop.ts'
import { catalogue } from '../../src/errors.ts'
import rowQuery, { createRowQuery, hashToken, type HostGrant } from '../../src/index.ts'
import { referencesIn, validate } from '../support/documents.ts'

const path = `${t.testdir()}/shop.db`
createShop(path)

// the route

const tokens = [{ name: 'reader', sha256: hashToken('reader'), permissions: ['select' as const] }]

async function createHost (t: Test, {
  prefixes = ['/api'], openapi = '3.1.0', withSwagger = true, swaggerOptions = {
    openapi: { openapi, info: { title: 'Host', version: '2.0.0' } }
  } as FastifyDynamicSwaggerOptions
} = {}): Promise<FastifyInstance> {
  const app = Fastify()
  t.teardown(() => app.close())
  if (withSwagger) await app.register(swagger, swaggerOptions)
  app.get(
    '/own', { schema: { operationId: 'own', response: { 200: { description: 'ok', type: 'string' } } } },
    async () => 'own'
  )
  for (const prefix of prefixes) {
    await app.register(rowQuery, { prefix, databases: { shop: { url: `sqlite:${path}` } }, tokens, docs: true })
  }
  await app.ready()
  return app
}

for (const openapi of ['3.1.0', '3.0.3']) {
  t.test(`the route is in the host's document of OpenAPI ${openapi}, beside the host's routes`, async (t) => {
    const app = await createHost(t, { openapi })
    const document = app.swagger() as any
    t.equal(document.info.title, 'Host')
    t.same(
      Object.keys(document.paths), ['/own', '/api/{database}/{table}'],
      'neither our own documents nor the methods that are refused'
    )
    t.same(Object.keys(document.paths['/api/{database}/{table}']), ['post'])
    const { operationId, parameters, requestBody, responses } = document.paths['/api/{database}/{table}'].post
    t.equal(operationId, 'queryApiRows')
    t.same(parameters.map(({ name }: { name: string }) => name), ['database', 'table'])
    const { schema } = requestBody.content['application/json']
    t.same(schema.oneOf.map(({ properties }: any) => properties.verb.enum), [
      ['select'], ['insert'], ['update'], ['delete']
    ])
    t.same(Object.keys(responses), ['200', ...new Set([...catalogue.values()].map(String))].sort())
    t.match(await validate(document), { valid: true })
  })
}

t.test('the route is in a document of Swagger 2.0 too, with less detail', async (t) => {
  const app = await createHost(t, { swaggerOptions: { swagger: { info: { title: 'Host', version: '2.0.0' } } } })
  const document = app.swagger() as any
  t.equal(document.swagger, '2.0')
  t.match(document.paths['/api/{database}/{table}'].post, {
    operationId: 'queryApiRows', responses: { 200: {}, 404: {} }
  })
})

t.test('an app that registers the plugin twice has two operations', async (t) => {
  const app = await createHost(t, { prefixes: ['/api', '/other/v2', ''] })
  const ids = Object.values(app.swagger().paths as any).flatMap(({ post }: any) => post?.operationId ?? [])
  t.same(ids, ['queryApiRows', 'queryOtherV2Rows', 'queryRows'])
})

for (const withSwagger of [true, false]) {
  t.test(`${withSwagger ? 'with' : 'without'} @fastify/swagger in the host app, the plugin serves its own ` +
    'documents', async (t) => {
    const app = await createHost(t, { withSwagger, prefixes: ['/api', '/other/v2'] })
    for (const prefix of ['/api', '/other/v2']) {
      const answer = await app.inject({
        url: `${prefix}/shop/openapi.json`, headers: { authorization: 'Bearer reader' }
      })
      t.match(answer.json(), {
        info: { title: 'Row Query: shop' }, servers: [{ url: prefix }], paths: { '/shop/orders': {} }
      })
      t.equal((await app.inject({ url: `${prefix}/shop/openapi.json` })).statusCode, 401)
    }
    t.match((await app.inject('/own')).body, 'own')
    t.equal(app.hasDecorator('swagger'), withSwagger)
  })
}

// the tables

const everything: HostGrant = { name: 'docs', permissions: ['select', 'insert', 'update', 'delete'], databases: '*' }

interface Host { openapi?: string, prefixes?: string[], grant?: HostGrant, server?: string }

async function createHostWithTables (
  t: Test, { openapi = '3.1.0', prefixes = ['/api'], grant = everything, server = '/' }: Host = {}
): Promise<FastifyInstance> {
  const services = prefixes.map(() => createRowQuery({ databases: { shop: { url: `sqlite:${path}` } } }))
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(swagger, {
    openapi: {
      openapi,
      info: { title: 'Host', version: '2.0.0' },
      servers: [{ url: server }],
      tags: [{ name: 'own' }],
      components: { securitySchemes: { own: { type: 'http', scheme: 'basic' } } }
    },
    transformObject: services.map(({ swaggerTables }) => swaggerTables(grant)).reduce(
      (first, second) => (document) => second({ openapiObject: first(document) })
    )
  })
  app.get(
    '/v1/own', { schema: { operationId: 'own', response: { 200: { description: 'ok', type: 'string' } } } },
    async () => 'own'
  )
  for (const [index, { plugin }] of services.entries()) {
    await app.register(plugin, { prefix: prefixes[index] as string })
  }
  await app.ready()
  return app
}

/** Whether each reference of a document leads somewhere. */
function danglingIn (document: any): string[] {
  return referencesIn(document).filter(
    (reference) => reference.slice(2).split('/').reduce((node, step) => node?.[step], document) === undefined
  )
}

t.test('the tables are in the document of the host, beside its own routes', async (t) => {
  const app = await createHostWithTables(t)
  const document = app.swagger() as any
  t.same(Object.keys(document.paths), [
    '/v1/own', '/api/{database}/{table}', '/api/shop', '/api/shop/categories', '/api/shop/customers',
    '/api/shop/order_items', '/api/shop/order_totals', '/api/shop/orders', '/api/shop/products'
  ])
  const { post } = document.paths['/api/shop/orders']
  t.match(post, {
    operationId: 'queryApiShopOrders',
    tags: ['shop.orders'],
    security: [{ ApiShopToken: [] }],
    requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/ApiShopOrdersRequest' } } } }
  })
  t.equal(document.paths['/api/shop'].post.operationId, 'runApiShopOperations')
  t.match(document.components.securitySchemes, { own: { scheme: 'basic' }, ApiShopToken: { scheme: 'bearer' } })
  t.match(document.tags, [{ name: 'own' }, { name: 'shop.categories' }])
  t.same(danglingIn(document), [])
  t.match(await validate(document), { valid: true })
  t.match(app.swagger({ yaml: true }), /^ {2}\/api\/shop\/orders:$/m)
})

t.test('the document has what the grant sees', async (t) => {
  const app = await createHostWithTables(t, {
    grant: {
      name: 'docs', permissions: ['select'], databases: { shop: { orders: { columns: { select: ['id', 'status'] } } } }
    }
  })
  const document = app.swagger() as any
  t.same(Object.keys(document.paths), ['/v1/own', '/api/{database}/{table}', '/api/shop', '/api/shop/orders'])
  t.same(Object.keys(document.components.schemas.ApiShopOrdersRow.properties), ['id', 'status'])
  t.notMatch(JSON.stringify(document), /ApiShopOrdersInsert/)
})

t.test('an app that registers the plugin twice has the tables of both', async (t) => {
  const app = await createHostWithTables(t, { prefixes: ['/api', '/other/v2', ''] })
  const document = app.swagger() as any
  for (const path of ['/api/shop/orders', '/other/v2/shop/orders', '/shop/orders']) t.ok(document.paths[path], path)
  const ids = Object.values<any>(document.paths).flatMap(({ post }) => post?.operationId ?? [])
  t.equal(new Set(ids).size, ids.length)
  t.same(danglingIn(document), [])
  t.match(await validate(document), { valid: true })
})

t.test('paths are relative to the server of the host, as its own', async (t) => {
  const app = await createHostWithTables(t, { server: 'http://localhost/v1', prefixes: ['/v1/api'] })
  const document = app.swagger() as any
  t.ok(document.paths['/own'])
  t.ok(document.paths['/api/shop/orders'])
})

t.test('a document of another version, and a grant that is not valid, are errors', async (t) => {
  const app = await createHostWithTables(t, { openapi: '3.0.3' })
  t.throws(() => app.swagger(), { code: 'ROW_QUERY_HOST_DOCUMENT', message: /3\.1/ })
  for (const grant of [
    { name: 'docs', permissions: ['read'], databases: '*' }, { name: 'docs', permissions: ['select'] }
  ]) {
    const other = await createHostWithTables(t, { grant: grant as unknown as HostGrant })
    t.throws(() => other.swagger(), { message: /^swaggerTables\(\) was called with a grant that is not valid/ })
  }
  const unregistered = createRowQuery({ databases: { shop: { url: 'sqlite::memory:' } } }).swaggerTables(everything)
  t.throws(() => unregistered({ openapiObject: { openapi: '3.1.0', paths: {} } }), {
    message: /requires that the plugin is registered/
  })
})
