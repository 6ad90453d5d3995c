import { BlockList, isIPv6 } from 'node:net'
import { availableParallelism } from 'node:os'
import type { TObject } from '@sinclair/typebox'
import {
  type Config, FailedLoginsSchema, LimitsSchema, PoolSchema, RateLimitSchema, type RowQueryOptions
} from '../../schemas/options.ts'
import {
  type HttpOptions, HttpSchema, type HttpsOptions, type ServerConfig, ServerSchema
} from '../../schemas/server-settings.ts'
import { ConfigError, succeeds } from '../config-errors.ts'
import { MEMORY } from '../dialects/sqlite/protocol.ts'
import { withDefaults, type WithDefaults } from './settings.ts'

// The number of worker processes, and the limits that they share.

/** A limit of the whole service, which is divided among the workers. */
interface Limit {
  /** `databases.shop.pool.size` */
  readonly name: string
  readonly value: number
  /** The smallest share of a worker: the minimum of the setting. */
  readonly least: number
}

/**
 * Returns the number of workers, and a line for each setting that does not allow so many. `"auto"` is one worker for
 * each core, and fewer if a setting does not allow so many.
 */
function countWorkers (config: Config, cores: number): { readonly count: number, readonly errors: readonly string[] } {
  const { workers = 1 } = config
  const limits: Limit[] = []
  mapLimits(config, (limit) => {
    limits.push(limit)
    return limit.value
  })
  const inMemory = Object.entries(config.databases)
    .filter(([, { url }]) => url === `sqlite:${MEMORY}`)
    .map(([name]) => name)
  if (workers === 'auto') {
    const allowed = limits.map(({ value, least }) => least === 0 ? Infinity : Math.floor(value / least))
    return { count: Math.max(1, Math.min(cores, inMemory.length > 0 ? 1 : cores, ...allowed)), errors: [] }
  }
  const tooSmall = limits.filter(({ value, least }) => workers > 1 && value < least * workers)
  return {
    count: workers,
    errors: [
      ...tooSmall.map(
        ({ name, least }) =>
          `${name}: must be at least ${least * workers}, because it is divided among ${workers} workers`
      ),
      ...(workers > 1 ? inMemory : []).map(
        (name) =>
          `databases.${name}.url: sqlite::memory: does not allow several workers, because each would have its own data`
      )
    ]
  }
}

/**
 * Returns the configuration of the worker with this index: its share of each limit, without further workers. The shares
 * add up to the limits.
 */
export function divideConfig (config: Config, count: number, index: number): Config {
  return {
    ...mapLimits(config, ({ value }) => Math.floor(value / count) + (index < value % count ? 1 : 0)),
    workers: 1
  }
}

type Use = (limit: Limit) => number

/** Returns a configuration whose shared limits, with their defaults, are replaced by what `use` returns. */
function mapLimits (config: Config, use: Use): Config {
  const { databases, rateLimit, failedLogins, limits, http } = config
  return {
    ...config,
    databases: Object.fromEntries(
      Object.entries(databases).map(([name, database]) => [
        name,
        {
          ...database,
          pool: mapNumbers(database.pool, {
            schema: PoolSchema,
            path: `databases.${name}.pool`,
            keys: ['size', 'queue', 'minimum'],
            use
          })
        }
      ])
    ),
    ...(rateLimit !== undefined && {
      rateLimit: mapNumbers(rateLimit, { schema: RateLimitSchema, path: 'rateLimit', keys: ['max'], use })
    }),
    // 0 means no limit, so no worker may get it as its share of a limit that is smaller than the number of workers
    ...(failedLogins?.max !== 0 && {
      failedLogins: mapNumbers(failedLogins, {
        schema: FailedLoginsSchema,
        path: 'failedLogins',
        keys: ['max'],
        use: (limit) => use({ ...limit, least: 1 })
      })
    }),
    limits: mapNumbers(limits, { schema: LimitsSchema, path: 'limits', keys: ['answerMemory', 'bodyMemory'], use }),
    http: mapNumbers(http, { schema: HttpSchema, path: 'http', keys: ['maxConnections'], use })
  }
}

function mapNumbers<T extends object> (
  given: T | undefined,
  {
    schema,
    path,
    keys,
    use
  }: { readonly schema: TObject; readonly path: string; readonly keys: readonly string[]; readonly use: Use }
): T {
  const settings = withDefaults<Record<string, number>>(schema, given ?? {})
  const shares = keys.map((key) => [
    key,
    use({ name: `${path}.${key}`, value: settings[key] as number, least: schema.properties[key]?.['minimum'] })
  ])
  return { ...settings, ...Object.fromEntries(shares) } as T
}

export type HttpSettings = Readonly<WithDefaults<HttpOptions>>
export const HTTP_DEFAULTS: HttpSettings = withDefaults(HttpSchema, {})

/** The settings that only the server has. */
export interface ServerSettings extends Readonly<
  Omit<WithDefaults<ServerConfig, 'https'>, 'metrics' | 'requestLog' | 'https' | 'workers'>
> {
  /** The number of worker processes; 1 if this process answers the requests. */
  readonly workers: number
  /** The address of the separate port for metrics, if there is one. */
  readonly metrics: { readonly host: string; readonly port: number } | undefined
  readonly https: HttpsOptions | undefined
}

/**
 * Splits a valid configuration into the settings of the server, with defaults, and the options of the plugin. `cores`:
 * the number of workers for "auto". @throws ConfigError
 */
export function splitConfig (
  config: Config,
  cores = availableParallelism()
): { server: ServerSettings; options: RowQueryOptions } {
  const {
    host,
    port,
    workers: _workers,
    prefix,
    logLevel,
    logFormat,
    metrics,
    shutdown,
    trustProxy,
    http,
    https,
    ...options
  } = { ...config, ...withDefaults<WithDefaults<ServerConfig, 'https'>>(ServerSchema, config) }
  const errors = trustProxy.flatMap((proxy, index) =>
    isNetwork(proxy) ? [] : [`trustProxy.${index}: must be an IP address, or a network such as 10.0.0.0/8`]
  )
  if (http.headersTimeout >= http.requestTimeout) {
    errors.push('http.headersTimeout: must be less than http.requestTimeout')
  }
  const workers = countWorkers(config, cores)
  errors.push(...workers.errors)
  if (errors.length > 0) throw new ConfigError(errors)
  const server = {
    host,
    port,
    workers: workers.count,
    prefix,
    logLevel,
    logFormat,
    metrics: typeof metrics === 'object' ? metrics : undefined,
    shutdown,
    trustProxy,
    http,
    https
  }
  return { options: { ...options, metrics: metrics !== false }, server }
}

/** Completes the check of the schema, which knows only the names of networks and the characters of addresses. */
function isNetwork (text: string): boolean {
  if (/^[a-z]{3,}/.test(text)) return true
  const [address = '', prefix = '0'] = text.split('/')
  return succeeds(() => new BlockList().addSubnet(address, Number(prefix), isIPv6(address) ? 'ipv6' : 'ipv4'))
}
