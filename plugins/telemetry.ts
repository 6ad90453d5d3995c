/** Collects telemetry for each request. Registered only if there is a collector, or for `Server-Timing`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Settings } from '../src/config/settings.ts'
import type { Database } from '../src/databases/database.ts'
import { VERBS, type Verb } from '../schemas/grants.ts'
import { type Collector, createRecorder, type RequestRecord, timingOf } from '../src/telemetry/record.ts'
import { shownId } from './response-headers.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null before our onRequest hook; undefined without telemetry. */
    rowQueryRecord?: RequestRecord | null
  }
}

export default fp(
  async function telemetry (
    app: FastifyInstance,
    { databases, collectors, settings }: {
      readonly databases: ReadonlyMap<string, Database>
      readonly collectors: readonly Collector[]
      readonly settings: Pick<Settings, 'requestLog' | 'serverTiming'>
    }
  ) {
    const createRecord = createRecorder(collectors, settings)
    app.decorateRequest('rowQueryRecord', null)
    app.addHook('onRequest', (request, _reply, done) => {
      request.rowQueryRecord = createRecord()
      done()
    })
    // onResponse would add two listeners and a closure to each request, and does not run if the client has disconnected
    app.addHook('onSend', (request, reply, _payload, done) => {
      // a hook of the host app may have refused the request before our onRequest hook
      const record = request.rowQueryRecord ?? createRecord()
      const interested = record.isDeferred ? [] : collectors.filter((collector) => collector.accepts(record.refusal))
      if (interested.length === 0 && !settings.serverTiming) return done()
      end(record, request, reply, databases)
      for (const collector of interested) collector.collect(record)
      if (settings.serverTiming) reply.header('server-timing', timingOf(record))
      done()
    })
  },
  { name: 'row-query-telemetry' }
)

/**
 * Ignores unknown databases and verbs, because names chosen by clients would make the number of metric labels
 * unlimited.
 */
function end (
  record: RequestRecord,
  request: FastifyRequest,
  reply: FastifyReply,
  databases: ReadonlyMap<string, Database>
): void {
  record.end()
  record.token = request.rowQueryGrant?.name ?? ''
  record.requestId = shownId(request)
  // a tool is refused in a response with the status 200, and has recorded the rest
  record.status = record.tool === '' ? reply.statusCode : (record.refusal?.statusCode ?? reply.statusCode)
  if (record.tool !== '') return
  const { database, table } = request.params as { database?: string; table?: string }
  if (database !== undefined && databases.has(database)) record.database = database
  const { verb } = (request.body ?? {}) as { verb?: unknown }
  if (table !== undefined && VERBS.includes(verb as Verb)) record.verb = verb as Verb
  else if (record.operations > 0) record.verb = 'operations'
  // read last, because `routeOptions` builds a new object at each access; only one route has verbs
  else if (record.request === '') record.route = request.routeOptions.url ?? ''
}
