import { hash, randomBytes } from 'node:crypto'
import type { Grant } from './grant.ts'

/** The token itself is never stored. */
export interface StoredToken {
  readonly sha256: string
  readonly grant: Grant
  /** In milliseconds since 1970; undefined if the token does not expire. */
  readonly expiresAt: number | undefined
}

export interface TokenStore {
  /** Undefined if the token is unknown or expired. */
  findGrant (sha256: string, now?: number): Grant | undefined
  /** The name of the token, for the log. */
  findExpired (sha256: string, now?: number): string | undefined
  /** Tokens of the configuration stay if they are not given. */
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

/** A caller cannot choose the hash of what it sends, so the time of a look-up reveals nothing about stored tokens. */
export function createTokenStore (configured: readonly StoredToken[], ofFile: readonly StoredToken[] = []): TokenStore {
  const index = (tokens: readonly StoredToken[]): ReadonlyMap<string, StoredToken> =>
    new Map([...configured, ...tokens].map((token) => [token.sha256, token]))
  let byHash = index(ofFile)
  const isExpired = ({ expiresAt }: StoredToken, now: number): boolean => expiresAt !== undefined && expiresAt <= now
  return {
    findGrant: (sha256, now = Date.now()) => {
      const stored = byHash.get(sha256)
      return stored === undefined || isExpired(stored, now) ? undefined : stored.grant
    },
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

/** Names the variable, and the token that comes from it. */
export const API_TOKEN = 'API_TOKEN'
