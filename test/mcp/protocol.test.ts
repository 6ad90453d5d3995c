/**
 * What is answered before a tool is called: transport, JSON-RPC, origins, metadata. Tools where the database, the app
 * or the service is in trouble, and with grants of an app.
 */
import Fastify from 'fastify'
import t from 'tap'
import { VERBS } from '../../schemas/grants.ts'
import type { RowQueryOptions } from '../../schemas/options.ts'
import { hashToken } from '../../src/access/tokens.ts'
import type { AppOptions } from '../../src/config/settings.ts'
import { createRowQuery } from '../../src/index.ts'
import { loadSdk } from '../../src/mcp/tools.ts'
import { tokenFor } from '../grants/support.ts'
import { ISSUER, jwtSetting } from '../support/issuer.ts'
import { callOf, connectTo, send, type Sent } from '../support/mcp.ts'
import { onEachEngine, startService, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { unforeseen } from '../support/unforeseen.ts'

const only = ['sqlite'] as const
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
const ORIGIN = 'https://app.example.com'
const select = callOf('select', { database: 'shop', table: 'orders', columns: ['id'] })
const ids = { rows: [{ id: 1 }, { id: 2 }], count: 2, next: null }

await onEachEngine(t, 'what is no message', {
  schema: shop, only, options: { mcp: {}, cors: { origins: [ORIGIN] } }
}, async (t, service) => {
  await t.test('has an error of JSON-RPC', async (t) => {
    const refused: Array<[message: unknown, status: number, code: number]> = [
      [[ping], 400, -32600],
      [[], 400, -32600],
      [[ping, ping], 400, -32600],
      ['{', 400, -32700],
      ['{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', 400, -32700],
      [Buffer.from([0x22, 0xff, 0x22]), 400, -32700],
      ['['.repeat(200_000), 400, -32700],
      ['null', 400, -32600],
      ['5', 400, -32600],
      ['{}', 400, -32600],
      [{ verb: 'select' }, 400, -32600],
      [{ ...ping, jsonrpc: '1.0' }, 400, -32600],
      [{ ...ping, id: {} }, 400, -32600],
      ['{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}', 400, -32600],
      [{ ...ping, method: 'nope' }, 200, -32601],
      [{ ...ping, method: 'tools/call', params: { name: 5 } }, 200, -32602],
      [{ ...ping, method: 'tools/call', params: { name: 'select', arguments: [] } }, 200, -32602],
      [{ ...ping, method: 'tools/call' }, 200, -32602],
      [{ ...ping, method: 'tools/call', params: { name: 'insert', arguments: {} } }, 200, -32602]
    ]
    for (const [message, status, code] of refused) {
      const answer = await send(service, message)
      const shown = String(typeof message === 'string' ? message : JSON.stringify(message)).slice(0, 60)
      t.match([answer.status, answer.json], [status, { jsonrpc: '2.0', error: { code, message: String } }], shown)
      t.match(answer.headers, {
        'content-type': /^application\/json/, 'x-request-id': /./, 'cache-control': 'no-store'
      })
      t.notMatch(answer.text, /\bat \w+ \(|node_modules/, 'no stack')
    }
  })

  await t.test('has its id as it was sent', async (t) => {
    for (const id of [
      '9007199254740993', '-9007199254740993', '12345678901234567890', '1e400', '1e-400', '1.5',
      '0.99999999999999999999'
    ]) {
      for (const [method, headers] of [
        ['ping', {}], ['nope', {}], ['tools/list', { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }]
      ] as const) {
        const { status, text } = await send(service, `{"jsonrpc":"2.0","id":${id},"method":"${method}"}`, { headers })
        t.equal(status, 400)
        t.ok(text.includes(`"id":${id}}`), `${id}: ${text}`)
      }
    }
    t.match(await send(service, '{"jsonrpc":"2.0","id":9007199254740991,"method":"nope"}'), {
      status: 200, json: { id: 9007199254740991, error: { code: -32601 } }
    })
  })

  await t.test('a message is answered with JSON, whatever the client accepts', async (t) => {
    for (const accept of ['application/json, text/event-stream', 'application/json', '*/*', 'text/event-stream']) {
      t.match(await send(service, select, { headers: { accept } }), {
        status: 200,
        headers: { 'content-type': /^application\/json/ },
        json: { id: 1, result: { structuredContent: ids } }
      }, accept)
    }
    t.match(
      await send(service, '{"jsonrpc":"2.0","id":1e0,"method":"ping"}'), { status: 200, json: { id: 1, result: {} } },
      'an id that is written in another way'
    )
    t.match(await send(service, { jsonrpc: '2.0', method: 'notifications/initialized' }), { status: 202, text: '' })
    t.match(
      await send(service, { jsonrpc: '2.0', id: 1, result: {} }), { status: 202, text: '' },
      'an answer, for which nothing waits'
    )
  })

  await t.test('names of prototypes and deep arguments do no harm', async (t) => {
    const answer = await send(service, callOf(
      'select',
      '{"database":"shop","table":"orders","columns":["id"],"__proto__":{"verb":"delete"},"filters":{"constructor":1}}'
    ))
    t.match(answer.json.result, {
      isError: true, structuredContent: { code: 'INVALID_BODY', details: [{ path: '/__proto__' }] }
    })
    const deep = '{"$not":'.repeat(10_000) + '{}' + '}'.repeat(10_000)
    t.match(
      (await send(service, callOf('select', `{"database":"shop","table":"orders","filters":${deep}}`))).json.result,
      { isError: true, structuredContent: { code: 'INVALID_BODY' } }
    )
    for (const name of ['__proto__', 'constructor', 'toString']) {
      t.match((await send(service, callOf(name, {}))).json, { error: { code: -32602 } }, name)
    }
    for (const table of ['__proto__', 'constructor', '']) {
      t.match(
        (await send(service, callOf('describe_table', { database: 'shop', table }))).json.result,
        { isError: true, structuredContent: { code: 'TABLE_NOT_FOUND' } }, table
      )
    }
  })

  await t.test('before that, errors have the envelope', async (t) => {
    const refused: Array<[Sent, message: unknown, status: number, code: string]> = [
      [{ token: null }, ping, 401, 'UNAUTHENTICATED'],
      [{ token: 'wrong' }, ping, 401, 'UNAUTHENTICATED'],
      [{ token: 'wrong', headers: { origin: 'https://evil.example.com' } }, ping, 401, 'UNAUTHENTICATED'],
      [{ headers: { origin: 'https://evil.example.com' } }, ping, 403, 'ORIGIN_NOT_ALLOWED'],
      [{ headers: { origin: 'https://evil.example.com' } }, '{', 403, 'ORIGIN_NOT_ALLOWED'],
      [{}, ' '.repeat(1_048_577), 413, 'BODY_TOO_LARGE'],
      [{ headers: { 'content-type': 'text/plain' } }, ping, 415, 'UNSUPPORTED_MEDIA_TYPE'],
      [{ headers: { 'content-encoding': 'gzip' } }, ping, 415, 'UNSUPPORTED_MEDIA_TYPE'],
      [{ method: 'GET' }, '', 405, 'METHOD_NOT_ALLOWED'],
      [{ method: 'DELETE' }, '', 405, 'METHOD_NOT_ALLOWED'],
      [{ method: 'PUT' }, '', 405, 'METHOD_NOT_ALLOWED'],
      [{ method: 'GET', token: null }, '', 401, 'UNAUTHENTICATED']
    ]
    for (const [sent, message, status, code] of refused) {
      const { json, headers, ...answer } = await send(service, message, sent)
      t.match([answer.status, json], [status, { success: false, data: {}, error: { code } }], JSON.stringify(sent))
      if (status === 405) t.equal(headers['allow'], 'POST')
      if (status === 401) {
        t.equal(headers['www-authenticate'], sent.token === null
          ? 'Bearer'
          : 'Bearer error="invalid_token"', 'no metadata without the setting')
      }
    }
  })

  await t.test('pages of the own host and of origins that CORS allows may send requests, no others', async (t) => {
    const from = async (origin: string, host = 'rows.example.com') =>
      (await send(service, select, { headers: { origin, host } })).status
    for (const [origin, host] of [
      ['https://rows.example.com'], ['http://rows.example.com'], ['http://127.0.0.1:3000', '127.0.0.1:3000'],
      ['https://rows.example.com', 'rows.example.com:443'], ['http://[::1]:80', '[::1]'], [ORIGIN]
    ] as const) {
      t.equal(await from(origin, host), 200, `${origin} ${host}`)
    }
    for (const [origin, host] of [
      ['https://rows.example.com.evil.com'], ['https://rows.example.com:8443'], ['null'], ['*'], [''],
      ['rows.example.com'], ['https://app.example.com.evil.com'], ['http://app.example.com'],
      ['http://127.0.0.1:3001', '127.0.0.1:3000'], ['file://']
    ] as const) {
      t.equal(await from(origin, host), 403, `${origin} ${host}`)
    }
  })

  await t.test('preflight requests allow the headers of the protocol', async (t) => {
    const headers = {
      origin: ORIGIN, 'access-control-request-method': 'POST', 'access-control-request-headers': 'mcp-protocol-version'
    }
    t.match(await send(service, '', { method: 'OPTIONS', token: null, headers }), {
      status: 204,
      headers: { 'access-control-allow-headers': /\bidempotency-key\b.*\bmcp-protocol-version, mcp-method, mcp-name$/ }
    })
  })

  await t.test('without the setting verbs, only select is a tool', async (t) => {
    const { client } = await connectTo(t as never, service)
    t.same((await client.listTools()).tools.map(({ name }) => name), ['list_tables', 'describe_table', 'select'])
  })

  await t.test('schemas have no names that the APIs of models refuse', async (t) => {
    const { client } = await connectTo(t as never, service)
    const names = (schema: unknown): string[] => typeof schema !== 'object' || schema === null
      ? []
      : [...Object.keys((schema as { properties?: object }).properties ?? {}), ...Object.values(schema).flatMap(names)]
    for (const tool of (await client.listTools()).tools) {
      t.same(names(tool.inputSchema).filter((name) => !/^[\w.-]{1,64}$/.test(name)), [])
      t.ok(JSON.stringify(tool).length < 9000, `${tool.name} is small: ${JSON.stringify(tool).length}`)
    }
  })

  await t.test('two hundred calls at once are all answered', async (t) => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, index) =>
      send(service, callOf('select', { database: 'shop', table: 'orders', columns: ['id'] }, index))))
    t.same(answers.map(({ json }) => json.id), answers.map((_, index) => index))
    for (const { isError, structuredContent } of answers.map(({ json }) => json.result)) {
      if (isError !== true || structuredContent.code !== 'OVERLOADED') t.same(structuredContent, ids)
    }
  })
})

await onEachEngine(t, 'one message is one request ' +
  'for the rate limit', { schema: shop, only, options: { mcp: {}, rateLimit: { max: 2 } } }, async (t, service) => {
  for (const message of [ping, select]) t.equal((await send(service, message)).status, 200)
  t.match(await send(service, ping), {
    status: 429, headers: { 'retry-after': /\d/ }, json: { success: false, error: { code: 'RATE_LIMITED' } }
  })
})

await onEachEngine(t, 'without the setting there are no tools', { schema: shop, only }, async (t, service) => {
  t.match(await send(service, ping), { status: 404, json: { error: { code: 'DATABASE_NOT_FOUND' } } })
})

const PATH = '/.well-known/oauth-protected-resource/api/mcp'
const withIssuer = {
  jwt: [jwtSetting({ secret: 'x'.repeat(32), algorithms: ['HS256'] })],
  roles: { reader: { permissions: ['select' as const], databases: '*' as const } }
}

await onEachEngine(t, 'with a URL and an issuer of JWTs, metadata says who issues tokens', {
  schema: shop, only, options: { mcp: { url: 'https://rows.example.com/api/mcp' }, ...withIssuer }
}, async (t, service) => {
  const { app } = service.server
  const metadata = await app.inject(PATH)
  t.equal(metadata.statusCode, 200)
  t.strictSame(metadata.json(), {
    resource: 'https://rows.example.com/api/mcp', authorization_servers: [ISSUER], bearer_methods_supported: ['header']
  })
  t.match(metadata.headers, {
    'content-type': /^application\/json/,
    'access-control-allow-origin': '*',
    'x-content-type-options': 'nosniff',
    'x-request-id': /./
  })
  const named = `resource_metadata="https://rows.example.com${PATH}"`
  t.equal((await send(service, ping, { token: null })).headers['www-authenticate'], `Bearer ${named}`)
  t.equal(
    (await send(service, ping, { token: 'wrong' })).headers['www-authenticate'],
    `Bearer error="invalid_token", ${named}`
  )
  t.equal((await send(service, ping, { token: null, method: 'GET' })).headers['www-authenticate'], `Bearer ${named}`)
  t.equal(
    (await service.post('orders', { verb: 'select' }, { token: null })).headers['www-authenticate'], 'Bearer',
    'not of other paths'
  )
})

await onEachEngine(t, 'without either there is no metadata', {
  schema: shop, only, options: { mcp: {}, ...withIssuer }
}, async (t, service) => {
  t.equal((await service.server.app.inject(PATH)).statusCode, 404)
})

t.test('in an app, the metadata is at the root, also without a prefix', async (t) => {
  for (const [prefix, path] of [['/v1/rows', '/v1/rows/mcp'], ['', '/mcp']] as const) {
    const rows = createRowQuery({
      databases: { shop: { url: 'sqlite::memory:', setup: shop.sqlite } },
      tokens: [{ name: 'me', sha256: hashToken(TOKEN), permissions: ['select'] }],
      mcp: { url: `https://rows.example.com${path}` },
      ...withIssuer
    })
    const app = Fastify({ pluginTimeout: 60_000 })
    t.teardown(() => app.close())
    await app.register(rows.plugin, { prefix })
    t.match(await app.inject(`/.well-known/oauth-protected-resource${path}`), { statusCode: 200 }, path)
    const call = await app.inject({
      method: 'POST',
      url: path,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      payload: select
    })
    t.match(call.json(), { result: { structuredContent: ids } }, path)
  }
})

t.test('a database that is called mcp is a configuration error beside the tools', async (t) => {
  const options = { databases: { mcp: { url: 'sqlite::memory:' } } }
  t.doesNotThrow(() => createRowQuery(options))
  t.throws(() => createRowQuery({ ...options, mcp: {} }), {
    code: 'ROW_QUERY_INVALID_CONFIG', errors: [/^databases\.mcp: /]
  })
  t.throws(() => createRowQuery({ databases: { shop: { url: 'sqlite::memory:' } }, mcp: { verbs: ['drop'] } }), {
    errors: ['mcp.verbs.0: must be select, insert, update or delete']
  })
})

t.test('a start without the package says which one is missing', async (t) => {
  await t.rejects(loadSdk(() => import('@modelcontextprotocol/no-such-package' as string)), {
    code: 'ROW_QUERY_INVALID_CONFIG',
    errors: ['mcp: requires the package @modelcontextprotocol/server; install it with: npm install ' +
      '@modelcontextprotocol/server']
  })
  await t.rejects(loadSdk(async () => { throw new Error('broken') }), /broken/)
})

const inShop = (table: string, rest: object = {}) => ({ database: 'shop', table, ...rest })

t.test('a database that is down is a result, and its tables are missing in the list', async (t) => {
  const service = await startService(t, 'sqlite::memory:', {
    options: {
      databases: {
        shop: { url: 'sqlite::memory:', setup: shop.sqlite }, gone: { url: 'mysql://root@127.0.0.1:1/gone' }
      },
      mcp: {}
    }
  })
  const { call } = await connectTo(t, service)
  t.match((await call('list_tables')).result, { databases: ['shop', 'gone'], unavailable: ['gone'], count: 6 })
  for (const [tool, args] of [['describe_table', {}], ['select', {}]] as const) {
    t.match(await call(tool, { database: 'gone', table: 'orders', ...args }), {
      isError: true, result: { code: 'DATABASE_UNAVAILABLE', message: /nothing was changed/ }
    })
  }
  t.notMatch(service.log.join(), /unexpected error/)
  t.match(
    service.log.filter((line) => line.includes('DATABASE_UNAVAILABLE')).at(-1), '"msg":"refused"',
    'without a request log, faults are logged'
  )
})

await onEachEngine(t, 'a bug is a result with the request id, which leads to ' +
  'its stack in the log', { schema: unforeseen, only, options: { mcp: { verbs: [...VERBS] } } }, async (t, service) => {
  const { json, headers } = await send(service, callOf('insert', inShop('unforeseen', { data: { a: 1 } })), {
    headers: { 'x-request-id': 'mine' }
  })
  t.match(json.result, { isError: true, structuredContent: { code: 'INTERNAL', requestId: 'mine' } })
  t.equal(headers['x-request-id'], 'mine')
  t.notMatch(JSON.stringify(json), /fts5|rank|at \w+ \(/)
  t.match(service.log.find((line) => line.includes('unexpected error')), '"requestId":"mine"')
})

const hooked: AppOptions = {
  databases: { shop: { url: 'sqlite::memory:', setup: shop.sqlite } },
  mcp: { verbs: [...VERBS] },
  authenticate: ({ headers: { cookie } }) => cookie === 'user=ada'
    ? {
        name: 'ada',
        permissions: ['select', 'update'],
        databases: { shop: { orders: { rows: { customer_id: { $claim: '/customer' } } } } },
        claims: { customer: 1 }
      }
    : null,
  onWrite: ({ grant, verb, data }) => {
    if ((data as { note: string }).note !== `${grant.name} ${verb}`) throw new Error('refused')
  }
}

t.test('the users of an app have tools with their grants, and its hook for writes is called', async (t) => {
  const service = await startService(t, '', { options: hooked as Partial<RowQueryOptions> })
  const as = async (tool: string, args: object): Promise<any> => (await send(service, callOf(tool, args), {
    token: null, headers: { cookie: 'user=ada' }
  })).json.result.structuredContent
  t.match(await as('select', inShop('orders')), { rows: [{ id: 1, customer_id: 1 }], count: 1 })
  t.match(await as('update', inShop('orders', { data: { note: 'x' }, filters: { id: 1 } })), { code: 'WRITE_REFUSED' })
  t.match(await as('update', inShop('orders', { data: { note: 'ada update' }, filters: { id: [1, 2] } })), {
    updated: 1
  })
  t.equal((await send(service, callOf('list_tables', {}), { token: null })).status, 401)
})

t.test('relations are those that filters can use, even if no tool reads rows', async (t) => {
  const service = await startService(t, 'sqlite::memory:', {
    options: { databases: { shop: { url: 'sqlite::memory:', setup: shop.sqlite } }, mcp: { verbs: ['update'] } },
    tokens: [
      tokenFor('writer', { orders: { permissions: ['select', 'update'] }, customers: { permissions: ['select'] } }),
      tokenFor('blind', { orders: { permissions: ['select', 'update'] }, customers: { permissions: ['update'] } })
    ]
  })
  const relationsOf = async (token: string): Promise<unknown> =>
    (await (await connectTo(t, service, { token })).call('describe_table', inShop('orders'))).result.relations
  t.same(await relationsOf('writer'), [{ table: 'customers', on: { customer_id: 'id' }, rows: 'one' }])
  t.same(await relationsOf('blind'), [])
})

t.test('a message that is nested too deeply is refused, and no bug in the log', async (t) => {
  const service = await startService(t, 'sqlite::memory:', {
    options: { databases: { shop: { url: 'sqlite::memory:', setup: shop.sqlite } }, mcp: {} }
  })
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  const _meta = '{"io.modelcontextprotocol/protocolVersion":"2026-07-28",' +
    `"io.modelcontextprotocol/clientCapabilities":{"experimental":{"x":{"y":${deep}}}}}`
  for (const params of [
    `{"_meta":${_meta}}`, `{"name":"select","arguments":${deep}}`, `{"name":"select","arguments":{"database":${deep}}}`
  ]) {
    const { status, json } = await send(service, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)
    t.ok(status === 400 || status === 200, `${status}`)
    t.match(json, { jsonrpc: '2.0' })
  }
  t.notMatch(service.log.join(), /unexpected error/)
})

const rules = { orders: { columns: { select: ['id', 'note'], insert: ['note'] }, rows: { customer_id: [1, 2] } } }

await onEachEngine(t, 'a description does not name columns of rules that are hidden', {
  schema: shop, options: { mcp: { verbs: [...VERBS] } }, tokens: [tokenFor('hidden', rules)]
}, async (t, service) => {
  const { call } = await connectTo(t as never, service, { token: 'hidden' })
  const { text, result } = await call('describe_table', inShop('orders'))
  t.match(result, { insert: { required: [], columns: ['note'] }, relations: [] })
  t.notMatch(text, /customer/)
})
