/** Collects telemetry for each request. Registered only if there is a collector, or for `Server-Timing`. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import type { Database } from '../src/databases/database.ts'
import { VERBS, type Verb } from '../schemas/grant.ts'
import { RequestRecord, timingOf, type Collector } from '../src/telemetry/record.ts'
import { shownId } from './request-id.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null until a request has come to us, and where nobody looks. */
    rowQueryRecord?: RequestRecord | null
  }
}

export interface TelemetryOptions {
  readonly databases: ReadonlyMap<string, Database>
  readonly collectors: readonly Collector[]
  readonly requestLog: boolean
  readonly tracing: boolean
  readonly serverTiming: boolean
}

export default fp(async function telemetry (app: FastifyInstance, { databases, collectors, requestLog, tracing, serverTiming }: TelemetryOptions) {
  const begin = (): RequestRecord => new RequestRecord(requestLog, tracing || serverTiming)
  app.decorateRequest('rowQueryRecord', null)
  app.addHook('onRequest', (request, _reply, done) => {
    request.rowQueryRecord = begin()
    done()
  })
  // Not onResponse: that one comes with two listeners and a closure for each request, and not at all where the client has gone.
  app.addHook('onSend', (request, reply, _payload, done) => {
    // a hook of the host app may have refused before ours
    const record = request.rowQueryRecord ?? begin()
    const interested = collectors.filter((collector) => collector.accepts(record.refusal))
    if (interested.length > 0 || serverTiming) end(record, request, reply, databases)
    for (const collector of interested) collector.collect(record)
    if (serverTiming) reply.header('server-timing', timingOf(record))
    done()
  })
}, { name: 'row-query-telemetry' })

/** What a stranger made up is left out: there would be no end of labels. */
function end (record: RequestRecord, request: FastifyRequest, reply: FastifyReply, databases: ReadonlyMap<string, Database>): void {
  record.end()
  const { database } = request.params as { database?: string }
  if (database !== undefined && databases.has(database)) record.database = database
  const { verb } = (request.body ?? {}) as { verb?: unknown }
  if (VERBS.includes(verb as Verb)) record.verb = verb as Verb
  // which makes a new object each time; where there is a verb there is only one route
  else record.route = request.routeOptions.url ?? ''
  record.token = request.rowQueryGrant?.name ?? ''
  record.requestId = shownId(request)
  record.status = reply.statusCode
}
