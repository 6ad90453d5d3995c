/** The log, the metrics and the spans receive the record of each request. */
import type { FastifyBaseLogger } from 'fastify'
import type { Registry } from 'prom-client'
import type { Database } from '../databases/database.ts'
import { type Collector, createRequestLog } from './record.ts'

/** Where version 1 of the OpenTelemetry API keeps what an app sets up. Without it, the API is not loaded. */
const OPEN_TELEMETRY = Symbol.for('opentelemetry.js.api.1')

/** Creates the collectors that the settings enable. `registry`: called only with metrics. */
export async function createCollectors (
  settings: { readonly requestLog: boolean, readonly metrics: boolean, readonly tracing: boolean },
  { databases, registry, log }: {
    readonly databases: ReadonlyMap<string, Database>
    readonly registry?: () => Registry
    readonly log: FastifyBaseLogger
  }
): Promise<Collector[]> {
  const collectors: Collector[] = []
  if (settings.requestLog) collectors.push(createRequestLog(log))
  if (settings.metrics && registry !== undefined) {
    const { addMetrics } = await import('./prometheus.ts')
    collectors.push(addMetrics(registry(), databases))
  }
  if (settings.tracing && Object.hasOwn(globalThis, OPEN_TELEMETRY)) {
    const { createSpans, isTracingSetUp } = await import('./spans.ts')
    if (isTracingSetUp()) collectors.push(createSpans(databases))
  }
  return collectors
}
