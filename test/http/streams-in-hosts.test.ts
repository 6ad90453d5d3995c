// night: streams large tables
/** Streams in apps that register the plugin: hooks that keep what is sent, HTTP/2, and clients that leave before the answer begins. */
import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect, type AddressInfo } from 'node:net'
import { PassThrough, type Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { createRowQuery } from '../../src/app.ts'
import { numbers } from '../support/numbers.ts'
import { type Schema, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'
import { request } from '../support/wire.ts'

const ROWS = 60_000
/** Rows that fill the chunks of a stream. */
const views = (concat: (text: string) => string): string[] => ['first', 'second'].map((name) => `create view ${name} as select a.i * 1000 + b.i as id, ${concat(`a long name in the ${name} view, which is the same in each of its rows but for `)} as name from n a join n b`)
const schema: Schema = {
  sqlite: ['create table n (i integer primary key)', `insert into n ${numbers(1000)}`, ...views((text) => `'${text}' || b.i`)],
  mysql: ['create table n (i int primary key)', `insert into n ${numbers(1000)}`, ...views((text) => `concat('${text}', b.i)`)]
}
const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json', accept: 'application/x-ndjson' }
const body = (limit?: number): string => JSON.stringify({ verb: 'select', limit })

async function register (t: Test, app: FastifyInstance, url: string, limits = {}): Promise<number> {
  t.teardown(() => app.close())
  await app.register(createRowQuery({ databases: { shop: { url, pool: { size: 8 } } }, tokens: [{ name: 'all', sha256: hashToken(TOKEN), permissions: ['select'] }], limits: { streams: 4, ...limits } }).plugin, { prefix: '/api' })
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

const test = sharedOnEachEngine(t, { schema })

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
    if (way === 'tee') payload.pipe(new PassThrough({ highWaterMark: 1e9 })).on('data', (chunk: Buffer) => kept['tee']?.push(chunk))
    return payload
  })
  const port = await register(t as Test, app, url)
  const read = async (table: string, way: string): Promise<string> => await (await fetch(`http://127.0.0.1:${port}/api/shop/${table}`, { method: 'POST', headers: { ...headers, 'x-keep': way }, body: body(ROWS) })).text()
  for (const way of Object.keys(kept)) {
    const [text] = await Promise.all([read('first', way), read('second', 'none')])
    t.equal(text.split('\n').length - 1, ROWS)
    t.ok(Buffer.concat(kept[way] as Buffer[]).toString() === text, way)
  }
})

await test('a stream that is cut off ends with an error over HTTP/2 too', async (t, { url }) => {
  const app = Fastify({ http2: true }) as unknown as FastifyInstance
  const port = await register(t as Test, app, url, { streamRows: 300 })
  const client = connectHttp2(`http://127.0.0.1:${port}`)
  t.teardown(() => client.close())
  const read = async (limit?: number): Promise<{ rows: number, error: string | undefined }> => {
    const stream = client.request({ ...headers, ':method': 'POST', ':path': '/api/shop/first' })
    stream.end(body(limit))
    let [rows, error] = [0, undefined as string | undefined]
    stream.on('error', ({ code }: NodeJS.ErrnoException) => { error = code })
    stream.on('data', (chunk: Buffer) => { rows += chunk.toString().split('\n').length - 1 })
    await once(stream, 'close').catch(() => {})
    return { rows, error }
  }
  t.same(await read(200), { rows: 200, error: undefined })
  t.match(await read(), { rows: 300, error: 'ERR_HTTP2_STREAM_ERROR' })
})

await test('a client that leaves before its stream begins is no bug of the service', async (t, { url }) => {
  const log: string[] = []
  const app = Fastify({ logger: { level: 'info', stream: { write: (line: string) => { log.push(line) } } } })
  const port = await register(t as Test, app, url)
  const ends = (): any[] => log.filter((line) => line.includes('"msg":"stream"')).map((line) => JSON.parse(line))
  for (let each = 0; each < 12; each++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(request({ start: 'POST /api/shop/first HTTP/1.1', with: ['Accept: application/x-ndjson'], body: body(900) }))
    await sleep(each % 4)
    if (each % 2 === 0) socket.destroy()
    else socket.resetAndDestroy()
  }
  await sleep(500)
  await until('nothing runs', async () => (await app.inject({ method: 'POST', url: '/api/shop/first', headers, payload: body(1) })).statusCode === 200)
  t.same(log.filter((line) => line.includes('"level":50')), [])
  for (const { complete, reason } of ends().slice(0, -1)) t.ok(complete === true || reason === 'CLIENT_GONE', reason)
})
