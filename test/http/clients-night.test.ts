// night: waits for real time limits
/** Slow clients and idle connections: the time limits of a connection. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { HTTP_DEFAULTS } from '../../src/config/settings.ts'
import { createCertificate } from '../support/certificates.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { listen, readAnswers, request } from '../support/wire.ts'

const server = { http: { ...HTTP_DEFAULTS, headersTimeout: 300, requestTimeout: 600, maxConnections: 5 } }
const quick = { schema: shop, only: ['sqlite' as const], server }

const connectionsOf = ({ server: { app } }: Service): Promise<number> =>
  promisify(app.server.getConnections.bind(app.server))()
const noTrouble = (t: Test, { log }: Service): void => {
  t.same(log.filter((line) => JSON.parse(line).level >= 40), [], 'a slow client is no event of the service')
}

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

const NOTHING = Buffer.alloc(0)
const slow: Array<[what: string, atOnce: Buffer, slowly: Buffer]> = [
  ['nothing', NOTHING, NOTHING], ['a part of the head', insert.subarray(0, 40), NOTHING],
  ['a part of the body', insert.subarray(0, -10), NOTHING],
  ['the head of a request byte by byte', NOTHING, insert],
  ['the body byte by byte', insert.subarray(0, -INSERT.length), Buffer.from(INSERT.padEnd(200))]
]

await onEachEngine(t, 'a client that sends too slowly gets 408, and its ' +
  'connection is closed', quick, async (t, service) => {
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

await onEachEngine(t, 'a used connection may be idle for longer than a request may take', quick, async (t, service) => {
  const socket = await (await listen(service)).open()
  const answers = readAnswers(socket)
  socket.write(request({ without: ['Connection'] }))
  await sleep(2000)
  socket.write(request())
  t.match(await answers, [{ status: 200 }, { status: 200 }])
})

await onEachEngine(t, 'the connection is closed if a client keeps sending after its ' +
  'request was refused', quick, async (t, service) => {
  const socket = await (await listen(service)).open()
  socket.write('no HTTP\r\n\r\n')
  const flood = setInterval(() => socket.write('x'.repeat(1000)), 20)
  await readAnswers(socket)
  clearInterval(flood)
  await until('no connection is left', async () => await connectionsOf(service) === 0)
  noTrouble(t as Test, service)
})

const WIDE = {
  mysql: ['create table wide (id int primary key, text longtext)'],
  sqlite: ['create table wide (id integer primary key, text text)']
}

await onEachEngine(t, 'the connection of a client that does not read its answer is closed', {
  ...quick, schema: WIDE, server: { http: { ...HTTP_DEFAULTS, answerTimeout: 400 } }
}, async (t, service) => {
  await service.sql('insert into wide values (1, hex(zeroblob(12000000)))')
  const socket = await (await listen(service)).open()
  socket.on('error', () => {})
  socket.write(request({ start: 'POST /api/shop/wide HTTP/1.1', without: ['Connection'], body: '{"verb":"select"}' }))
  // the client buffers only a part of the answer
  await once(socket, 'readable')
  await until('no connection is left', async () => await connectionsOf(service) === 0)
  t.pass()
})

await onEachEngine(t, 'a request whose statement takes long is answered', {
  schema: shop, only: ['mariadb', 'mysql'], server: { http: { ...server.http, answerTimeout: 400 } }
}, async (t, service) => {
  const wire = await listen(service)
  await service.sql('lock tables settings write')
  const answers = wire.send(request({ start: 'POST /api/shop/settings HTTP/1.1', body: INSERT }))
  await sleep(1500)
  await service.sql('unlock tables')
  t.match(await answers, [{ status: 200 }])
})

const KEPT = 1500
const http = { ...HTTP_DEFAULTS, keepAliveTimeout: KEPT }
const idling = { schema: shop, only: ['sqlite' as const], server: { http } }
const keptAlive = request({ without: ['Connection'] })

/** Sends a request and returns how long the connection stays open afterwards, in milliseconds. */
async function askAndWait (t: Test, socket: Socket): Promise<number> {
  const ended = readAnswers(socket)
  socket.write(keptAlive)
  await once(socket, 'data')
  const begin = performance.now()
  const answers = await ended
  t.match(answers, [{ status: 200, headers: { connection: 'keep-alive', 'keep-alive': 'timeout=1' } }])
  return performance.now() - begin
}

await onEachEngine(t, 'an idle connection is closed, but not before the time in its ' +
  'Keep-Alive header', idling, async (t, service) => {
  const idle = await askAndWait(t, await (await listen(service)).open())
  t.ok(idle >= KEPT && idle < KEPT + 3000, `after ${idle} ms`)
})

const certificate = await createCertificate()
const folder = t.testdir({})
const https = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
writeFileSync(https.cert, certificate.cert)
writeFileSync(https.key, certificate.key)

await onEachEngine(t, 'an idle connection with ' +
  'TLS is closed too', { ...idling, server: { http, https } }, async (t, service) => {
  await service.server.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = service.server.app.server.address() as AddressInfo
  const socket = connectTls({ host: '127.0.0.1', port, ca: certificate.cert })
  await once(socket, 'secureConnect')
  const idle = await askAndWait(t, socket)
  t.ok(idle >= KEPT && idle < KEPT + 3000, `after ${idle} ms`)
})

await onEachEngine(t, 'a connection with further requests stays open', idling, async (t, service) => {
  const socket = await (await listen(service)).open()
  const answers = readAnswers(socket)
  for (let asked = 0; asked < 5; asked++) {
    socket.write(keptAlive)
    await sleep(1000)
  }
  socket.write(request())
  t.equal((await answers).filter(({ status }) => status === 200).length, 6)
})

await onEachEngine(t, 'a connection stays open for an answer ' +
  'that takes longer', { ...idling, only: ['mariadb', 'mysql'] }, async (t, service) => {
  const wire = await listen(service)
  await service.sql('lock tables settings write')
  const answers = wire.send(
    request({ start: 'POST /api/shop/settings HTTP/1.1', body: '{"verb":"insert","data":{"level":1}}' })
  )
  await sleep(KEPT + 2500)
  await service.sql('unlock tables')
  t.match(await answers, [{ status: 200 }])
})

await onEachEngine(t, 'a connection whose client read its answer slowly stays open as long as any other', {
  ...idling,
  server: { http: { ...http, keepAliveTimeout: 3_600_000, answerTimeout: 1000 } },
  schema: { mysql: [], sqlite: ['create table wide (id integer primary key, text text)'] }
}, async (t, service) => {
  await service.sql('insert into wide values (1, hex(zeroblob(12000000)))')
  const socket = await (await listen(service)).open()
  const answers = readAnswers(socket)
  socket.pause()
  socket.write(request({ start: 'POST /api/shop/wide HTTP/1.1', without: ['Connection'], body: '{"verb":"select"}' }))
  await sleep(900)
  socket.resume()
  await sleep(3500)
  socket.write(request({ start: 'POST /api/shop/wide HTTP/1.1', body: '{"verb":"select","columns":["id"]}' }))
  t.match(await answers, [{ status: 200 }, { status: 200 }])
})
