import type { FastifyBaseLogger } from 'fastify'
import type { Registry } from 'prom-client'
import type { Database } from '../databases/database.ts'
import type { Collector } from './record.ts'
import { createRequestLog } from './request-log.ts'
import { createSpans } from './spans.ts'

export interface CollectorTargets {
  readonly databases: ReadonlyMap<string, Database>
  /** Called only with metrics. */
  readonly registry: () => Registry
  readonly log: FastifyBaseLogger
}

/** Creates the collectors that the settings turn on. */
export async function createCollectors (settings: { requestLog: boolean, metrics: boolean, tracing: boolean }, { databases, registry, log }: CollectorTargets): Promise<Collector[]> {
  const collectors: Collector[] = []
  if (settings.requestLog) collectors.push(createRequestLog(log))
  if (settings.metrics) {
    const { addMetrics } = await import('./metrics.ts')
    collectors.push(addMetrics(registry(), databases))
  }
  if (settings.tracing) collectors.push(createSpans(databases))
  return collectors
}
