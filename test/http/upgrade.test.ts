/** Requests that ask for another protocol, as some HTTP clients always do, and what arrives behind them on their connection. */
import { once } from 'node:events'
import { connect, type AddressInfo } from 'node:net'
import Fastify, { type FastifyInstance } from 'fastify'
import t from 'tap'
import { createRowQuery } from '../../src/app.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { VERBS } from '../../schemas/grant.ts'
import { type Answer, onEachEngine, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { listen, readAnswers, request, type Line } from '../support/wire.ts'

const UPGRADE = ['Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c']
/** The request that must not run: it arrives as the body of another one. */
const INNER = request({ without: ['Connection'], body: '{"verb":"insert","data":{"email":"inner@example.com","name":"Inner"}}' })
const outer = (line: Line = {}): Buffer => request({ without: ['Connection'], body: INNER, ...line })

/** What arrives in the same packet as the request with the upgrade, and what arrives after its answer has begun. */
const attacks: Array<[why: string, first: Line, together: Buffer, later: Buffer]> = [
  ['the head of the next request together with it', { with: UPGRADE }, outer().subarray(0, -INNER.length), INNER],
  ['the whole next request together with it', { with: UPGRADE }, outer(), INNER],
  ['nothing together with it', { with: UPGRADE }, Buffer.alloc(0), INNER],
  ['two such requests', { with: UPGRADE }, request({ without: ['Connection'], with: UPGRADE }), INNER],
  ['the upgrade in two headers', { with: ['Connection: keep-alive', 'Upgrade: websocket', 'Connection: upgrade'] }, outer().subarray(0, -INNER.length), INNER],
  ['the upgrade behind so many headers that Node leaves it out', { with: [...new Array<string>(2000).fill('a:'), ...UPGRADE] }, outer().subarray(0, -INNER.length), INNER],
  ['a request in chunks', { without: ['Connection', 'Content-Length'], with: [...UPGRADE, 'Transfer-Encoding: chunked'], body: '2\r\n{}\r\n0\r\n\r\n' }, outer().subarray(0, -INNER.length), INNER],
  ['a request without a body', { start: 'GET /api/shop/customers HTTP/1.1', without: ['Connection', 'Content-Length', 'Content-Type'], with: UPGRADE, body: '' }, outer().subarray(0, -INNER.length), INNER]
]

/** Sends the attack over a new connection, and returns the answers. */
async function attack (port: number, first: Buffer, together: Buffer, later: Buffer): Promise<Answer[]> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  const answers = readAnswers(socket)
  socket.write(Buffer.concat([first, together]))
  setImmediate(() => socket.write(later))
  socket.once('data', () => socket.write(later))
  return await answers
}

await onEachEngine(t, 'the body of a request behind one that asks for an upgrade is not run as a request', { schema: shop }, async (t, service) => {
  await listen(service)
  const { port } = service.server.app.server.address() as AddressInfo
  for (const [why, line, together, later] of attacks) {
    const answers = await attack(port, request({ without: ['Connection'], ...line }), together, later)
    t.match(answers, [{ headers: { connection: 'close' } }], why)
    t.equal(answers.length, 1, `${why}: nothing behind it is answered`)
    t.match(await service.sql("select count(*) as count from customers where email = 'inner@example.com'"), [{ count: 0 }], `${why}: and nothing is run`)
  }
})

const testShop = sharedOnEachEngine(t, { schema: shop, only: ['sqlite'] })

await testShop('a request with a body that asks for an upgrade is answered like any other', async (t, service) => {
  const wire = await listen(service)
  t.match((await wire.send(request({ without: ['Connection'], with: UPGRADE }))).map(({ text }) => text), ['{"success":true,"data":{"rows":[{"id":1}],"count":1}}'])
  t.match(await wire.send(request({ without: ['Connection'], with: ['Upgrade: h2c', 'Connection: close'] })), [{ status: 200 }], 'without the upgrade in Connection it is none')
})

await testShop('in the server of a host app, also behind a request for one of its own routes', async (t, service) => {
  const host: FastifyInstance = Fastify()
  host.get('/own', async () => ({ own: true }))
  await host.register(createRowQuery({ databases: { shop: { url: service.url } }, tokens: [{ name: 'all', sha256: hashToken(TOKEN), permissions: [...VERBS] }] }).plugin, { prefix: '/api' })
  await host.register(createRowQuery({ databases: { shop: { url: service.url } } }).plugin, { prefix: '/second' })
  t.teardown(() => host.close())
  await host.listen({ port: 0 })
  const { port } = host.server.address() as AddressInfo
  const [, , together, later] = attacks[0] as [string, Line, Buffer, Buffer]
  const own = Buffer.from(`GET /own HTTP/1.1\r\nHost: a\r\n${UPGRADE.join('\r\n')}\r\n\r\n`)
  for (const first of [own, request({ without: ['Connection'], with: UPGRADE })]) {
    const answers = await attack(port, first, together, later)
    t.match(answers.map(({ status, headers }) => [status, headers['connection']]), [[200, 'close']])
    t.match(await service.sql("select count(*) as count from customers where email = 'inner@example.com'"), [{ count: 0 }])
  }
})
