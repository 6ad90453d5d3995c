import type { IncomingMessage } from 'node:http'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fp from 'fastify-plugin'
import { shownId } from './response-headers.ts'
import { clientGone } from '../src/dialects/dialect.ts'
import { logRefusal } from '../src/telemetry/record.ts'
import { describeTypes, findImportFormat, keepImporting, stopWaiting } from '../src/http/import-request.ts'
import { OF_IMPORT, OF_WAITING_IMPORT, respondBeforeEnd } from '../src/request/read-body.ts'
import type {} from './telemetry.ts' // declares request.rowQueryRecord
import {
  bodyIncomplete, bodyTooLarge, internal, isBug, invalidRequest, isServiceError, isTemporary, notFound, outcomeUnknown,
  overloaded, permissionDenied, rateLimited, toErrorBody, unauthenticated, unsupportedMediaType, withReason,
  toReadable, type ServiceError
} from '../src/errors.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /**
     * Whether a write runs or has been made, so that an error from elsewhere cannot say that nothing was changed. False
     * again if the write has failed by itself.
     */
    rowQueryIsWriting?: boolean
  }
}

const refuseMediaType = (reply?: FastifyReply): ServiceError =>
  unsupportedMediaType(reply === undefined ? 'application/json' : describeTypes(reply.request))

/** Errors of Fastify and Node that clients can cause. */
const fastifyErrors = new Map<string, (reply?: FastifyReply) => ServiceError>([
  ['FST_ERR_CTP_BODY_TOO_LARGE', bodyTooLarge],
  ['FST_ERR_CTP_INVALID_MEDIA_TYPE', refuseMediaType],
  ['FST_ERR_CTP_INVALID_CONTENT_LENGTH', () => invalidRequest('the length of the body differs from Content-Length')],
  ['ECONNRESET', bodyIncomplete],
  // of a stream that nobody waits for any more
  ['ERR_STREAM_PREMATURE_CLOSE', clientGone],
  ['FST_ERR_BAD_URL', notFound],
  ['FST_ERR_MAX_PARAM_LENGTH', notFound],
  ['FST_ERR_ROUTE_MISSING_CONTENT_TYPE', refuseMediaType]
])

/**
 * Statuses with which hooks of the host app may refuse. Their messages are not passed on, because they are for other
 * clients.
 */
const hostErrors = new Map<number | undefined, (reply?: FastifyReply) => ServiceError>([
  () => unauthenticated('The app refused this request'),
  () => permissionDenied('The app refused this request'),
  rateLimited,
  overloaded
].map((refuse) => [refuse().statusCode, refuse]))

/** Seconds after which a client may retry, if the error has no better time. */
const RETRY_AFTER = 1

export default fp(async function errors (app: FastifyInstance) {
  app.decorateRequest('rowQueryIsWriting', false)
  app.decorateRequest('rowQueryCommitted', undefined)
  app.setErrorHandler(sendError)
}, { name: 'row-query-errors' })

/** Refusals of a request that may be sent again later, besides those of the database. */
const ALSO_RETRIED: ReadonlySet<string> = new Set(['RATE_LIMITED', 'REQUEST_TIMEOUT'])

/** Unexpected errors are logged with their stack. */
export function sendError (given: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = toReadable(given) as FastifyError
  const cause = toRefusal(error, reply)
  // an error of the host app, such as of its hook onSend: one that promises that nothing was changed would have clients
  // write twice
  const isOfWrite = request.rowQueryIsWriting === true && !isServiceError(error)
  const refusal = isOfWrite ? withReason(outcomeUnknown(), error.code) : cause
  const { rowQueryCommitted: committed = refusal.committed } = request
  if (isOfWrite && isBug(cause)) request.log.error({ requestId: shownId(request), err: error }, 'unexpected error')
  logRefusal(request.log, { refusal, error, requestId: shownId(request), record: request.rowQueryRecord })
  // the rate limiter, or a hook of the app, may have set a better time
  const mayRetry =
    (isTemporary(refusal) || ALSO_RETRIED.has(refusal.code) || refusal.retryAfter !== undefined) &&
    (committed?.rows ?? 0) === 0
  if (mayRetry && !reply.hasHeader('retry-after')) {
    reply.header('retry-after', String(refusal.retryAfter ?? RETRY_AFTER))
  }
  const text = JSON.stringify(toErrorBody(refusal, committed))
  reply.code(refusal.statusCode).type('application/json; charset=utf-8')
  const { raw } = request
  const isWaiting = stopWaiting(raw)
  const isImport = isUnreadImport(request)
  // of a client that waits for 100 Continue, Node closes the connection
  if (!isImport && !isWaiting && !closesUnread(raw, reply)) return reply.send(text)
  reply.header('content-length', Buffer.byteLength(text))
  if (!isImport) return reply.send(respondBeforeEnd(raw, text))
  reply.header('connection', 'close')
  keepImporting(raw.socket)
  return reply.send(respondBeforeEnd(raw, text, isWaiting ? OF_WAITING_IMPORT : OF_IMPORT))
}

/**
 * Whether the connection is closed after the response although a part of the body has not been read. If the connection
 * stays open, Node reads the rest itself.
 */
function closesUnread ({ complete, headers }: IncomingMessage, reply: FastifyReply): boolean {
  if (complete !== false || (headers['content-length'] ?? headers['transfer-encoding'] ?? '0') === '0') return false
  return !reply.raw.shouldKeepAlive || reply.getHeader('connection') === 'close'
}

/**
 * Whether the request is an import of an authenticated caller whose body has not been read to its end. Its connection
 * is closed, because the rest may have any length.
 */
function isUnreadImport ({ raw, rowQueryGrant }: FastifyRequest): boolean {
  return raw.complete === false &&
    raw.httpVersionMajor === 1 &&
    rowQueryGrant != null &&
    findImportFormat(raw.headers) !== undefined
}

/**
 * The error as the client sees it; INTERNAL for unexpected errors. As for Fastify, the status of an error of the host
 * app is the one that the reply has been given, else that of the error.
 */
export function toRefusal (
  error: (FastifyError & { readonly status?: number }) | ServiceError,
  reply?: FastifyReply
): ServiceError {
  if (isServiceError(error)) return error
  const status = reply !== undefined && reply.statusCode >= 400 ? reply.statusCode : (error.statusCode ?? error.status)
  return (fastifyErrors.get(error.code) ?? hostErrors.get(status))?.(reply) ?? internal()
}
