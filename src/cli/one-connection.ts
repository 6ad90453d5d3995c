/** A database as a command asks it: once, and telling what went wrong. */
import { ConfigError } from '../config/config-errors.ts'
import type { DatabaseConfig } from '../config/settings.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { ServiceError } from '../errors.ts'
import { openDialect } from '../databases/open.ts'

/** With more time than connecting may take: what went wrong there is to be told. */
const ONE_CONNECTION = { size: 1, queue: 1, wait: 60_000 }

/** What it is used for must end with its `close`. @throws ConfigError where a SQLite file cannot be opened */
export function openOnce (config: DatabaseConfig): Promise<Dialect> {
  return openDialect({ ...config, pool: ONE_CONNECTION })
}

/** Why a database does not answer, for a person. @throws what is no answer but a bug */
export function reasonOf (error: unknown): string {
  if (error instanceof ConfigError) return error.message
  if (error instanceof ServiceError) return error.reason ?? error.code
  throw error
}
