/** The metrics of the service. The only module that the option `metrics` loads. */
import { createRequire } from 'node:module'
import { Counter, Gauge, Histogram, type LabelValues, type MetricConfiguration, type Registry } from 'prom-client'
import type { Catalog } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { PoolUse } from '../dialects/dialect.ts'
import { lostLines } from './log.ts'
import type { Collector, RequestRecord } from './record.ts'

// Metrics of databases, connections and catalogs, whose current values each scrape reads.

type Metric = typeof Gauge<string> | typeof Counter<string>

function addDatabaseMetrics (registry: Registry, databases: ReadonlyMap<string, Database>): void {
  // `read`: the current values, each with its labels
  const add = (
    Metric: Metric,
    metric: MetricConfiguration<string>,
    read: () => Iterable<readonly [LabelValues<string>, number]>
  ) => new Metric({
    ...metric,
    registers: [registry],
    collect () {
      this.reset()
      for (const [labels, value] of read()) this.inc(labels, value)
    }
  })
  const ofPools = (Metric: Metric, name: string, help: string, read: (use: PoolUse) => number) =>
    add(Metric, { name, help, labelNames: ['database', 'pool'] }, () =>
      poolsOf(databases).map(([labels, use]) => [labels, read(use)])
    )
  const ofCatalogs = (name: string, help: string, read: (catalog: Catalog) => number) =>
    add(Gauge, { name, help, labelNames: ['database'], aggregator: 'max' /* of several workers */ }, () =>
      [...databases].flatMap(([database, { catalog }]) =>
        catalog === undefined ? [] : [[{ database }, read(catalog)]])
    )
  ofPools(Gauge, 'row_query_pool_size', 'Maximum number of connections', ({ size }) => size)
  ofPools(Gauge, 'row_query_pool_open', 'Open connections', ({ open }) => open)
  ofPools(Gauge, 'row_query_pool_idle', 'Open connections that are not in use', ({ idle }) => idle)
  ofPools(Gauge, 'row_query_pool_in_use', 'Connections that run a statement', ({ open, idle }) => open - idle)
  ofPools(
    Gauge,
    'row_query_pool_ending',
    'Connections in use with a statement that timed out and has not ended in the database yet',
    ({ ending }) => ending
  )
  ofPools(Gauge, 'row_query_pool_waiting', 'Requests that are waiting for a connection', ({ waiting }) => waiting)
  ofPools(Counter, 'row_query_pool_waits_total', 'Requests that had to wait for a connection', ({ waits }) => waits)
  ofPools(
    Counter,
    'row_query_pool_wait_seconds_total',
    'Total time that requests have waited for a connection, in seconds',
    ({ waited }) => waited / 1000
  )
  ofPools(Counter, 'row_query_connect_failures_total', 'Failed attempts to connect', ({ failures }) => failures)
  ofCatalogs(
    'row_query_catalog_tables',
    'Tables and views in the catalog; absent until the catalog has been read once',
    ({ tables }) => tables.size
  )
  ofCatalogs(
    'row_query_catalog_age_seconds',
    'Time since the catalog was read, in seconds; absent until it has been read once',
    ({ loadedAt }) => (Date.now() - loadedAt) / 1000
  )
  const ofDatabases = (name: string, help: string, read: (database: Database) => number) =>
    add(Gauge, { name, help, labelNames: ['database'] }, () =>
      [...databases].map(([name, database]) => [{ database: name }, read(database)])
    )
  ofDatabases('row_query_streams_running', 'Streams that run', ({ streams }) => streams.running)
  ofDatabases('row_query_imports_running', 'Imports that run', ({ streams }) => streams.count('imports'))
  const name = 'row_query_statements_total'
  const help = 'Statements, by source of their SQL text: kept (from the cache) or built'
  add(Counter, { name, help, labelNames: ['database', 'source'] }, () =>
    [...databases].flatMap(([database, { statementCounts: { cached, built } }]) => [
      [{ database, source: 'kept' }, cached],
      [{ database, source: 'built' }, built]
    ])
  )
}

/** "primary", "replica-1" and so on. SQLite has none. */
function poolsOf (databases: ReadonlyMap<string, Database>): Array<readonly [LabelValues<string>, PoolUse]> {
  return [...databases].flatMap(([database, { dialect }]) =>
    (dialect.poolUse?.() ?? []).map(
      (use, index) => [{ database, pool: index === 0 ? 'primary' : `replica-${index}` }, use] as const
    )
  )
}

/** Returns the collector of the metrics of requests. */
export function addMetrics (registry: Registry, databases: ReadonlyMap<string, Database>): Collector {
  addBuildInfo(registry)
  addDatabaseMetrics(registry, databases)
  return addRequestMetrics(registry)
}

export function addLogMetric (registry: Registry): void {
  registry.registerMetric(new Counter({
    name: 'row_query_log_lines_lost_total',
    help: 'Lines of the log that could not be written',
    registers: [],
    collect () {
      this.reset()
      this.inc(lostLines())
    }
  }))
}

/** Resolved by package name, because the relative path differs after compilation. */
const { version } = createRequire(import.meta.url)('fastify-row-query/package.json') as { version: string }

function addBuildInfo (registry: Registry): void {
  new Gauge({
    name: 'row_query_build_info',
    help: 'Always 1; the labels have the versions of the package and of Node.js',
    labelNames: ['version', 'node'],
    aggregator: 'first', // for several workers
    registers: [registry]
  }).set({ version, node: process.version }, 1)
}

/** Upper bounds of the histogram buckets in seconds, from a lookup by primary key to the default statement timeout. */
const BUCKETS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Upper bounds in seconds, up to the default time limit of a stream and of an import. */
const STREAM_BUCKETS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120]
const IMPORT_BUCKETS = [...STREAM_BUCKETS, 300, 600]

/**
 * Adds the metrics of requests: counts and durations by verb, database and result; operations and retries of
 * transactions; the streams and imports that have ended. The labels are bounded: verbs, configured databases, error
 * codes and, for the end of a stream, the reasons of src/route.ts.
 */
function addRequestMetrics (registry: Registry): Collector {
  const registers = [registry]
  const counter = (name: string, help: string, labelNames = ['database']) =>
    new Counter({ name, help, labelNames, registers })
  const histogram = (name: string, help: string, buckets: number[], labelNames = ['database']) =>
    new Histogram({ name, help, buckets, labelNames, registers })
  const requests = counter(
    'row_query_requests_total',
    'Requests, by verb, database, HTTP status and error code',
    ['verb', 'database', 'status', 'code']
  )
  const duration = histogram(
    'row_query_request_duration_seconds',
    'Time from the header of a request to its response, in seconds',
    BUCKETS,
    ['verb', 'database']
  )
  const databaseDuration = histogram(
    'row_query_database_duration_seconds',
    'Time of waiting for a connection and the database, for requests that sent a statement, in seconds',
    BUCKETS,
    ['verb', 'database']
  )
  const named = counter(
    'row_query_named_requests_total',
    'Calls of named requests, by request and HTTP status',
    ['request', 'status']
  )
  const namedDuration = histogram(
    'row_query_named_request_duration_seconds',
    'Time from the header of a call of a named request to its response, in seconds',
    BUCKETS,
    ['request']
  )
  const operationsTotal = counter(
    'row_query_operations_total',
    'Operations in requests with several of them, by database'
  )
  const retriesTotal = counter(
    'row_query_transaction_retries_total',
    'Further runs of transactions after deadlocks, by database'
  )
  const streams = counter(
    'row_query_streams_total',
    'Streams that have ended, by database, whether they were complete, and the reason why not',
    ['database', 'complete', 'reason']
  )
  const ofStreams = {
    rows: counter('row_query_stream_rows_total', 'Rows of streams, by database'),
    bytes: counter('row_query_stream_bytes_total', 'Bytes of streams, by database'),
    duration: histogram(
      'row_query_stream_duration_seconds',
      'Time from the header of a request to the end of its stream, in seconds',
      STREAM_BUCKETS
    )
  }
  // requests have the number of imports
  const ofImports = {
    rows: counter('row_query_import_rows_total', 'Rows that imports have written, by database'),
    bytes: counter('row_query_import_bytes_total', 'Bytes of imports, decompressed, by database'),
    duration: histogram(
      'row_query_import_duration_seconds',
      'Time from the header of a request to the end of its import, in seconds',
      IMPORT_BUCKETS
    )
  }
  const collectEnd = (ended: typeof ofStreams, { database, rows = 0, total }: RequestRecord, bytes: number): void => {
    ended.rows.inc({ database }, rows)
    ended.bytes.inc({ database }, bytes)
    ended.duration.observe({ database }, total / 1000)
  }
  return {
    isDetailed: false,
    accepts: () => true,
    collect (record) {
      const { verb, database, status, operations, retries, refusal, stream, importedBytes, total, inDatabase } = record
      const { request } = record
      if (request !== '') {
        named.inc({ request, status })
        namedDuration.observe({ request }, total / 1000)
      }
      if (operations > 0) operationsTotal.inc({ database }, operations)
      if (retries > 0) retriesTotal.inc({ database }, retries)
      requests.inc({ verb, database, status, code: refusal?.code ?? '' })
      if (stream !== undefined) {
        streams.inc({ database, complete: String(stream.complete), reason: stream.reason ?? '' })
        return collectEnd(ofStreams, record, stream.bytes)
      }
      if (importedBytes !== undefined) return collectEnd(ofImports, record, importedBytes)
      duration.observe({ verb, database }, total / 1000)
      if (inDatabase !== undefined) databaseDuration.observe({ verb, database }, inDatabase / 1000)
    }
  }
}
