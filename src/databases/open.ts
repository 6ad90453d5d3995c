import { TRAITS } from '../catalog/traits.ts'
import { existsSync } from 'node:fs'
import type { FastifyBaseLogger } from 'fastify'
import { ConfigError, orThrow } from '../config-errors.ts'
import type { Dialect, ServerFacts } from '../dialects/dialect.ts'
import type { MysqlAddress } from '../dialects/mysql/session-settings.ts'
import type { PoolLimits } from '../dialects/mysql/pool.ts'
import { MEMORY } from '../dialects/sqlite/protocol.ts'
import { ServiceError } from '../errors.ts'
import type { ResponseBudget } from '../response/budget.ts'
import { createDatabase, type Database, type WriteHook } from './database.ts'
import { limitStreams, Streams } from './streams.ts'

/** Parsed from the URL. */
export type Address =
  | { readonly engine: 'mysql', readonly address: MysqlAddress }
  /** `path`: of the file, or MEMORY. */
  | { readonly engine: 'sqlite', readonly path: string }

export interface DatabaseConfig {
  readonly name: string
  readonly address: Address
  readonly replicas: readonly MysqlAddress[]
  readonly pool: PoolLimits
  readonly statementTimeout: number
  /** In milliseconds. */
  readonly streamTimeout: number
  /** In milliseconds. */
  readonly importTimeout: number
  /** Maximum number of streams and of imports of one caller at a time. */
  readonly streams: number
  readonly imports: number
  readonly resultLimit: number
  readonly refreshInterval: number
  readonly keyLifetime: number
  /** SQL statements that create and fill the tables of `sqlite::memory:`. */
  readonly setup: readonly string[]
}

/**
 * The service starts even if a server does not answer yet; requests to it are refused with 503 until it does. @throws
 * ConfigError if a SQLite file cannot be opened
 */
export async function openDatabases (
  configs: readonly DatabaseConfig[],
  {
    log,
    onWrite,
    budget
  }: {
    readonly log: FastifyBaseLogger
    readonly onWrite?: WriteHook | undefined
    readonly budget?: ResponseBudget | undefined
  }
): Promise<ReadonlyMap<string, Database>> {
  const onRefreshError = (error: unknown, database: string): void => {
    const { code, reason } =
      error instanceof ServiceError ? error : { code: 'INTERNAL', reason: (error as Error).name }
    log.warn({ database, code, reason }, 'the catalog could not be read')
  }
  const onCleanUpError = (error: unknown, database: string): void => {
    log.warn({ database, code: (error as ServiceError).code }, 'old idempotency keys could not be deleted')
  }
  const onServer = ({ engine, version, ignores }: ServerFacts, database: string): void => {
    const server = { database, engine, version }
    if (Object.keys(ignores).length === 0) log.info(server, 'connected to the server of the database')
    else log.warn({ ...server, ignores }, 'the server of the database ignores settings')
  }
  const dialects = await openDialects(configs, onServer)
  const databases = await Promise.all(
    configs.map(
      async (config, index): Promise<[string, Database]> => {
        const { name, resultLimit, importTimeout, refreshInterval, keyLifetime, pool, statementTimeout } = config
        const database = createDatabase({
          name,
          resultLimit,
          streams: createStreams(config),
          importTimeout,
          budget,
          refreshInterval,
          keyLifetime,
          closeTimeout: pool.wait + statementTimeout,
          onRefreshError,
          onCleanUpError,
          onWrite,
          dialect: dialects[index] as Dialect
        })
        await atMost(
          START_TIME,
          database.refresh().catch((error: unknown) => onRefreshError(error, name))
        )
        return [name, database]
      }
    )
  )
  return new Map(databases)
}

/** A database with one writer has one import at a time. */
function createStreams ({ address, pool, streams, imports }: DatabaseConfig): Streams {
  const ofImports = limitStreams(imports, pool.size)
  return new Streams(limitStreams(streams, pool.size), {
    imports: TRAITS[address.engine].hasOneWriter ? { ...ofImports, ofAll: 1 } : ofImports,
    both: limitStreams(Infinity, pool.size)
  })
}

/**
 * How long the start waits for a catalog, in milliseconds, because Fastify allows a plugin ten seconds. Requests wait
 * for a catalog that takes longer.
 */
const START_TIME = 5000

function atMost (milliseconds: number, promise: Promise<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    promise.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** Opens all databases or none. @throws ConfigError with a line for each that could not be opened */
async function openDialects (
  configs: readonly DatabaseConfig[],
  onServer: (server: ServerFacts, database: string) => void
): Promise<Dialect[]> {
  const attempts = await Promise.allSettled(
    configs.map((config) => openDialect(config, (server) => onServer(server, config.name)))
  )
  const open = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []))
  if (open.length === configs.length) return open
  await Promise.all(open.map((dialect) => dialect.close()))
  throw new ConfigError(
    attempts.flatMap((attempt) => (attempt.status === 'rejected' ? (attempt.reason as ConfigError).errors : []))
  )
}

/**
 * A SQLite file at once, a MySQL server later. @throws ConfigError if the file cannot be opened, or the installed
 * mysql2 cannot be used
 */
export async function openDialect (
  { name, address, replicas, pool, statementTimeout, streamTimeout, setup }: DatabaseConfig,
  onServer?: (server: ServerFacts) => void
): Promise<Dialect> {
  const refuse = (reason: string) => new ConfigError([`databases.${name}.${reason}`])
  if (address.engine === 'mysql') {
    const { createMysqlDialect } = await import('../dialects/mysql/dialect.ts')
    const settings = { address: address.address, replicas, pool, statementTimeout, streamTimeout, onServer }
    return orThrow(() => createMysqlDialect(settings), (error) => refuse(`url: ${error.message}`))
  }
  const { path } = address
  // SQLite would create an empty file for a misspelled name
  if (path !== MEMORY && !existsSync(path)) throw refuse(`url: ${path} does not exist`)
  const { openSqlite } = await import('../dialects/sqlite/dialect.ts')
  const opening = openSqlite({ path, setup, pool, statementTimeout, streamTimeout })
  return opening.catch(({ message, reason = message }: Partial<ServiceError>) => {
    throw refuse(path === MEMORY ? `setup: ${reason}` : `url: ${path} cannot be opened: ${reason}`)
  })
}
