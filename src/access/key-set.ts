/** The keys of an issuer, by `kid`. */
import type { FastifyBaseLogger } from 'fastify'
import type { CryptoKey, JWK, JWTHeaderParameters } from 'jose'
import { keysUnavailable, withReason, withRetryAfter } from '../errors.ts'
import { BoundedMap } from '../bounded-map.ts'
import { hashToken } from './tokens.ts'

/** Time limit for a download, in milliseconds. */
const TIMEOUT = 5000
/** Maximum size of a key set, in bytes. */
const MAX_BYTES = 2 ** 20

const KEY_TYPES: ReadonlySet<unknown> = new Set(['RSA', 'EC', 'OKP'])

/** A token can name it. */
type NamedKey = JWK & { readonly kid: string }

/** Redirects are not followed: they could lead from https to http. @throws Error with a reason that may be logged */
export async function downloadKeys (url: URL, signal: AbortSignal): Promise<NamedKey[]> {
  const response = await fetch(url, {
    redirect: 'manual',
    headers: { accept: 'application/jwk-set+json, application/json' },
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT)])
  })
  if (response.status !== 200) {
    await response.body?.cancel()
    throw new Error(`status ${response.status}`)
  }
  const keys = parseKeys(await readText(response))
  if (keys === undefined) throw new Error('not a JSON Web Key Set')
  return keys.filter(isNamedKey)
}

async function readText ({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body ?? []) {
    bytes += chunk.length
    if (bytes > MAX_BYTES) throw new Error(`larger than ${MAX_BYTES} bytes`) // leaving the loop cancels the download
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

function parseKeys (text: string): unknown[] | undefined {
  try {
    const { keys } = JSON.parse(text) as { keys?: unknown }
    return Array.isArray(keys) ? keys : undefined
  } catch {
    return undefined
  }
}

/** Excludes keys for encryption, and private or symmetric keys, which a set may contain by mistake. */
function isNamedKey (value: unknown): value is NamedKey {
  if (typeof value !== 'object' || value === null) return false
  const { kid, kty, use = 'sig', d } = value as Record<string, unknown>
  return typeof kid === 'string' && KEY_TYPES.has(kty) && use === 'sig' && d === undefined
}

/**
 * For the log: the code of a system error, or a message of this file, but never a message of Node, which can contain
 * the URL.
 */
export function reasonOfDownload (error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: { code?: string } }
  if (name === 'TimeoutError') return 'timeout'
  return name === 'Error' ? message : cause?.code ?? name
}

export interface SigningKey {
  select (header: JWTHeaderParameters): Promise<CryptoKey>
  /** The issuer has removed or replaced the key: tokens that it verified are no longer valid. */
  readonly withdrawn: boolean
}

export interface KeySet {
  /**
   * Undefined for a `kid` that is known to be absent, because a download after the first request for it did not have
   * it.
   * @throws KEYS_UNAVAILABLE if it may be missing because the last download failed, or because the next one is not
   * allowed yet
   */
  find (kid: string): Promise<SigningKey | undefined>
  /** Downloads the keys, unless the last download began less than 30 seconds ago. Never rejects. */
  refresh (): Promise<void>
  stop (): void
}

/** Interval between downloads in milliseconds. */
const INTERVAL = 600_000
/** The least interval between downloads, in milliseconds: tokens with a random `kid` must not cause downloads. */
const COOLDOWN = 30_000
/** Absent keys that are remembered; the oldest is forgotten first. */
const MAX_ABSENT = 1000

interface StoredKey extends SigningKey {
  /** The key as JSON, to notice changes. */
  readonly text: string
  withdrawn: boolean
}

/**
 * In place of `createRemoteJWKSet` of jose: its cooldown begins with a success, so that each token would cause a
 * download while an issuer is down, it cannot be stopped, and it tells neither which keys were withdrawn nor which are
 * known to be absent.
 */
export function createKeySet ({ url, setting, log, createSelector }: {
  readonly url: URL
  /** The name of the setting, for the log, which must not contain the URL. */
  readonly setting: string
  readonly log: FastifyBaseLogger
  /** `createLocalJWKSet` of jose. */
  readonly createSelector: (jwks: { keys: NamedKey[] }) => SigningKey['select']
}): KeySet {
  let keys: ReadonlyMap<string, StoredKey> = new Map()
  /**
   * Each `kid` that was asked for or removed and that the last download did not have, as a hash because it can be long.
   */
  const absent = new BoundedMap<string, true>(MAX_ABSENT)
  let startedAt = -Infinity
  /** Whether the last download failed; also true before the first one. */
  let hasFailed = true
  let running: Promise<void> | undefined
  let timer: NodeJS.Timeout | undefined
  const stopped = new AbortController()

  /** Milliseconds until a download is allowed. A clock that was set back does not prevent downloads. */
  const untilAllowed = (): number => {
    const age = Date.now() - startedAt
    return age >= 0 && age < COOLDOWN ? COOLDOWN - age : 0
  }

  const noteAbsent = (kid: string): void => absent.set(hashToken(kid), true)

  const replace = (downloaded: NamedKey[]): void => {
    const groups = Map.groupBy(downloaded, ({ kid }) => kid)
    const next = new Map(Array.from(groups, ([kid, group]): [string, StoredKey] => {
      const text = JSON.stringify(group)
      const before = keys.get(kid)
      return [kid, before?.text === text ? before : { text, select: createSelector({ keys: group }), withdrawn: false }]
    }))
    for (const [kid, key] of keys) {
      if (next.get(kid) !== key) key.withdrawn = true
      if (!next.has(kid)) noteAbsent(kid)
    }
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
      log.error(
        { setting, reason: reasonOfDownload(error) },
        keys.size > 0
          ? 'the keys for JWTs cannot be downloaded; the previous keys stay in use'
          : 'the keys for JWTs cannot be downloaded'
      )
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
      const cached = keys.get(kid)
      if (cached !== undefined) return cached
      const isLookedUp = running !== undefined || untilAllowed() === 0
      await refresh()
      const downloaded = keys.get(kid)
      if (downloaded !== undefined) return downloaded
      if (hasFailed || !(isLookedUp || absent.get(hashToken(kid)) === true)) {
        throw withRetryAfter(withReason(keysUnavailable(), 'unknown key'), untilAllowed())
      }
      if (isLookedUp) noteAbsent(kid)
      return undefined
    },
    refresh,
    stop () {
      stopped.abort()
      clearTimeout(timer)
    }
  }
}
