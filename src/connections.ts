/** How long a client may take, and how much it may ask of a connection. */
import type { EventEmitter } from 'node:events'
import type { FastifyInstance } from 'fastify'
import type { ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Server as TlsServer, type TlsOptions } from 'node:tls'
import type { HttpSettings } from './config/server-settings.ts'

/** How often connections are held to their time, in milliseconds: Node's own half a minute would be longer than the time itself. */
const CHECK_INTERVAL = 1000

/** For the making of a Fastify app. `http` and `https` go to Node's server. */
export function connectionOptions ({ headersTimeout, requestTimeout, maxHeaderSize }: HttpSettings, tls?: TlsOptions) {
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

/** A connection, and the answer that it is to bring next, as Node notes it. */
type ServerSocket = Socket & { _httpMessage?: ServerResponse | null }

/**
 * What the making of an app has no option for. All connections are looked at now and then: Node's own timers, one for each connection,
 * would be wound up anew by every read and write, and by every answer.
 */
export function limitConnections (app: FastifyInstance, { maxConnections, answerTimeout, keepAliveTimeout }: HttpSettings): void {
  const { server } = app
  server.maxConnections = maxConnections
  server.keepAliveTimeout = 0
  tellKeepAlive(app, keepAliveTimeout)
  // Nothing has moved for that long. A request that the database still works on has limits of its own.
  server.on('timeout', (socket: ServerSocket) => {
    if (socket._httpMessage?.headersSent !== false) socket.destroy()
  })
  const open = trackSockets(server, server instanceof TlsServer ? 'secureConnection' : 'connection')
  const endIdle = createIdleEnd(keepAliveTimeout)
  const look = setInterval(() => {
    const now = performance.now()
    for (const socket of open) {
      const timeout = socket.writableLength > 0 ? answerTimeout : 0
      if ((socket.timeout ?? 0) !== timeout) socket.setTimeout(timeout)
      endIdle(socket, now)
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

/** Ends a connection that was without a request at a look so long ago and has brought nothing since: never earlier than it was told. */
export function createIdleEnd (keepAliveTimeout: number): (socket: ServerSocket, now: number) => void {
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
