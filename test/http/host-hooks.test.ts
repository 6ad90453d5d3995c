/** What hooks of a host app do to bodies and answers: unpack, encode, fail. */
import { Readable } from 'node:stream'
import { createGunzip, gzipSync } from 'node:zlib'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { VERBS } from '../../schemas/grants.ts'
import { createRowQuery } from '../../src/index.ts'
import { hostOf as register } from '../support/host.ts'
import { countItems, itemsOf, lines } from '../support/load.ts'
import { anyEngine } from '../support/rotation.ts'
import { type Service, sharedOnEachEngine, TOKEN } from '../support/service.ts'

const test = sharedOnEachEngine(t, { schema: itemsOf('n int'), only: await anyEngine(t) })

/** A host app with the plugin. `before` and `after` add its hooks before and after it registers the plugin. */
async function hostOf (t: Test, { url }: Service, { before = () => {}, after = () => {} }: {
  readonly before?: (app: FastifyInstance) => void, readonly after?: (app: FastifyInstance) => void
}): Promise<FastifyInstance> {
  const host = Fastify()
  before(host)
  await register(t, url, {}, host)
  after(host)
  await host.ready()
  return host
}

const send = (host: FastifyInstance, { body, type = 'application/json', query = '', method = 'POST', headers = {} }: {
  readonly body: string | Buffer,
  readonly type?: string,
  readonly query?: string,
  readonly method?: string,
  readonly headers?: Record<string, string>
}) =>
  host.inject({
    method: method as 'POST',
    url: `/api/shop/items${query}`,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': type, ...headers },
    payload: body
  })

await test('a body that a hook has unpacked is read as what it holds, although the header still ' +
  'names its encoding', async (t, service) => {
  const host = await hostOf(t, service, {
    before: (
      app
    ) => app.addHook('preParsing', async (request, _reply, payload) => request.headers['x-unpack'] === undefined
      ? Readable.from(payload)
      : Object.assign(payload.pipe(createGunzip()), {
        receivedEncodedLength: Number(request.headers['content-length'])
      }))
  })
  const packed = { 'content-encoding': 'gzip' }
  const csv = gzipSync('sku\na\nb\n')
  t.match((await send(host, { body: csv, type: 'text/csv', headers: { ...packed, 'x-unpack': '1' } })).json(), {
    data: { inserted: 2 }
  })
  t.match(
    (await send(host, { body: gzipSync('{"sku":"c"}'), type: 'application/x-ndjson', headers: packed })).json(),
    { data: { inserted: 1 } }, 'one that it has only passed on'
  )
  t.match((await send(host, { body: csv.subarray(0, 15), type: 'text/csv', headers: packed })).json(), {
    error: { code: 'INVALID_BODY' }
  })
  const select = gzipSync('{"verb":"select","columns":["sku"]}')
  t.match((await send(host, { body: select, headers: { ...packed, 'x-unpack': '1' } })).json(), {
    data: { count: 4 }
  }, 'JSON')
  t.equal((await send(host, { body: select, headers: packed })).statusCode, 415)
})

await test('the tag of an answer to QUERY is weak if a hook has encoded the answer, ' +
  'before ours or after', async (t, service) => {
  const encode = (app: FastifyInstance): void => {
    app.addHook('onSend', async (request, reply, payload) => {
      if (request.headers['accept-encoding'] !== 'gzip' || typeof payload !== 'string') return payload
      reply.header('content-encoding', 'gzip').removeHeader('content-length')
      return request.headers['x-stream'] === undefined ? gzipSync(payload) : Readable.from([gzipSync(payload)])
    })
  }
  // as @fastify/compress does
  const encodeLast = (app: FastifyInstance): void => {
    app.addHook('onRoute', (route) => {
      route.onSend = [route.onSend ?? [], async (request: {
        headers: Record<string, unknown>
      }, reply: { header (name: string, value: string): unknown }, payload: unknown) => {
        if (request.headers['accept-encoding'] !== 'gzip') return payload
        reply.header('content-encoding', 'gzip')
        return gzipSync(String(payload))
      }].flat() as never
    })
  }
  for (const [place, hooks] of Object.entries({
    before: { before: encode }, after: { after: encode }, last: { before: encodeLast }
  })) {
    const host = await hostOf(t, service, hooks)
    const query = (headers: Record<string, string> = {}) => send(host, {
      body: '{"columns":["sku"]}', method: 'QUERY', headers
    })
    const tag = String((await query()).headers['etag'])
    t.match(tag, /^"[0-9a-f]{32}"$/, place)
    for (const headers of [{ 'accept-encoding': 'gzip' }, { 'accept-encoding': 'gzip', 'x-stream': '1' }]) {
      const { headers: { etag, 'content-encoding': encoding }, statusCode } = await query(headers)
      t.same([statusCode, etag], [200, encoding === undefined ? tag : `W/${tag}`], place)
      if (place !== 'after') t.equal(encoding, 'gzip', place)
    }
    t.equal((await query({ 'accept-encoding': 'gzip', 'if-none-match': `W/${tag}` })).statusCode, 304, place)
  }
})

await test('an error after committed batches says what is committed, whatever its code', async (t, service) => {
  const host = await hostOf(t, service, {
    before: (app) => {
      app.addHook('onSend', async ({ headers }, { statusCode }) => {
        if (headers['x-fail'] === 'send' && statusCode === 200) throw new Error('a hook has failed')
      })
      app.addHook('preParsing', async ({ headers }, _reply, payload) => headers['x-fail'] !== 'body'
        ? payload
        : Readable.from((async function * () {
          yield * payload
          await new Promise((resolve) => setTimeout(resolve, 300))
          throw new Error('a stream has failed')
        })()))
    }
  })
  const body = lines('sku', 1100)
  for (const [fail, status, code, rows] of [
    ['send', 502, 'OUTCOME_UNKNOWN', 1100], ['body', 500, 'INTERNAL', 1000]
  ] as const) {
    const answer = await send(host, {
      body, type: 'text/csv', query: '?transaction=batch', headers: { 'x-fail': fail }
    })
    t.match([answer.statusCode, answer.json()], [status, { error: { code, committed: { rows, line: rows + 1 } } }])
    t.notOk('retry-after' in answer.headers)
    t.equal(await countItems(service), 1 + rows)
    await service.sql("delete from items where sku <> 'old'")
    const whole = await send(host, { body, type: 'text/csv', headers: { 'x-fail': fail } })
    t.match([whole.statusCode, whole.json().error.committed], [status, undefined])
    await service.sql("delete from items where sku <> 'old'")
  }
})

/** An error whose properties throw, and one that may not be changed. */
const oddErrors = {
  frozen: () => Object.freeze(Object.assign(new Error('refused'), { statusCode: 403 })),
  getters: () => Object.defineProperties(new Error('odd'), Object.fromEntries([
    'code', 'statusCode', 'status', 'stack'
  ].map((name) => [name, { enumerable: true, get () { throw new Error(`no ${name}`) } }])))
}

await test('an error of a hook that is frozen, or whose properties throw, is answered ' +
  'with the envelope', async (t, service) => {
  for (const [kind, create] of Object.entries(oddErrors)) {
    const at = (place: string, { headers }: { readonly headers: Record<string, unknown> }): void => {
      if (headers['x-fail'] === place) throw create()
    }
    const host = await hostOf(t, service, {
      before: (app) => {
        app.addHook('preHandler', async (request) => at('handler', request))
        app.addHook(
          'onSend',
          async (request, reply, payload) => { if (reply.statusCode === 200) at('send', request); return payload }
        )
      }
    })
    const fail = (place: string, body: object) => send(host, {
      body: JSON.stringify(body), headers: { 'x-fail': place }
    })
    const refused = await fail('handler', { verb: 'select' })
    t.match([refused.statusCode, refused.json()], kind === 'frozen'
      ? [403, { error: { code: 'PERMISSION_DENIED' } }]
      : [500, { success: false, error: { code: 'INTERNAL' } }], kind)
    const written = await fail('send', { verb: 'update', data: { n: 1 }, filters: { id: 1 } })
    t.match([written.statusCode, written.json()], [502, { success: false, error: { code: 'OUTCOME_UNKNOWN' } }], kind)
    const batch = await send(host, {
      body: 'sku\na\n', type: 'text/csv', query: '?transaction=batch', headers: { 'x-fail': 'send' }
    })
    t.match([batch.statusCode, batch.json().error.committed], [502, { rows: 1, line: 2 }], kind)
    await service.sql("delete from items where sku <> 'old'")
    const rows = createRowQuery({
      databases: { shop: { url: service.url } },
      onWrite: () => { throw create() },
      authenticate: () => { throw create() }
    })
    const other = Fastify({ logger: { level: 'error', stream: { write () {} } } })
    t.teardown(() => other.close())
    await other.register(rows.plugin, { prefix: '/api' })
    t.match((await send(other, { body: '{"verb":"select"}' })).json(), {
      success: false, error: { code: kind === 'frozen' ? 'PERMISSION_DENIED' : 'INTERNAL' }
    }, kind)
    await t.rejects(rows.execute({
      database: 'shop',
      table: 'items',
      grant: { name: 'g', permissions: [...VERBS] },
      body: { verb: 'update', data: { n: 1 }, filters: { id: 1 } }
    }), { code: 'WRITE_REFUSED' }, kind)
  }
})
