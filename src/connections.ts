/** How long a client may take, and how much it may ask of a connection. */
import type { Server, ServerOptions, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import type { HttpSettings } from './config/server-settings.ts'

/** How often connections are held to their time, in milliseconds: Node's own half a minute would be longer than the time itself. */
const CHECK_INTERVAL = 1000

/** For the making of a Fastify app. `http` and `https` go to Node's server. */
export function connectionOptions ({ headersTimeout, requestTimeout, keepAliveTimeout, answerTimeout, maxHeaderSize }: HttpSettings, tls?: TlsOptions) {
  const http: ServerOptions = {
    requireHostHeader: false, // checked by us: Node's own refusal has no body
    headersTimeout,
    requestTimeout,
    maxHeaderSize,
    connectionsCheckingInterval: CHECK_INTERVAL
  }
  const https = tls === undefined ? null : { ...http, ...tls, handshakeTimeout: headersTimeout }
  return { http, https, requestTimeout, keepAliveTimeout, connectionTimeout: answerTimeout }
}

/** What the making of an app has no option for. */
export function limitConnections (server: Server, { maxConnections }: HttpSettings): void {
  server.maxConnections = maxConnections
  // Nothing has moved for that long. A request that the database still works on has limits of its own.
  server.on('timeout', (socket: Socket & { _httpMessage?: ServerResponse | null }) => {
    if (socket._httpMessage?.headersSent !== false) socket.destroy()
  })
}
