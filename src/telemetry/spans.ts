/** Makes spans of OpenTelemetry. Loaded only if the app has set it up. */
import {
  type Attributes, context, type Context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags, type Tracer
} from '@opentelemetry/api'
import type { Database } from '../databases/database.ts'
import type { Collector, RequestRecord } from './record.ts'

/** Whether an OpenTelemetry SDK is registered; without one, contexts are not stored and no span can be active. */
export function isTracingSetUp (): boolean {
  const probe = ROOT_CONTEXT.setValue(Symbol('probe'), true)
  return context.with(probe, () => context.active() === probe)
}

/**
 * Creates the collector that makes spans of planning, compiling and executing for sampled requests, below the span that
 * was active then. It makes them at the end of a request from the recorded times, so that the request does not wait.
 */
export function createSpans (databases: ReadonlyMap<string, Database>): Collector {
  const tracer = trace.getTracer('fastify-row-query')
  return {
    isDetailed: true,
    readContext: () => context.active(),
    accepts: () => true,
    collect (record) {
      if (!isSampled(record.context)) return
      // not a constant: performance.now() is monotonic, while the clock of other spans can be adjusted
      const epoch = Date.now() - performance.now()
      const reason = record.refusal?.code ?? record.stream?.reason
      for (const phase of phasesOf(record, databases, epoch)) makeSpan(tracer, record.context, phase, reason)
    }
  }
}

/** Whether the span is sampled. Does not check whether it is recording, because it may have ended by now. */
function isSampled (parent: Context | undefined): parent is Context {
  const span = parent === undefined ? undefined : trace.getSpan(parent)
  return span !== undefined && (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0
}

interface Phase {
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: Attributes
  readonly begin: number
  readonly end: number
  readonly failed: boolean
}

/**
 * Returns the phases that were started; the last one may have failed. `epoch`: time origin of the record, in
 * milliseconds since 1970.
 */
function phasesOf (record: RequestRecord, databases: ReadonlyMap<string, Database>, epoch: number): Phase[] {
  const { verb, database, table, rows, planStartedAt, plannedAt, compiledAt, executedAt, endedAt } = record
  const times = (begin: number, end: number) => ({
    begin: epoch + begin,
    end: epoch + (end || endedAt),
    failed: end === 0
  })
  const target = { 'db.operation.name': verb, 'db.collection.name': table }
  const call: Attributes = {
    ...target,
    'db.system.name': databases.get(database)?.dialect.engine as string,
    'db.namespace': database,
    'db.query.summary': `${verb} ${table}`,
    ...(verb === 'select' && rows !== undefined && { 'db.response.returned_rows': rows })
  }
  return [
    { name: 'row-query plan', kind: SpanKind.INTERNAL, attributes: target, ...times(planStartedAt, plannedAt) },
    { name: 'row-query compile', kind: SpanKind.INTERNAL, attributes: target, ...times(plannedAt, compiledAt) },
    { name: `${verb} ${table}`, kind: SpanKind.CLIENT, attributes: call, ...times(compiledAt, executedAt) }
  ].filter(({ begin }) => begin > epoch)
}

function makeSpan (
  tracer: Tracer,
  parent: Context,
  { name, kind, attributes, begin, end, failed }: Phase,
  reason: string | undefined
): void {
  const span = tracer.startSpan(name, { kind, attributes, startTime: begin }, parent)
  if (failed) span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', reason as string)
  span.end(end)
}
