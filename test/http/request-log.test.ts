import Fastify from 'fastify'
import t from 'tap'
import { createRowQuery } from '../../src/app.ts'
import { onEachEngine, startService, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const select = { verb: 'select', columns: ['id'], filters: { status: 'new' } }

/** The lines since the last call, without the fields of pino. */
function read (log: string[]): Array<Record<string, unknown>> {
  return log.splice(0).map((line) => {
    const { time, pid, hostname, ...rest } = JSON.parse(line)
    return rest
  })
}

await onEachEngine(t, 'a request has one line in the log, with its token, table, result and duration', { schema: shop, options: { requestLog: true } }, async (t, { post, log }) => {
  const { headers } = await post('customers', select)
  const about = { level: 30, msg: 'request', database: 'shop', table: 'customers', token: 'everything' }
  const [line, ...more] = read(log)
  t.same(more, [])
  t.match(line, { ...about, requestId: headers['x-request-id'], verb: 'select', status: 200, rows: 2, ms: Number, databaseMs: Number })
  t.ok(Number(line?.['ms']) >= Number(line?.['databaseMs']) && Number(line?.['databaseMs']) > 0, JSON.stringify(line))
  t.same(Object.keys(line as object).sort(), ['database', 'databaseMs', 'level', 'ms', 'msg', 'requestId', 'rows', 'status', 'table', 'token', 'verb'])

  await post('customers', { verb: 'update', data: { note: 'x' }, filters: { id: [1, 3, 999] } }, { headers: { 'x-request-id': 'mine' } })
  t.match(read(log), [{ ...about, requestId: 'mine', verb: 'update', status: 200, rows: 2 }])
  await post('customers', { verb: 'insert', data: { email: 'ada@example.com', name: 'Ada' } })
  t.match(read(log), [{ ...about, verb: 'insert', status: 409, code: 'UNIQUE_VIOLATION', rows: undefined, databaseMs: Number }])
  await post('customers', { ...select, columns: ['secret'] })
  t.match(read(log), [{ ...about, status: 400, code: 'COLUMN_NOT_FOUND', databaseMs: undefined }])
})

const put = { verb: 'insert', data: [{ email: 'a@example.com', name: 'A' }, { email: 'b@example.com', name: 'B' }], onConflict: { key: ['email'] } }
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

await onEachEngine(t, 'the log has the number of rows that a write changed, with and without returning', { schema: shop, options: { requestLog: true } }, async (t, { post, operate, log }) => {
  const wanted: Array<[how: string, fields: object]> = [['alone', {}], ['with returning', { returning: ['id'] }]]
  for (const [rows, body] of writes) {
    for (const [how, fields] of wanted) {
      const why = `${how}: ${JSON.stringify(body)}`
      log.splice(0)
      t.match(await post('customers', { ...body, ...fields, dryRun: true }), { status: 200 }, why)
      t.match(await operate({ operations: [{ table: 'customers', ...body, ...fields }, { table: 'customers', verb: 'select', filters: { id: [1, 2, 999] } }], dryRun: true }), { status: 200 }, why)
      t.same(read(log).map((line) => line['rows']), [rows, rows + 2], why)
    }
    t.match(await post('customers', body), { status: 200 })
  }
})

await onEachEngine(t, 'names that clients invent are not logged', { schema: shop, options: { requestLog: true, openapi: 'public' } }, async (t, { post, log, server }) => {
  await post('made-up-table', select)
  t.match(read(log), [{ verb: 'select', database: 'shop', table: undefined, status: 404, code: 'TABLE_NOT_FOUND' }])
  await post('customers', select, { database: 'made-up-database' })
  t.match(read(log), [{ verb: undefined, database: undefined, table: undefined, route: '/api/:database/:table', status: 404, code: 'DATABASE_NOT_FOUND' }])
  await post('customers', { verb: 'made-up-verb' })
  t.match(read(log), [{ verb: undefined, database: 'shop', status: 400, code: 'INVALID_BODY' }])
  await post('customers', 'null')
  t.match(read(log), [{ verb: undefined, status: 400, code: 'INVALID_BODY' }])
  await post('customers', select, { token: 'made-up-token' })
  t.match(read(log), [{ token: undefined, database: 'shop', status: 401, code: 'UNAUTHENTICATED' }])
  await server.app.inject('/api/made-up?path')
  await server.app.inject('/api/openapi.json?made-up')
  const lines = read(log)
  t.match(lines, [{ route: '/api/:database', status: 401, code: 'UNAUTHENTICATED' }, { route: '/api/openapi.json', status: 200 }])
  t.notMatch(JSON.stringify(lines), 'made-up')
})

await onEachEngine(t, 'a failure of the database is logged once, as an error with the name of the driver\'s error', { schema: shop, only: ['mariadb', 'mysql'] }, async (t, { url }) => {
  const { post, log } = await startService(t, Object.assign(new URL(url), { port: '1' }).href, { options: { requestLog: true } })
  log.splice(0)
  await post('customers', select)
  t.match(read(log), [{ level: 50, msg: 'request', database: 'shop', verb: 'select', table: undefined, status: 503, code: 'DATABASE_UNAVAILABLE', reason: 'ECONNREFUSED', databaseMs: undefined }])
})

await onEachEngine(t, 'with the log level "error" only failures are logged, with all fields, until the level changes', { schema: shop, only: ['mariadb', 'mysql'] }, async (t, { url }) => {
  const { post, log, server } = await startService(t, Object.assign(new URL(url), { port: '1' }).href, { options: { requestLog: true } })
  server.app.log.level = 'warn'
  log.splice(0)
  await post('customers', { verb: 'made-up-verb' })
  t.same(read(log), [])
  await post('customers', select)
  t.match(read(log), [{ level: 50, msg: 'request', token: 'everything', database: 'shop', verb: 'select', status: 503, requestId: String, ms: Number }])
  server.app.log.level = 'info'
  await post('customers', { verb: 'made-up-verb' })
  t.match(read(log), [{ level: 30, msg: 'request', database: 'shop', status: 400, code: 'INVALID_BODY' }])
})

t.test('a bug is logged with its stack and the request id, also in an app with its own ids', async (t) => {
  const log: string[] = []
  const app = Fastify({ logger: { stream: { write: (line: string) => { log.push(line) } } }, genReqId: () => 'of-the-host' })
  t.teardown(() => app.close())
  app.addHook('onRequest', async () => { throw new Error('out of the blue') })
  await app.register(createRowQuery({ databases: { shop: { url: 'mysql://nobody@127.0.0.1:1/shop' } } }).plugin, { prefix: '/api' })
  const { headers } = await app.inject({ method: 'POST', url: '/api/shop/customers', headers: { 'x-request-id': 'mine' } })
  t.equal(headers['x-request-id'], 'mine')
  t.match(read(log).filter(({ msg }) => msg === 'unexpected error'), [{ level: 50, requestId: 'mine', err: { stack: /out of the blue/ } }])
})

t.test('in a host app the request log is off by default; if it is on, refusals of host hooks are logged too', async (t) => {
  const options = { databases: { shop: { url: 'mysql://nobody@127.0.0.1:1/shop' } } }
  for (const requestLog of [undefined, true]) {
    const log: string[] = []
    const app = Fastify({ logger: { stream: { write: (line: string) => { log.push(line) } } } })
    t.teardown(() => app.close())
    app.addHook('onRequest', async ({ headers }) => { if (headers['x-stop'] !== undefined) throw Object.assign(new Error('of the host'), { statusCode: 403 }) })
    await app.register(createRowQuery({ ...options, ...(requestLog !== undefined && { requestLog }) }).plugin, { prefix: '/api' })
    await app.ready()
    log.splice(0)
    await app.inject({ method: 'POST', url: '/api/shop/customers', headers: { authorization: `Bearer ${TOKEN}` } })
    t.match(read(log).map(({ msg }) => msg), requestLog === true ? ['incoming request', 'request', 'request completed'] : ['incoming request', 'request completed'])
    await app.inject({ method: 'POST', url: '/api/shop/customers', headers: { 'x-stop': '1', 'x-request-id': 'mine' } })
    const [, line] = read(log)
    if (requestLog === true) t.match(line, { level: 30, msg: 'request', requestId: 'mine', status: 403, database: 'shop', ms: Number })
  }
})
