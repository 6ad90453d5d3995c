/** Clients of one server take turns: what one of them has sent keeps no other one waiting. */
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { HTTP_DEFAULTS, type HttpSettings } from '../../src/config/settings.ts'
import { createServer } from '../../src/server/server.ts'
import { readAnswers } from '../support/wire.ts'

async function open (t: Test, http: Partial<HttpSettings> = {}): Promise<{
  connectTo (): Promise<Socket>
  /** The hosts of the requests that have been answered. */
  readonly answered: Array<string | undefined>
}> {
  const { app } = await createServer({
    options: { databases: { shop: { url: 'sqlite::memory:' } } },
    prefix: '/api',
    logLevel: 'silent',
    http: { ...HTTP_DEFAULTS, ...http }
  })
  t.teardown(() => app.close())
  const answered: Array<string | undefined> = []
  app.server.on('request', ({ headers }, response) => response.once('finish', () => answered.push(headers.host)))
  await app.listen({ host: '127.0.0.1', port: 0 })
  const connectTo = async (): Promise<Socket> => {
    const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
    await once(socket, 'connect')
    return socket.on('error', () => {})
  }
  return { connectTo, answered }
}

const MANY = 1000

for (const path of ['/api/shop/a', '/other', '/health/live']) {
  t.test(`pipelined requests take turns with those of other connections (${path})`, async (t) => {
    const { connectTo, answered } = await open(t)
    const many = (await connectTo()).resume()
    const one = (await connectTo()).resume()
    many.write(`GET ${path} HTTP/1.1\r\nHost: many\r\n\r\n`.repeat(MANY))
    one.write(`GET ${path} HTTP/1.1\r\nHost: one\r\n\r\n`)
    while (answered.length <= MANY) await new Promise(setImmediate)
    t.ok(answered.indexOf('one') < MANY / 2, `after ${answered.indexOf('one')} of ${MANY} others`)
    many.destroy()
    one.destroy()
  })
}

t.test('a connection is closed whose requests wait if too many wait on all connections', async (t) => {
  const { connectTo } = await open(t)
  const request = 'GET / HTTP/1.1\r\nHost: many\r\n\r\n'
  const answersOf = async (socket: Socket, count: number): Promise<number> => {
    const answers = readAnswers(socket)
    socket.write(request.repeat(count - 1) + request.replace('Host', 'Connection: close\r\nHost'))
    return (await answers).length
  }
  const sockets = await Promise.all(Array.from({ length: 20 }, connectTo))
  const few = await connectTo()
  const [ofFew, ...counts] = await Promise.all([
    answersOf(few, 10), ...sockets.map((socket) => answersOf(socket, MANY))
  ])
  t.equal(ofFew, 10, 'others are answered')
  const whole = counts.filter((count) => count === MANY).length
  t.ok(whole >= 9 && whole < 20, `${whole} are answered in whole`)
  t.equal(await answersOf(await connectTo(), MANY), MANY, 'and afterwards all are')
})

const halt = (milliseconds: number): void => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, milliseconds)
}

t.test('a request that has arrived in time is answered, however late it is read', async (t) => {
  const { connectTo } = await open(t, { headersTimeout: 500, requestTimeout: 1000 })
  const head = 'POST /api/shop/a HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: 2\r\n\r\n'
  const [whole, rest, half] = [await connectTo(), await connectTo(), await connectTo()]
  const answers = Promise.all([whole, rest, half].map(async (socket) => (await readAnswers(socket))[0]?.status))
  for (const socket of [rest, half]) socket.write(head.slice(0, 30))
  await new Promise(setImmediate)
  whole.write(`${head}{}`)
  rest.write(`${head.slice(30)}{}`)
  halt(2500) // the timers that check time limits come before what has arrived
  t.same(await answers, [401, 401, 408])
})
