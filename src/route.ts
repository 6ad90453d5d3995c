/** The one route: POST {prefix}/{database}/{table}. */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { BodySchema } from '../schemas/body.ts'
import { getAccess, getGrant, type Access } from './access/authorize.ts'
import { readConsistency } from './request/consistency.ts'
import type { Database } from './databases/database.ts'
import { methodNotAllowed, notFound } from './errors.ts'
import { shownInHost } from './openapi/interface-document.ts'
import type { FilterLimits } from './plan/filters/scope.ts'
import { countUnsent } from './response/budget.ts'
import { runPipeline } from './pipeline.ts'

export interface RouteOptions {
  readonly databases: ReadonlyMap<string, Database>
  readonly limits: FilterLimits
  /** Maximum size of a body in bytes. */
  readonly bodyLimit: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** What the path gives access to. Set by the route of the rows. */
    rowQueryAccess: Access
  }
}

export function addRoute (app: FastifyInstance, { databases, limits, bodyLimit }: RouteOptions): void {
  const url = '/:database/:table'
  app.decorateRequest('rowQueryAccess')

  // Both are refused by the path alone, before the body is read.
  app.addHook('onRequest', (request, _reply, done) => done(request.is404 ? notFound() : undefined))
  const checkPath: onRequestHookHandler = (request, _reply, done) => {
    request.rowQueryAccess = getAccess(databases, getGrant(request), request.params as { database: string, table: string })
    done()
  }

  app.addHook('onSend', (_request, reply, payload, done) => {
    countUnsent(reply.raw, payload)
    done()
  })

  app.withTypeProvider<TypeBoxTypeProvider>().post(url, { schema: { body: BodySchema }, config: shownInHost(app.prefix), bodyLimit, onRequest: checkPath }, (request, reply) => {
    const { body, headers, rowQueryAccess: access, rowQueryRecord: record } = request
    const consistency = readConsistency(body.verb, 'The header "Row-Query-Consistency"', headers['row-query-consistency'])
    reply.type('application/json; charset=utf-8')
    return runPipeline({ access, body, limits, consistency, client: reply.raw, record })
  })

  const refuseMethod = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.header('allow', 'POST')
    throw methodNotAllowed(request.method)
  }
  const others = app.supportedMethods.filter((method) => method !== 'POST')
  app.route({ method: others, url, schema: { hide: true }, onRequest: refuseMethod, handler: refuseMethod })
}
