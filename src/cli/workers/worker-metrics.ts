import {
  AggregatorRegistry, Counter, Gauge, Registry, type MetricObjectWithValues, type MetricValue
} from 'prom-client'
import { addLogMetric } from '../../telemetry/prometheus.ts'

/** The metrics of one process, as `registry.getMetricsAsJSON()` returns them. */
export type Snapshot = Array<MetricObjectWithValues<MetricValue<string>>>

/** How long to wait for the metrics of a worker, in milliseconds; later its previous ones are used. */
const PATIENCE = 1000

export interface MeasuredWorker {
  /** Asks for the metrics; `noteSnapshot` gets the reply. */
  measure (): void
}

/** The metrics of all workers, including those that have ended. */
export class WorkerMetrics {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE
  readonly #own = new Registry()
  readonly #exits: Counter
  readonly #snapshots = new Map<MeasuredWorker, Snapshot>()
  readonly #awaited = new Map<MeasuredWorker, () => void>()
  #ended: Promise<Snapshot> = Promise.resolve([])
  #underWay: Promise<string> | undefined

  constructor () {
    const snapshots = this.#snapshots
    this.#own.registerMetric(new Gauge({
      name: 'row_query_workers',
      help: 'Worker processes that answer requests',
      registers: [],
      collect () { this.set(snapshots.size) }
    }))
    addLogMetric(this.#own)
    this.#exits = new Counter({
      name: 'row_query_worker_exits_total',
      help: 'Worker processes that ended although the service was not shutting down',
      registers: [this.#own]
    })
  }

  /** Adds a worker that answers requests from now on. */
  add (worker: MeasuredWorker): void {
    this.#snapshots.set(worker, [])
  }

  noteSnapshot (worker: MeasuredWorker, snapshot: Snapshot): void {
    if (this.#snapshots.has(worker)) this.#snapshots.set(worker, snapshot)
    this.#awaited.get(worker)?.()
  }

  /** Removes a worker that has ended. Its counts since its last snapshot are lost. */
  remove (worker: MeasuredWorker): void {
    const last = this.#snapshots.get(worker)
    this.#exits.inc()
    this.#awaited.get(worker)?.()
    if (!this.#snapshots.delete(worker) || last === undefined) return
    this.#ended = this.#ended.then((ended) => keepCounts([ended, last]))
  }

  /** Returns the sum in the text format of Prometheus. Concurrent calls share one. */
  metrics (): Promise<string> {
    this.#underWay ??= this.#measure().finally(() => { this.#underWay = undefined })
    return this.#underWay
  }

  async #measure (): Promise<string> {
    await Promise.all(Array.from(this.#snapshots.keys(), (worker) => this.#ask(worker)))
    // both are taken at the same time, so that each worker is in exactly one of them
    const [running, ended] = [[...this.#snapshots.values()], this.#ended]
    return await sumMetrics([...running, await ended, await this.#own.getMetricsAsJSON()]).metrics()
  }

  #ask (worker: MeasuredWorker): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        this.#awaited.delete(worker)
        resolve()
      }
      const timer = setTimeout(end, PATIENCE)
      this.#awaited.set(worker, end)
      worker.measure()
    })
  }
}

/** Adds up each metric by its `aggregator`, which is the sum by default. */
function sumMetrics (snapshots: readonly Snapshot[]): Registry {
  return AggregatorRegistry.aggregate([...snapshots])
}

/**
 * Returns the counters and histograms of processes that have ended. Without them the sums would decrease, and
 * Prometheus would take the rest for an increase since a restart.
 */
async function keepCounts (snapshots: readonly Snapshot[]): Promise<Snapshot> {
  const sum = await sumMetrics(snapshots).getMetricsAsJSON()
  return sum.filter(({ type }) => String(type) !== 'gauge')
}
