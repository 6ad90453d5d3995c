import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { basename, extname } from 'node:path'
import type { Host, MysqlAddress } from '../dialects/mysql/options.ts'
import { MEMORY } from '../dialects/sqlite/memory.ts'

/** Where a database is, read out of its URL. */
export type Address =
  | { readonly engine: 'mysql', readonly address: MysqlAddress }
  /** `path`: of a file, or MEMORY. */
  | { readonly engine: 'sqlite', readonly path: string }

const MYSQL_PORT = 3306

/** @throws Error whose message says what is wrong, without any part of the URL: it may be one of the password */
export function parseDatabaseUrl (text: string): Address {
  if (text.startsWith('sqlite:')) {
    const path = text.slice('sqlite:'.length)
    if (path === '') throw new Error('names no file')
    return { engine: 'sqlite', path }
  }
  if (!/^(mysql|mariadb):\/\//i.test(text)) throw new Error('must begin with mysql://, mariadb:// or sqlite:')
  return { engine: 'mysql', address: parseServers(text) }
}

/** A copy of a database, on servers of their own. @throws as above */
export function parseReplicaUrl (text: string): MysqlAddress {
  const parsed = parseDatabaseUrl(text)
  if (parsed.engine !== 'mysql') throw new Error('must begin with mysql:// or mariadb://')
  return parsed.address
}

function parseServers (text: string): MysqlAddress {
  const [first, ...others] = urlsOf(text)
  if (first === undefined) throw new Error('cannot be read; special characters of a user or password are written like %40 for @')
  const hosts = [first, ...others].map((url): Host => ({ host: url.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1', port: Number(url.port || MYSQL_PORT) }))
  const ssl = parseTls(first, hosts)
  const database = decode(first.pathname.slice(1))
  if (database === '' || database.includes('/')) throw new Error('must name one database after the host: mysql://host/name')
  return { hosts, user: decode(first.username), password: decode(first.password), database, ssl }
}

/** One URL for each host of `mysql://user:password@a:3306,b:3306/name`; none where it cannot be read. */
function urlsOf (text: string): URL[] {
  const [, head = '', list = '', rest = ''] = /^([^/]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) as RegExpExecArray
  const hosts = list.split(',')
  const texts = hosts.map((host) => head + host + rest)
  return (hosts.length > 1 && hosts.includes('')) || !texts.every((each) => URL.canParse(each)) ? [] : texts.map((each) => new URL(each))
}

/** The certificate is always checked: against the CA of `ssl-ca`, else those that Node knows. */
function parseTls ({ searchParams, hash }: URL, hosts: readonly Host[]): MysqlAddress['ssl'] {
  const { ssl = 'true', 'ssl-ca': path, ...others } = Object.fromEntries(searchParams)
  if (hash !== '' || Object.keys(others).length > 0) throw new Error('takes no parameters but ssl and ssl-ca; ? and # in a password are written %3F and %23')
  if (searchParams.size === 0) return undefined
  if (ssl !== 'true' && ssl !== 'verify-ca') throw new Error('ssl must be true, or verify-ca for a certificate of any name')
  // mysql2 would hold an address to the name "localhost"
  if (ssl === 'true' && hosts.some(({ host }) => isIP(host) !== 0)) throw new Error('ssl=true needs names of hosts, not addresses; ssl=verify-ca does not')
  return { rejectUnauthorized: true, verifyIdentity: ssl === 'true', ...(path !== undefined && { ca: readCa(path) }) }
}

function readCa (path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    throw new Error('ssl-ca names a file that cannot be read')
  }
}

/** The name that a database has in paths where only its URL is given. */
export function databaseNameOf (address: Address): string {
  if (address.engine === 'mysql') return address.address.database
  return address.path === MEMORY ? 'memory' : basename(address.path, extname(address.path))
}

function decode (part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    throw new Error('has a % that is not followed by two hexadecimal digits')
  }
}
