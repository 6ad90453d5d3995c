import { Counter, Gauge, Histogram, Registry } from 'prom-client'
import t from 'tap'
import { WorkerMetrics } from '../../../src/cli/workers/metrics.ts'
import { parseMetrics, valueOf } from '../../support/metrics.ts'

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

const read = async (metrics: WorkerMetrics) => {
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
  const value = await read(metrics)
  t.same([value('requests', { verb: 'select' }), value('requests', { verb: 'insert' })], [5, 1])
  t.same([value('seconds_bucket', { le: '1' }), value('seconds_bucket', { le: '2' }), value('seconds_bucket', { le: '+Inf' }), value('seconds_sum')], [1, 2, 2, 2])
  t.same([value('open'), value('version'), value('row_query_workers'), value('row_query_worker_exits_total')], [9, 1, 2, 0])
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
  const value = await read(metrics)
  t.same([value('requests', { verb: 'select' }), value('seconds_count'), value('open')], [31, 3, 1])
  t.same([value('row_query_workers'), value('row_query_worker_exits_total')], [1, 2])
  metrics.remove(workers[2].worker)
  t.equal((await read(metrics))('requests', { verb: 'select' }), 31)
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
  const started = performance.now()
  t.equal((await read(metrics))('requests', { verb: 'select' }), 3)
  t.ok(performance.now() - started < 3000, 'it waits for a second only')
  const scrape = metrics.metrics()
  setTimeout(() => metrics.remove(one.worker), 50)
  const text = await Promise.race([scrape, new Promise<string>((resolve) => setTimeout(() => resolve('too late'), 900))])
  t.equal(valueOf(parseMetrics(text), 'requests', { verb: 'select' }), 3, 'a worker that ends is not waited for')
})
