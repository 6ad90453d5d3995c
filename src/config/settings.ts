/** Options as somebody wrote them -> settings as the program uses them: checked whole, every default filled in. */
import { OptionsSchema, type DatabaseOptions, type RowQueryOptions, type TokenOptions } from '../../schemas/options.ts'
import type { MysqlAddress } from '../dialects/mysql/options.ts'
import type { PoolLimits } from '../dialects/mysql/pool.ts'
import { createGrant } from '../grant.ts'
import type { FilterLimits } from '../plan/filter-scope.ts'
import type { StoredToken } from '../tokens.ts'
import { parseDatabaseUrl, parseReplicaUrl, type Address } from './database-url.ts'
import { ConfigError, findMistakes } from './mistakes.ts'

export interface DatabaseConfig {
  readonly name: string
  readonly address: Address
  readonly replicas: readonly MysqlAddress[]
  readonly pool: PoolLimits
  readonly statementTimeout: number
  readonly resultLimit: number
  readonly refreshInterval: number
}

export interface Settings {
  readonly databases: readonly DatabaseConfig[]
  readonly tokens: readonly StoredToken[]
  readonly bodyLimit: number
  readonly limits: FilterLimits
  readonly rateLimit: { readonly max: number, readonly window: number } | undefined
  readonly openapi: 'token' | 'public' | 'off'
  readonly docs: boolean
  readonly tracing: boolean
  readonly serverTiming: boolean
  readonly requestLog: boolean
  readonly metrics: boolean
}

/** The caller's object is not changed. @throws ConfigError with every mistake at once */
export function resolveSettings (options: unknown): Settings {
  const mistakes = findMistakes(OptionsSchema, options)
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  const given = options as RowQueryOptions
  const { databases, tokens = [], bodyLimit = 1_048_576, limits = {}, rateLimit, openapi = 'token', docs = false } = given
  const settings: Settings = {
    databases: Object.entries(databases).flatMap(([name, database]) => toDatabase(mistakes, name, database)),
    tokens: tokens.flatMap((token, index) => collect(mistakes, `tokens.${index}.`, () => toToken(token, databases))),
    bodyLimit,
    limits: { depth: limits.filterDepth ?? 32, conditions: limits.filterConditions ?? 256, values: limits.filterValues ?? 10_000 },
    rateLimit: rateLimit === undefined ? undefined : { max: rateLimit.max, window: rateLimit.window ?? 60_000 },
    openapi,
    docs,
    tracing: given.tracing ?? true,
    serverTiming: given.serverTiming ?? false,
    requestLog: given.requestLog ?? false,
    metrics: given.metrics ?? false
  }
  mistakes.push(...findRepeated(tokens))
  if (docs && openapi === 'off') mistakes.push('docs: shows the documents, which "openapi" turns off')
  if (mistakes.length > 0) throw new ConfigError(mistakes)
  return settings
}

/** Of two entries for the same token only one could count. */
function findRepeated (tokens: readonly TokenOptions[]): string[] {
  const hashes = tokens.map(({ sha256 }) => sha256)
  return hashes.flatMap((sha256, index) => {
    const first = hashes.indexOf(sha256)
    return first < index ? [`tokens.${index}.sha256: is the same as that of tokens.${first}`] : []
  })
}

/** The value, or a line in the list of mistakes and none. */
function collect<T> (mistakes: string[], begin: string, make: () => T): T[] {
  try {
    return [make()]
  } catch (error) {
    mistakes.push(begin + (error as Error).message)
    return []
  }
}

function toDatabase (mistakes: string[], name: string, { url, replicas = [], pool = {}, statementTimeout = 10_000, resultLimit = 67_108_864, refreshInterval = 60_000 }: DatabaseOptions): DatabaseConfig[] {
  const place = `databases.${name}`
  const [address] = collect(mistakes, `${place}.url: `, () => parseDatabaseUrl(url))
  const copies = replicas.flatMap((replica, index) => collect(mistakes, `${place}.replicas.${index}: `, () => parseReplicaUrl(replica)))
  if (address === undefined) return []
  if (address.engine === 'sqlite' && replicas.length > 0) mistakes.push(`${place}.replicas: are for mysql:// and mariadb:// alone`)
  return [{
    name,
    address,
    replicas: copies,
    pool: { size: pool.size ?? 10, queue: pool.queue ?? 500, wait: pool.wait ?? 5000 },
    statementTimeout,
    resultLimit,
    refreshInterval
  }]
}

function toToken ({ name, sha256, permissions, databases, expires }: TokenOptions, known: RowQueryOptions['databases']): StoredToken {
  const stranger = Object.keys(databases ?? {}).find((database) => !Object.hasOwn(known, database))
  if (stranger !== undefined) throw new Error(`databases.${stranger}: is not configured; there are ${Object.keys(known).join(', ')}`)
  const expiresAt = expires === undefined ? undefined : parseExpiry(expires)
  return { sha256, grant: createGrant(name, { permissions, databases }), expiresAt }
}

const EXPIRY = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/

/** A day means its beginning in UTC. In milliseconds since 1970. */
export function parseExpiry (text: string): number {
  const time = EXPIRY.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : NaN
  if (Number.isNaN(time)) throw new Error('expires: must be a date or a time with an offset, such as 2027-01-01 or 2027-01-01T12:00:00Z')
  return time
}

/** JavaScript takes February 30 for a day in March. */
function isDay (text: string): boolean {
  const day = new Date(text)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text)
}
