import { hash, randomBytes } from 'node:crypto'
import type { TokenOptions } from '../../schemas/options.ts'
import type { RolesOptions } from '../../schemas/grants.ts'
import { collect } from '../config-errors.ts'
import { isObject } from '../json/exact-json.ts'
import { isDay } from '../types/temporal.ts'
import { createGrant, type Grant, type GrantOptions } from './grant.ts'

/** A stored token: its SHA-256 and its grant. The token itself is never stored. */
export interface StoredToken {
  readonly sha256: string
  readonly grant: Grant
  /** Milliseconds since 1970; undefined if the token does not expire. */
  readonly expiresAt: number | undefined
}

export interface TokenStore {
  /** Looks up the grant of a token. @returns undefined if the token is unknown or expired */
  findGrant (token: string, now?: number): Grant | undefined
  /** The same by the hash of the token. */
  findGrantByHash (sha256: string, now?: number): Grant | undefined
  /** The name of an expired token, for the log. */
  findExpired (sha256: string, now?: number): string | undefined
  /** Replaces the tokens of the token file, and those of the configuration if they are given. */
  replace (ofFile: readonly StoredToken[], configured?: readonly StoredToken[]): void
}

/** Minimum length of a token in characters, against guessable ones. */
export const MIN_TOKEN_LENGTH = 32

/** SHA-256 in lower-case hex. Tokens are long and random, so a slow password hash is not needed. */
export function hashToken (token: string): string {
  return hash('sha256', token)
}

/** The same for an app, whose token may come from a variable that is not set. @throws TypeError */
export function hashGivenToken (token: string): string {
  if (typeof token !== 'string' || token === '') {
    throw new TypeError(
      `hashToken() needs a token, not ${token === '' ? 'an empty text' : typeof token}: is its environment variable ` +
      'set?'
    )
  }
  return hashToken(token)
}

/** Creates a token of 256 random bits, with a prefix that secret scanners can recognize. */
export function createToken (): string {
  return 'rq_' + randomBytes(32).toString('base64url')
}

/**
 * Looks up tokens by hash. A caller cannot choose the hash of what it sends, so the time of a look-up reveals nothing
 * about stored tokens.
 */
export function createTokenStore (configured: readonly StoredToken[], ofFile: readonly StoredToken[] = []): TokenStore {
  const index = (tokens: readonly StoredToken[]): ReadonlyMap<string, StoredToken> =>
    new Map([...configured, ...tokens].map((token) => [token.sha256, token]))
  let byHash = index(ofFile)
  const isExpired = ({ expiresAt }: StoredToken, now: number): boolean => expiresAt !== undefined && expiresAt <= now
  const findGrantByHash = (sha256: string, now = Date.now()): Grant | undefined => {
    const stored = byHash.get(sha256)
    return stored === undefined || isExpired(stored, now) ? undefined : stored.grant
  }
  return {
    findGrant: (token, now) => findGrantByHash(hashToken(token), now),
    findGrantByHash,
    findExpired: (sha256, now = Date.now()) => {
      const stored = byHash.get(sha256)
      return stored !== undefined && isExpired(stored, now) ? stored.grant.name : undefined
    },
    replace (tokens, others = configured) {
      configured = others
      byHash = index(tokens)
    }
  }
}

// Converts configured entries: those of tokens into stored tokens, those of roles into grants.

/**
 * Converts the valid entries; an undefined one is known to be invalid. Adds a line that begins with `path` to `errors`
 * for each invalid one.
 */
export function readEntries (
  errors: string[],
  path: string,
  entries: ReadonlyArray<TokenOptions | undefined>,
  known: unknown
): StoredToken[] {
  const tokens = entries.flatMap((entry, index) =>
    entry === undefined ? [] : collect(errors, `${path}.${index}.`, () => toToken(entry, known))
  )
  errors.push(...UNIQUE.flatMap((field) => findRepeated(path, field, entries)))
  return tokens
}

/** Converts the valid roles. Adds a line to `errors` for each invalid one. `known`: the configured databases. */
export function readRoles (errors: string[], roles: RolesOptions, known: unknown): ReadonlyMap<string, Grant> {
  return new Map(
    Object.entries(roles).flatMap(([name, options]) =>
      collect(errors, `roles.${name}.`, (): [string, Grant] => {
        requireDatabases(options.databases, known)
        return [name, createGrant(name, options as GrantOptions, 'role')]
      })
    )
  )
}

/** The name of the token that comes from the variable with this name, which errors name. */
export const API_TOKEN = 'API_TOKEN'

/** Only one of two entries for a token could apply, and the name identifies the owner of an idempotency key. */
export const UNIQUE = ['sha256', 'name'] as const

function findRepeated (
  path: string,
  field: (typeof UNIQUE)[number],
  entries: ReadonlyArray<TokenOptions | undefined>
): string[] {
  const first = new Map<string, number>()
  return entries.flatMap((entry, index) => {
    if (entry === undefined) return []
    const { [field]: value } = entry
    const other = first.get(value)
    if (other === undefined) first.set(value, index)
    if (other === undefined) return []
    const isVariable = field === 'sha256' && entry.name === API_TOKEN
    return [`${isVariable ? API_TOKEN : `${path}.${index}.${field}`}: is the same as that of ${path}.${other}`]
  })
}

/**
 * `known`: not an object if the setting itself is invalid. @throws Error for a database of a grant that is not
 * configured
 */
function requireDatabases (databases: '*' | object, known: unknown): void {
  const unknown =
    databases === '*' || !isObject(known)
      ? undefined
      : Object.keys(databases).find((database) => !Object.hasOwn(known, database))
  if (unknown !== undefined) {
    throw new Error(
      `databases.${unknown}: is not a configured database; the databases are ${Object.keys(known as object).join(', ')}`
    )
  }
}

function toToken (
  { name, sha256, permissions, databases = '*', claims, expires }: TokenOptions,
  known: unknown
): StoredToken {
  requireDatabases(databases, known)
  const expiresAt = expires === undefined ? undefined : parseExpiry(expires)
  return { sha256, grant: createGrant(name, { permissions, databases, claims }), expiresAt }
}

const EXPIRY = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/

/** @returns milliseconds since 1970; a day without a time is midnight UTC. @throws Error for an invalid date */
export function parseExpiry (text: string): number {
  // Date.parse accepts February 30 as a day in March
  const time = EXPIRY.test(text) && isDay(text.slice(0, 10)) ? Date.parse(text) : NaN
  if (Number.isNaN(time)) {
    throw new Error('expires: must be a date or a time with an offset, such as 2027-01-01 or 2027-01-01T12:00:00Z')
  }
  return time
}
