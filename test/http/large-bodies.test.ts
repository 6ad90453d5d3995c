// night: bodies of megabytes, in chunks of one byte
/** Bodies that are refused while the client still sends them. */
import { once } from 'node:events'
import { connect, type AddressInfo, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { hostOf } from '../support/host.ts'
import { type Service, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { listen, readAnswers, request, SELECT, type Line } from '../support/wire.ts'

const MEGABYTE = 1_048_576
const SIZE = 6 * MEGABYTE
const PART = MEGABYTE / 4

/**
 * Sends a request as a client that reads the answer only when it has sent its whole body, as PHP's streams do. Returns
 * the status, or what happened to the connection.
 */
async function sendAll (port: number, bytes: Buffer): Promise<number | string> {
  const socket = connect(port, '127.0.0.1')
  let error: string | undefined
  let text = ''
  socket.on('error', ({ code }: NodeJS.ErrnoException) => { error ??= code }).on(
    'data', (chunk) => { text += chunk.toString() }
  )
  const closed = new Promise((resolve) => socket.once('close', resolve))
  await once(socket, 'connect')
  socket.pause()
  for (let at = 0; at < bytes.length && !socket.destroyed; at += PART) {
    if (!socket.write(bytes.subarray(at, at +
    PART))) await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed])
  }
  socket.resume()
  await closed
  return error ?? Number(text.split(' ')[1])
}

const closing: Line = { body: 'x'.repeat(SIZE) }
const lines: Array<[why: string, line: Line, status: number]> = [
  ['6 MB', { ...closing, without: ['Connection'] }, 413],
  ['6 MB of a client that closes the connection', closing, 413],
  ['6 MB in chunks', {
    without: ['Content-Length'],
    with: ['Transfer-Encoding: chunked'],
    body: `${SIZE.toString(16)}\r\n${'x'.repeat(SIZE)}\r\n0\r\n\r\n`
  }, 413],
  ['6 MB of a client that asks for an upgrade', {
    ...closing, without: ['Connection'], with: ['Connection: upgrade', 'Upgrade: h2c']
  }, 413],
  ['a wrong token and 6 MB', { ...closing, without: ['Authorization'], with: ['Authorization: Bearer wrong'] }, 401],
  ['another table and 6 MB', { ...closing, start: 'POST /api/shop/nothing HTTP/1.1' }, 413],
  ['another content type and 6 MB', { ...closing, without: ['Content-Type'], with: ['Content-Type: text/plain'] }, 413]
]

const test = sharedOnEachEngine(t, { schema: shop, only: ['sqlite'], options: { failedLogins: { max: 0 } } })

/** The service, and the server of a host app with the plugin, which listen. */
async function serversOf (t: Test, service: Service): Promise<[FastifyInstance, FastifyInstance]> {
  await listen(service)
  const host = await hostOf(t, service.url, { failedLogins: { max: 0 } })
  await host.listen({ port: 0 })
  return [service.server.app as unknown as FastifyInstance, host]
}

await test('a client that sends more than it may gets the answer and no reset', async (t, service) => {
  await Promise.all((await serversOf(t, service)).map(async ({ server }) => {
    const { port } = server.address() as AddressInfo
    for (const [why, line, status] of lines) t.equal(await sendAll(port, request(line)), status, why)
  }))
})

const chunked = { without: ['Content-Length', 'Connection'], with: ['Transfer-Encoding: chunked'], body: '' }
const inPieces: Array<[why: string, line: Line, status: number]> = [
  ['a request', chunked, 413],
  ['a request of a client that closes the connection', { ...chunked, without: ['Content-Length'] }, 413],
  ['no token', { ...chunked, without: [...chunked.without, 'Authorization'] }, 401],
  ['no token, of a client that closes the connection', {
    ...chunked, without: ['Content-Length', 'Authorization']
  }, 401],
  ['operations', { ...chunked, start: 'POST /api/shop HTTP/1.1' }, 413],
  ['another content type', { ...chunked, without: [...chunked.without, 'Content-Type'] }, 415],
  ['another method', { ...chunked, start: 'GET /api/shop/customers HTTP/1.1' }, 405],
  ['a document', { ...chunked, start: 'GET /api/openapi.json HTTP/1.1' }, 200],
  ['no path', { ...chunked, start: 'POST /api/a/b/c HTTP/1.1' }, 404]
]
const outside: typeof inPieces = [
  ['the health', { ...chunked, start: 'GET /health/live HTTP/1.1' }, 200],
  ['a path outside', { ...chunked, start: 'POST /nope HTTP/1.1' }, 404],
  ['an invalid path', { ...chunked, start: 'GET /api/%zz HTTP/1.1' }, 404]
]
/** Millions of chunks of one byte. */
const PIECES = Buffer.from('1\r\n \r\n'.repeat(2 * MEGABYTE))

/** Sends a body of chunks of one byte. Returns the status of the answer, and the bytes that the server has read. */
async function sendPieces ({ server }: FastifyInstance, line: Line): Promise<{ status: number, read: number }> {
  const accepted = once(server, 'connection') as Promise<[Socket]>
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  let text = ''
  client.on('error', () => {}).on('data', (chunk) => { text += chunk.toString() })
  const closed = new Promise((resolve) => client.once('close', resolve))
  client.write(request(line))
  client.write(PIECES)
  const [socket] = await accepted
  await closed
  return { status: Number(text.split(' ')[1]), read: socket.bytesRead }
}

await test('the connection of a client that sends a body in chunks of one byte is closed, on every path', async (
  t, service
) => {
  const wire = await listen(service)
  const [own, host] = await serversOf(t, service)
  for (const [app, all] of [[own, [...inPieces, ...outside]], [host, inPieces]] as const) {
    for (const [why, line, status] of all) {
      const answered = await sendPieces(app, line)
      t.equal(answered.status, status, why)
      t.ok(answered.read < MEGABYTE / 2, `${why}: ${answered.read} bytes`)
    }
  }
  const small = [...SELECT].map((character) => `1\r\n${character}\r\n`).join('')
  const post = (more: Line): Buffer => Buffer.concat([
    request({ ...chunked, ...more }), Buffer.from(`${small}0\r\n\r\n`)
  ])
  const kept = [
    post({}), post({ without: [...chunked.without, 'Authorization'] }), post({}),
    post({ start: 'GET /health/live HTTP/1.1' }), post({ without: ['Content-Length'] })
  ]
  t.same(
    (await wire.send(Buffer.concat(kept))).map(({ status }) => status), [200, 401, 200, 200, 200],
    'a small body may come so, and its connection is kept'
  )
})

await test('a client that sends without end, or nothing more, is disconnected', async (t, service) => {
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
