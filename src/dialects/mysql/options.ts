import type { ConnectionOptions, SslOptions } from 'mysql2'

export interface Host { readonly host: string, readonly port: number }

/** The hosts of a MySQL database and the account to use. */
export interface MysqlAddress {
  /** Servers of the same database, in the order in which they are tried. */
  readonly hosts: readonly Host[]
  readonly user: string
  readonly password: string
  readonly database: string
  /**
   * The requirements on the server's certificate; undefined for no TLS. mysql2 caches its TLS context by the object.
   */
  readonly ssl: SslOptions | undefined
}

/** The delay of TCP keep-alive probes on an idle connection, in milliseconds. */
export const KEEP_ALIVE = 10_000

/** How long after the service's own time limit the server ends a statement itself, in milliseconds. */
export const BACKSTOP = 30_000

/**
 * No LOCAL INFILE, one statement at a time, utf8mb4. `-FOUND_ROWS` makes the server count changed rows instead of
 * matched ones; statement-command.ts sends no attributes.
 */
export function connectionOptions (
  { hosts, ssl, ...account }: MysqlAddress,
  host: Host = hosts[0] as Host
): ConnectionOptions {
  return {
    ...account,
    ...host,
    ...(ssl !== undefined && { ssl }),
    charset: 'utf8mb4',
    flags: ['-LOCAL_FILES', '-FOUND_ROWS', '-CLIENT_QUERY_ATTRIBUTES'],
    multipleStatements: false,
    connectTimeout: 0,
    enableKeepAlive: true,
    keepAliveInitialDelay: KEEP_ALIVE,
    supportBigNumbers: true,
    bigNumberStrings: true
  }
}

/** Parses the versions of MySQL and MariaDB, and knows the oldest that the service supports. */

export interface ServerVersion {
  readonly product: 'MySQL' | 'MariaDB'
  /** Major, minor and patch number. */
  readonly numbers: readonly [number, number, number]
}

/** Older versions lack functions, syntax and parts of the catalog that the service uses. */
const OLDEST: Record<ServerVersion['product'], readonly [number, number, number]> = {
  MySQL: [8, 0, 19],
  MariaDB: [10, 7, 0]
}

/** Parses `8.0.36-28` or `10.11.18-MariaDB-log`, before which old MariaDB and some proxies write `5.5.5-`. */
export function parseServerVersion (text: string): ServerVersion {
  const product = /mariadb/i.test(text) ? 'MariaDB' : 'MySQL'
  const [, ...digits] = /^(?:5\.5\.5-(?=\d+\.))?(\d+)\.(\d+)(?:\.(\d+))?/.exec(text) ?? []
  const [major = 0, minor = 0, patch = 0] = digits.map((number = '0') => Number(number))
  return { product, numbers: [major, minor, patch] }
}

export function isAtLeast ({ numbers }: ServerVersion, oldest: readonly number[]): boolean {
  const index = oldest.findIndex((number, index) => number !== numbers[index])
  return index < 0 || (numbers[index] as number) > (oldest[index] as number)
}

/** The reason of the error if a server cannot be used; undefined if it can. */
export function versionProblem (text: string): string | undefined {
  const version = parseServerVersion(text)
  if (isAtLeast(version, OLDEST[version.product])) return undefined
  return `SERVER_TOO_OLD: ${version.product} ${version.numbers.join('.')}, the oldest supported versions are MySQL ` +
    '8.0.19 and MariaDB 10.7'
}
