// night: large answers, long streams and slow readers
/**
 * Large answers and long streams: their memory, clients that are slow or leave, and host apps that keep what is sent.
 */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { PassThrough, type Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { HTTP_DEFAULTS } from '../../src/config/settings.ts'
import { running } from '../support/connections.ts'
import { hostOf } from '../support/host.ts'
import { numbers } from '../support/numbers.ts'
import { serveRowQuery } from '../support/row-query.ts'
import { onEachEngine, type Schema, type Service, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { listen, readAnswers, request, type Wire } from '../support/wire.ts'

const MEGABYTE = 1_048_576
/** Answers of 24 MB: more than the system buffers for a client that does not read. */
const ROWS = 48
const wide = {
  mysql: ['create table wide (id int primary key, text longtext)', 'create table few (id int primary key)'],
  sqlite: ['create table wide (id integer primary key, text text)', 'create table few (id integer primary key)']
}
const fill = (rows = ROWS): string =>
  `insert into wide with recursive n (id) as (select 1 union all select id + 1 from n where id < ${rows}) select id, `
const text = {
  sqlite: `hex(zeroblob(${MEGABYTE / 4})) from n`,
  mysql: `repeat('0', ${MEGABYTE / 2}) from n`,
  mariadb: `repeat('0', ${MEGABYTE / 2}) from n`
}
const ask = (close = true): Buffer => request({
  start: 'POST /api/shop/wide HTTP/1.1', ...(!close && { without: ['Connection'] }), body: '{"verb":"select"}'
})

await onEachEngine(t, 'selects are refused while other answers fill the ' +
  'memory for answers', { schema: wide, options: { limits: { answerMemory: 64 * MEGABYTE } } }, async (t, service) => {
  await service.sql(fill() + text[service.engine])
  const wire = await listen(service)
  const unread = await wire.open()
  unread.on('error', () => {})
  unread.write(ask())
  // one of two concurrent answers may be refused, so the first one must be complete: then its first bytes arrive
  await once(unread, 'readable')
  t.match(unread.read(12)?.toString(), 'HTTP/1.1 200')
  const refused = await service.post('wide', { verb: 'select' })
  t.match(refused, { status: 503, headers: { 'retry-after': '1' }, json: { error: { code: 'OVERLOADED' } } })
  t.match(await service.post('few', { verb: 'select' }), { status: 200 }, 'small ones are answered')
  t.match(await service.post('wide', { verb: 'select', limit: 1 }), { status: 200 }, 'and so is one of half a megabyte')
  unread.destroy()
  await until('it is answered', async () => (await service.post('wide', { verb: 'select' })).status === 200)
  for (let each = 0; each < 4; each++) {
    t.match(await service.post('wide', { verb: 'select' }), { status: 200 }, 'and the memory is released')
  }
})

await onEachEngine(t, 'a pipelined request starts when the previous answer ' +
  'has been received', { schema: wide }, async (t, service) => {
  await service.sql(fill() + text[service.engine])
  service.statements()
  const socket = await (await listen(service)).open()
  socket.pause()
  socket.write(Buffer.concat([...Array.from({ length: 5 }, () => ask(false)), ask()]))
  const started: string[] = []
  const count = (): number => started.push(...service.statements())
  await until('the first select has started', () => count() > 0)
  await sleep(1000)
  t.equal(count(), 1, 'no other select has started')
  const answers = readAnswers(socket)
  socket.resume()
  const all = await answers
  t.same(all.map(({ status }) => status), Array.from({ length: 6 }, () => 200))
  t.ok(all.every(({ json }) => json.data.count === ROWS))
  t.equal(count(), 6)
})

await onEachEngine(t, 'a client that receives its answer too slowly is disconnected, even if it receives steadily', {
  schema: wide, only: ['sqlite'], server: { http: { ...HTTP_DEFAULTS, answerTimeout: 1000 } }
}, async (t, service) => {
  await service.sql(fill() + text[service.engine])
  const socket = await (await listen(service)).open()
  socket.on('error', () => {})
  socket.write(ask(false))
  // on a busy machine the answer may take seconds to begin
  await once(socket, 'readable')
  const since = performance.now()
  while (!socket.closed && performance.now() - since < 20_000) {
    socket.read(1000)
    await sleep(100)
    // the buffers of the system are read before the end of the connection is noticed
    if (performance.now() - since > 5000) socket.resume()
  }
  t.ok(socket.closed, `after ${performance.now() - since} ms`)
  t.ok(socket.bytesRead < ROWS * MEGABYTE / 2, `${socket.bytesRead} bytes were read`)
})

/** What a connection whose client does not read takes besides its answer, in megabytes. */
const OF_CONNECTION = 64 / 1024

for (const [connections, requests] of [[20, 20], [500, 4]] as const) {
  t.test(`the memory of the process stays within its own use, that of ${connections} connections and the ` +
  'memory for answers', { skip: process.platform === 'linux' ? false : 'needs /proc' }, async (t) => {
    const cwd = t.testdir({
      'row-query.json': JSON.stringify({
        databases: { shop: { url: 'sqlite:shop.db' } }, limits: { answerMemory: 32 * MEGABYTE }
      })
    })
    const database = new DatabaseSync(join(cwd, 'shop.db'))
    database.exec(wide.sqlite[0] as string)
    database.exec(fill(20) + text.sqlite)
    database.close()
    const server = await serveRowQuery(t, { cwd, env: { ROW_QUERY_CONFIG: 'row-query.json', API_TOKEN: TOKEN } })
    const read = (name: string): number => Number(
      new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))?.[1]
    ) / 1024
    const before = read('VmRSS')
    const { port } = new URL(server.address)
    const sockets = await Promise.all(Array.from({ length: connections }, async () => {
      const socket = connect(Number(port), '127.0.0.1').on('error', () => {}).pause()
      await once(socket, 'connect')
      socket.write(Buffer.concat(Array.from({ length: requests }, () => ask(false))))
      return socket
    }))
    await sleep(5000)
    const grown = read('VmHWM') - before
    const most = 32 + 256 + connections * OF_CONNECTION
    t.ok(grown < most, `${grown} MB more for ${connections * requests} answers of 10 MB that nobody reads`)
    for (const socket of sockets) socket.destroy()
  })
}

const NAME = 'a name that makes a row as long as many rows are, and is the same in each of them '
const createMillion = (name: string): string =>
  `create view million as select a.i * 1000 + b.i as id, ${name} as name from n a join n b`
/**
 * A million rows of about 130 bytes, which take no time to make. `wide`: rows that are larger than what the system
 * buffers.
 */
const million: Schema = {
  sqlite: [
    'create table n (i integer primary key)', `insert into n ${numbers(1000)}`,
    createMillion(`'${NAME}' || b.i`),
    'create table few (id integer primary key)', 'insert into few values (1)'
  ],
  mysql: [
    'create table n (i int primary key)', `insert into n ${numbers(1000)}`,
    createMillion(`concat('${NAME}', b.i)`),
    'create table few (id int primary key)', 'insert into few values (1)'
  ]
}

const bodyOf = (fields: object = {}): string => JSON.stringify({ verb: 'select', ...fields })
const askStream = (fields: object = {}, keepAlive = false): Buffer => request({
  start: 'POST /api/shop/million HTTP/1.1',
  with: ['Accept: application/x-ndjson'],
  ...keepAlive && { without: ['Connection'] },
  body: bodyOf(fields)
})

/** Opens a stream and reads its first bytes only. */
async function begin (wire: Wire, fields?: object): Promise<Socket> {
  const socket = await wire.open()
  socket.on('error', () => {})
  socket.write(askStream(fields))
  await once(socket, 'readable')
  t.match(socket.read(12)?.toString(), 'HTTP/1.1 200')
  return socket
}

/** Reads a stream to its end, and returns its rows and whether it is whole. */
async function readAll (socket: Socket): Promise<{ rows: number, isWhole: boolean }> {
  let rows = 0
  let end = ''
  socket.on('data', (chunk: Buffer) => {
    for (let at = chunk.indexOf('}'); at >= 0; at = chunk.indexOf('}', at + 1)) rows++
    end = (end + chunk.toString('latin1')).slice(-7)
  })
  await once(socket, 'close')
  return { rows, isWhole: end === '\r\n0\r\n\r\n' }
}

const streamLines = ({ log }: Service): any[] =>
  log.filter((line) => line.includes('"msg":"stream"')).map((line) => JSON.parse(line))
const lastLine = async (service: Service, count: number): Promise<any> => {
  await until('the end is logged', () => streamLines(service).length >= count, 40)
  return streamLines(service).at(-1)
}
const isOver = (service: Service): Promise<void> => until(
  'nothing runs in the database', async () => service.engine === 'sqlite' || (await running(service)).length === 0, 40
)
const streams = ({ server }: Service): Promise<number> => server.rows.registry.getSingleMetric(
  'row_query_streams_running'
)?.get().then(({ values }) => Number(values[0]?.value)) as Promise<number>
const fetchStream = ({ post }: Service) => post('million', bodyOf({ limit: 1 }), { headers: { accept: 'text/csv' } })
const options = { metrics: true }

await onEachEngine(t, 'a million rows arrive, also at a client that pauses, while ' +
  'short requests go on', { schema: million, options, database: { pool: { size: 8 } } }, async (t, service) => {
  const wire = await listen(service)
  // rows of SQLite come from another process, which takes longer
  const [many, fewer] = service.engine === 'sqlite' ? [200_000, 100_000] : [1_000_000, 200_000]
  const slow = await begin(wire, { limit: fewer })
  const fast = await begin(wire, { limit: many })
  t.equal(await streams(service), 2)
  const refused = await fetchStream(service)
  t.match(
    [refused.status, refused.headers['retry-after'], refused.text], [503, /\d/, 'OVERLOADED'],
    'more of them are refused'
  )
  t.same(await readAll(fast), { rows: many, isWhole: true })
  t.match(await lastLine(service, 1), {
    rows: many, complete: true, status: 200, verb: 'select', database: 'shop', token: 'everything'
  })
  t.match(await service.post('few', { verb: 'select' }), { status: 200 })
  t.match(
    await service.post('few', { verb: 'insert', data: { id: 2 } }), { status: 200 }, 'the slow reader stops nobody'
  )
  t.same(await readAll(slow), { rows: fewer, isWhole: true })
  await until('no stream runs', async () => await streams(service) === 0, 40)
  const metrics = await service.server.rows.registry.metrics()
  t.match(metrics, /row_query_streams_total\{database="shop",complete="true",reason=""\} 2\n/)
  t.match(metrics, `row_query_stream_rows_total{database="shop"} ${many + fewer}\n`)
})

await onEachEngine(t, 'memory that is used again is never written over ' +
  'before it is sent', { schema: million, options, database: { pool: { size: 8 } } }, async (t, service) => {
  await listen(service)
  const limit = service.engine === 'sqlite' ? 50_000 : 200_000
  const read = async (pause: number): Promise<void> => {
    const answer = await fetch(`${service.server.app.listeningOrigin}/api/shop/million`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept: 'application/x-ndjson' },
      body: bodyOf({ limit })
    })
    const chunks: Uint8Array[] = []
    // fills what the system buffers, and begins again in the middle of a chunk
    for await (const chunk of answer.body as ReadableStream<Uint8Array>) {
      if (chunks.push(chunk) % 50 === 0) {
        await sleep(pause)
      }
    }
    const lines = Buffer.concat(chunks).toString().split('\n')
    t.equal(lines.pop(), '')
    t.equal(lines.length, limit)
    const wrong = lines.find((line) => {
      const { id } = JSON.parse(line)
      return line !== JSON.stringify({ id, name: `${NAME}${id % 1000}` })
    })
    t.equal(wrong, undefined)
  }
  const reading = Promise.all([read(2), read(20)]).then(() => undefined)
  const list = async (): Promise<string> => (await service.post('million', { verb: 'select', limit: 900 })).text
  const text = await list()
  let same = 0
  while (await Promise.race([reading.then(() => false), sleep(5, true)])) {
    const next = await list()
    // on a busy machine the streams may have all memory for a moment
    if (next === text) same++
    else t.match(next, /"OVERLOADED"/)
  }
  t.ok(same > 0)
})

await onEachEngine(t, 'fifty streams are opened and left, and ' +
  'nothing stays behind', { schema: million, options, database: { pool: { size: 8 } } }, async (t, service) => {
  const wire = await listen(service)
  // each one of SQLite starts a process
  for (let each = 0; each < (service.engine === 'sqlite' ? 10 : 50); each++) {
    const socket = await wire.open()
    socket.on('error', () => {})
    socket.write(askStream())
    if (each % 3 > 0) await Promise.race([once(socket, 'readable'), once(socket, 'close')])
    if (each % 2 === 0) socket.destroy()
    else socket.resetAndDestroy()
    if (each % 10 === 9) await until('there is a place', async () => await streams(service) === 0, 40)
  }
  await until('no stream runs', async () => await streams(service) === 0, 40)
  await isOver(service)
  const reasons = new Set(streamLines(service).map(({ reason, complete }) => `${reason} ${complete}`))
  t.same([...reasons], ['CLIENT_GONE false'])
  t.equal((await fetchStream(service)).status, 200)
  t.match(await service.post('few', { verb: 'select' }), { json: { data: { rows: [{ id: 1 }] } } })
})

await onEachEngine(t, 'a stream that takes ' +
  'too long is cut off', { schema: million, options, database: { streamTimeout: 1500 } }, async (t, service) => {
  const wire = await listen(service)
  const socket = await begin(wire)
  const since = performance.now()
  t.match(
    await lastLine(service, 1), { complete: false, reason: 'QUERY_TIMEOUT', code: 'QUERY_TIMEOUT', status: 200 },
    'also where the client does not read'
  )
  t.ok(performance.now() - since > 1000)
  await isOver(service)
  const { rows, isWhole } = await readAll(socket)
  t.ok(!isWhole && rows < 1_000_000)
  t.equal((await fetchStream(service)).status, 200, 'its place is free')
})

await onEachEngine(t, 'a client that takes nothing is disconnected', {
  schema: million, server: { http: { ...HTTP_DEFAULTS, answerTimeout: 1000 } }
}, async (t, service) => {
  const wire = await listen(service)
  const socket = await begin(wire)
  t.match(await lastLine(service, 1), { complete: false, reason: 'CLIENT_SLOW' })
  await isOver(service)
  socket.destroy()
})

await onEachEngine(t, 'streams are cut off when the app ends them', { schema: million }, async (t, service) => {
  const wire = await listen(service)
  const socket = await begin(wire)
  service.server.rows.endStreams()
  const { rows, isWhole } = await readAll(socket)
  t.ok(!isWhole && rows < 1_000_000)
  t.match(await lastLine(service, 1), { complete: false, reason: 'SHUTDOWN', code: 'DATABASE_UNAVAILABLE' })
  await isOver(service)
})

await onEachEngine(t, 'a stream whose connection is killed in the database is cut off, and ' +
  'does not begin again', { schema: million, only: ['mariadb', 'mysql'] }, async (t, service) => {
  const { sql } = service
  const wire = await listen(service)
  for (const kill of ['kill', 'kill query']) {
    const socket = await begin(wire)
    const before = streamLines(service).length
    const [{ id }] = await sql("select ID as id from information_schema.PROCESSLIST where INFO like '%million%' and " +
      "INFO not like '%PROCESSLIST%'")
    await sql(`${kill} ${id}`)
    const { rows, isWhole } = await readAll(socket)
    t.ok(!isWhole && rows < 1_000_000, `${kill}: ${rows} rows`)
    t.match(await lastLine(service, before + 1), {
      complete: false, reason: /./, code: /DATABASE_UNAVAILABLE|QUERY_TIMEOUT/
    })
  }
  t.equal((await fetchStream(service)).status, 200)
})

await onEachEngine(t, 'the session of a stream has its time limits, and is as before afterwards', {
  schema: (engine) => [
    'create table few (id int primary key)', 'insert into few values (1)',
    'create function waits () returns int no sql return @@net_write_timeout',
    'create function runs () returns int no sql return ' +
      (engine === 'mariadb' ? '@@max_statement_time' : '@@max_execution_time / 1000'),
    'create view limits as select id, waits() as waits, runs() as runs from few'
  ],
  only: ['mariadb', 'mysql'],
  database: { pool: { size: 1 }, streamTimeout: 70_000, statementTimeout: 10_000 }
}, async (t, { post }) => {
  const limits = async (): Promise<any> => (await post('limits', { verb: 'select' })).json.data.rows[0]
  const before = await limits()
  t.match(before, { runs: 40 })
  const { text } = await post('limits', bodyOf(), { headers: { accept: 'application/x-ndjson' } })
  t.same(JSON.parse(text), { id: 1, waits: 100, runs: 100 })
  t.same(await limits(), before)
})

const STREAMED = 60_000
/** Rows that fill the chunks of a stream. */
const views = (concat: (text: string) => string): string[] => ['first', 'second'].map((name) => {
  const text = concat(`a long name in the ${name} view, which is the same in each of its rows but for `)
  return `create view ${name} as select a.i * 1000 + b.i as id, ${text} as name from n a join n b`
})
const twoViews: Schema = {
  sqlite: [
    'create table n (i integer primary key)', `insert into n ${numbers(1000)}`, ...views((text) => `'${text}' || b.i`)
  ],
  mysql: [
    'create table n (i int primary key)', `insert into n ${numbers(1000)}`, ...views((text) => `concat('${text}', b.i)`)
  ]
}
const ofStreams = {
  authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept: 'application/x-ndjson'
}
const bodyUpTo = (limit?: number): string => JSON.stringify({ verb: 'select', limit })

async function register (t: Test, app: FastifyInstance, url: string): Promise<number> {
  await hostOf(t, url, { databases: { shop: { url, pool: { size: 8 } } }, limits: { streams: 4 } }, app)
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

const test = sharedOnEachEngine(t, { schema: twoViews })

await test('what hooks of the host app keep of a stream is never written over', async (t, { url }) => {
  const kept: Record<string, Buffer[]> = { tee: [], listener: [], write: [] }
  const app = Fastify()
  app.addHook('onRequest', async (request, reply) => {
    if (request.headers['x-keep'] !== 'write') return
    const { raw } = reply
    const write = raw.write.bind(raw)
    raw.write = ((chunk: Buffer, ...rest: [any, any]) => {
      kept['write']?.push(chunk)
      return write(chunk, ...rest)
    }) as typeof raw.write
  })
  app.addHook('onSend', async (request, _reply, payload: Readable) => {
    const way = request.headers['x-keep'] as string
    if (way === 'listener') payload.on('data', (chunk: Buffer) => kept['listener']?.push(chunk))
    if (way === 'tee') {
      payload.pipe(new PassThrough({ highWaterMark: 1e9 })).on('data', (chunk: Buffer) => kept['tee']?.push(chunk))
    }
    return payload
  })
  const port = await register(t as Test, app, url)
  const read = async (table: string, way: string): Promise<string> => await (await fetch(
    `http://127.0.0.1:${port}/api/shop/${table}`,
    { method: 'POST', headers: { ...ofStreams, 'x-keep': way }, body: bodyUpTo(STREAMED) }
  )).text()
  for (const way of Object.keys(kept)) {
    const [text] = await Promise.all([read('first', way), read('second', 'none')])
    t.equal(text.split('\n').length - 1, STREAMED)
    t.ok(Buffer.concat(kept[way] as Buffer[]).toString() === text, way)
  }
})

await test('a client that leaves before its stream begins is no bug of the service', async (t, { url }) => {
  const log: string[] = []
  const app = Fastify({ logger: { level: 'info', stream: { write: (line: string) => { log.push(line) } } } })
  const port = await register(t as Test, app, url)
  const ends = (): any[] => log.filter((line) => line.includes('"msg":"stream"')).map((line) => JSON.parse(line))
  for (let each = 0; each < 12; each++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(
      request({ start: 'POST /api/shop/first HTTP/1.1', with: ['Accept: application/x-ndjson'], body: bodyUpTo(900) })
    )
    await sleep(each % 4)
    if (each % 2 === 0) socket.destroy()
    else socket.resetAndDestroy()
  }
  await sleep(500)
  await until('nothing runs', async () => (await app.inject({
    method: 'POST', url: '/api/shop/first', headers: ofStreams, payload: bodyUpTo(1)
  })).statusCode === 200)
  t.same(log.filter((line) => line.includes('"level":50')), [])
  for (const { complete, reason } of ends().slice(0, -1)) t.ok(complete === true || reason === 'CLIENT_GONE', reason)
})
