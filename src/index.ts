/**
 * The public API of the package. Importing it loads only the check of the options; registering the plugin loads the
 * rest (src/app.ts).
 */
import { createRequire } from 'node:module'
import createError from '@fastify/error'
import type { FastifyInstance, FastifyPluginAsync, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import type { Registry } from 'prom-client'
import type { Verb } from '../schemas/grants.ts'
import type { CallGrant, HostGrant } from './access/grant.ts'
import { createTokenStore, type TokenStore } from './access/tokens.ts'
import { resolveSettings, type AppOptions } from './config/settings.ts'
import type { ServerFacts } from './dialects/dialect.ts'
import type { LoadRequest, ExecuteRequest, NamedOptions } from './in-process/calls.ts'
import type {
  BoundCalls, InProcessTransaction, InProcessTransactionOptions, Execute, Stream
} from './in-process/transaction.ts'
import type { AnyDatabases, Name } from './in-process/field-types.ts'
import type { LoadResult } from './in-process/requests.ts'
import type { TransformObject } from './openapi/documents.ts'
import type { Registered } from './app.ts'

export type { Config as RowQueryConfig, DatabaseOptions, TokenOptions } from '../schemas/options.ts'
export type { AppOptions as RowQueryOptions } from './config/settings.ts'
export type { Authenticate, CallGrant, HostGrant } from './access/grant.ts'
export { ServiceError } from './errors.ts'
export type { GrantOptions, TableGrantOptions } from './access/grant.ts'
export type { OnWrite, WriteEvent } from './in-process/on-write.ts'
export type { BoundCalls, InProcessTransaction, InProcessTransactionOptions } from './in-process/transaction.ts'
export { createToken, hashGivenToken as hashToken } from './access/tokens.ts'
export type { Column, Filters, Insert, Position, Row, Update } from './in-process/field-types.ts'

/** A second registration would open each database again, and the first connections would never be closed. */
const AlreadyRegistered = createError(
  'ROW_QUERY_ALREADY_REGISTERED',
  'The plugin of this createRowQuery() is already registered: call createRowQuery() again to register another one'
)

const StartTimeout = createError(
  'ROW_QUERY_START_TIMEOUT',
  'fastify-row-query has not started within %s ms, while %s. The machine may be busy: ' +
    'raise pluginTimeout of Fastify (%s)'
)

/** The part of Fastify's time limit after which the plugin says what it waits for, which Fastify's error does not. */
const PART_OF_LIMIT = 0.95

/** @throws StartTimeout shortly before Fastify would give the plugin up */
async function inTime (app: FastifyInstance, start: Promise<void>, describe: () => string): Promise<void> {
  const { pluginTimeout = 0 } = app.initialConfig
  if (pluginTimeout === 0) return await start
  const limit = Math.floor(pluginTimeout * PART_OF_LIMIT)
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new StartTimeout(limit, describe(), pluginTimeout)), limit)
  try {
    await Promise.race([start, promise])
  } finally {
    clearTimeout(timer)
  }
}

/** `encapsulate`: hooks, parsers and decorators do not affect the host app. */
const META = { name: 'fastify-row-query', fastify: '5.x', encapsulate: true }

export interface RowQuery<Databases extends AnyDatabases = AnyDatabases> {
  /** Can be registered once, with any prefix. */
  readonly plugin: FastifyPluginAsync
  /** Reads the catalog of each database and the token file again. */
  refresh(): Promise<void>
  /**
   * Replaces the tokens, roles and named requests of the options; what is left out is none. The other options stay,
   * with the token file. Running requests keep their grants.
   *
   * @throws ConfigError with all errors; then nothing is replaced
   */
  replaceGrants(grants: Pick<AppOptions, 'tokens' | 'roles' | 'requests'>): void
  /** Executes a request without HTTP. The app must be ready. @throws ServiceError with the code of the HTTP response */
  readonly execute: Execute<Databases>
  /**
   * Binds a grant for calls such as `rows.as(grant).select('shop', 'orders', { limit: 10 })`. It is checked and copied
   * at the first call.
   */
  as(grant: CallGrant): BoundCalls<Databases>
  /**
   * Reads any number of rows of a select one by one: the database is read as the rows are taken. Leaving the loop ends
   * the statement.
   * @throws ServiceError, also between rows
   */
  readonly stream: Stream<Databases>
  /**
   * Inserts the rows of a source of bytes or texts (CSV or NDJSON), or of objects; it is read no faster than the
   * database takes them. @throws ServiceError, with `committed` if batches are committed one by one; what the source
   * throws
   */
  load(request: LoadRequest, source: AsyncIterable<unknown> | Iterable<unknown>): Promise<LoadResult>
  /**
   * Calls a named request: `rows.request('orders_of_customer', { customer: 7 }, { grant })`. Returns `data` of its
   * response.
   * @throws ServiceError with the code of the HTTP response
   */
  request<Result = any>(
    name: string,
    parameters: Readonly<Record<string, unknown>>,
    options: NamedOptions
  ): Promise<Result>
  /**
   * Runs a function whose requests happen in one transaction: commits when it resolves, rolls back when it throws. The
   * function may run again after a deadlock or if the tables have changed. @throws ServiceError; what the function
   * throws
   */
  transaction<D extends Name<Databases>, T>(
    database: D,
    use: (tx: InProcessTransaction<Databases[D]>) => Promise<T>,
    options?: InProcessTransactionOptions
  ): Promise<T>
  /**
   * Cuts off running streams, which closing the app would wait for: they end without their last bytes, so that their
   * clients get an error.
   */
  endStreams(): void
  /**
   * Returns a `transformObject` for @fastify/swagger, which adds the tables that the grant sees to the document of the
   * app (OpenAPI 3.1).
   */
  swaggerTables(grant: HostGrant): TransformObject
  /**
   * Whether all databases are available. The result is cached for one second; resolves within one second and never
   * rejects.
   */
  isReady(): Promise<boolean>
  /** What the server of each database says about itself; undefined for SQLite, and before the first connection. */
  servers(): ReadonlyMap<string, ServerFacts | undefined>
  /** The names of the tables and views of each database; undefined until its catalog has been read. */
  tables(): ReadonlyMap<string, readonly string[] | undefined>
  /** The Prometheus metrics; empty unless the option `metrics` is set. */
  readonly registry: Registry
  /** Looks up the grant of a token, for other routes of the app that accept the same tokens. */
  readonly tokens: TokenStore
}

/**
 * Creates the plugin and an object to control it. `Databases`: the interfaces that `row-query types` prints, by
 * database.
 * @throws ConfigError with all errors in the options
 */
export function createRowQuery<Databases extends AnyDatabases = AnyDatabases> (
  options: AppOptions
): RowQuery<Databases> {
  let settings = resolveSettings(options)
  const tokens = createTokenStore(settings.tokens, settings.tokenFile?.tokens)
  const registry = createRegistry()
  type App = typeof import('./app.ts')
  type GrantCalls = ReturnType<App['bindGrant']>
  let parts: (App & Registered & { readonly inProcess: Parameters<App['loadInProcess']>[0] }) | undefined
  let isRegistered = false
  const partsFor = (method: string): NonNullable<typeof parts> => {
    if (parts === undefined) throw new Error(`${method}() requires that the plugin is registered and the app is ready`)
    return parts
  }

  const start = async (app: FastifyInstance, onLoaded: () => void): Promise<void> => {
    const loaded = await import('./app.ts')
    onLoaded()
    if (isRegistered) throw new AlreadyRegistered()
    loaded.checkPrefix(app)
    isRegistered = true
    const registered = await loaded.registerParts(app, { settings, tokens, registry })
    const inProcess = { databases: registered.databases, limits: settings.limits }
    parts = { ...loaded, ...registered, inProcess }
    parts.replaceGrants(settings) // they may have been replaced meanwhile
  }
  const plugin: FastifyPluginAsync = fp(async (app: FastifyInstance) => {
    let step = 'its code was loaded'
    const starting = start(app, () => { step = 'its databases were opened' })
    await inTime(app, starting, () => app.hasDecorator('rowQueryDatabases') ? 'its parts were registered' : step)
  }, META)

  return {
    plugin,
    swaggerTables: (grant) => (document) => partsFor('swagger').addTables(grant, document),
    isReady: async () => await parts?.isReady() ?? false,
    servers: () => new Map(Array.from(parts?.databases ?? [], ([name, { dialect }]) => [name, dialect.server])),
    tables: () => new Map(Array.from(parts?.databases ?? [], ([name, { catalog }]) =>
      [name, catalog && [...catalog.tables.keys()]])),
    get registry () {
      return registry()
    },
    tokens,
    execute: (async (request: ExecuteRequest) => {
      const { inProcess, execute } = partsFor('execute')
      return await execute(inProcess, request)
    }) as Execute<Databases>,
    as: (grant) => {
      let bound: GrantCalls | undefined
      const calls = (): GrantCalls => {
        const { inProcess, bindGrant } = partsFor('as')
        bound ??= bindGrant(inProcess, grant)
        return bound
      }
      const call = (verb: Verb) => async (...args: Parameters<GrantCalls[Verb]>) => await calls()[verb](...args)
      return {
        select: call('select'),
        insert: call('insert'),
        update: call('update'),
        delete: call('delete'),
        stream: (...args: Parameters<GrantCalls['stream']>) => calls().stream(...args)
      } as unknown as BoundCalls<Databases>
    },
    stream: ((request: ExecuteRequest) => {
      const { inProcess, streamInProcess } = partsFor('stream')
      return streamInProcess(inProcess, request)
    }) as Stream<Databases>,
    load: async (request, source) => {
      const { inProcess, loadInProcess } = partsFor('load')
      return await loadInProcess(inProcess, request, source)
    },
    request: async (name, parameters, requestOptions) => {
      const { named, requestInProcess } = partsFor('request')
      return await requestInProcess(named, name, parameters, requestOptions) as any
    },
    transaction: async (database, use, transactionOptions = {}) => {
      const { inProcess, runInProcess } = partsFor('transaction')
      return await runInProcess(inProcess, database, { ...transactionOptions, use })
    },
    refresh: async () => {
      await parts?.refresh()
    },
    replaceGrants: (grants) => {
      const { tokens: _tokens, roles: _roles, requests: _requests, mcp, ...others } = options
      // a tool whose request is gone is no error: the list of tools is of the start
      const { requests: _tools, ...tools } = mcp ?? {}
      const replaced = resolveSettings({ ...others, ...(mcp && { mcp: tools }), ...grants })
      settings = { ...replaced, mcp: settings.mcp }
      tokens.replace(settings.tokenFile?.tokens ?? [], settings.tokens)
      parts?.replaceGrants(settings)
    },
    endStreams: () => parts?.endStreams()
  }
}

/** The options of the plugin, and those of Fastify for all plugins. */
export type PluginOptions = AppOptions & RegisterOptions

/** `app.register(rowQuery, { prefix: '/api', databases: { … }, tokens: [ … ] })` */
export const rowQuery: FastifyPluginAsync<PluginOptions> = fp(
  async (app: FastifyInstance, { prefix, logLevel, logSerializers, ...options }: PluginOptions) => {
    await app.register(createRowQuery(options).plugin)
  },
  META
)

export default rowQuery

/**
 * The registry is a property of `createRowQuery()`, which cannot wait for an import, so `require` loads prom-client
 * when the registry is first used: at the start with `metrics`, and otherwise never.
 */
function createRegistry (): () => Registry {
  let registry: Registry | undefined
  return () => {
    if (registry !== undefined) return registry
    const prometheus = createRequire(import.meta.url)('prom-client') as typeof import('prom-client')
    registry = new prometheus.Registry()
    return registry
  }
}
