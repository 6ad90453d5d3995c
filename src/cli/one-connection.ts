import type { DatabaseConfig } from '../databases/open.ts'
import type { Dialect } from '../dialects/dialect.ts'
import { openDialect } from '../databases/open.ts'

/** The wait is longer than the time limit for connecting, so that connection errors are reported. */
const ONE_CONNECTION = { size: 1, queue: 1, wait: 60_000 }

/** Opens a database for one command, which must close it. @throws ConfigError if a SQLite file cannot be opened */
export function openOnce (config: DatabaseConfig): Promise<Dialect> {
  return openDialect({ ...config, pool: ONE_CONNECTION })
}
