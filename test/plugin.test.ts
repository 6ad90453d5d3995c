/** The plugin in an app that somebody else wrote. */
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest, type InjectOptions } from 'fastify'
import fastifyAuth from '@fastify/auth'
import bearerAuth from '@fastify/bearer-auth'
import fastifyCors from '@fastify/cors'
import fastifyRateLimit from '@fastify/rate-limit'
import t, { type Test } from 'tap'
import { createShop } from '../src/demo/shop.ts'
import rowQuery, {
  createRowQuery, createToken, hashToken, rowQuery as named, type PluginOptions
} from '../src/index.ts'

const TOKEN = createToken()
const tokens: NonNullable<PluginOptions['tokens']> = [
  { name: 'reader', sha256: hashToken(TOKEN), permissions: ['select'] }
]
const select = { verb: 'select', columns: ['id'], filters: { id: 1 } }
const selected = { success: true, data: { rows: [{ id: 1 }], count: 1 } }

function createHost (t: Test, options = {}): FastifyInstance {
  const app = Fastify(options)
  t.teardown(() => app.close())
  return app
}

const path = join(t.testdir(), 'shop.db')
createShop(path)

/** Options with the shop, from which the tests only read. */
const optionsFor = (name = 'shop'): PluginOptions => ({ databases: { [name]: { url: `sqlite:${path}` } }, tokens })

async function ask (app: FastifyInstance, url: string, {
  method = 'POST', headers = {
    authorization: `Bearer ${TOKEN}`
  }, ...rest
}: InjectOptions = {}) {
  const response = await app.inject({
    method,
    url,
    headers: {
      'content-type': 'application/json', ...headers
    },
    ...(method === 'POST' && { payload: select }),
    ...rest
  })
  return { status: response.statusCode, json: response.json(), headers: response.headers }
}

t.test('the plugin is a Fastify plugin, under both of its names', async (t) => {
  t.equal(named, rowQuery)
  const app = createHost(t)
  await app.register(rowQuery, { prefix: '/api', ...optionsFor() })
  t.match(app.printPlugins(), 'fastify-row-query')
  t.match(await ask(app, '/api/shop/orders'), { status: 200, json: selected, headers: { 'x-request-id': String } })
})

t.test('it can be registered twice, under different prefixes with different databases and tokens', async (t) => {
  const app = createHost(t)
  const secret = createToken()
  await app.register(rowQuery, { prefix: '/a', ...optionsFor('one') })
  await app.register(rowQuery, {
    prefix: '/b', ...optionsFor('two'), tokens: [{ name: 'other', sha256: hashToken(secret), permissions: ['select'] }]
  })
  t.match(await ask(app, '/a/one/orders'), { status: 200, json: selected })
  t.match(await ask(app, '/a/two/orders'), { status: 404, json: { error: { code: 'DATABASE_NOT_FOUND' } } })
  t.match(await ask(app, '/b/two/orders'), { status: 401 })
  t.match(await ask(app, '/b/two/orders', { headers: { authorization: `Bearer ${secret}` } }), {
    status: 200, json: selected
  })
})

t.test('a route of the app in the scope of the plugin is validated by its own schema', async (t) => {
  const app = createHost(t)
  const schema = {
    params: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
    querystring: { type: 'object', properties: { size: { type: 'integer', maximum: 5 } } }
  }
  let isAdded = false
  app.addHook('onRegister', (scope) => {
    if (!isAdded) {
      scope.get(
        '/numbers/:number', { schema }, async ({ params, query }) => JSON.stringify({ params, query })
      )
    }
    isAdded = true
  })
  await app.register(createRowQuery(optionsFor()).plugin, { prefix: '/api' })
  const get = async (path: string) =>
    (await app.inject({ url: `/api${path}`, headers: { authorization: `Bearer ${TOKEN}` } }))
  t.same((await get('/numbers/7?size=3')).json(), { params: { number: 7 }, query: { size: 3 } })
  t.not((await get('/numbers/seven')).statusCode, 200)
  t.not((await get('/numbers/7?size=6')).statusCode, 200)
  t.match(await ask(app, '/api/shop/orders'), { status: 200, json: selected })
  t.match(await ask(app, '/api/shop/orders', { payload: { verb: 'select', limit: 'x' } }), {
    status: 400, json: { error: { code: 'INVALID_BODY' } }
  })
  t.match(await ask(app, '/api/shop', { payload: { operations: [] } }), {
    status: 400, json: { error: { code: 'INVALID_BODY' } }
  })
})

const conflicts: Array<[why: string, register: (app: FastifyInstance, options: PluginOptions) => void]> = [
  ['the same prefix twice', (app, options) => {
    app.register(rowQuery, { prefix: '/api', ...options }).register(rowQuery, { prefix: '/api', ...options })
  }],
  ['the same prefix with a slash', (app, options) => {
    app.register(rowQuery, { prefix: '/api', ...options }).register(rowQuery, { prefix: '/api/', ...options })
  }],
  ['no prefix, twice', (app, options) => { app.register(rowQuery, options).register(rowQuery, options) }],
  ['a not-found handler for the prefix, set before', (app, options) => {
    app.register(ownNotFound, { prefix: '/api' }).register(rowQuery, { prefix: '/api', ...options })
  }],
  ['a not-found handler for the prefix, set after', (app, options) => {
    app.register(rowQuery, { prefix: '/api', ...options }).register(ownNotFound, { prefix: '/api' })
  }],
  ['a not-found handler around the plugin', (app, options) => {
    app.register(
      async (scope) => { await ownNotFound(scope); await scope.register(rowQuery, options) }, { prefix: '/api' }
    )
  }]
]

async function ownNotFound (scope: FastifyInstance): Promise<void> {
  scope.setNotFoundHandler(async () => 'not found by the host')
}

t.test('a prefix that is already used is an error of ready()', async (t) => {
  for (const [why, register] of conflicts) {
    const app = createHost(t)
    register(app, optionsFor())
    await t.rejects(async () => { await app.ready() }, { code: 'ROW_QUERY_PREFIX_TAKEN' }, why)
  }
})

t.test('one prefix may be below another, and the host may have routes below ours', async (t) => {
  const app = createHost(t)
  app.get('/api', async () => ({ host: 'index' }))
  app.get('/api/own', async () => ({ host: 'own' }))
  await app.register(rowQuery, { prefix: '/api', ...optionsFor('one') })
  await app.register(rowQuery, { prefix: '/api/v2', ...optionsFor('two') })
  for (const path of ['/api', '/api/own']) {
    t.match(await ask(app, path, { method: 'GET' }), {
      status: 200, json: { host: String }
    }, path)
  }
  for (const path of ['/api', '/api/a/b/c', '/api/v2', '/api/v2/', '/api/v2/a/b/c']) {
    t.match(await ask(app, path), {
      status: 404, json: { error: { code: 'NOT_FOUND' } }, headers: { 'x-request-id': String }
    }, path)
  }
  t.match(await ask(app, '/api/v2/two/orders'), { status: 200, json: selected })
})

t.test('a second registration of one handle is an error of ready(), and the first one can be closed', async (t) => {
  const app = createHost(t)
  const { plugin } = createRowQuery(optionsFor())
  app.register(plugin, { prefix: '/a' })
  app.register(plugin, { prefix: '/b' })
  await t.rejects(async () => { await app.ready() }, {
    code: 'ROW_QUERY_ALREADY_REGISTERED', message: /createRowQuery/
  })
  await app.close()
})

t.test("options that Fastify has for every plugin are none of ours, and the caller's " +
  'object is not changed', async (t) => {
  const lines: string[] = []
  const app = createHost(t, { logger: { level: 'info', stream: { write: (line: string) => lines.push(line) } } })
  const options = { prefix: '/api', logLevel: 'silent' as const, logSerializers: {}, ...optionsFor() }
  const copy = structuredClone(options)
  await app.register(rowQuery, options)
  t.match(await ask(app, '/api/shop/orders'), { status: 200 })
  t.same(lines, [])
  t.same(options, copy)
})

t.test('invalid options stop the start of the host', async (t) => {
  const app = createHost(t)
  app.register(rowQuery, { databases: {}, tokns: [] } as unknown as PluginOptions)
  await t.rejects(async () => { await app.ready() }, {
    code: 'ROW_QUERY_INVALID_CONFIG',
    message: /^tokns: is not a setting; .*\ndatabases: must be an object that is not empty/
  })
})

t.test('without a prefix, the host handles unknown paths', async (t) => {
  const app = createHost(t)
  await app.register(rowQuery, optionsFor())
  t.match(await ask(app, '/shop/orders'), { status: 200, json: selected })
  t.match(await ask(app, '/nowhere', { method: 'GET' }), {
    status: 404, json: { message: 'Route GET:/nowhere not found' }
  })
})

/** An app that has everything that could get in the way, registered before the plugin. */
async function createFullHost (t: Test, { most = 100, ours = 100 } = {}): Promise<FastifyInstance> {
  const app = createHost(t)
  await app.register(fastifyAuth)
  await app.register(bearerAuth, { keys: new Set(['key of the host']), addHook: false })
  await app.register(fastifyRateLimit, { max: most, timeWindow: 60_000 })
  app.decorate('grant', 'of the host')
  app.decorateRequest('grant', 'of the host')
  app.setErrorHandler(async (error: Error, _request, reply) => reply.code(418).send({ host: error.message }))
  app.setNotFoundHandler(async (_request, reply) => reply.code(404).send({ host: 'not found' }))
  app.addContentTypeParser(
    'application/json', { parseAs: 'string' }, async (_request: unknown, body: string) => ({ host: body })
  )
  app.addSchema({ $id: 'row', type: 'object', properties: { verb: { type: 'number' } } })
  app.setValidatorCompiler(() => () => false)
  app.setSerializerCompiler(() => () => '"serialized by the host"')
  app.setReplySerializer((payload) => JSON.stringify({ wrapped: payload }))
  await app.register(rowQuery, { prefix: '/api', ...optionsFor(), rateLimit: { max: ours } })
  app.post('/own', async (request) => ({
    body: request.body, grant: request.getDecorator('grant'), ours: 'rowQueryGrant' in request
  }))
  app.get('/error', async () => { throw new Error('of the host') })
  app.get(
    '/guarded', { onRequest: app.auth([app.verifyBearerAuth as NonNullable<typeof app.verifyBearerAuth>]) },
    async () => ({ in: true })
  )
  return app
}

t.test('hooks, parsers and decorators of the host do not affect the plugin', async (t) => {
  const app = await createFullHost(t)
  t.match(await ask(app, '/api/shop/orders'), { status: 200, json: selected })
  t.match(await ask(app, '/api/shop/orders', { headers: { authorization: 'Bearer key of the host' } }), {
    status: 401, json: { error: { code: 'UNAUTHENTICATED' } }
  })
  t.match(await ask(app, '/api/shop/orders', { payload: '{' }), {
    status: 400, json: { error: { code: 'INVALID_JSON' } }
  })
  t.match(await ask(app, '/api/nowhere'), { status: 404, json: { error: { code: 'NOT_FOUND' } } })
  t.match(await ask(app, '/api/shop/orders', { method: 'GET' }), {
    status: 405, json: { error: { code: 'METHOD_NOT_ALLOWED' } }
  })
})

t.test('hooks, parsers and decorators of the plugin do not affect the host', async (t) => {
  const app = await createFullHost(t)
  t.match(await ask(app, '/own', { headers: {}, payload: '{"a":1}' }), {
    status: 200, json: { wrapped: { body: { host: '{"a":1}' }, grant: 'of the host', ours: false } }
  })
  t.same((await ask(app, '/error', { method: 'GET' })).json, { wrapped: { host: 'of the host' } })
  t.match(await ask(app, '/nowhere', { method: 'GET' }), { status: 404, json: { host: 'not found' } })
  t.match(await ask(app, '/guarded', { method: 'GET', headers: { authorization: 'Bearer key of the host' } }), {
    status: 200
  })
  t.not((await ask(app, '/guarded', { method: 'GET' })).status, 200, 'our token is none of the host')
  t.notOk(app.hasRequestDecorator('rowQueryGrant'))
})

for (const limits of [{ most: 2, ours: 3 }, { most: 3, ours: 2 }]) {
  t.test(`the lower of both rate limits applies, with the error of the plugin: ${JSON.stringify(limits)}`, async (
    t
  ) => {
    const app = await createFullHost(t, limits)
    for (let count = 0; count < 2; count++) t.match(await ask(app, '/api/shop/orders'), { status: 200 })
    t.match(await ask(app, '/api/shop/orders'), {
      status: 429,
      json: { success: false, data: {}, error: { code: 'RATE_LIMITED' } },
      headers: { 'retry-after': String }
    })
  })
}

const refusals: Array<[status: number, status: number, code: string]> = [
  [401, 401, 'UNAUTHENTICATED'], [403, 403, 'PERMISSION_DENIED'], [429, 429, 'RATE_LIMITED'], [503, 503, 'OVERLOADED'],
  [418, 500, 'INTERNAL']
]

t.test('a refusal of a host hook is answered with the code of its status, without its message', async (t) => {
  const app = createHost(t)
  app.addHook('onRequest', async ({ headers }) => {
    throw Object.assign(new Error('text of the host'), { statusCode: Number(headers['x-thrown']) })
  })
  await app.register(rowQuery, { prefix: '/api', ...optionsFor() })
  for (const [thrown, status, code] of refusals) {
    const answer = await ask(app, '/api/shop/orders', {
      headers: { authorization: `Bearer ${TOKEN}`, 'x-thrown': String(thrown) }
    })
    t.match(
      answer, { status, json: { success: false, data: {}, error: { code } }, headers: { 'x-request-id': String } },
      String(thrown)
    )
    t.notMatch(JSON.stringify(answer.json), 'text of the host')
  }
})

t.test('the status of an error of the host is the one that Fastify would send', async (t) => {
  const app = createHost(t)
  app.addHook('onRequest', async ({ headers }, reply) => {
    if (headers['x-how'] === 'status') throw Object.assign(new Error('of the host'), { status: 403 })
    reply.code(headers['x-how'] === 'code' ? 401 : 418)
    throw new Error('of the host')
  })
  await app.register(rowQuery, { prefix: '/api', ...optionsFor() })
  for (const [how, status, code] of [
    ['status', 403, 'PERMISSION_DENIED'], ['code', 401, 'UNAUTHENTICATED'], ['other', 500, 'INTERNAL']
  ] as const) {
    t.match(await ask(app, '/api/shop/orders', { headers: { authorization: `Bearer ${TOKEN}`, 'x-how': how } }), {
      status, json: { error: { code } }
    }, how)
  }
})

t.test('an error of the host after a write has begun does not say that nothing was changed', async (t) => {
  const log: string[] = []
  const app = createHost(t, { logger: { level: 'error', stream: { write: (line: string) => { log.push(line) } } } })
  let when: 'preHandler' | 'onSend' | undefined
  let status: number | undefined
  for (const hook of ['preHandler', 'onSend'] as const) {
    app.addHook(hook as 'preHandler', async () => {
      if (when !== hook) return
      when = undefined
      throw Object.assign(new Error('of the host'), { statusCode: status })
    })
  }
  const setup = ['create table notes (id integer primary key, text text)']
  const everything = { name: 'writer', sha256: hashToken(TOKEN), permissions: ['select' as const, 'insert' as const] }
  await app.register(rowQuery, {
    prefix: '/api', databases: { db: { url: 'sqlite::memory:', setup } }, tokens: [everything]
  })
  const write = { verb: 'insert', data: { text: 'a' } }
  const read = { verb: 'select' }
  const operations = (operation: object) => ({ operations: [{ table: 'notes', ...operation }] })
  const cases = [
    ['onSend', 503, write, 502, 'OUTCOME_UNKNOWN'], ['preHandler', 503, write, 503, 'OVERLOADED'],
    ['onSend', 503, read, 503, 'OVERLOADED'],
    ['onSend', 503, operations(write), 502, 'OUTCOME_UNKNOWN'], ['onSend', 503, operations(read), 503, 'OVERLOADED'],
    ['onSend', undefined, write, 502, 'OUTCOME_UNKNOWN'], ['preHandler', undefined, write, 500, 'INTERNAL'],
    ['onSend', undefined, read, 500, 'INTERNAL'],
    ['onSend', undefined, operations(write), 502, 'OUTCOME_UNKNOWN'],
    ['onSend', undefined, 'text\nb\n', 502, 'OUTCOME_UNKNOWN']
  ] as const
  for (const [hook, thrown, payload, expected, code] of cases) {
    [when, status] = [hook, thrown]
    log.length = 0
    const isImport = typeof payload === 'string'
    const headers = { authorization: `Bearer ${TOKEN}`, ...(isImport && { 'content-type': 'text/csv' }) }
    const answer = await ask(app, !isImport && 'operations' in payload ? '/api/db' : '/api/db/notes', {
      payload, headers
    })
    const why = `${hook} ${thrown} ${JSON.stringify(payload)}`
    t.match(answer, { status: expected, json: { error: { code } } }, why)
    t.equal('retry-after' in answer.headers, expected === 503)
    t.match(log.map((line) => JSON.parse(line)), thrown === undefined
      ? [
          { requestId: answer.headers['x-request-id'], err: { message: 'of the host' } }
        ]
      : [], why)
  }
})

t.test('a body that a hook preHandler puts in place of the checked one is checked, too', async (t) => {
  const app = createHost(t)
  let body: unknown
  app.addHook('preHandler', async (request) => { request.body = body })
  await app.register(rowQuery, {
    ...optionsFor(),
    prefix: '/api',
    tokens: [
      { ...tokens[0], name: 'all', sha256: hashToken(TOKEN), permissions: ['select', 'insert', 'update', 'delete'] }
    ]
  })
  const post = async (url: string, payload: object): Promise<{ statusCode: number, body: string }> =>
    await app.inject({ method: 'POST', url, payload, headers: { authorization: `Bearer ${TOKEN}` } })
  const wrong = [
    null, 1, 'text', [], {}, { verb: 'constructor' }, { verb: 'select', limit: 1001 }, { verb: 'select', limit: 'x' },
    { verb: 'select', filters: 'a' }, { verb: 'delete' }, { verb: 'select', unknown: 1 }
  ]
  for (const [url, payload, bodies] of [['/api/shop/orders', select, wrong], [
    '/api/shop', { operations: [{ table: 'orders', ...select }] },
    [null, 1, {}, { operations: [] }, { operations: [{ table: 'orders', verb: 'select', limit: 1001 }] }]
  ]] as const) {
    for (body of bodies) {
      const answer = await post(url, payload)
      t.equal(answer.statusCode, 400, JSON.stringify(body))
      t.match(
        JSON.parse(answer.body),
        { success: false, error: { code: /INVALID_BODY|LIMIT_OUT_OF_RANGE|FILTERS_REQUIRED/ } }, answer.body
      )
    }
  }
  body = select
  t.same(JSON.parse((await post('/api/shop/orders', { verb: 'select' })).body), selected)
})

t.test('a start that takes too long says what it waits for, how long it had, and the setting', async (t) => {
  await import('../src/app.ts')
  const silent = createServer().listen(0, '127.0.0.1')
  const sockets: Socket[] = []
  silent.on('connection', (socket) => { sockets.push(socket) })
  await once(silent, 'listening')
  t.teardown(() => {
    for (const socket of sockets) socket.destroy()
    silent.close()
  })
  const app = createHost(t, { pluginTimeout: 2000 })
  app.register(rowQuery, {
    databases: { shop: { url: `mysql://root@127.0.0.1:${(silent.address() as AddressInfo).port}/shop` } }, tokens
  })
  await t.rejects(Promise.resolve(app.ready()), {
    code: 'ROW_QUERY_START_TIMEOUT',
    message: 'fastify-row-query has ' +
    'not started within 1900 ms, while its databases were opened. The machine may be busy: raise pluginTimeout ' +
      'of Fastify (2000)'
  })
})

t.test('an answer has its request id also where the app answers an error of its hook onSend itself', async (t) => {
  const app = createHost(t)
  app.addHook('onSend', async () => { throw new Error('of the host') })
  await app.register(rowQuery, { prefix: '/api', ...optionsFor() })
  t.match(await ask(app, '/api/shop/orders'), { status: 500, headers: { 'x-request-id': /^[\da-f]{32}$/ } })
})

t.test('an import whose body comes from a stream of the host is answered like a refusal of its hooks ' +
  'if the stream fails', async (t) => {
  const log: string[] = []
  const app = createHost(t, { logger: { level: 'info', stream: { write: (line: string) => { log.push(line) } } } })
  let fail: (stream: Readable) => void = () => {}
  app.addHook('preParsing', async ({ headers }, _reply, payload) => {
    payload.resume()
    const rows = Buffer.from(`text\n${Array.from({ length: 1500 }, (_, index) => `${index}\n`).join('')}`)
    const parts = [headers['content-encoding'] === 'gzip' ? gzipSync(rows).subarray(0, -10) : rows]
    return new Readable({
      read () {
        if (parts.length > 0) this.push(parts.shift())
        else setTimeout(() => { fail(this) }, 200)
      }
    })
  })
  const setup = ['create table notes (id integer primary key, text text)']
  const everything = { name: 'writer', sha256: hashToken(TOKEN), permissions: ['select' as const, 'insert' as const] }
  await app.register(rowQuery, {
    prefix: '/api', databases: { db: { url: 'sqlite::memory:', setup } }, tokens: [everything]
  })
  const withStatus = (statusCode?: number) => (stream: Readable) => {
    stream.destroy(Object.assign(new Error('of the host'), { statusCode }))
  }
  const cases = [
    [withStatus(), 500, 'INTERNAL'], [withStatus(403), 403, 'PERMISSION_DENIED'], [withStatus(503), 503, 'OVERLOADED'],
    [(stream: Readable) => { stream.destroy() }, 400, 'INVALID_REQUEST']
  ] as const
  for (const [how, status, code] of cases) {
    for (const encoding of ['identity', 'gzip']) {
      for (const transaction of encoding === 'gzip' ? ['whole'] : ['whole', 'batch']) {
        fail = how
        log.length = 0
        const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/csv', 'content-encoding': encoding }
        const answer = await ask(app, `/api/db/notes?transaction=${transaction}`, { headers, payload: 'x' })
        const why = `${status} ${encoding} ${transaction}`
        t.match(answer, { status, json: { error: { code } } }, why)
        t.same(answer.json.error.committed, transaction === 'batch' ? { rows: 1000, line: 1001 } : undefined, why)
        t.notMatch(JSON.stringify(answer.json), /of the host/)
        const lines = log.map((line) => JSON.parse(line))
        t.match(lines.find(({ msg }) => msg === 'import'), {
          code, status, requestId: answer.headers['x-request-id']
        }, why)
        if (status === 500) {
          t.match(lines.find(({ msg }) => msg === 'unexpected error'), {
            err: { stack: /of the host/ }
          }, why)
        }
      }
    }
  }
})

const sent: readonly unknown[] = [{ error: 'of the host' }, [{ a: 1 }, 2], 7, true, null, 'a text']
const SERIALIZERS: ReadonlyArray<[why: string, use: (app: FastifyInstance) => unknown]> = [
  ["Fastify's own serialization", () => {}],
  ['a serializer of the app', (app) => app.setReplySerializer((payload) => JSON.stringify({ wrapped: payload }))]
]
const HOOKS = ['onRequest', 'preParsing', 'preValidation', 'preHandler'] as const
const PATHS: ReadonlyArray<[method: 'GET' | 'POST', path: string, payload?: object]> = [
  ['POST', '/shop/orders'], ['POST', '/shop', { operations: [{ verb: 'select', table: 'orders' }] }],
  ['GET', '/openapi.json'], ['GET', '/docs'],
  ['POST', '/mcp', { jsonrpc: '2.0', id: 1, method: 'ping' }]
]
/** A path without a route, in both: Fastify uses no serializer of the app there. */
const WITHOUT_ROUTE = '/a/b/c'
/** Paths that the plugin refuses before any hook behind onRequest. */
const REFUSED: typeof PATHS = [
  ['GET', '/shop/orders'], ['POST', '/shop/nowhere'], ['POST', WITHOUT_ROUTE], ['GET', '/nowhere']
]

for (const [why, use] of SERIALIZERS) {
  t.test(`what a hook of the host sends by itself is serialized as on the host's own paths: ${why}`, async (t) => {
    for (const hook of HOOKS) {
      const app = createHost(t as Test)
      use(app)
      app.addHook(hook, async ({ headers }: FastifyRequest, reply: FastifyReply) =>
        headers['x-sent'] === undefined ? undefined : reply.code(418).send(sent[Number(headers['x-sent'])]))
      app.route({ method: ['GET', 'POST'], url: '/own', handler: async () => 'not reached' })
      await app.register(rowQuery, { prefix: '/api', ...optionsFor(), docs: true, mcp: {} })
      const answerOf = async (method: 'GET' | 'POST', url: string, index: number, payload: object = select) => {
        const headers = { 'x-sent': String(index), authorization: `Bearer ${TOKEN}` }
        const answer = await app.inject({ method, url, headers, ...(method === 'POST' && { payload }) })
        return { status: answer.statusCode, type: answer.headers['content-type'], text: answer.payload }
      }
      for (const index of sent.keys()) {
        for (const [method, path, payload] of [...PATHS, ...hook === 'onRequest' ? REFUSED : []]) {
          t.same(await answerOf(method, `/api${path}`, index, payload), await answerOf(method, path === WITHOUT_ROUTE
            ? path
            : '/own', index), `${hook}, ${method} ${path}, ${JSON.stringify(sent[index])}`)
        }
      }
      t.match(
        await ask(app, '/api/shop/orders'), { status: 200, json: selected },
        'what the plugin makes is not serialized again'
      )
      t.match(await ask(app, '/api/a/b/c'), { status: 404, json: { success: false, error: { code: 'NOT_FOUND' } } })
    }
  })
}

t.test("a refusal of the host's own @fastify/bearer-auth is the one of its other paths", async (t) => {
  const app = createHost(t)
  await app.register(bearerAuth, { keys: new Set(['key of the host']) })
  app.post('/own', async () => 'not reached')
  await app.register(rowQuery, { prefix: '/api', ...optionsFor() })
  const { status, json } = await ask(app, '/own')
  t.equal(status, 401)
  t.match(await ask(app, '/api/shop/orders'), { status, json })
})

const forAll = { origin: 'https://host.example.com' }
const withCors = (): PluginOptions => ({
  prefix: '/api', ...optionsFor(), cors: { origins: ['https://app.example.com'] }
})
const aroundIt: Array<[why: string, register: (app: FastifyInstance, options: PluginOptions) => unknown]> = [
  ['before', (app, options) => app.register(fastifyCors, forAll).register(rowQuery, options)],
  ['before, with another hook', async (app, options) => {
    await app.register(fastifyCors, { ...forAll, hook: 'preHandler' }).register(rowQuery, options)
  }],
  ['later', (app, options) => app.register(rowQuery, options).register(fastifyCors, forAll)],
  ['around a context that has the plugin', (app, options) =>
    app.register(fastifyCors, forAll).register(async (inner) => { await inner.register(rowQuery, options) })]
]

t.test('the option cors is a configuration error in an app that has @fastify/cors for the same paths', async (t) => {
  for (const [why, register] of aroundIt) {
    const app = Fastify()
    await t.rejects(async () => {
      await register(app, withCors())
      await app.ready()
    }, { code: 'ROW_QUERY_INVALID_CONFIG', message: /^cors: / }, why)
    await app.close()
  }
  const app = createHost(t as Test)
  await app.register(async (other) => { await other.register(fastifyCors, forAll) })
  await app.register(rowQuery, withCors())
  const { headers } = await ask(app, '/api/shop/orders', {
    headers: { authorization: `Bearer ${TOKEN}`, origin: 'https://app.example.com' }
  })
  t.equal(headers['access-control-allow-origin'], 'https://app.example.com', 'in another context it does no harm')
})

t.test('an answer has a request id of the service where the app generates none, one that no header can carry, ' +
  'or one that counts', async (t) => {
  const ids: Array<[why: string, id: unknown]> = [
    ['nothing', undefined], ['null', null], ['empty', ''], ['a number', 7], ['a line feed', 'a\nb'],
    ['a character beyond ASCII', 'ü'], ['an object', {}], ['a counter of Fastify', 'req-1z']
  ]
  const lines: string[] = []
  let id: unknown
  const app = createHost(t, {
    genReqId: () => id, logger: { stream: { write: (line: string) => { lines.push(line) } } }
  })
  await app.register(rowQuery, { prefix: '/api', requestLog: true, ...optionsFor() })
  for (const [why, generated] of ids) {
    id = generated
    const answer = await ask(app, '/api/shop/orders')
    t.match(answer, { status: 200, json: selected, headers: { 'x-request-id': /^[\da-f]{32}$/ } }, why)
    t.ok(lines.some((line) => JSON.parse(line).requestId === answer.headers['x-request-id']), 'the same one in the log')
    t.match(await ask(app, '/api/shop/nowhere'), { status: 404, headers: { 'x-request-id': String } })
    t.match(
      await ask(app, '/api/shop/orders', { headers: { authorization: `Bearer ${TOKEN}`, 'x-request-id': 'mine' } }),
      { headers: { 'x-request-id': 'mine' } }
    )
  }
  id = 'of the app'
  t.match(await ask(app, '/api/shop/orders'), { headers: { 'x-request-id': 'of the app' } })
  const plain = createHost(t)
  await plain.register(rowQuery, { prefix: '/api', ...optionsFor() })
  t.match(await ask(plain, '/api/shop/orders'), { headers: { 'x-request-id': /^[\da-f]{32}$/ } })
})

const wide = 'create table wide (id integer primary key, text varchar(2000000) not null)'
const MEGABYTE = 2 ** 20

t.test('each registration has its own memory for answers', async (t) => {
  const setup = [wide, ...[1, 2].map((id) => `insert into wide values (${id}, printf('%.*c', ${MEGABYTE}, 'x'))`)]
  const optionsWith = (answerMemory: number): PluginOptions => ({
    databases: { db: { url: 'sqlite::memory:', setup } }, tokens, limits: { answerMemory }
  })
  const small = { code: 'RESULT_TOO_LARGE', limit: 1.5 * MEGABYTE }
  for (const [first, second] of [[2, 64], [64, 2]] as const) {
    const app = createHost(t as Test)
    await app.register(rowQuery, { prefix: '/first', ...optionsWith(first * MEGABYTE) })
    await app.register(rowQuery, { prefix: '/second', ...optionsWith(second * MEGABYTE) })
    for (const [prefix, memory] of [['first', first], ['second', second]] as const) {
      for (const [url, payload] of [
        [`/${prefix}/db/wide`, { verb: 'select' }], [`/${prefix}/db/wide`, { verb: 'select', after: null }],
        [`/${prefix}/db`, { operations: [{ table: 'wide', verb: 'select' }] }]
      ] as const) {
        const answer = await ask(app, url, { payload })
        const expected = memory === 64
          ? { status: 200 }
          : {
              status: 422, json: { error: { code: small.code, message: new RegExp(String(small.limit)) } }
            }
        t.match(answer, expected, `${prefix} of ${first} and ${second} MiB: ${JSON.stringify(payload)}`)
      }
    }
  }
})

t.test('a token that is not set is said to be missing', async (t) => {
  const { hashToken } = await import('../src/index.ts')
  for (const [token, shown] of [[undefined, 'undefined'], ['', 'an empty text']]) {
    t.throws(
      () => hashToken(token as string),
      { message: `hashToken() needs a token, not ${shown}: is its environment variable set?` }
    )
  }
  t.match(hashToken('x'), /^[0-9a-f]{64}$/)
})
