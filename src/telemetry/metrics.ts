/** The metrics of the service. The only module that the option `metrics` loads. */
import { createRequire } from 'node:module'
import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../databases/database.ts'
import { addDatabaseMetrics } from './database-metrics.ts'
import type { Collector } from './record.ts'
import { addRequestMetrics } from './request-metrics.ts'

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
    aggregator: 'first', // of several workers
    registers: [registry]
  }).set({ version, node: process.version }, 1)
}
