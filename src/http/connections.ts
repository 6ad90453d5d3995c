/** The connections of clients: what the service bounds on them, and whether a client still waits for its response. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { callerOf, type Grant } from '../access/grant.ts'
import type { Client } from '../dialects/dialect.ts'
import { getOrCreate } from '../get-or-create.ts'
import { limitUnreadBody } from '../request/read-body.ts'
import { isClosed } from '../response/budget.ts'
import { OWN_APP } from '../telemetry/record.ts'

// HTTP pipelining: requests that a client sends before it has received the previous response (RFC 9112, section 9.3.2).

/** Number of waiting requests at which a connection is paused. Requests that have already been read are not counted. */
const MAX_WAITING = 16

interface Waiting { count: number }
const waitingOn = new WeakMap<Socket, Waiting>()

/**
 * Delays a request until the previous response has been sent. Otherwise a client that does not read could fill the
 * memory with responses. Node assigns the socket to a response, and emits `socket`, when the responses before it are
 * finished.
 */
const waitForAnswerBefore: onRequestHookHandler = ({ raw: { socket } }, { raw: response }, done) => {
  if (response.socket !== null) {
    done()
    return
  }
  const waiting = getOrCreate(waitingOn, socket, () => createWaiting(socket))
  if (++waiting.count > MAX_WAITING) socket.pause()
  response.once('socket', () => {
    if (--waiting.count === MAX_WAITING) socket.resume()
    done()
  })
}

function createWaiting (socket: Socket): Waiting {
  const waiting = { count: 0 }
  // Node resumes the socket when it reads the body of the next request
  socket.on('resume', () => { if (waiting.count > MAX_WAITING) socket.pause() })
  return waiting
}

// Handles requests to change the protocol of their connection, such as to WebSocket or HTTP/2 (RFC 9110, section
// 7.8), which the service answers like any other.

/**
 * Ends a connection with the answer to such a request. Without a listener for `upgrade`, Node answers it in HTTP, but
 * drops the bytes of the next request that have arrived together with its end, and would then read the body of that one
 * as a request.
 *
 * The listener sees all requests of the server, which may be for routes of a host app. The hook does not run requests
 * that arrive after it before the connection is closed.
 */
function endAfterUpgrade (app: FastifyInstance): void {
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

/**
 * Adds the hooks that bound what one connection can make the process do: pipelined requests, upgrades and bodies that
 * nobody reads.
 */
export function boundConnections (app: FastifyInstance): void {
  endAfterUpgrade(app)
  if (!app.hasDecorator(OWN_APP)) { // the stand-alone server does so for all requests
    app.addHook('onRequest', ({ raw }, reply, done) => {
      limitUnreadBody(raw, reply.raw)
      done()
    })
  }
  app.addHook('onRequest', waitForAnswerBefore)
}

/** The client that waits for a response. Its disconnection ends the statement. */
export class HttpClient implements Client {
  readonly #response: ServerResponse
  readonly #grant: Grant

  constructor (response: ServerResponse, grant: Grant) {
    this.#response = response
    this.#grant = grant
  }

  get destroyed (): boolean { return isClosed(this.#response) }

  get caller (): string { return callerOf(this.#grant) }
}
