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
