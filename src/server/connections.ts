/** How long a client may take, and how much it may ask of a connection. */
import type { EventEmitter } from 'node:events'
import type { FastifyInstance } from 'fastify'
import type { ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer, type TlsOptions } from 'node:tls'
import type { HttpSettings } from '../config/server-settings.ts'

/** How often connections are held to their time, in milliseconds: Node's own half a minute would be longer than the time itself. */
const CHECK_INTERVAL = 1000

/** For the making of a Fastify app. `http` and `https` go to Node's server. */
export function httpServerOptions ({ headersTimeout, requestTimeout, maxHeaderSize }: HttpSettings, tls?: TlsOptions) {
  const http: ServerOptions = {
    requireHostHeader: false, // checked by us: Node's own refusal has no body
    headersTimeout,
    requestTimeout,
    maxHeaderSize,
    connectionsCheckingInterval: CHECK_INTERVAL
  }
  const https = tls === undefined ? null : { ...http, ...tls, handshakeTimeout: headersTimeout }
  return { http, https, requestTimeout }
}

/** A connection, and as Node notes them: the answer that it is to bring next, and what the system has not taken yet of what was written. */
type ServerSocket = Socket & { _httpMessage?: ServerResponse | null, _handle?: { bytesWritten: number, writeQueueSize: number } | null }

/**
 * What the making of an app has no option for. All connections are looked at now and then: Node's own timers, one for each connection,
 * would be wound up anew by every read and write, and by every answer.
 */
export function limitConnections (app: FastifyInstance, { maxConnections, answerTimeout, answerRate, keepAliveTimeout }: HttpSettings): void {
  const { server } = app
  server.maxConnections = maxConnections
  server.keepAliveTimeout = 0
  tellKeepAlive(app, keepAliveTimeout)
  const open = trackSockets(server, server instanceof TlsServer ? 'secureConnection' : 'connection')
  const closeIdle = createIdleTimeout(keepAliveTimeout)
  const closeSlow = createAnswerTimeout(answerTimeout, answerRate)
  const look = setInterval(() => {
    const now = performance.now()
    for (const socket of open) {
      closeSlow(socket, now)
      closeIdle(socket, now)
    }
  }, CHECK_INTERVAL).unref()
  server.once('close', () => clearInterval(look))
}

/** The hint that Node gives where it keeps the time itself: a client that minds it sends nothing just when its connection is ended. */
function tellKeepAlive (app: FastifyInstance, keepAliveTimeout: number): void {
  const hint = `timeout=${Math.floor(keepAliveTimeout / 1000)}`
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (reply.raw.shouldKeepAlive && !reply.hasHeader('connection')) reply.header('keep-alive', hint)
    done()
  })
}

/**
 * Ends a connection whose client takes its answer too slowly: of what is unsent, so many bytes a second on average over that time. One that
 * took a byte now and then would keep an answer in memory for days.
 */
function createAnswerTimeout (time: number, rate: number): (socket: ServerSocket, now: number) => void {
  const slow = new WeakMap<Socket, { taken: number, since: number }>()
  const least = rate * time / 1000
  return (socket, now) => {
    const { _handle: handle, writableLength } = socket
    if (writableLength === 0 || handle == null) {
      slow.delete(socket)
      return
    }
    const taken = handle.bytesWritten - handle.writeQueueSize
    const before = slow.get(socket)
    if (before === undefined) slow.set(socket, { taken, since: now })
    else if (now - before.since >= time) {
      if (taken - before.taken < least) socket.destroy()
      else slow.set(socket, { taken, since: now })
    }
  }
}

/** Ends a connection that was without a request at a look so long ago and has brought nothing since: never earlier than it was told. */
export function createIdleTimeout (keepAliveTimeout: number): (socket: ServerSocket, now: number) => void {
  const seen = new WeakMap<Socket, { bytesRead: number, since: number }>()
  return (socket, now) => {
    const { bytesRead, _httpMessage: answer } = socket
    const before = seen.get(socket)
    if (before === undefined || answer != null || bytesRead !== before.bytesRead) seen.set(socket, { bytesRead, since: now })
    else if (now - before.since > keepAliveTimeout) socket.destroy()
  }
}

/** The sockets that such an event brings, as long as they are open. */
export function trackSockets (server: EventEmitter, event: string): ReadonlySet<Socket> {
  const open = new Set<Socket>()
  server.on(event, (socket: Socket) => {
    open.add(socket)
    socket.once('close', () => open.delete(socket))
  })
  return open
}
