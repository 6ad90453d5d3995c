/** The routes: POST {prefix}/{database}/{table} for one request, POST {prefix}/{database} for several operations. */
import { constants, Http2ServerResponse } from 'node:http2'
import { finished } from 'node:stream'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type {
  FastifyInstance, FastifyReply, FastifyRequest, onRequestHookHandler, onSendHookHandler, preValidationHookHandler
} from 'fastify'
import { BodySchema, type SelectBody } from '../schemas/body.ts'
import { type OperationsBody, OperationsBodySchema } from '../schemas/operations.ts'
import { type Access, getAccess, getDatabase, getGrant } from './access/authorize.ts'
import { Caller } from './access/caller.ts'
import { seesDatabase } from './access/grant.ts'
import type { Database } from './databases/database.ts'
import { internal, isBug, isServiceError, methodNotAllowed, notFound } from './errors.ts'
import { readKey } from './idempotency/run-once.ts'
import { handle, openStream, type StreamRequest } from './pipeline.ts'
import { shownInHost } from './openapi/interface-document.ts'
import { isReadOnly, runOperations } from './operations/run-operations.ts'
import type { PlanLimits, RequestLimits } from './plan/terms.ts'
import { CONTENT_TYPES, findFormat, isSelect, readConsistency, takeLimit } from './request/stream-request.ts'
import { type AnswerBudget, isClosed } from './response/budget.ts'
import { GRACE, type RowStream } from './response/row-stream.ts'
import { OWN_APP, type Collector, RequestRecord, slowClients } from './telemetry/record.ts'

// Answers a select with a stream of rows, and reports how it ended to the log and the metrics.

/** The format and the limit that the header Accept and the body ask for. */
type WantedStream = Pick<StreamRequest, 'format' | 'limit'>

/**
 * Finds out whether the request is answered with a stream, and takes `limit` out of its body, because the schema bounds
 * it for other answers. Clients of HTTP/1.0 get no stream, because they could not see that it was cut off. Returns the
 * refusal instead of throwing it.
 */
function findWantedStream (request: FastifyRequest, most: number | undefined): WantedStream | Error | null {
  const format = findFormat(request.headers.accept)
  if (format === undefined || request.raw.httpVersion === '1.0' || !isSelect(request.body)) return null
  const taken = takeLimit(request.body, most)
  if (taken instanceof Error) return taken
  request.body = taken.body
  return { format, limit: taken.limit }
}

interface StreamToSend extends WantedStream, Pick<StreamRequest, 'access' | 'limits' | 'consistency'> {
  readonly collectors: readonly Collector[]
  /** Whether the app is that of the stand-alone server, which has no hooks of others. */
  readonly isOwnApp: boolean
}

/** Sends the stream. @throws ServiceError if no row has been read */
async function sendStream (
  request: FastifyRequest,
  reply: FastifyReply,
  { collectors, isOwnApp, ...wanted }: StreamToSend
): Promise<FastifyReply> {
  const { raw: response } = reply
  const record = request.rowQueryRecord ?? new RequestRecord(false, false)
  const { stream } = await openStream({
    ...wanted,
    body: request.body as SelectBody,
    client: new Caller(response, wanted.access.grant),
    record
  })
  if (isOwnApp) stream.reuseMemory()
  stream.onCut = createCut(stream, response)
  stream.onFailure = () => {
    setTimeout(() => cut(stream, response), GRACE).unref()
  }
  // closing the app waits for the record
  const { running } = wanted.access.database
  running.begin()
  // the response may already be closed
  finished(response, (error) => {
    running.end()
    record.status = reply.statusCode
    describe(record, stream, { request, reply, isWhole: error == null && stream.failure === undefined })
    const { database, grant } = wanted.access
    Object.assign(record, {
      verb: 'select',
      database: database.name,
      token: grant.name,
      requestId: reply.getHeader('x-request-id') ?? ''
    })
    for (const collector of collectors) if (collector.accepts(record.refusal)) collector.collect(record)
  })
  record.isDeferred = true
  return reply.type(CONTENT_TYPES[wanted.format]).send(stream.readable)
}

/** Closes the connection instead of ending the answer, once the client has the rows that were read before the error. */
const createCut = (stream: RowStream, response: FastifyReply['raw']) => (): void => {
  if (isClosed(response)) cut(stream, response)
  else response.write('', () => { cut(stream, response) })
}

/** Fastify destroys the response. Without its own error, a stream of HTTP/2 would look whole then. */
function cut ({ readable }: RowStream, response: FastifyReply['raw'] | Http2ServerResponse): void {
  if (response instanceof Http2ServerResponse && !response.stream.closed) {
    response.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
  }
  readable.destroy()
}

/** Records how a stream ended. */
function describe (
  record: RequestRecord,
  { passed, bytes, failure }: RowStream,
  { request, isWhole }: { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly isWhole: boolean }
): void {
  const refusal = failure === undefined || isServiceError(failure) ? failure : internal()
  if (refusal !== undefined && isBug(refusal)) request.log.error({ err: failure }, 'unexpected error')
  record.refusal = refusal
  // the execution of one that was cut off has failed
  if (isWhole) record.executed(passed)
  record.rows = passed
  record.end()
  const gone = slowClients.has(request.raw.socket) ? 'CLIENT_SLOW' : 'CLIENT_GONE'
  record.stream = {
    bytes,
    complete: isWhole,
    reason: isWhole ? undefined : (refusal?.reason ?? refusal?.code ?? gone)
  }
}

interface RouteOptions {
  readonly databases: ReadonlyMap<string, Database>
  readonly limits: PlanLimits & Pick<RequestLimits, 'streamRows'>
  readonly budget: AnswerBudget
  /** The collectors of streams. */
  readonly collectors: readonly Collector[]
}

const CONSISTENCY = 'The header "Row-Query-Consistency"'

declare module 'fastify' {
  interface FastifyRequest {
    /** The access of the path. Set by the route of the rows. */
    rowQueryAccess: Access
    /** The database of several operations. */
    rowQueryDatabase: Database
    /** Set for a select that is answered with a stream. */
    rowQueryStream: WantedStream | null
    /** Whether a write has begun, so that an error from elsewhere cannot say that nothing was changed. */
    rowQueryIsWriting?: boolean
  }
}

const KEY = 'idempotency-key'
const REPLAYED = 'idempotency-replayed'

/** @throws INVALID_IDEMPOTENCY_KEY, INVALID_BODY */
const keyOf = ({ headers, rowQueryBodyHash: bodyHash }: FastifyRequest, body: object) =>
  readKey({ header: headers[KEY], bodyHash, dryRun: (body as { dryRun?: boolean }).dryRun === true })

/**
 * Sets Vary, because the answer to a select depends on the header Accept. An answer without it would show that the
 * request was refused before its body was read.
 */
const varyByAccept: onSendHookHandler = (_request, reply, _payload, done) => {
  const others = reply.getHeader('vary')
  reply.header('vary', others === undefined ? 'Accept' : `${String(others)}, Accept`)
  done()
}

export function addRoute (app: FastifyInstance, { databases, limits, budget, collectors }: RouteOptions): void {
  const url = '/:database/:table'
  const isOwnApp = app.hasDecorator(OWN_APP)
  app.decorateRequest('rowQueryAccess')
  app.decorateRequest('rowQueryDatabase')
  app.decorateRequest('rowQueryStream', null)
  app.decorateRequest('rowQueryIsWriting', false)

  // both refuse by the path alone, before the body is read
  app.addHook('onRequest', (request, _reply, done) => done(request.is404 ? notFound() : undefined))
  const checkPath: onRequestHookHandler = (request, _reply, done) => {
    request.rowQueryAccess = getAccess(
      databases,
      getGrant(request),
      request.params as { database: string; table: string }
    )
    done()
  }

  app.addHook('onSend', (_request, reply, payload, done) => {
    budget.countUnsent(reply.raw, payload)
    done()
  })

  const checkStream: preValidationHookHandler = (request, _reply, done) => {
    const wanted = findWantedStream(request, limits.streamRows)
    if (wanted instanceof Error) return done(wanted)
    request.rowQueryStream = wanted
    done()
  }

  app
    .withTypeProvider<TypeBoxTypeProvider>()
    .post(
      url,
      {
        schema: { body: BodySchema },
        config: shownInHost(app.prefix),
        onRequest: checkPath,
        preValidation: checkStream,
        onSend: varyByAccept
      },
      (request, reply) => {
        const { body, headers, rowQueryAccess: access, rowQueryRecord: record } = request
        const consistency = readConsistency(body.verb, CONSISTENCY, headers['row-query-consistency'])
        if (request.rowQueryStream !== null) {
          return sendStream(request, reply, {
            ...request.rowQueryStream,
            access,
            limits,
            consistency,
            collectors,
            isOwnApp
          })
        }
        reply.type('application/json; charset=utf-8')
        const options = { access, body, limits, consistency, client: new Caller(reply.raw, getGrant(request)), record }
        const key = headers[KEY] === undefined || body.verb === 'select' ? undefined : keyOf(request, body)
        request.rowQueryIsWriting = body.verb !== 'select'
        return handle(
          key === undefined ? options : { ...options, key, onReplay: () => reply.header(REPLAYED, 'true') }
        ).then(({ answer }) => answer)
      }
    )

  const checkDatabase: onRequestHookHandler = (request, _reply, done) => {
    const { database } = request.params as { database: string }
    if (database === '') throw notFound()
    request.rowQueryDatabase = getDatabase(databases, getGrant(request), database)
    done()
  }

  app.post(
    '/:database',
    { schema: { body: OperationsBodySchema, hide: true }, onRequest: checkDatabase },
    (request, reply) => {
      const { headers, rowQueryDatabase: database, rowQueryRecord: record } = request
      const body = request.body as OperationsBody
      const isRead = isReadOnly(body)
      const consistency = readConsistency(isRead ? 'select' : 'update', CONSISTENCY, headers['row-query-consistency'])
      const key = isRead ? undefined : keyOf(request, body)
      reply.type('application/json; charset=utf-8')
      request.rowQueryIsWriting = !isRead
      return runOperations({
        grant: getGrant(request),
        database,
        body,
        limits,
        consistency,
        client: new Caller(reply.raw, getGrant(request)),
        record,
        key,
        onReplay: () => reply.header(REPLAYED, 'true')
      })
    }
  )

  const refuseMethod = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.header('allow', 'POST')
    throw methodNotAllowed(request.method)
  }
  const others = app.supportedMethods.filter((method) => method !== 'POST')
  app.route({ method: others, url, schema: { hide: true }, onRequest: refuseMethod, handler: refuseMethod })
  // any other path of one segment may be a disabled document or, without a prefix, a path of the host app
  const refuseOfDatabase = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { database } = request.params as { database: string }
    if (!databases.has(database) || !seesDatabase(getGrant(request), database)) throw notFound()
    await refuseMethod(request, reply)
  }
  if (app.prefix !== '') {
    app.route({
      method: others,
      url: '/:database',
      schema: { hide: true },
      onRequest: refuseOfDatabase,
      handler: refuseOfDatabase
    })
  }
}
