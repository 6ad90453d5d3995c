/** Bodies that are refused while the client still sends them. */
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import Fastify from 'fastify'
import t from 'tap'
import { createRowQuery } from '../../src/app.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { VERBS } from '../../schemas/grant.ts'
import { onEachEngine, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { listen, readAnswers, request, type Line } from '../support/wire.ts'

const MEGABYTE = 1_048_576
const SIZE = 6 * MEGABYTE
const PART = MEGABYTE / 4

/** Sends a request as a client that reads the answer only when it has sent its whole body, as PHP's streams do. Returns the status, or what happened to the connection. */
async function sendAll (port: number, bytes: Buffer): Promise<number | string> {
  const socket = connect(port, '127.0.0.1')
  let error: string | undefined
  let text = ''
  socket.on('error', ({ code }: NodeJS.ErrnoException) => { error ??= code }).on('data', (chunk) => { text += chunk.toString() })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await once(socket, 'connect')
  socket.pause()
  for (let at = 0; at < bytes.length && !socket.destroyed; at += PART) if (!socket.write(bytes.subarray(at, at + PART))) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
  socket.resume()
  await closed
  return error ?? Number(text.split(' ')[1])
}

const closing: Line = { body: 'x'.repeat(SIZE) }
const lines: Array<[why: string, line: Line, status: number]> = [
  ['6 MB', { ...closing, without: ['Connection'] }, 413],
  ['6 MB of a client that closes the connection', closing, 413],
  ['6 MB in chunks', { without: ['Content-Length'], with: ['Transfer-Encoding: chunked'], body: `${SIZE.toString(16)}\r\n${'x'.repeat(SIZE)}\r\n0\r\n\r\n` }, 413],
  ['6 MB of a client that asks for an upgrade', { ...closing, without: ['Connection'], with: ['Connection: upgrade', 'Upgrade: h2c'] }, 413],
  ['a wrong token and 6 MB', { ...closing, without: ['Authorization'], with: ['Authorization: Bearer wrong'] }, 401],
  ['another table and 6 MB', { ...closing, start: 'POST /api/shop/nothing HTTP/1.1' }, 413],
  ['another content type and 6 MB', { ...closing, without: ['Content-Type'], with: ['Content-Type: text/plain'] }, 415]
]

await onEachEngine(t, 'a client that sends more than it may gets the answer and no reset', { schema: shop, only: ['sqlite'], options: { failedLogins: { max: 0 } } }, async (t, service) => {
  await listen(service)
  const { port } = service.server.app.server.address() as AddressInfo
  for (const [why, line, status] of lines) {
    t.equal(await sendAll(port, request(line)), status, why)
  }
})

const testShop = sharedOnEachEngine(t, { schema: shop, only: ['sqlite'] })

await testShop('and in the server of a host app', async (t, service) => {
  const host = Fastify()
  await host.register(createRowQuery({ databases: { shop: { url: service.url } }, tokens: [{ name: 'all', sha256: hashToken(TOKEN), permissions: [...VERBS] }], failedLogins: { max: 0 } }).plugin, { prefix: '/api' })
  t.teardown(() => host.close())
  await host.listen({ port: 0 })
  const { port } = host.server.address() as AddressInfo
  for (const [why, line, status] of lines) {
    t.equal(await sendAll(port, request(line)), status, why)
  }
})

await testShop('a client that sends without end, or nothing more, is disconnected', async (t, service) => {
  const wire = await listen(service)
  const socket = await wire.open()
  let sent = 0
  let text = ''
  socket.on('error', () => {}).on('data', (chunk) => { text += chunk.toString() })
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(request({ without: ['Content-Length'], with: ['Content-Length: 999999999999'], body: '' }))
  const part = Buffer.alloc(PART)
  const send = (): void => {
    if (!socket.writable) return
    sent += part.length
    socket.write(part, send)
  }
  send()
  await closed
  t.match(text, /^HTTP\/1.1 413 /)
  t.ok(sent < 64 * MEGABYTE, `after ${sent} bytes`)
  const idle = await wire.open()
  const first = readAnswers(idle)
  idle.write(request({ without: ['Content-Length'], with: ['Content-Length: 99999999'], body: '' }))
  t.match(await first, [{ status: 413 }])
})
