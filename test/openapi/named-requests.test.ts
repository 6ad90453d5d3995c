/**
 * Named requests as documents and as tools for language models: what the caller may call, with the types of its
 * columns.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import t, { type Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { get, validate } from '../support/documents.ts'
import { callOf, connectTo, send } from '../support/mcp.ts'
import { anyEngine } from '../support/rotation.ts'
import { runInProcess } from '../support/command.ts'
import { onEachEngine, startService, TOKEN, type Answer } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const roles = {
  front: {
    for: 'requests' as const,
    permissions: ['select' as const, 'insert' as const, 'update' as const],
    databases: { shop: { customers: {}, orders: {}, products: {} } }
  }
}
const x = (name: string) => ({ $param: name })
const requests = {
  find: {
    description: 'Customers, <b>newest</b> first',
    database: 'shop',
    table: 'customers',
    as: 'front',
    parameters: {
      status: { optional: true, description: 'new or old' },
      least: { default: '0.00' },
      since: { default: { $now: { years: -90 } } },
      size: { default: 20, maximum: 50 },
      after: { default: null }
    },
    body: {
      verb: 'select',
      columns: ['id', 'name', 'credit'],
      include: { orders: { columns: ['id', 'note'] } },
      orderBy: 'created_at DESC',
      limit: x('size'),
      after: x('after'),
      filters: { status: { $in: x('status') }, credit: { $gte: x('least') }, created_at: { $gte: x('since') } }
    }
  },
  tagged: {
    database: 'shop',
    table: 'products',
    as: 'front',
    parameters: { tags: {} },
    body: { verb: 'select', columns: ['sku'], filters: { tags: x('tags') }, total: true }
  },
  count_by: {
    database: 'shop',
    table: 'customers',
    as: 'front',
    parameters: { least: {} },
    body: {
      verb: 'select',
      groupBy: ['status'],
      aggregates: { n: { $count: '*', filters: { credit: { $gte: x('least') } } } },
      orderBy: 'status'
    }
  },
  add: {
    database: 'shop',
    table: 'orders',
    as: 'front',
    parameters: { customer: {}, note: { default: null } },
    body: { verb: 'insert', data: { customer_id: x('customer'), note: x('note') }, returning: ['id', 'note'] }
  },
  keep: {
    database: 'shop',
    table: 'products',
    as: 'front',
    parameters: { sku: {} },
    body: { verb: 'insert', data: { sku: x('sku'), name: 'x', price: 1 }, onConflict: { key: ['sku'], set: [] } }
  },
  rename: {
    database: 'shop',
    table: 'customers',
    as: 'front',
    parameters: { id: {}, name: {} },
    body: { verb: 'update', filters: { id: x('id') }, data: { name: x('name') } }
  },
  all: {
    database: 'shop',
    as: 'front',
    parameters: { id: {} },
    body: {
      operations: [
        { table: 'customers', verb: 'select', columns: ['id'], filters: { id: x('id') } },
        { table: 'orders', verb: 'select', columns: ['id'], filters: { customer_id: x('id') } }
      ]
    }
  },
  walk: {
    database: 'shop',
    table: 'customers',
    as: 'front',
    parameters: { skip: { optional: true } },
    body: { verb: 'select', columns: ['id'], orderBy: 'id', offset: x('skip') }
  },
  put: {
    database: 'shop',
    table: 'products',
    as: 'front',
    parameters: { sku: {} },
    body: { verb: 'insert', data: { sku: x('sku'), name: 'x', price: 1 }, onConflict: { key: ['sku'] } }
  },
  move: {
    database: 'shop',
    as: 'front',
    parameters: { id: {} },
    body: {
      operations: [
        { table: 'customers', verb: 'select', columns: ['id'], filters: { id: x('id') } },
        { table: 'orders', verb: 'update', filters: { id: x('id') }, data: { note: 'moved' } }
      ]
    }
  },
  own: {
    database: 'shop',
    table: 'products',
    parameters: { sku: {} },
    body: { verb: 'select', columns: ['sku', 'price'], filters: { sku: x('sku') } }
  },
  broken: {
    database: 'shop',
    table: 'products',
    as: 'front',
    parameters: { x: {} },
    body: { verb: 'select', columns: ['sku'], filters: { colour: x('x') } }
  }
}
const tokens = [
  { name: 'website', sha256: hashToken('website'), requests: '*' as const },
  { name: 'one', sha256: hashToken('one'), requests: ['add'] },
  { name: 'nobody', sha256: hashToken('nobody'), permissions: ['select' as const], databases: { shop: ['orders'] } }
]

const ajv = new Ajv2020({ strict: false, validateFormats: false, code: { optimize: false } })

await onEachEngine(t, 'the document of named requests', {
  schema: shop, tokens, options: { roles, requests }, only: await anyEngine(t)
}, async (t, service) => {
  const { server } = service
  const { json, headers } = await get(server, '/requests/openapi.json', { token: 'website' })
  t.match(headers, { 'cache-control': 'private, no-cache', etag: /"/ })
  const { valid, errors } = await validate(json)
  t.ok(valid, JSON.stringify(errors))
  t.same(Object.keys(json.paths), [
    'find', 'tagged', 'count_by', 'add', 'keep', 'rename', 'all', 'walk', 'put', 'move'
  ].map((name) => `/requests/${name}`), 'without those of others, and what does not fit')
  const { post, get: read } = json.paths['/requests/find']
  t.match([post.operationId, read.operationId, post.description], [
    'request_find', 'get_request_find', 'Customers, &lt;b>newest&lt;/b> first'
  ])
  const { properties, required } = post.requestBody.content['application/json'].schema
  t.equal(required, undefined)
  t.match(properties, {
    status: { type: 'array', description: 'new or old' },
    least: { default: '0.00' },
    size: { type: 'integer', minimum: 1, maximum: 50, default: 20 },
    since: { 'x-default': { $now: { years: -90 } } }
  })
  t.same(Object.keys(properties.after.anyOf[0].properties), ['created_at', 'id'])
  const byName = Object.fromEntries(read.parameters.map((parameter: { name: string }) => [parameter.name, parameter]))
  t.match(byName, {
    status: { in: 'query', required: false, style: 'form', explode: true },
    after: { content: { 'application/json': {} } }
  })
  t.equal(json.paths['/requests/add'].get, undefined)
  t.same(json.paths['/requests/add'].post.requestBody.content['application/json'].schema.required, ['customer'])

  const answers: Array<[string, object]> = [
    ['find', {}], ['find', { size: 1 }], ['tagged', { tags: { a: 1 } }], ['count_by', { least: 0 }],
    ['add', { customer: 1 }], ['keep', { sku: 'MUG-1' }], ['rename', { id: 1, name: 'Ada' }], ['all', { id: 1 }],
    ['walk', {}], ['walk', { skip: 1 }]
  ]
  for (const [name, body] of answers) {
    const answer = await server.app.inject({
      method: 'POST', url: `/api/requests/${name}`, headers: { authorization: 'Bearer website' }, payload: body
    })
    t.equal(answer.statusCode, 200, `${name} ${answer.body}`)
    const { schema } = json.paths[`/requests/${name}`].post.responses['200'].content['application/json']
    t.ok(ajv.validate(schema, answer.json()), `${name} ${answer.body} ${JSON.stringify(ajv.errors)}`)
  }
  t.same(Object.keys((await get(server, '/requests/openapi.json', { token: 'one' })).json.paths), ['/requests/add'])
  t.same(Object.keys((await get(server, '/requests/openapi.json', { token: 'nobody' })).json.paths), [])
  t.same(
    Object.keys((await get(server, '/requests/openapi.json', { token: TOKEN })).json.paths), ['/requests/own'],
    'those without a role'
  )
  t.equal((await get(server, '/requests/openapi.json', { token: null })).status, 401)
  const ofInterface = await get(server, '/openapi.json', { token: 'website' })
  t.same(ofInterface.json.paths, {})
  t.notMatch(JSON.stringify(ofInterface.json), /"(oneOf|anyOf)":\[\]/, 'a grant for requests only has no verbs')

  const ofDatabase = async () => (await get(server, '/shop/openapi.json', { token: TOKEN })).json
  const described = await ofDatabase()
  server.rows.replaceGrants({
    tokens: [{ name: 'everything', sha256: hashToken(TOKEN), permissions: ['select', 'insert', 'update', 'delete'] }],
    requests: {}
  })
  t.same(await ofDatabase(), described, 'the document of a database has none of them')
  t.same((await get(server, '/requests/openapi.json', { token: TOKEN })).json.paths, {})

  const folder = (t as Test).testdir({})
  const path = join(folder, 'row-query.json')
  writeFileSync(path, JSON.stringify({ databases: { shop: { url: service.url } }, tokens, roles, requests }))
  const printed = await runInProcess(t as Test, ['openapi', 'requests', '--config', path, '--token', 'website'])
  t.same(Object.keys(JSON.parse(printed.stdout).paths), Object.keys(json.paths))
})

await onEachEngine(t, 'named requests are tools', {
  schema: shop,
  tokens,
  options: { roles, requests, mcp: { verbs: [], requests: ['find', 'add', 'keep', 'rename', 'broken', 'own'] } },
  only: await anyEngine(t)
}, async (t, service) => {
  const { client, call } = await connectTo(t as Test, service, { token: 'website' })
  const { tools } = await client.listTools()
  t.same(tools.map(({ name, annotations }) => [name, annotations?.readOnlyHint, annotations?.destructiveHint]), [
    ['find', true, undefined], ['add', false, false], ['keep', false, false], ['rename', false, true]
  ])
  t.match(tools[0], {
    description: 'Customers, <b>newest</b> first',
    inputSchema: { type: 'object', properties: { size: { default: 20 } }, additionalProperties: false }
  })
  t.match((await call('find', { status: ['new'], size: 1 })).result, { count: 1 })
  t.match((await call('add', { customer: 2, note: null })).result, { inserted: 1 })
  t.match(await call('find', { size: 51 }), {
    isError: true, result: { code: 'LIMIT_OUT_OF_RANGE', details: [{ path: '/size' }] }
  })
  for (const args of ['{"__proto__": 1}', '{"size": 1, "__proto__": {"size": 2}}']) {
    const { json } = await send(service, callOf('find', args), { token: 'website' })
    t.match(json.result, {
      isError: true, structuredContent: { code: 'INVALID_BODY', details: [{ path: '/__proto__' }] }
    }, 'arguments are those that were sent')
  }
  t.match(await call('broken', { x: 1 }), { isError: true, result: { code: 'BROKEN_DEFINITION' } })
  await t.rejects(
    call('own', { sku: 'MUG-1' }), /Unknown tool/, 'one that the caller may not call is as one that is not there'
  )
  await t.rejects(call('tagged', { tags: 1 }), /Unknown tool/)
  await t.rejects(call('select', {}), /Unknown tool/)
  const other = await connectTo(t as Test, service, { token: 'one' })
  t.same((await other.client.listTools()).tools.map(({ name }) => name), ['add'])
})

for (const [named, names] of [
  ['*', ['find', 'tagged', 'count_by', 'add', 'keep', 'rename', 'all', 'walk', 'put', 'move']], [[], []]
] as const) {
  await onEachEngine(t, `tools of requests: ${JSON.stringify(named)}`, {
    schema: shop, tokens, options: { roles, requests, mcp: { verbs: [], requests: named as any } }, only: ['sqlite']
  }, async (t, service) => {
    const { tools } = await (await connectTo(t as Test, service, { token: 'website' })).client.listTools()
    t.same(tools.map(({ name }) => name), names)
    const hints = new Map(tools.map(({ name, annotations }) => [name, annotations?.destructiveHint]))
    if (named === '*') t.same([hints.get('put'), hints.get('move'), hints.get('keep')], [true, true, false])
  })
}

await onEachEngine(t, 'by default only those that read are tools', {
  schema: shop, tokens, options: { roles, requests, mcp: {}, openapi: 'off' }, only: ['sqlite']
}, async (t, service) => {
  const { client } = await connectTo(t as Test, service, { token: 'website' })
  t.same((await client.listTools()).tools.map(({ name }) => name), ['find', 'tagged', 'count_by', 'all', 'walk'])
  const { status, json } = await get(service.server, '/requests/openapi.json', { token: 'website' })
  t.same([status, json.error.code], [404, 'REQUEST_NOT_FOUND'], 'no document without the setting for it')
})

t.test('a request whose database cannot be reached is in no document, and the others are', async (t) => {
  const gone = { ...requests.own, database: 'gone' }
  const { server } = await startService(t as Test, '', {
    options: {
      databases: {
        shop: { url: 'sqlite::memory:', setup: ['create table products (sku varchar(20) primary key, price int)'] },
        gone: { url: 'mysql://root@127.0.0.1:1/shop' }
      },
      requests: { own: requests.own, gone } as any
    }
  })
  t.same(Object.keys((await get(server, '/requests/openapi.json')).json.paths), ['/requests/own'])
  const call = async (name: string) => {
    const headers = { authorization: `Bearer ${TOKEN}` }
    const answer = await server.app.inject({ url: `/api/requests/${name}?sku=a`, headers })
    return [answer.statusCode, answer.json().error?.code, answer.headers['cache-control']]
  }
  t.same(await call('own'), [200, undefined, 'private, no-cache'])
  t.same(await call('gone'), [503, 'DATABASE_UNAVAILABLE', 'no-store'])
})

await onEachEngine(t, 'others run while many named requests are described', {
  schema: shop,
  tokens: tokens.slice(0, 1),
  options: {
    roles,
    requests: Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`find${index}`, requests.find])),
    mcp: { verbs: [] }
  },
  only: ['sqlite']
}, async (t, service) => {
  /** The turns of the event loop until the work is done. */
  const turnsOf = async (work: () => Promise<Answer>): Promise<number> => {
    let [turns, isOver] = [0, false]
    const count = (): void => {
      turns++
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    const { status, text } = await work()
    isOver = true
    t.same([status, text.includes('find299')], [200, true], text.slice(0, 200))
    return turns
  }
  const list = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
  for (const [what, work] of [
    ['a document', () => get(service.server, '/requests/openapi.json', { token: 'website' })],
    ['a list of tools', () => send(service, list, { token: 'website' })]
  ] as const) {
    const turns = await turnsOf(work)
    t.ok(turns > 75, `${what}: ${turns} turns`)
  }
})
