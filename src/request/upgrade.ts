/** Handles requests to change the protocol of their connection, such as to WebSocket or HTTP/2 (RFC 9110, section 7.8), which the service answers like any other. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * Ends a connection with the answer to such a request. Without a listener for `upgrade`, Node answers it in HTTP, but drops the bytes of the next
 * request that have arrived together with its end, and would then read the body of that one as a request.
 *
 * The listener sees all requests of the server, which may be for routes of a host app. The hook does not run requests that arrive after it before the
 * connection is closed.
 */
export function endAfterUpgrade (app: FastifyInstance): void {
  const last = new WeakMap<Socket, IncomingMessage>()
  let hasAny = false
  app.server.prependListener('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!asksForUpgrade(request) || last.has(request.socket)) return
    hasAny = true
    last.set(request.socket, request)
    response.shouldKeepAlive = false
  })
  app.addHook('onRequest', ({ raw }, reply, done) => {
    if (!hasAny || (last.get(raw.socket) ?? raw) === raw) done()
    else reply.hijack() // Node closes the connection after the previous answer
  })
}

/** The number of headers that Node keeps, unless its server has another limit. Later ones may ask for an upgrade. */
const MAX_HEADERS = 2000

function asksForUpgrade ({ headers: { upgrade, connection = '' }, rawHeaders }: IncomingMessage): boolean {
  return (upgrade !== undefined && /upgrade/i.test(connection)) || rawHeaders.length >= MAX_HEADERS * 2
}
