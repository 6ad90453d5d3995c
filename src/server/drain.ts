import type { ServerResponse } from 'node:http'
import { Server as TlsServer } from 'node:tls'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { createIdleTimeout, trackSockets } from './connections.ts'

/** The graceful shutdown of a server. */
export interface Drain {
  readonly hasStarted: boolean
  /** Makes each answer close its connection, waits `delay` milliseconds so that load balancers notice, and closes the port. */
  start (delay: number): Promise<void>
}

/**
 * How long a connection must have been idle before it is closed, in milliseconds, because its client has had no answer with `Connection: close`, and
 * may have sent a request that has not arrived yet.
 */
const IDLE_TIME = 500
/** How often idle connections are checked after the port has been closed, in milliseconds. */
const CHECK_INTERVAL = 100

/** Closes each connection with its next answer, or when it is idle, so that no request is lost. */
export function createDrain (app: FastifyInstance): Drain {
  const { server } = app
  let hasStarted = false
  const closeIdle = createIdleCheck(app)
  // Node's close() calls this, and would close connections on which a request is about to arrive
  server.closeIdleConnections = () => {}
  const startOnce = (): void => {
    if (hasStarted) return
    hasStarted = true
    // for answers without hooks, such as those to invalid paths
    server.prependListener('request', (_request: unknown, response: ServerResponse) => { response.shouldKeepAlive = false })
  }
  // Fastify closes the port some event-loop turns later; until then, clients would open connections that are reset
  const closePort = (): void => { if (server.listening) server.close() }
  app.addHook('preClose', async () => {
    closePort()
    startOnce()
    closeIdle()
  })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (hasStarted) reply.header('connection', 'close')
    done()
  })
  return {
    get hasStarted () { return hasStarted },
    async start (delay) {
      startOnce()
      if (delay > 0) await sleep(delay)
      closePort()
    }
  }
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
    }, CHECK_INTERVAL).unref()
    app.server.once('close', () => clearInterval(check))
  }
}
