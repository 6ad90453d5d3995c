/** The metrics of the service. The only module that the option `metrics` loads. */
import { createRequire } from 'node:module'
import { Counter, Gauge, Histogram, type Registry } from 'prom-client'
import type { Database } from '../databases/database.ts'
import { addDatabaseMetrics } from './database-metrics.ts'
import type { Collector, StreamEnd } from './record.ts'

/** Adds all metrics to the registry. Returns the collector of those of requests. */
export function addMetrics (registry: Registry, databases: ReadonlyMap<string, Database>): Collector {
  addBuildInfo(registry)
  addDatabaseMetrics(registry, databases)
  return addRequestMetrics(registry)
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

/** Adds the metrics of requests: counts and durations by verb, database and result; operations and retries of transactions. The labels are bounded: verbs, configured databases and error codes. */
function addRequestMetrics (registry: Registry): Collector {
  const registers = [registry]
  const requests = new Counter({
    name: 'row_query_requests_total',
    help: 'Requests, by verb, database, HTTP status and error code',
    labelNames: ['verb', 'database', 'status', 'code'],
    registers
  })
  const duration = new Histogram({
    name: 'row_query_request_duration_seconds',
    help: 'Time from the header of a request to its response, in seconds',
    labelNames: ['verb', 'database'],
    buckets: BUCKETS,
    registers
  })
  const databaseDuration = new Histogram({
    name: 'row_query_database_duration_seconds',
    help: 'Time of waiting for a connection and the database, for requests that sent a statement, in seconds',
    labelNames: ['verb', 'database'],
    buckets: BUCKETS,
    registers
  })
  const operationsTotal = new Counter({
    name: 'row_query_operations_total',
    help: 'Operations in requests with several of them, by database',
    labelNames: ['database'],
    registers
  })
  const retriesTotal = new Counter({
    name: 'row_query_transaction_retries_total',
    help: 'Further runs of transactions after deadlocks, by database',
    labelNames: ['database'],
    registers
  })
  const collectStream = addStreamMetrics(registers)
  return {
    accepts: () => true,
    collect ({ verb, database, status, operations, retries, refusal, rows, stream, total, inDatabase }) {
      if (operations > 0) operationsTotal.inc({ database }, operations)
      if (retries > 0) retriesTotal.inc({ database }, retries)
      requests.inc({ verb, database, status, code: refusal?.code ?? '' })
      if (stream !== undefined) return collectStream({ ...stream, database, rows: rows ?? 0, seconds: total / 1000 })
      duration.observe({ verb, database }, total / 1000)
      if (inDatabase !== undefined) databaseDuration.observe({ verb, database }, inDatabase / 1000)
    }
  }
}

/** Upper bounds in seconds, up to the default time limit of a stream. */
const STREAM_BUCKETS = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 120]

interface EndedStream extends StreamEnd { readonly database: string, readonly rows: number, readonly seconds: number }

/** Adds the metrics of streams that have ended: their number by reason, rows, bytes and durations. The reasons are codes of errors, and those of src/stream-route.ts. */
function addStreamMetrics (registers: Registry[]): (stream: EndedStream) => void {
  const ends = new Counter({
    name: 'row_query_streams_total',
    help: 'Streams that have ended, by database, whether they were complete, and the reason why not',
    labelNames: ['database', 'complete', 'reason'],
    registers
  })
  const rowsTotal = new Counter({ name: 'row_query_stream_rows_total', help: 'Rows of streams, by database', labelNames: ['database'], registers })
  const bytesTotal = new Counter({ name: 'row_query_stream_bytes_total', help: 'Bytes of streams, by database', labelNames: ['database'], registers })
  const duration = new Histogram({
    name: 'row_query_stream_duration_seconds',
    help: 'Time from the header of a request to the end of its stream, in seconds',
    labelNames: ['database'],
    buckets: STREAM_BUCKETS,
    registers
  })
  return ({ database, complete, reason = '', rows, bytes, seconds }) => {
    ends.inc({ database, complete: String(complete), reason })
    rowsTotal.inc({ database }, rows)
    bytesTotal.inc({ database }, bytes)
    duration.observe({ database }, seconds)
  }
}
