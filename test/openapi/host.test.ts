/** The route in the document of a host app with @fastify/swagger. */
import swagger, { type FastifyDynamicSwaggerOptions } from '@fastify/swagger'
import Fastify, { type FastifyInstance } from 'fastify'
import { Validator } from '@seriousme/openapi-schema-validator'
import t, { type Test } from 'tap'
import { catalogue } from '../../src/errors.ts'
import { createShop } from '../../src/demo/shop.ts'
import rowQuery, { hashToken } from '../../src/index.ts'

const tokens = [{ name: 'reader', sha256: hashToken('reader'), permissions: ['select' as const] }]

async function createHost (t: Test, { prefixes = ['/api'], openapi = '3.1.0', withSwagger = true, swaggerOptions = { openapi: { openapi, info: { title: 'Host', version: '2.0.0' } } } as FastifyDynamicSwaggerOptions } = {}): Promise<FastifyInstance> {
  const path = `${t.testdir()}/shop.db`
  createShop(path)
  const app = Fastify()
  t.teardown(() => app.close())
  if (withSwagger) await app.register(swagger, swaggerOptions)
  app.get('/own', { schema: { operationId: 'own', response: { 200: { description: 'ok', type: 'string' } } } }, async () => 'own')
  for (const prefix of prefixes) await app.register(rowQuery, { prefix, databases: { shop: { url: `sqlite:${path}` } }, tokens, docs: true })
  await app.ready()
  return app
}

for (const openapi of ['3.1.0', '3.0.3']) {
  t.test(`the route is in the host's document of OpenAPI ${openapi}, beside the host's routes`, async (t) => {
    const app = await createHost(t, { openapi })
    const document = app.swagger() as any
    t.equal(document.info.title, 'Host')
    t.same(Object.keys(document.paths), ['/own', '/api/{database}/{table}'], 'neither our own documents nor the methods that are refused')
    t.same(Object.keys(document.paths['/api/{database}/{table}']), ['post'])
    const { operationId, parameters, requestBody, responses } = document.paths['/api/{database}/{table}'].post
    t.equal(operationId, 'queryApiRows')
    t.same(parameters.map(({ name }: { name: string }) => name), ['database', 'table'])
    const { schema } = requestBody.content['application/json']
    t.same(schema.oneOf.map(({ properties }: any) => properties.verb.enum), [['select'], ['insert'], ['update'], ['delete']])
    t.same(Object.keys(responses), ['200', ...new Set([...catalogue.values()].map(String))].sort())
    t.match(await new Validator().validate(structuredClone(document)), { valid: true })
  })
}

t.test('the route is in a document of Swagger 2.0 too, with less detail', async (t) => {
  const app = await createHost(t, { swaggerOptions: { swagger: { info: { title: 'Host', version: '2.0.0' } } } })
  const document = app.swagger() as any
  t.equal(document.swagger, '2.0')
  t.match(document.paths['/api/{database}/{table}'].post, { operationId: 'queryApiRows', responses: { 200: {}, 404: {} } })
})

t.test('an app that registers the plugin twice has two operations', async (t) => {
  const app = await createHost(t, { prefixes: ['/api', '/other/v2', ''] })
  const ids = Object.values(app.swagger().paths as any).flatMap(({ post }: any) => post?.operationId ?? [])
  t.same(ids, ['queryApiRows', 'queryOtherV2Rows', 'queryRows'])
})

for (const withSwagger of [true, false]) {
  t.test(`${withSwagger ? 'with' : 'without'} @fastify/swagger in the host app, the plugin serves its own documents`, async (t) => {
    const app = await createHost(t, { withSwagger, prefixes: ['/api', '/other/v2'] })
    for (const prefix of ['/api', '/other/v2']) {
      const answer = await app.inject({ url: `${prefix}/shop/openapi.json`, headers: { authorization: 'Bearer reader' } })
      t.match(answer.json(), { info: { title: 'Row Query: shop' }, servers: [{ url: prefix }], paths: { '/shop/orders': {} } })
      t.equal((await app.inject({ url: `${prefix}/shop/openapi.json` })).statusCode, 401)
    }
    t.match((await app.inject('/own')).body, 'own')
    t.equal(app.hasDecorator('swagger'), withSwagger)
  })
}
