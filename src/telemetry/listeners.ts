import type { FastifyBaseLogger } from 'fastify'
import type { Registry } from 'prom-client'
import type { Database } from '../databases/database.ts'
import { addBuildInfo } from './build-info.ts'
import { addDatabaseMetrics } from './database-metrics.ts'
import type { Listener } from './record.ts'
import { createRequestLog } from './request-log.ts'
import { addRequestMetrics } from './request-metrics.ts'
import { createSpans } from './spans.ts'

export interface Ends {
  readonly databases: ReadonlyMap<string, Database>
  readonly registry: Registry
  readonly log: FastifyBaseLogger
}

/** Who is to be told of requests, as the settings say; nobody where everything is off. */
export function createListeners (settings: { requestLog: boolean, metrics: boolean, tracing: boolean }, { databases, registry, log }: Ends): Listener[] {
  const listeners: Listener[] = []
  if (settings.requestLog) listeners.push(createRequestLog(log))
  if (settings.metrics) {
    addBuildInfo(registry)
    addDatabaseMetrics(registry, databases)
    listeners.push(addRequestMetrics(registry))
  }
  if (settings.tracing) listeners.push(createSpans(databases))
  return listeners
}
