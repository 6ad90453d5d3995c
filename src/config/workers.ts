/** The number of worker processes, and the limits that they share. */
import type { TObject } from '@sinclair/typebox'
import { FailedLoginsSchema, LimitsSchema, PoolSchema, RateLimitSchema, type Config } from '../../schemas/options.ts'
import { HttpSchema } from '../../schemas/server-settings.ts'
import { MEMORY } from '../dialects/sqlite/protocol.ts'
import { withDefaults } from './with-defaults.ts'

/** A limit of the whole service, which is divided among the workers. */
interface Limit {
  /** `databases.shop.pool.size` */
  readonly name: string
  readonly value: number
  /** The smallest share of a worker: the minimum of the setting. */
  readonly least: number
}

/**
 * Returns the number of workers, and a line for each setting that does not allow so many. `"auto"` is one worker for each core, and fewer if a
 * setting does not allow so many.
 */
export function countWorkers (config: Config, cores: number): { readonly count: number, readonly errors: readonly string[] } {
  const { workers = 1 } = config
  const limits: Limit[] = []
  mapLimits(config, (limit) => {
    limits.push(limit)
    return limit.value
  })
  const inMemory = Object.entries(config.databases).filter(([, { url }]) => url === `sqlite:${MEMORY}`).map(([name]) => name)
  if (workers === 'auto') {
    const allowed = limits.map(({ value, least }) => least === 0 ? Infinity : Math.floor(value / least))
    return { count: Math.max(1, Math.min(cores, inMemory.length > 0 ? 1 : cores, ...allowed)), errors: [] }
  }
  const tooSmall = limits.filter(({ value, least }) => workers > 1 && value < least * workers)
  return {
    count: workers,
    errors: [
      ...tooSmall.map(({ name, least }) => `${name}: must be at least ${least * workers}, because it is divided among ${workers} workers`),
      ...(workers > 1 ? inMemory : []).map((name) => `databases.${name}.url: sqlite::memory: does not allow several workers, because each would have its own data`)
    ]
  }
}

/** Returns the configuration of the worker with this index: its share of each limit, without further workers. The shares add up to the limits. */
export function divideConfig (config: Config, count: number, index: number): Config {
  return { ...mapLimits(config, ({ value }) => Math.floor(value / count) + (index < value % count ? 1 : 0)), workers: 1 }
}

type Use = (limit: Limit) => number

/** Returns a configuration whose shared limits, with their defaults, are replaced by what `use` returns. */
function mapLimits (config: Config, use: Use): Config {
  const { databases, rateLimit, failedLogins, limits, http } = config
  return {
    ...config,
    databases: Object.fromEntries(Object.entries(databases).map(([name, database]) =>
      [name, { ...database, pool: mapNumbers(database.pool, { schema: PoolSchema, path: `databases.${name}.pool`, keys: ['size', 'queue', 'minimum'], use }) }])),
    ...(rateLimit !== undefined && { rateLimit: mapNumbers(rateLimit, { schema: RateLimitSchema, path: 'rateLimit', keys: ['max'], use }) }),
    // 0 means no limit, so no worker may get it as its share of a limit that is smaller than the number of workers
    ...(failedLogins?.max !== 0 && { failedLogins: mapNumbers(failedLogins, { schema: FailedLoginsSchema, path: 'failedLogins', keys: ['max'], use: (limit) => use({ ...limit, least: 1 }) }) }),
    limits: mapNumbers(limits, { schema: LimitsSchema, path: 'limits', keys: ['answerMemory', 'bodyMemory'], use }),
    http: mapNumbers(http, { schema: HttpSchema, path: 'http', keys: ['maxConnections'], use })
  }
}

interface Numbers {
  readonly schema: TObject
  readonly path: string
  readonly keys: readonly string[]
  readonly use: Use
}

function mapNumbers<T extends object> (given: T | undefined, { schema, path, keys, use }: Numbers): T {
  const settings = withDefaults<Record<string, number>>(schema, given ?? {})
  const shares = keys.map((key) => [key, use({ name: `${path}.${key}`, value: settings[key] as number, least: schema.properties[key]?.['minimum'] })])
  return { ...settings, ...Object.fromEntries(shares) } as T
}
