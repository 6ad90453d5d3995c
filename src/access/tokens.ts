import { hash, randomBytes } from 'node:crypto'
import type { Grant } from './grant.ts'

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
  /** Replaces the tokens that may change (those of the token file). */
  replace (changing: readonly StoredToken[]): void
}

/** Minimum length of a token in characters, against guessable ones. */
export const MIN_TOKEN_LENGTH = 32

/** SHA-256 in lower-case hex. Tokens are long and random, so a slow password hash is not needed. */
export function hashToken (token: string): string {
  return hash('sha256', token)
}

/** The same for an app, whose token may come from a variable that is not set. @throws TypeError */
export function hashGivenToken (token: string): string {
  if (typeof token !== 'string' || token === '') throw new TypeError(`hashToken() needs a token, not ${token === '' ? 'an empty text' : typeof token}: is its environment variable set?`)
  return hashToken(token)
}

/** Creates a token of 256 random bits, with a prefix that secret scanners can recognize. */
export function createToken (): string {
  return 'rq_' + randomBytes(32).toString('base64url')
}

/**
 * Looks up tokens by hash. A caller cannot choose the hash of what it sends, so the time of a look-up reveals nothing about
 * stored tokens.
 */
export function createTokenStore (fixed: readonly StoredToken[], changing: readonly StoredToken[] = []): TokenStore {
  const index = (tokens: readonly StoredToken[]): ReadonlyMap<string, StoredToken> => new Map([...fixed, ...tokens].map((token) => [token.sha256, token]))
  let byHash = index(changing)
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
    replace (tokens) { byHash = index(tokens) }
  }
}
