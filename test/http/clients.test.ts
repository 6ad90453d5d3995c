// night: clients whose time is up, after seconds
/** Clients that disconnect, that are slow, or whose requests wait for a connection. */
import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from 'node:http2'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { HTTP_DEFAULTS } from '../../src/config/settings.ts'
import { tokenOf } from '../grants/support.ts'
import { liveIds, running } from '../support/connections.ts'
import { hostOf } from '../support/host.ts'
import { parseMetrics, valueOf } from '../support/metrics.ts'
import { isRefusal } from '../support/refusals.ts'
import { type Answer, onEachEngine, type Schema, type Service, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { listen, readAnswers, request, type Wire } from '../support/wire.ts'

const servers = ['mariadb', 'mysql'] as const
const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }
const schema: Schema = {
  sqlite: [
    ...sqlite,
    'create view slow as with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) as id from n'
  ],
  mysql: [...mysql, 'create view slow as select id, sleep(20) as slept from customers']
}

const send = async (wire: Wire, table: string, body: object) => {
  const socket = await wire.open()
  socket.on('error', () => {})
  socket.write(request({ start: `POST /api/shop/${table} HTTP/1.1`, body: JSON.stringify(body) }))
  return socket
}
const isRunning = (service: Service, start: string) =>
  until(`"${start}" runs`, async () => (await running(service)).some((statement) => statement.startsWith(start)))
const rename = { verb: 'update', data: { name: 'New' }, filters: { id: 1 } }

await onEachEngine(t, 'when a client disconnects, its statement is killed in the database, and the ' +
  'connection is reused', { schema, only: servers, database: { pool: { size: 1 } } }, async (t, service) => {
  const { sql, post, log } = service
  const wire = await listen(service)
  await post('customers', { verb: 'select' })
  const before = await liveIds(service)
  await sql('begin')
  await sql("update customers set note = 'held' where id = 1")
  for (const [table, body, start] of [
    ['slow', { verb: 'select' }, 'select `id`'], ['customers', rename, 'update `customers`']
  ] as const) {
    const socket = await send(wire, table, body)
    await isRunning(service, start)
    socket.resetAndDestroy()
    await until('the statement has ended', async () => (await running(service)).length === 0)
    await until('the reason is logged', () => log.some((line) => line.includes('"reason":"CLIENT_GONE"')))
    log.splice(0)
  }
  await sql('rollback')
  t.match(await sql('select name from customers where id = 1'), [{ name: 'Ada' }], 'nothing was changed')
  t.equal((await post('customers', rename)).status, 200)
  t.same(await liveIds(service), before)
})

await onEachEngine(t, 'when a client disconnects while it waits for a connection, its statement is not sent', {
  schema, only: servers, options: { metrics: true }, database: { pool: { size: 1 } }
}, async (t, service) => {
  const { sql, post, statements } = service
  const wire = await listen(service)
  await sql('begin')
  await sql("update customers set note = 'held' where id = 1")
  const first = post('customers', rename)
  await isRunning(service, 'update `customers`')
  statements()
  const connected = once(service.server.app.server, 'connection') as Promise<[Socket]>
  const socket = await send(wire, 'customers', { verb: 'delete', filters: { id: 4 } })
  const [other] = await connected
  await until('it waits', async () =>
    valueOf(parseMetrics(await service.server.rows.registry.metrics()), 'row_query_pool_waiting') === 1)
  socket.resetAndDestroy()
  await until('the service knows', () => other.destroyed)
  await sql('rollback')
  t.equal((await first).status, 200)
  t.equal((await post('customers', { verb: 'select', columns: ['id'] })).json.data.count, 4)
  t.notMatch(statements().join(), /delete/)
})

await onEachEngine(t, 'over HTTP/2 the statements of clients that disconnect ' +
  'are killed as well', { schema }, async (t, { engine, url, sql, statements }) => {
  const log: string[] = []
  const app = await hostOf(t, url, {
    databases: { shop: { url, pool: { size: 4 }, statementTimeout: 20_000 } }
  }, Fastify({
    http2: true, logger: { level: 'info', stream: { write: (line: string) => { log.push(line) } } }
  }) as unknown as FastifyInstance)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  const ways: Array<(stream: ClientHttp2Stream, client: ClientHttp2Session) => void> = [
    (stream) => { stream.close(constants.NGHTTP2_CANCEL) }, (_stream, client) => { client.destroy() }
  ]

  await sql(engine === 'sqlite' ? 'begin immediate' : 'begin')
  await sql("update customers set note = 'held' where id = 1")
  for (const [table, body, accept] of [
    ['slow', { verb: 'select' }, 'application/json'], ['slow', { verb: 'select' }, 'text/csv'],
    ['customers', rename, 'application/json']
  ] as const) {
    for (const leave of ways) {
      statements()
      log.splice(0)
      const client = connectHttp2(`http://127.0.0.1:${port}`)
      const stream = client.request({
        ':method': 'POST',
        ':path': `/api/shop/${table}`,
        authorization: `Bearer ${TOKEN}`,
        'content-type': 'application/json',
        accept
      })
      for (const each of [client, stream]) each.on('error', () => {})
      stream.end(JSON.stringify(body))
      await until('the statement is sent', () => statements().some((statement) => statement.startsWith(body.verb)))
      leave(stream, client)
      await until('the reason is logged', () => log.some((line) => line.includes('"reason":"CLIENT_GONE"')))
      client.destroy()
    }
  }
  await sql('rollback')
  await sleep(200)
  t.match(await sql('select name from customers where id = 1'), [{ name: 'Ada' }], 'nothing was changed')
})

const OTHER = 'other'
const tokens = [tokenOf(OTHER, {})]
const create = (id: string): string[] => [
  'create table gate (id integer not null primary key, n integer not null)',
  `create table passed (id integer primary key${id}, who varchar(10) not null)`, 'insert into gate values (1, 0)'
]
const gated = { mysql: create(' auto_increment'), sqlite: create('') }
const MINUTE = 60_000

await onEachEngine(t, 'a token that fills the queue for connections neither delays another one nor keeps it out', {
  schema: gated, tokens, database: { statementTimeout: MINUTE, pool: { size: 1, queue: 4, wait: MINUTE } }
}, async (t, service) => {
  const { sql, operate, post, engine } = service
  const pass = (who: string, token?: string) => operate([{
    table: 'gate', verb: 'update', filters: { id: 1 }, data: { n: { $inc: 1 } }
  }, { table: 'passed', verb: 'insert', data: { who } }], token === undefined ? {} : { token })
  await post('passed', { verb: 'select' }) // the connection is open
  await sql(engine === 'sqlite' ? 'begin immediate' : 'begin')
  await sql('update gate set n = n + 1 where id = 1')

  // one of them runs and waits for the row, four wait for it to end
  const greedy = ['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].map((who) => pass(who))
  const refused: Answer[] = []
  for (const answer of greedy) answer.then((answer) => { if (answer.status !== 200) refused.push(answer) }, () => {})
  await until('the queue is full', () => refused.length === 1)
  const other = pass('other', OTHER)
  await until('the token that has most loses a place', () => refused.length === 2)
  await sql('rollback')

  t.equal((await other).status, 200)
  t.same((await Promise.all(greedy)).map(({ status }) => status).sort(), [200, 200, 200, 200, 503, 503])
  for (const answer of refused) isRefusal(t, answer, { status: 503, code: 'OVERLOADED', why: 'one too many' })
  const passed = (await sql('select who from passed order by id')).map(({ who }) => who)
  t.ok(passed.indexOf('other') <= 2, `${passed.join()}: behind the one that ran and one that waited`)
})

const server = { http: { ...HTTP_DEFAULTS, headersTimeout: 300, requestTimeout: 600, maxConnections: 5 } }
const quick = { schema: shop, only: ['sqlite' as const], server }

await onEachEngine(t, 'a request without a token is refused before its body arrives, and its ' +
  'connection is closed', quick, async (t, service) => {
  const socket = await (await listen(service)).open()
  const answers = readAnswers(socket)
  socket.write(
    request({ without: ['Connection', 'Authorization', 'Content-Length'], with: ['Content-Length: 1000'], body: '' })
  )
  const [answer, ...more] = await answers
  t.match(answer, { status: 401, json: { error: { code: 'UNAUTHENTICATED' } } })
  t.same(more, [], 'a second answer would be taken for the answer to the next request')
})

await onEachEngine(t, 'connections beyond the limit are closed, and the ' +
  'others are served', quick, async (t, service) => {
  const wire = await listen(service)
  const open = await Promise.all(Array.from({ length: 5 }, () => wire.open()))
  const [last] = open as [Socket]
  const { port } = service.server.app.server.address() as AddressInfo
  t.same(await readAnswers(connect(port, '127.0.0.1')), [], 'the sixth')
  const answers = readAnswers(last)
  last.write(request())
  t.match(await answers, [{ status: 200 }])
  t.match(await wire.send(request()), [{ status: 200 }], 'and further connections are accepted')
  for (const socket of open) socket.destroy()
})

const KEPT = 1500
const keeping = { ...HTTP_DEFAULTS, keepAliveTimeout: KEPT }
const kept = { schema: shop, only: ['sqlite' as const], server: { http: keeping } }

await onEachEngine(t, 'a request with Connection: close gets no Keep-Alive header', kept, async (t, service) => {
  const [answer] = await (await listen(service)).send(request())
  t.match(answer, { status: 200, headers: { connection: 'close', 'keep-alive': undefined } })
})

const few: Schema = {
  sqlite: ['create table few (id integer primary key)'], mysql: ['create table few (id int primary key)']
}

await onEachEngine(t, 'pipelined requests are answered in order, ' +
  'however many there are', { schema: few }, async (t, service) => {
  const socket = await (await listen(service)).open()
  const answers = readAnswers(socket)
  const insert = (id: number, last: boolean): Buffer => request({
    start: 'POST /api/shop/few HTTP/1.1',
    ...(!last && { without: ['Connection'] }),
    body: JSON.stringify({ verb: 'insert', data: { id } })
  })
  socket.write(Buffer.concat(Array.from({ length: 50 }, (_, id) => insert(id + 1, id === 49))))
  t.same((await answers).map(({ json }) => json.data.id), Array.from({ length: 50 }, (_, id) => id + 1))
})

const cells = {
  mysql: ['create table wide (id int primary key, text longtext)'],
  sqlite: ['create table wide (id integer primary key, text text)']
}

await onEachEngine(t, 'an answer that is larger than the memory of all answers is too large, and ' +
  'releases what it took', {
  schema: cells, options: { limits: { answerMemory: 2_097_152 } }
}, async (t, { sql, post, engine }) => {
  const text = engine === 'sqlite' ? 'hex(zeroblob(50000))' : "repeat('0', 100000)"
  await sql(`insert into wide (id, text) values ${Array.from({ length: 24 }, (_, id) => `(${id}, ${text})`).join()}`)
  for (let each = 0; each < 3; each++) {
    t.match(await post('wide', { verb: 'select' }), {
      status: 422, json: { error: { code: 'RESULT_TOO_LARGE', message: /larger than 1572864 bytes/ } }
    })
  }
  t.match(await post('wide', { verb: 'select', limit: 2 }), { status: 200 })
})

await onEachEngine(t, 'a stream that is cut off ends with an ' +
  'error over HTTP/2 too', { schema: shop }, async (t, { url }) => {
  const limits = { streams: 4, streamRows: 3 }
  const app = await hostOf(t, url, { limits }, Fastify({ http2: true }) as unknown as FastifyInstance)
  await app.listen({ host: '127.0.0.1', port: 0 })
  const client = connectHttp2(`http://127.0.0.1:${(app.server.address() as AddressInfo).port}`)
  t.teardown(() => client.close())
  const read = async (limit?: number): Promise<{ rows: number, error: string | undefined }> => {
    const stream = client.request({
      authorization: `Bearer ${TOKEN}`,
      'content-type': 'application/json',
      accept: 'application/x-ndjson',
      ':method': 'POST',
      ':path': '/api/shop/customers'
    })
    stream.end(JSON.stringify({ verb: 'select', limit }))
    let [rows, error] = [0, undefined as string | undefined]
    stream.on('error', ({ code }: NodeJS.ErrnoException) => { error = code })
    stream.on('data', (chunk: Buffer) => { rows += chunk.toString().split('\n').length - 1 })
    await once(stream, 'close').catch(() => {})
    return { rows, error }
  }
  t.same(await read(2), { rows: 2, error: undefined })
  t.match(await read(), { rows: 3, error: 'ERR_HTTP2_STREAM_ERROR' })
})
