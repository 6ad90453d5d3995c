/** The service as a server of its own: the plugin in a Fastify app that is set up for nothing else. */
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { METHODS, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { sendError } from '../plugins/errors.ts'
import { requestId } from '../plugins/request-id.ts'
import type { RowQueryOptions } from '../schemas/options.ts'
import { createRowQuery, type RowQuery } from './app.ts'
import { invalidRequest, notFound } from './errors.ts'

export interface ServerOptions {
  readonly options: RowQueryOptions
  readonly prefix: string
  readonly logLevel: string
  /** Where log lines go; standard output if left out. */
  readonly logStream?: { write (line: string): void }
}

export interface Server {
  readonly app: FastifyInstance
  readonly rows: RowQuery
}

/** A table's name has at most 64 characters, each up to 12 bytes once it is percent-encoded. */
const MAX_PARAM_LENGTH = 1024

/** An app that answers nothing but the plugin's routes. @throws ConfigError */
export async function createServer ({ options, prefix, logLevel, logStream }: ServerOptions): Promise<Server> {
  const rows = createRowQuery(options)
  const app = Fastify({
    logger: {
      level: logLevel,
      serializers: { req: ({ method, url }) => ({ method, url }), res: ({ statusCode }) => ({ statusCode }) },
      ...(logStream !== undefined && { stream: logStream })
    },
    childLoggerFactory: (logger) => logger, // one for each request would be dearer than its plan; lines carry `requestId`
    genReqId: ({ headers }) => requestId(headers),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    http: { requireHostHeader: false }, // checked below: Node's own refusal has no body
    return503OnClosing: false, // what still comes in on an open connection is answered, and the connection closed
    frameworkErrors: answerOutside,
    clientErrorHandler: answerBrokenRequest
  })
  answerEverything(app)
  endConnections(app)
  await app.register(rows.plugin, { prefix })
  return { app, rows }
}

/** What Fastify or Node would answer in a form of their own gets the envelope too. */
function answerEverything (app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.setErrorHandler(answerOutside)
  app.setNotFoundHandler((request, reply) => answerOutside(notFound() as FastifyError, request, reply))
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  // RFC 9110, section 10.1.1: an expectation that we do not know may be ignored
  app.server.on('checkExpectation', (request, response) => { app.server.emit('request', request, response) })
  app.addHook('onRequest', ({ raw, id }, reply, done) => {
    reply.header('x-request-id', id)
    done(raw.headers.host === undefined && raw.httpVersion === '1.1' ? invalidRequest('it has no Host header') : undefined)
  })
}

/** A connection that is in use when the server closes ends with its answer: a client that would keep it open must not hold up the end. */
function endConnections (app: FastifyInstance): void {
  let closing = false
  app.addHook('preClose', async () => { closing = true })
  app.addHook('onSend', (_request, reply, _payload, done) => {
    if (closing) reply.header('connection', 'close')
    done()
  })
}

/** What never reaches the plugin's own handlers (a path that cannot be decoded, one outside the prefix) gets the same envelope. */
function answerOutside (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  sendError(error, request, reply)
}

/** What Node keeps with a socket: the response that is being made, and the request that is being read. */
interface RequestSocket extends Socket {
  _httpMessage?: ServerResponse | null
  parser?: { incoming: IncomingMessage | null } | null
}

/** Bytes that are not HTTP: there is no request to answer, only a socket. */
function answerBrokenRequest (error: Error, socket: RequestSocket): void {
  const running = socket._httpMessage
  // A whole request before them may be running still, and change rows: this must not pass for its answer.
  if (running?.req.complete === true || running?.writableEnded === true) {
    running.once('close', () => { socket.destroy() })
    return
  }
  // They are the body of a request that has its answer: another one would be taken for that of the next request.
  if (running === null && socket.parser?.incoming?.complete === false) {
    socket.destroySoon()
    return
  }
  const { code, message, statusCode } = invalidRequest('it could not be parsed')
  const body = JSON.stringify({ success: false, data: {}, error: { code, message, details: [] } })
  if (socket.writable) {
    socket.end(`HTTP/1.1 ${statusCode} Bad Request\r\ncontent-type: application/json; charset=utf-8\r\nx-request-id: ${requestId({})}\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`)
  } else {
    socket.destroy(error)
  }
}
