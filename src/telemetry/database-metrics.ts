/** Metrics of databases, connections and catalogs. Each scrape reads the current values; nothing is counted here. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { Database } from '../databases/database.ts'
import type { PoolUse } from '../dialects/dialect.ts'

type Databases = ReadonlyMap<string, Database>

/** Adds the metrics of these databases to a registry. */
export function addDatabaseMetrics (registry: Registry, databases: Databases): void {
  addPools(registry, databases)
  addCatalogs(registry, databases)
  registry.registerMetric(new Counter({
    name: 'row_query_statements_total',
    help: 'Statements, by source of their SQL text: kept (from the cache) or built',
    labelNames: ['database', 'source'],
    registers: [],
    collect () {
      this.reset()
      for (const [database, { statements: { kept, built } }] of databases) {
        this.inc({ database, source: 'kept' }, kept)
        this.inc({ database, source: 'built' }, built)
      }
    }
  }))
}

interface PoolLabels { readonly database: string, readonly pool: string }

/** Returns the pools of all databases: "primary", "replica-1" and so on. SQLite has none. */
function poolsOf (databases: Databases): Array<readonly [PoolLabels, PoolUse]> {
  return Array.from(databases, ([database, { dialect }]) =>
    (dialect.poolUse?.() ?? []).map((use, index) => [{ database, pool: index === 0 ? 'primary' : `replica-${index}` }, use] as const)).flat()
}

function addPools (registry: Registry, databases: Databases): void {
  const labelNames = ['database', 'pool'] as const
  const gauge = (name: string, help: string, read: (use: PoolUse) => number) => new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect () { for (const [labels, use] of poolsOf(databases)) this.set(labels, read(use)) }
  })
  const counter = (name: string, help: string, read: (use: PoolUse) => number) => new Counter({
    name,
    help,
    labelNames,
    registers: [registry],
    collect () {
      this.reset()
      for (const [labels, use] of poolsOf(databases)) this.inc(labels, read(use))
    }
  })
  gauge('row_query_pool_size', 'Maximum number of connections', ({ size }) => size)
  gauge('row_query_pool_open', 'Open connections', ({ open }) => open)
  gauge('row_query_pool_idle', 'Open connections that are not in use', ({ idle }) => idle)
  gauge('row_query_pool_in_use', 'Connections that run a statement', ({ open, idle }) => open - idle)
  gauge('row_query_pool_ending', 'Connections in use with a statement that timed out and has not ended in the database yet', ({ ending }) => ending)
  gauge('row_query_pool_waiting', 'Requests that are waiting for a connection', ({ waiting }) => waiting)
  counter('row_query_pool_waits_total', 'Requests that had to wait for a connection', ({ waits }) => waits)
  counter('row_query_pool_wait_seconds_total', 'Total time that requests have waited for a connection, in seconds', ({ waited }) => waited / 1000)
  counter('row_query_connect_failures_total', 'Failed attempts to connect', ({ failures }) => failures)
}

function addCatalogs (registry: Registry, databases: Databases): void {
  const gauge = (name: string, help: string, read: (catalog: NonNullable<ReturnType<Database['latestCatalog']>>) => number) => new Gauge({
    name,
    help,
    labelNames: ['database'],
    aggregator: 'max', // of several workers
    registers: [registry],
    collect () {
      for (const [database, { latestCatalog }] of databases) {
        const catalog = latestCatalog()
        if (catalog !== undefined) this.set({ database }, read(catalog))
      }
    }
  })
  gauge('row_query_catalog_tables', 'Tables and views in the catalog; absent until the catalog has been read once', ({ tables }) => tables.size)
  gauge('row_query_catalog_age_seconds', 'Time since the catalog was read, in seconds; absent until it has been read once', ({ loadedAt }) => (Date.now() - loadedAt) / 1000)
}
