/**
 * Spans of planning, compiling and executing, below the span that was active then. They are made at the end of a request, of the times
 * that were noted: on its way there is nothing to be made, ended or carried along.
 */
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags, type Attributes, type Context, type Tracer } from '@opentelemetry/api'
import type { Database } from '../databases/database.ts'
import type { ServiceError } from '../errors.ts'
import type { Collector, RequestRecord } from './record.ts'

/** Whether somebody has set OpenTelemetry up: without it no context is ever kept, so that no span can be active. */
export function isTracingSetUp (): boolean {
  const probe = ROOT_CONTEXT.setValue(Symbol('probe'), true)
  return context.with(probe, () => context.active() === probe)
}

/** Makes the spans of requests that are recorded, and of no other. */
export function createSpans (databases: ReadonlyMap<string, Database>): Collector {
  const tracer = trace.getTracer('fastify-row-query')
  return {
    accepts: () => true,
    collect (record) {
      if (!isSampled(record.context)) return
      // The clock that was read never goes back, that of the other spans is set by the system: their difference is not the same for ever.
      const epoch = Date.now() - performance.now()
      for (const phase of phasesOf(record, databases, epoch)) makeSpan(tracer, record.context, phase, record.refusal)
    }
  }
}

/** Not whether its span is recording: that may have ended by now. */
function isSampled (parent: Context | undefined): parent is Context {
  const span = parent === undefined ? undefined : trace.getSpan(parent)
  return span !== undefined && (span.spanContext().traceFlags & TraceFlags.SAMPLED) !== 0
}

interface Phase {
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: Attributes
  /** In milliseconds since 1970. */
  readonly begin: number
  readonly end: number
  readonly failed: boolean
}

/** Those that were begun; the last one may not have come to its end. `epoch`: what the clock of the record began at. */
function phasesOf (record: RequestRecord, databases: ReadonlyMap<string, Database>, epoch: number): Phase[] {
  const { verb, database, table, rows, planStartedAt, plannedAt, compiledAt, executedAt, endedAt } = record
  const times = (begin: number, end: number) => ({ begin: epoch + begin, end: epoch + (end || endedAt), failed: end === 0 })
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

function makeSpan (tracer: Tracer, parent: Context, { name, kind, attributes, begin, end, failed }: Phase, refusal: ServiceError | undefined): void {
  const span = tracer.startSpan(name, { kind, attributes, startTime: begin }, parent)
  if (failed) span.setStatus({ code: SpanStatusCode.ERROR }).setAttribute('error.type', refusal?.code as string)
  span.end(end)
}
