import type { ConnectionOptions, QueryOptions } from 'mysql2'

/** Where a MySQL database is and who we are there. */
export interface MysqlAddress { host: string, port: number, user: string, password: string, database: string }

/** How long the server may take to accept a connection, in milliseconds. */
const CONNECT_TIMEOUT = 5000

/**
 * Connection options. No LOCAL INFILE, one statement at a time, utf8mb4; `-FOUND_ROWS` makes the server count the rows that
 * it changed instead of those that it found.
 */
export function connectionOptions (address: MysqlAddress): ConnectionOptions {
  return {
    ...address,
    charset: 'utf8mb4',
    flags: ['-LOCAL_FILES', '-FOUND_ROWS'],
    multipleStatements: false,
    connectTimeout: CONNECT_TIMEOUT,
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

/** Every value as the bytes that the server sent, in the order of the columns: exact, and cheap to write out. */
export const AS_BYTES: Pick<QueryOptions, 'rowsAsArray' | 'typeCast'> = { rowsAsArray: true, typeCast: false }
