/** The plugin: what is registered, in the order in which a request meets it. */
import type { FastifyInstance, FastifyPluginAsync, RegisterOptions } from 'fastify'
import fp from 'fastify-plugin'
import auth from '../plugins/auth.ts'
import body from '../plugins/body.ts'
import errors from '../plugins/errors.ts'
import rateLimit from '../plugins/rate-limit.ts'
import requestId from '../plugins/request-id.ts'
import type { RowQueryOptions } from '../schemas/options.ts'
import { resolveSettings } from './config/settings.ts'
import type { Database } from './database.ts'
import { openDatabases } from './open-databases.ts'
import { addRoute } from './route.ts'
import { createTokenStore } from './tokens.ts'

/** `encapsulate`: hooks, parsers and decorators stay ours in a host app. */
const META = { name: 'fastify-row-query', fastify: '5.x', encapsulate: true }

export interface RowQuery {
  /** To be registered once, under any prefix. */
  readonly plugin: FastifyPluginAsync
  /** Reads the catalog of every database again, now. */
  refresh (): Promise<void>
}

/** The plugin and a handle on it. @throws ConfigError with every mistake in the options */
export function createRowQuery (options: RowQueryOptions): RowQuery {
  const settings = resolveSettings(options)
  const tokens = createTokenStore(settings.tokens)
  let databases: ReadonlyMap<string, Database> = new Map()

  const plugin: FastifyPluginAsync = fp(async (app: FastifyInstance) => {
    databases = await openDatabases(settings.databases, app.log)
    app.addHook('onClose', async () => { await Promise.all(Array.from(databases.values(), (database) => database.close())) })

    app.setReplySerializer((payload) => payload as string) // answers are text already, whatever the host app's serializer
    await app.register(errors)
    await app.register(requestId)
    await app.register(auth, { tokens })
    if (settings.rateLimit !== undefined) await app.register(rateLimit, settings.rateLimit)
    await app.register(body)
    addRoute(app, { databases, limits: settings.limits, bodyLimit: settings.bodyLimit })
  }, META)

  return {
    plugin,
    refresh: async () => { await Promise.all(Array.from(databases.values(), (database) => database.refresh())) }
  }
}

/** The options, and those that Fastify has for every plugin. */
export type PluginOptions = RowQueryOptions & RegisterOptions

/** `app.register(rowQuery, { prefix: '/api', databases: { … }, tokens: [ … ] })` */
export const rowQuery: FastifyPluginAsync<PluginOptions> = fp(async (app: FastifyInstance, { prefix, logLevel, logSerializers, ...options }: PluginOptions) => {
  await app.register(createRowQuery(options).plugin)
}, META)
