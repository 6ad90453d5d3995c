/** Metrics of databases, connections and catalogs, whose current values each scrape reads. */
import { Counter, Gauge, type LabelValues, type MetricConfiguration, type Registry } from 'prom-client'
import type { Catalog } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { PoolUse } from '../dialects/dialect.ts'

type Metric = typeof Gauge<string> | typeof Counter<string>

/** The present values, each with its labels. */
type Values = Iterable<readonly [LabelValues<string>, number]>

/** Adds the metrics of these databases to a registry. */
export function addDatabaseMetrics (registry: Registry, databases: ReadonlyMap<string, Database>): void {
  const add = (Metric: Metric, metric: MetricConfiguration<string>, read: () => Values) => new Metric({
    ...metric,
    registers: [registry],
    collect () {
      this.reset()
      for (const [labels, value] of read()) this.inc(labels, value)
    }
  })
  const ofPools = (Metric: Metric, name: string, help: string, read: (use: PoolUse) => number) =>
    add(Metric, { name, help, labelNames: ['database', 'pool'] }, () => poolsOf(databases).map(([labels, use]) => [labels, read(use)]))
  const ofCatalogs = (name: string, help: string, read: (catalog: Catalog) => number) =>
    add(Gauge, { name, help, labelNames: ['database'], aggregator: 'max' /* of several workers */ }, () => [...databases].flatMap(([database, { latestCatalog }]) => {
      const catalog = latestCatalog()
      return catalog === undefined ? [] : [[{ database }, read(catalog)]]
    }))
  ofPools(Gauge, 'row_query_pool_size', 'Maximum number of connections', ({ size }) => size)
  ofPools(Gauge, 'row_query_pool_open', 'Open connections', ({ open }) => open)
  ofPools(Gauge, 'row_query_pool_idle', 'Open connections that are not in use', ({ idle }) => idle)
  ofPools(Gauge, 'row_query_pool_in_use', 'Connections that run a statement', ({ open, idle }) => open - idle)
  ofPools(Gauge, 'row_query_pool_ending', 'Connections in use with a statement that timed out and has not ended in the database yet', ({ ending }) => ending)
  ofPools(Gauge, 'row_query_pool_waiting', 'Requests that are waiting for a connection', ({ waiting }) => waiting)
  ofPools(Counter, 'row_query_pool_waits_total', 'Requests that had to wait for a connection', ({ waits }) => waits)
  ofPools(Counter, 'row_query_pool_wait_seconds_total', 'Total time that requests have waited for a connection, in seconds', ({ waited }) => waited / 1000)
  ofPools(Counter, 'row_query_connect_failures_total', 'Failed attempts to connect', ({ failures }) => failures)
  ofCatalogs('row_query_catalog_tables', 'Tables and views in the catalog; absent until the catalog has been read once', ({ tables }) => tables.size)
  ofCatalogs('row_query_catalog_age_seconds', 'Time since the catalog was read, in seconds; absent until it has been read once', ({ loadedAt }) => (Date.now() - loadedAt) / 1000)
  add(Gauge, { name: 'row_query_streams_running', help: 'Streams that run', labelNames: ['database'] }, () => [...databases].map(([database, { streams }]) => [{ database }, streams.running]))
  add(Counter, {
    name: 'row_query_statements_total',
    help: 'Statements, by source of their SQL text: kept (from the cache) or built',
    labelNames: ['database', 'source']
  }, () => [...databases].flatMap(([database, { statementCounts: { kept, built } }]) => [[{ database, source: 'kept' }, kept], [{ database, source: 'built' }, built]]))
}

/** Returns the pools of all databases: "primary", "replica-1" and so on. SQLite has none. */
function poolsOf (databases: ReadonlyMap<string, Database>): Array<readonly [LabelValues<string>, PoolUse]> {
  return [...databases].flatMap(([database, { dialect }]) =>
    (dialect.poolUse?.() ?? []).map((use, index) => [{ database, pool: index === 0 ? 'primary' : `replica-${index}` }, use] as const))
}
