/** The stand-alone server: a Fastify app with the plugin, health checks and metrics. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import { createSecureContext, type SecureContextOptions, type TlsOptions, type Server as TlsServer } from 'node:tls'
import * as fastify from 'fastify'
import Fastify, {
  type FastifyBaseLogger, type FastifyError, type FastifyInstance, type FastifyReply, type FastifyRequest
} from 'fastify'
import type { RateLimit } from '../../plugins/auth.ts'
import { sendError, toRefusal } from '../../plugins/errors.ts'
import { requestId } from '../../plugins/response-headers.ts'
import { health, root } from '../../plugins/root.ts'
import { FailedLoginsSchema, type RowQueryOptions } from '../../schemas/options.ts'
import type { HttpsOptions } from '../../schemas/server-settings.ts'
import { ConfigError, orThrow } from '../config-errors.ts'
import { HTTP_DEFAULTS, type HttpSettings, withDefaults } from '../config/settings.ts'
import { boundConnections, withoutPort } from '../http/client-connections.ts'
import { BODY_TIMEOUT } from '../http/import-request.ts'
import { createRowQuery, type RowQuery } from '../index.ts'
import { limitUnreadBody } from '../request/read-body.ts'
import { type LogFormat, loggerOptions, type LogStream } from '../telemetry/log.ts'
import { OWN_APP, createRequestLogger } from '../telemetry/record.ts'
import {
  addConnectionHeaders, createDrain, type Drain, findInvalid, handleEverything, httpServerOptions, limitConnections,
  type OutsideHandler, respondToBroken, routeToNothing
} from './connections.ts'
import { createMetricsApp } from './listen.ts'

const MIN_VERSION = 'TLSv1.2'

/**
 * Returns the options for a TLS server. With `ca`, clients must present a certificate. @throws ConfigError that names
 * the invalid setting
 */
export function readCertificate (paths: HttpsOptions): TlsOptions {
  return { ...readContext(paths), ...(paths.ca !== undefined && { requestCert: true, rejectUnauthorized: true }) }
}

/** Reads the files again. New connections use the new certificate. */
function reloadCertificate (server: HttpServer, paths: HttpsOptions, log: FastifyBaseLogger): void {
  try {
    (server as unknown as TlsServer).setSecureContext(readContext(paths))
    log.info('certificate reloaded')
  } catch (error) {
    log.error(
      { errors: (error as ConfigError).errors },
      'the certificate cannot be used; the previous one stays in use'
    )
  }
}

function readContext ({ cert: certPath, key: keyPath, ca: caPath }: HttpsOptions): SecureContextOptions {
  const cert = read('cert', certPath)
  const key = read('key', keyPath)
  const ca = caPath === undefined ? undefined : read('ca', caPath)
  const certificate = parse('cert', 'is not a certificate in PEM format', () => new X509Certificate(cert))
  const privateKey = parse('key', 'is not a private key in PEM format without a passphrase', () =>
    createPrivateKey(key)
  )
  if (ca !== undefined) parse('ca', 'is not a certificate in PEM format', () => new X509Certificate(ca))
  if (!certificate.checkPrivateKey(privateKey)) throw new ConfigError(['https.key: is not the key of https.cert'])
  const context: SecureContextOptions = { cert, key, minVersion: MIN_VERSION, ...(ca !== undefined && { ca }) }
  parse('cert', 'is rejected by OpenSSL; it may be too weak', () => createSecureContext(context))
  return context
}

function read (setting: string, path: string): Buffer {
  return parse(setting, 'the file cannot be read', () => readFileSync(path))
}

/** The error contains no part of the file and no message of OpenSSL. */
function parse<T> (setting: string, reason: string, make: () => T): T {
  return orThrow(make, () => new ConfigError([`https.${setting}: ${reason}`]))
}

export interface CreateServerOptions {
  readonly options: RowQueryOptions
  readonly prefix: string
  readonly logLevel: string
  /** Default: json. */
  readonly logFormat?: LogFormat
  /** Whether metrics are served by a separate app. */
  readonly metricsApart?: boolean
  /** Returns the metrics of all workers, which `/metrics` then shows instead of this process's own. */
  readonly allMetrics?: (() => Promise<string>) | undefined
  /** Default: standard output. */
  readonly logStream?: LogStream
  /** Proxies whose X-Forwarded-For header is trusted. */
  readonly trustProxy?: readonly string[]
  readonly http?: HttpSettings
  /** Plain HTTP without them. */
  readonly https?: HttpsOptions | undefined
  readonly demoToken?: string | undefined
}

export interface Server {
  readonly app: FastifyInstance
  readonly rows: RowQuery
  readonly drain: Drain
  /** Serves metrics without authentication; closed together with `app`. */
  readonly metricsApp: FastifyInstance | undefined
  /** Logs errors. */
  reloadCertificate (): void
}

/**
 * Disables Fastify's request log, which src/telemetry/record.ts replaces. Fastify before 5.10 has another option for
 * this, which is deprecated since.
 */
const WITHOUT_REQUEST_LOG =
  'LogController' in fastify
    ? { logController: new fastify.LogController({ disableRequestLogging: true }) }
    : { disableRequestLogging: true }

/** A table name has up to 64 characters, and a percent-encoded character up to 12 bytes. */
const MAX_PARAM_LENGTH = 1024

/** @throws ConfigError */
export async function createServer ({
  options,
  prefix,
  logLevel,
  logFormat,
  metricsApart = false,
  allMetrics,
  logStream,
  trustProxy = [],
  http = HTTP_DEFAULTS,
  https,
  demoToken
}: CreateServerOptions): Promise<Server> {
  const rows = createRowQuery(options)
  const handleOutside = createOutsideHandler(options.requestLog === true)
  const app: FastifyInstance = Fastify({
    ...httpServerOptions(http, https && readCertificate(https)),
    ...(trustProxy.length > 0 && { trustProxy: [...trustProxy] }),
    logger: await loggerOptions({ logLevel, logFormat, logStream }),
    pluginTimeout: 0, // loading takes long on a busy machine, and all that is waited for has a time limit of its own
    childLoggerFactory: createRequestLogger,
    genReqId: requestId,
    ...WITHOUT_REQUEST_LOG,
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    return503OnClosing: false, // requests on open connections still get a response
    frameworkErrors: (error, request, reply) => {
      // no hooks run for these errors
      const invalid = findInvalid(request.raw)
      if (invalid !== undefined || !routeToNothing(app, prefix, request, reply)) {
        handleOutside((invalid ?? error) as FastifyError, request, reply)
      }
    },
    clientErrorHandler: respondToBroken
  })
  if (trustProxy.length > 0) app.addHook('onRequest', removePorts)
  app.server.prependListener('request', limitUnreadBody)
  handleEverything(app, handleOutside)
  app.decorate(OWN_APP, true)
  boundConnections(app)
  app.decorate(BODY_TIMEOUT, http.bodyTimeout)
  const drain = createDrain(app)
  limitConnections(app, http)
  addConnectionHeaders(app, drain, http)
  await app.register(health, {
    isReady: async () => !drain.hasStarted && (await rows.isReady()),
    servers: rows.servers
  })
  await app.register(root, { prefix, docs: options.docs === true, openapi: options.openapi !== 'off', demoToken })
  const metricsApp =
    options.metrics === true
      ? await serveMetrics(app, {
        ...rows,
        metricsApart,
        allMetrics,
        failedLogins: withDefaults(FailedLoginsSchema, options.failedLogins ?? {})
      })
      : undefined
  await app.register(rows.plugin, { prefix })
  return {
    app,
    rows,
    drain,
    metricsApp,
    reloadCertificate: () => {
      if (https !== undefined) reloadCertificate(app.server, https, app.log)
    }
  }
}

/** Serves metrics on `app` for its tokens, or on a separate app without authentication, which is returned. */
async function serveMetrics (
  app: FastifyInstance,
  {
    registry,
    tokens,
    metricsApart,
    allMetrics,
    failedLogins
  }: Pick<RowQuery, 'registry' | 'tokens'> &
    Pick<CreateServerOptions, 'metricsApart' | 'allMetrics'> & { readonly failedLogins: RateLimit }
): Promise<FastifyInstance | undefined> {
  const [{ collectDefaultMetrics }, { addLogMetric }, { default: metrics }] = await Promise.all([
    import('prom-client'),
    import('../telemetry/prometheus.ts'),
    import('../../plugins/metrics.ts')
  ])
  collectDefaultMetrics({ register: registry })
  addLogMetric(registry)
  if (!metricsApart) {
    await app.register(metrics, {
      registry: allMetrics === undefined ? registry : { contentType: registry.contentType, metrics: allMetrics },
      tokens,
      failedLogins
    })
    return undefined
  }
  const metricsApp = await createMetricsApp(registry)
  app.addHook('onClose', async () => {
    await metricsApp.close()
  })
  return metricsApp
}

/**
 * Removes the ports from X-Forwarded-For, because Fastify trusts no address with a port and would take the last proxy
 * for the client.
 */
function removePorts ({ raw: { headers } }: FastifyRequest, _reply: FastifyReply, done: () => void): void {
  const forwarded = headers['x-forwarded-for'] as string | undefined // Node joins several headers
  if (forwarded?.includes(':') === true) {
    headers['x-forwarded-for'] = forwarded
      .split(',')
      .map((entry) => withoutPort(entry.trim()))
      .join(', ')
  }
  done()
}

/**
 * Responds to requests, and logs them, that do not reach the plugin, such as those with an invalid path or a path
 * outside the prefix.
 */
function createOutsideHandler (isLogged: boolean): OutsideHandler {
  return (error, request, reply) => {
    reply.header('x-request-id', request.id).header('cache-control', 'no-store')
    sendError(error, request, reply)
    if (isLogged) {
      request.server.log.info(
        { requestId: request.id, status: reply.statusCode, code: toRefusal(error).code },
        'request'
      )
    }
  }
}
