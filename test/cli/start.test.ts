// night: starts programs
/** What a start prints and sets, and the parts of several workers. */
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import { createGrant } from '../../src/access/grant.ts'
import { demoBanner, describeFirstContact } from '../../src/cli/serve.ts'
import { garbageFlags } from '../../src/cli/start-server.ts'
import { DEMO_REQUESTS } from '../../src/config/demo-requests.ts'
import { silenceSqliteWarning } from '../../src/cli/commands.ts'
import { WorkerMetrics } from '../../src/cli/workers/worker-metrics.ts'
import { nextPause } from '../../src/cli/workers/workers.ts'
import { readDocument } from '../support/markdown.ts'
import { runInProcess } from '../support/command.ts'
import { parseMetrics, valueOf } from '../support/metrics.ts'
import { TOKEN } from '../support/service.ts'

const at = { address: 'http://[::1]:81', prefix: '/rows', docs: false }
const everything = createGrant('me', { permissions: ['select'] })

t.test('the addresses, the tables and a request are shown', async (t) => {
  const tables = new Map([['shop', ['customers', 'orders']], ['crm', ['people']]])
  t.equal(describeFirstContact({ ...at, docs: true, tables, grants: [everything] }), `
  address  http://[::1]:81/rows/shop/{customers,orders}
           http://[::1]:81/rows/crm/{people}
  page     http://[::1]:81/rows/docs
  token    that of "me"; export it as TOKEN before you run this command

Try it:

  curl -s 'http://[::1]:81/rows/shop/customers' -H "Authorization: Bearer $TOKEN" \
-H 'Content-Type: application/json' -d '{"verb":"select","limit":3}'

`)
})

t.test('the request is one that a token may send', async (t) => {
  const tables = new Map([['shop', ['customers', 'orders']], ['crm', ['people']]])
  const writer = createGrant('writer', { permissions: ['insert'] })
  const reader = createGrant('reader', { permissions: ['select'], databases: { crm: ['people', 'gone'] } })
  const text = describeFirstContact({ ...at, tables, grants: [writer, reader] })
  t.match(text, "curl -s 'http://[::1]:81/rows/crm/people'")
  t.match(text, 'that of "reader"')
  for (const grants of [[], [writer]]) t.notMatch(describeFirstContact({ ...at, tables, grants }), 'curl')
})

t.test('names are safe in a terminal and a shell', async (t) => {
  const text = describeFirstContact({
    ...at, tables: new Map([['shop', ["it's $(a)/\u001b[2J"]]]), grants: [everything]
  })
  t.match(text, "{it's%20%24(a)%2F%1B%5B2J}")
  t.match(text, "'http://[::1]:81/rows/shop/it%27s%20%24(a)%2F%1B%5B2J'")
})

t.test('only the first databases and tables are listed, and what is not known is said', async (t) => {
  const names = Array.from({ length: 500 }, (_, index) => `t${index}`)
  const many = describeFirstContact({
    ...at, tables: new Map(names.map((name) => [name, names])), grants: [everything]
  })
  t.match(
    many, 'http://[::1]:81/rows/t9/{t0,t1,t2,t3,t4,t5,t6,t7,t8,t9,…}  (500 tables)\n           and 490 more databases\n'
  )
  t.ok(many.length < 2000)
  const none = describeFirstContact({
    ...at, tables: new Map([['empty', []], ['down', undefined]]), grants: [everything]
  })
  t.match(none, '/rows/empty/{table}  (there are no tables)\n')
  t.match(none, '/rows/down/{table}  (the database has not been read yet)\n')
  t.notMatch(none, 'curl')
})

// the demo

const where = { address: 'http://[::1]:81', prefix: '/rows', path: 'data/demo.db' }

t.test('the banner shows the created token in each request', async (t) => {
  const text = demoBanner({ ...where, isNew: true, docs: true, token: 'rq_made' })
  t.match(text, '\n  token    rq_made\n  page     http://[::1]:81/rows/docs#token=rq_made\n')
  t.equal(text.match(/curl -s http:\/\/\[::1\]:81\/rows\/demo\/\w+ -H "Authorization: Bearer rq_made"/g)?.length, 3)
  t.same(text.match(/(?<=\/rows\/requests\/)\w+/g), Object.keys(DEMO_REQUESTS))
})

t.test('the banner shows no configured token, and how to use one', async (t) => {
  const text = demoBanner({ ...where, isNew: false, docs: false, token: undefined })
  t.notMatch(text, '  page ')
  t.match(text, '\n  token    use a configured token: export it as TOKEN')
  t.equal(text.match(/"Authorization: Bearer \$TOKEN"/g)?.length, 3, 'it may not be one that calls the named requests')
})

// flags of V8

const NODE_22 = '12.4.254.21-node.57'

t.test('this version of Node supports the flags', async (t) => {
  t.doesNotThrow(() => execFileSync(process.execPath, [...garbageFlags(process.versions.v8), '-e', '0']))
})

t.test('an older V8 gets only the flags that it supports', async (t) => {
  t.strictSame(garbageFlags(NODE_22), ['--no-allocation-site-pretenuring'])
})

t.test('the documents show the same flags for an app', async (t) => {
  t.match(readDocument('docs/deployment.md'), `node ${garbageFlags('13.6').join(' ')} app.js`)
})

t.test('only the warning of Node 22 about node:sqlite is suppressed', async (t) => {
  const { emitWarning } = process
  t.teardown(() => { process.emitWarning = emitWarning })
  silenceSqliteWarning()
  const warned = once(process, 'warning')
  process.emitWarning('SQLite is an experimental feature and might change at any time', 'ExperimentalWarning')
  process.emitWarning(new Error('another'))
  t.match(await warned, [{ message: 'another' }])
})

// workers

t.test('the pause doubles up to half a minute, and starts again after a worker that ' +
  'has run for a minute', async (t) => {
  const pauses: number[] = []
  for (let count = 0; count < 11; count++) pauses.push(nextPause(pauses.at(-1), 59_999))
  t.same(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000])
  t.equal(nextPause(30_000, 60_000), 100)
})

/** A worker that has counted some requests, and replies unless it hangs. */
function createWorker (metrics: WorkerMetrics) {
  const registry = new Registry()
  const requests = new Counter({ name: 'requests', help: 'h', labelNames: ['verb'], registers: [registry] })
  const seconds = new Histogram({ name: 'seconds', help: 'h', buckets: [1, 2], registers: [registry] })
  const open = new Gauge({ name: 'open', help: 'h', registers: [registry] })
  const version = new Gauge({ name: 'version', help: 'h', aggregator: 'first', registers: [registry] })
  version.set(1)
  const worker = {
    asked: 0,
    hangs: false,
    measure () {
      worker.asked++
      if (!worker.hangs) registry.getMetricsAsJSON().then((snapshot) => metrics.noteSnapshot(worker, snapshot))
    }
  }
  metrics.add(worker)
  return { worker, requests, seconds, open }
}

const readMetrics = async (metrics: WorkerMetrics) => {
  const samples = parseMetrics(await metrics.metrics())
  return (name: string, labels?: Record<string, string>) => valueOf(samples, name, labels)
}

t.test('counters, histograms and gauges of all workers are added up', async (t) => {
  const metrics = new WorkerMetrics()
  const [one, other] = [createWorker(metrics), createWorker(metrics)]
  one.requests.inc({ verb: 'select' }, 2)
  other.requests.inc({ verb: 'select' }, 3)
  other.requests.inc({ verb: 'insert' }, 1)
  one.seconds.observe(0.5)
  other.seconds.observe(1.5)
  one.open.set(4)
  other.open.set(5)
  const value = await readMetrics(metrics)
  t.same([value('requests', { verb: 'select' }), value('requests', { verb: 'insert' })], [5, 1])
  t.same([value('seconds_bucket', { le: '1' }), value('seconds_bucket', {
    le: '2'
  }), value('seconds_bucket', { le: '+Inf' }), value('seconds_sum')], [1, 2, 2, 2])
  t.same([value('open'), value('version'), value('row_query_workers'), value('row_query_worker_exits_total')], [
    9, 1, 2, 0
  ])
})

t.test('what a worker that has ended had counted stays in the sums, and what it had open does not', async (t) => {
  const metrics = new WorkerMetrics()
  const workers = [createWorker(metrics), createWorker(metrics), createWorker(metrics)] as const
  for (const { requests, seconds, open } of workers) {
    requests.inc({ verb: 'select' }, 10)
    seconds.observe(1)
    open.set(1)
  }
  await metrics.metrics()
  metrics.remove(workers[0].worker)
  metrics.remove(workers[1].worker)
  metrics.noteSnapshot(workers[0].worker, [])
  workers[2].requests.inc({ verb: 'select' })
  const value = await readMetrics(metrics)
  t.same([value('requests', { verb: 'select' }), value('seconds_count'), value('open')], [31, 3, 1])
  t.same([value('row_query_workers'), value('row_query_worker_exits_total')], [1, 2])
  metrics.remove(workers[2].worker)
  t.equal((await readMetrics(metrics))('requests', { verb: 'select' }), 31)
})

t.test('a worker that does not reply counts with its previous metrics, and concurrent scrapes are one', async (t) => {
  const metrics = new WorkerMetrics()
  const [one, other] = [createWorker(metrics), createWorker(metrics)]
  one.requests.inc({ verb: 'select' })
  other.requests.inc({ verb: 'select' })
  const [first, second] = await Promise.all([metrics.metrics(), metrics.metrics()])
  t.equal(first, second)
  t.equal(one.worker.asked, 1)
  one.worker.hangs = true
  other.requests.inc({ verb: 'select' })
  t.equal(valueOf(parseMetrics(await metrics.metrics()), 'requests', { verb: 'select' }), 3, 'after a second')
  const without = metrics.metrics()
  metrics.remove(one.worker)
  t.equal(
    valueOf(parseMetrics(await without), 'requests', { verb: 'select' }), 3, 'a worker that ends is not waited for'
  )
})

// addresses

t.test('a port that is in use, and a host that is not one of this machine, are refused in one line', async (t) => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  t.teardown(() => { other.close() })
  const { port } = other.address() as AddressInfo
  const refused: Array<[env: Record<string, string>, line: string]> = [
    [{ PORT: String(port) }, `port: is in use by another program (127.0.0.1, port ${port})`],
    [
      { PORT: '0', ROW_QUERY_METRICS_PORT: String(port) },
      `metrics.port: is in use by another program (127.0.0.1, port ${port})`
    ],
    [{ HOST: '192.0.2.1' }, 'host: is not an address of this machine (192.0.2.1, port 3000)'],
    [{ HOST: 'x'.repeat(300) }, `host: cannot listen (EINVAL) (${'x'.repeat(300)}, port 3000)`]
  ]
  for (const [env, line] of refused) {
    t.same(await runInProcess(t as Test, ['serve'], {
      env: { DATABASE_URL: 'sqlite::memory:', API_TOKEN: TOKEN, LOG_LEVEL: 'silent', ...env }
    }), { code: 2, stdout: '', stderr: `row-query: ${line}\n` })
  }
})
