/** JSON Web Tokens instead of configured tokens: which are accepted, and as which role. */
import { createHmac, createSecretKey, randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { base64url, exportSPKI } from 'jose'
import t, { type Test } from 'tap'
import type { JwtOptions, SignatureAlgorithm } from '../../schemas/options.ts'
import { tokenOf } from '../grants/support.ts'
import { stoppedDate } from '../support/clock.ts'
import { get } from '../support/documents.ts'
import {
  AUDIENCE, createPair, ISSUER, jwtSetting, type Pair, serveKeys, sign, signParts, signText
} from '../support/issuer.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, type Service, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const select = { verb: 'select', columns: ['id'], filters: { id: 1 } }
const pair = await createPair('one')
const other = await createPair('two')
const keys = await serveKeys(t, [pair.jwk, other.jwk])
const roles = {
  reader: { permissions: ['select' as const], databases: '*' as const },
  writer: { permissions: ['select' as const, 'insert' as const], databases: { shop: ['settings'] } },
  nothing: { permissions: ['select' as const], databases: {} }
}
const withKeys = { schema: shop, options: { jwt: [jwtSetting({ jwks: keys.url })], roles, failedLogins: { max: 0 } } }
const ok = { schema: shop, only: ['sqlite' as const], options: withKeys.options }

const test = sharedOnEachEngine(t, withKeys)

await test('a JWT of a configured role is accepted, with the permissions of the role', async (t, { post }) => {
  const token = await sign(pair)
  t.match(await post('customers', select, { token }), { status: 200, json: { data: { rows: [{ id: 1 }] } } })
  isRefusal(t, await post('settings', { verb: 'insert', data: {} }, { token }), {
    status: 403, code: 'PERMISSION_DENIED', why: 'a verb that the role lacks'
  })
  const writer = await sign(pair, { role: 'writer' })
  t.match(await post('settings', { verb: 'insert', data: {} }, { token: writer }), {
    status: 200, json: { data: { inserted: 1 } }
  })
  isRefusal(t, await post('customers', select, { token: writer }), {
    status: 404, code: 'TABLE_NOT_FOUND', why: 'a table that the role lacks'
  })
  isRefusal(t, await post('customers', select, { token: await sign(pair, { role: 'nothing' }) }), {
    status: 404, code: 'DATABASE_NOT_FOUND', why: 'a role without databases'
  })
  t.match(await post('customers', select, { token: TOKEN }), { status: 200 }, 'configured tokens remain valid')
})

await test('of the roles in a list the first one that is configured counts', async (t, { post }) => {
  const token = await sign(pair, { role: ['unknown', 7, null, ['reader'], 'writer', 'reader'] })
  t.match(await post('settings', select, { token }), { status: 200 })
  t.match(await post('customers', select, { token }), { status: 404 })
  t.match(await post('customers', select, { token: await sign(pair, { role: ['reader', 'writer'] }) }), { status: 200 })
})

await test('without a role that is configured the answer is 403, on every path ' +
  'and before the body', async (t, { post, statements }) => {
  statements()
  for (const role of [
    'unknown', 'READER', '', [], ['unknown'], [['reader']], { 0: 'reader' }, 7, true, null, undefined, '__proto__',
    'constructor'
  ]) {
    const token = await sign(pair, { role })
    for (const [table, database, body] of [
      ['customers', 'shop', select], ['nope', 'shop', 'no JSON'], ['nope', 'nope', '']
    ] as const) {
      const answer = await post(table, body, { token, database })
      isRefusal(t, answer, { status: 403, code: 'PERMISSION_DENIED', why: JSON.stringify(role) ?? 'no role' })
      t.equal(answer.json.error.message, 'No role of the token is configured')
    }
  }
  t.same(statements(), [])
})

await onEachEngine(t, 'roles that are replaced apply at once, also to tokens that ' +
  'were verified before', ok, async (t, { post, server: { rows } }) => {
  const token = await sign(pair)
  const ask = async (verb: string) =>
    await post('settings', verb === 'insert' ? { verb, data: {} } : { verb }, { token })
  t.match([await ask('select'), await ask('insert')], [{ status: 200 }, { status: 403 }])
  rows.replaceGrants({ roles: { reader: { permissions: ['insert'], databases: '*' } } })
  t.match([await ask('select'), await ask('insert')], [{ status: 403 }, { status: 200 }])
  rows.replaceGrants({ roles: { writer: roles.writer } })
  isRefusal(t, await ask('select'), { status: 403, code: 'PERMISSION_DENIED', why: 'the role is gone' })
  t.throws(() => rows.replaceGrants({ roles: { reader: { permissions: ['select'], databases: ['nope'] as never } } }), {
    errors: [/^roles\.reader\.databases: /]
  })
  t.throws(() => rows.replaceGrants({}), { errors: ['roles: is required with jwt'] })
  isRefusal(t, await ask('select'), {
    status: 403, code: 'PERMISSION_DENIED', why: 'nothing is replaced if there is an error'
  })
  t.match(await post('settings', { verb: 'select' }), { status: 401 }, 'the tokens are replaced too')
})

/**
 * Stops the clock of the service. `pass` lets the pause between two downloads of keys end, so that a new kid is looked
 * up.
 */
function stopClock (t: Test): { pass: () => void } {
  const clock = stoppedDate(t)
  return { pass: () => clock.pass(31_000) }
}

/** Each way to be no valid token, as a function that makes it. */
const forged: Array<[why: string, make: () => Promise<string> | string]> = [
  ['another issuer', () => sign(pair, { iss: 'https://evil.example.com/' })],
  ['an issuer in another case', () => sign(pair, { iss: ISSUER.toUpperCase() })],
  ['a list of issuers', () => sign(pair, { iss: [ISSUER] })],
  ['no issuer', () => sign(pair, { iss: undefined })],
  ['another audience', () => sign(pair, { aud: 'others' })],
  ['a list without the audience', () => sign(pair, { aud: ['others', `${AUDIENCE} `] })],
  ['no audience', () => sign(pair, { aud: undefined })],
  ['an expiry 31 seconds ago', () => sign(pair, { exp: seconds(-31) })],
  ['no expiry', () => sign(pair, { exp: undefined })],
  ['an expiry that is text', () => signText(pair, JSON.stringify({ ...claims(), exp: String(seconds(300)) }))],
  ['an expiry that is null', () => signText(pair, JSON.stringify({ ...claims(), exp: null }))],
  ['a start in 35 seconds', () => sign(pair, { nbf: seconds(35) })],
  ['a signature of another key of the set', () => sign(pair, {}, { key: other.privateKey })],
  ['no kid', () => sign(pair, {}, { header: { kid: undefined } })],
  ['an unknown kid', () => sign(pair, {}, { header: { kid: 'three' } })],
  ['a kid that is a number', () => sign(pair, {}, { header: { kid: 1 } })],
  ['a kid that is the name of a property', () => sign(pair, {}, { header: { kid: '__proto__' } })],
  ['the kid of another key', () => sign(pair, {}, { header: { kid: 'two' } })],
  ['a key in the header', () => sign(pair, {}, { key: other.privateKey, header: { jwk: other.jwk, kid: 'one' } })],
  [
    'the URL of another key set in the header',
    () => sign(pair, {}, { header: { jku: 'http://127.0.0.1:1/', kid: 'three' } })
  ],
  ['a critical header that nobody knows', () => craft({ alg: 'ES256', kid: 'one', crit: ['b64x'], b64x: true })],
  ['a payload that is not encoded', () => craft({ alg: 'ES256', kid: 'one', crit: ['b64'], b64: false })],
  ['the algorithm none', () => craft({ alg: 'none', kid: 'one' })],
  [
    'the algorithm none without a signature',
    async () => (await craft({ alg: 'none', kid: 'one' })).replace(/[^.]+$/, '')
  ],
  ['the algorithm None', () => craft({ alg: 'None', kid: 'one' })],
  ['no algorithm', () => craft({ kid: 'one' })],
  ['the public key as the secret of an HMAC', async () => hmac(await exportSPKI(pair.publicKey))],
  ['the public key as JSON as the secret of an HMAC', () => hmac(JSON.stringify(pair.jwk))],
  ['an empty secret', () => hmac('')],
  ['an algorithm that is not listed', async () => await sign(await createPair('one', 'ES384'))],
  ['no signature', async () => (await sign(pair)).replace(/[^.]+$/, '')],
  ['a signature of zeros', async () => (await sign(pair)).replace(/[^.]+$/, base64url.encode(new Uint8Array(64)))],
  ['a changed claim', async () => change(await sign(pair), 1, (text) => text.replace('reader', 'writer'))],
  ['a changed header', async () => change(await sign(pair), 0, (text) => text.replace('}', ',"a":1}'))],
  ['a claim twice', () => signText(pair, JSON.stringify(claims()).replace('{', '{"role":"writer",'))],
  [
    'a header that names alg twice',
    () => signParts(pair, (header) => header.replace('{', '{"alg":"none",'), JSON.stringify(claims()))
  ],
  [
    'a claim twice, once with escapes',
    () => signText(pair, JSON.stringify(claims()).replace('{', '{"\\u0072ole":"writer",'))
  ],
  [
    'a claim twice deep in a claim',
    () => signText(pair, JSON.stringify(claims()).replace('{', '{"a":[{"b":1,"b":2}],'))
  ],
  ['claims that are a list', () => signText(pair, '[]')],
  ['claims that are a number', () => signText(pair, '18446744073709551616')],
  ['claims that are null', () => signText(pair, 'null')],
  ['claims that are no JSON', () => signText(pair, '{')],
  ['no claims', () => signText(pair, '{}')],
  [
    'claims that are not UTF-8',
    () => signText(pair, Buffer.from(JSON.stringify(claims()).replace('{', '{"a":"\xff",'), 'latin1'))
  ],
  ['claims with a byte order mark', () => signText(pair, `\ufeff${JSON.stringify(claims())}`)],
  ['four parts', async () => `${await sign(pair)}.e30`],
  ['two parts', async () => (await sign(pair)).replace(/\.[^.]+$/, '')],
  ['five parts, as an encrypted token has', () => 'a.b.c.d.e'],
  ['three parts that are no base64', () => 'a.b.c'],
  ['three dots', () => '...'],
  ['characters outside of base64url', async () => (await sign(pair)).replace('.', '.=')]
]

const seconds = (from: number): number => Math.floor(Date.now() / 1000) + from
const claims = () => ({ iss: ISSUER, aud: AUDIENCE, exp: seconds(300), role: 'reader' })
const encode = (value: object): string => base64url.encode(JSON.stringify(value))

/** A token with any header, signed with the right key as if it were ES256. */
async function craft (header: object): Promise<string> {
  const signed = await sign(pair)
  return [encode(header), encode(claims()), signed.split('.')[2]].join('.')
}

function hmac (secret: string): string {
  const text = `${encode({ alg: 'HS256', kid: 'one' })}.${encode(claims())}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

function change (token: string, part: number, replace: (text: string) => string): string {
  const parts = token.split('.')
  parts[part] = base64url.encode(replace(Buffer.from(parts[part] as string, 'base64url').toString()))
  return parts.join('.')
}

await test('a JWT that is not valid is refused like an unknown token', async (t, { post, statements, log }) => {
  const unknown = await post('customers', select, { token: 'unknown', headers: { 'x-request-id': 'same' } })
  t.equal(unknown.headers['www-authenticate'], 'Bearer error="invalid_token"')
  const { pass } = stopClock(t as Test)
  statements()
  for (const [why, make] of forged) {
    pass()
    const token = await make()
    for (const [table, database] of [['customers', 'shop'], ['nope', 'nope']] as const) {
      const answer = await post(table, 'no JSON', { token, database, headers: { 'x-request-id': 'same' } })
      isRefusal(t, answer, { status: 401, code: 'UNAUTHENTICATED', why })
      t.same([answer.text, { ...answer.headers, date: '' }], [unknown.text, { ...unknown.headers, date: '' }], why)
    }
    t.notOk(log.join('').includes(token.split('.')[2] || token), 'no log line has the token')
  }
  t.same(statements(), [])
}, ['sqlite'])

await test('clocks may differ by 30 seconds', async (t, { post }) => {
  for (const claims of [
    { exp: seconds(-28) }, { nbf: seconds(28) }, { exp: seconds(300) + 0.5 }, { iat: seconds(1000) }
  ]) {
    t.match(
      await post('customers', select, { token: await sign(pair, claims) }), { status: 200 }, JSON.stringify(claims)
    )
  }
}, ['sqlite'])

await onEachEngine(t, 'the audience may be one of a list, in the token and in the setting', {
  ...ok, options: { ...ok.options, jwt: [jwtSetting({ jwks: keys.url, audience: ['rows', 'cells'] })] }
}, async (t, { post }) => {
  for (const aud of ['rows', 'cells', ['others', 'cells']]) {
    t.match(await post('customers', select, { token: await sign(pair, { aud }) }), { status: 200 }, String(aud))
  }
  t.match(await post('customers', select, { token: await sign(pair, { aud: 'others' }) }), { status: 401 })
})

await onEachEngine(t, 'the role may be anywhere in the claims', {
  ...ok,
  options: { ...ok.options, jwt: [jwtSetting({ jwks: keys.url, role: '/https:~1~1example.com~1roles/shop~0a/1' })] }
}, async (t, { post }) => {
  const token = (roles: unknown): Promise<string> => sign(pair, { role: undefined, 'https://example.com/roles': roles })
  t.match(await post('customers', select, { token: await token({ 'shop~a': ['x', 'reader'] }) }), { status: 200 })
  for (const roles of [
    { 'shop~a': ['reader'] }, { 'shop~a': 'reader' }, 'reader', null, { 'shop~a': { 2: 'reader' } }
  ]) {
    t.match(await post('customers', select, { token: await token(roles) }), { status: 403 }, JSON.stringify(roles))
  }
})

/** What signs and what verifies, by algorithm: RSA keys take long to generate, and serve each of its algorithms. */
const FAMILIES: Array<SignatureAlgorithm[]> = [
  ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'], ['ES256'], ['ES384'], ['ES512'], ['EdDSA'], ['Ed25519']
]
const folder = t.testdir({})
const verified: Array<{
  alg: SignatureAlgorithm, signer: Pair, stranger: Pair, kind: string, issuer: string, keys: Partial<JwtOptions>
}> = []
for (const algorithms of FAMILIES) {
  const generated = [await createPair('key', algorithms[0]), await createPair('key', algorithms[0])]
  for (const alg of algorithms) {
    const [signer, stranger] = generated.map((pair) => ({ ...pair, alg, jwk: { ...pair.jwk, alg } })) as [Pair, Pair]
    const publicKey = `${folder}/${alg}.pem`
    writeFileSync(publicKey, await exportSPKI(signer.publicKey))
    for (const [kind, keys] of [
      ['a key set', { jwks: (await serveKeys(t, [signer.jwk])).url }], ['a public key', { publicKey }]
    ] as const) {
      verified.push({ alg, signer, stranger, kind, issuer: `https://${verified.length}.example.com`, keys })
    }
  }
}
const secrets = ([['HS256', 32], ['HS384', 48], ['HS512', 64]] as const).map(([alg, bytes]) => ({
  alg, secret: randomBytes(bytes).toString('base64url').slice(0, bytes), issuer: `https://${alg}.example.com`
}))
const ofAlgorithms = [
  ...verified.map(({ alg, issuer, keys }) => jwtSetting({ ...keys, issuer, algorithms: [alg] })),
  ...secrets.map(({ alg, issuer, secret }) => jwtSetting({ secret, issuer, algorithms: [alg] }))
]

await onEachEngine(t, 'each algorithm verifies with its key, ' +
  'and with no other', { ...ok, options: { ...ok.options, jwt: ofAlgorithms } }, async (t, { post }) => {
  for (const { alg, signer, stranger, kind, issuer: iss } of verified) {
    t.match(
      await post('customers', select, { token: await sign(signer, { iss }) }), { status: 200 }, `${alg} with ${kind}`
    )
    t.match(
      await post('customers', select, { token: await sign(stranger, { iss }) }), { status: 401 },
      `${alg} with ${kind}: another key`
    )
    t.match(
      await post('customers', select, { token: await sign(signer, { iss }, { header: { kid: undefined } }) }),
      { status: kind === 'a key set' ? 401 : 200 }, `${alg} with ${kind}: kid is required with a set only`
    )
  }
  for (const { alg, secret, issuer: iss } of secrets) {
    const signer = { alg, kid: 'any', privateKey: createSecretKey(secret, 'utf8') }
    t.match(await post('customers', select, { token: await sign(signer, { iss }) }), { status: 200 }, alg)
    t.match(await post('customers', select, { token: await sign(signer, { iss }, { key: randomBytes(64) }) }), {
      status: 401
    }, alg)
    t.match(
      await post('customers', select, { token: await sign(pair, { iss }) }), { status: 401 },
      `${alg}: an asymmetric algorithm`
    )
  }
})

const second = await createPair('second')
const secondKeys = await serveKeys(t, [second.jwk])
const several: JwtOptions[] = [
  jwtSetting({ jwks: keys.url }),
  jwtSetting({ issuer: 'https://other.example.com', audience: 'cells', jwks: secondKeys.url, role: '/group' }),
  jwtSetting({ jwks: secondKeys.url, audience: 'cells' })
]

await onEachEngine(t, 'each issuer has its own keys, audience and claim of the role; an issuer ' +
  'may have two sets', { ...ok, options: { ...ok.options, jwt: several } }, async (t, { post }) => {
  const elsewhere = { iss: 'https://other.example.com', aud: 'cells', role: undefined, group: 'reader' }
  const { pass } = stopClock(t as Test)
  const statusOf = async (...args: Parameters<typeof sign>): Promise<number> => {
    pass()
    return (await post('customers', select, { token: await sign(...args) })).status
  }
  t.equal(await statusOf(pair), 200)
  t.equal(await statusOf(second, elsewhere), 200)
  t.equal(await statusOf(second, { aud: 'cells' }), 200, 'the second set of the first issuer')
  t.equal(await statusOf(pair, elsewhere), 401, 'a key of the other issuer')
  t.equal(await statusOf(second), 401, 'the audience of the other set')
  t.equal(await statusOf(pair, { aud: 'cells' }), 401)
  t.equal(await statusOf(second, { ...elsewhere, aud: AUDIENCE }), 401)
  t.equal(await statusOf(second, { ...elsewhere, role: 'reader', group: undefined }), 403)
})

const dotted = tokenOf('a.b.c', {})

await onEachEngine(t, 'a configured token with three parts is looked up before it would be verified', {
  ...ok, tokens: [dotted], options: { ...ok.options, tokens: [dotted] }
}, async (t, { post }) => {
  t.match(await post('customers', select, { token: 'a.b.c' }), { status: 200 })
  t.match(await post('customers', select, { token: 'a.b.d' }), { status: 401 })
})

await onEachEngine(t, 'failed JWTs count as failed logins; those ' +
  'without a role do not', { ...ok, options: { ...ok.options, failedLogins: { max: 3 } } }, async (t, { post }) => {
  const statusOf = async (token: string): Promise<number> => (await post('customers', select, { token })).status
  for (let time = 0; time < 5; time++) t.equal(await statusOf(await sign(pair, { role: 'unknown' })), 403)
  const expired = await sign(pair, { exp: seconds(-100) })
  t.same([await statusOf(expired), await statusOf('no.valid.token'), await statusOf('unknown')], [401, 401, 401])
  t.equal(await statusOf(await sign(pair)), 429, 'the address is blocked')
})

await onEachEngine(t, 'a rate limit counts each subject of each issuer; JWTs without a subject share ' +
  'that of their role', {
  ...ok, options: { ...ok.options, jwt: several, rateLimit: { max: 1 } }
}, async (t, { post }) => {
  const statusOf = async (...args: Parameters<typeof sign>): Promise<number> =>
    (await post('customers', select, { token: await sign(...args) })).status
  t.same([await statusOf(pair), await statusOf(pair, { exp: seconds(100) })], [200, 429])
  t.equal(await statusOf(pair, { sub: 'user-2' }), 200)
  t.equal(
    await statusOf(second, { iss: 'https://other.example.com', aud: 'cells', group: 'reader' }), 200,
    'the same subject of another issuer'
  )
  t.same([await statusOf(pair, { sub: undefined }), await statusOf(pair, { sub: '' })], [200, 429])
})

await test('documents show what the role of a JWT sees', async (t, { server }) => {
  const token = await sign(pair, { role: 'writer' })
  const paths = async (path: string): Promise<string[]> => Object.keys((await get(server, path, { token })).json.paths)
  t.same(await paths('/shop/openapi.json'), ['/shop', '/shop/settings'])
  t.equal((await get(server, '/openapi.json', { token: await sign(pair, { exp: seconds(-100) }) })).status, 401)
  t.equal((await get(server, '/shop/openapi.json', { token: await sign(pair, { role: 'nothing' }) })).status, 404)
  t.equal((await get(server, '/shop/openapi.json', { token: await sign(pair, { role: 'unknown' }) })).status, 403)
}, ['sqlite'])

await onEachEngine(t, 'the reason is in the request log, and not in the answer', {
  ...ok, server: { logLevel: 'debug' }, options: { ...ok.options, requestLog: true }
}, async (t, { post, log }: Service) => {
  const reasonOf = async (...args: Parameters<typeof sign>): Promise<unknown> => {
    log.splice(0)
    await post('customers', select, { token: await sign(...args) })
    return log.map((line) => JSON.parse(line)).find(({ msg }) => msg === 'request')?.reason
  }
  t.equal(await reasonOf(pair, { exp: seconds(-100) }), 'ERR_JWT_EXPIRED')
  t.equal(await reasonOf(pair, { iss: 'https://evil.example.com' }), 'unknown issuer')
  t.equal(await reasonOf(pair, {}, { header: { kid: 'three' } }), 'unknown key')
  t.equal(await reasonOf(pair, {}, { header: { kid: undefined } }), 'no kid')
  t.equal(await reasonOf(pair, {}, { key: other.privateKey }), 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED')
})
