import { basename, extname } from 'node:path'
import type { MysqlAddress } from '../dialects/mysql/options.ts'

/** Where a database is, read out of its URL. */
export type Address =
  | { readonly engine: 'mysql', readonly address: MysqlAddress }
  | { readonly engine: 'sqlite', readonly path: string }

const MYSQL_PORT = 3306

/** @throws Error whose message says what is wrong, without the URL: it may hold a password */
export function parseDatabaseUrl (text: string): Address {
  if (text.startsWith('sqlite:')) {
    const path = text.slice('sqlite:'.length)
    if (path === '') throw new Error('names no file')
    return { engine: 'sqlite', path }
  }
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['mysql:', 'mariadb:'].includes(url.protocol)) throw new Error('must begin with mysql://, mariadb:// or sqlite:')
  const database = decode(url.pathname.slice(1))
  if (database === '' || database.includes('/')) throw new Error('must name one database after the host: mysql://host/name')
  const [parameter] = url.searchParams.keys()
  if (parameter !== undefined) throw new Error(`has the unknown parameter "${parameter}"`)
  return {
    engine: 'mysql',
    address: {
      host: url.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1',
      port: Number(url.port || MYSQL_PORT),
      user: decode(url.username),
      password: decode(url.password),
      database
    }
  }
}

/** The name that a database has in paths where only its URL is given. */
export function databaseNameOf (address: Address): string {
  return address.engine === 'mysql' ? address.address.database : basename(address.path, extname(address.path))
}

function decode (part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Error('has a % that is not followed by two hexadecimal digits')
  }
}
