/** The setting `jwt` is checked at the start: one line for each mistake, without the values. */
import { createHash, createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { mock } from 'node:test'
import fc from 'fast-check'
import Fastify from 'fastify'
import { base64url, createLocalJWKSet } from 'jose'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import type { JwtOptions } from '../../schemas/options.ts'
import { createGrant } from '../../src/access/grant.ts'
import { readJwtIssuers } from '../../src/access/jwt-settings.ts'
import { createKeySet } from '../../src/access/key-set.ts'
import { createJwtVerifier } from '../../src/access/jwt.ts'
import { ConfigError } from '../../src/config-errors.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import { stoppedClock } from '../support/clock.ts'
import { AUDIENCE, createPair, ISSUER, jwtSetting, serveKeys, sign, signText } from '../support/issuer.ts'

const pair = await createPair('one')
const keys = await serveKeys(t, [pair.jwk])
const roles = new Map([['reader', createGrant('reader', { permissions: ['select'] }, 'role')]])
const verifier = await createJwtVerifier({
  issuers: readJwtIssuers([], [jwtSetting({ jwks: keys.url })]), roles, log: Fastify().log
})
t.teardown(() => verifier.stop())

const getGrant = async (token: string) =>
  await verifier.getGrant(token, createHash('sha256').update(token).digest('hex'))
/** Refused for good, or, with a kid that cannot be looked up yet, for the moment. */
const isRefused = async (token: string): Promise<boolean> => await getGrant(token).then(
  () => false, ({ code }: { code: string }) => code === 'UNAUTHENTICATED' || code === 'KEYS_UNAVAILABLE'
)

t.test('a token with any change is refused, unless its bytes are the same', async (t) => {
  const token = await sign(pair, { tenant: 'acme', nested: { a: [1, 2] } })
  const { claims } = await getGrant(token)
  const bytesOf = (text: string): string =>
    text.split('.').map((part) => Buffer.from(part, 'base64url').toString('hex')).join('.')
  const change = fc.record({
    at: fc.nat(token.length - 1),
    by: fc.constantFrom(...'ABCxyz019-_.=+/ \u00e9'),
    kind: fc.constantFrom('replace', 'insert', 'remove')
  })
  await fc.assert(fc.asyncProperty(change, async ({ at, by, kind }) => {
    const changed = token.slice(0, at) + (kind === 'remove' ? '' : by) + token.slice(kind === 'insert' ? at : at + 1)
    if (changed === token || await isRefused(changed)) return
    t.equal(bytesOf(changed), bytesOf(token))
    t.same((await getGrant(changed)).claims, claims)
  }), { numRuns: 150, seed: 1 })
})

t.test('whatever is signed by nobody is refused, and nothing is an unexpected error', async () => {
  const header = fc.oneof(fc.json(), fc.record({
    alg: fc.constantFrom('ES256', 'none', 'HS256', 'RS256', null),
    kid: fc.constantFrom('one', 'two', '', null, 1),
    crit: fc.oneof(fc.constant(undefined), fc.json())
  }).map((value) => JSON.stringify(value)))
  const payload = fc.oneof(fc.json(), fc.string(), fc.dictionary(
    fc.constantFrom('iss', 'aud', 'exp', 'nbf', 'role', '__proto__'),
    fc.oneof(fc.constantFrom(ISSUER, AUDIENCE, 'reader', 4e9), fc.jsonValue())
  ).map((value) => JSON.stringify(value)))
  await fc.assert(fc.asyncProperty(header, payload, fc.uint8Array({
    maxLength: 70
  }), async (header, payload, signature) => {
    return await isRefused([header, payload].map((part) => base64url.encode(part)).join('.') + '.' +
      base64url.encode(signature))
  }), { numRuns: 150, seed: 1 })
})

t.test('whatever the issuer signs is refused or has exact claims, and nothing is an unexpected error', async (t) => {
  const rest = fc.dictionary(fc.string(), fc.oneof(fc.jsonValue(), fc.bigInt()), { maxKeys: 5 })
  await fc.assert(fc.asyncProperty(rest, async (rest) => {
    const text = JSON.stringify(
      { ...rest, iss: ISSUER, aud: AUDIENCE, exp: 4e9, role: 'reader' },
      (_key, value: unknown) => typeof value === 'bigint' ? JSON.rawJSON(String(value)) : value
    )
    const { claims } = await getGrant(await signText(pair, text))
    t.equal(JSON.stringify(claims), JSON.stringify(JSON.parse(text, (_key, value: unknown, { source = '' }) =>
      typeof value === 'number' ? JSON.rawJSON(String(value) === source ? String(value) : source) : value)))
  }), { numRuns: 50, seed: 1 })
})

t.test('a token is remembered as long as it is valid, with the tolerance for clocks that differ', async (t) => {
  const exp = Math.floor(Date.now() / 1000)
  for (const [seconds, isValid] of [[-10, true], [-40, false]] as const) {
    const token = await sign(pair, { exp: exp + seconds })
    const sha256 = createHash('sha256').update(token).digest('hex')
    t.equal(await isRefused(token), !isValid, `${seconds} s`)
    if (isValid) t.notOk(verifier.getGrant(token, sha256) instanceof Promise, 'it is not verified again')
  }
})

t.test('of two entries of an issuer, one whose keys cannot be loaded may know the token', async (t) => {
  const none = await serveKeys(t, [])
  none.answer = (_request, response) => response.writeHead(500).end()
  const other = await createPair('one')
  const pem = other.publicKey.export({ type: 'spki', format: 'pem' }) as string
  const publicKey = `${t.testdir({ 'key.pem': pem })}/key.pem`
  const [unavailable, known] = [{ jwks: none.url }, { publicKey }]
  for (const settings of [[unavailable, known], [known, unavailable]]) {
    const { getGrant, stop } = await createJwtVerifier({
      issuers: readJwtIssuers([], settings.map((setting) => jwtSetting({ algorithms: ['ES256'], ...setting }))),
      roles,
      log: Fastify().log
    })
    t.teardown(stop)
    const token = await sign(pair)
    await t.rejects(async () => await getGrant(token, 'hash'), { code: 'KEYS_UNAVAILABLE' }, JSON.stringify(settings))
    t.ok(await getGrant(await sign(other), 'another hash'), 'the other entry does')
  }
})

const databases = { shop: { url: 'sqlite::memory:' } }
const jwtSettingsRoles = { reader: { permissions: ['select' as const], databases: '*' as const } }
const base = { issuer: 'https://login.example.com', audience: 'rows', role: '/role' }

const folder = t.testdir({})
const file = (name: string, text: string | Buffer): string => {
  writeFileSync(`${folder}/${name}`, text)
  return `${folder}/${name}`
}
const spki = { type: 'spki', format: 'pem' } as const
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const rsaPem = rsa.publicKey.export(spki) as string
const weak = file('weak.pem', generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export(spki) as string)
const pss = file('pss.pem', generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey.export(spki) as string)
const p256 = file('p256.pem', generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey.export(spki) as string)
const ed25519 = file('ed25519.pem', generateKeyPairSync('ed25519').publicKey.export(spki) as string)
const ed448 = file('ed448.pem', generateKeyPairSync('ed448').publicKey.export(spki) as string)
const certificate = (await generate([{ name: 'commonName', value: 'a' }], { keySize: 2048 })).cert

/** The errors of one entry; an empty list if it is accepted. */
function errorsOf (entry: object, rest: object = { roles: jwtSettingsRoles }): readonly string[] {
  try {
    resolveSettings({ databases, jwt: [entry], ...rest })
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.errors
  }
}

const accepted: Array<[why: string, entry: Partial<JwtOptions>]> = [
  ['a key set', { jwks: 'https://login.example.com/jwks', algorithms: ['RS256', 'PS512', 'ES256', 'EdDSA'] }],
  ['a key set on 127.0.0.1', { jwks: 'http://127.0.0.1:8080/jwks?a=b', algorithms: ['RS256'] }],
  ['a key set on another loopback address', { jwks: 'http://127.1.2.3/', algorithms: ['RS256'] }],
  ['a key set on ::1', { jwks: 'http://[::1]:8080/', algorithms: ['RS256'] }],
  ['a key set on localhost', { jwks: 'http://localhost:8080/', algorithms: ['RS256'] }],
  ['an RSA key', {
    publicKey: file('rsa.pem', rsaPem), algorithms: ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
  }],
  ['an RSA key in the form of PKCS #1', {
    publicKey: file('pkcs1.pem', rsa.publicKey.export({ type: 'pkcs1', format: 'pem' })), algorithms: ['RS256']
  }],
  ['a certificate', { publicKey: file('certificate.pem', certificate), algorithms: ['RS256'] }],
  ['an EC key', { publicKey: p256, algorithms: ['ES256'] }],
  ['an Ed25519 key', { publicKey: ed25519, algorithms: ['EdDSA', 'Ed25519'] }],
  ['a secret of 32 bytes', { secret: 'a'.repeat(32), algorithms: ['HS256'] }],
  ['a secret that is long in bytes', { secret: 'é'.repeat(32), algorithms: ['HS256', 'HS384', 'HS512'] }],
  ['a secret in base64', { secret: Buffer.alloc(64, 7).toString('base64'), algorithms: ['HS512'] }],
  ['a list of audiences', { audience: ['rows', 'cells'], jwks: 'https://login.example.com/', algorithms: ['RS256'] }]
]

t.test('valid entries are accepted', async (t) => {
  for (const [why, entry] of accepted) t.same(errorsOf({ ...base, ...entry }), [], why)
})

const URL_ERROR = 'jwt.0.jwks: must be an https:// URL, or an http:// URL with a loopback address'
const SECRET_ERROR = 'jwt.0.secret: must not be a key or certificate; set publicKey to the path of a public key'
const der = (type: 'spki' | 'pkcs1'): string =>
  rsa.publicKey.export({ type, format: 'der' } as { type: 'spki', format: 'der' }).toString('base64')

const refused: Array<[why: string, entry: object, error: string | RegExp]> = [
  ['no keys', { algorithms: ['RS256'] }, 'jwt.0: requires exactly one of jwks, publicKey and secret'],
  [
    'two kinds of keys', { jwks: 'https://a.example.com', secret: 'a'.repeat(32), algorithms: ['RS256'] },
    'jwt.0: requires exactly one of jwks, publicKey and secret'
  ],
  ['no algorithms', { jwks: 'https://a.example.com' }, /^jwt\.0\.algorithms: is required/],
  [
    'an empty list of algorithms', { jwks: 'https://a.example.com', algorithms: [] },
    /^jwt\.0\.algorithms: must be a list that is not empty/
  ],
  [
    'none', { jwks: 'https://a.example.com', algorithms: ['none'] },
    /^jwt\.0\.algorithms\.0: must be "RS256" or .*"HS512"$/
  ],
  [
    'none among others', { jwks: 'https://a.example.com', algorithms: ['RS256', 'none'] },
    /^jwt\.0\.algorithms\.1: must be/
  ],
  ['no issuer', { issuer: undefined, jwks: 'https://a.example.com', algorithms: ['RS256'] }, /^jwt\.0\.issuer: /],
  ['no audience', { audience: undefined, jwks: 'https://a.example.com', algorithms: ['RS256'] }, /^jwt\.0\.audience: /],
  ['no role', { role: undefined, jwks: 'https://a.example.com', algorithms: ['RS256'] }, /^jwt\.0\.role: /],
  [
    'a role that is no pointer', { role: 'role', jwks: 'https://a.example.com', algorithms: ['RS256'] },
    /^jwt\.0\.role: /
  ],
  [
    'a role with a wrong escape', { role: '/a~2', jwks: 'https://a.example.com', algorithms: ['RS256'] },
    /^jwt\.0\.role: /
  ],
  ['an unknown setting', { jwk: 'https://a.example.com', algorithms: ['RS256'] }, /^jwt\.0\.jwk: is not a setting/],

  ['http', { jwks: 'http://login.example.com/jwks', algorithms: ['RS256'] }, URL_ERROR],
  ['http on a private address', { jwks: 'http://10.0.0.1/jwks', algorithms: ['RS256'] }, URL_ERROR],
  ['a host that begins like a loopback address', {
    jwks: 'http://127.0.0.1.example.com/', algorithms: ['RS256']
  }, URL_ERROR],
  ['a loopback address as a user name', { jwks: 'http://127.0.0.1@example.com/', algorithms: ['RS256'] }, URL_ERROR],
  ['a host that ends with localhost', { jwks: 'http://notlocalhost/', algorithms: ['RS256'] }, URL_ERROR],
  ['all addresses', { jwks: 'http://0.0.0.0/', algorithms: ['RS256'] }, URL_ERROR],
  ['a file', { jwks: 'file:///etc/passwd', algorithms: ['RS256'] }, URL_ERROR],
  ['data', { jwks: 'data:application/json,{"keys":[]}', algorithms: ['RS256'] }, URL_ERROR],
  ['no URL', { jwks: 'login.example.com', algorithms: ['RS256'] }, URL_ERROR],
  [
    'a password in the URL', { jwks: 'https://user:hunter2@login.example.com/', algorithms: ['RS256'] },
    'jwt.0.jwks: must not contain a user name or password'
  ],
  [
    'an HMAC with a key set', { jwks: 'https://a.example.com', algorithms: ['RS256', 'HS256'] },
    'jwt.0.algorithms: HS256 requires a secret of at least 32 bytes'
  ],

  [
    'a file that is missing', { publicKey: 'missing.pem', algorithms: ['RS256'] },
    'jwt.0.publicKey: the file cannot be read'
  ],
  [
    'a file without a key', { publicKey: file('none.pem', 'hunter2'), algorithms: ['RS256'] },
    'jwt.0.publicKey: the file is not a public key or certificate in PEM format'
  ],
  ['a private key', {
    publicKey: file('private.pem', rsa.privateKey.export({
      type: 'pkcs8', format: 'pem'
    }) as string),
    algorithms: ['RS256']
  }, 'jwt.0.publicKey: the file contains a private key'],
  [
    'a short RSA key', { publicKey: weak, algorithms: ['RS256'] },
    'jwt.0.algorithms: RS256 requires an RSA key of at least 2048 bits'
  ],
  [
    'an RSA-PSS key', { publicKey: pss, algorithms: ['PS256'] },
    'jwt.0.algorithms: PS256 requires an RSA key of at least 2048 bits'
  ],
  [
    'an EC key for RSA', { publicKey: p256, algorithms: ['ES256', 'RS256'] },
    'jwt.0.algorithms: RS256 requires an RSA key of at least 2048 bits'
  ],
  [
    'an EC key of another curve', { publicKey: p256, algorithms: ['ES384'] },
    'jwt.0.algorithms: ES384 requires an EC key on the curve P-384'
  ],
  ['an Ed448 key', { publicKey: ed448, algorithms: ['EdDSA'] }, 'jwt.0.algorithms: EdDSA requires an Ed25519 key'],
  [
    'an HMAC with a public key', { publicKey: p256, algorithms: ['HS256'] },
    'jwt.0.algorithms: HS256 requires a secret of at least 32 bytes'
  ],

  [
    'a short secret', { secret: 'a'.repeat(31), algorithms: ['HS256'] },
    'jwt.0.algorithms: HS256 requires a secret of at least 32 bytes'
  ],
  [
    'a secret that is too short for one of the algorithms',
    { secret: 'a'.repeat(48), algorithms: ['HS256', 'HS384', 'HS512'] },
    'jwt.0.algorithms: HS512 requires a secret of at least 64 bytes'
  ],
  [
    'a secret for RSA', { secret: 'a'.repeat(64), algorithms: ['RS256'] },
    'jwt.0.algorithms: RS256 requires an RSA key of at least 2048 bits'
  ],
  ['a public key as a secret', { secret: rsaPem, algorithms: ['HS256'] }, SECRET_ERROR],
  ['a certificate as a secret', { secret: certificate, algorithms: ['HS256'] }, SECRET_ERROR],
  [
    'a private key as a secret',
    { secret: rsa.privateKey.export({ type: 'pkcs8', format: 'pem' }), algorithms: ['HS256'] }, SECRET_ERROR
  ],
  ['a public key in DER as a secret', { secret: der('spki'), algorithms: ['HS256'] }, SECRET_ERROR],
  [
    'a public key in DER, in lines, as a secret',
    { secret: rsaPem.split('\n').slice(1, -2).join('\n'), algorithms: ['HS256'] }, SECRET_ERROR
  ],
  ['a PKCS #1 key in DER as a secret', { secret: der('pkcs1'), algorithms: ['HS256'] }, SECRET_ERROR],
  [
    'a certificate in DER as a secret',
    { secret: new X509Certificate(certificate).raw.toString('base64'), algorithms: ['HS256'] }, SECRET_ERROR
  ],
  [
    'a JWK as a secret', { secret: JSON.stringify(rsa.publicKey.export({ format: 'jwk' })), algorithms: ['HS256'] },
    SECRET_ERROR
  ],
  [
    'an SSH key as a secret', { secret: `ssh-ed25519 ${'A'.repeat(64)} me@example.com`, algorithms: ['HS256'] },
    SECRET_ERROR
  ]
]

t.test('each mistake is named in one line, without the value', async (t) => {
  for (const [why, entry, error] of refused) {
    const errors = errorsOf(JSON.parse(JSON.stringify({ ...base, ...entry })))
    if (typeof error === 'string') t.same(errors, [error], why)
    else t.match(errors, [error], why)
    t.notMatch(errors.join(), /hunter2|MII|example\.com/, why)
  }
  t.ok(createPrivateKey(rsa.privateKey.export({ type: 'pkcs8', format: 'pem' })))
})

const validEntry = { ...base, secret: 'a'.repeat(32), algorithms: ['HS256'] }

t.test('a JWT needs roles, and a role needs databases', async (t) => {
  t.same(errorsOf(validEntry, {}), ['roles: is required with jwt'])
  t.same(errorsOf(validEntry, { roles: {} }), ['roles: is required with jwt'])
  t.match(errorsOf(validEntry, { roles: null }), [/^roles: /])
  t.match(errorsOf(validEntry, { roles: { reader: { permissions: ['select'] } } }), [
    /^roles\.reader\.databases: is required/
  ])
  t.match(errorsOf(validEntry, { roles: { reader: { permissions: [], databases: '*' } } }), [
    /^roles\.reader\.permissions: must be a list that is not empty/
  ])
  t.same(errorsOf(validEntry, { roles: { reader: { permissions: ['select'], databases: { store: '*' } } } }), [
    'roles.reader.databases.store: is not a configured database; the databases are shop'
  ])
  t.match(errorsOf(validEntry, { roles: { '': { permissions: ['select'], databases: '*' } } }), [
    /^roles\.: is not a valid name/
  ])
})

t.test('all mistakes are named at once', async (t) => {
  const errors = (() => {
    try {
      return resolveSettings({
        databases,
        roles: jwtSettingsRoles,
        jwt: [
          { ...validEntry, secret: 'short' }, validEntry, { ...validEntry, secret: undefined }
        ]
      })
    } catch (error) {
      return (error as ConfigError).errors
    }
  })()
  t.same(errors, [
    'jwt.0.algorithms: HS256 requires a secret of at least 32 bytes',
    'jwt.2: requires exactly one of jwks, publicKey and secret'
  ])
})

const { jwk } = await createPair('one')
const { log } = Fastify()
const START = 1_000_000_000_000

/** Answers that a mock of `fetch` gives, one after the other; the last one is repeated. */
async function start (t: Pick<Test, 'teardown'>, ...answers: Array<() => Response>) {
  const times: number[] = []
  const clock = stoppedClock(t, START)
  mock.method(globalThis, 'fetch', async () => {
    times.push((Date.now() - START) / 1000)
    return (answers.length > 1 ? answers.shift() : answers[0])?.()
  })
  const keySet = createKeySet({
    url: new URL('https://login.example.com/jwks'), setting: 'jwt.0.jwks', log, createSelector: createLocalJWKSet
  })
  await keySet.refresh()
  return { keySet, times, pass: (seconds: number) => clock.pass(seconds * 1000), setDate: clock.setDate }
}

const good = () => Response.json({ keys: [jwk] })
const bad = () => new Response(null, { status: 500 })

t.afterEach(() => { mock.restoreAll() })

t.test('keys are downloaded every ten minutes', async (t) => {
  const { keySet, times, pass } = await start(t, good)
  await pass(1900)
  keySet.stop()
  t.same(times, [0, 600, 1200, 1800])
})

t.test('after a failure they are downloaded every 30 seconds, until a download succeeds', async (t) => {
  const { keySet, times, pass } = await start(t, bad, bad, good, bad, good)
  await pass(1300)
  keySet.stop()
  t.same(times, [0, 30, 60, 660, 690, 1290])
  t.ok(await keySet.find('one'))
})

t.test('a download for a new kid begins the ten minutes anew', async (t) => {
  const { keySet, times, pass } = await start(t, good)
  await pass(400)
  t.equal(await keySet.find('two'), undefined)
  await pass(900)
  keySet.stop()
  t.same(times, [0, 400, 1000])
})

t.test('a clock that is set back does not prevent a download', async (t) => {
  const { keySet, times, setDate } = await start(t, good)
  setDate(START - 3_600_000)
  await keySet.find('two')
  keySet.stop()
  t.same(times, [0, -3600])
})

t.test('nothing is downloaded after the end', async (t) => {
  const { keySet, times, pass } = await start(t, bad)
  keySet.stop()
  await pass(700)
  await t.rejects(keySet.find('one'), { code: 'KEYS_UNAVAILABLE', retryAfter: 1 })
  t.same(times, [0])
})

t.test('the last 1,000 absent keys are remembered, whatever the length of their names', async (t) => {
  const { keySet, times, pass } = await start(t, good)
  const name = (number: number): string => `${number}${'x'.repeat(10_000)}`
  await pass(31)
  const found = await Promise.all(Array.from({ length: 1001 }, (_, number) => keySet.find(name(number))))
  t.same(new Set(found), new Set([undefined]))
  for (const number of [1, 500, 1000]) t.equal(await keySet.find(name(number)), undefined)
  await t.rejects(keySet.find(name(0)), { code: 'KEYS_UNAVAILABLE', retryAfter: 30 }, 'the first one is forgotten')
  keySet.stop()
  t.same(times, [0, 31], 'one download for all')
})
