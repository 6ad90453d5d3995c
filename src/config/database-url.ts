import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { basename, extname } from 'node:path'
import { orThrow, succeeds } from '../config-errors.ts'
import type { Address } from '../databases/open.ts'
import type { Host, MysqlAddress } from '../dialects/mysql/session-settings.ts'
import { MEMORY } from '../dialects/sqlite/protocol.ts'

const MYSQL_PORT = 3306

const UNREADABLE =
  'is not a valid URL; special characters in the user name and the password must be percent-encoded, such as %40 for ' +
  '@ and %2F for /'

/** @throws Error with a message that contains no part of the URL, because it may contain the password */
export function parseDatabaseUrl (text: string): Address {
  if (text === '') throw new Error('is empty')
  if (text.startsWith('sqlite:')) {
    const path = text.slice('sqlite:'.length)
    if (path === '') throw new Error('must name a file')
    return { engine: 'sqlite', path }
  }
  if (!/^(mysql|mariadb):\/\//i.test(text)) throw new Error('must begin with mysql://, mariadb:// or sqlite:')
  return { engine: 'mysql', address: parseServers(text) }
}

/** @throws Error like parseDatabaseUrl */
export function parseReplicaUrl (text: string): MysqlAddress {
  const parsed = parseDatabaseUrl(text)
  if (parsed.engine !== 'mysql') throw new Error('must begin with mysql:// or mariadb://')
  return parsed.address
}

function parseServers (text: string): MysqlAddress {
  const [first, ...others] = urlsOf(text)
  if (first === undefined) throw new Error(UNREADABLE)
  // a / in the password ends the host, so that the path contains the @
  if (first.pathname.includes('@')) throw new Error(UNREADABLE)
  const hosts = [first, ...others].map((url): Host => ({
    host: url.hostname.replace(/^\[(.*)\]$/, '$1') || '127.0.0.1',
    port: Number(url.port || MYSQL_PORT)
  }))
  const ssl = parseTls(first, hosts)
  const database = decode(first.pathname.slice(1))
  if (database === '' || database.includes('/')) {
    throw new Error('must name one database after the host: mysql://host/name')
  }
  return { hosts, user: decode(first.username), password: decode(first.password), database, ssl }
}

/**
 * Splits `mysql://user:password@a:3306,b:3306/name` into one URL for each host. Returns an empty list if a URL is not
 * valid.
 */
function urlsOf (text: string): URL[] {
  const [, head = '', list = '', rest = ''] = /^([^/]+:\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) as RegExpExecArray
  const hosts = list.split(',')
  const texts = hosts.map((host) => head + host + rest)
  return (hosts.length > 1 && hosts.includes('')) || !texts.every((each) => URL.canParse(each))
    ? []
    : texts.map((each) => new URL(each))
}

/** With TLS the certificate is always verified: with the CA of `ssl-ca`, or with the CAs of Node. */
function parseTls ({ searchParams, hash }: URL, hosts: readonly Host[]): MysqlAddress['ssl'] {
  const { ssl = 'true', 'ssl-ca': path, ...others } = Object.fromEntries(searchParams)
  if (hash !== '' || Object.keys(others).length > 0) {
    throw new Error('only allows the parameters ssl and ssl-ca; ? and # in a password must be written as %3F and %23')
  }
  if (searchParams.size === 0) return undefined
  if (ssl !== 'true' && ssl !== 'verify-ca') {
    throw new Error('ssl must be true, or verify-ca to accept a certificate with any host name')
  }
  // mysql2 would compare the certificate with "localhost" instead of the address
  if (ssl === 'true' && hosts.some(({ host }) => isIP(host) !== 0)) {
    throw new Error('ssl=true requires host names; use ssl=verify-ca with IP addresses')
  }
  return { rejectUnauthorized: true, verifyIdentity: ssl === 'true', ...(path !== undefined && { ca: readCa(path) }) }
}

const CERTIFICATES = /-----BEGIN ((?:X509 |TRUSTED )?CERTIFICATE)-----.*?-----END \1-----/gs

/**
 * Checks the file, because OpenSSL ignores what it cannot read, and every connection would fail with an error about the
 * server's certificate.
 */
function readCa (path: string): string {
  const text = orThrow(() => readFileSync(path, 'utf8'), () => new Error('the file of ssl-ca cannot be read'))
  const certificates = text.match(CERTIFICATES) ?? []
  const isReadable = (certificate: string): boolean => succeeds(() => new X509Certificate(certificate))
  if (certificates.length === 0 || !certificates.every(isReadable)) {
    throw new Error('the file of ssl-ca is not a certificate in PEM format')
  }
  return text
}

/** The name in paths of the database of DATABASE_URL. */
export function databaseNameOf (address: Address): string {
  if (address.engine === 'mysql') return address.address.database
  return address.path === MEMORY ? 'memory' : basename(address.path, extname(address.path))
}

const decode = (part: string): string =>
  orThrow(
    () => decodeURIComponent(part),
    () => new Error('contains a % that is not followed by two hexadecimal digits')
  )
