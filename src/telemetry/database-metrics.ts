/** What databases, connections and catalogs are like at a scrape. Nothing is counted here: it is read where it is kept. */
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
    help: 'Statements by where their text came from: kept from an earlier request, or built',
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

/** The pools of all databases: "primary", "replica-1" and so on. SQLite has none. */
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
  gauge('row_query_pool_size', 'Connections that there may be', ({ size }) => size)
  gauge('row_query_pool_open', 'Connections that are open', ({ open }) => open)
  gauge('row_query_pool_idle', 'Connections that are open and not in use', ({ idle }) => idle)
  gauge('row_query_pool_in_use', 'Connections that a statement runs on', ({ open, idle }) => open - idle)
  gauge('row_query_pool_ending', 'Connections in use whose statement was given up and has not ended in the database yet', ({ ending }) => ending)
  gauge('row_query_pool_waiting', 'Requests that wait for a connection', ({ waiting }) => waiting)
  counter('row_query_pool_waits_total', 'Requests that had to wait for a connection', ({ waits }) => waits)
  counter('row_query_pool_wait_seconds_total', 'Time that requests have waited for a connection together, in seconds', ({ waited }) => waited / 1000)
  counter('row_query_connect_failures_total', 'Connections that could not be made', ({ failures }) => failures)
}

function addCatalogs (registry: Registry, databases: Databases): void {
  const gauge = (name: string, help: string, read: (catalog: NonNullable<ReturnType<Database['latestCatalog']>>) => number) => new Gauge({
    name,
    help,
    labelNames: ['database'],
    registers: [registry],
    collect () {
      for (const [database, { latestCatalog }] of databases) {
        const catalog = latestCatalog()
        if (catalog !== undefined) this.set({ database }, read(catalog))
      }
    }
  })
  gauge('row_query_catalog_tables', 'Tables and views that are known; absent while the catalog could not be read even once', ({ tables }) => tables.size)
  gauge('row_query_catalog_age_seconds', 'Time since the catalog was read, in seconds; absent as above', ({ loadedAt }) => (Date.now() - loadedAt) / 1000)
}
