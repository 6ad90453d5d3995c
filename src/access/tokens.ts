import { hash, randomBytes } from 'node:crypto'
import type { Grant } from './grant.ts'

/** A grant and when it ends, under the SHA-256 of its token. The token itself is never kept. */
export interface StoredToken {
  readonly sha256: string
  readonly grant: Grant
  /** Milliseconds since 1970, or undefined for no end. */
  readonly expiresAt: number | undefined
}

export interface TokenStore {
  /** The grant of a token that is known and has not expired. */
  findGrant (token: string, now?: number): Grant | undefined
  /** Puts other tokens in the place of those that may change. */
  replace (changing: readonly StoredToken[]): void
}

/** Characters that a token must have: shorter ones are words that somebody can guess. */
export const MIN_TOKEN_LENGTH = 32

/** SHA-256 in lower-case hex. Tokens are random and long, so one pass is enough: there is nothing to guess. */
export function hashToken (token: string): string {
  return hash('sha256', token)
}

/** A new token: 256 random bits, with a prefix by which secret scanners can know it. */
export function createToken (): string {
  return 'rq_' + randomBytes(32).toString('base64url')
}

/**
 * Looks tokens up by hash. The time of a look-up depends on the hash of what was sent, which a caller cannot
 * steer towards a stored one, so it says nothing about the tokens there are.
 */
export function createTokenStore (fixed: readonly StoredToken[], changing: readonly StoredToken[] = []): TokenStore {
  const index = (tokens: readonly StoredToken[]): ReadonlyMap<string, StoredToken> => new Map([...fixed, ...tokens].map((token) => [token.sha256, token]))
  let byHash = index(changing)
  return {
    findGrant (token, now = Date.now()) {
      const stored = byHash.get(hashToken(token))
      if (stored === undefined || (stored.expiresAt !== undefined && stored.expiresAt <= now)) return undefined
      return stored.grant
    },
    replace (tokens) { byHash = index(tokens) }
  }
}
