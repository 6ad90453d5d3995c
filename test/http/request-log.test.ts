/** The request id, the request log and Server-Timing. */
import Fastify from 'fastify'
import t from 'tap'
import { createRowQuery } from '../../src/index.ts'
import { requestId } from '../../plugins/response-headers.ts'
import { anyEngine } from '../support/rotation.ts'
import { onEachEngine, sharedOnEachEngine, startService, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const select = { verb: 'select', columns: ['id'], filters: { status: 'new' } }

/** The lines since the last call, without the fields of pino. */
function read (log: string[]): Array<Record<string, unknown>> {
  return log.splice(0).map((line) => {
    const { time, pid, hostname, ...rest } = JSON.parse(line)
    return rest
  })
}

const test = sharedOnEachEngine(t, {
  schema: shop, options: { requestLog: true, openapi: 'public' }, only: await anyEngine(t)
})

await test('a request has one line in the log, with its token, table, ' +
  'result and duration', async (t, { post, log }) => {
  log.splice(0)
  const { headers } = await post('customers', select)
  const about = { level: 30, msg: 'request', database: 'shop', table: 'customers', token: 'everything' }
  const [line, ...more] = read(log)
  t.same(more, [])
  t.match(line, {
    ...about, requestId: headers['x-request-id'], verb: 'select', status: 200, rows: 2, ms: Number, databaseMs: Number
  })
  t.ok(Number(line?.['ms']) >= Number(line?.['databaseMs']) && Number(line?.['databaseMs']) > 0, JSON.stringify(line))
  t.same(Object.keys(line as object).sort(), [
    'database', 'databaseMs', 'level', 'ms', 'msg', 'requestId', 'rows', 'status', 'table', 'token', 'verb'
  ])

  await post('customers', { verb: 'update', data: { note: 'x' }, filters: { id: [1, 3, 999] } }, {
    headers: { 'x-request-id': 'mine' }
  })
  t.match(read(log), [{ ...about, requestId: 'mine', verb: 'update', status: 200, rows: 2 }])
  await post('customers', { verb: 'insert', data: { email: 'ada@example.com', name: 'Ada' } })
  t.match(read(log), [
    { ...about, verb: 'insert', status: 409, code: 'UNIQUE_VIOLATION', rows: undefined, databaseMs: Number }
  ])
  await post('customers', { ...select, columns: ['secret'] })
  t.match(read(log), [{ ...about, status: 400, code: 'COLUMN_NOT_FOUND', databaseMs: undefined }])
})

const put = {
  verb: 'insert',
  data: [{ email: 'a@example.com', name: 'A' }, { email: 'b@example.com', name: 'B' }],
  onConflict: { key: ['email'] }
}
const writes: Array<[rows: number, body: { verb: string, [field: string]: unknown }]> = [
  [2, { verb: 'update', data: { note: 'x' }, filters: { id: [1, 3, 999] } }],
  [2, { verb: 'insert', data: [{ email: 'c@example.com', name: 'C' }, { email: 'd@example.com', name: 'D' }] }],
  [2, put],
  [1, { ...put, data: { ...put.data[0], name: 'C' } }],
  [2, { ...put, data: put.data.map((row) => ({ ...row, name: 'D' })) }],
  [1, { verb: 'insert', data: { email: 'e@example.com', name: 'E' } }],
  [2, { verb: 'delete', filters: { email: ['a@example.com', 'b@example.com', 'z@example.com'] } }],
  [0, { verb: 'delete', filters: { email: 'z@example.com' } }]
]

await onEachEngine(t, 'the log has the number of rows that a write changed, with and ' +
  'without returning', { schema: shop, options: { requestLog: true } }, async (t, { post, operate, log }) => {
  const wanted: Array<[how: string, fields: object]> = [['alone', {}], ['with returning', { returning: ['id'] }]]
  for (const [rows, body] of writes) {
    for (const [how, fields] of wanted) {
      const why = `${how}: ${JSON.stringify(body)}`
      log.splice(0)
      t.match(await post('customers', { ...body, ...fields, dryRun: true }), { status: 200 }, why)
      t.match(await operate({
        operations: [
          { table: 'customers', ...body, ...fields },
          { table: 'customers', verb: 'select', filters: { id: [1, 2, 999] } }
        ],
        dryRun: true
      }), { status: 200 }, why)
      t.same(read(log).map((line) => line['rows']), [rows, rows + 2], why)
    }
    t.match(await post('customers', body), { status: 200 })
  }
})

await test('names that clients invent are not logged', async (t, { post, log, server }) => {
  log.splice(0)
  await post('made-up-table', select)
  t.match(read(log), [{ verb: 'select', database: 'shop', table: undefined, status: 404, code: 'TABLE_NOT_FOUND' }])
  await post('customers', select, { database: 'made-up-database' })
  t.match(read(log), [{
    verb: undefined,
    database: undefined,
    table: undefined,
    route: '/api/:database/:table',
    status: 404,
    code: 'DATABASE_NOT_FOUND'
  }])
  await post('customers', { verb: 'made-up-verb' })
  t.match(read(log), [{ verb: undefined, database: 'shop', status: 400, code: 'INVALID_BODY' }])
  await post('customers', 'null')
  t.match(read(log), [{ verb: undefined, status: 400, code: 'INVALID_BODY' }])
  await post('customers', select, { token: 'made-up-token' })
  t.match(read(log), [{ token: undefined, database: 'shop', status: 401, code: 'UNAUTHENTICATED' }])
  await server.app.inject('/api/made-up?path')
  await server.app.inject('/api/openapi.json?made-up')
  const lines = read(log)
  t.match(lines, [
    { route: '/api/:database', status: 401, code: 'UNAUTHENTICATED' }, { route: '/api/openapi.json', status: 200 }
  ])
  t.notMatch(JSON.stringify(lines), 'made-up')
})

await test('a failure of the database is logged once, as an error with the name of ' +
  'the driver\'s error', async (t, { url }) => {
  const { post, log } = await startService(t, Object.assign(new URL(url), { port: '1' }).href, {
    options: { requestLog: true }
  })
  log.splice(0)
  await post('customers', select)
  t.match(read(log), [{
    level: 50,
    msg: 'request',
    database: 'shop',
    verb: 'select',
    table: undefined,
    status: 503,
    code: 'DATABASE_UNAVAILABLE',
    reason: 'ECONNREFUSED',
    databaseMs: undefined
  }])
}, ['mariadb', 'mysql'])

await test('with the log level "error" only failures are logged, with all fields, until ' +
  'the level changes', async (t, { url }) => {
  const { post, log, server } = await startService(t, Object.assign(new URL(url), { port: '1' }).href, {
    options: { requestLog: true }
  })
  server.app.log.level = 'warn'
  log.splice(0)
  await post('customers', { verb: 'made-up-verb' })
  t.same(read(log), [])
  await post('customers', select)
  t.match(read(log), [{
    level: 50,
    msg: 'request',
    token: 'everything',
    database: 'shop',
    verb: 'select',
    status: 503,
    requestId: String,
    ms: Number
  }])
  server.app.log.level = 'info'
  await post('customers', { verb: 'made-up-verb' })
  t.match(read(log), [{ level: 30, msg: 'request', database: 'shop', status: 400, code: 'INVALID_BODY' }])
}, ['mariadb', 'mysql'])

t.test('a bug is logged with its stack and the request id, also in an app with its own ids', async (t) => {
  const log: string[] = []
  const app = Fastify({
    logger: { stream: { write: (line: string) => { log.push(line) } } }, genReqId: () => 'of-the-host'
  })
  t.teardown(() => app.close())
  app.addHook('onRequest', async () => { throw new Error('out of the blue') })
  await app.register(createRowQuery({ databases: { shop: { url: 'mysql://nobody@127.0.0.1:1/shop' } } }).plugin, {
    prefix: '/api'
  })
  const { headers } = await app.inject({
    method: 'POST', url: '/api/shop/customers', headers: { 'x-request-id': 'mine' }
  })
  t.equal(headers['x-request-id'], 'mine')
  t.match(read(log).filter(({ msg }) => msg === 'unexpected error'), [
    { level: 50, requestId: 'mine', err: { stack: /out of the blue/ } }
  ])
})

t.test('in a host app the request log is off by default; if it is on, refusals of host ' +
  'hooks are logged too', async (t) => {
  const options = { databases: { shop: { url: 'mysql://nobody@127.0.0.1:1/shop' } } }
  for (const requestLog of [undefined, true]) {
    const log: string[] = []
    const app = Fastify({ logger: { stream: { write: (line: string) => { log.push(line) } } } })
    t.teardown(() => app.close())
    app.addHook('onRequest', async ({ headers }) => {
      if (headers['x-stop'] !== undefined) throw Object.assign(new Error('of the host'), { statusCode: 403 })
    })
    await app.register(createRowQuery({ ...options, ...(requestLog !== undefined && { requestLog }) }).plugin, {
      prefix: '/api'
    })
    await app.ready()
    log.splice(0)
    await app.inject({ method: 'POST', url: '/api/shop/customers', headers: { authorization: `Bearer ${TOKEN}` } })
    t.match(read(log).map(({ msg }) => msg), requestLog === true
      ? ['incoming request', 'request', 'request completed']
      : ['incoming request', 'request completed'])
    await app.inject({ method: 'POST', url: '/api/shop/customers', headers: { 'x-stop': '1', 'x-request-id': 'mine' } })
    const [, line] = read(log)
    if (requestLog === true) {
      t.match(line, { level: 30, msg: 'request', requestId: 'mine', status: 403, database: 'shop', ms: Number })
    }
  }
})

const checked = {
  sqlite: [], mysql: ['create table checked (id int not null primary key, n int, constraint small check (n < 10))']
}

await onEachEngine(t, 'the log has the name that the server itself gives the number of an error', {
  schema: checked, only: ['mariadb', 'mysql'], options: { requestLog: true }
}, async (t, { post, log, engine }) => {
  log.splice(0)
  t.equal((await post('checked', { verb: 'insert', data: { id: 1, n: 10 } })).status, 422)
  t.match(read(log), [
    { code: 'CHECK_VIOLATION', reason: engine === 'mariadb' ? 'ER_CONSTRAINT_FAILED' : 'ER_CHECK_CONSTRAINT_VIOLATED' }
  ])
})

/** 128 random bits. */
const OURS = /^[0-9a-f]{32}$/

/** The number of bits that differ. */
const distance = (a: string, b: string): number =>
  (BigInt(`0x${a}`) ^ BigInt(`0x${b}`)).toString(2).replaceAll('0', '').length

t.test('ids do not count requests: none tells how many came before it', async (t) => {
  const ids = Array.from({ length: 2000 }, () => requestId({ headers: {} }))
  t.equal(new Set(ids).size, ids.length)
  // 64 of 128 bits differ between two random ids; fewer than 24 do in one of 10^13 pairs
  for (const step of [1, 2, 256]) {
    t.ok(ids.slice(step).every((id, index) => distance(id, ids[index] as string) >= 24), `${step} requests later`)
  }
})

await test('every response has its own request id', async (t, { post, server }) => {
  const answers = [
    await post('customers', { verb: 'select' }),
    await post('customers', { verb: 'nothing' }),
    await post('customers', 'no JSON'),
    await post('nope', { verb: 'select' }),
    await post('customers', { verb: 'select' }, { token: null }),
    await post('customers', '', { method: 'GET' }),
    await server.app.inject({ method: 'POST', url: '/elsewhere' }),
    await server.app.inject({
      method: 'POST', url: '/api/too/many/parts', headers: { authorization: `Bearer ${TOKEN}` }
    }),
    await server.app.inject({ method: 'POST', url: '/api/shop/%' })
  ]
  const ids = answers.map(({ headers }) => headers['x-request-id'] as string)
  for (const id of ids) t.match(id, OURS)
  t.equal(new Set(ids).size, ids.length)
})

await test('a valid request id is kept, for successes and errors', async (t, { post }) => {
  for (const id of ['a', 'trace-1 of "2"; ~', 'x'.repeat(128)]) {
    for (const [body, options] of [
      [{ verb: 'select' }, {}], [{ verb: 'nothing' }, {}], [{}, { token: null }]
    ] as const) {
      const { headers } = await post('customers', body, { ...options, headers: { 'x-request-id': id } })
      t.equal(headers['x-request-id'], id)
    }
  }
})

await test('an invalid request id is replaced: empty, too long or not printable ASCII', async (t, { post }) => {
  for (const id of ['', 'x'.repeat(129), 'tab\there', 'ümlaut', '\x7f']) {
    const { headers } = await post('customers', { verb: 'select' }, { headers: { 'x-request-id': id } })
    t.match(headers['x-request-id'], OURS, JSON.stringify(id))
  }
})

await test('the log contains the request id and no other header', async (t, { post, log }) => {
  log.splice(0)
  await post('customers', { verb: 'select' }, { headers: { 'x-request-id': 'find-me' } })
  const lines = log.map((line) => JSON.parse(line))
  t.equal(lines.length, 1)
  t.match(lines[0], { requestId: 'find-me', status: 200 })
  t.notMatch(log.join(''), new RegExp(`${TOKEN}|application/json|Bearer`))
})

await test('with serverTiming, answers have the durations of planning, the database and ' +
  'the whole request', async (t, { url }) => {
  const { post } = await startService(t, url, { options: { serverTiming: true } })
  const timing = async (body: unknown) => {
    const header = String((await post('customers', body)).headers['server-timing'])
    const [, plan, db, total] = /^plan;dur=(\d+\.\d{3}), db;dur=(\d+\.\d{3}), total;dur=(\d+\.\d{3})$/.exec(header) ??
      []
    return { plan: Number(plan), db: Number(db), total: Number(total) }
  }
  const { plan, db, total } = await timing({ verb: 'select', columns: ['id'] })
  t.ok(plan > 0 && db > 0 && plan + db <= total + 0.002, JSON.stringify({ plan, db, total }))
  const refused = await timing({ ...{ verb: 'select', columns: ['id'] }, columns: ['nope'] })
  t.ok(refused.plan > 0 && refused.db === 0 && refused.plan <= refused.total, JSON.stringify(refused))
  t.match(await timing('{'), { plan: 0, db: 0, total: Number })
})

await test('without serverTiming there is no Server-Timing header', async (t, { post }) => {
  t.notOk('server-timing' in (await post('customers', { verb: 'select', columns: ['id'] })).headers)
}, ['sqlite'])
