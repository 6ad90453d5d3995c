// night: waits for real time limits
/** Slow clients: the time limits of a connection. */
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { HTTP_DEFAULTS } from '../../src/config/split-config.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { listen, readAnswers, request } from '../support/wire.ts'

const server = { http: { ...HTTP_DEFAULTS, headersTimeout: 300, requestTimeout: 600, maxConnections: 5 } }
const quick = { schema: shop, only: ['sqlite' as const], server }

const connectionsOf = ({ server: { app } }: Service): Promise<number> => promisify(app.server.getConnections.bind(app.server))()
const noTrouble = (t: Test, { log }: Service): void => { t.same(log.filter((line) => JSON.parse(line).level >= 40), [], 'a slow client is no event of the service') }

/** Writes a byte at an interval until the other end closes the connection. */
async function trickle (socket: Socket, bytes: Buffer): Promise<void> {
  for (const byte of bytes) {
    if (socket.closed || !socket.writable) return
    socket.write(Buffer.of(byte))
    await sleep(50)
  }
}

const INSERT = '{"verb":"insert","data":{"level":1}}'
const insert = request({ start: 'POST /api/shop/settings HTTP/1.1', without: ['Connection'], body: INSERT })

const slow: Array<[what: string, atOnce: Buffer, slowly: Buffer]> = [
  ['nothing', Buffer.alloc(0), Buffer.alloc(0)],
  ['the head of a request byte by byte', Buffer.alloc(0), insert],
  ['half a head', insert.subarray(0, 40), Buffer.alloc(0)],
  ['the body byte by byte', insert.subarray(0, -INSERT.length), Buffer.from(INSERT.padEnd(200))],
  ['half a body', insert.subarray(0, -10), Buffer.alloc(0)]
]

await onEachEngine(t, 'a client that sends too slowly gets 408, and its connection is closed', quick, async (t, service) => {
  const wire = await listen(service)
  for (const [what, atOnce, slowly] of slow) {
    const socket = await wire.open()
    const answers = readAnswers(socket)
    socket.write(atOnce)
    await Promise.all([trickle(socket, slowly), answers])
    const [answer, ...more] = await answers
    isRefusal(t as Test, answer as NonNullable<typeof answer>, { status: 408, code: 'REQUEST_TIMEOUT', why: what })
    t.match(answer?.headers, { connection: 'close', 'retry-after': '1' })
    t.same(more, [])
  }
  await until('no connection is left', async () => await connectionsOf(service) === 0)
  t.match(await service.sql('select count(*) as count from settings'), [{ count: 0 }], 'and nothing was changed')
  noTrouble(t as Test, service)
})

await onEachEngine(t, 'a request without a token is refused before its body arrives, and its connection is closed', quick, async (t, service) => {
  const socket = await (await listen(service)).open()
  const answers = readAnswers(socket)
  socket.write(request({ without: ['Connection', 'Authorization', 'Content-Length'], with: ['Content-Length: 1000'], body: '' }))
  const [answer, ...more] = await answers
  t.match(answer, { status: 401, json: { error: { code: 'UNAUTHENTICATED' } } })
  t.same(more, [], 'a second answer would be taken for the answer to the next request')
})

await onEachEngine(t, 'a used connection may be idle for longer than a request may take', quick, async (t, service) => {
  const socket = await (await listen(service)).open()
  const answers = readAnswers(socket)
  socket.write(request({ without: ['Connection'] }))
  await sleep(2000)
  socket.write(request())
  t.match(await answers, [{ status: 200 }, { status: 200 }])
})

await onEachEngine(t, 'the connection is closed if a client keeps sending after its request was refused', quick, async (t, service) => {
  const socket = await (await listen(service)).open()
  socket.write('no HTTP\r\n\r\n')
  const flood = setInterval(() => socket.write('x'.repeat(1000)), 20)
  await readAnswers(socket)
  clearInterval(flood)
  await until('no connection is left', async () => await connectionsOf(service) === 0)
  noTrouble(t as Test, service)
})

await onEachEngine(t, 'connections beyond the limit are closed, and the others are served', quick, async (t, service) => {
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

const WIDE = { mysql: ['create table wide (id int primary key, text longtext)'], sqlite: ['create table wide (id integer primary key, text text)'] }

await onEachEngine(t, 'the connection of a client that does not read its answer is closed', { ...quick, schema: WIDE, server: { http: { ...HTTP_DEFAULTS, answerTimeout: 400 } } }, async (t, service) => {
  await service.sql('insert into wide values (1, hex(zeroblob(12000000)))')
  const socket = await (await listen(service)).open()
  socket.on('error', () => {})
  socket.write(request({ start: 'POST /api/shop/wide HTTP/1.1', without: ['Connection'], body: '{"verb":"select"}' }))
  // the client buffers only a part of the answer
  await once(socket, 'readable')
  await until('no connection is left', async () => await connectionsOf(service) === 0)
  t.pass()
})

await onEachEngine(t, 'a request whose statement takes long is answered', { schema: shop, only: ['mariadb', 'mysql'], server: { http: { ...server.http, answerTimeout: 400 } } }, async (t, service) => {
  const wire = await listen(service)
  await service.sql('lock tables settings write')
  const answers = wire.send(request({ start: 'POST /api/shop/settings HTTP/1.1', body: INSERT }))
  await sleep(1500)
  await service.sql('unlock tables')
  t.match(await answers, [{ status: 200 }])
})
