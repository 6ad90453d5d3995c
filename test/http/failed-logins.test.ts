// night: waits for real time limits
/** Addresses that send many invalid tokens are blocked temporarily. */
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import fastifyRateLimit from '@fastify/rate-limit'
import t from 'tap'
import { rowQuery } from '../../src/index.ts'
import { tokenFor } from '../support/documents.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Service, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { listen } from '../support/wire.ts'

interface From { address?: string, authorization?: string, forwarded?: string, path?: string }

/** Sends a request from an address, as reported by the socket or a proxy. */
async function ask ({ server: { app } }: Pick<Service, 'server'>, { address = '192.0.2.1', authorization, forwarded, path = '/api/shop/customers' }: From) {
  const response = await app.inject({
    method: 'POST',
    url: path,
    remoteAddress: address,
    headers: { 'content-type': 'application/json', ...(authorization !== undefined && { authorization }), ...(forwarded !== undefined && { 'x-forwarded-for': forwarded }) },
    payload: { verb: 'select', columns: ['id'], limit: 1 }
  })
  return { status: response.statusCode, headers: response.headers, text: response.body, json: response.json() }
}

const right = `Bearer ${TOKEN}`
const wrong = 'Bearer wrong'

async function fail (service: Pick<Service, 'server'>, times: number, from: From = {}): Promise<number[]> {
  const statuses: number[] = []
  for (let time = 0; time < times; time++) statuses.push((await ask(service, { authorization: wrong, ...from })).status)
  return [...new Set(statuses)]
}

const few = { schema: shop, only: ['sqlite' as const], options: { failedLogins: { max: 3 } } }

const testShop = sharedOnEachEngine(t, { schema: shop, only: ['sqlite'] })

await testShop('thirty invalid tokens in a minute block an address, even for valid tokens', async (t, service) => {
  t.same(await fail(service, 30), [401])
  for (const authorization of [wrong, right, 'Basic abc']) {
    const answer = await ask(service, { authorization })
    isRefusal(t, answer, { status: 429, code: 'RATE_LIMITED', why: authorization })
    t.match(answer.headers, { 'ratelimit-limit': '30', 'ratelimit-remaining': '0', 'ratelimit-reset': /^\d+$/, 'retry-after': /^([1-9]|[1-5]\d|60)$/ })
    t.notOk('www-authenticate' in answer.headers)
  }
  t.match(await ask(service, { address: '192.0.2.2', authorization: right }), { status: 200 }, 'another address is not blocked')
  t.match(await ask(service, {}), { status: 401 }, 'a request without a token gets 401')
  const warnings = service.log.map((line) => JSON.parse(line)).filter(({ level }) => level === 40)
  t.match(warnings, [{ address: '192.0.2.1', seconds: Number, msg: /^too many failed logins/ }], 'the block is logged once')
  t.notMatch(service.log.join(''), /wrong|test-token/)
})

await onEachEngine(t, 'only invalid tokens count', { ...few, tokens: [tokenFor('reader', ['insert'])] }, async (t, service) => {
  for (let time = 0; time < 5; time++) {
    t.match(await ask(service, { authorization: right }), { status: 200 })
    t.match(await ask(service, {}), { status: 401 }, 'no token')
    t.match(await ask(service, { authorization: 'Bearer reader' }), { status: 403 })
    t.match(await ask(service, { authorization: right, path: '/api/shop/nowhere' }), { status: 404 })
  }
  t.same(await fail(service, 3), [401])
  t.same(await fail(service, 1), [429])
})

await onEachEngine(t, 'invalid tokens and other schemes count on every path', few, async (t, service) => {
  t.same(await fail(service, 1, { path: '/api/nope' }), [401])
  t.same(await fail(service, 1, { authorization: 'Basic abc' }), [401])
  t.same(await fail(service, 1, { path: '/api/nope/nope' }), [401])
  t.same(await fail(service, 1), [429])
})

await onEachEngine(t, 'an address is unblocked at the end of the window', { ...few, options: { failedLogins: { max: 2, window: 300 } } }, async (t, service) => {
  t.same(await fail(service, 2), [401])
  t.match(await ask(service, { authorization: right }), { status: 429, headers: { 'retry-after': '1' } })
  await sleep(320)
  t.match(await ask(service, { authorization: right }), { status: 200 })
  t.same(await fail(service, 2), [401])
  t.same(await fail(service, 1), [429], 'and the count starts again')
})

const networks: Array<[one: string, other: string, same: boolean]> = [
  ['2001:db8:1:2::1', '2001:db8:1:2:ffff:ffff:ffff:ffff', true],
  ['2001:db8:1:2::1', '2001:db8:1:3::1', false],
  ['192.0.2.1', '::ffff:192.0.2.1', true],
  ['192.0.2.1', '192.0.2.9', false],
  ['unix', '/run/row-query.sock', true],
  ['64:ff9b::192.0.2.1', '64:ff9b::192.0.2.9', false],
  ['64:ff9b::192.0.2.1', '192.0.2.1', true],
  ['64:ff9b:1::192.0.2.1', '64:ff9b:1::192.0.2.9', false],
  ['::ffff:0:192.0.2.1', '192.0.2.1', true],
  ['2002:c000:201:1::1', '2002:c000:0201:ffff::2', true],
  ['2002:c000:201::1', '2002:c000:209::1', false],
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', '192.0.2.45', true],
  ['fe80::1%eth0', 'fe80::2', true],
  ['::1', '::2', true],
  ['::1', '::ffff:192.0.2.1', false]
]

for (const [one, other, same] of networks) {
  await onEachEngine(t, `${one} and ${other} are counted ${same ? 'as one address' : 'as two addresses'}`, few, async (t, service) => {
    t.same(await fail(service, 3, { address: one }), [401])
    t.equal((await ask(service, { address: other, authorization: right })).status, same ? 429 : 200)
  })
}

await onEachEngine(t, 'behind a trusted proxy, the forwarded addresses count', { ...few, server: { trustProxy: ['10.0.0.0/8'] } }, async (t, service) => {
  t.same(await fail(service, 3, { address: '10.0.0.1', forwarded: '203.0.113.1, 192.0.2.7' }), [401])
  t.match(await ask(service, { address: '10.0.0.1', authorization: right, forwarded: '198.51.100.1, 192.0.2.7' }), { status: 429 }, 'addresses that the client added to the header are ignored')
  t.match(await ask(service, { address: '10.0.0.1', authorization: right, forwarded: '192.0.2.8' }), { status: 200 })
  t.match(await ask(service, { address: '192.0.2.9', authorization: right, forwarded: '192.0.2.7' }), { status: 200 }, 'the header of an untrusted host is ignored')
})

await onEachEngine(t, 'forwarded addresses with ports were once counted as one address', { ...few, server: { trustProxy: ['10.0.0.0/8', 'fd00::/8'] } }, async (t, service) => {
  const through = (forwarded: string): From => ({ address: '10.0.0.1', forwarded })
  for (const port of [4711, 4712, 4713]) t.same(await fail(service, 1, through(`203.0.113.15:${port}`)), [401])
  t.same(await fail(service, 1, through('203.0.113.15:4714')), [429])
  t.same(await fail(service, 1, through('203.0.113.15')), [429], 'the same without a port')
  t.same(await fail(service, 3, through('203.0.113.16:4711')), [401], 'another one')
  t.same(await fail(service, 3, through('[2001:db8::1]:443')), [401])
  t.same(await fail(service, 1, through('[2001:db8::2]')), [429])
  t.same(await fail(service, 3, through('[2001:db8:1::1]:443')), [401])
  t.same(await fail(service, 3, through('198.51.100.1:99, 10.0.0.2:4711,[fd00::1]:80')), [401], 'ports of trusted proxies')
  t.same(await fail(service, 1, through('198.51.100.1')), [429])
  t.same(await fail(service, 3, through('198.51.100.2:99, 10.0.0.2:4711')), [401])
})

await onEachEngine(t, 'the limit of public documents counts addresses in the same way', { ...few, options: { openapi: 'public', rateLimit: { max: 2 } }, server: { trustProxy: ['10.0.0.1'] } }, async (t, { server: { app } }) => {
  const statusFor = async (forwarded: string): Promise<number> => (await app.inject({ url: '/api/shop/openapi.json', remoteAddress: '10.0.0.1', headers: { 'x-forwarded-for': forwarded } })).statusCode
  const statuses = []
  for (const forwarded of ['203.0.113.15:1', '203.0.113.15:2', '64:ff9b::203.0.113.15', '203.0.113.16:1', '2001:db8::1', '2001:db8::2', '2001:db8::3']) statuses.push(await statusFor(forwarded))
  t.same(statuses, [200, 200, 429, 200, 200, 200, 429])
})

await onEachEngine(t, 'an app that trusts a proxy with ports counts its addresses', few, async (t, { url }) => {
  const app = Fastify({ trustProxy: '10.0.0.1' })
  t.teardown(() => app.close())
  await app.register(rowQuery, { prefix: '/api', databases: { shop: { url } }, tokens: [tokenFor(TOKEN, ['select'])], failedLogins: { max: 2 } })
  const service = { server: { app } } as unknown as Service
  t.same(await fail(service, 2, { address: '10.0.0.1', forwarded: '203.0.113.15:4711' }), [401])
  t.same(await fail(service, 1, { address: '10.0.0.1', forwarded: '203.0.113.15:4712' }), [429])
  t.same(await fail(service, 1, { address: '10.0.0.1', forwarded: '203.0.113.16:4711' }), [401])
})

await onEachEngine(t, 'without a trusted proxy, forwarded addresses are ignored', few, async (t, service) => {
  for (const forwarded of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) t.same(await fail(service, 1, { forwarded }), [401])
  t.same(await fail(service, 1, { forwarded: '203.0.113.4' }), [429])
})

await onEachEngine(t, 'failedLogins.max 0 disables the block', { ...few, options: { failedLogins: { max: 0 } } }, async (t, service) => {
  t.same(await fail(service, 50), [401])
})

await onEachEngine(t, 'only the latest 5,000 addresses are kept', { ...few, options: { failedLogins: { max: 1 } } }, async (t, service) => {
  const address = (number: number): string => `10.${number >> 16}.${(number >> 8) & 255}.${number & 255}`
  for (let number = 0; number <= 5000; number++) await ask(service, { address: address(number), authorization: wrong, path: '/api/x' })
  t.match(await ask(service, { address: address(0), authorization: right }), { status: 200 })
  t.match(await ask(service, { address: address(1), authorization: right }), { status: 429 })
  t.match(await ask(service, { address: address(5000), authorization: right }), { status: 429 })
})

await onEachEngine(t, 'the limits of the host app and of the plugin both apply', few, async (t, { url }) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(fastifyRateLimit, { max: 1000, keyGenerator: () => 'all', allowList: () => true })
  await app.register(rowQuery, { prefix: '/api', databases: { shop: { url } }, tokens: [tokenFor(TOKEN, ['select'])], failedLogins: { max: 2 } })
  const service = { server: { app } } as unknown as Service
  t.same(await fail(service, 2), [401])
  t.same(await fail(service, 1), [429])
  t.match(await ask(service, { address: '192.0.2.2', authorization: right }), { status: 200 })
})

await testShop('400 pipelined requests with invalid tokens cannot exceed the limit of look-ups', async (t, service) => {
  const { send } = await listen(service)
  const requests = Array.from({ length: 400 }, (_, index) => `POST /api/shop/customers HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer guess-${index}\r\nContent-Type: application/json\r\nContent-Length: 17\r\n${index === 399 ? 'Connection: close\r\n' : ''}\r\n{"verb":"select"}`)
  const statuses = (await send(requests.join(''))).map(({ status }) => status)
  t.same([statuses.filter((status) => status === 401).length, statuses.filter((status) => status === 429).length], [30, 370])
})
