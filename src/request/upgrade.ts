/** Requests to change the protocol of their connection, such as to WebSocket or HTTP/2 (RFC 9110, section 7.8), which the service answers as any other. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * Ends a connection with the answer to such a request. Without a listener for `upgrade`, Node answers it in HTTP, but drops the bytes that have
 * arrived together with its end: those of the next request, whose body Node would then read as a request.
 *
 * The server may be that of a host app, and the request for one of its routes: the listener sees all of them. The hook refuses to run what
 * arrives behind it before the connection is closed.
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
    else reply.hijack() // Node closes the connection after the answer before
  })
}

/** Node keeps at most that many headers, unless its server has another limit. Those behind them may ask for an upgrade. */
const MAX_HEADERS = 2000

function asksForUpgrade ({ headers: { upgrade, connection = '' }, rawHeaders }: IncomingMessage): boolean {
  return (upgrade !== undefined && /upgrade/i.test(connection)) || rawHeaders.length >= MAX_HEADERS * 2
}
