import { createHash } from 'node:crypto'
import fc from 'fast-check'
import Fastify from 'fastify'
import { base64url } from 'jose'
import t from 'tap'
import { createGrant } from '../../src/access/grant.ts'
import { createJwtVerifier } from '../../src/access/jwt.ts'
import { readJwtIssuers } from '../../src/access/jwt-settings.ts'
import { AUDIENCE, createPair, ISSUER, jwtSetting, serveKeys, sign, signText } from '../support/issuer.ts'
import '../support/seed.ts'

const pair = await createPair('one')
const keys = await serveKeys(t, [pair.jwk])
const roles = new Map([['reader', createGrant('reader', { permissions: ['select'] }, 'role')]])
const verifier = await createJwtVerifier({ issuers: readJwtIssuers([], [jwtSetting({ jwks: keys.url })]), roles, log: Fastify().log })
t.teardown(() => verifier.stop())

const getGrant = async (token: string) => await verifier.getGrant(token, createHash('sha256').update(token).digest('hex'))
/** Refused for good, or, with a kid that cannot be looked up yet, for the moment. */
const isRefused = async (token: string): Promise<boolean> => await getGrant(token).then(() => false, ({ code }: { code: string }) => code === 'UNAUTHENTICATED' || code === 'KEYS_UNAVAILABLE')

t.test('a token with any change is refused, unless its bytes are the same', async (t) => {
  const token = await sign(pair, { tenant: 'acme', nested: { a: [1, 2] } })
  const { claims } = await getGrant(token)
  const bytesOf = (text: string): string => text.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex')).join('.')
  const change = fc.record({ at: fc.nat(token.length - 1), by: fc.constantFrom(...'ABCxyz019-_.=+/ \u00e9'), kind: fc.constantFrom('replace', 'insert', 'remove') })
  await fc.assert(fc.asyncProperty(change, async ({ at, by, kind }) => {
    const changed = token.slice(0, at) + (kind === 'remove' ? '' : by) + token.slice(kind === 'insert' ? at : at + 1)
    if (changed === token || await isRefused(changed)) return
    t.equal(bytesOf(changed), bytesOf(token))
    t.same((await getGrant(changed)).claims, claims)
  }), { numRuns: 1000 })
})

t.test('whatever is signed by nobody is refused, and nothing is an unexpected error', async () => {
  const header = fc.oneof(fc.json(), fc.record({ alg: fc.constantFrom('ES256', 'none', 'HS256', 'RS256', null), kid: fc.constantFrom('one', 'two', '', null, 1), crit: fc.oneof(fc.constant(undefined), fc.json()) }).map((value) => JSON.stringify(value)))
  const payload = fc.oneof(fc.json(), fc.string(), fc.dictionary(fc.constantFrom('iss', 'aud', 'exp', 'nbf', 'role', '__proto__'), fc.oneof(fc.constantFrom(ISSUER, AUDIENCE, 'reader', 4e9), fc.jsonValue())).map((value) => JSON.stringify(value)))
  await fc.assert(fc.asyncProperty(header, payload, fc.uint8Array({ maxLength: 70 }), async (header, payload, signature) => {
    return await isRefused([header, payload].map((part) => base64url.encode(part)).join('.') + '.' + base64url.encode(signature))
  }), { numRuns: 1000 })
})

t.test('whatever the issuer signs is refused or has exact claims, and nothing is an unexpected error', async (t) => {
  const rest = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.bigInt()), { maxKeys: 5 })
  await fc.assert(fc.asyncProperty(rest, async (rest) => {
    const text = JSON.stringify({ ...rest, iss: ISSUER, aud: AUDIENCE, exp: 4e9, role: 'reader' }, (_key, value: unknown) => typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value)
    const { claims } = await getGrant(await signText(pair, text))
    t.equal(JSON.stringify(claims), JSON.stringify(JSON.parse(text, (_key, value: unknown, { source = '' }) => typeof value === 'number' ? JSON.rawJSON(String(value) === source ? String(value) : source) : value)))
  }), { numRuns: 200 })
})
