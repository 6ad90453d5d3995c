/**
 * The client: how it sends requests and repeats them, what it makes of answers, and JSON with integers of any size. The
 * service behind it is a function, or a server that misbehaves.
 */
import { getEventListeners } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { inspect, isDeepStrictEqual } from 'node:util'
import { build } from 'esbuild'
import fc from 'fast-check'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type ClientOptions, createClient, RowQueryError } from '../../src/client/index.ts'
import { parseJson, randomId, writeJson } from '../../src/client/send.ts'
import { ROOT } from '../support/markdown.ts'
import '../support/seed.ts'

/** The random part of pauses: a tenth, so that tests take less time, unless a test changes it. */
let random = 0.1
t.intercept(Math, 'random', { value: () => random })

const TOKEN = 'secret-token'
const rows = { rows: [{ id: 1 }], count: 1 }

const answer = (data: object, headers: Record<string, string> = {}) =>
  () => new Response(JSON.stringify({ success: true, data }), { headers })
const refusal = (status: number, code: string, headers: Record<string, string> = {}) => () =>
  new Response(JSON.stringify({
    success: false,
    data: {},
    error: {
      code, message: `It is ${code}`, details: [{ path: '/filters/id', message: 'no' }]
    }
  }), { status, headers: { 'x-request-id': 'r1', ...headers } })
const lost = () => {
  throw new TypeError('fetch failed', { cause: Object.assign(new Error(), { code: 'ECONNRESET' }) })
}

/** A client whose requests get these answers, the last one again and again. */
function answering (answers: Array<() => Response | Promise<Response>>, options: Partial<ClientOptions> = {}) {
  const sent: Array<{ url: string, init: RequestInit, headers: Record<string, string> }> = []
  const { numbers, ...rest } = options
  const client = createClient({
    url: 'https://rows.example.com/api/',
    token: TOKEN,
    fetch: async (url, init) => {
      sent.push({ url, init, headers: Object.fromEntries(init.headers as Headers) })
      return await (answers[Math.min(sent.length, answers.length) - 1] as () => Response)()
    },
    ...rest
  })
  return { client, db: client.database('shop'), sent }
}

/** The error that a promise rejects with. */
async function errorOf (promise: Promise<unknown>): Promise<RowQueryError> {
  return await promise.then(() => { throw new Error('resolved') }, (error: RowQueryError) => error)
}

/** The time limit of a request, unless a test sets another. */
const LIMIT = 60_000

/**
 * Has pauses end at once. `pauses`: their lengths in milliseconds; `open`: the timers that have neither ended nor been
 * cleared.
 */
function watchTimers (t: Test, limit = LIMIT) {
  const { setTimeout: start, clearTimeout: clear } = globalThis
  const pauses: number[] = []
  const open = new Set<unknown>()
  const startWatched = (run: () => void, time: number): unknown => {
    const isPause = time !== limit
    if (isPause) pauses.push(time)
    const timer = start(() => {
      open.delete(timer)
      run()
    }, isPause ? 0 : time)
    open.add(timer)
    return timer
  }
  t.intercept(globalThis, 'setTimeout', { value: startWatched as typeof start })
  t.intercept(globalThis, 'clearTimeout', { value: (timer: NodeJS.Timeout) => { open.delete(timer); clear(timer) } })
  return { pauses, open }
}

async function listen (t: Test, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  t.teardown(() => { server.closeAllConnections(); server.close() })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

t.test('a request has its verb, path and headers', async (t) => {
  const { client, sent } = answering([answer(rows)], { headers: { 'X-Tenant': 'a', 'Content-Type': 'text/plain' } })
  await client.database('a/b').select('it\'s "<b>" ?#é', { filters: { id: 2n ** 63n } }, {
    consistency: 'primary', headers: { traceparent: '00' }
  })
  // as untyped input may be
  await client.database('a').select('b', { verb: 'delete' } as object)
  t.match(sent[0], {
    url: 'https://rows.example.com/api/a%2Fb/it\'s%20%22%3Cb%3E%22%20%3F%23%C3%A9',
    init: { method: 'POST', redirect: 'manual', body: '{"filters":{"id":9223372036854775808},"verb":"select"}' }
  })
  t.strictSame(sent[0]?.headers, {
    'x-tenant': 'a',
    traceparent: '00',
    'content-type': 'application/json',
    authorization: `Bearer ${TOKEN}`,
    'row-query-consistency': 'primary'
  })
  t.equal(sent[1]?.init.body, '{"verb":"select"}', 'the verb is that of the method')
})

t.test('a name that is another path is refused before anything is sent', async (t) => {
  const { client, sent } = answering([answer(rows)])
  for (const [database, table] of [
    ['..', 'x'], ['shop', '..'], ['shop', '.'], ['shop', ''], ['shop', '\ud800']
  ] as const) {
    t.match(await errorOf(client.database(database).select(table)), { code: 'INVALID_NAME', status: 0 })
  }
  t.equal(sent.length, 0)
})

t.test('the token may be a function, which is called for each attempt', async (t) => {
  let count = 0
  const { db, sent } = answering([refusal(503, 'OVERLOADED'), answer(rows)], { token: async () => `token${++count}` })
  await db.select('orders')
  t.same(sent.map(({ headers }) => headers['authorization']), ['Bearer token1', 'Bearer token2'])
  const without = answering([answer(rows)], { token: () => undefined })
  await without.db.select('orders')
  t.notOk('authorization' in (without.sent[0]?.headers as object))
  const failing = answering([answer(rows)], { token: async () => { throw new Error('not signed in') } })
  await t.rejects(failing.db.select('orders'), { message: 'not signed in' }, 'its error is that of the request')
  t.equal(failing.sent.length, 0)
})

t.test('a token that cannot be sent is in no error', async (t) => {
  for (const options of [
    { token: 'sec\nret' }, { token: 'secret\u{1f600}' }, { headers: { 'x-key': 'sec\u0000ret' } }
  ]) {
    const { db, sent } = answering([answer(rows)], options)
    const error = await errorOf(db.select('orders'))
    t.match(error, { code: 'INVALID_HEADER', status: 0 })
    t.notMatch(inspect(error, { depth: 9, showHidden: true }), /sec\s*\\?.?ret/)
    t.equal(sent.length, 0)
  }
})

t.test('an address that cannot be used is refused at once', async (t) => {
  for (const url of [
    'https://user:secret@rows.example.com/api', 'https://rows.example.com/api?x=1', 'https://rows.example.com/api#x',
    '/api', ''
  ]) {
    t.throws(() => createClient({ url }), TypeError)
  }
})

t.test('an address can be relative to a page', async (t) => {
  Object.assign(globalThis, { location: { href: 'https://rows.example.com/app/page.html?x=1' } })
  t.teardown(() => { delete (globalThis as { location?: unknown }).location })
  const { db, sent } = answering([answer(rows)], { url: '/api' })
  await db.select('orders')
  t.equal(sent[0]?.url, 'https://rows.example.com/api/shop/orders')
})

t.test('an error has what the service says', async (t) => {
  const { db } = answering([refusal(400, 'INVALID_VALUE')])
  const error = await errorOf(db.select('orders'))
  t.ok(error instanceof RowQueryError)
  t.ok(error instanceof Error)
  t.match(error, {
    name: 'RowQueryError',
    code: 'INVALID_VALUE',
    status: 400,
    message: 'It is INVALID_VALUE',
    details: [
      { path: '/filters/id', message: 'no' }
    ],
    requestId: 'r1',
    retryAfter: undefined
  })
  t.notOk('cause' in error)
})

t.test('an answer that is not of the service is a clear error', async (t) => {
  const texts = [
    '<html>proxy</html>', '{"success":true,"data":{"rows":[{"name":"Ada', '', 'null', '[]', '"x"', '{"success":true}',
    '{"success":true,"data":null}', '{"success":true,"data":1}', '{"error":{"code":404}}', '{"error":"secret"}',
    '{"success":false,"error":"Not found"}'
  ]
  for (const text of texts) {
    const { db, sent } = answering([
      () => new Response(text, { headers: { 'content-type': 'text/html', 'x-request-id': 'r2' } })
    ])
    const error = await errorOf(db.select('orders'))
    t.match(error, {
      name: 'RowQueryError',
      code: 'UNEXPECTED_ANSWER',
      status: 200,
      message: 'The response (status ' +
      '200, text/html) is not one of the service',
      requestId: 'r2',
      details: []
    }, text)
    t.notMatch(inspect(error), /Ada|secret/, 'without the text, which can be that of rows')
    t.equal(sent.length, 1)
  }
})

t.test('reads are repeated while that may help, with growing pauses', async (t) => {
  const { pauses } = watchTimers(t as Test)
  for (const failure of [
    refusal(502, 'X'), refusal(503, 'DATABASE_UNAVAILABLE'), refusal(429, 'RATE_LIMITED'),
    () => new Response('<html>', { status: 503 }), lost
  ]) {
    const { db, sent } = answering([failure, failure, answer(rows)])
    t.strictSame(await db.select('orders'), rows)
    t.equal(sent.length, 3)
    t.same(pauses.splice(0), [20, 40], 'a tenth of 200 and of 400 ms')
  }
  random = 0.5
  await answering([...Array(7).fill(lost), answer(rows)], { retries: 7 }).db.select('orders')
  random = 0.1
  t.same(pauses.splice(0), [100, 200, 400, 800, 1600, 3200, 5000])
  const { db, sent } = answering([refusal(503, 'OVERLOADED')])
  t.match(await errorOf(db.select('orders', {}, { retries: 1 })), { code: 'OVERLOADED', status: 503 })
  t.equal(sent.length, 2)
  for (const [status, code] of [
    [400, 'INVALID_BODY'], [401, 'UNAUTHENTICATED'], [404, 'TABLE_NOT_FOUND'], [500, 'INTERNAL'], [504, 'QUERY_TIMEOUT']
  ] as const) {
    const { db, sent } = answering([refusal(status, code)])
    t.match(await errorOf(db.select('orders')), { code })
    t.equal(sent.length, 1, `${status} is not repeated`)
  }
})

t.test('writes are repeated only with a key, which stays the same', async (t) => {
  const insert = { data: { id: 2n ** 60n } }
  const plain = answering([refusal(503, 'OVERLOADED')])
  t.match(await errorOf(plain.db.insert('orders', insert)), { code: 'OVERLOADED' })
  t.equal(plain.sent.length, 1)
  const losing = answering([lost])
  t.match(await errorOf(losing.db.delete('orders', { filters: { id: 1 } })), {
    code: 'NO_ANSWER', status: 0, cause: { message: 'fetch failed' }
  })
  t.equal(losing.sent.length, 1)
  const { db, sent } = answering([refusal(502, 'OUTCOME_UNKNOWN'), lost, refusal(409, 'IDEMPOTENCY_IN_PROGRESS', {
    'retry-after': '0'
  }), answer({ inserted: 1 })], { idempotencyKeys: true })
  await db.insert('orders', insert)
  t.equal(sent.length, 4)
  t.equal(new Set(sent.map(({ headers }) => headers['idempotency-key'])).size, 1)
  t.equal(new Set(sent.map(({ init }) => init.body)).size, 1, 'and the same body')
  await db.insert('orders', insert)
  t.not(sent[4]?.headers['idempotency-key'], sent[0]?.headers['idempotency-key'], 'another request has another one')
  await db.update('orders', { data: { note: 'x' }, filters: { id: 1 } }, { idempotencyKey: 'own' })
  await db.transaction(
    [{ table: 'orders', verb: 'select' }, { table: 'orders', verb: 'delete', filters: { id: 1 } }], {},
    { idempotencyKey: 'own' }
  )
  t.same(sent.slice(5).map(({ headers }) => headers['idempotency-key']), ['own', 'own'])
  await db.select('orders')
  await db.transaction([{ table: 'orders', verb: 'select' }])
  await db.delete('orders', { filters: { id: 1 }, dryRun: true })
  await db.transaction([{ table: 'orders', verb: 'delete', filters: { id: 1 } }], { dryRun: true })
  t.same(
    sent.slice(7).map(({ headers }) => headers['idempotency-key']), [undefined, undefined, undefined, undefined],
    'reads and dry runs have none'
  )
  t.same(JSON.parse(sent[10]?.init.body as string), {
    dryRun: true, operations: [{ table: 'orders', verb: 'delete', filters: { id: 1 } }]
  })
  const dry = answering([refusal(503, 'OVERLOADED')], { idempotencyKeys: true })
  await errorOf(dry.db.delete('orders', { filters: { id: 1 }, dryRun: true }))
  t.equal(dry.sent.length, 1)
  const reads = answering([refusal(503, 'OVERLOADED'), answer({ results: [] })])
  await reads.db.transaction([{ table: 'orders', verb: 'select' }])
  t.equal(reads.sent.length, 2)
})

t.test('Retry-After is obeyed, as seconds or a date, unless the time is over before', async (t) => {
  const { pauses } = watchTimers(t as Test)
  await answering([refusal(429, 'RATE_LIMITED', { 'retry-after': '1' }), answer(rows)]).db.select('orders')
  t.same(pauses.splice(0), [1020])
  for (const value of ['100', new Date(Date.now() + 100_000).toUTCString(), '99999999999999999999']) {
    const { db, sent } = answering([refusal(503, 'OVERLOADED', { 'retry-after': value })])
    const error = await errorOf(db.select('orders'))
    t.ok((error.retryAfter ?? 0) > 90, 'and the error says it')
    t.equal(sent.length, 1)
  }
  t.same(pauses, [])
  for (const value of ['', 'soon', '-5', new Date(0).toUTCString()]) {
    const { db } = answering([refusal(503, 'OVERLOADED', { 'retry-after': value }), answer(rows)])
    t.strictSame(await db.select('orders'), rows)
    t.same(pauses.splice(0), [20], `"${value}" is no time to wait for`)
  }
})

t.test('a signal ends a request at once: before it, in it, in its body, in a pause, in the ' +
  'function for the token', async (t) => {
  const address = await listen(t as Test, (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).write('{"success":')
  })
  const never = async (): Promise<never> => await new Promise(() => {})
  const waiting = [
    answering([never]).db,
    answering([refusal(503, 'OVERLOADED', { 'retry-after': '30' })]).db,
    answering([answer(rows)], { token: never }).db,
    createClient({ url: address }).database('shop')
  ]
  for (const db of waiting) {
    const controller = new AbortController()
    const reason = new Error('enough')
    const started = performance.now()
    const promise = db.select('orders', {}, { signal: controller.signal })
    setTimeout(() => controller.abort(reason), 50)
    t.equal(await errorOf(promise), reason)
    t.ok(performance.now() - started < 20_000, 'long before the pause is over')
  }
  const { db, sent } = answering([answer(rows)])
  t.equal((await errorOf(db.select('orders', {}, { signal: AbortSignal.abort() }))).name, 'AbortError')
  t.equal(sent.length, 0)
})

t.test('an aborted request is not sent again, and a request leaves nothing behind', async (t) => {
  const controller = new AbortController()
  const { signal } = controller
  let listeners = 0
  const { addEventListener, removeEventListener } = signal
  signal.addEventListener = (...args: Parameters<typeof addEventListener>) => {
    listeners++
    addEventListener.apply(signal, args)
  }
  signal.removeEventListener = (...args: Parameters<typeof removeEventListener>) => {
    listeners--
    removeEventListener.apply(signal, args)
  }
  const { pauses, open } = watchTimers(t as Test)
  const gate = Promise.withResolvers<undefined>()
  const { db, sent } = answering([async () => {
    await gate.promise
    return lost()
  }])
  const promise = db.select('orders', {}, { signal })
  await setImmediate()
  controller.abort()
  await errorOf(promise)
  gate.resolve(undefined)
  for (let turn = 0; turn < 5; turn++) await setImmediate()
  t.same([sent.length, pauses, listeners], [1, [], 0])
  for (const answers of [
    [answer(rows)], [refusal(503, 'OVERLOADED', { 'retry-after': '100' })]
  ]) await answering(answers).db.select('orders').catch(() => {})
  t.equal(open.size, 0, 'no timer')
})

t.test('timeout limits the request with all its repetitions', async (t) => {
  const { db } = answering([async () => await new Promise(() => {})])
  t.match(await errorOf(db.select('orders', {}, { timeout: 50 })), {
    code: 'TIMEOUT', status: 0, message: 'No response within 50 ms'
  })
  const failing = answering([refusal(503, 'OVERLOADED')], { timeout: 5000, retries: 1000 })
  const { pauses } = watchTimers(t as Test, 5000)
  random = 0.9
  t.match(await errorOf(failing.db.select('orders')), { code: 'OVERLOADED' }, 'the last error says more')
  random = 0.1
  t.same(
    pauses, [180, 360, 720, 1440, 2880].slice(0, pauses.length), 'and the next pause would be longer than the rest'
  )
  const unlimited = answering([answer(rows)], { timeout: Infinity })
  t.strictSame(await unlimited.db.select('orders'), rows)
})

t.test('the token does not follow a redirect', async (t) => {
  const seen: Array<string | undefined> = []
  const other = await listen(t as Test, (request, response) => {
    seen.push(request.headers.authorization)
    response.end('{"success":true,"data":{}}')
  })
  for (const status of [301, 302, 303, 307, 308]) {
    const address = await listen(
      t as Test, (_request, response) => { response.writeHead(status, { location: `${other}/api/shop/orders` }).end() }
    )
    const error = await errorOf(createClient({ url: address, token: TOKEN }).database('shop').select('orders'))
    t.match(error, { code: 'UNEXPECTED_ANSWER', status })
    t.notMatch(inspect(error, { depth: 9 }), TOKEN)
  }
  t.same(seen, [])
})

t.test('a connection that breaks is an error with its cause, and without the token', async (t) => {
  let count = 0
  const address = await listen(t as Test, (_request, response) => {
    count++
    if (count === 1) response.destroy()
    else if (count === 2) {
      response.writeHead(200, { 'content-length': '1000' }).write(
        '{"success":true,"data":{"rows":[', () => response.destroy()
      )
    } else response.end(JSON.stringify({ success: true, data: rows }))
  })
  const db = createClient({ url: address, token: TOKEN }).database('shop')
  t.strictSame(await db.select('orders'), rows, 'reads are repeated')
  t.equal(count, 3)
  const error = await errorOf(
    createClient({ url: 'http://127.0.0.1:1', token: TOKEN, retries: 0 }).database('shop').select('orders')
  )
  t.match(error, { code: 'NO_ANSWER', status: 0, cause: Error })
  t.notMatch(inspect(error, { depth: 9, showHidden: true }), TOKEN)
})

t.test('pages go on until there is no next one, and end where the service does not', async (t) => {
  const collect = async (answers: Array<() => Response>): Promise<unknown[]> =>
    await Array.fromAsync(answering(answers).db.pages('orders', { orderBy: 'id', limit: 2 }))
  const { db, sent } = answering([
    () => new Response('{"success":true,"data":{"rows":[{"id":1},{"id":2}],"count":2,"next":{"id":9007199254740993}}}'),
    answer({ rows: [{ id: 3 }], count: 1, next: null })
  ])
  t.same(await Array.fromAsync(db.pages('orders', { orderBy: 'id', limit: 2, after: { id: 0 } })), [
    { id: 1 }, { id: 2 }, { id: 3 }
  ])
  t.same(sent.map(({ init }) => /"after":\{[^}]*\}/.exec(init.body as string)?.[0]), [
    '"after":{"id":0}', '"after":{"id":9007199254740993}'
  ])
  t.same(await collect([answer({ rows: [], count: 0, next: null })]), [])
  for (const data of [
    { rows: [{ id: 1 }], next: { id: 1 } }, { rows: [], next: { id: 1 } }, { rows: [{ id: 1 }] }, { next: null }, {}
  ]) {
    t.match(await errorOf(collect([answer(data)])), { code: 'UNEXPECTED_ANSWER' }, JSON.stringify(data))
  }
  const stopped = answering([answer({ rows: [{ id: 1 }, { id: 2 }], next: { id: 2 } })])
  const pages = stopped.db.pages('orders')
  t.same(await pages.next(), { value: { id: 1 }, done: false })
  await pages.return()
  t.equal(stopped.sent.length, 1, 'pages are asked for when they are needed')
})

t.test('columns called __proto__ are only columns', async (t) => {
  const { db, sent } = answering([() => new Response(
    '{"success":true,"data":{"rows":[{"__proto__":{"polluted":1},"constructor":12345678901234567890}],"count":1}}'
  )])
  const { rows: [row] } = await db.select('orders', JSON.parse('{"filters":{"__proto__":{"$eq":"x"}},"__proto__":1}'))
  t.ok(Object.hasOwn(row as object, '__proto__'))
  t.equal(row?.['constructor'], 12345678901234567890n)
  t.equal(({} as { polluted?: unknown }).polluted, undefined)
  t.equal(sent[0]?.init.body, '{"filters":{"__proto__":{"$eq":"x"}},"__proto__":1,"verb":"select"}')
})

t.test('an option decides what large integers become', async (t) => {
  const fetch = async () =>
    new Response('{"success":true,"data":{"rows":[{"id":9007199254740993,"small":1}],"count":1}}')
  const { rows: [row] } = await createClient({ url: 'http://x/api', numbers: 'string', fetch }).database('shop').select(
    'orders'
  )
  t.strictSame(row, { id: '9007199254740993', small: 1 })
})

t.test('rows leave no listener on the signal', async (t) => {
  const stream = () => new Response('{"id":1}\n{"id":2}\n', { headers: { 'content-type': 'application/x-ndjson' } })
  const { signal } = new AbortController()
  const { db } = answering([stream, stream, refusal(403, 'PERMISSION_DENIED'), answer(rows)])
  t.same(await Array.fromAsync(db.rows('orders', {}, { signal })), [{ id: 1 }, { id: 2 }])
  for await (const row of db.rows('orders', {}, { signal })) if (row !== undefined) break
  t.match(await errorOf(Array.fromAsync(db.rows('orders', {}, { signal }))), { code: 'PERMISSION_DENIED' })
  t.match(await errorOf(Array.fromAsync(db.rows('orders', {}, { signal }))), { code: 'UNEXPECTED_ANSWER' })
  t.equal(getEventListeners(signal, 'abort').length, 0)
})

t.test('rows that are not those of a stream are refused, and no error contains them', async (t) => {
  const { db } = answering([answer(rows)])
  const json = await errorOf(Array.fromAsync(db.rows('orders')))
  t.match(json, { code: 'UNEXPECTED_ANSWER', status: 200 }, 'as a proxy with HTTP/1.0 gets it')
  const cut = await errorOf(Array.fromAsync(answering([
    () => new Response('{"name":"secret', { headers: { 'content-type': 'application/x-ndjson' } })
  ]).db.rows('orders')))
  t.match(cut, { code: 'NO_ANSWER' })
  t.notMatch(inspect([json, cut]), /secret|"id"/)
})

// JSON, compared with what the runtime itself tells of the source

/**
 * By `source`, which Node has: integers beyond 2^53 are bigints. (Of a repeated key it may return the wrong value, so
 * there is none here.)
 */
const parseBySource = (text: string): unknown => JSON.parse(text, (_key, value, { source }) =>
  typeof value === 'number' && /^-?\d+$/.test(source as string) &&
    !Number.isSafeInteger(value)
    ? BigInt(source as string)
    : value)

const digits = (maxLength: number) => fc.stringMatching(/^(0|[1-9]\d*)$/, { maxLength })
/** Numbers as JSON writes them, many with 16 digits or more on either side of the point. */
const number = fc.tuple(fc.constantFrom('', '-'), fc.oneof(
  digits(40), fc.constantFrom('9007199254740991', '9007199254740992', '9007199254740993', '18446744073709551615')
),
fc.oneof(fc.constant(''), fc.stringMatching(/^\.\d{1,25}$/)), fc.oneof(
  fc.constant(''), fc.stringMatching(/^[eE][+-]?\d{1,3}$/), fc.constant('e-00000000000000000012')
)).map((parts) => parts.join(''))
/** Texts that look like parts of JSON. */
const text = fc.oneof(fc.string(), fc.stringMatching(/^["\\,:[\]{}0-9eE.+-]{0,40}$/), number, fc.constantFrom(
  '\\', '"', '\\"12345678901234567', '__proto__'
)).map((value) => JSON.stringify(value))
/** Without escapes: `JSON.parse` may read those wrongly (src/json/exact-json.ts). */
const name = text.filter((value) => !value.includes('\\'))
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof({ maxDepth: 4 }, number, text, fc.constantFrom('true', 'false', 'null'),
    fc.array(tie('json'), { maxLength: 5 }).map((items) => `[${items.join(',')}]`),
    fc.uniqueArray(fc.tuple(name, fc.constantFrom('', ' ', '\n\t'), tie('json')), {
      maxLength: 5, selector: ([key]) => JSON.parse(key)
    }).map((members) => `{${members.map(([name, space, value]) => `${name}:${space}${value}`).join(',')}}`))
}))

t.test('every text is parsed as by a runtime that knows the source of numbers', async (t) => {
  fc.assert(fc.property(json, (text) => isDeepStrictEqual(parseJson(text, BigInt), parseBySource(text))), {
    numRuns: 300
  })
})

t.test('integers beyond 2^53 are converted, everything else is not', async (t) => {
  const text =
    '{"a":[9007199254740991,-9007199254740993,1.00000000000000000001],"b":"9007199254740993",' +
      '"__proto__":{"c":18446744073709551615}}'
  const parsed = parseJson(text, (digits) => `<${digits}>`) as Record<string, unknown>
  t.strictSame(
    JSON.stringify(parsed),
    '{"a":[9007199254740991,"<-9007199254740993>",1],"b":"9007199254740993","__proto__":{"c":"<18446744073709551615>"}}'
  )
  t.ok(Object.hasOwn(parsed, '__proto__'))
  t.equal(Object.getPrototypeOf(parsed), Object.prototype)
  t.throws(() => parseJson('{"a":12345678901234567890', BigInt), SyntaxError)
  t.throws(() => parseJson('{"a":"12345678901234567890\\', BigInt), SyntaxError)
})

t.test('a key with an escape is not taken for one of another text', async (t) => {
  for (const before of ['{"id":1,"caf\\\\":2}', '{"id":12345678901234567890,"caf\\\\":2}']) {
    JSON.parse(before)
    parseJson(before, BigInt)
    t.strictSame(parseJson('{"id":1,"caf\\u00e9":"x"}', BigInt), { id: 1, café: 'x' })
  }
})

t.test('a text of many megabytes is parsed', async (t) => {
  for (const part of ['x', '1', '\\"', '\\\\', '1.']) {
    const value = `["${part.repeat(4_000_000 / part.length)}",12345678901234567]`
    t.strictSame((parseJson(value, BigInt) as unknown[])[1], 12345678901234567n, part)
  }
})

t.test('bigints are written as integers, at any depth, and whatever toJSON they have', async (t) => {
  const value = {
    a: 2n ** 64n,
    b: [{ c: -(2n ** 63n) }],
    d: '-18446744073709551616',
    e: null,
    f: 1.5,
    g: new Date(
      0
    ),
    h: Object.create(null) as object,
    i: { $ref: '/0/id' }
  }
  const written =
    '{"a":18446744073709551616,"b":[{"c":-9223372036854775808}],"d":"-18446744073709551616","e":null,"f":1.5,' +
      '"g":"1970-01-01T00:00:00.000Z","h":{},"i":{"$ref":"/0/id"}}'
  t.equal(writeJson(value), written)
  const prototype = BigInt.prototype as { toJSON?: () => string }
  prototype.toJSON = function () { return String(this) }
  t.teardown(() => { delete prototype.toJSON })
  t.equal(writeJson(value), written)
  t.equal(writeJson(JSON.parse('{"__proto__":1}')), '{"__proto__":1}')
})

t.test('a value that JSON does not have is refused, without showing it', async (t) => {
  for (const value of [
    undefined, NaN, Infinity, () => 'secret', Symbol('secret'), new Map([['secret', 1]]), new Set(['secret']),
    Promise.resolve('secret'), new Uint8Array(3), /secret/
  ]) {
    t.throws(() => writeJson({ filters: { tenant: value } }), {
      name: 'RowQueryError', code: 'INVALID_BODY', status: 0, message: '"tenant" has a value that JSON does not have'
    })
  }
})

t.test('random ids are keys that the service accepts', async (t) => {
  const ids = Array.from({ length: 100 }, randomId)
  t.equal(new Set(ids).size, 100)
  for (const id of ids) t.match(id, /^[\x21-\x7e]{16,255}$/)
})

t.test('an invalid date is refused, which JSON.stringify would write as null', async (t) => {
  t.throws(() => writeJson({ filters: { expires: new Date('31.12.2026 25:00') } }), { code: 'INVALID_BODY' })
})

// The client is small, because browsers load it, and needs nothing but standard functions of a runtime.

/** In bytes, as browsers load it before they unpack it. */
const MAXIMUM = 8000

t.test('the client has less than 8 kB minified, and imports nothing', async (t) => {
  const { outputFiles: [file], metafile } = await build({
    entryPoints: [`${ROOT}src/client/index.ts`],
    bundle: true,
    minify: true,
    format: 'esm',
    platform: 'neutral',
    write: false,
    metafile: true
  })
  t.ok((file?.contents.length ?? Infinity) < MAXIMUM, `${file?.contents.length} bytes`)
  t.same(Object.keys(metafile.inputs).filter((path) => !/^src\/(client|json)\//.test(path)), [])
})

t.test('with query, reads use the method QUERY where the service has it, and writes do not', async (t) => {
  const methods = ['OPTIONS', 'QUERY', 'QUERY', 'POST']
  const { db, sent } = answering([
    () => new Response('', { status: 405, headers: { 'accept-query': 'application/json' } }), answer(rows),
    answer(rows), answer({ inserted: 1, id: 1 })
  ], { query: true })
  await db.select('orders')
  await db.select('orders')
  await db.insert('orders', { data: {} })
  t.same(sent.map(({ init }) => init.method), methods)
  t.equal(sent[0]?.init.body, undefined)
  const older = answering([() => new Response('', { status: 405 }), answer(rows)], { query: true })
  await older.db.select('orders')
  await older.db.select('orders')
  t.same(older.sent.map(({ init }) => init.method), ['OPTIONS', 'POST', 'POST'], 'the service is asked once')
})
