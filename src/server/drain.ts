import type { ServerResponse } from 'node:http'
import { Server as TlsServer } from 'node:tls'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { createIdleTimeout, trackSockets } from './connections.ts'

/** The graceful shutdown of a server, which its clients are to notice before it comes. */
export interface Drain {
  readonly hasStarted: boolean
  /** From now on connections end with their next answer. Waits for load balancers to look elsewhere, so many milliseconds, and closes the port. */
  start (delay: number): Promise<void>
}

/**
 * How long a connection must have been silent before it is closed, in milliseconds. Its client has not been told yet that it ends, and
 * may have sent a request that has not arrived.
 */
const SILENCE = 500
/** How often connections are looked at once the port closes, in milliseconds. */
const CHECK_INTERVAL = 100

/** Closes a server without losing a request: each connection ends with an answer that says so, or after a while of silence. */
export function createDrain (app: FastifyInstance): Drain {
  const { server } = app
  let hasStarted = false
  const closeSilent = createSilenceTimeout(app)
  // Called by Node's close(): it takes a connection for idle whose next request is on its way.
  server.closeIdleConnections = () => {}
  const startOnce = (): void => {
    if (hasStarted) return
    hasStarted = true
    // for answers without hooks, such as those to paths that cannot be decoded
    server.prependListener('request', (_request: unknown, response: ServerResponse) => { response.shouldKeepAlive = false })
  }
  // Fastify closes the port too, some turns later: clients whose connections have ended by then would connect anew just before, and be reset.
  const closePort = (): void => { if (server.listening) server.close() }
  app.addHook('preClose', async () => {
    closePort()
    startOnce()
    closeSilent()
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

/** What this returns closes connections that are silent, until the app is closed. */
function createSilenceTimeout (app: FastifyInstance): () => void {
  const { server } = app
  const accepted = trackSockets(server, 'connection')
  const secured = server instanceof TlsServer ? trackSockets(server, 'secureConnection') : undefined
  return () => {
    const closeIfSilent = createIdleTimeout(SILENCE)
    const check = setInterval(() => {
      const now = performance.now()
      for (const socket of secured ?? accepted) closeIfSilent(socket, now)
      // below TLS there are no requests to be seen: those alone that have not even begun with a handshake
      if (secured !== undefined) for (const socket of accepted) if (socket.bytesRead === 0) closeIfSilent(socket, now)
    }, CHECK_INTERVAL).unref()
    app.server.once('close', () => clearInterval(check))
  }
}
