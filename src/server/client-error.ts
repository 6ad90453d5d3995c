/** What comes on a connection and never becomes a request: there is nothing to answer but a socket. */
import { randomUUID } from 'node:crypto'
import { STATUS_CODES, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { headersTooLarge, invalidRequest, methodNotAllowed, refusalOf, requestTimeout, type ServiceError } from '../errors.ts'

/** Node's name for it -> the refusal, with header lines of its own. */
const refusals = new Map<string | undefined, () => { refusal: ServiceError, lines?: string }>([
  ['ERR_HTTP_REQUEST_TIMEOUT', () => ({ refusal: requestTimeout(), lines: 'retry-after: 1\r\n' })],
  ['HPE_HEADER_OVERFLOW', () => ({ refusal: headersTooLarge() })]
])

/** How long a client may take to read why, in milliseconds: one that goes on sending must not keep the connection. */
const LINGER = 1000

/** What Node keeps with a socket: the response that is being made, and the request that is being read. */
interface RequestSocket extends Socket {
  _httpMessage?: ServerResponse | null
  parser?: { incoming: IncomingMessage | null } | null
}

/** For Fastify's `clientErrorHandler`. */
export function answerBrokenRequest (error: Error & { code?: string }, socket: RequestSocket): void {
  if (endsAfterRunning(socket)) return
  const running = socket._httpMessage
  // It is the body of a request that has its answer: another one would be taken for that of the next request.
  if (running === null && socket.parser?.incoming?.complete === false) {
    socket.destroySoon()
    return
  }
  if (!socket.writable || running?.headersSent === true) {
    socket.destroy(error)
    return
  }
  refuse(socket, refusals.get(error.code)?.() ?? { refusal: invalidRequest('it could not be parsed') })
}

/**
 * For the event `connect` of Node's server: the method CONNECT asks for a tunnel, and Node has taken its own listeners off the socket.
 * Without a listener for the event Node closes the connection without an answer.
 */
export function answerConnect ({ method }: IncomingMessage, socket: RequestSocket): void {
  socket.on('error', () => {}) // it ends anyway
  if (endsAfterRunning(socket)) return
  refuse(socket, { refusal: methodNotAllowed(method as string), lines: 'allow: POST\r\n' })
  socket.resume() // what the client sends on is dropped: unread bytes would make the end of the connection a reset
}

/** Where a whole request before this one may still be running, and change rows: an answer now would pass for the answer to it. */
function endsAfterRunning (socket: RequestSocket): boolean {
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
  return `HTTP/1.1 ${refusal.statusCode} ${STATUS_CODES[refusal.statusCode]}\r\ncontent-type: application/json; charset=utf-8\r\nx-request-id: ${randomUUID()}\r\n` +
    `${lines}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
}
