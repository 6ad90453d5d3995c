/** The plugin: registers its parts in the order in which they handle a request. */
import createError from '@fastify/error'
import type { FastifyInstance, FastifyPluginAsync, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { Registry } from 'prom-client'
import answerHeaders from '../plugins/answer-headers.ts'
import auth from '../plugins/auth.ts'
import body from '../plugins/body.ts'
import cors from '../plugins/cors.ts'
import errors from '../plugins/errors.ts'
import failedLogins from '../plugins/failed-logins.ts'
import notFoundAnswers, { checkPrefix } from '../plugins/not-found.ts'
import openapi from '../plugins/openapi.ts'
import rateLimit from '../plugins/rate-limit.ts'
import requestId from '../plugins/request-id.ts'
import telemetry from '../plugins/telemetry.ts'
import { resolveSettings, type AppOptions } from './config/settings.ts'
import type { Database } from './databases/database.ts'
import { execute, type ExecuteRequest } from './in-process/execute.ts'
import { createWriteHook } from './in-process/on-write.ts'
import { runInProcess, type InProcessTransaction, type InProcessTransactionOptions } from './in-process/transaction.ts'
import { openDatabases } from './databases/open.ts'
import { createDocuments } from './openapi/documents.ts'
import { waitForAnswerBefore } from './request/pipelining.ts'
import { createReadiness } from './databases/readiness.ts'
import { setAnswerBudget } from './response/budget.ts'
import { addRoute } from './route.ts'
import { createCollectors } from './telemetry/collectors.ts'
import { isTracingSetUp } from './telemetry/spans.ts'
import { createJwtVerifier, type JwtVerifier } from './access/jwt.ts'
import { createTokenStore, type TokenStore } from './access/tokens.ts'
import { watchTokens, type TokenWatch } from './access/token-watch.ts'
import type { AnyDatabases, Execute } from './in-process/typed.ts'

/** A second registration would open each database again, and the first connections would never be closed. */
const AlreadyRegistered = createError('ROW_QUERY_ALREADY_REGISTERED', 'The plugin of this createRowQuery() is already registered: call createRowQuery() again to register another one')

/** `encapsulate`: hooks, parsers and decorators do not affect the host app. */
const META = { name: 'fastify-row-query', fastify: '5.x', encapsulate: true }

export interface RowQuery<Databases extends AnyDatabases = AnyDatabases> {
  /** Can be registered once, with any prefix. */
  readonly plugin: FastifyPluginAsync
  /** Reads the catalog of each database and the token file again. */
  refresh (): Promise<void>
  /** Executes a request without HTTP. The app must be ready. @throws ServiceError with the code of the HTTP answer */
  readonly execute: Execute<Databases>
  /**
   * Runs a function whose requests happen in one transaction: commits when it resolves, rolls back when it throws. The function may run again,
   * after a deadlock or where the tables have changed. @throws ServiceError; what the function throws
   */
  transaction<T> (database: string, use: (tx: InProcessTransaction) => Promise<T>, options?: InProcessTransactionOptions): Promise<T>
  /** Whether all databases are available. The result is cached for one second; resolves within one second and never rejects. */
  isReady (): Promise<boolean>
  /** The Prometheus metrics; empty unless the option `metrics` is set. */
  readonly registry: Registry
  /** Looks up the grant of a token, for other routes of the app that accept the same tokens. */
  readonly tokens: TokenStore
}

/**
 * Creates the plugin and an object to control it. `Databases`: the interfaces that `row-query types` prints, by database.
 * @throws ConfigError with all errors in the options
 */
export function createRowQuery<Databases extends AnyDatabases = AnyDatabases> (options: AppOptions): RowQuery<Databases> {
  const settings = resolveSettings(options)
  const tokens = createTokenStore(settings.tokens, settings.tokenFile?.tokens)
  const registry = new Registry()
  let databases: ReadonlyMap<string, Database> = new Map()
  let tokenWatch: TokenWatch | undefined
  let jwt: JwtVerifier | undefined
  let isRegistered = false
  const readiness = createReadiness(() => databases)

  const plugin: FastifyPluginAsync = fp(async (app: FastifyInstance) => {
    if (isRegistered) throw new AlreadyRegistered()
    checkPrefix(app)
    isRegistered = true
    await app.register(notFoundAnswers)
    setAnswerBudget(settings.answerMemory)
    databases = await openDatabases(settings.databases, { log: app.log, onWrite: settings.onWrite && createWriteHook(settings.onWrite, settings.limits) })
    if (settings.tokenFile !== undefined) tokenWatch = watchTokens({ file: settings.tokenFile.file, log: app.log, onChange: tokens.replace })
    if (settings.jwt.length > 0) jwt = await createJwtVerifier({ issuers: settings.jwt, roles: settings.roles, log: app.log })
    app.addHook('preClose', async () => readiness.end())
    app.addHook('onClose', async () => {
      tokenWatch?.stop()
      jwt?.stop()
      await Promise.all(Array.from(databases.values(), (database) => database.close()))
    })

    app.setReplySerializer((payload) => payload as string) // answers are already text; the serializer of the host app must not apply
    app.addHook('onRequest', waitForAnswerBefore)
    await app.register(errors)
    await app.register(requestId)
    await app.register(answerHeaders)
    if (settings.cors !== undefined) await app.register(cors, settings.cors)
    const { requestLog, serverTiming } = settings
    const tracing = settings.tracing && isTracingSetUp()
    const collectors = createCollectors({ ...settings, tracing }, { databases, registry, log: app.log })
    if (collectors.length > 0 || serverTiming) await app.register(telemetry, { databases, collectors, requestLog, tracing, serverTiming })
    const documents = createDocuments({ databases, prefix: app.prefix })
    if (settings.docs) await app.register(import('../plugins/docs-page.ts'))
    if (settings.failedLogins.max > 0) await app.register(failedLogins, settings.failedLogins)
    await app.register(auth, { tokens, jwt, authenticate: settings.authenticate })
    if (settings.rateLimit !== undefined) await app.register(rateLimit, settings.rateLimit)
    if (settings.openapi !== 'off') await app.register(openapi, { documents, databases, isPublic: settings.openapi === 'public' })
    await app.register(body)
    addRoute(app, { databases, limits: settings.limits, bodyLimit: settings.bodyLimit })
  }, META)

  return {
    plugin,
    isReady: readiness.isReady,
    registry,
    tokens,
    execute: (async (request: ExecuteRequest) => {
      if (databases.size === 0) throw new Error('execute() requires that the plugin is registered and the app is ready')
      return await execute({ databases, limits: settings.limits }, request)
    }) as Execute<Databases>,
    transaction: async (database, use, transactionOptions = {}) => {
      if (databases.size === 0) throw new Error('transaction() requires that the plugin is registered and the app is ready')
      return await runInProcess({ databases, limits: settings.limits }, database, { ...transactionOptions, use })
    },
    refresh: async () => { await Promise.all([tokenWatch?.refresh(), ...Array.from(databases.values(), (database) => database.refresh())]) }
  }
}

/** The options of the plugin, and those of Fastify for all plugins. */
export type PluginOptions = AppOptions & RegisterOptions

/** `app.register(rowQuery, { prefix: '/api', databases: { … }, tokens: [ … ] })` */
export const rowQuery: FastifyPluginAsync<PluginOptions> = fp(async (app: FastifyInstance, { prefix, logLevel, logSerializers, ...options }: PluginOptions) => {
  await app.register(createRowQuery(options).plugin)
}, META)
