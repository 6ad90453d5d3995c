// night: starts programs
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { parseMetrics, valueOf } from '../support/metrics.ts'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'

const select = { verb: 'select', limit: 1 }

const start = (t: Test, config: object) => ({ cwd: t.testdir({ 'row-query.json': JSON.stringify(config) }), env: { ROW_QUERY_CONFIG: 'row-query.json', API_TOKEN: TOKEN } })

t.test('metrics on a separate port need no token and are not on the main port', async (t) => {
  const server = await serveRowQuery(t, start(t, { metrics: { port: 0 } }))
  const [, url = ''] = /metrics at (http:[^"]+)/.exec(await server.printed(/metrics at/)) as RegExpExecArray
  t.match(await server.post('/api/demo/products', select, TOKEN), { status: 200 })
  const answer = await fetch(url)
  t.equal(answer.status, 200)
  const samples = parseMetrics(await answer.text())
  t.equal(valueOf(samples, 'row_query_requests_total', { database: 'demo', verb: 'select', status: '200' }), 1)
  t.equal((await fetch(new URL('/api/demo/products', url), { method: 'POST' })).status, 404, 'nothing else is there')
  t.equal((await fetch(`${server.address}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).status, 404)
  t.match(await server.stop(), { code: 0, stderr: '' })
  await t.rejects(fetch(url), 'closed with the server')
})

t.test('metrics on the main port, and no metrics', async (t) => {
  for (const [metrics, status] of [[true, 200], [false, 404]] as const) {
    const server = await serveRowQuery(t, start(t, { metrics }))
    t.equal((await fetch(`${server.address}/metrics`, { headers: { authorization: `Bearer ${TOKEN}` } })).status, status)
    t.match(await server.stop(), { code: 0, stderr: '' })
  }
})

t.test('an unavailable port for metrics is a configuration error', async (t) => {
  const other = createServer()
  await once(other.listen(0, '127.0.0.1'), 'listening')
  t.teardown(() => { other.close() })
  const { port } = other.address() as AddressInfo
  t.match(await runRowQuery(t, ['serve'], { ...start(t, { metrics: { port }, port: 0 }) }), {
    code: 2,
    stderr: `row-query: metrics.port: is in use by another program (127.0.0.1, port ${port})\n`
  })
  t.match(await runRowQuery(t, ['serve'], { ...start(t, { metrics: { prot: 1 } }) }), { code: 2, stderr: /^row-query: metrics\.port: is required .*\nrow-query: metrics\.prot: is not a setting; the settings are host, port$/m })
})

t.test('the other commands accept a configuration with server settings', async (t) => {
  const config = { metrics: { port: 0 }, shutdown: { delay: 5 }, requestLog: false, host: '0.0.0.0', prefix: '/rows' }
  const { cwd, env } = start(t, config)
  const server = await serveRowQuery(t, { cwd, env })
  await server.stop()
  const check = await runRowQuery(t, ['check'], { cwd, env: { ...env, DATABASE_URL: 'sqlite:data/demo.db' } })
  t.match(check, { code: 0, stderr: '' })
  const { code, stdout } = await runRowQuery(t, ['openapi'], { cwd, env: { ...env, DATABASE_URL: 'sqlite:data/demo.db' } })
  t.match({ code, servers: stdout }, { code: 0, servers: '/rows' })
})

t.test('requestLog false disables the log lines of requests', async (t) => {
  const server = await serveRowQuery(t, start(t, { requestLog: false }))
  t.match(await server.post('/api/demo/products', select, TOKEN), { status: 200 })
  t.notMatch((await server.stop()).stdout, '"msg":"request"')
})
