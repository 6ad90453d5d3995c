/** OpenTelemetry in a host app: an SDK, and @fastify/otel for its requests. */
import FastifyOtel from '@fastify/otel'
import { context, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, TraceFlags, type Span } from '@opentelemetry/api'
import {
  InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor, type ReadableSpan
} from '@opentelemetry/sdk-trace-node'
import Fastify from 'fastify'
import t, { type Test } from 'tap'
import { createRowQuery } from '../../src/index.ts'
import { isTracingSetUp } from '../../src/telemetry/spans.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { anyEngine } from '../support/rotation.ts'
import { onEachEngine, sharedOnEachEngine, startService, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

t.equal(isTracingSetUp(), false, 'nobody has, before the next lines')

const exporter = new InMemorySpanExporter()
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
provider.register()
const { FastifyOtelInstrumentation } = FastifyOtel
const instrumentation = new FastifyOtelInstrumentation()
instrumentation.setTracerProvider(provider)
t.teardown(async () => {
  await provider.shutdown()
  trace.disable()
  context.disable()
})

/** The spans of the service and the other spans since the last call. */
function read () {
  const all = exporter.getFinishedSpans().splice(0)
  exporter.reset()
  const ours = all.filter(({ instrumentationScope }) => instrumentationScope.name === 'fastify-row-query')
  return { ours, others: all.filter((span) => !ours.includes(span)) }
}

async function startHost (t: Test, url: string, options = {}) {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(instrumentation.plugin())
  await app.register(createRowQuery({
    databases: { shop: { url } },
    tokens: [{ name: 'all', sha256: hashToken(TOKEN), permissions: ['select', 'insert'] }],
    ...options
  }).plugin, { prefix: '/api' })
  return async (body: object, table = 'customers', headers = {}) => await app.inject({
    method: 'POST', url: `/api/shop/${table}`, headers: { authorization: `Bearer ${TOKEN}`, ...headers }, payload: body
  })
}

const select = { verb: 'select', columns: ['id'], filters: { status: 'new' } }
const at = ([seconds, nanoseconds]: [number, number]): number => seconds * 1000 + nanoseconds / 1e6
const names = (spans: ReadableSpan[]) => spans.map(({ name }) => name)

const testShop = sharedOnEachEngine(t, { schema: shop, only: await anyEngine(t) })

await testShop('planning, compiling and executing have spans below the ' +
  'span of the handler', async (t, { url, engine }) => {
  const post = await startHost(t, url)
  read()
  const before = Date.now()
  t.equal((await post(select)).statusCode, 200)
  const after = Date.now()
  const { ours, others } = read()
  t.same(names(ours), ['row-query plan', 'row-query compile', 'select customers'])
  const handler = others.find(({ name }) => name.startsWith('handler')) as ReadableSpan
  for (const span of ours) {
    t.match(span, {
      parentSpanContext: { spanId: handler.spanContext().spanId }, status: { code: SpanStatusCode.UNSET }
    }, span.name)
    t.ok(at(span.startTime) >= before - 50 && at(span.endTime) <= after + 50 &&
      at(span.endTime) >= at(span.startTime), 'its times are true')
  }
  const [plan, compile, execute] = ours as [ReadableSpan, ReadableSpan, ReadableSpan]
  t.ok(at(plan.endTime) <= at(compile.startTime) + 0.1 &&
    at(compile.endTime) <= at(execute.startTime) + 0.1, 'one after the other')
  t.equal(execute.kind, SpanKind.CLIENT)
  t.same(execute.attributes, {
    'db.system.name': engine === 'sqlite' ? 'sqlite' : 'mysql',
    'db.namespace': 'shop',
    'db.operation.name': 'select',
    'db.collection.name': 'customers',
    'db.query.summary': 'select customers',
    'db.response.returned_rows': 2
  })
})

await testShop('the span in which a request fails has an error status and is the last one', async (t, { url }) => {
  const post = await startHost(t, url)
  read()
  await post({ verb: 'insert', data: { email: 'ada@example.com', name: 'Ada' } })
  const { ours } = read()
  t.same(names(ours), ['row-query plan', 'row-query compile', 'insert customers'])
  t.match(ours.at(-1), {
    status: { code: SpanStatusCode.ERROR },
    attributes: {
      'error.type': 'UNIQUE_VIOLATION', 'db.response.returned_rows': undefined
    }
  })
  await post({ ...select, columns: ['nope'] })
  t.match(read().ours, [
    { name: 'row-query plan', status: { code: SpanStatusCode.ERROR }, attributes: { 'error.type': 'COLUMN_NOT_FOUND' } }
  ])
  await post(select, 'nowhere')
  t.same(read().ours, [], 'nothing was planned')
  t.notMatch(
    JSON.stringify(ours.map(({ name, attributes, status, events }) => [name, attributes, status, events])),
    /ada@|insert into|Ada/, 'no values, no SQL'
  )
})

await testShop('the span of a stream ends with the stream, and has an error status ' +
  'if that is cut off', async (t, { url }) => {
  const stream = { accept: 'application/x-ndjson' }
  const post = await startHost(t, url)
  read()
  const answer = await post({ verb: 'select', columns: ['id'] }, 'customers', stream)
  t.equal(answer.body.split('\n').length - 1, 4)
  const { ours, others } = read()
  t.same(names(ours), ['row-query plan', 'row-query compile', 'select customers'])
  const handler = others.find(({ name }) => name.startsWith('handler')) as ReadableSpan
  const execution = ours.at(-1) as ReadableSpan
  t.match(execution, {
    status: { code: SpanStatusCode.UNSET },
    attributes: { 'db.response.returned_rows': 4 },
    parentSpanContext: { spanId: handler.spanContext().spanId }
  })
  t.ok(
    at(execution.endTime) >= at((others.find(({ name }) => name === 'request') ?? handler).endTime) - 1,
    'not when its headers are ready'
  )

  const bounded = await startHost(t, url, { limits: { streamRows: 2 } })
  read()
  await bounded({ verb: 'select', columns: ['id'] }, 'customers', stream).catch(() => {})
  t.match(read().ours.at(-1), {
    name: 'select customers',
    status: { code: SpanStatusCode.ERROR },
    attributes: {
      'error.type': 'RESULT_TOO_LARGE', 'db.response.returned_rows': 2
    }
  })
})

await testShop('the span of an import ends with its last batch, and has an error status ' +
  'if that is refused', async (t, { url }) => {
  const post = await startHost(t, url)
  const send = (lines: string[]) => post(`email,name\n${lines.join('\n')}\n` as never, 'customers', {
    'content-type': 'text/csv'
  })
  read()
  t.equal((await send(Array.from({ length: 1100 }, (_, row) => `x${row},y`))).statusCode, 200)
  const { ours } = read()
  t.same(names(ours), ['row-query plan', 'row-query compile', 'insert customers'], 'one for all batches')
  t.match(ours.at(-1), {
    status: { code: SpanStatusCode.UNSET },
    attributes: {
      'db.operation.name': 'insert', 'db.collection.name': 'customers'
    }
  })
  await send(['new,y', 'x5,y'])
  t.match(read().ours.at(-1), {
    name: 'insert customers', status: { code: SpanStatusCode.ERROR }, attributes: { 'error.type': 'UNIQUE_VIOLATION' }
  })
})

t.test('there are no spans without a request span, below an unsampled span, or if tracing is off', async (t) => {
  await onEachEngine(t, 'none', { schema: shop, only: ['sqlite'] }, async (t, { url }) => {
    const { post } = await startService(t, url)
    await post('customers', select)
    t.same(read().ours, [], 'an app without @fastify/otel')
    const unsampled = trace.wrapSpanContext({
      traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: TraceFlags.NONE
    })
    await context.with(trace.setSpan(ROOT_CONTEXT, unsampled), () => post('customers', select))
    t.same(read().ours, [], 'not sampled')
    const active: Span = trace.getTracer('host').startSpan('mine')
    await context.with(trace.setSpan(ROOT_CONTEXT, active), () => post('customers', select))
    t.equal(read().ours.length, 3, 'any span that is active will do')
    const off = await startHost(t, url, { tracing: false })
    t.equal((await off(select)).statusCode, 200)
    t.same(read().ours, [], 'turned off')
  })
})
