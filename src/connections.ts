/** How long a client may take, and how much it may ask of a connection. */
import type { EventEmitter } from 'node:events'
import type { Server, ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import type { HttpSettings } from './config/server-settings.ts'

/** How often connections are held to their time, in milliseconds: Node's own half a minute would be longer than the time itself. */
const CHECK_INTERVAL = 1000

/** For the making of a Fastify app. `http` and `https` go to Node's server. */
export function connectionOptions ({ headersTimeout, requestTimeout, keepAliveTimeout, maxHeaderSize }: HttpSettings, tls?: TlsOptions) {
  const http: ServerOptions = {
    requireHostHeader: false, // checked by us: Node's own refusal has no body
    headersTimeout,
    requestTimeout,
    maxHeaderSize,
    connectionsCheckingInterval: CHECK_INTERVAL
  }
  const https = tls === undefined ? null : { ...http, ...tls, handshakeTimeout: headersTimeout }
  return { http, https, requestTimeout, keepAliveTimeout }
}

/** What the making of an app has no option for. */
export function limitConnections (server: Server, { maxConnections, answerTimeout }: HttpSettings): void {
  server.maxConnections = maxConnections
  limitAnswers(server, answerTimeout)
  // Nothing has moved for that long. A request that the database still works on has limits of its own.
  server.on('timeout', (socket: Socket & { _httpMessage?: ServerResponse | null }) => {
    if (socket._httpMessage?.headersSent !== false) socket.destroy()
  })
}

/**
 * A timer for each connection that is slow to take its answer when it is looked at. Node's own, for all connections, would be wound up
 * anew by every read and write of every request.
 */
function limitAnswers (server: Server, answerTimeout: number): void {
  // the second one with TLS: what is written is known there
  const open = trackSockets(server, 'connection', 'secureConnection')
  const look = setInterval(() => {
    for (const socket of open) if (socket.writableLength > 0 && socket.timeout !== answerTimeout) socket.setTimeout(answerTimeout)
  }, CHECK_INTERVAL).unref()
  server.once('close', () => clearInterval(look))
}

/** The sockets that such events bring, as long as they are open. */
export function trackSockets (server: EventEmitter, ...events: string[]): ReadonlySet<Socket> {
  const open = new Set<Socket>()
  for (const event of events) {
    server.on(event, (socket: Socket) => {
      open.add(socket)
      socket.once('close', () => open.delete(socket))
    })
  }
  return open
}
