/**
 * Registers the parts of the plugin. Their order is the order of their hooks. The rate limit, one of the optional
 * parts, is a hook of each route, which runs after the hooks of the app. This file is not loaded before the plugin is
 * registered.
 */
import type { FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'
import auth, { failedLogins } from '../plugins/auth.ts'
import errors, { toRefusal } from '../plugins/errors.ts'
import jsonBody from '../plugins/json-body.ts'
import notFoundResponses from '../plugins/not-found.ts'
import optional from '../plugins/optional.ts'
import responseHeaders from '../plugins/response-headers.ts'
import schemaCache from '../plugins/schema-cache.ts'
import type { TokenStore } from './access/tokens.ts'
import { HTTP_DEFAULTS, type Settings } from './config/settings.ts'
import { createReadiness, type Readiness } from './databases/readiness.ts'
import type { Database } from './databases/database.ts'
import { databaseUnavailable, withReason } from './errors.ts'
import { boundConnections } from './http/client-connections.ts'
import { BODY_TIMEOUT } from './http/import-request.ts'
import { createWriteHook } from './in-process/on-write.ts'
import { createAddTables, type AddTables } from './openapi/documents.ts'
import { ResponseBudget } from './response/budget.ts'
import { NamedRequests } from './named/call.ts'
import routes from './route.ts'
import { createCollectors } from './telemetry/collectors.ts'
import { createRequestLog, OWN_APP } from './telemetry/record.ts'

export { checkPrefix } from '../plugins/not-found.ts'
export { bindGrant, execute, streamInProcess } from './in-process/calls.ts'
export { loadInProcess, requestInProcess } from './in-process/calls.ts'
export { runInProcess } from './in-process/transaction.ts'

export interface RegisterOptions {
  readonly settings: Settings
  readonly tokens: TokenStore
  /** Called only with metrics. */
  readonly registry: () => Registry
}

export interface Registered extends Pick<Readiness, 'isReady'> {
  readonly databases: ReadonlyMap<string, Database>
  readonly addTables: AddTables
  /** Undefined without the setting `requests`. */
  readonly named: NamedRequests | undefined
  /** Reads the catalog of each database and the token file again. */
  refresh (): Promise<void>
  /** Uses the roles, the named requests and the parser of the token file of these settings. */
  replaceGrants (settings: Pick<Settings, 'roles' | 'requests' | 'tokenFile'>): void
  endStreams (): void
}

/** Loads the modules that the options need, so that a missing module stops the start instead of failing requests. */
export async function registerParts (
  app: FastifyInstance,
  { settings, tokens, registry }: RegisterOptions
): Promise<Registered> {
  const { limits, requestLog } = settings
  const budget = new ResponseBudget(settings.answerMemory)
  const onWrite = settings.onWrite && createWriteHook(settings.onWrite, limits, app.log)
  const readiness = createReadiness(() => app.rowQueryDatabases)
  app.addHook('preClose', async () => readiness.end())
  if (!app.hasDecorator(OWN_APP)) boundConnections(app)

  await app.register(notFoundResponses) // 404 for a path without a route
  await app.register(schemaCache, { databases: settings.databases, budget, onWrite })
  const databases = app.rowQueryDatabases
  const collectors = await createCollectors(settings, { databases, registry, log: app.log })
  const named = settings.requests && new NamedRequests({ databases, limits }, settings.requests)
  named?.watch(app.log)
  const described = { databases, settings: { prefix: app.prefix, limits, info: settings.openapiInfo } }
  await app.register(errors)
  await app.register(responseHeaders)
  await app.register(optional, { settings, collectors, described, named })
  await app.register(failedLogins, settings.failedLogins) // onRequest: 429
  await app.register(auth, { ...settings, tokens }) // onRequest: 401, 403, 503
  await app.register(jsonBody, settings) // preParsing and parser: 400, 408, 413, 415, 503
  // streams are logged even if requests are not
  const ofStreams = requestLog ? collectors : [...collectors, createRequestLog(app.log)]
  // onRequest: 404 and 405 by the path; validation by the schema: 400; handler: the verbs
  const bodyTimeout = (app as { [BODY_TIMEOUT]?: number })[BODY_TIMEOUT] ?? HTTP_DEFAULTS.bodyTimeout
  await app.register(routes, { limits, budget, collectors: ofStreams, named, bodyTimeout, toRefusal })

  // each ends after its running statement, because a client may still send for minutes
  app.addHook('preClose', async () => {
    for (const { streams } of databases.values()) {
      streams.failAll('imports', () => withReason(databaseUnavailable(), 'SHUTDOWN'))
    }
  })

  return {
    databases,
    isReady: readiness.isReady,
    addTables: createAddTables(described),
    named,
    refresh: async () => {
      const catalogs = Array.from(databases.values(), (database) => database.refresh())
      await Promise.all([app.rowQueryTokenWatch?.refresh(), ...catalogs])
    },
    replaceGrants: ({ roles, requests = new Map(), tokenFile }) => {
      app.rowQueryJwt?.useRoles(roles)
      named?.use(requests)
      if (tokenFile !== undefined) app.rowQueryTokenWatch?.use(tokenFile.file)
    },
    endStreams: () => {
      for (const { streams } of databases.values()) {
        streams.failAll('streams', () => withReason(databaseUnavailable(), 'SHUTDOWN'))
      }
    }
  }
}
