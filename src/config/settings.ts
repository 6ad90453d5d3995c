/** Options as somebody wrote them -> settings as the program uses them: checked whole, every default filled in. */
import { OptionsSchema, type DatabaseOptions, type RowQueryOptions } from '../../schemas/options.ts'
import type { MysqlAddress } from '../dialects/mysql/options.ts'
import type { PoolLimits } from '../dialects/mysql/pool/pool.ts'
import type { FilterLimits } from '../plan/filters/scope.ts'
import type { StoredToken } from '../access/tokens.ts'
import { parseDatabaseUrl, parseReplicaUrl, type Address } from './database-url.ts'
import { ConfigError, findConfigErrors } from './config-errors.ts'
import { readEntries } from '../access/token-entries.ts'
import { MEMORY } from '../dialects/sqlite/memory.ts'
import { createTokenFile, readTokenFile, type TokenFile } from '../access/token-file.ts'

export interface DatabaseConfig {
  readonly name: string
  readonly address: Address
  readonly replicas: readonly MysqlAddress[]
  readonly pool: PoolLimits
  readonly statementTimeout: number
  readonly resultLimit: number
  readonly refreshInterval: number
  /** SQL that fills `sqlite::memory:`. */
  readonly setup: readonly string[]
}

export interface Settings {
  readonly databases: readonly DatabaseConfig[]
  readonly tokens: readonly StoredToken[]
  /** Where more of them are, and those that were there at the start. */
  readonly tokenFile: { readonly file: TokenFile, readonly tokens: readonly StoredToken[] } | undefined
  readonly bodyLimit: number
  readonly limits: FilterLimits
  /** Bytes of all answers together that are being made or sent. */
  readonly answerMemory: number
  readonly rateLimit: { readonly max: number, readonly window: number } | undefined
  readonly failedLogins: { readonly max: number, readonly window: number }
  readonly cors: { readonly origins: readonly string[] } | undefined
  readonly openapi: 'token' | 'public' | 'off'
  readonly docs: boolean
  readonly tracing: boolean
  readonly serverTiming: boolean
  readonly requestLog: boolean
  readonly metrics: boolean
}

/** The caller's object is not changed. @throws ConfigError with every mistake at once */
export function resolveSettings (options: unknown): Settings {
  const errors = findConfigErrors(OptionsSchema, options)
  if (errors.length > 0) throw new ConfigError(errors)
  const given = options as RowQueryOptions
  const { databases, tokens = [], tokensFile, bodyLimit = 1_048_576, limits = {}, rateLimit, failedLogins = {}, cors, openapi = 'token', docs = false } = given
  const settings: Settings = {
    databases: Object.entries(databases).flatMap(([name, database]) => toDatabase(errors, name, database)),
    tokens: readEntries(errors, 'tokens', tokens, databases),
    tokenFile: tokensFile === undefined ? undefined : openTokenFile(errors, createTokenFile(tokensFile, { databases, tokens })),
    bodyLimit,
    answerMemory: limits.answerMemory ?? 134_217_728,
    limits: { depth: limits.filterDepth ?? 32, conditions: limits.filterConditions ?? 256, values: limits.filterValues ?? 10_000, pattern: limits.filterPattern ?? 1000 },
    rateLimit: rateLimit === undefined ? undefined : { max: rateLimit.max, window: rateLimit.window ?? 60_000 },
    failedLogins: { max: failedLogins.max ?? 30, window: failedLogins.window ?? 60_000 },
    cors,
    openapi,
    docs,
    tracing: given.tracing ?? true,
    serverTiming: given.serverTiming ?? false,
    requestLog: given.requestLog ?? false,
    metrics: given.metrics ?? false
  }
  if (docs && openapi === 'off') errors.push('docs: shows the documents, which "openapi" turns off')
  if (errors.length > 0) throw new ConfigError(errors)
  return settings
}

function openTokenFile (errors: string[], file: TokenFile): Settings['tokenFile'] {
  try {
    return { file, tokens: readTokenFile(file) }
  } catch (error) {
    errors.push(...(error as ConfigError).errors)
    return undefined
  }
}

/** The value, or a line in the list of mistakes and none. */
function collect<T> (errors: string[], begin: string, make: () => T): T[] {
  try {
    return [make()]
  } catch (error) {
    errors.push(begin + (error as Error).message)
    return []
  }
}

function toDatabase (errors: string[], name: string, { url, replicas = [], pool = {}, statementTimeout = 10_000, resultLimit = 67_108_864, refreshInterval = 60_000, setup = [] }: DatabaseOptions): DatabaseConfig[] {
  const place = `databases.${name}`
  const [address] = collect(errors, `${place}.url: `, () => parseDatabaseUrl(url))
  const copies = replicas.flatMap((replica, index) => collect(errors, `${place}.replicas.${index}: `, () => parseReplicaUrl(replica)))
  if (address === undefined) return []
  if (address.engine === 'sqlite' && replicas.length > 0) errors.push(`${place}.replicas: are for mysql:// and mariadb:// alone`)
  if (setup.length > 0 && (address.engine !== 'sqlite' || address.path !== MEMORY)) errors.push(`${place}.setup: is for sqlite::memory: alone`)
  const { size = 10, queue = 500, wait = 5000, idleTimeout = 60_000, minimum = 0 } = pool
  if (minimum > size) errors.push(`${place}.pool.minimum: is more than "size", which is ${size}`)
  return [{
    name,
    address,
    replicas: copies,
    pool: { size, queue, wait, idleTimeout, minimum },
    statementTimeout,
    resultLimit,
    refreshInterval,
    setup
  }]
}
