// night: it waits for time limits
/** Imports on connections: when they are answered, what their clients may do, and what ends them. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import type { AddressInfo, Socket } from 'node:net'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { promisify } from 'node:util'
import t, { type Test } from 'tap'
import { tokenOf } from '../grants/support.ts'
import { onEachEngine, type Service, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { listen, readAnswers } from '../support/wire.ts'
import { countItems as count, itemsOf, lines, load } from '../support/load.ts'
import { until } from '../support/until.ts'

const schema = itemsOf('note text')
const tokens = [
  tokenOf('reader', { permissions: ['select'] }),
  ...['a', 'b', 'c', 'd', 'e'].map((name) => tokenOf(name, { permissions: ['insert'] }))
]

interface Head {
  method?: string, type?: string, path?: string, token?: string, lines?: string[], length?: number | undefined
}

/** The head of an import, whose body is sent in chunks if its length is not given. */
const head = (
  { method = 'POST', type = 'text/csv', path = '/api/shop/items', token = TOKEN, lines = [], length }: Head = {}
): string => [
  `${method} ${path} HTTP/1.1`, 'Host: 127.0.0.1', `Authorization: Bearer ${token}`, `Content-Type: ${type}`,
  length === undefined ? 'Transfer-Encoding: chunked' : `Content-Length: ${length}`, ...lines, '', ''
].join('\r\n')

const chunk = (text: string): string => `${text.length.toString(16)}\r\n${text}\r\n`
const END = '0\r\n\r\n'

/** Resolves with what the server has sent when that matches. */
async function received (socket: Socket, pattern: RegExp): Promise<string> {
  let text = ''
  for (;;) {
    const [data] = await once(socket, 'data') as [Buffer]
    text += data.toString()
    if (pattern.test(text)) return text
  }
}

const test = sharedOnEachEngine(t, {
  schema,
  tokens,
  server: {
    http: {
      maxHeaderSize: 16_384,
      headersTimeout: 500,
      requestTimeout: 1000,
      bodyTimeout: 2500,
      keepAliveTimeout: 72_000,
      answerTimeout: 60_000,
      answerRate: 65_536,
      maxConnections: 1000
    } as never
  }
})

await test('a refusal comes at once, and the connection ends only when the rest has been read, also after ' +
  'http.requestTimeout', async (t, service) => {
  const socket = await (await listen(service)).open()
  socket.write(head({ length: 8_000_000 }) + 'sku,nope\n' + 'x'.repeat(100_000))
  const answer = await received(socket, /\}$/)
  t.match(answer, /^HTTP\/1.1 400 [^]*connection: close[^]*"COLUMN_NOT_FOUND"/)
  await new Promise((resolve) => setTimeout(resolve, 2500)) // Node looks once a second
  socket.write('x'.repeat(8_000_000 - 100_000 - 9))
  await once(socket, 'close')
  t.notOk(socket.errored, 'the connection was not reset')
})

const PYTHON = `
import http.client, sys
with open(sys.argv[2], 'rb') as file:
    connection = http.client.HTTPConnection('127.0.0.1', int(sys.argv[1]))
    headers = {'Authorization': 'Bearer ' + sys.argv[3], 'Content-Type': 'text/csv'}
    connection.request('POST', '/api/shop/items', file, headers)
    print(connection.getresponse().read().decode())
`

await test('curl, fetch and http.client of Python see a refusal that comes before ' +
  'the end of the body', async (t, service) => {
  await listen(service)
  const { port } = service.server.app.server.address() as AddressInfo
  const file = join(t.testdir({ 'large.csv': `sku,nope\n${'abc,def\n'.repeat(1_500_000)}` }), 'large.csv')
  const url = `http://127.0.0.1:${port}/api/shop/items`
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/csv' }
  const run = promisify(execFile)
  for (let count = 0; count < 3; count++) {
    const curl = await run('curl', [
      '-sS', '-T', file, '-X', 'POST', '-H', `Authorization: Bearer ${TOKEN}`, '-H', 'Content-Type: text/csv', '-H',
      'Expect:', url
    ])
    t.match(curl.stdout, /"COLUMN_NOT_FOUND"/, 'curl')
    const python = await run('python3', ['-c', PYTHON, String(port), file, TOKEN])
    t.match(python.stdout, /"COLUMN_NOT_FOUND"/, 'Python')
    const fetched = await fetch(
      url, { method: 'POST', headers, body: createReadStream(file), duplex: 'half' } as unknown as RequestInit
    )
    t.match(await fetched.text(), /"COLUMN_NOT_FOUND"/, 'fetch')
  }
})

await test('100 Continue comes after 401, 403, 404, 413, 415 and options, and ' +
  'before the body is read', async (t, service) => {
  const wire = await listen(service)
  const lines = ['Expect: 100-continue']
  const cases: Array<[number, Head]> = [
    [401, { token: 'nobody' }], [403, { token: 'reader' }], [404, { path: '/api/shop/nope' }],
    [400, { path: '/api/shop/items?x=1' }],
    [415, { lines: ['Content-Encoding: br'] }], [415, { type: 'text/plain' }],
    [401, { token: 'nobody', type: 'application/json' }],
    [413, { type: 'application/json', length: 1_000_000_000 }], [405, { method: 'PUT', type: 'application/json' }],
    [200, { method: 'GET', path: '/api/shop/openapi.json' }]
  ]
  for (const [status, given] of cases) {
    const socket = await wire.open()
    const answers = readAnswers(socket)
    socket.write(head({ length: 10, ...given, lines: [...lines, ...given.lines ?? []] }))
    t.match(await answers, [{ status }], JSON.stringify(given))
  }
  for (const [body, given] of [
    ['sku\na\n', {}], ['{"verb": "insert", "data": {"sku": "b"}}', { type: 'application/json' }]
  ] as const) {
    const socket = await wire.open()
    socket.write(head({ ...given, lines: [...lines, 'Connection: close'], length: body.length }))
    t.equal(await received(socket, /\r\n\r\n$/), 'HTTP/1.1 100 Continue\r\n\r\n')
    socket.write(body)
    t.match(await received(socket, /\}$/), /^HTTP\/1.1 200 [^]*"inserted":1/)
  }
})

await test('a client that does not wait for 100 Continue sees a refusal too', async (t, service) => {
  for (const given of [{}, { token: 'nobody' }]) {
    const socket = await (await listen(service)).open()
    socket.write(head({ path: '/api/shop/nope', ...given, lines: ['Expect: 100-continue'], length: 8_000_000 }))
    t.match(await received(socket, /\}$/), /^HTTP\/1.1 40[14] /)
    for (let part = 0; part < 8; part++) {
      await new Promise((resolve) => setTimeout(resolve, 50))
      socket.write('x'.repeat(1_000_000))
    }
    await once(socket, 'close')
    t.notOk(socket.errored, 'the connection was not reset')
  }
})

await test('a slow body may take longer than http.requestTimeout, but not be silent ' +
  'for http.bodyTimeout', async (t, service) => {
  const socket = await (await listen(service)).open()
  socket.write(head({ lines: ['Connection: close'] }) + chunk('sku\n'))
  for (let row = 0; row < 4; row++) {
    await new Promise((resolve) => setTimeout(resolve, 700))
    socket.write(chunk(`slow${row}\n`))
  }
  socket.write(END)
  t.match(await received(socket, /\}$/), /"inserted":4/)

  const silent = await (await listen(service)).open()
  silent.write(head({ path: '/api/shop/items?transaction=batch' }) +
    chunk('sku\n' + Array.from({ length: 2100 }, (_, row) => `b${row}\n`).join('')))
  const answer = await received(silent, /\}$/)
  t.match(answer, /^HTTP\/1.1 408 [^]*"REQUEST_TIMEOUT"[^]*"committed":\{"rows":2000,"line":2001\}/)
  t.notMatch(answer, /retry-after/i, 'a part is committed')
  silent.destroy()
  t.equal(await count(service), 1 + 4 + 2000)
})

await test('a body that is not HTTP ends its import, which says what is committed', async (t, service) => {
  const before = await count(service)
  const rows = Array.from({ length: 1500 }, (_, row) => `broken${row}\n`).join('')
  const path = '/api/shop/items?transaction=batch'
  for (const [index, end] of ['no chunk\r\n', undefined].entries()) {
    const socket = await (await listen(service)).open()
    socket.write(head({ path: `${path}&onConflict=sku`, ...(end === undefined && { length: 1_000_000 }) }))
    socket.write(end === undefined ? `sku\n${rows}` : chunk(`sku\n${rows}`))
    await until('the first batch is in', async () => await count(service) === before + 1000 || index > 0)
    await new Promise((resolve) => setTimeout(resolve, 300))
    if (end === undefined) socket.end()
    else socket.write(end)
    t.match(
      await received(socket, /\}$/), /^HTTP\/1.1 400 [^]*"INVALID_REQUEST"[^]*"committed":\{"rows":1000,"line":1001\}/
    )
    await once(socket, 'close')
    t.equal(await count(service), before + 1000)
  }
})

await test('a client that goes away ends its import', async (t, service) => {
  const before = await count(service)
  const rows = Array.from({ length: 2500 }, (_, row) => `g${row}\n`).join('')
  const socket = await (await listen(service)).open()
  socket.write(head() + chunk(`sku\n${rows}`))
  await new Promise((resolve) => setTimeout(resolve, 300))
  socket.destroy()
  // the next import of the caller is accepted when the first one has ended
  await until('the import has ended', async () =>
    (await load(service, 'items', 'sku\nz\n', { query: '?dryRun=true' })).status === 200)
  t.equal(await count(service), before)
})

await test('a caller has one import at a time, and all callers four; a file of SQLite one', async (t, service) => {
  const wire = await listen(service)
  const sockets: Socket[] = []
  const begin = async (token: string): Promise<number | undefined> => {
    const socket = await wire.open()
    sockets.push(socket)
    socket.on('error', () => {})
    socket.write(head({ token, path: '/api/shop/items?transaction=batch', lines: ['Expect: 100-continue'] }))
    const [, status] = /^HTTP\/1.1 (\d+)/.exec(await received(socket, /\r\n\r\n/)) ?? []
    return Number(status)
  }
  const ofAll = service.engine === 'sqlite' ? 1 : 4
  t.equal(await begin('a'), 100)
  t.equal(await begin('a'), 503)
  for (const token of ['b', 'c', 'd']) t.equal(await begin(token), ofAll === 1 ? 503 : 100, token)
  t.equal(await begin('e'), 503)
  for (const socket of sockets) socket.destroy()
  await until('the imports have ended', async () => {
    const status = await begin('e')
    sockets.at(-1)?.destroy()
    return status === 100
  })
})

for (const [transaction, rows] of [['whole', 0], ['batch', 2000]] as const) {
  await onEachEngine(t, `closing the app ends an import: ${transaction}`, { schema }, async (t, service) => {
    const socket = await (await listen(service)).open()
    socket.write(head({ path: `/api/shop/items?transaction=${transaction}` }) +
      chunk('sku\n' + Array.from({ length: 2100 }, (_, row) => `r${row}\n`).join('')))
    await new Promise((resolve) => setTimeout(resolve, 500))
    const answer = received(socket, /\}$/)
    const closed = service.server.app.close()
    const text = await answer
    t.match(text, /^HTTP\/1.1 503 [^]*"DATABASE_UNAVAILABLE"/)
    if (rows > 0) t.match(text, new RegExp(`"committed":\\{"rows":${rows},"line":${rows + 1}\\}`))
    socket.destroy()
    await closed
    t.equal(await count(service), 1 + rows)
  })
}

await onEachEngine(t, 'an import as a whole keeps other writes of a file waiting, and may wait for ' +
  'its client for 5 s', { schema, only: ['sqlite'], database: { pool: { wait: 500 } } }, async (t, service) => {
  const socket = await (await listen(service)).open()
  socket.write(head() + chunk('sku\n' + Array.from({ length: 2100 }, (_, row) => `w${row}\n`).join('')))
  const answer = received(socket, /\}$/)
  await new Promise((resolve) => setTimeout(resolve, 500))
  t.match(await service.post('items', { verb: 'insert', data: { sku: 'other' } }), {
    status: 503, json: { error: { code: 'LOCK_TIMEOUT' } }
  })
  t.match(await service.post('items', { verb: 'select', limit: 1 }), { status: 200 })
  t.match(await answer, /^HTTP\/1.1 408 [^]*\r\nretry-after: \d/i, 'nothing was changed')
  socket.destroy()
  t.match(await service.post('items', { verb: 'insert', data: { sku: 'other' } }), { status: 200 })
  t.equal(await count(service), 2)
})

await onEachEngine(t, 'time limits of a statement and of the whole are 504', {
  schema, database: { statementTimeout: 400, importTimeout: 1500 }, options: { requestLog: false }
}, async (t, service) => {
  /** A body that goes on while something is open. */
  const open = (text: string): PassThrough => {
    const body = new PassThrough()
    body.write(text)
    return body
  }
  const slow = open(lines('sku', 1100))
  const whole = await load(service, 'items', slow)
  t.match(whole, { status: 504, json: { error: { code: 'QUERY_TIMEOUT', committed: undefined } } })
  t.equal(await count(service), 1)
  const batch = await load(service, 'items', open(lines('sku', 1100)), { query: '?transaction=batch' })
  t.match(batch, { status: 504, json: { error: { code: 'QUERY_TIMEOUT', committed: { rows: 1000, line: 1001 } } } })
  t.notOk('retry-after' in batch.headers)
  t.equal(await count(service), 1001)
  if (service.engine === 'sqlite') return

  const locked = await startLocked(t, service)
  for (const query of ['?transaction=batch', '']) {
    const answer = await load(service, 'items', lines('sku', 1100, (index) => index === 1050 ? 'old' : `t${index}`), {
      query: `${query}${query === '' ? '?' : '&'}onConflict=sku`
    })
    t.match(answer, {
      status: 504,
      json: { error: { code: 'QUERY_TIMEOUT', committed: query !== '' ? { rows: 1000, line: 1001 } : undefined } }
    }, query)
  }
  await locked()
})

/** Locks the row `old` in another session. Returns what ends this. */
async function startLocked (t: Test, { sql }: Service): Promise<() => Promise<unknown>> {
  await sql('start transaction')
  await sql("select id from items where sku = 'old' for update")
  return () => sql('rollback')
}

await onEachEngine(t, 'streams and imports together have half of the pool', {
  schema, tokens, database: { pool: { size: 4 } }, only: ['mariadb', 'mysql']
}, async (t, service) => {
  const { server: { rows }, engine } = service
  const grant = { permissions: ['select' as const, 'insert' as const] }
  await service.sql('insert into items (sku, note) with recursive seq (n) as (select 1 union all select n + 1 from ' +
    'seq where n < 900) select concat(\'r\', n), repeat(\'x\', 10000) from seq')
  const stream = rows.stream({ database: 'shop', table: 'items', grant, body: { verb: 'select' } })
  await stream.next()
  const of = { database: 'shop', table: 'items' }
  t.match(
    await rows.load({ ...of, grant }, [{ sku: 'a' }]).catch((error: unknown) => error), { code: 'OVERLOADED' },
    `one caller has one of both (${engine})`
  )
  const body = new PassThrough()
  const running = load(service, 'items', body, { token: 'a' })
  await until(
    'the import runs', async () => (await load(service, 'items', 'sku\na\n', { query: '?dryRun=true' })).status === 503
  )
  body.end('sku\na\n')
  t.match(await running, { status: 200 })
  await stream.return()
  t.match(await load(service, 'items', 'sku\nb\n'), { status: 200 })
})
