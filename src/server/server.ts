/** The service as a server of its own: the plugin in a Fastify app that is set up for nothing else. */
import * as fastify from 'fastify'
import Fastify, { type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { METHODS, type IncomingMessage } from 'node:http'
import { collectDefaultMetrics } from 'prom-client'
import { sendError, toRefusal } from '../../plugins/errors.ts'
import health from '../../plugins/health.ts'
import metrics from '../../plugins/metrics.ts'
import { requestId } from '../../plugins/request-id.ts'
import type { RowQueryOptions } from '../../schemas/options.ts'
import type { HttpsOptions } from '../../schemas/server.ts'
import { createRowQuery, type RowQuery } from '../app.ts'
import { answerBrokenRequest, answerConnect } from './client-error.ts'
import { readCertificate, reloadCertificate } from './tls.ts'
import { HTTP_DEFAULTS, type HttpSettings } from '../config/server-settings.ts'
import { httpServerOptions, limitConnections } from './connections.ts'
import { createDrain, type Drain } from './drain.ts'
import { invalidRequest, notFound, type ServiceError } from '../errors.ts'

export interface CreateServerOptions {
  readonly options: RowQueryOptions
  readonly prefix: string
  readonly logLevel: string
  /** Whether metrics are shown by an app of their own, and not beside the service. */
  readonly metricsApart?: boolean
  /** Where log lines go; standard output if left out. */
  readonly logStream?: { write (line: string): void }
  /** Proxies whose X-Forwarded-For is believed; none if left out. */
  readonly trustProxy?: readonly string[]
  readonly http?: HttpSettings
  /** Where the certificate is; without TLS if left out. */
  readonly https?: HttpsOptions | undefined
}

export interface Server {
  readonly app: FastifyInstance
  readonly rows: RowQuery
  readonly drain: Drain
  /** Shows metrics and nothing else, to everybody; closed with the other one. */
  readonly metricsApp: FastifyInstance | undefined
  /** Reads the files of the certificate again, if there is one. What is wrong with them is logged. */
  reloadCertificate (): void
}

/** src/telemetry/request-log.ts has one line where Fastify has two. Fastify before 5.10 has an option for it, which later ones warn of. */
const WITHOUT_REQUEST_LOG = 'LogController' in fastify ? { logController: new fastify.LogController({ disableRequestLogging: true }) } : { disableRequestLogging: true }

/** A table's name has at most 64 characters, each up to 12 bytes once it is percent-encoded. */
const MAX_PARAM_LENGTH = 1024

/** An app that answers nothing but the plugin's routes. @throws ConfigError */
export async function createServer ({ options, prefix, logLevel, metricsApart = false, logStream, trustProxy = [], http = HTTP_DEFAULTS, https }: CreateServerOptions): Promise<Server> {
  const rows = createRowQuery(options)
  const answerOutside = createOutsideHandler(options.requestLog === true)
  const app: FastifyInstance = Fastify({
    ...httpServerOptions(http, https && readCertificate(https)),
    ...(trustProxy.length > 0 && { trustProxy: [...trustProxy] }),
    logger: {
      level: logLevel,
      ...(logStream !== undefined && { stream: logStream })
    },
    genReqId: ({ headers }) => requestId(headers),
    ...WITHOUT_REQUEST_LOG,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    return503OnClosing: false, // what still comes in on an open connection is answered, and the connection closed
    frameworkErrors: (error, request, reply) => answerOutside((findInvalid(request.raw) ?? error) as FastifyError, request, reply), // no hook runs before it
    clientErrorHandler: answerBrokenRequest
  })
  answerEverything(app, answerOutside)
  const drain = createDrain(app)
  limitConnections(app, http)
  await app.register(health, { isReady: async () => !drain.hasStarted && await rows.isReady() })
  const metricsApp = options.metrics === true ? await showMetrics(app, rows, metricsApart) : undefined
  await app.register(rows.plugin, { prefix })
  return { app, rows, drain, metricsApp, reloadCertificate: () => { if (https !== undefined) reloadCertificate(app.server, https, app.log) } }
}

/** On an app of their own, if so; else beside the service, for its tokens. */
async function showMetrics (app: FastifyInstance, { registry, tokens }: RowQuery, apart: boolean): Promise<FastifyInstance | undefined> {
  collectDefaultMetrics({ register: registry })
  if (!apart) {
    await app.register(metrics, { registry, tokens })
    return undefined
  }
  const metricsApp = Fastify()
  await metricsApp.register(metrics, { registry })
  app.addHook('onClose', async () => { await metricsApp.close() })
  return metricsApp
}

/** What Fastify or Node would answer in a form of their own gets the envelope too. */
function answerEverything (app: FastifyInstance, answerOutside: OutsideHandler): void {
  app.removeAllContentTypeParsers()
  app.setErrorHandler(answerOutside)
  app.setNotFoundHandler((request, reply) => answerOutside(notFound() as FastifyError, request, reply))
  for (const method of METHODS) if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  // RFC 9110, section 10.1.1: an expectation that we do not know may be ignored
  app.server.on('checkExpectation', (request, response) => { app.server.emit('request', request, response) })
  app.server.on('connect', answerConnect)
  app.addHook('onRequest', ({ raw, id }, reply, done) => {
    reply.header('x-request-id', id)
    done(findInvalid(raw))
  })
}

/** What Node's parser lets through and RFC 9112 does not (sections 3.2 and 3.2.1). */
function findInvalid ({ url, httpVersion, rawHeaders }: IncomingMessage): ServiceError | undefined {
  const hosts = countHosts(rawHeaders)
  if (hosts > 1) return invalidRequest('it has more than one Host header')
  if (hosts === 0 && httpVersion === '1.1') return invalidRequest('it has no Host header')
  return (url as string).includes('#') ? invalidRequest('its path has a fragment ("#")') : undefined
}

/** In the list of names and values: of several, Node keeps the first alone. */
function countHosts (rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count++
  }
  return count
}

type OutsideHandler = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => void

/** What never reaches the plugin's own handlers (a path that cannot be decoded, one outside the prefix) gets the same envelope, and a line in the log. */
function createOutsideHandler (isLogged: boolean): OutsideHandler {
  return (error, request, reply) => {
    reply.header('x-request-id', request.id)
    sendError(error, request, reply)
    if (isLogged) request.server.log.info({ requestId: request.id, status: reply.statusCode, code: toRefusal(error).code }, 'request')
  }
}
