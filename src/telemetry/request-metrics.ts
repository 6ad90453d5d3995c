/** Requests by verb, database and outcome. Counted in numbers of our own, which prom-client reads at a scrape. */
import { Counter, type Registry } from 'prom-client'
import { obtain } from '../obtain.ts'
import { Durations, showDurations } from './durations.ts'
import type { Listener, RequestRecord } from './record.ts'

interface Outcome { readonly status: number, readonly code: string, count: number }

/** What is counted of one verb on one database. */
interface Series {
  readonly labels: { readonly verb: string, readonly database: string }
  /** By the code of the refusal, or the status where there is none. */
  readonly outcomes: Map<string | number, Outcome>
  readonly total: Durations
  readonly inDatabase: Durations
}

/** Adds the metrics to a registry. As many series as there are verbs, configured databases and codes, and no more. */
export function addRequestMetrics (registry: Registry): Listener {
  const byDatabase = new Map<string, Map<string, Series>>()
  const all = (): Series[] => Array.from(byDatabase.values(), (byVerb) => [...byVerb.values()]).flat()

  registry.registerMetric(new Counter({
    name: 'row_query_requests_total',
    help: 'Requests that were answered, by verb, database, HTTP status and error code',
    labelNames: ['verb', 'database', 'status', 'code'],
    registers: [],
    collect () {
      this.reset()
      for (const { labels, outcomes } of all()) for (const { status, code, count } of outcomes.values()) this.inc({ ...labels, status, code }, count)
    }
  }))
  showDurations(registry, {
    name: 'row_query_request_duration_seconds',
    help: 'Time from the head of a request to its answer, in seconds',
    labelNames: ['verb', 'database'],
    read: () => all().map(({ labels, total }) => [labels, total])
  })
  showDurations(registry, {
    name: 'row_query_database_duration_seconds',
    help: 'Part of it that was spent waiting for a connection and the database, of requests that sent a statement, in seconds',
    labelNames: ['verb', 'database'],
    read: () => all().filter(({ inDatabase }) => inDatabase.sum > 0).map(({ labels, inDatabase }) => [labels, inDatabase])
  })

  return { wants: () => true, tell: (record) => count(seriesFor(byDatabase, record), record) }
}

function seriesFor (byDatabase: Map<string, Map<string, Series>>, { database, verb }: RequestRecord): Series {
  const byVerb = obtain(byDatabase, database, () => new Map<string, Series>())
  return obtain(byVerb, verb, () => ({ labels: { verb, database }, outcomes: new Map(), total: new Durations(), inDatabase: new Durations() }))
}

function count ({ outcomes, total, inDatabase }: Series, record: RequestRecord): void {
  const { status, refusal } = record
  obtain(outcomes, refusal?.code ?? status, () => ({ status, code: refusal?.code ?? '', count: 0 })).count++
  total.add(record.total / 1000)
  if (record.inDatabase !== undefined) inDatabase.add(record.inDatabase / 1000)
}
