/** Answers requests that Node's HTTP parser rejects by writing to the socket, because there is no request object. */
import { randomUUID } from 'node:crypto'
import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  headersTooLarge, invalidRequest, methodNotAllowed, refusalOf, requestTimeout, type ServiceError
} from '../errors.ts'
import { failImport, isImporting } from '../http/import-request.ts'

/** Maps the code of a parser error to the error for the client and its additional headers. */
const refusals = new Map<string | undefined, () => { refusal: ServiceError, lines?: string }>([
  ['ERR_HTTP_REQUEST_TIMEOUT', () => ({ refusal: requestTimeout(), lines: 'retry-after: 1\r\n' })],
  ['HPE_HEADER_OVERFLOW', () => ({ refusal: headersTooLarge() })]
])

/** How long a client may read the error before its connection is closed, in milliseconds, even if it keeps sending. */
const LINGER = 1000

/** Private fields of Node: the response in progress, and the request that is being read. */
interface RequestSocket extends Socket {
  _httpMessage?: ServerResponse | null
  parser?: { incoming: IncomingMessage | null } | null
}

/** For Fastify's `clientErrorHandler`. */
export function answerBrokenRequest (error: Error & { code?: string }, socket: RequestSocket): void {
  // an import has limits of its own
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && isImporting(socket)) return
  if (closesAfterRunning(socket)) return
  const running = socket._httpMessage
  // the error is in the body of an answered request, and the client would take a second answer for that of the next
  // request
  if (
    running == null
      ? socket.parser?.incoming?.complete === false
      : !running.req.complete && running.hasHeader('content-type')
  ) {
    setImmediate(() => socket.destroySoon()) // the answer may be a stream, which begins in the next tick
    return
  }
  if (!socket.writable || running?.headersSent === true) {
    socket.destroy(error)
    return
  }
  const answer = refusals.get(error.code)?.() ?? { refusal: invalidRequest('it could not be parsed') }
  if (!failImport(socket, answer.refusal)) refuse(socket, answer)
}

/**
 * Refuses the method CONNECT. Handles the event `connect` of Node's server, for which Node removes its own listeners
 * from the socket; without a handler, Node closes the connection without an answer.
 */
export function answerConnect ({ method }: IncomingMessage, socket: RequestSocket): void {
  socket.on('error', () => {}) // the connection is closed anyway
  if (closesAfterRunning(socket)) return
  refuse(socket, { refusal: methodNotAllowed(method as string, 'POST or QUERY'), lines: 'allow: POST, QUERY\r\n' })
  socket.resume() // discards further data: closing a socket with unread data would reset the connection
}

/**
 * If an earlier request is still running, closes the connection after its answer, because the client would take an
 * answer now for that one.
 */
function closesAfterRunning (socket: RequestSocket): boolean {
  const running = socket._httpMessage
  if (running?.req.complete !== true && running?.writableEnded !== true) return false
  running.once('close', () => { socket.destroy() })
  return true
}

function refuse (socket: Socket, { refusal, lines = '' }: { refusal: ServiceError, lines?: string }): void {
  socket.end(answerOf(refusal, lines))
  setTimeout(() => socket.destroy(), LINGER).unref()
}

function answerOf (refusal: ServiceError, lines: string): string {
  const body = JSON.stringify(refusalOf(refusal))
  return (
    `HTTP/1.1 ${refusal.statusCode} ${STATUS_CODES[refusal.statusCode]}\r\ncontent-type: application/json; ` +
    `charset=utf-8\r\nx-request-id: ${randomUUID()}\r\n` +
    `${lines}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
  )
}

/** The scheme and host of a request to a proxy (RFC 9112, section 3.2.2), which the router ignores. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i

/**
 * Routes a request below the prefix again if the router has rejected it before any hook, because its path has invalid
 * percent-encoding or a name that is too long. The new path does not exist, so the request is authenticated and counted
 * like every other one. Returns whether it was routed.
 */
export function routeToNothing (
  app: FastifyInstance,
  prefix: string,
  { raw }: FastifyRequest,
  reply: FastifyReply
): boolean {
  if (!(raw.url as string).replace(ORIGIN, '').startsWith(`${prefix}/`)) return false
  raw.url = `${prefix}/-/-/-`
  app.routing(raw, reply.raw)
  return true
}
