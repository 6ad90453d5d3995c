/** The plugin: what is registered, in the order in which a request meets it. */
import createError from '@fastify/error'
import type { FastifyInstance, FastifyPluginAsync, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import { Registry } from 'prom-client'
import answerHeaders from '../plugins/answer-headers.ts'
import auth from '../plugins/auth.ts'
import body from '../plugins/body.ts'
import cors from '../plugins/cors.ts'
import docsPage from '../plugins/docs-page.ts'
import errors from '../plugins/errors.ts'
import failedLogins from '../plugins/failed-logins.ts'
import notFoundAnswers, { checkPrefix } from '../plugins/not-found.ts'
import openapi from '../plugins/openapi.ts'
import rateLimit from '../plugins/rate-limit.ts'
import requestId from '../plugins/request-id.ts'
import telemetry from '../plugins/telemetry.ts'
import type { RowQueryOptions } from '../schemas/options.ts'
import { resolveSettings } from './config/settings.ts'
import type { Database } from './databases/database.ts'
import { execute, type ExecuteRequest } from './in-process/execute.ts'
import { openDatabases } from './databases/open.ts'
import { createDocuments } from './openapi/documents.ts'
import { waitForAnswerBefore } from './request/pipelining.ts'
import { createReadiness } from './databases/readiness.ts'
import { setAnswerBudget } from './response/budget.ts'
import { addRoute } from './route.ts'
import { createCollectors } from './telemetry/collectors.ts'
import { isTracingSetUp } from './telemetry/spans.ts'
import { createTokenStore, type TokenStore } from './access/tokens.ts'
import { watchTokens, type TokenWatch } from './access/token-watch.ts'
import type { AnyDatabases, Execute } from './in-process/typed.ts'

/** A second registration would open every database again, and nothing would close the first ones. */
const AlreadyRegistered = createError('ROW_QUERY_ALREADY_REGISTERED', 'The plugin of this createRowQuery() is registered already: call createRowQuery() again for another one')

/** `encapsulate`: hooks, parsers and decorators stay ours in a host app. */
const META = { name: 'fastify-row-query', fastify: '5.x', encapsulate: true }

export interface RowQuery<Databases extends AnyDatabases = AnyDatabases> {
  /** To be registered once, under any prefix. */
  readonly plugin: FastifyPluginAsync
  /** Reads the catalog of every database again, and the token file, now. */
  refresh (): Promise<void>
  /** A request without HTTP, once the plugin is ready. @throws ServiceError as HTTP would answer it */
  readonly execute: Execute<Databases>
  /** Whether every database can be asked, by a look that is a second old at most and takes no longer. Never rejects. */
  isReady (): Promise<boolean>
  /** What the option `metrics` counts, for Prometheus; empty without it. */
  readonly registry: Registry
  /** Whose a token is: for routes of the app that take the same ones. */
  readonly tokens: TokenStore
}

/**
 * The plugin and a handle on it. `Databases`: interfaces as `row-query types` writes them, by database.
 * @throws ConfigError with every mistake in the options
 */
export function createRowQuery<Databases extends AnyDatabases = AnyDatabases> (options: RowQueryOptions): RowQuery<Databases> {
  const settings = resolveSettings(options)
  const tokens = createTokenStore(settings.tokens, settings.tokenFile?.tokens)
  const registry = new Registry()
  let databases: ReadonlyMap<string, Database> = new Map()
  let tokenWatch: TokenWatch | undefined
  let isRegistered = false
  const readiness = createReadiness(() => databases)

  const plugin: FastifyPluginAsync = fp(async (app: FastifyInstance) => {
    if (isRegistered) throw new AlreadyRegistered()
    checkPrefix(app)
    isRegistered = true
    await app.register(notFoundAnswers)
    setAnswerBudget(settings.answerMemory)
    databases = await openDatabases(settings.databases, app.log)
    if (settings.tokenFile !== undefined) tokenWatch = watchTokens({ file: settings.tokenFile.file, log: app.log, onChange: tokens.replace })
    app.addHook('preClose', async () => readiness.end())
    app.addHook('onClose', async () => {
      tokenWatch?.stop()
      await Promise.all(Array.from(databases.values(), (database) => database.close()))
    })

    app.setReplySerializer((payload) => payload as string) // answers are text already, whatever the host app's serializer
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
    if (settings.docs) await app.register(docsPage)
    if (settings.failedLogins.max > 0) await app.register(failedLogins, settings.failedLogins)
    await app.register(auth, { tokens })
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
      if (databases.size === 0) throw new Error('execute() needs the plugin to be registered, and the app to be ready')
      return await execute({ databases, limits: settings.limits }, request)
    }) as Execute<Databases>,
    refresh: async () => { await Promise.all([tokenWatch?.refresh(), ...Array.from(databases.values(), (database) => database.refresh())]) }
  }
}

/** The options, and those that Fastify has for every plugin. */
export type PluginOptions = RowQueryOptions & RegisterOptions

/** `app.register(rowQuery, { prefix: '/api', databases: { … }, tokens: [ … ] })` */
export const rowQuery: FastifyPluginAsync<PluginOptions> = fp(async (app: FastifyInstance, { prefix, logLevel, logSerializers, ...options }: PluginOptions) => {
  await app.register(createRowQuery(options).plugin)
}, META)
