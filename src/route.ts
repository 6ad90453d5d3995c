/** The one route: POST {prefix}/{database}/{table}. */
import type { FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import { type Body, BodySchema } from '../schemas/body.ts'
import { findPlaceRefusal, findVerbRefusal } from './access/authorize.ts'
import { readConsistency } from './request/consistency.ts'
import type { Database } from './databases/database.ts'
import { methodNotAllowed, notFound } from './errors.ts'
import type { Grant } from './access/grant.ts'
import { shownInHost } from './openapi/interface-document.ts'
import type { FilterLimits } from './plan/filters/scope.ts'
import { countUnsent } from './response/budget.ts'
import { walk } from './pipeline.ts'

export interface RouteOptions {
  readonly databases: ReadonlyMap<string, Database>
  readonly limits: FilterLimits
  /** Bytes of a body. */
  readonly bodyLimit: number
}

interface Params { database: string, table: string }
type RowRequest = FastifyRequest<{ Params: Params, Body: Body }>

export function addRoute (app: FastifyInstance, { databases, limits, bodyLimit }: RouteOptions): void {
  const url = '/:database/:table'

  // As below: by path alone, before the body is read.
  app.addHook('onRequest', (request, _reply, done) => done(request.is404 ? notFound() : undefined))

  app.addHook('onSend', (_request, reply, payload, done) => {
    countUnsent(reply.raw, payload)
    done()
  })

  const find: onRequestHookHandler = (request, _reply, done) => {
    done(findPlaceRefusal({ databases, grant: request.rowQueryGrant as Grant, ...request.params as Params }))
  }

  app.post<{ Params: Params, Body: Body }>(url, { schema: { body: BodySchema }, config: shownInHost(app.prefix), bodyLimit, onRequest: find }, (request, reply) => {
    const { params, body } = request as RowRequest
    const grant = request.rowQueryGrant as Grant
    const consistency = readConsistency(body.verb, 'The header "Row-Query-Consistency"', request.headers['row-query-consistency'])
    const refusal = findVerbRefusal(grant, body.verb)
    if (refusal !== undefined) throw refusal
    reply.type('application/json; charset=utf-8')
    return walk({ database: databases.get(params.database) as Database, table: params.table, body, limits, consistency, client: reply.raw, record: request.rowQueryRecord })
  })

  const refuseMethod = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.header('allow', 'POST')
    throw methodNotAllowed(request.method)
  }
  const others = app.supportedMethods.filter((method) => method !== 'POST')
  app.route({ method: others, url, schema: { hide: true }, onRequest: refuseMethod, handler: refuseMethod })
}
