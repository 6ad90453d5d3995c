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
 * Connection options. No LOCAL INFILE, one statement at a time, utf8mb4 (session.ts makes sure of it); `-FOUND_ROWS` makes the
 * server count the rows that it changed instead of those that it found. Opening is bounded by session.ts.
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

/** Every value as the bytes that the server sent, in the order of the columns: exact, and cheap to write out. */
export const AS_BYTES: Pick<QueryOptions, 'rowsAsArray' | 'typeCast'> = { rowsAsArray: true, typeCast: false }
