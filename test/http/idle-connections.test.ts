// night: waits for real time limits
/** How long idle connections stay open, and the Keep-Alive header. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import t, { type Test } from 'tap'
import { HTTP_DEFAULTS } from '../../src/config/split-config.ts'
import { createCertificate } from '../support/certificates.ts'
import { onEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { listen, readAnswers, request } from '../support/wire.ts'

const KEPT = 1500
const http = { ...HTTP_DEFAULTS, keepAliveTimeout: KEPT }
const quick = { schema: shop, only: ['sqlite' as const], server: { http } }
const kept = request({ without: ['Connection'] })

/** Sends a request and returns how long the connection stays open afterwards, in milliseconds. */
async function askAndWait (t: Test, socket: Socket): Promise<number> {
  const ended = readAnswers(socket)
  socket.write(kept)
  await once(socket, 'data')
  const begin = performance.now()
  const answers = await ended
  t.match(answers, [{ status: 200, headers: { connection: 'keep-alive', 'keep-alive': 'timeout=1' } }])
  return performance.now() - begin
}

await onEachEngine(t, 'an idle connection is closed, but not before the time in its Keep-Alive header', quick, async (t, service) => {
  const idle = await askAndWait(t, await (await listen(service)).open())
  t.ok(idle >= KEPT && idle < KEPT + 3000, `after ${idle} ms`)
})

const certificate = await createCertificate()
const folder = t.testdir({})
const https = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
writeFileSync(https.cert, certificate.cert)
writeFileSync(https.key, certificate.key)

await onEachEngine(t, 'an idle connection with TLS is closed too', { ...quick, server: { http, https } }, async (t, service) => {
  await service.server.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = service.server.app.server.address() as AddressInfo
  const socket = connectTls({ host: '127.0.0.1', port, ca: certificate.cert })
  await once(socket, 'secureConnect')
  const idle = await askAndWait(t, socket)
  t.ok(idle >= KEPT && idle < KEPT + 3000, `after ${idle} ms`)
})

await onEachEngine(t, 'a connection with further requests stays open', quick, async (t, service) => {
  const socket = await (await listen(service)).open()
  const answers = readAnswers(socket)
  for (let asked = 0; asked < 5; asked++) {
    socket.write(kept)
    await sleep(1000)
  }
  socket.write(request())
  t.equal((await answers).filter(({ status }) => status === 200).length, 6)
})

await onEachEngine(t, 'a connection stays open for an answer that takes longer', { ...quick, only: ['mariadb', 'mysql'] }, async (t, service) => {
  const wire = await listen(service)
  await service.sql('lock tables settings write')
  const answers = wire.send(request({ start: 'POST /api/shop/settings HTTP/1.1', body: '{"verb":"insert","data":{"level":1}}' }))
  await sleep(KEPT + 2500)
  await service.sql('unlock tables')
  t.match(await answers, [{ status: 200 }])
})

await onEachEngine(t, 'a request with Connection: close gets no Keep-Alive header', quick, async (t, service) => {
  const [answer] = await (await listen(service)).send(request())
  t.match(answer, { status: 200, headers: { connection: 'close', 'keep-alive': undefined } })
})

await onEachEngine(t, 'a connection whose client read its answer slowly stays open as long as any other', { ...quick, server: { http: { ...http, keepAliveTimeout: 3_600_000, answerTimeout: 1000 } }, schema: { mysql: [], sqlite: ['create table wide (id integer primary key, text text)'] } }, async (t, service) => {
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
