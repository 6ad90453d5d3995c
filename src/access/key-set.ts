/** The keys of an issuer, by `kid`. */
import type { CryptoKey, JWTHeaderParameters } from 'jose'
import type { FastifyBaseLogger } from 'fastify'
import { keysUnavailable, withRetryAfter } from '../errors.ts'
import { downloadKeys, reasonOfDownload, type NamedKey } from './jwks.ts'

/** The key that verified a token. */
export interface SigningKey {
  /** Selects the key for the algorithm of a token. */
  select (header: JWTHeaderParameters): Promise<CryptoKey>
  /** Whether the issuer has removed or replaced the key. Tokens that it verified are then no longer valid. */
  readonly withdrawn: boolean
}

export interface KeySet {
  /** Returns undefined for an unknown `kid`. @throws KEYS_UNAVAILABLE if it may be unknown because the last download failed */
  find (kid: string): Promise<SigningKey | undefined>
  /** Downloads the keys, unless the last download began less than 30 seconds ago. Never rejects. */
  refresh (): Promise<void>
  stop (): void
}

export interface KeySetOptions {
  readonly url: URL
  /** Name of the setting, for the log, which must not contain the URL. */
  readonly setting: string
  readonly log: FastifyBaseLogger
  /** `createLocalJWKSet` of jose. */
  readonly createSelector: (jwks: { keys: NamedKey[] }) => SigningKey['select']
}

/** Interval between downloads in milliseconds. */
const INTERVAL = 600_000
/** Minimum interval between downloads in milliseconds: tokens with a random `kid` must not cause downloads. */
const COOLDOWN = 30_000

interface StoredKey extends SigningKey {
  /** The key as JSON, to notice changes. */
  readonly text: string
  withdrawn: boolean
}

export function createKeySet ({ url, setting, log, createSelector }: KeySetOptions): KeySet {
  let keys: ReadonlyMap<string, StoredKey> = new Map()
  let startedAt = -Infinity
  /** Whether the last download failed; also before the first one. */
  let hasFailed = true
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  const stopped = new AbortController()

  /** Milliseconds until a download is allowed. A clock that was set back does not prevent downloads. */
  const untilAllowed = (): number => {
    const age = Date.now() - startedAt
    return age >= 0 && age < COOLDOWN ? COOLDOWN - age : 0
  }

  const replace = (downloaded: NamedKey[]): void => {
    const groups = Map.groupBy(downloaded, ({ kid }) => kid)
    const next = new Map(Array.from(groups, ([kid, group]): [string, StoredKey] => {
      const text = JSON.stringify(group)
      const known = keys.get(kid)
      return [kid, known?.text === text ? known : { text, select: createSelector({ keys: group }), withdrawn: false }]
    }))
    for (const [kid, key] of keys) if (next.get(kid) !== key) key.withdrawn = true
    keys = next
  }

  const download = async (): Promise<void> => {
    try {
      replace(await downloadKeys(url, stopped.signal))
      hasFailed = false
      log.info({ setting, keys: keys.size }, 'keys for JWTs downloaded')
    } catch (error) {
      if (stopped.signal.aborted) return
      hasFailed = true
      log.error({ setting, reason: reasonOfDownload(error) }, keys.size > 0 ? 'the keys for JWTs cannot be downloaded; the previous keys stay in use' : 'the keys for JWTs cannot be downloaded')
    }
    running = undefined
    clearTimeout(timer)
    timer = setTimeout(begin, hasFailed ? COOLDOWN : INTERVAL).unref()
  }

  const begin = (): void => {
    startedAt = Date.now()
    running ??= download()
  }

  const refresh = async (): Promise<void> => {
    if (untilAllowed() === 0 && !stopped.signal.aborted) begin()
    await running
  }

  return {
    async find (kid) {
      const known = keys.get(kid)
      if (known !== undefined) return known
      await refresh()
      const found = keys.get(kid)
      if (found === undefined && hasFailed) throw withRetryAfter(keysUnavailable(), untilAllowed())
      return found
    },
    refresh,
    stop () {
      stopped.abort()
      clearTimeout(timer)
    }
  }
}
