/** The document of the interface, with every error as the service returns it. */
import t from 'tap'
import { BodySchema } from '../../schemas/body.ts'
import { catalogue } from '../../src/errors.ts'
import { get, tokenFor } from '../support/documents.ts'
import { onEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

await onEachEngine(t, 'the interface has one path with a union of the verbs', { schema: shop, only: ['sqlite'] }, async (t, { server }) => {
  const { json } = await get(server, '/openapi.json')
  t.match(json, { openapi: '3.1.0', servers: [{ url: '/api' }], security: [{ token: [] }], 'x-databases': ['shop'] })
  t.match(json.components.securitySchemes, { token: { type: 'http', scheme: 'bearer' } })
  t.same(Object.keys(json.paths), ['/{database}', '/{database}/{table}'])
  const { post } = json.paths['/{database}/{table}']
  t.match(post.parameters, [{ in: 'path', name: 'database', required: true }, { in: 'path', name: 'table', required: true }])
  t.same(post.requestBody.content['application/json'].schema, { $ref: '#/components/schemas/RowsRequest' })
  const { RowsRequest: schema, RowsResponse: answers } = json.components.schemas
  t.match(schema.discriminator, { propertyName: 'verb', mapping: { select: '#/components/schemas/RowsSelectRequest', delete: '#/components/schemas/RowsDeleteRequest' } })
  t.equal(answers.anyOf.length, 4)
  t.equal(schema.oneOf.length, 4)
  for (const body of BodySchema.anyOf) {
    const verb = body.properties.verb.const
    const { properties, required } = json.components.schemas[`Rows${verb[0]?.toUpperCase()}${verb.slice(1)}Request`]
    t.same({ fields: Object.keys(properties), required }, { fields: Object.keys(body.properties), required: body.required }, `${verb}: the schema that requests are held against`)
  }
})

await onEachEngine(t, 'the document has every error under its status, with an example', { schema: shop, only: ['sqlite'] }, async (t, { server }) => {
  const { json } = await get(server, '/openapi.json')
  const { responses } = json.paths['/{database}/{table}'].post
  const found = Object.entries<any>(responses).filter(([status]) => status !== '200').flatMap(([status, { content, description }]) =>
    Object.entries<any>(content['application/json'].examples).map(([code, { value }]) => {
      t.match(value, { success: false, data: {}, error: { code, message: /^[^%]{10,}$/, details: Array } }, code)
      t.match(description, code)
      return [code, Number(status)]
    }))
  t.same(found.sort(), [...catalogue].sort())
  t.same(json.components.schemas.ErrorResponse.properties.error.properties.code.enum, [...catalogue.keys()])
})

await onEachEngine(t, 'the document has the headers of responses', { schema: shop, only: ['sqlite'], options: { rateLimit: { max: 4 } } }, async (t, { server, post }) => {
  const { json } = await get(server, '/openapi.json')
  const { responses } = json.paths['/{database}/{table}'].post
  const usual = ['content-type', 'content-length', 'date', 'connection', 'keep-alive', 'cache-control', 'vary', 'x-content-type-options']
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
    const sent = Object.keys(headers).filter((name) => !usual.includes(name) && (status === 429 || !name.startsWith('ratelimit-')))
    t.same(sent.sort(), described.sort(), String(status))
  }
  for (const status of ['408', '503']) t.match(responses[status].headers, { 'Retry-After': { schema: { type: 'integer' } } })
})

await onEachEngine(t, 'the answer of a select has each media type that it may be sent in', { schema: shop, only: ['sqlite'], tokens: [tokenFor('writer', ['insert'])] }, async (t, { server }) => {
  const typesFor = async (token?: string): Promise<string[]> => Object.keys((await get(server, '/openapi.json', token === undefined ? {} : { token })).json.paths['/{database}/{table}'].post.responses[200].content)
  const types = await typesFor()
  t.same(types, ['application/json', 'application/x-ndjson', 'text/csv'])
  for (const accept of types) {
    const { headers } = await server.app.inject({ method: 'POST', url: '/api/shop/orders', headers: { authorization: `Bearer ${TOKEN}`, accept }, payload: { verb: 'select' } })
    t.match(headers, { 'content-type': new RegExp(`^${accept};|^${accept}$`) })
  }
  t.same(await typesFor('writer'), ['application/json'], 'nothing else is answered so')
})

await onEachEngine(t, 'the examples of errors equal real responses', { schema: shop, only: ['sqlite'], tokens: [tokenFor('reader', ['select'])] }, async (t, { server, post }) => {
  const { json } = await get(server, '/openapi.json')
  const examples = Object.assign({}, ...Object.values<any>(json.paths['/{database}/{table}'].post.responses).map(({ content }) => content['application/json'].examples))
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
