/** Clients of one server take turns: what one of them has sent keeps no other one waiting. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { HTTP_DEFAULTS, type HttpSettings } from '../../src/config/settings.ts'
import { createServer } from '../../src/server/server.ts'
import { hostOf } from '../support/host.ts'
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
  return { ...await listen(app), answered }
}

async function listen (app: FastifyInstance): Promise<{ connectTo (): Promise<Socket> }> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    connectTo: async () => {
      const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
      await once(socket, 'connect')
      return socket.on('error', () => {})
    }
  }
}

/** Sends requests at once, and returns how many are answered. */
async function answersOf (socket: Socket, count: number): Promise<number> {
  const request = 'GET /api/shop/a HTTP/1.1\r\nHost: many\r\n\r\n'
  const answers = readAnswers(socket)
  socket.write(request.repeat(count - 1) + request.replace('Host', 'Connection: close\r\nHost'))
  return (await answers).length
}

/** Waits until the server has read so many requests; gives its end of the connection. */
function untilRead ({ server }: FastifyInstance, count: number): Promise<Socket> {
  return new Promise((resolve) => {
    let read = 0
    server.on('request', function add ({ socket }: IncomingMessage) {
      if (++read < count) return
      server.off('request', add)
      resolve(socket)
    })
  })
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
  const sockets = await Promise.all(Array.from({ length: 40 }, connectTo))
  const few = await connectTo()
  const [ofFew, ...counts] = await Promise.all([
    answersOf(few, 10), ...sockets.map((socket) => answersOf(socket, MANY))
  ])
  t.equal(ofFew, 10, 'others are answered')
  const whole = counts.filter((count) => count === MANY).length
  t.ok(whole >= 19 && whole < 40, `${whole} are answered in whole`)
  t.equal(await answersOf(await connectTo(), MANY), MANY, 'and afterwards all are')
})

t.test('requests of a connection that ends while a hook of the host app waits are not counted', async (t) => {
  const host = Fastify()
  let hold: Promise<unknown> | undefined
  host.addHook('onRequest', async () => { await hold })
  await hostOf(t, 'sqlite::memory:', {}, host)
  const { connectTo } = await listen(host)
  for (let round = 0; round < 30; round++) {
    const held = Promise.withResolvers<void>()
    hold = held.promise
    const socket = await connectTo()
    const read = untilRead(host, MANY)
    socket.write('GET /api/shop/a HTTP/1.1\r\nHost: many\r\n\r\n'.repeat(MANY))
    const end = await read
    socket.destroy()
    await once(end, 'close')
    held.resolve()
  }
  hold = undefined
  await new Promise(setImmediate)
  t.equal(await answersOf(await connectTo(), 100), 100)
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
