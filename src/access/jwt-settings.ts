/** Reads the setting `jwt`. Each algorithm must fit the key, so no token can choose how it is verified. */
import { createPublicKey, createSecretKey, X509Certificate, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIPv4 } from 'node:net'
import type { JwtOptions, SignatureAlgorithm } from '../../schemas/options.ts'
import { collect, orThrow, succeeds } from '../config-errors.ts'

export interface JwtIssuer {
  /** Such as `jwt.0`, for the log. */
  readonly setting: string
  readonly issuer: string
  readonly audience: readonly string[]
  readonly algorithms: readonly SignatureAlgorithm[]
  /** JSON Pointer to the role in the claims. */
  readonly role: string
  /** The URL of a key set, or the only key. */
  readonly keys: URL | KeyObject
}

interface Requirement {
  readonly text: string
  fits (key: KeyObject): boolean
}

const rsa: Requirement = {
  text: 'an RSA key of at least 2048 bits',
  fits: ({ asymmetricKeyType: type, asymmetricKeyDetails: details }) =>
    type === 'rsa' && (details?.modulusLength as number) >= 2048
}
const ed25519: Requirement = { text: 'an Ed25519 key', fits: ({ asymmetricKeyType: type }) => type === 'ed25519' }
const ec = (curve: string, name: string): Requirement => ({
  text: `an EC key on the curve ${name}`,
  fits: ({ asymmetricKeyDetails: details }) => details?.namedCurve === curve
})
/** RFC 7518, section 3.2, requires a secret that is at least as long as the hash. */
const secret = (bytes: number): Requirement => ({
  text: `a secret of at least ${bytes} bytes`,
  fits: ({ type, symmetricKeySize: size = 0 }) => type === 'secret' && size >= bytes
})

const requirements: ReadonlyMap<SignatureAlgorithm, Requirement> = new Map([
  ['RS256', rsa], ['RS384', rsa], ['RS512', rsa],
  ['PS256', rsa], ['PS384', rsa], ['PS512', rsa],
  ['ES256', ec('prime256v1', 'P-256')], ['ES384', ec('secp384r1', 'P-384')], ['ES512', ec('secp521r1', 'P-521')],
  ['EdDSA', ed25519], ['Ed25519', ed25519],
  ['HS256', secret(32)], ['HS384', secret(48)], ['HS512', secret(64)]
])

/** An undefined entry is known to be invalid. Each error in the others is a line in `errors`, without values. */
export function readJwtIssuers (errors: string[], entries: ReadonlyArray<JwtOptions | undefined>): JwtIssuer[] {
  return entries.flatMap((entry, index) =>
    entry === undefined ? [] : collect(errors, `jwt.${index}`, () => toIssuer(`jwt.${index}`, entry))
  )
}

function toIssuer (setting: string, entry: JwtOptions): JwtIssuer {
  const { issuer, audience, algorithms, role } = entry
  const keys = readKeys(entry)
  for (const algorithm of algorithms) {
    const { text, fits } = requirements.get(algorithm) as Requirement
    if (keys instanceof URL ? algorithm.startsWith('HS') : !fits(keys)) {
      throw new Error(`.algorithms: ${algorithm} requires ${text}`)
    }
  }
  return { setting, issuer, audience: [audience].flat(), algorithms, role, keys }
}

function readKeys ({ jwks, publicKey, secret }: JwtOptions): URL | KeyObject {
  if ([jwks, publicKey, secret].filter((each) => each !== undefined).length !== 1) {
    throw new Error(': requires exactly one of jwks, publicKey and secret')
  }
  if (jwks !== undefined) return parseJwksUrl(jwks)
  return publicKey !== undefined ? readPublicKey(publicKey) : createSecret(secret as string)
}

function parseJwksUrl (text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  const isSafe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname))
  if (url === undefined || !isSafe) {
    throw new Error('.jwks: must be an https:// URL, or an http:// URL with a loopback address')
  }
  if (url.username !== '' || url.password !== '') throw new Error('.jwks: must not contain a user name or password')
  return url
}

function isLoopback (hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

function readPublicKey (path: string): KeyObject {
  const pem = orThrow(() => readFileSync(path, 'utf8'), () => new Error('.publicKey: the file cannot be read'))
  // Node would derive the public key from a private key, which does not belong in the configuration
  if (pem.includes('PRIVATE KEY')) throw new Error('.publicKey: the file contains a private key')
  return orThrow(
    () => createPublicKey(pem),
    () => new Error('.publicKey: the file is not a public key or certificate in PEM format')
  )
}

function createSecret (text: string): KeyObject {
  if (isPublicKey(text)) {
    throw new Error('.secret: must not be a key or certificate; set publicKey to the path of a public key')
  }
  return createSecretKey(text, 'utf8')
}

/** Anybody who knows the public key could sign tokens if it were the secret. */
function isPublicKey (text: string): boolean {
  if (/-----BEGIN |^(ssh|ecdsa)-|"kty"/.test(text)) return true
  const key = Buffer.from(text, 'base64')
  return [
    () => createPublicKey({ key, format: 'der', type: 'spki' }),
    () => createPublicKey({ key, format: 'der', type: 'pkcs1' }),
    () => new X509Certificate(key)
  ].some(succeeds)
}
