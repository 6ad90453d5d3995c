/**
 * The keys that JWTs are verified with: when they are downloaded, when they end, and what happens where they cannot be
 * had.
 */
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { JwtOptions } from '../../schemas/options.ts'
import { stoppedDate } from '../support/clock.ts'
import { createPair, jwtSetting, type KeyServer, serveKeys, sign } from '../support/issuer.ts'
import { isRefusal } from '../support/refusals.ts'
import { type Service, sharedOnEachEngine, startService } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { until } from '../support/until.ts'

const select = { verb: 'select', columns: ['id'], filters: { id: 1 } }
const first = await createPair('first')
const second = await createPair('second')
const roles = { reader: { permissions: ['select' as const], databases: '*' as const } }

type Ask = (token: string) => Promise<Awaited<ReturnType<Service['post']>>>
interface Started {
  readonly server: KeyServer, readonly ask: Ask, readonly log: string[], readonly pass: (seconds: number) => void
}

/** Starts a service with its own key server. `pass` moves the time of the day. */
async function start (
  t: Test, { url }: Pick<Service, 'url'>, prepare: (server: KeyServer) => unknown = () => {},
  { maxFailures = 0, ...rest }: Partial<JwtOptions> & { maxFailures?: number } = {}
): Promise<Started> {
  const server = await serveKeys(t, [first.jwk])
  await prepare(server)
  const clock = stoppedDate(t)
  const { post, log } = await startService(t, url, {
    options: { jwt: [jwtSetting({ jwks: server.url, ...rest })], roles, failedLogins: { max: maxFailures } }
  })
  return {
    server,
    log,
    pass: (seconds) => clock.pass(seconds * 1000),
    ask: async (token) => await post('customers', select, { token })
  }
}

const lasting = { exp: 4_000_000_000 }

/** No key depends on the database. */
const test = sharedOnEachEngine(t, { schema: shop, only: ['sqlite'] })

await test('keys are downloaded at the start, and again for a new kid, at most ' +
  'once in 30 seconds', async (t, service) => {
  const { server, ask, pass } = await start(t as Test, service)
  t.match(await ask(await sign(first)), { status: 200 })
  t.equal(server.requests, 1)
  server.keys = [first.jwk, second.jwk]
  pass(29)
  for (let time = 0; time < 3; time++) t.match(await ask(await sign(second)), { status: 503 })
  t.equal(server.requests, 1, 'not within 30 seconds of the start')
  pass(2)
  const signed = await Promise.all([sign(second), sign(second, {}, { header: { kid: 'third' } }), sign(second)])
  const answers = await Promise.all(signed.map((token) => ask(token)))
  t.same(answers.map(({ status }) => status), [200, 401, 200])
  t.equal(server.requests, 2, 'several requests share one download')
  for (let time = 0; time < 5; time++) {
    t.match(await ask(await sign(second, {}, { header: { kid: `random-${time}` } })), { status: 503 })
  }
  t.equal(server.requests, 2)
  pass(31)
  t.match(await ask(await sign(second, {}, { header: { kid: 'random' } })), { status: 401 })
  t.equal(server.requests, 3)
})

await test('the tokens of a new key that cannot be looked up yet are told when to come back, and ' +
  'are no failed logins', async (t, service) => {
  const { server, ask, pass } = await start(t as Test, service, () => {}, { maxFailures: 2 })
  t.match(await ask(await sign(first)), { status: 200 })
  pass(31)
  t.match(await ask(await sign(second, {}, { header: { kid: 'invented' } })), { status: 401 }, 'it is looked up')
  server.keys = [first.jwk, second.jwk]
  pass(10)
  for (let time = 0; time < 5; time++) {
    const answer = await ask(await sign(second))
    isRefusal(t as Test, answer, {
      status: 503, code: 'KEYS_UNAVAILABLE', why: 'it is too early to look the new key up'
    })
    t.equal(answer.headers['retry-after'], '20')
    t.notOk('www-authenticate' in answer.headers)
  }
  t.match(await ask(await sign(first)), { status: 200 }, 'the address is not blocked')
  pass(21)
  t.match(await ask(await sign(second)), { status: 200 })
  t.equal(server.requests, 3)
})

await test('a kid that a download did not have is 401, and a failed login', async (t, service) => {
  const { server, ask, pass } = await start(t as Test, service, () => {}, { maxFailures: 3 })
  t.match(await ask(await sign(first)), { status: 200 })
  pass(31)
  for (let time = 0; time < 2; time++) t.match(await ask(await sign(second)), { status: 401 })
  t.equal(server.requests, 2, 'the second one is known to be absent')
  server.keys = []
  pass(31)
  t.match(await ask(await sign(second)), { status: 401 })
  t.match(await ask(await sign(first)), { status: 429 })
})

await test('a key that is withdrawn stays 401 while other keys are looked up', async (t, service) => {
  const { server, ask, pass } = await start(t as Test, service, (server) => { server.keys = [first.jwk, second.jwk] })
  t.match(await ask(await sign(first)), { status: 200 })
  server.keys = [second.jwk]
  for (let time = 0; time < 3; time++) {
    pass(31)
    t.match(await ask(await sign(second, {}, { header: { kid: `other-${time}` } })), { status: 401 })
    t.match(await ask(await sign(first)), { status: 401 })
  }
  t.equal(server.requests, 4)
})

await test('a token without kid, of another algorithm or of another issuer causes no download', async (t, service) => {
  const { server, ask, pass } = await start(t as Test, service)
  await ask(await sign(first))
  pass(31)
  const strangers = [
    sign(second, {}, { header: { kid: undefined } }),
    sign(await createPair('second', 'ES384')),
    sign(second, { iss: 'https://other.example.com' })
  ]
  for (const token of strangers) t.match(await ask(await token), { status: 401 })
  t.equal(server.requests, 1)
})

await test('a key that disappears ends the tokens that it verified', async (t, service) => {
  const { server, ask, pass } = await start(t as Test, service)
  const token = await sign(first, lasting)
  t.match(await ask(token), { status: 200 })
  server.keys = [second.jwk]
  t.match(await ask(token), { status: 200 }, 'until the keys are downloaded again')
  pass(31)
  t.match(await ask(await sign(second)), { status: 200 })
  isRefusal(t as Test, await ask(token), { status: 401, code: 'UNAUTHENTICATED', why: 'the key is gone' })
})

await test('a key that is replaced under its kid ends the tokens that it ' +
  'verified, and no others', async (t, service) => {
  const { server, ask, pass } = await start(t as Test, service, (server) => { server.keys = [first.jwk, second.jwk] })
  const [one, two] = [await sign(first, lasting), await sign(second, lasting)]
  t.same([(await ask(one)).status, (await ask(two)).status], [200, 200])
  const renewed = { ...await createPair('first'), kid: 'first' }
  server.keys = [renewed.jwk, second.jwk]
  pass(31)
  await ask(await sign(first, {}, { header: { kid: 'unknown' } }))
  t.same([(await ask(one)).status, (await ask(two)).status, (await ask(await sign(renewed))).status], [401, 200, 200])
})

await test('a remembered token ends when it expires, to the second', async (t, service) => {
  const { server, ask, pass } = await start(t as Test, service)
  const token = await sign(first, { exp: Math.floor(Date.now() / 1000) + 60 })
  t.match(await ask(token), { status: 200 })
  await server.close()
  pass(88)
  t.match(await ask(token), { status: 200 }, 'within the tolerance')
  pass(3)
  t.match(await ask(token), { status: 401 })
})

/** What a key server may answer instead of keys. */
const failures: Array<[why: string, reason: RegExp, answer: KeyServer['answer']]> = [
  ['a closed connection', /UND_ERR_SOCKET|ECONNRESET/, (_request, response) => response.destroy()],
  ['404', /^status 404$/, (_request, response) => response.writeHead(404).end('{"keys":[]}')],
  ['500', /^status 500$/, (_request, response) => response.writeHead(500).end()],
  ['204', /^status 204$/, (_request, response) => response.writeHead(204).end()],
  [
    'a redirect', /^status 302$/,
    (request, response) => response.writeHead(302, { location: `${request.url}?again` }).end()
  ],
  [
    'a page', /^not a JSON Web Key Set$/,
    (_request, response) => response.setHeader('content-type', 'text/html').end('<html>')
  ],
  ['nothing', /^not a JSON Web Key Set$/, (_request, response) => response.end()],
  ['null', /^not a JSON Web Key Set$/, (_request, response) => response.end('null')],
  ['a list', /^not a JSON Web Key Set$/, (_request, response) => response.end('[]')],
  ['keys that are no list', /^not a JSON Web Key Set$/, (_request, response) => response.end('{"keys":{}}')],
  [
    'compressed zeros', /^larger than 1048576 bytes$/,
    (_request, response) => response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(5_000_000)))
  ],
  [
    'a set of more than a megabyte', /^larger than 1048576 bytes$/,
    (_request, response) => response.end(`{"keys":[${' '.repeat(2 ** 20)}]}`)
  ]
]

await test('a key server that answers with something else: 503 at the start; later the ' +
  'previous keys stay in use', async (t, service) => {
  const answersBadly = failures[0]?.[2]
  const { server, ask, log, pass } = await start(t as Test, service, (server) => { server.answer = answersBadly })
  const refusal = await ask(await sign(first))
  isRefusal(t as Test, refusal, { status: 503, code: 'KEYS_UNAVAILABLE', why: 'at the start' })
  t.match(refusal.headers['retry-after'], /^(29|30)$/, 'when the next download is allowed')
  for (const [why, reason, answer] of failures) {
    server.answer = undefined
    pass(31)
    t.match(await ask(await sign(first)), { status: 200 }, 'it is tried again')
    log.splice(0)
    server.answer = answer
    pass(31)
    isRefusal(t as Test, await ask(await sign(second)), {
      status: 503, code: 'KEYS_UNAVAILABLE', why: `${why}: a kid that is unknown, while the keys cannot be had`
    })
    t.match(await ask(await sign(first)), { status: 200 })
    const line = log.map((line) => JSON.parse(line)).find(({ setting }) => setting === 'jwt.0.jwks')
    t.match(line, { level: 50, reason, msg: 'the keys for JWTs cannot be downloaded' }, why)
    t.notMatch(log.join(''), server.url)
  }
})

await test('without keys the answer is 503, not 401, and no failed login', async (t, { url }) => {
  const server = await serveKeys(t as Test, [])
  await server.close()
  const { post } = await startService(t as Test, url, {
    options: { jwt: [jwtSetting({ jwks: server.url })], roles, failedLogins: { max: 1 } }
  })
  for (let time = 0; time < 3; time++) {
    const answer = await post('customers', select, { token: await sign(first) })
    isRefusal(t as Test, answer, { status: 503, code: 'KEYS_UNAVAILABLE', why: 'no key server' })
    t.notOk('www-authenticate' in answer.headers)
  }
  t.match(await post('customers', select), { status: 200 }, 'configured tokens need no keys')
  t.match(await post('customers', select, { token: 'a.b.c' }), { status: 401 }, 'what is no JWT is refused')
})

await test('keys that cannot verify a signature are ignored', async (t, service) => {
  const unusable = [
    { ...first.jwk, kid: undefined }, { ...first.jwk, use: 'enc' }, { ...first.jwk, kty: 'oct', k: 'AAAA' },
    { ...first.jwk, d: 'AAAA' }, null, 'first', 7
  ]
  const { server, ask, pass } = await start(
    t as Test, service, (server) => { server.keys = unusable as typeof server.keys }
  )
  pass(31)
  t.match(await ask(await sign(first)), { status: 401 })
  server.keys = [...unusable, first.jwk] as typeof server.keys
  pass(31)
  t.match(await ask(await sign(first)), { status: 200 })
})

await test('an empty set ends all tokens', async (t, service) => {
  const { server, ask, pass } = await start(t as Test, service)
  const token = await sign(first, lasting)
  t.match(await ask(token), { status: 200 })
  server.keys = []
  pass(31)
  await ask(await sign(second))
  isRefusal(t as Test, await ask(token), { status: 401, code: 'UNAUTHENTICATED', why: 'the issuer has no keys' })
})

await test('keys that do not fit the token are refused', async (t, service) => {
  const sets: Array<[why: string, keys: object[]]> = [
    ['another use of the key', [{ ...first.jwk, key_ops: ['sign'] }]],
    ['another algorithm', [{ ...first.jwk, alg: 'ES384' }]],
    ['another curve', [{ ...(await createPair('first', 'ES384')).jwk, alg: undefined }]],
    ['broken coordinates', [{ ...first.jwk, x: 'AAAA' }]],
    ['two keys with one kid', [first.jwk, { ...second.jwk, kid: 'first' }]]
  ]
  const { server, ask, pass } = await start(t as Test, service)
  for (const [why, keys] of sets) {
    server.keys = [...keys, second.jwk] as typeof server.keys
    pass(31)
    await ask(await sign(second, {}, { header: { kid: `unknown ${why}` } }))
    t.match(await ask(await sign(first)), { status: 401 }, why)
    t.match(await ask(await sign(second)), { status: 200 })
  }
})

await test('requests wait for a key server that is slow, and the start does not', async (t, service) => {
  const { promise: asked, resolve: noteRequest } = Promise.withResolvers<() => void>()
  const { ask, log } = await start(t as Test, service, (server) => {
    server.answer = (_request, response) => noteRequest(() => { response.end(JSON.stringify({ keys: server.keys })) })
  })
  const answers = Promise.all([ask(await sign(first)), ask(await sign(first))])
  const respond = await asked
  respond()
  t.same((await answers).map(({ status }) => status), [200, 200])
  t.match(log.join(''), /keys for JWTs downloaded/)
})

await test('closing the app ends a download', async (t, { url }) => {
  const server = await serveKeys(t as Test, [])
  server.answer = () => {}
  const { server: { app }, log } = await startService(t as Test, url, {
    options: { jwt: [jwtSetting({ jwks: server.url })], roles }
  })
  await until('it is asked', () => server.requests > 0)
  // with the download, closing would wait for the key server, which does not answer
  await app.close()
  t.notMatch(log.join(''), /cannot be downloaded/)
})
