import { createRequire } from 'node:module'
import type { FastifyBaseLogger } from 'fastify'
import { Gauge, type Registry } from 'prom-client'
import type { Database } from '../databases/database.ts'
import { addDatabaseMetrics } from './database-metrics.ts'
import type { Collector } from './record.ts'
import { createRequestLog } from './request-log.ts'
import { addRequestMetrics } from './request-metrics.ts'
import { createSpans } from './spans.ts'

export interface CollectorTargets {
  readonly databases: ReadonlyMap<string, Database>
  readonly registry: Registry
  readonly log: FastifyBaseLogger
}

/** Creates the collectors that the settings turn on. */
export function createCollectors (settings: { requestLog: boolean, metrics: boolean, tracing: boolean }, { databases, registry, log }: CollectorTargets): Collector[] {
  const collectors: Collector[] = []
  if (settings.requestLog) collectors.push(createRequestLog(log))
  if (settings.metrics) {
    addBuildInfo(registry)
    addDatabaseMetrics(registry, databases)
    collectors.push(addRequestMetrics(registry))
  }
  if (settings.tracing) collectors.push(createSpans(databases))
  return collectors
}

/** Resolved by package name, because the relative path differs after compilation. */
const { version } = createRequire(import.meta.url)('fastify-row-query/package.json') as { version: string }

function addBuildInfo (registry: Registry): void {
  new Gauge({
    name: 'row_query_build_info',
    help: 'Always 1; the labels have the versions of the package and of Node.js',
    labelNames: ['version', 'node'],
    registers: [registry]
  }).set({ version, node: process.version }, 1)
}
