import type { ConnectionOptions, QueryOptions, SslOptions } from 'mysql2'

export interface Host { readonly host: string, readonly port: number }

/** The hosts of a MySQL database and the account to use. */
export interface MysqlAddress {
  /** Servers of the same database, in the order in which they are tried. */
  readonly hosts: readonly Host[]
  readonly user: string
  readonly password: string
  readonly database: string
  /** The requirements on the server's certificate; undefined for no TLS. One object for all connections: mysql2 caches its TLS context by it. */
  readonly ssl: SslOptions | undefined
}

/** The delay of TCP keep-alive probes on an idle connection, in milliseconds. */
export const KEEP_ALIVE = 10_000

/** The server ends a statement by itself so many milliseconds after the service's own time limit, in case no KILL gets through. */
export const BACKSTOP = 30_000

/**
 * Connection options. No LOCAL INFILE, one statement at a time, utf8mb4 (session.ts verifies it); `-FOUND_ROWS` makes the
 * server count the changed rows instead of the matched ones, and `-CLIENT_QUERY_ATTRIBUTES` leaves out two bytes of each statement
 * (statement-command.ts sends no attributes). session.ts limits the time for opening.
 */
export function connectionOptions ({ hosts, ssl, ...account }: MysqlAddress, host: Host = hosts[0] as Host): ConnectionOptions {
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

/** Returns each value as the bytes that the server sent, in the order of the columns: exact, and cheap to write. */
export const AS_BYTES: Pick<QueryOptions, 'rowsAsArray' | 'typeCast'> = { rowsAsArray: true, typeCast: false }
