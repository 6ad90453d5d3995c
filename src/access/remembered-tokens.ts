/** Remembers verified JWTs by their hash, because verifying a signature takes longer than the rest of a request. */
import type { Grant } from './grant.ts'
import type { SigningKey } from './key-set.ts'

export interface RememberedToken {
  /** Undefined if no role of the token is configured. */
  readonly grant: Grant | undefined
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** The key that verified the token; undefined if it is the only key of the issuer, which never changes. */
  readonly key: Pick<SigningKey, 'withdrawn'> | undefined
  /** Length of the token, in characters. */
  readonly size: number
}

export interface RememberedTokens {
  /** Returns undefined if the token is unknown or has expired, or if its key was withdrawn. */
  find (sha256: string, now?: number): RememberedToken | undefined
  add (sha256: string, token: RememberedToken): void
}

export interface RememberLimits {
  readonly tokens: number
  /** Maximum length of all tokens together, in characters. The claims of a token take up to 20 times its length in memory. */
  readonly size: number
}

export const REMEMBER_LIMITS: RememberLimits = { tokens: 10_000, size: 4 * 2 ** 20 }

/** Beyond the limits, the oldest tokens are dropped, and verified again if they are still in use. */
export function createRememberedTokens (limits: RememberLimits = REMEMBER_LIMITS): RememberedTokens {
  const tokens = new Map<string, RememberedToken>()
  let size = 0

  const drop = (sha256: string, token: RememberedToken | undefined): void => {
    if (tokens.delete(sha256)) size -= (token as RememberedToken).size
  }

  return {
    find (sha256, now = Date.now()) {
      const token = tokens.get(sha256)
      if (token === undefined || (token.expiresAt > now && token.key?.withdrawn !== true)) return token
      drop(sha256, token)
      return undefined
    },
    add (sha256, token) {
      drop(sha256, tokens.get(sha256)) // two requests may have verified it at the same time
      tokens.set(sha256, token)
      size += token.size
      for (const [oldest, each] of tokens) {
        if (tokens.size <= limits.tokens && size <= limits.size) break
        drop(oldest, each)
      }
    }
  }
}
