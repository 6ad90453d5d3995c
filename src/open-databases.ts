import type { FastifyBaseLogger } from 'fastify'
import type { DatabaseConfig } from './config/settings.ts'
import { createDatabase, type Database } from './database.ts'
import type { Dialect } from './dialects/dialect.ts'
import { createMysqlDialect } from './dialects/mysql/dialect.ts'
import { openSqlite } from './dialects/sqlite/dialect.ts'
import { ServiceError } from './errors.ts'

/**
 * Opens every configured database and reads its catalog. One that does not answer yet is no reason not to start: its
 * requests are refused with 503 until it does.
 */
export async function openDatabases (configs: readonly DatabaseConfig[], log: FastifyBaseLogger): Promise<ReadonlyMap<string, Database>> {
  const onRefreshError = (error: unknown, database: string): void => {
    const { code, reason } = error instanceof ServiceError ? error : { code: 'INTERNAL', reason: (error as Error).name }
    log.warn({ database, code, reason }, 'the catalog could not be read')
  }
  const databases = await Promise.all(configs.map(async (config): Promise<[string, Database]> => {
    const { name, refreshInterval } = config
    const database = createDatabase({ name, refreshInterval, onRefreshError, dialect: await openDialect(config) })
    await database.refresh().catch((error: unknown) => onRefreshError(error, name))
    return [name, database]
  }))
  return new Map(databases)
}

export async function openDialect ({ address, pool, statementTimeout }: DatabaseConfig): Promise<Dialect> {
  return address.engine === 'sqlite' ? openSqlite(address.path) : createMysqlDialect({ address: address.address, pool, statementTimeout })
}
