// slow: long streams and slow readers
/** Streams whose clients are slow, leave or are cut off, and the connections behind them. */
import { once } from 'node:events'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { HTTP_DEFAULTS } from '../../src/config/split-config.ts'
import { running } from '../support/connections.ts'
import { numbers } from '../support/numbers.ts'
import { onEachEngine, TOKEN, type Schema, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'
import { listen, request, type Wire } from '../support/wire.ts'

const view = (name: string): string => `create view million as select a.i * 1000 + b.i as id, ${name} as name from n a join n b`
/** A million rows of about 130 bytes, which take no time to make. `wide`: rows that are larger than what the system buffers. */
const schema: Schema = {
  sqlite: ['create table n (i integer primary key)', `insert into n ${numbers(1000)}`, view("'a name that makes a row as long as many rows are, and is the same in each of them ' || b.i"), 'create table few (id integer primary key)', 'insert into few values (1)'],
  mysql: ['create table n (i int primary key)', `insert into n ${numbers(1000)}`, view("concat('a name that makes a row as long as many rows are, and is the same in each of them ', b.i)"), 'create table few (id int primary key)', 'insert into few values (1)']
}

const body = (fields: object = {}): string => JSON.stringify({ verb: 'select', ...fields })
const ask = (fields: object = {}, keepAlive = false): Buffer => request({ start: 'POST /api/shop/million HTTP/1.1', with: ['Accept: application/x-ndjson'], ...keepAlive && { without: ['Connection'] }, body: body(fields) })

/** Opens a stream and reads its first bytes only. */
async function begin (wire: Wire, fields?: object): Promise<Socket> {
  const socket = await wire.open()
  socket.on('error', () => {})
  socket.write(ask(fields))
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

const streamLines = ({ log }: Service): any[] => log.filter((line) => line.includes('"msg":"stream"')).map((line) => JSON.parse(line))
const lastLine = async (service: Service, count: number): Promise<any> => {
  await until('the end is logged', () => streamLines(service).length >= count, 40)
  return streamLines(service).at(-1)
}
const isOver = (service: Service): Promise<void> => until('nothing runs in the database', async () => service.engine === 'sqlite' || (await running(service)).length === 0, 40)
const streams = ({ server }: Service): Promise<number> => server.rows.registry.getSingleMetric('row_query_streams_running')?.get().then(({ values }) => Number(values[0]?.value)) as Promise<number>
const fetchStream = async ({ server }: Service) => {
  const { statusCode: status, headers, body: text } = await server.app.inject({ method: 'POST', url: '/api/shop/million', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept: 'text/csv' }, payload: body({ limit: 1 }) })
  return { status, headers, text }
}
const options = { metrics: true }

await onEachEngine(t, 'a million rows arrive, also at a client that pauses, while short requests go on', { schema, options, database: { pool: { size: 8 } } }, async (t, service) => {
  const wire = await listen(service)
  // rows of SQLite come from another process, which takes longer
  const [many, fewer] = service.engine === 'sqlite' ? [200_000, 100_000] : [1_000_000, 200_000]
  const slow = await begin(wire, { limit: fewer })
  const fast = await begin(wire, { limit: many })
  t.equal(await streams(service), 2)
  const refused = await fetchStream(service)
  t.match([refused.status, refused.headers['retry-after'], refused.text], [503, /\d/, 'OVERLOADED'], 'more of them are refused')
  t.same(await readAll(fast), { rows: many, isWhole: true })
  t.match(await lastLine(service, 1), { rows: many, complete: true, status: 200, verb: 'select', database: 'shop', token: 'everything' })
  t.match(await service.post('few', { verb: 'select' }), { status: 200 })
  t.match(await service.post('few', { verb: 'insert', data: { id: 2 } }), { status: 200 }, 'the slow reader stops nobody')
  t.same(await readAll(slow), { rows: fewer, isWhole: true })
  await until('no stream runs', async () => await streams(service) === 0, 40)
  const metrics = await service.server.rows.registry.metrics()
  t.match(metrics, /row_query_streams_total\{database="shop",complete="true",reason=""\} 2\n/)
  t.match(metrics, `row_query_stream_rows_total{database="shop"} ${many + fewer}\n`)
})

await onEachEngine(t, 'memory that is used again is never written over before it is sent', { schema, options, database: { pool: { size: 8 } } }, async (t, service) => {
  await listen(service)
  const limit = service.engine === 'sqlite' ? 50_000 : 200_000
  const read = async (pause: number): Promise<void> => {
    const answer = await fetch(`${service.server.app.listeningOrigin}/api/shop/million`, { method: 'POST', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept: 'application/x-ndjson' }, body: body({ limit }) })
    const chunks: Uint8Array[] = []
    // fills what the system buffers, and begins again in the middle of a chunk
    for await (const chunk of answer.body as ReadableStream<Uint8Array>) if (chunks.push(chunk) % 50 === 0) await sleep(pause)
    const lines = Buffer.concat(chunks).toString().split('\n')
    t.equal(lines.pop(), '')
    t.equal(lines.length, limit)
    const wrong = lines.find((line) => {
      const { id } = JSON.parse(line)
      return line !== `{"id":${id},"name":"a name that makes a row as long as many rows are, and is the same in each of them ${id % 1000}"}`
    })
    t.equal(wrong, undefined)
  }
  const reading = Promise.all([read(2), read(20)]).then(() => undefined)
  const list = async (): Promise<string> => (await service.post('million', { verb: 'select', limit: 900 })).text
  const text = await list()
  while (await Promise.race([reading.then(() => false), sleep(5, true)])) t.equal(await list(), text)
})

await onEachEngine(t, 'fifty streams are opened and left, and nothing stays behind', { schema, options, database: { pool: { size: 4 } } }, async (t, service) => {
  const wire = await listen(service)
  // each one of SQLite starts a process
  for (let each = 0; each < (service.engine === 'sqlite' ? 10 : 50); each++) {
    const socket = await wire.open()
    socket.on('error', () => {})
    socket.write(ask())
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

await onEachEngine(t, 'a stream that takes too long is cut off', { schema, options, database: { streamTimeout: 1500 } }, async (t, service) => {
  const wire = await listen(service)
  const socket = await begin(wire)
  const since = performance.now()
  t.match(await lastLine(service, 1), { complete: false, reason: 'QUERY_TIMEOUT', code: 'QUERY_TIMEOUT', status: 200 }, 'also where the client does not read')
  t.ok(performance.now() - since > 1000)
  await isOver(service)
  const { rows, isWhole } = await readAll(socket)
  t.ok(!isWhole && rows < 1_000_000)
  t.equal((await fetchStream(service)).status, 200, 'its place is free')
})

await onEachEngine(t, 'a client that takes nothing is disconnected', { schema, server: { http: { ...HTTP_DEFAULTS, answerTimeout: 1000 } } }, async (t, service) => {
  const wire = await listen(service)
  const socket = await begin(wire)
  t.match(await lastLine(service, 1), { complete: false, reason: 'CLIENT_SLOW' })
  await isOver(service)
  socket.destroy()
})

await onEachEngine(t, 'streams are cut off when the app ends them', { schema }, async (t, service) => {
  const wire = await listen(service)
  const socket = await begin(wire)
  service.server.rows.endStreams()
  const { rows, isWhole } = await readAll(socket)
  t.ok(!isWhole && rows < 1_000_000)
  t.match(await lastLine(service, 1), { complete: false, reason: 'SHUTDOWN', code: 'DATABASE_UNAVAILABLE' })
  await isOver(service)
})

await onEachEngine(t, 'a stream whose connection is killed in the database is cut off, and does not begin again', { schema, only: ['mariadb', 'mysql'] }, async (t, service) => {
  const { sql } = service
  const wire = await listen(service)
  for (const kill of ['kill', 'kill query']) {
    const socket = await begin(wire)
    const before = streamLines(service).length
    const [{ id }] = await sql("select ID as id from information_schema.PROCESSLIST where INFO like '%million%' and INFO not like '%PROCESSLIST%'")
    await sql(`${kill} ${id}`)
    const { rows, isWhole } = await readAll(socket)
    t.ok(!isWhole && rows < 1_000_000, `${kill}: ${rows} rows`)
    t.match(await lastLine(service, before + 1), { complete: false, reason: /./, code: /DATABASE_UNAVAILABLE|QUERY_TIMEOUT/ })
  }
  t.equal((await fetchStream(service)).status, 200)
})

await onEachEngine(t, 'the session of a stream has its time limits, and is as before afterwards', {
  schema: (engine) => ['create table few (id int primary key)', 'insert into few values (1)', 'create function waits () returns int no sql return @@net_write_timeout', `create function runs () returns int no sql return ${engine === 'mariadb' ? '@@max_statement_time' : '@@max_execution_time / 1000'}`, 'create view limits as select id, waits() as waits, runs() as runs from few'],
  only: ['mariadb', 'mysql'],
  database: { pool: { size: 1 }, streamTimeout: 70_000, statementTimeout: 10_000 }
}, async (t, { server, post }) => {
  const limits = async (): Promise<any> => (await post('limits', { verb: 'select' })).json.data.rows[0]
  const before = await limits()
  t.match(before, { runs: 40 })
  const { body: text } = await server.app.inject({ method: 'POST', url: '/api/shop/limits', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept: 'application/x-ndjson' }, payload: body() })
  t.same(JSON.parse(text), { id: 1, waits: 100, runs: 100 })
  t.same(await limits(), before)
})
