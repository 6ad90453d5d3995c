/**
 * Registers the parts of the plugin in the order in which they handle a request. It is not loaded before the plugin is
 * registered.
 */
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import type { Registry } from 'prom-client'
import answerHeaders from '../plugins/answer-headers.ts'
import auth from '../plugins/auth.ts'
import body from '../plugins/json-body.ts'
import catalogs from '../plugins/schema-cache.ts'
import errors from '../plugins/errors.ts'
import notFoundAnswers from '../plugins/not-found.ts'
import openapi from '../plugins/openapi.ts'
import requestId from '../plugins/request-id.ts'
import telemetry from '../plugins/telemetry.ts'
import { createJwtVerifier, type JwtVerifier } from './access/jwt.ts'
import { watchTokens, type TokenWatch } from './access/token-file.ts'
import type { TokenStore } from './access/tokens.ts'
import type { Settings } from './config/settings.ts'
import type { Database } from './databases/database.ts'
import type { Readiness } from './databases/open.ts'
import { databaseUnavailable, withReason } from './errors.ts'
import { createWriteHook } from './in-process/on-write.ts'
import { createDocuments, createAddTables, type AddTables } from './openapi/documents.ts'
import { waitForAnswerBefore, endAfterUpgrade } from './request/pipelining.ts'
import { limitUnreadBody } from './request/read-body.ts'
import { AnswerBudget } from './response/budget.ts'
import { OWN_APP } from './telemetry/record.ts'
import { addRoute } from './route.ts'
import { createCollectors, createRequestLog } from './telemetry/request-log.ts'
import { isTracingSetUp } from './telemetry/spans.ts'

export { checkPrefix } from '../plugins/not-found.ts'
export { execute } from './in-process/calls.ts'
export { streamInProcess } from './in-process/calls.ts'
export { runInProcess } from './in-process/transaction.ts'

export interface RegisterOptions {
  readonly settings: Settings
  readonly tokens: TokenStore
  readonly readiness: Readiness
  /** Called only with metrics. */
  readonly registry: () => Registry
}

export interface Registered {
  readonly databases: ReadonlyMap<string, Database>
  readonly addTables: AddTables
  /** Reads the catalog of each database and the token file again. */
  refresh (): Promise<void>
  /** Cuts off the streams that run. */
  endStreams (): void
}

/** The server of the stand-alone app does so for all requests. */
const endUnread: onRequestHookHandler = ({ raw }, reply, done) => {
  limitUnreadBody(raw, reply.raw)
  done()
}

/** Headers that browsers send to the tools. */
const MCP_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name']

/** Loads the modules that the options need, so that a missing module stops the start instead of failing requests. */
export async function registerParts (
  app: FastifyInstance,
  { settings, tokens, readiness, registry }: RegisterOptions
): Promise<Registered> {
  let tokenWatch: TokenWatch | undefined
  let jwt: JwtVerifier | undefined
  if (settings.cors !== undefined) (await import('../plugins/cors.ts')).refuseOuterCors(app)
  await app.register(notFoundAnswers)
  const budget = new AnswerBudget(settings.answerMemory)
  const onWrite = settings.onWrite && createWriteHook(settings.onWrite, settings.limits, app.log)
  await app.register(catalogs, { databases: settings.databases, budget, onWrite })
  const databases = app.rowQueryDatabases
  if (settings.tokenFile !== undefined) {
    tokenWatch = watchTokens({ file: settings.tokenFile.file, log: app.log, onChange: tokens.replace })
  }
  if (settings.jwt.length > 0) {
    jwt = await createJwtVerifier({ issuers: settings.jwt, roles: settings.roles, log: app.log })
  }
  app.addHook('preClose', async () => readiness.end())
  app.addHook('onClose', async () => {
    tokenWatch?.stop()
    jwt?.stop()
  })

  endAfterUpgrade(app)
  if (!app.hasDecorator(OWN_APP)) app.addHook('onRequest', endUnread)
  app.addHook('onRequest', waitForAnswerBefore)
  await app.register(errors)
  await app.register(requestId)
  await app.register(answerHeaders)
  if (settings.cors !== undefined) {
    await app.register(import('../plugins/cors.ts'), {
      ...settings.cors,
      headers: settings.mcp === undefined ? [] : MCP_HEADERS
    })
  }
  const { requestLog, serverTiming } = settings
  const tracing = settings.tracing && isTracingSetUp()
  const collectors = await createCollectors({ ...settings, tracing }, { databases, registry, log: app.log })
  if (collectors.length > 0 || serverTiming) {
    await app.register(telemetry, { databases, collectors, requestLog, tracing, serverTiming })
  }
  const described = {
    databases,
    settings: { prefix: app.prefix, limits: settings.limits, info: settings.openapiInfo }
  }
  const documents = createDocuments(described)
  if (settings.docs) await app.register(import('../plugins/docs-page.ts'), { isPublic: settings.openapi === 'public' })
  if (settings.failedLogins.max > 0) await app.register(import('../plugins/failed-logins.ts'), settings.failedLogins)
  await app.register(auth, { tokens, jwt, authenticate: settings.authenticate })
  if (settings.rateLimit !== undefined) await app.register(import('../plugins/rate-limit.ts'), settings.rateLimit)
  if (settings.openapi !== 'off') {
    await app.register(openapi, { documents, databases, isPublic: settings.openapi === 'public' })
  }
  await app.register(body, settings)
  if (settings.mcp !== undefined) {
    await app.register(import('../plugins/mcp.ts'), {
      databases,
      limits: settings.limits,
      settings: settings.mcp,
      issuers: settings.jwt.map(({ issuer }) => issuer),
      origins: settings.cors?.origins ?? []
    })
  }
  // streams are logged even if requests are not
  addRoute(app, {
    databases,
    limits: settings.limits,
    budget,
    collectors: requestLog ? collectors : [...collectors, createRequestLog(app.log)]
  })
  return {
    databases,
    addTables: createAddTables(described),
    refresh: async () => {
      await Promise.all([tokenWatch?.refresh(), ...Array.from(databases.values(), (database) => database.refresh())])
    },
    endStreams: () => {
      for (const { streams } of databases.values()) {
        streams.failAll(() => withReason(databaseUnavailable(), 'SHUTDOWN'))
      }
    }
  }
}
