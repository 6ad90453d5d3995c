/**
 * Tokens: which are accepted, what each may do, those of a file that changes, and addresses that send many invalid
 * ones.
 */
import { mkdirSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import fastifyRateLimit from '@fastify/rate-limit'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { VERBS } from '../../schemas/grants.ts'
import type { TokenOptions } from '../../schemas/options.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { rowQuery } from '../../src/index.ts'
import { stoppedDate } from '../support/clock.ts'
import { ask, type From, right, wrong } from '../support/addresses.ts'
import { tokenFor } from '../support/documents.ts'
import { isRefusal } from '../support/refusals.ts'
import { anyEngine } from '../support/rotation.ts'
import { onEachEngine, type Service, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'
import { listen } from '../support/wire.ts'

const token = (name: string, rest: Omit<TokenOptions, 'name' | 'sha256'>): TokenOptions => ({
  name, sha256: hashToken(name), ...rest
})
const everything = [...VERBS]

const tokens: TokenOptions[] = [
  ...VERBS.map((verb) => token(`only-${verb}`, { permissions: [verb] })),
  token('select-and-insert', { permissions: ['select', 'insert'] }),
  token('shop', { permissions: everything, databases: { shop: '*' } }),
  token('two-tables', { permissions: ['select'], databases: { shop: ['customers', 'not_there'] } }),
  token('nowhere', { permissions: everything, databases: {} }),
  token('expired', { permissions: everything, expires: '2020-01-01' }),
  token('not-yet-expired', { permissions: everything, expires: '2999-12-31T23:59:59+02:00' })
]

const bodies = {
  select: { verb: 'select' },
  insert: { verb: 'insert', data: {} },
  update: { verb: 'update', data: { note: 'x' }, filters: { id: 1 } },
  delete: { verb: 'delete', filters: { id: 1 } }
}

const testShop = sharedOnEachEngine(t, { schema: shop, tokens, only: await anyEngine(t) })

await testShop('a token may use only the verbs of its permissions', async (t, { post, statements }) => {
  const allowed: Array<[token: string, verbs: readonly string[]]> = [
    ...VERBS.map((verb): [string, string[]] => [`only-${verb}`, [verb]]),
    ['select-and-insert', ['select', 'insert']],
    ['shop', everything],
    ['not-yet-expired', everything]
  ]
  for (const [token, verbs] of allowed) {
    for (const verb of VERBS) {
      statements()
      const { status, json } = await post('settings', bodies[verb], { token })
      t.equal(status, verbs.includes(verb) ? 200 : 403, `${token}: ${verb}`)
      if (status === 200) continue
      t.match(json, {
        success: false,
        data: {},
        error: { code: 'PERMISSION_DENIED', message: `The token does not have the permission ${verb}`, details: [] }
      })
      t.same(statements(), [])
    }
  }
})

await testShop('a database or table without permissions looks like one ' +
  'that does not exist', async (t, { post, statements }) => {
  statements()
  const answerTo = async (table: string, body: unknown, options: { token: string, database?: string }) => {
    const { status, text, headers } = await post(table, body, { ...options, headers: { 'x-request-id': 'same' } })
    return {
      status,
      text: text.replaceAll(table, '?').replaceAll(options.database ?? 'shop', '?'),
      headers: { ...headers, date: '' }
    }
  }
  for (const body of [{ verb: 'select' }, bodies.delete, { verb: 'no verb' }, 'no JSON', '']) {
    const what = JSON.stringify(body)
    const hidden = await answerTo('orders', body, { token: 'two-tables' })
    t.match(hidden, { status: 404, text: /"TABLE_NOT_FOUND"/ }, what)
    t.same(await answerTo('zzzzzz', body, { token: 'two-tables' }), hidden, `table: ${what}`)

    if (typeof body === 'object' && body.verb === 'select') {
      t.same(await answerTo('zzzzzz', body, { token: 'shop' }), hidden, 'a table that nobody has')
    }

    const elsewhere = await answerTo('customers', body, { token: 'nowhere' })
    t.match(elsewhere, { status: 404, text: /"DATABASE_NOT_FOUND"/ }, what)
    t.same(await answerTo('customers', body, { token: 'nowhere', database: 'zzzz' }), elsewhere, `database: ${what}`)
    t.same(
      await answerTo('customers', body, { token: 'shop', database: 'zzzz' }), elsewhere,
      `database that nobody has: ${what}`
    )
  }
  t.same(statements(), [])
})

await testShop('an unknown name is answered with a similar one that the token sees', async (t, { post, operate }) => {
  const messageOf = async (table: string, body: object, options: { token: string, database?: string }) =>
    (await post(table, body, options)).json.error.message
  const select = { verb: 'select' }
  t.equal(
    await messageOf('ordres', select, { token: 'shop' }),
    'Table "ordres" does not exist in database "shop"; did you mean "orders"?'
  )
  t.equal(
    await messageOf('ordres', select, { token: 'two-tables' }), 'Table "ordres" does not exist in database "shop"',
    'orders is hidden'
  )
  t.equal(
    await messageOf('orders', select, { token: 'shop', database: 'shpo' }),
    'Database "shpo" does not exist; did you mean "shop"?'
  )
  t.equal(await messageOf('orders', select, { token: 'nowhere', database: 'shpo' }), 'Database "shpo" does not exist')
  const { json } = await operate([{ table: 'ordres', verb: 'select' }], { token: 'shop' })
  t.match(json.error, { code: 'TABLE_NOT_FOUND', details: [{ path: '/operations/0/table', message: /mean "orders"/ }] })
  const member = await post('customers', { verb: 'select', include: { all: { table: 'ordres' } } }, { token: 'shop' })
  t.match(member.json.error, { code: 'TABLE_NOT_FOUND', message: /did you mean "orders"/ })
})

await testShop('the scheme of the header may be in any case', async (t, { post }) => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    t.equal((await post('customers', { verb: 'select' }, {
      token: null, headers: { authorization: `${scheme} shop` }
    })).status, 200, scheme)
  }
})

await onEachEngine(t, 'a service without tokens ' +
  'refuses every request', { schema: shop, options: { tokens: [] } }, async (t, { post }) => {
  for (const token of ['', 'undefined', 'null', 'any']) {
    t.equal((await post('customers', { verb: 'select' }, { token })).status, 401, token)
  }
})

async function fail (service: Pick<Service, 'server'>, times: number, from: From = {}): Promise<number[]> {
  const statuses: number[] = []
  for (let time = 0; time < times; time++) statuses.push((await ask(service, { authorization: wrong, ...from })).status)
  return [...new Set(statuses)]
}

const few = {
  schema: shop,
  only: ['sqlite' as const],
  tokens: [tokenFor('reader', ['insert'])],
  options: { failedLogins: { max: 3 } }
}

/** Stops the time of the day. `pass` lets the minute end in which failed logins are counted. */
function stopDate (t: Test): { pass (milliseconds?: number): void } {
  const clock = stoppedDate(t)
  return { pass: (milliseconds = 61_000) => clock.pass(milliseconds) }
}

const testLogins = sharedOnEachEngine(t, { schema: shop, only: ['sqlite'] })

await testLogins('thirty invalid tokens in a minute block an address, even for valid tokens', async (t, service) => {
  t.same(await fail(service, 30), [401])
  for (const authorization of [wrong, right, 'Basic abc']) {
    const answer = await ask(service, { authorization })
    isRefusal(t, answer, { status: 429, code: 'RATE_LIMITED', why: authorization })
    t.match(answer.headers, {
      'ratelimit-limit': '30',
      'ratelimit-remaining': '0',
      'ratelimit-reset': /^\d+$/,
      'retry-after': /^([1-9]|[1-5]\d|60)$/
    })
    t.notOk('www-authenticate' in answer.headers)
  }
  t.match(
    await ask(service, { address: '192.0.2.2', authorization: right }), { status: 200 },
    'another address is not blocked'
  )
  t.match(await ask(service, {}), { status: 401 }, 'a request without a token gets 401')
  const warnings = service.log.map((line) => JSON.parse(line)).filter(({ level }) => level === 40)
  t.match(
    warnings, [{ address: '192.0.2.1', seconds: Number, msg: /^too many failed logins/ }], 'the block is logged once'
  )
  t.notMatch(service.log.join(''), /wrong|test-token/)
})

const testFew = sharedOnEachEngine(t, few)

await testFew('only invalid tokens count', async (t, service) => {
  for (let time = 0; time < 5; time++) {
    t.match(await ask(service, { authorization: right }), { status: 200 })
    t.match(await ask(service, {}), { status: 401 }, 'no token')
    t.match(await ask(service, { authorization: 'Bearer reader' }), { status: 403 })
    t.match(await ask(service, { authorization: right, path: '/api/shop/nowhere' }), { status: 404 })
  }
  t.same(await fail(service, 3), [401])
  t.same(await fail(service, 1), [429])
})

await testFew('invalid tokens and other schemes count on every path', async (t, service) => {
  const address = '192.0.2.21'
  t.same(await fail(service, 1, { address, path: '/api/nope' }), [401])
  t.same(await fail(service, 1, { address, authorization: 'Basic abc' }), [401])
  t.same(await fail(service, 1, { address, path: '/api/nope/nope' }), [401])
  t.same(await fail(service, 1, { address }), [429])
})

await onEachEngine(t, 'an address is unblocked at the ' +
  'end of the window', { ...few, options: { failedLogins: { max: 2, window: 300 } } }, async (t, service) => {
  const { pass } = stopDate(t)
  t.same(await fail(service, 2), [401])
  t.match(await ask(service, { authorization: right }), { status: 429, headers: { 'retry-after': '1' } })
  pass(290)
  t.match(await ask(service, { authorization: right }), { status: 429 })
  pass(20)
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

await testFew('a network of IPv6, and an IPv4 address in any of its forms, ' +
  'counts as one address', async (t, service) => {
  const { pass } = stopDate(t)
  for (const [one, other, same] of networks) {
    pass()
    t.same(await fail(service, 3, { address: one }), [401])
    t.equal(
      (await ask(service, { address: other, authorization: right })).status, same ? 429 : 200, `${one} and ${other}`
    )
  }
})

const testBehindProxy = sharedOnEachEngine(t, { ...few, server: { trustProxy: ['10.0.0.0/8', 'fd00::/8'] } })

await testBehindProxy('behind a trusted proxy, the forwarded addresses count', async (t, service) => {
  t.same(await fail(service, 3, { address: '10.0.0.1', forwarded: '203.0.113.1, 192.0.2.7' }), [401])
  t.match(
    await ask(service, { address: '10.0.0.1', authorization: right, forwarded: '198.51.100.1, 192.0.2.7' }),
    { status: 429 }, 'addresses that the client added to the header are ignored'
  )
  t.match(await ask(service, { address: '10.0.0.1', authorization: right, forwarded: '192.0.2.8' }), { status: 200 })
  t.match(
    await ask(service, { address: '192.0.2.9', authorization: right, forwarded: '192.0.2.7' }), { status: 200 },
    'the header of an untrusted host is ignored'
  )
})

await testBehindProxy('the port of a forwarded address does not count', async (t, service) => {
  const through = (forwarded: string): From => ({ address: '10.0.0.1', forwarded })
  for (const port of [4711, 4712, 4713]) t.same(await fail(service, 1, through(`203.0.113.15:${port}`)), [401])
  t.same(await fail(service, 1, through('203.0.113.15:4714')), [429])
  t.same(await fail(service, 1, through('203.0.113.15')), [429], 'the same without a port')
  t.same(await fail(service, 3, through('203.0.113.16:4711')), [401], 'another one')
  t.same(await fail(service, 3, through('[2001:db8::1]:443')), [401])
  t.same(await fail(service, 1, through('[2001:db8::2]')), [429])
  t.same(await fail(service, 3, through('[2001:db8:1::1]:443')), [401])
  t.same(
    await fail(service, 3, through('198.51.100.1:99, 10.0.0.2:4711,[fd00::1]:80')), [401], 'ports of trusted proxies'
  )
  t.same(await fail(service, 1, through('198.51.100.1')), [429])
  t.same(await fail(service, 3, through('198.51.100.2:99, 10.0.0.2:4711')), [401])
})

await onEachEngine(t, 'the limit of public documents counts addresses in the same way', {
  ...few, options: { openapi: 'public', rateLimit: { max: 2 } }, server: { trustProxy: ['10.0.0.1'] }
}, async (t, { server: { app } }) => {
  const statusFor = async (forwarded: string): Promise<number> => (await app.inject({
    url: '/api/shop/openapi.json', remoteAddress: '10.0.0.1', headers: { 'x-forwarded-for': forwarded }
  })).statusCode
  const statuses = []
  for (const forwarded of [
    '203.0.113.15:1', '203.0.113.15:2', '64:ff9b::203.0.113.15', '203.0.113.16:1', '2001:db8::1', '2001:db8::2',
    '2001:db8::3'
  ]) statuses.push(await statusFor(forwarded))
  t.same(statuses, [200, 200, 429, 200, 200, 200, 429])
})

await testFew('an app that trusts a proxy with ports counts its addresses', async (t, { url }) => {
  const app = Fastify({ trustProxy: '10.0.0.1' })
  t.teardown(() => app.close())
  await app.register(rowQuery, {
    prefix: '/api', databases: { shop: { url } }, tokens: [tokenFor(TOKEN, ['select'])], failedLogins: { max: 2 }
  })
  const service = { server: { app } } as unknown as Service
  t.same(await fail(service, 2, { address: '10.0.0.1', forwarded: '203.0.113.15:4711' }), [401])
  t.same(await fail(service, 1, { address: '10.0.0.1', forwarded: '203.0.113.15:4712' }), [429])
  t.same(await fail(service, 1, { address: '10.0.0.1', forwarded: '203.0.113.16:4711' }), [401])
})

await testFew('without a trusted proxy, forwarded addresses are ignored', async (t, service) => {
  const address = '192.0.2.22'
  for (const forwarded of ['203.0.113.1', '203.0.113.2', '203.0.113.3']) {
    t.same(await fail(service, 1, { address, forwarded }), [401])
  }
  t.same(await fail(service, 1, { address, forwarded: '203.0.113.4' }), [429])
})

await onEachEngine(t, 'failedLogins.max 0 ' +
  'disables the block', { ...few, options: { failedLogins: { max: 0 } } }, async (t, service) => {
  t.same(await fail(service, 50), [401])
})

await testFew('the limits of the host app and of the plugin both apply', async (t, { url }) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(fastifyRateLimit, { max: 1000, keyGenerator: () => 'all', allowList: () => true })
  await app.register(rowQuery, {
    prefix: '/api', databases: { shop: { url } }, tokens: [tokenFor(TOKEN, ['select'])], failedLogins: { max: 2 }
  })
  const service = { server: { app } } as unknown as Service
  t.same(await fail(service, 2), [401])
  t.same(await fail(service, 1), [429])
  t.match(await ask(service, { address: '192.0.2.2', authorization: right }), { status: 200 })
})

await testLogins('400 pipelined requests with invalid tokens cannot exceed the ' +
  'limit of look-ups', async (t, service) => {
  const { send } = await listen(service)
  const requests = Array.from({ length: 400 }, (_, index) =>
    ['POST /api/shop/customers HTTP/1.1', 'Host: a', `Authorization: Bearer guess-${index}`,
      'Content-Type: application/json', 'Content-Length: 17', ...index === 399 ? ['Connection: close'] : [], '',
      '{"verb":"select"}'].join('\r\n'))
  const statuses = (await send(requests.join(''))).map(({ status }) => status)
  t.same([
    statuses.filter((status) => status === 401).length, statuses.filter((status) => status === 429).length
  ], [30, 370])
})

const [firstEntry, secondEntry] = ['first', 'second'].map(
  (name) => tokenFor(name, ['select'])
) as [TokenOptions, TokenOptions]
const folder = t.testdir()
const path = join(folder, 'tokens.json')

function replace (content: unknown): void {
  writeFileSync(`${path}.new`, typeof content === 'string' ? content : JSON.stringify(content))
  renameSync(`${path}.new`, path)
}

/** The statuses of requests with the tokens of the file and the token of the configuration. */
async function statusesOf ({ post }: Service): Promise<Record<string, number>> {
  const tokens = { first: 'first', second: 'second', fixed: TOKEN }
  return Object.fromEntries(await Promise.all(Object.entries(tokens).map(
    async ([name, token]) => [name, (await post('customers', { verb: 'select' }, { token })).status] as const
  )))
}

const comes = async (t: Test, service: Service, what: string, expected: Record<string, number>): Promise<void> => {
  await service.server.rows.refresh()
  t.same(await statusesOf(service), expected, what)
}

const errors = ({ log }: Service): any[] => log.map((line) => JSON.parse(line)).filter(({ level }) => level === 50)

replace([firstEntry])

/** Without the block for invalid tokens, because the tests retry tokens that are not in the file yet. */
const fromFile = { tokensFile: path, failedLogins: { max: 0 } }

const testFile = sharedOnEachEngine(t, { schema: shop, only: ['sqlite'], options: fromFile })

await testFile('a token that is removed from the file stops working, and one ' +
  'that is added works', async (t, service) => {
  t.same(await statusesOf(service), { first: 200, second: 401, fixed: 200 })
  replace([secondEntry])
  await until('the file is read by itself', async () => (await statusesOf(service))['second'] === 200)
  await comes(t, service, 'the file is another one', { first: 401, second: 200, fixed: 200 })
  writeFileSync(path, JSON.stringify([firstEntry, secondEntry]))
  await comes(t, service, 'the file is written into', { first: 200, second: 200, fixed: 200 })
  replace([{ ...secondEntry, expires: '2020-01-01' }])
  await comes(t, service, 'what is left has expired', { first: 401, second: 401, fixed: 200 })
  replace([])
  await comes(t, service, 'none is left', { first: 401, second: 401, fixed: 200 })
  t.same(errors(service), [])
})

await testFile('if the file is invalid, the previous tokens stay in use and the log ' +
  'gives the reason once', async (t, service) => {
  replace([firstEntry])
  await comes(t, service, 'the file is read', { first: 200, second: 401, fixed: 200 })
  const faults: Array<[change: () => void, mistake: string | RegExp]> = [
    [() => truncateSync(path), /^tokensFile: the file is empty$/],
    [() => writeFileSync(path, '[{"name": "caf\xe9"}]', 'latin1'), 'tokensFile: the file is not UTF-8 text'],
    [() => replace(`[{ "name": "second", "sha256": "${secondEntry.sha256}"`), /^tokensFile: .* is not valid JSON/],
    [
      () => replace([{ ...secondEntry, permissions: ['everything'] }]),
      /^tokensFile\.0\.permissions\.0: must be "select" or/
    ],
    [() => rmSync(path), 'tokensFile: cannot be read']
  ]
  for (const [index, [change, mistake]] of faults.entries()) {
    change()
    for (let time = 0; time < 2; time++) await service.server.rows.refresh()
    t.equal(errors(service).length, index + 1)
    t.match(errors(service)[index], {
      msg: 'the token file cannot be used; the previous tokens stay in use', errors: [mistake]
    })
    t.same(await statusesOf(service), { first: 200, second: 401, fixed: 200 })
  }
  replace([secondEntry])
  await comes(t, service, 'the file is in order again', { first: 401, second: 200, fixed: 200 })
  t.equal(errors(service).length, faults.length, 'each fault is logged once, however often the file is read')
  t.notMatch(service.log.join(''), new RegExp(`${firstEntry.sha256}|${secondEntry.sha256}`))
})

await testFile('the file is read again when its symbolic link points to another file', async (t, service) => {
  // like a secret in Kubernetes: tokens.json -> ..data/tokens.json, ..data -> a folder for each version
  for (const [name, entry] of [['one', firstEntry], ['two', secondEntry]] as const) {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'tokens.json'), JSON.stringify([entry]))
  }
  symlinkSync('one', join(folder, '..data'))
  rmSync(path)
  symlinkSync('..data/tokens.json', path)
  await comes(t, service, 'the first version', { first: 200, second: 401, fixed: 200 })
  symlinkSync('two', join(folder, '..data_tmp'))
  renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  await comes(t, service, 'the second version', { first: 401, second: 200, fixed: 200 })
  rmSync(path)
  replace([firstEntry])
})

await onEachEngine(t, 'the tokens of the configuration are replaced, and ' +
  'those of the file stay', { schema: shop, only: ['sqlite'], options: fromFile }, async (t, service) => {
  const { rows } = service.server
  rows.replaceGrants({ tokens: [secondEntry] })
  t.same(await statusesOf(service), { first: 200, second: 200, fixed: 401 })
  t.throws(
    () => rows.replaceGrants({ tokens: [firstEntry] }),
    { errors: [/is already in "tokens"/, /is already in "tokens"/] }, 'as at the start'
  )
  t.same(await statusesOf(service), { first: 200, second: 200, fixed: 401 })
  replace([secondEntry])
  await comes(t, service, 'the file repeats a token of the new ones, and is refused', {
    first: 200, second: 200, fixed: 401
  })
  t.match(errors(service).at(-1), { errors: [/is already in "tokens"/, /is already in "tokens"/] })
  rows.replaceGrants({ tokens: [] })
  await comes(t, service, 'it is read again', { first: 401, second: 200, fixed: 401 })
  replace([firstEntry])
})

t.test('the file is not read after the service was closed', async (t) => {
  let service: Service | undefined
  await onEachEngine(
    t as Test, 'a service', { schema: shop, only: ['sqlite'], options: fromFile },
    async (_t, running) => { service = running }
  )
  const { log, server } = service as Service
  log.length = 0
  replace([secondEntry])
  await server.rows.refresh().catch(() => {}) // its database is closed
  t.same(log.filter((line) => line.includes('token file read')), [])
})
