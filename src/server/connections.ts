import type { EventEmitter } from 'node:events'
import { type IncomingMessage, METHODS, type ServerOptions, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { type TlsOptions, Server as TlsServer } from 'node:tls'
import { randomUUID } from 'node:crypto'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { HttpSettings } from '../config/settings.ts'
import {
  headersTooLarge, invalidRequest, methodNotAllowed, notFound, requestTimeout, type ServiceError, toErrorBody
} from '../errors.ts'
import { failImport, isImporting } from '../http/import-request.ts'
import { slowClients } from '../telemetry/record.ts'

/**
 * How often the time limits are checked, in milliseconds. Node's default of 30 seconds is longer than some of the
 * limits.
 */
const CHECK_INTERVAL = 1000

/** Fastify passes `http` or `https` to Node's server. */
export function httpServerOptions ({ headersTimeout, requestTimeout, maxHeaderSize }: HttpSettings, tls?: TlsOptions) {
  const http: ServerOptions = {
    requireHostHeader: false, // `findInvalid` checks it, because Node's own error response has no body
    headersTimeout,
    requestTimeout,
    maxHeaderSize,
    connectionsCheckingInterval: CHECK_INTERVAL
  }
  const https = tls === undefined ? null : { ...http, ...tls, handshakeTimeout: headersTimeout }
  return { http, https, requestTimeout }
}

/**
 * Private fields of Node: the response in progress, the request that is being read, and the bytes that the system has
 * not accepted yet.
 */
interface ServerSocket extends Socket {
  _httpMessage?: ServerResponse | null
  parser?: { incoming: IncomingMessage | null } | null
  _handle?: { bytesWritten: number; writeQueueSize: number } | null
}

/**
 * Applies the limits that are not options of Fastify. One timer checks all connections, because Node's own timers, one
 * for each connection, would be restarted by each read, write and response.
 */
export function limitConnections (
  app: FastifyInstance,
  { maxConnections, answerTimeout, answerRate, keepAliveTimeout }: HttpSettings
): void {
  const { server } = app
  server.maxConnections = maxConnections
  // for workers, whose primary process would otherwise offer a connection to one after the other endlessly; the types
  // lack the option
  Object.assign(server, { dropMaxConnection: true })
  server.keepAliveTimeout = 0
  const open = trackSockets(server, server instanceof TlsServer ? 'secureConnection' : 'connection')
  const closeIdle = createIdleTimeout(keepAliveTimeout)
  const closeSlow = createResponseTimeout(answerTimeout, answerRate)
  const check = setInterval(() => {
    const now = performance.now()
    for (const socket of open) {
      closeSlow(socket, now)
      closeIdle(socket, now)
    }
  }, CHECK_INTERVAL).unref()
  server.once('close', () => clearInterval(check))
}

/**
 * Says in each response that its connection closes with it, or how long it stays open without a request. Node says this
 * for its own timeout, so that a client does not send a request while the connection is being closed.
 */
export function addConnectionHeaders (
  app: FastifyInstance,
  drain: Drain,
  { keepAliveTimeout }: Pick<HttpSettings, 'keepAliveTimeout'>
): void {
  const hint = `timeout=${Math.floor(keepAliveTimeout / 1000)}`
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (drain.hasStarted) reply.header('connection', 'close')
    else if (reply.raw.shouldKeepAlive && !reply.hasHeader('connection')) reply.header('keep-alive', hint)
    done()
  })
}

/**
 * Closes a connection if its client receives a response too slowly: fewer than `rate` bytes per second on average over
 * `time` milliseconds. A client that received a byte now and then could keep a response in memory for days.
 */
function createResponseTimeout (time: number, rate: number): (socket: ServerSocket, now: number) => void {
  const slow = new WeakMap<Socket, { received: number, since: number }>()
  const least = rate * time / 1000
  return (socket, now) => {
    const { _handle: handle, writableLength } = socket
    if (writableLength === 0 || handle == null) {
      slow.delete(socket)
      return
    }
    const received = handle.bytesWritten - handle.writeQueueSize
    const before = slow.get(socket)
    if (before === undefined) slow.set(socket, { received, since: now })
    else if (now - before.since >= time) {
      if (received - before.received < least) {
        slowClients.add(socket)
        socket.destroy()
      } else slow.set(socket, { received, since: now })
    }
  }
}

/** Closes a connection that has been idle, without a request or received data, for at least that many milliseconds. */
function createIdleTimeout (keepAliveTimeout: number): (socket: ServerSocket, now: number) => void {
  const seen = new WeakMap<Socket, { bytesRead: number, since: number }>()
  return (socket, now) => {
    const { bytesRead, _httpMessage: response } = socket
    const before = seen.get(socket)
    if (before === undefined || response != null || bytesRead !== before.bytesRead) {
      seen.set(socket, { bytesRead, since: now })
    } else if (now - before.since > keepAliveTimeout) socket.destroy()
  }
}

/** Returns the open sockets among those of an event; the set changes with them. */
function trackSockets (server: EventEmitter, event: string): ReadonlySet<Socket> {
  const open = new Set<Socket>()
  server.on(event, (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return open
}

export interface Drain {
  readonly hasStarted: boolean
  /**
   * Makes each response close its connection, waits `delay` milliseconds so that load balancers notice, and closes the
   * port.
   */
  start (delay: number): Promise<void>
}

/**
 * How long a connection must have been idle before it is closed, in milliseconds, because its client has had no
 * response with `Connection: close`, and may have sent a request that has not arrived yet.
 */
const IDLE_TIME = 500
/** How often idle connections are checked after the port has been closed, in milliseconds. */
const DRAIN_CHECK_INTERVAL = 100

/**
 * Closes each connection with its next response (`addConnectionHeaders`), or when it is idle, so that no request is
 * lost.
 */
export function createDrain (app: FastifyInstance): Drain {
  const { server } = app
  const closeIdle = createIdleCheck(app)
  // Node's close() calls this, and would close connections on which a request is about to arrive
  server.closeIdleConnections = () => {}
  const startOnce = (): void => {
    if (drain.hasStarted) return
    drain.hasStarted = true
    // for responses without hooks, such as those to invalid paths
    server.prependListener('request', (_request: unknown, response: ServerResponse) => {
      response.shouldKeepAlive = false
    })
  }
  // Fastify closes the port some event-loop turns later; until then, clients would open connections that are reset
  const closePort = (): void => { if (server.listening) server.close() }
  app.addHook('preClose', async () => {
    closePort()
    startOnce()
    closeIdle()
  })
  const drain = {
    hasStarted: false,
    async start (delay: number): Promise<void> {
      startOnce()
      if (delay > 0) await sleep(delay)
      closePort()
    }
  }
  return drain
}

/** Returns a function that closes idle connections until the server is closed. */
function createIdleCheck (app: FastifyInstance): () => void {
  const { server } = app
  const accepted = trackSockets(server, 'connection')
  const secured = server instanceof TlsServer ? trackSockets(server, 'secureConnection') : undefined
  return () => {
    const closeIfIdle = createIdleTimeout(IDLE_TIME)
    const check = setInterval(() => {
      const now = performance.now()
      for (const socket of secured ?? accepted) closeIfIdle(socket, now)
      // TCP connections below TLS show no requests, so only those without a handshake are closed
      if (secured !== undefined) for (const socket of accepted) if (socket.bytesRead === 0) closeIfIdle(socket, now)
    }, DRAIN_CHECK_INTERVAL).unref()
    app.server.once('close', () => clearInterval(check))
  }
}

/** Responds to a request that does not reach the plugin. */
export type OutsideHandler = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void

/** Replaces the responses that Fastify or Node would send by themselves with the JSON envelope of the service. */
export function handleEverything (app: FastifyInstance, handleOutside: OutsideHandler): void {
  app.removeAllContentTypeParsers()
  app.setErrorHandler(handleOutside)
  app.setNotFoundHandler((request, reply) => handleOutside(notFound() as FastifyError, request, reply))
  for (const method of METHODS) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method, { hasBody: method === 'QUERY' })
  }
  // RFC 9110, section 10.1.1: unknown expectations may be ignored
  app.server.on('checkExpectation', (request, response) => { app.server.emit('request', request, response) })
  app.server.on('connect', respondToConnect)
  app.addHook('onRequest', ({ raw, id }, reply, done) => {
    reply.header('x-request-id', id)
    const invalid = findInvalid(raw)
    if (invalid !== undefined) reply.header('cache-control', 'no-store')
    done(invalid)
  })
}

/** Returns an error for requests that Node's parser accepts although RFC 9112 forbids them (sections 3.2 and 3.2.1). */
export function findInvalid ({ url, httpVersion, rawHeaders }: IncomingMessage): ServiceError | undefined {
  const hosts = countHosts(rawHeaders)
  if (hosts > 1) return invalidRequest('it has more than one Host header')
  if (hosts === 0 && httpVersion === '1.1') return invalidRequest('it has no Host header')
  return (url as string).includes('#') ? invalidRequest('its path has a fragment ("#")') : undefined
}

/** Counts Host in the raw headers, because `headers` has only the first one. */
function countHosts (rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

// Responds to requests that Node's HTTP parser refuses by writing to the socket, because there is no request object.

/** Maps the code of a parser error to the error for the client and its additional headers. */
const refusals = new Map<string | undefined, () => { refusal: ServiceError, lines?: string }>([
  ['ERR_HTTP_REQUEST_TIMEOUT', () => ({ refusal: requestTimeout(), lines: 'retry-after: 1\r\n' })],
  ['HPE_HEADER_OVERFLOW', () => ({ refusal: headersTooLarge() })]
])

/** How long a client may read the error before its connection is closed, in milliseconds, even if it keeps sending. */
const LINGER = 1000

interface ParserError extends Error { code?: string }

/** For Fastify's `clientErrorHandler`. */
export function respondToBroken (error: ParserError, socket: ServerSocket): void {
  if (error.code !== 'ERR_HTTP_REQUEST_TIMEOUT') return respondToError(error, socket)
  // an import has limits of its own
  if (isImporting(socket)) return
  const { _httpMessage: running, bytesWritten } = socket
  if (running?.req.complete === true) return respondToError(error, socket)
  // timers run before the bytes are read that have arrived meanwhile, which may be all of the request
  setImmediate(() => {
    const isWhole = running?.req.complete ??
      (socket._httpMessage?.req.complete === true || socket.bytesWritten > bytesWritten)
    if (!isWhole && !socket.destroyed) respondToError(error, socket)
  })
}

function respondToError (error: ParserError, socket: ServerSocket): void {
  if (closesAfterRunning(socket)) return
  const running = socket._httpMessage
  // the error is in the body of a request that has a response, and the client would take a second response for the
  // response to the next request
  if (
    running == null
      ? socket.parser?.incoming?.complete === false
      : !running.req.complete && running.hasHeader('content-type')
  ) {
    setImmediate(() => socket.destroySoon()) // the response may be a stream, which begins in the next tick
    return
  }
  if (!socket.writable || running?.headersSent === true) {
    socket.destroy(error)
    return
  }
  const response = refusals.get(error.code)?.() ?? { refusal: invalidRequest('it could not be parsed') }
  if (!failImport(socket, response.refusal)) refuse(socket, response)
}

/**
 * Refuses the method CONNECT. Handles the event `connect` of Node's server, for which Node removes its own listeners
 * from the socket; without a handler, Node closes the connection without a response.
 */
function respondToConnect ({ method }: IncomingMessage, socket: ServerSocket): void {
  socket.on('error', () => {}) // the connection is closed anyway
  if (closesAfterRunning(socket)) return
  refuse(socket, { refusal: methodNotAllowed(method as string, 'POST or QUERY'), lines: 'allow: POST, QUERY\r\n' })
  socket.resume() // discards further data: closing a socket with unread data would reset the connection
}

/**
 * If an earlier request is still running, closes the connection after its response, because the client would take a
 * response now for that one.
 */
function closesAfterRunning (socket: ServerSocket): boolean {
  const running = socket._httpMessage
  if (running?.req.complete !== true && running?.writableEnded !== true) return false
  running.once('close', () => { socket.destroy() })
  return true
}

function refuse (socket: Socket, { refusal, lines = '' }: { refusal: ServiceError, lines?: string }): void {
  socket.end(responseText(refusal, lines))
  setTimeout(() => socket.destroy(), LINGER).unref()
}

function responseText (refusal: ServiceError, lines: string): string {
  const body = JSON.stringify(toErrorBody(refusal))
  return (
    `HTTP/1.1 ${refusal.statusCode} ${STATUS_CODES[refusal.statusCode]}\r\ncontent-type: application/json; ` +
    `charset=utf-8\r\ncache-control: no-store\r\nx-request-id: ${randomUUID()}\r\n` +
    `${lines}content-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`
  )
}

/** The scheme and host of a request to a proxy (RFC 9112, section 3.2.2), which the router ignores. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i

/**
 * Routes a request below the prefix again if the router has refused it before any hook, because its path has invalid
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
