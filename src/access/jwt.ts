/** JSON Web Tokens (RFC 7519), verified with jose. */
import { isUtf8 } from 'node:buffer'
import { KeyObject } from 'node:crypto'
import type { FastifyBaseLogger } from 'fastify'
import type { CryptoKey, JWTHeaderParameters } from 'jose'
import { isTemporary, permissionDenied, ServiceError, unauthenticated, withReason } from '../errors.ts'
import { BoundedMap } from '../bounded-map.ts'
import { findBySteps, stepsOf } from '../json/plain-values.ts'
import { isObject, lookOver, type RawNumber, repeatsKey, parseSafely } from '../json/exact-json.ts'
import { type Grant, withClaims } from './grant.ts'
import type { JwtIssuer } from './jwt-settings.ts'
import { createKeySet, type KeySet, type SigningKey } from './key-set.ts'
import type { Claims } from './rules.ts'
import { hashToken } from './tokens.ts'

// Verified JWTs are remembered by their hash, because verifying a signature takes longer than the rest of a request.

interface RememberedToken {
  /** Undefined if no role of the token is configured. */
  readonly grant: Grant | undefined
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  /** The key that verified the token; undefined for the only key of the issuer, which never changes. */
  readonly key: Pick<SigningKey, 'withdrawn'> | undefined
  /** Length of the token, in characters. */
  readonly size: number
}

/** `size`: the length of all tokens, in characters, whose claims take up to 20 times as much memory. */
export const REMEMBER_LIMITS = { tokens: 10_000, size: 4 * 2 ** 20 }

/** Beyond the limits, the oldest tokens are dropped, and verified again if they are still in use. */
export class RememberedTokens extends BoundedMap<string, RememberedToken> {
  constructor (limits = REMEMBER_LIMITS) {
    super(limits.tokens, limits.size, ({ size }) => size)
  }

  /** Returns undefined if the token is unknown or has expired, or if its key was withdrawn. */
  find (sha256: string, now = Date.now()): RememberedToken | undefined {
    const token = this.get(sha256)
    if (token === undefined || (token.expiresAt > now && token.key?.withdrawn !== true)) return token
    this.delete(sha256)
    return undefined
  }
}

export interface JwtVerifier {
  /**
   * At once if the token is remembered, or is no JWT. `sha256`: of the token.
   * @throws UNAUTHENTICATED; PERMISSION_DENIED if no role of the token is configured; KEYS_UNAVAILABLE
   */
  getGrant (token: string, sha256: string): Grant | Promise<Grant>
  /** Replaces the roles, also for tokens that are already verified. */
  useRoles (roles: ReadonlyMap<string, Grant>): void
  stop (): void
}

/** For clocks that differ, in seconds. */
const TOLERANCE = 30

type Verify = typeof import('jose').jwtVerify

interface Source extends JwtIssuer {
  /** Undefined if the issuer has a single, configured key. */
  readonly keySet: KeySet | undefined
}

/** A JWT has three parts in base64url (RFC 7515, section 7.1). */
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/

/**
 * Loads jose and starts to download the keys. The first requests wait for the download; a failure does not prevent the
 * start.
 */
export async function createJwtVerifier ({
  issuers,
  roles: first,
  log
}: {
  readonly issuers: readonly JwtIssuer[]
  readonly roles: ReadonlyMap<string, Grant>
  readonly log: FastifyBaseLogger
}): Promise<JwtVerifier> {
  const { createLocalJWKSet, jwtVerify } = await import('jose')
  const sources = issuers.map((issuer): Source => ({
    ...issuer,
    keySet:
      issuer.keys instanceof KeyObject
        ? undefined
        : createKeySet({ url: issuer.keys, setting: `${issuer.setting}.jwks`, log, createSelector: createLocalJWKSet })
  }))
  for (const { keySet } of sources) keySet?.refresh()
  let roles = first
  const remembered = new RememberedTokens()

  const remember = async (token: string, sha256: string): Promise<RememberedToken> => {
    const claims = readClaims(token)
    const { source, expiresAt, key } = await verifyBySources(
      jwtVerify,
      sources.filter(({ issuer }) => issuer === claims['iss']),
      token
    )
    const role = rolesOf(claims, source.role)
      .map((name) => roles.get(name))
      .find((grant) => grant !== undefined)
    const verified = { grant: role && withClaims(role, claims, ownerOf(claims)), expiresAt, key, size: token.length }
    remembered.set(sha256, verified)
    return verified
  }

  return {
    getGrant (token, sha256) {
      const stored = remembered.find(sha256)
      if (stored !== undefined) return getGrantOf(stored)
      if (!JWT.test(token)) throw notValid('not a JWT')
      return remember(token, sha256).then(getGrantOf)
    },
    useRoles (others) {
      roles = others
      remembered.clear()
    },
    stop () {
      for (const { keySet } of sources) keySet?.stop()
    }
  }
}

function getGrantOf ({ grant }: RememberedToken): Grant {
  if (grant === undefined) throw permissionDenied('No role of the token is configured')
  return grant
}

/** The response does not say why a token is not valid; the log does. */
const notValid = (reason: string): ServiceError => withReason(unauthenticated('The token is not valid'), reason)

/**
 * Reads the claims before the token is verified, to find its issuer. jose would round numbers, and use the last of two
 * claims, or parameters of the header, with the same name.
 */
function readClaims (token: string): Claims {
  const [header, claims] = token.split('.') as [string, string]
  readPart(header)
  return readPart(claims)
}

/** @throws UNAUTHENTICATED */
function readPart (part: string): Claims {
  const bytes = Buffer.from(part, 'base64url')
  if (!isUtf8(bytes)) throw notValid('claims are not UTF-8')
  const text = bytes.toString()
  const claims = parseObject(text)
  if (repeatsKey(lookOver(text), claims)) throw notValid('a claim is repeated')
  return claims
}

function parseObject (text: string): Claims {
  try {
    const value: unknown = parseSafely(text, keepNumber)
    if (isObject(value)) return value
  } catch {} // also if the nesting is too deep
  throw notValid('claims are not a JSON object')
}

/** Keeps the text of each number that a double may round, because rules refuse numbers that may have been rounded. */
function keepNumber (value: number, source: string): number | RawNumber {
  return String(value) === source && (!Number.isInteger(value) || Number.isSafeInteger(value))
    ? value
    : JSON.rawJSON(source)
}

interface VerifiedBy {
  readonly source: Source
  /** Milliseconds since 1970. */
  readonly expiresAt: number
  readonly key: SigningKey | undefined
}

/** Tries each source of the issuer, which has two while it replaces its only key. */
async function verifyBySources (verify: Verify, sources: readonly Source[], token: string): Promise<VerifiedBy> {
  let refusal = notValid('unknown issuer')
  for (const source of sources) {
    try {
      return await verifyBySource(verify, source, token)
    } catch (error) {
      if (!isTemporary(refusal)) refusal = toRefusal(error as Error)
    }
  }
  throw refusal
}

/** Errors of jose have a code, except errors of keys that cannot be imported, which have only a name. */
function toRefusal (error: Error & { code?: unknown }): ServiceError {
  if (error instanceof ServiceError) return error
  return notValid(typeof error.code === 'string' ? error.code : error.name)
}

async function verifyBySource (verify: Verify, source: Source, token: string): Promise<VerifiedBy> {
  const { keys, keySet, issuer, audience, algorithms } = source
  let key: SigningKey | undefined
  const getKey = async (header: JWTHeaderParameters): Promise<CryptoKey | KeyObject> => {
    if (keySet === undefined) return keys as KeyObject
    key = await findKey(keySet, header)
    return await key.select(header)
  }
  const { payload } = await verify(token, getKey, {
    issuer, audience: [...audience], algorithms: [...algorithms], requiredClaims: ['exp'], clockTolerance: TOLERANCE
  })
  return { source, expiresAt: (payload.exp as number + TOLERANCE) * 1000, key }
}

/** jose would accept a token without `kid` as long as the set has one key. */
async function findKey (keySet: KeySet, { kid }: JWTHeaderParameters): Promise<SigningKey> {
  const key = typeof kid === 'string' ? await keySet.find(kid) : undefined
  if (key === undefined) throw notValid(typeof kid === 'string' ? 'unknown key' : 'no kid')
  return key
}

/** The issuer and the subject, as a hash because they can be long. */
function ownerOf ({ iss, sub }: Claims): string | undefined {
  return typeof sub === 'string' && sub !== '' ? `jwt ${hashToken(JSON.stringify([iss, sub]))}` : undefined
}

/** The roles of a token, in its order: the first one that is configured counts. */
function rolesOf (claims: Claims, pointer: string): string[] {
  return [findBySteps(claims, stepsOf(pointer))].flat().filter((role) => typeof role === 'string')
}
