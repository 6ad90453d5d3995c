/** What an operator asks: whether the service is ready, and its metrics. */
import Fastify from 'fastify'
import t from 'tap'
import { createRowQuery } from '../../src/index.ts'
import { parseMetrics, valueOf } from '../support/metrics.ts'
import { createProxy } from '../support/recorder.ts'
import { onEachEngine, type Service, sharedOnEachEngine, startService } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

const health = async ({ server }: Pick<Service, 'server'>, path: string) => {
  const { statusCode, payload, headers } = await server.app.inject(`/health/${path}`)
  return { status: statusCode, text: payload, headers }
}
const ready = async (service: Pick<Service, 'server'>) => (await health(service, 'ready')).status === 200

await onEachEngine(t, 'a server with available databases is alive and ' +
  'ready, without a token', { schema: shop }, async (t, service) => {
  for (const path of ['live', 'ready']) {
    t.match(await health(service, path), {
      status: 200,
      text: /^\{"status":"ok"[,}]/,
      headers: { 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' }
    })
  }
})

const only = ['mariadb', 'mysql'] as const

/** The service is ready after each test. */
const test = sharedOnEachEngine(t, { schema: shop, only })

await test('this machine is told what the servers of the databases are, and nobody else', async (
  t, { server, engine, sql }
) => {
  const ask = async (headers: Record<string, string>, remoteAddress: string) =>
    (await server.app.inject({ url: '/health/ready', headers, remoteAddress })).json()
  const [{ version }] = await sql('select version() as version')
  const name = engine === 'mariadb' ? 'MariaDB' : 'MySQL'
  t.same(await ask({}, '127.0.0.1'), {
    status: 'ok', databases: { shop: { engine: name, version, ignores: {}, lacks: [] } }
  })
  t.same(await ask({}, '10.0.0.1'), { status: 'ok' })
  t.same(await ask({ 'x-forwarded-for': '127.0.0.1' }, '127.0.0.1'), { status: 'ok' })
  t.same(await ask({ host: 'evil.example' }, '127.0.0.1'), { status: 'ok' })
})

await onEachEngine(t, 'while the database is down the server is alive and not ready, without a ' +
  'reason in the answer', { schema: shop, only }, async (t, service) => {
  const { proxy, url } = service
  t.ok(await ready(service))
  await proxy?.close()
  await until('noticed', async () => !(await ready(service)))
  t.match(await health(service, 'ready'), { status: 503, text: '{"status":"unavailable"}' })
  t.match(await health(service, 'live'), { status: 200 })
  const back = await createProxy((proxy as NonNullable<typeof proxy>).target, Number(new URL(url).port))
  t.teardown(() => back.close())
  await until('ready again', () => ready(service))
})

await test('a network that drops packets makes the server not ready within a limited time', async (t, service) => {
  t.ok(await ready(service))
  const proxy = service.proxy as NonNullable<typeof service.proxy>
  proxy.silent = true
  await until('noticed', async () => !(await ready(service)))
  proxy.silent = false
  await until('ready again', () => ready(service))
})

await test('a server that started before its database is ready once the database is up', async (t, { proxy, url }) => {
  const { target } = proxy as NonNullable<typeof proxy>
  const away = await createProxy(target)
  await away.close()
  const late = await startService(t, away.url)
  t.notOk(await ready(late))
  const back = await createProxy(target, Number(new URL(away.url).port))
  t.teardown(() => back.close())
  await until('ready', () => ready(late))
  t.not(url, away.url)
})

await onEachEngine(t, 'a pool without free connections counts as ready, and the check does not wait for it', {
  schema: shop, only, options: { metrics: true }, database: { pool: { size: 1 } }
}, async (t, service) => {
  const { sql, post } = service
  await sql('lock tables orders write')
  const answers = Array.from({ length: 3 }, () => post('orders', { verb: 'select' }))
  await until('two wait for the third', async () =>
    valueOf(parseMetrics(await service.server.rows.registry.metrics()), 'row_query_pool_waiting') === 2)
  t.ok(await ready(service))
  await sql('unlock tables')
  for (const answer of answers) t.equal((await answer).status, 200)
})

const stopping = { pool: { size: 2 }, statementTimeout: 200 }

await onEachEngine(t, 'a database that refuses every connection is not ready, also while the end of a ' +
  'statement is not confirmed', { schema: shop, only, database: stopping, options: { metrics: true } },
async (t, service) => {
  const { sql, post } = service
  const proxy = service.proxy as NonNullable<typeof service.proxy>
  await sql('lock tables orders write')
  proxy.killsNothing = true
  const answer = post('orders', { verb: 'select' })
  const metric = async (name: string) => valueOf(parseMetrics(await service.server.rows.registry.metrics()), name)
  await until('the statement is being stopped', async () => await metric('row_query_pool_ending') === 1)
  proxy.full = true
  await until('noticed', async () => !(await ready(service)), 4)
  t.equal(await metric('row_query_pool_ending'), 1, 'meanwhile nothing has ended')
  proxy.full = proxy.killsNothing = false
  await until('ready again', () => ready(service))
  await sql('unlock tables')
  t.equal((await answer).status, 504)
})

await onEachEngine(t, 'a pool with all connections being ' +
  'stopped is not ready', { schema: shop, only, database: { ...stopping, pool: { size: 1 } } }, async (t, service) => {
  const { sql, post } = service
  const proxy = service.proxy as NonNullable<typeof service.proxy>
  await sql('lock tables orders write')
  proxy.killsNothing = true
  const answer = post('orders', { verb: 'select' })
  await until('not ready', async () => !(await ready(service)))
  proxy.killsNothing = false
  await sql('unlock tables')
  await until('ready again', () => ready(service))
  await answer
})

t.test('isReady() is false before the plugin is registered and while the app closes', async (t) => {
  const rows = createRowQuery({ databases: { shop: { url: 'mysql://nobody@127.0.0.1:1/shop' } } })
  t.equal(await rows.isReady(), false)
  const app = Fastify()
  await app.register(rows.plugin)
  await app.ready()
  t.equal(await rows.isReady(), false, 'its database is away')
  await app.close()
  t.equal(await rows.isReady(), false)
})
