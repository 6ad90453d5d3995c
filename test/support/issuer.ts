/** An issuer of JWTs: signs tokens, and serves its keys on a local port. */
import { generateKeyPairSync, type KeyObject, sign as signBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, SignJWT, type JWK } from 'jose'
import type { Test } from 'tap'
import type { JwtOptions, SignatureAlgorithm } from '../../schemas/options.ts'

export const ISSUER = 'https://login.example.com/'
export const AUDIENCE = 'rows'

/** A pair of keys for one algorithm, and its public key as a member of a key set. */
export interface Pair {
  readonly alg: SignatureAlgorithm,
  readonly kid: string,
  readonly privateKey: KeyObject,
  readonly publicKey: KeyObject,
  readonly jwk: JWK
}

const generators = {
  RS: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  PS: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  ES: (bits: string) => generateKeyPairSync('ec', { namedCurve: `P-${bits === '512' ? '521' : bits}` }),
  Ed: () => generateKeyPairSync('ed25519')
}

export async function createPair (kid: string, alg: SignatureAlgorithm = 'ES256'): Promise<Pair> {
  const { privateKey, publicKey } = generators[alg.slice(0, 2) as keyof typeof generators](alg.slice(2))
  return { alg, kid, privateKey, publicKey, jwk: { ...await exportJWK(publicKey), kid, alg, use: 'sig' } }
}

export interface SignOptions { readonly header?: Record<string, unknown>, readonly key?: KeyObject | Uint8Array }

/** Signs claims that are valid for five minutes; `claims` replaces them, and removes those that are undefined. */
export async function sign (
  { alg, kid, privateKey }: Pick<Pair, 'alg' | 'kid' | 'privateKey'>, claims: Record<string, unknown> = {},
  { header = {}, key = privateKey }: SignOptions = {}
): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  const payload = { iss: ISSUER, aud: AUDIENCE, sub: 'user-1', exp: now + 300, role: 'reader', ...claims }
  return await new SignJWT(payload).setProtectedHeader(JSON.parse(JSON.stringify({ alg, kid, ...header }))).sign(key)
}

/** Signs the text of a payload as it is. */
export async function signText ({ alg, kid, privateKey }: Pair, text: string | Buffer): Promise<string> {
  const { CompactSign } = await import('jose')
  return await new CompactSign(Buffer.from(text as string)).setProtectedHeader({ alg, kid }).sign(privateKey)
}

/** Signs a token whose header is written by `write`, which jose would not do. */
export function signParts ({ alg, kid, privateKey }: Pair, write: (header: string) => string, text: string): string {
  const parts = [write(JSON.stringify({ alg, kid })), text].map((part) => Buffer.from(part).toString('base64url')).join(
    '.'
  )
  const signature = signBytes('sha256', Buffer.from(parts), { key: privateKey, dsaEncoding: 'ieee-p1363' })
  return `${parts}.${signature.toString('base64url')}`
}

export interface KeyServer {
  readonly url: string
  /** The keys that it serves. */
  keys: JWK[]
  /** Answers instead of the keys. */
  answer: RequestListener | undefined
  /** Number of requests. */
  requests: number
  close (): Promise<void>
}

/** Serves keys until the test ends. */
export async function serveKeys (t: Pick<Test, 'teardown'>, keys: JWK[]): Promise<KeyServer> {
  const server = createServer((request, response) => {
    served.requests++
    if (served.answer !== undefined) return served.answer(request, response)
    response.setHeader('content-type', 'application/jwk-set+json').end(JSON.stringify({ keys: served.keys }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  const served: KeyServer = { url: `http://127.0.0.1:${port}/jwks`, keys, answer: undefined, requests: 0, close }
  t.teardown(close)
  return served
}

/** The setting for tokens of `sign`. */
export function jwtSetting (rest: Partial<JwtOptions>): JwtOptions {
  return { issuer: ISSUER, audience: AUDIENCE, algorithms: ['ES256'], role: '/role', ...rest }
}
