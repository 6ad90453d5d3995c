/**
 * The routes: POST {prefix}/{database}/{table} for one request, POST {prefix}/{database} for several operations, QUERY
 * for both, and {prefix}/requests/{name} for named requests.
 */
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type { Static } from '@sinclair/typebox'
import type {
  FastifyError, FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler, preValidationHookHandler
} from 'fastify'
import fp from 'fastify-plugin'
import { BodySchema, type OperationsBody, operationsBody } from '../schemas/body.ts'
import { type Access, getAccess, getDatabase, getGrant } from './access/authorize.ts'
import { HttpClient, isClosed } from './http/client-connections.ts'
import { seesDatabase } from './access/grant.ts'
import type { Database } from './databases/database.ts'
import { methodNotAllowed, notFound, type ServiceError } from './errors.ts'
import { acceptImports, handleImport, delayContinue, ImportBody, refuseQuery } from './http/import-request.ts'
import { completeSelect, hasQuery, refuseWrites, sendAcceptQuery, sendTagged, varyBy } from './http/query-method.ts'
import { findWantedStream, NAMES_FORMAT, sendStream, type WantedStream, readConsistency } from './http/stream.ts'
import { readKey } from './idempotency/run-once.ts'
import { handle } from './pipeline.ts'
import { handleNamed, findNamed } from './http/named-request.ts'
import type { NamedRequests } from './named/call.ts'
import { REQUESTS_PATH } from './named/definition.ts'
import { shownInHost } from './openapi/interface-document.ts'
import { isReadOnly, runOperations } from './verbs/operations.ts'
import type { RequestLimits } from './plan/limits.ts'
import { createBodyCheck, createOperationsCheck, type FindBodyError } from './request/check-body.ts'
import { type ResponseBudget, UNCOUNTED } from './response/budget.ts'
import { OWN_APP, type Collector } from './telemetry/record.ts'

export interface RowsOptions {
  readonly limits: RequestLimits
  readonly budget: ResponseBudget
  readonly collectors: readonly Collector[]
  /** The named requests; undefined if their path does not exist. */
  readonly named: NamedRequests | undefined
  /** How long an import waits for bytes of its client, in milliseconds. */
  readonly bodyTimeout: number
  readonly toRefusal: (error: FastifyError, reply: FastifyReply) => ServiceError
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the route of the rows. */
    rowQueryAccess: Access
    rowQueryDatabase: Database
    /** The body that is checked; a hook of the app may put another one in its place. */
    rowQueryBody: unknown
    /** Set for a select whose response is a stream. */
    rowQueryStream: WantedStream | null
  }
}

const KEY = 'idempotency-key'
const REPLAYED = 'idempotency-replayed'

/** @throws INVALID_IDEMPOTENCY_KEY, INVALID_BODY */
const keyOf = ({ headers: { [KEY]: header }, rowQueryBodyHash: bodyHash }: FastifyRequest, body: object) =>
  header === undefined
    ? undefined
    : readKey({ header, bodyHash, dryRun: (body as { dryRun?: boolean }).dryRun === true })

/** Passes on the error of a write, which says by itself what has happened. */
function whileWriting<T> (request: FastifyRequest, running: Promise<T>): Promise<T> {
  request.rowQueryIsWriting = true
  return running.catch((error: unknown) => {
    request.rowQueryIsWriting = false
    throw error
  })
}

const toValidator = (findError: FindBodyError) => (value: unknown) => {
  if (value instanceof ImportBody) return { value }
  const error = findError(value)
  return error === undefined ? { value } : { error }
}

/** Checks a body that a hook has put in place of the checked one. @throws INVALID_BODY */
function checkAgain (findError: FindBodyError, body: unknown): void {
  const error = findError(body)
  if (error !== undefined) throw error
}

export default fp(async function routes (app: FastifyInstance, options: RowsOptions) {
  const { limits, budget, collectors, named, bodyTimeout, toRefusal } = options
  const { rowQueryDatabases: databases } = app
  const methods = ['POST', ...(hasQuery(app) ? ['QUERY'] : [])]
  const url = '/:database/:table'
  const isOwnApp = app.hasDecorator(OWN_APP)
  app.decorateRequest('rowQueryAccess')
  app.decorateRequest('rowQueryDatabase')
  app.decorateRequest('rowQueryBody', null)
  app.decorateRequest('rowQueryStream', null)

  // the onRequest hooks refuse by the path alone, before the body is read
  const checkPath: onRequestHookHandler = (request, _reply, done) => {
    request.rowQueryAccess = getAccess(
      databases,
      getGrant(request),
      request.params as { database: string; table: string }
    )
    done()
  }

  app.addHook('onSend', (request, reply, payload, done) => {
    const { length = 0 } = (payload ?? '') as { readonly length?: number }
    if (length > UNCOUNTED && !isClosed(reply.raw)) budget.countUnsent(reply.raw, length)
    const { database, table } = request.params as { readonly database?: string, readonly table?: string }
    if (request.method === 'QUERY' ? database !== undefined : request.method === 'POST' && table !== undefined) {
      // the response to a select depends on it; one without it would show that the body was not read
      if (reply.hasHeader('vary')) varyBy(reply, 'Accept')
      else reply.header('vary', 'Accept')
    }
    done()
  })

  const checkStream: preValidationHookHandler = (request, _reply, done) => {
    if (request.raw.url?.includes('?') === true) refuseQuery(request)
    if (NAMES_FORMAT.test(request.headers.accept ?? '')) {
      const wanted = findWantedStream(request, limits.streamRows)
      if (wanted instanceof Error) return done(wanted)
      request.rowQueryStream = wanted
    }
    request.rowQueryBody = request.body
    done()
  }

  const checkQuery: preValidationHookHandler = (request, _reply, done) => {
    if (request.raw.url?.includes('?') === true) refuseQuery(request)
    request.rowQueryBody = request.body
    done()
  }

  const findBodyError = createBodyCheck(limits)
  const findOperationsError = createOperationsCheck(limits, limits.operations)
  const ofTable = {
    schema: { body: BodySchema },
    validatorCompiler: () => toValidator(findBodyError),
    onRequest: checkPath,
    preValidation: checkStream
  }
  const handleTable = (
    request: FastifyRequest<{ Body: Static<typeof BodySchema> }>,
    reply: FastifyReply
  ): Promise<unknown> => {
    const { body, headers, rowQueryAccess: access, rowQueryRecord: record } = request
    if (body !== request.rowQueryBody) checkAgain(findBodyError, body)
    if (body as unknown instanceof ImportBody) {
      reply.type('application/json; charset=utf-8')
      const onReplay = (): void => { reply.header(REPLAYED, 'true') }
      return whileWriting(request, handleImport(request, reply, { access, limits, bodyTimeout, onReplay, toRefusal }))
    }
    const asked = headers['row-query-consistency']
    const consistency = asked === undefined ? undefined : readConsistency(body.verb === 'select', asked)
    if (request.rowQueryStream !== null) {
      const wanted = { ...request.rowQueryStream, access, limits, consistency }
      return sendStream(request, reply, { ...wanted, collectors, isOwnApp })
    }
    reply.type('application/json; charset=utf-8')
    const client = new HttpClient(reply.raw, access.grant)
    const options = { access, body, limits, consistency, client, record }
    if (body.verb === 'select') {
      return handle(options).then(({ response }) =>
        request.method === 'QUERY' ? sendTagged(request, reply, response) : response)
    }
    const key = keyOf(request, body)
    const running = handle(
      key === undefined ? options : { ...options, key, onReplay: () => reply.header(REPLAYED, 'true') }
    )
    return whileWriting(request, running.then(({ response }) => response))
  }
  app.withTypeProvider<TypeBoxTypeProvider>().post(url, {
    ...ofTable,
    config: { ...shownInHost(app.prefix), rowQueryImports: true }
  }, handleTable)
  acceptImports(app)
  delayContinue(app)

  const checkDatabase: onRequestHookHandler = (request, _reply, done) => {
    const { database } = request.params as { database: string }
    if (database === '') throw notFound()
    request.rowQueryDatabase = getDatabase(databases, getGrant(request), database)
    done()
  }
  const ofDatabase = {
    schema: { body: operationsBody(limits.operations), hide: true },
    validatorCompiler: () => toValidator(findOperationsError),
    onRequest: checkDatabase,
    preValidation: checkQuery
  }
  const handleOperations = async (request: FastifyRequest, reply: FastifyReply): Promise<unknown> => {
    const { headers, rowQueryDatabase: database, rowQueryRecord: record } = request
    const body = request.body as OperationsBody
    if (body !== request.rowQueryBody) checkAgain(findOperationsError, body)
    const isRead = isReadOnly(body)
    const consistency = readConsistency(isRead, headers['row-query-consistency'])
    const key = isRead ? undefined : keyOf(request, body)
    reply.type('application/json; charset=utf-8')
    const running = runOperations({
      grant: getGrant(request),
      database,
      body,
      limits,
      consistency,
      client: new HttpClient(reply.raw, getGrant(request)),
      record,
      key,
      onReplay: () => reply.header(REPLAYED, 'true')
    })
    const response = await (isRead ? running : whileWriting(request, running))
    return request.method === 'QUERY' ? sendTagged(request, reply, response) : response
  }
  app.post('/:database', ofDatabase, handleOperations)

  if (hasQuery(app)) {
    app.withTypeProvider<TypeBoxTypeProvider>().route({
      ...ofTable,
      method: 'QUERY',
      url,
      schema: { ...ofTable.schema, hide: true },
      preValidation: [checkQuery, completeSelect, checkStream],
      onSend: sendAcceptQuery,
      handler: handleTable
    })
    app.route({
      ...ofDatabase,
      method: 'QUERY',
      url: '/:database',
      preHandler: refuseWrites,
      onSend: sendAcceptQuery,
      handler: handleOperations
    })
  }

  if (named !== undefined) {
    app.route({
      method: app.supportedMethods,
      url: `/${REQUESTS_PATH}/:name`,
      schema: { hide: true },
      onRequest: findNamed(named),
      handler: (request, reply) => {
        if (request.rowQueryNamed?.isRead === true) return handleNamed(request, reply, named)
        const keyed = { key: keyOf(request, {}), onReplay: () => { reply.header(REPLAYED, 'true') } }
        return whileWriting(request, handleNamed(request, reply, named, keyed))
      }
    })
  }

  const refuseMethod = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.header('allow', methods.join(', '))
    throw methodNotAllowed(request.method, methods.join(' or '))
  }
  const others = {
    method: app.supportedMethods.filter((method) => !methods.includes(method)),
    schema: { hide: true },
    ...(hasQuery(app) && { onSend: sendAcceptQuery })
  }
  app.route({ ...others, url, onRequest: refuseMethod, handler: refuseMethod })
  // any other path of one segment may be a disabled document or, without a prefix, a path of the host app
  const refuseOfDatabase = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { database } = request.params as { database: string }
    if (!databases.has(database) || !seesDatabase(getGrant(request), database)) throw notFound()
    await refuseMethod(request, reply)
  }
  if (app.prefix !== '') {
    app.route({ ...others, url: '/:database', onRequest: refuseOfDatabase, handler: refuseOfDatabase })
  }
}, { name: 'row-query-routes' })
