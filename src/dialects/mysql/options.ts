import type { ConnectionOptions, QueryOptions, SslOptions } from 'mysql2'

export interface Host { readonly host: string, readonly port: number }

/** Where a MySQL database is and who we are there. */
export interface MysqlAddress {
  /** Servers of the same database, in the order in which they are tried. */
  readonly hosts: readonly Host[]
  readonly user: string
  readonly password: string
  readonly database: string
  /** What the server's certificate must be; undefined for no TLS. One object for all connections: mysql2 keeps what it makes of it. */
  readonly ssl: SslOptions | undefined
}

/** How long a connection may have nothing to say before the system asks whether the other end is still there, in milliseconds. */
export const KEEP_ALIVE = 10_000

/** How long after we gave a statement up the server ends it by itself, in milliseconds: where no KILL could get through. */
export const BACKSTOP = 30_000

/**
 * Connection options. No LOCAL INFILE, one statement at a time, utf8mb4; `-FOUND_ROWS` makes the server count the rows that
 * it changed instead of those that it found. Opening is bounded by session.ts.
 */
export function connectionOptions ({ hosts, ssl, ...account }: MysqlAddress, host: Host = hosts[0] as Host): ConnectionOptions {
  return {
    ...account,
    ...host,
    ...(ssl !== undefined && { ssl }),
    charset: 'utf8mb4',
    flags: ['-LOCAL_FILES', '-FOUND_ROWS'],
    multipleStatements: false,
    connectTimeout: 0,
    enableKeepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE,
    supportBigNumbers: true,
    bigNumberStrings: true
  }
}

/**
 * Sent first on every connection: nothing may depend on how the server is set.
 * - sql_mode: strict for every engine, so nothing is truncated or clipped; without NO_ZERO_DATE, so that a zero date that a
 *   select showed can be written again; NO_AUTO_VALUE_ON_ZERO, so that 0 in an AUTO_INCREMENT column stays 0; without
 *   ANSI_QUOTES and NO_BACKSLASH_ESCAPES, which would change what quoting means.
 * - time_zone: TIMESTAMPs go in and out in UTC.
 * - sql_safe_updates: would refuse updates by a column without an index.
 */
export const SESSION = 'set session sql_mode = \'STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION\', ' +
  'time_zone = \'+00:00\', autocommit = 1, sql_safe_updates = 0, foreign_key_checks = 1, unique_checks = 1'

/** The same with the server's own limit on statements, each server reading its own comment: MySQL's holds for selects alone. */
export function sessionStatement (statementTimeout: number): string {
  const limit = statementTimeout + BACKSTOP
  return `${SESSION} /*M!100108 , max_statement_time = ${limit / 1000} */ /*!80000 , max_execution_time = ${limit} */`
}

/** Every value as the bytes that the server sent, in the order of the columns: exact, and cheap to write out. */
export const AS_BYTES: Pick<QueryOptions, 'rowsAsArray' | 'typeCast'> = { rowsAsArray: true, typeCast: false }
