/** The number of worker processes, and their shares of the limits of the whole service. */
import type { TObject } from '@sinclair/typebox'
import {
  type Config, FailedLoginsSchema, LimitsSchema, PoolSchema, RateLimitSchema
} from '../../schemas/options.ts'
import { HttpSchema } from '../../schemas/server-settings.ts'
import { MEMORY } from '../dialects/sqlite/protocol.ts'
import { withDefaults } from './settings.ts'

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
export function countWorkers (
  config: Config,
  cores: number
): { readonly count: number, readonly errors: readonly string[] } {
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

/** Settings that workers share. `least`: the smallest share, if it is not the minimum of the setting. */
interface Shared { readonly schema: TObject, readonly keys: readonly string[], readonly least?: number }

const OF_POOL: Shared = { schema: PoolSchema, keys: ['size', 'queue', 'minimum'] }
const SHARED: ReadonlyArray<readonly ['rateLimit' | 'failedLogins' | 'limits' | 'http', Shared]> = [
  ['rateLimit', { schema: RateLimitSchema, keys: ['max'] }],
  // 0 means no limit, so no worker may get it as its share of a limit that is smaller than the number of workers
  ['failedLogins', { schema: FailedLoginsSchema, keys: ['max'], least: 1 }],
  ['limits', { schema: LimitsSchema, keys: ['answerMemory', 'bodyMemory'] }],
  ['http', { schema: HttpSchema, keys: ['maxConnections'] }]
]

/** Shared limits, with their defaults, are replaced by what `use` returns. */
function mapLimits (config: Config, use: (limit: Limit) => number): Config {
  const map = (path: string, given: object, { schema, keys, least }: Shared): object => {
    const settings = withDefaults<Record<string, number>>(schema, given)
    const shares = keys.map((key) => {
      const value = settings[key] as number
      const limit = { name: `${path}.${key}`, value, least: least ?? schema.properties[key]?.['minimum'] }
      return [key, value === 0 ? 0 : use(limit)]
    })
    return { ...settings, ...Object.fromEntries(shares) }
  }
  return {
    ...config,
    databases: Object.fromEntries(Object.entries(config.databases).map(([name, database]) =>
      [name, { ...database, pool: map(`databases.${name}.pool`, database.pool ?? {}, OF_POOL) }])),
    ...Object.fromEntries(SHARED.flatMap(([name, shared]) => {
      const setting = config[name] ?? shared.schema['default']
      return setting === undefined ? [] : [[name, map(name, setting, shared)]]
    }))
  }
}
