/** Metrics. */
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { Counter, Registry } from 'prom-client'
import t from 'tap'
import { tokenOf } from '../grants/support.ts'
import { load } from '../support/load.ts'
import { parseMetrics, type Sample, valueOf } from '../support/metrics.ts'
import { errorPacket, type Proxy } from '../support/recorder.ts'
import { onEachEngine, type Service, startService, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

const options = { metrics: true }
const select = { verb: 'select', columns: ['id'] }
/** The metrics of the service, without those of Node. */
const read = async ({ server }: Pick<Service, 'server'>): Promise<Sample[]> =>
  parseMetrics(await server.rows.registry.metrics()).filter(({ name }) => name.startsWith('row_query_'))

await onEachEngine(t, 'requests are counted by verb, database, status and code, and their ' +
  'durations are measured', { schema: shop, options }, async (t, service) => {
  const { post } = service
  for (let each = 0; each < 3; each++) await post('customers', select)
  await post('customers', { verb: 'update', data: { name: 'x' }, filters: { id: 1 } })
  await post('customers', { verb: 'insert', data: { email: 'ada@example.com', name: 'Ada' } })
  await post('nowhere', select)
  await post('customers', select, { token: null })
  const samples = await read(service)
  const count = (labels: Record<string, string>) => valueOf(samples, 'row_query_requests_total', labels)
  const database = 'shop'
  t.equal(count({ database, verb: 'select', status: '200', code: '' }), 3)
  t.equal(count({ database, verb: 'update', status: '200', code: '' }), 1)
  t.equal(count({ database, verb: 'insert', status: '409', code: 'UNIQUE_VIOLATION' }), 1)
  t.equal(count({ database, verb: 'select', status: '404', code: 'TABLE_NOT_FOUND' }), 1)
  t.equal(count({ database, verb: '', status: '401', code: 'UNAUTHENTICATED' }), 1)

  t.equal(valueOf(samples, 'row_query_request_duration_seconds_count', { database, verb: 'select' }), 4)
  t.equal(
    valueOf(samples, 'row_query_database_duration_seconds_count', { database, verb: 'select' }), 3,
    'without refused requests'
  )
  t.equal(
    valueOf(samples, 'row_query_database_duration_seconds_count', { database, verb: 'insert' }), 1,
    'with those that the database refused'
  )
  const total = valueOf(samples, 'row_query_request_duration_seconds_sum', { database, verb: 'select' }) as number
  const inDatabase = valueOf(samples, 'row_query_database_duration_seconds_sum', { database, verb: 'select' }) as number
  t.ok(total > inDatabase && inDatabase > 0 && total < 60, `in seconds: ${total}, of them ${inDatabase}`)

  t.equal(valueOf(samples, 'row_query_statements_total', { database, source: 'built' }), 3)
  t.equal(valueOf(samples, 'row_query_statements_total', { database, source: 'kept' }), 2)
  t.equal(valueOf(samples, 'row_query_catalog_tables', { database }), 6)
  t.ok(valueOf(samples, 'row_query_catalog_age_seconds', { database }) as number < 60)
})

await onEachEngine(t, 'imports are counted while they run, and their rows, bytes and ' +
  'durations at their end', { schema: shop, options }, async (t, service) => {
  const database = 'shop'
  const value = async (name: string, labels = {}) => valueOf(await read(service), name, { database, ...labels })
  t.equal(await value('row_query_imports_running'), 0)
  const body = new PassThrough()
  const running = load(service, 'customers', body)
  await until('the import runs', async () => await value('row_query_imports_running') === 1)
  t.equal(await value('row_query_streams_running'), 0, 'it is no stream')
  body.end('email,name\na,b\nc,d\n')
  t.match(await running, { status: 200 })
  t.equal(await value('row_query_imports_running'), 0)
  t.match(await load(service, 'customers', 'email,name\ne,f\na,b\n', { query: '?transaction=batch' }), { status: 409 })
  t.equal(await value('row_query_import_rows_total'), 2, 'those that were written')
  t.equal(await value('row_query_import_bytes_total'), 38)
  t.equal(await value('row_query_import_duration_seconds_count'), 2)
  t.equal(await value('row_query_requests_total', { verb: 'insert', status: '200', code: '' }), 1)
  t.equal(await value('row_query_requests_total', { verb: 'insert', status: '409', code: 'UNIQUE_VIOLATION' }), 1)
})

await onEachEngine(t, 'operations and retries are counted', {
  schema: shop, options: { ...options, requestLog: true }, only: ['mariadb', 'mysql']
}, async (t, service) => {
  const { operate, proxy, log } = service as Service & { proxy: Proxy }
  let failures = 2
  proxy.onStatement = (sql) => sql.startsWith('update') && failures-- > 0 ? errorPacket(1213, '40001') : undefined
  await operate([{ table: 'customers', verb: 'select' }, {
    table: 'customers', verb: 'update', data: { name: 'x' }, filters: { id: 1 }
  }])
  const samples = await read(service)
  t.equal(
    valueOf(samples, 'row_query_requests_total', { database: 'shop', verb: 'operations', status: '200', code: '' }), 1
  )
  t.equal(valueOf(samples, 'row_query_operations_total', { database: 'shop' }), 2)
  t.equal(valueOf(samples, 'row_query_transaction_retries_total', { database: 'shop' }), 2)
  t.match(JSON.parse(log.find((line) => line.includes('"operations"')) as string), {
    verb: 'operations', operations: 2, retries: 2, rows: 5, status: 200, database: 'shop'
  })
})

await onEachEngine(t, 'the buckets of a ' +
  'histogram are cumulative', { schema: shop, options, only: ['sqlite'] }, async (t, service) => {
  for (let each = 0; each < 5; each++) await service.post('customers', select)
  const buckets = (await read(service)).filter(
    ({ name, labels }) => name === 'row_query_request_duration_seconds_bucket' && labels['verb'] === 'select'
  )
  const values = buckets.map(({ value }) => value)
  t.equal(buckets[0]?.labels['le'], '0.0005')
  t.equal(buckets.at(-1)?.labels['le'], '+Inf')
  t.same(values, [...values].sort((a, b) => a - b))
  t.equal(values.at(-1), 5)
  service.server.rows.registry.resetMetrics()
  t.notOk(
    valueOf(await read(service), 'row_query_request_duration_seconds_count', { verb: 'select' }), 'reset like any other'
  )
})

await onEachEngine(t, 'names that clients invent do ' +
  'not create series', { schema: shop, options, only: ['sqlite'] }, async (t, service) => {
  const ask = async (name: string) => {
    await service.post(name, select)
    await service.post('customers', select, { database: name })
    await service.post('customers', { verb: name })
    await service.post('customers', select, { token: name })
    await service.post('customers', select, { method: 'GET' })
    await service.server.app.inject(`/api/${name}/${name}/${name}`)
  }
  await ask('anything')
  const before = await read(service)
  for (const name of ['something', 'constructor', '__proto__', '"} 1']) await ask(name)
  const after = await read(service)
  t.same(after.map(({ name, labels }) => ({ name, labels })), before.map(({ name, labels }) => ({ name, labels })))
  t.notMatch(JSON.stringify(after), /anything|something|constructor|proto|customers/)
})

await onEachEngine(t, 'connections are counted as open, idle and in use, with the waiting requests, their waits ' +
  'and failed attempts', {
  schema: shop, options, database: { pool: { size: 2 } }, only: ['mariadb', 'mysql']
}, async (t, service) => {
  const { post, proxy, sql } = service
  const pool = async () => {
    const samples = await read(service)
    const of = (name: string) => valueOf(samples, `row_query_${name}`, { database: 'shop', pool: 'primary' })
    return {
      size: of('pool_size'),
      open: of('pool_open'),
      idle: of('pool_idle'),
      inUse: of('pool_in_use'),
      waiting: of('pool_waiting'),
      waits: of('pool_waits_total'),
      seconds: of('pool_wait_seconds_total'),
      failures: of('connect_failures_total')
    }
  }
  t.match(await pool(), { size: 2, open: 1, idle: 1, inUse: 0, waiting: 0, failures: 0 })
  const { waits } = await pool()
  await sql('lock tables orders write')
  const answers = Array.from({ length: 5 }, () => post('orders', select))
  await until('all are there', async () => (await pool()).waiting === 3)
  t.match(await pool(), { open: 2, idle: 0, inUse: 2 })
  await sleep(50)
  await sql('unlock tables')
  for (const answer of answers) t.equal((await answer).status, 200)
  const after = await pool()
  t.match(after, { open: 2, idle: 2, inUse: 0, waiting: 0 })
  t.equal((after.waits as number) - (waits as number), 4, 'without the request that found an idle connection')
  t.ok((after.seconds as number) >= 3 * 0.05 && (after.seconds as number) < 60, `${after.seconds}`)
  await proxy?.close()
  await until('refused', async () => (await post('orders', select)).status !== 200)
  t.ok((await pool()).failures as number > 0)
})

await onEachEngine(t, 'each replica has its own series, and a catalog that has not ' +
  'been read has none', { schema: shop, options, only: ['mariadb', 'mysql'] }, async (t, { url }) => {
  const away = Object.assign(new URL(url), { port: '1' }).href
  const service = await startService(t, away, { options, database: { replicas: [url, url] } })
  const samples = await read(service)
  t.same(samples.filter(({ name }) => name === 'row_query_pool_size').map(({ labels }) => labels['pool']), [
    'primary', 'replica-1', 'replica-2'
  ])
  t.ok(valueOf(samples, 'row_query_connect_failures_total', { pool: 'primary' }) as number > 0)
  t.equal(valueOf(samples, 'row_query_connect_failures_total', { pool: 'replica-1' }), 0)
  t.equal(valueOf(samples, 'row_query_catalog_tables'), undefined)
})

const limited = tokenOf('limited', { databases: { shop: '*' } })

await onEachEngine(t, 'on the main port, metrics require a token for every database', {
  schema: shop, options, tokens: [limited], only: ['sqlite']
}, async (t, { server: { app } }) => {
  const get = async (token?: string) =>
    await app.inject({ url: '/metrics', ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }) })
  t.match(await get(), { statusCode: 401, headers: { 'www-authenticate': 'Bearer' } })
  t.match((await get('limited')).json(), { error: { code: 'NOT_FOUND' } })
  const answer = await get(TOKEN)
  t.match(answer, {
    statusCode: 200, headers: { 'content-type': /^text\/plain; version=0\.0\.4/, 'x-request-id': String }
  })
  const samples = parseMetrics(answer.payload)
  t.equal(valueOf(samples, 'row_query_build_info', { node: process.version }), 1)
  t.ok(valueOf(samples, 'process_resident_memory_bytes') as number > 0, "and Node's own")
})

await onEachEngine(t, 'invalid tokens at the path of metrics are failed logins', {
  schema: shop, only: ['sqlite'], options: { ...options, failedLogins: { max: 3 } }, tokens: [limited]
}, async (t, { server: { app } }) => {
  const get = async (token?: string): Promise<number> => (await app.inject({
    url: '/metrics', ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } })
  })).statusCode
  t.same([
    await get(), await get('a'), await get('limited'), await get('b'), await get('c'), await get('d'), await get(TOKEN),
    await get()
  ], [401, 401, 404, 401, 401, 429, 429, 401])
})

await onEachEngine(t, 'without the setting ' +
  'there are no metrics', { schema: shop, only: ['sqlite'] }, async (t, { server: { app, rows }, post }) => {
  await post('customers', select)
  t.equal((await app.inject({ url: '/metrics', headers: { authorization: `Bearer ${TOKEN}` } })).statusCode, 404)
  t.same(parseMetrics(await rows.registry.metrics()), [])
})

await onEachEngine(t, "a host app's own registry is left alone, and shows ours " +
  'where it is merged', { schema: shop, options, only: ['sqlite'] }, async (t, { server: { rows }, post }) => {
  const registry = new Registry()
  new Counter({ name: 'host_things_total', help: 'of the host', registers: [registry] }).inc()
  await post('customers', select)
  t.same(parseMetrics(await registry.metrics()).map(({ name }) => name), ['host_things_total'])
  const merged = parseMetrics(await Registry.merge([registry, rows.registry]).metrics())
  t.equal(valueOf(merged, 'host_things_total'), 1)
  t.equal(valueOf(merged, 'row_query_requests_total', { status: '200' }), 1)
  t.equal(valueOf(merged, 'row_query_request_duration_seconds_count', { verb: 'select' }), 1)
  t.match(await rows.registry.getMetricsAsJSON(), [{ name: String }], 'as JSON too')
})
