/** TLS: the certificate of the service, and requirements on that of a database server. */
import { generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request, type RequestOptions } from 'node:https'
import { type AddressInfo, connect as connectPlain } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect, type ConnectionOptions } from 'node:tls'
import { generate } from 'selfsigned'
import t, { type Test } from 'tap'
import { ConfigError } from '../../src/config-errors.ts'
import { HTTP_DEFAULTS } from '../../src/config/settings.ts'
import { readCertificate } from '../../src/server/server.ts'
import { createTestDatabase, type Engine, engines } from '../servers/engines.ts'
import { createCertificate, type TestCertificate } from '../support/certificates.ts'
import { onEachEngine, type Service, startService, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { createTlsProxy } from '../support/tls-proxy.ts'
import { request as bytes, readAnswers } from '../support/wire.ts'

const [one, other, client] = [await createCertificate(), await createCertificate(), await createCertificate('client')]
const folderOfService = t.testdir({ 'cert.pem': one.cert, 'key.pem': one.key, 'ca.pem': client.cert })
const https = { cert: join(folderOfService, 'cert.pem'), key: join(folderOfService, 'key.pem') }
const quick = {
  schema: shop, only: ['sqlite' as const], server: { https, http: { ...HTTP_DEFAULTS, headersTimeout: 300 } }
}

function install ({ cert, key }: TestCertificate): void {
  writeFileSync(https.cert, cert)
  writeFileSync(https.key, key)
}

async function listenTls ({ server: { app } }: Service): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

/** Sends a request on a new connection. */
async function selectOver (port: number, { path = '/api/shop/customers', ...options }: RequestOptions): Promise<{
  status: number | undefined, json: any
}> {
  const sent = request({
    host: '127.0.0.1',
    port,
    path,
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    ...options
  })
  sent.end('{"verb":"select","limit":1}')
  const [response] = await once(sent, 'response')
  return { status: response.statusCode, json: JSON.parse(await text(response)) }
}

/** Returns the result of a handshake. */
async function shake (port: number, options: ConnectionOptions): Promise<string | null> {
  const socket = connect({ host: '127.0.0.1', port, ca: one.cert, ...options })
  try {
    await once(socket, 'secureConnect')
    return socket.getProtocol()
  } finally {
    socket.destroy()
  }
}

await onEachEngine(t, 'requests are answered over TLS 1.2 or later, with the ' +
  'certificate of the files', quick, async (t, service) => {
  const port = await listenTls(service)
  t.match(await selectOver(port, { ca: one.cert }), { status: 200, json: { success: true } })
  await t.rejects(selectOver(port, { ca: other.cert }), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  t.equal(await shake(port, {}), 'TLSv1.3')
  t.equal(await shake(port, { maxVersion: 'TLSv1.2' }), 'TLSv1.2')
  await t.rejects(shake(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }))
})

await onEachEngine(t, 'a new certificate in the files is used after a reload; an ' +
  'invalid one is not', quick, async (t, service) => {
  t.teardown(() => install(one))
  const port = await listenTls(service)
  install(other)
  t.match(
    await selectOver(port, { ca: one.cert }), { status: 200 }, 'the new certificate is not used before the reload'
  )
  service.server.reloadCertificate()
  t.match(await selectOver(port, { ca: other.cert }), { status: 200 })
  await t.rejects(selectOver(port, { ca: one.cert }))
  t.equal(await shake(port, { ca: other.cert, maxVersion: 'TLSv1.2' }), 'TLSv1.2')
  await t.rejects(
    shake(port, { ca: other.cert, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' })
  )

  install({ ...other, key: one.key })
  service.server.reloadCertificate()
  t.match(await selectOver(port, { ca: other.cert }), { status: 200 })
  const logged = service.log.map((line) => JSON.parse(line)).filter(({ msg }) => /certificate/.test(msg))
  t.match(logged, [
    { level: 30, msg: 'certificate reloaded' }, { level: 50, errors: ['https.key: is not the key of https.cert'] }
  ])
})

await onEachEngine(t, 'with https.ca, clients without a certificate of this authority are rejected', {
  ...quick, server: { https: { ...https, ca: join(folderOfService, 'ca.pem') } }
}, async (t, service) => {
  const port = await listenTls(service)
  t.match(await selectOver(port, { ca: one.cert, ...client }), { status: 200 })
  await t.rejects(selectOver(port, { ca: one.cert }))
  await t.rejects(selectOver(port, { ca: one.cert, ...other }))
})

await onEachEngine(t, 'connections without TLS, or with a handshake that is too slow, are closed ' +
  'without an answer', quick, async (t, service) => {
  const port = await listenTls(service)
  for (const sent of [bytes(), Buffer.from('160301', 'hex'), Buffer.alloc(0)]) {
    const socket = connectPlain(port, '127.0.0.1')
    socket.write(sent)
    const answers = await readAnswers(socket).catch(() => ['an alert'])
    t.notMatch(JSON.stringify(answers), 'success')
  }
  t.match(await selectOver(port, { ca: one.cert }), { status: 200 }, 'and other clients are served')
  t.same(service.log.filter((line) => JSON.parse(line).level >= 40), [])
})

const own = await createCertificate()
const foreign = await createCertificate()
const weak = await generate([{ name: 'commonName', value: 'localhost' }], { keySize: 512, algorithm: 'sha256' }).catch(
  () => undefined
)
const { privateKey } = generateKeyPairSync('ec', {
  namedCurve: 'P-256',
  privateKeyEncoding: { type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'hunter2' },
  publicKeyEncoding: { type: 'spki', format: 'pem' }
})

const folderOfFiles = t.testdir({
  'cert.pem': own.cert,
  'key.pem': own.key,
  'other.pem': foreign.key,
  'locked.pem': privateKey,
  'empty.pem': '',
  ...(weak !== undefined && { 'weak-cert.pem': weak.cert, 'weak-key.pem': weak.private })
})
const at = (name: string): string => join(folderOfFiles, name)
const rightFiles = { cert: at('cert.pem'), key: at('key.pem') }

t.test('a certificate and its key are read, for TLS 1.2 or later', async (t) => {
  t.strictSame(readCertificate(rightFiles), {
    cert: Buffer.from(own.cert), key: Buffer.from(own.key), minVersion: 'TLSv1.2'
  })
  t.match(readCertificate({ ...rightFiles, ca: at('cert.pem') }), {
    ca: Buffer.from(own.cert), requestCert: true, rejectUnauthorized: true
  })
})

const refusedFiles: Array<[because: string, paths: Parameters<typeof readCertificate>[0], mistake: string]> = [
  [
    'a certificate that is not there', { ...rightFiles, cert: at('nowhere.pem') }, 'https.cert: the file cannot be read'
  ],
  ['a key that is not there', { ...rightFiles, key: at('nowhere.pem') }, 'https.key: the file cannot be read'],
  ['an authority that is not there', { ...rightFiles, ca: at('nowhere.pem') }, 'https.ca: the file cannot be read'],
  [
    'a key in the place of the certificate', { ...rightFiles, cert: at('key.pem') },
    'https.cert: is not a certificate in PEM format'
  ],
  ['an empty file', { ...rightFiles, cert: at('empty.pem') }, 'https.cert: is not a certificate in PEM format'],
  [
    'a certificate in the place of the key', { ...rightFiles, key: at('cert.pem') },
    'https.key: is not a private key in PEM format without a passphrase'
  ],
  [
    'a key with a passphrase', { ...rightFiles, key: at('locked.pem') },
    'https.key: is not a private key in PEM format without a passphrase'
  ],
  [
    'the key of another certificate', { ...rightFiles, key: at('other.pem') }, 'https.key: is not the key of https.cert'
  ],
  ['an authority that is none', { ...rightFiles, ca: at('key.pem') }, 'https.ca: is not a certificate in PEM format'],
  [
    'a key that is too weak', { cert: at('weak-cert.pem'), key: at('weak-key.pem') },
    'https.cert: is rejected by OpenSSL; it may be too weak'
  ]
]

for (const [because, paths, mistake] of refusedFiles) {
  t.test(`the start stops because of ${because}`, async (t) => {
    const { errors } = t.throws(() => readCertificate(paths), ConfigError) as ConfigError
    t.same(errors.map((line) => line.replace(folderOfFiles + '/', '')), [mistake])
  })
}

const right = await createCertificate()
const otherName = await createCertificate('db.example.com')
const otherAuthority = await createCertificate()
const folderOfAuthorities = t.testdir({ 'ca.pem': right.cert, 'other-name.pem': otherName.cert })
const [ca, otherNameCa] = ['ca.pem', 'other-name.pem'].map(
  (name) => encodeURIComponent(join(folderOfAuthorities, name))
) as [string, string]

/** Sends a request, with this certificate of the server and these parameters of the URL. */
async function ask (t: Test, engine: Engine, parameters: string, certificate: TestCertificate
  | undefined, host = 'localhost') {
  const database = await createTestDatabase(engine, ['create table orders (id int not null primary key)'])
  const proxy = await createTlsProxy(database.url, certificate)
  t.teardown(async () => {
    await proxy.close()
    await database.drop()
  })
  const service = await startService(t, `${proxy.url.replace('localhost', host)}${parameters}`)
  const { status, json } = await service.post('orders', { verb: 'select' })
  const reasons = service.log.map((line) => JSON.parse(line).reason).filter((reason) => reason !== undefined)
  return {
    status,
    code: json.error?.code,
    reason: reasons[0],
    secured: proxy.secured > 0,
    plain: Buffer.concat(proxy.plain).length
  }
}

for (const engine of await engines()) {
  const served = { status: 200, secured: true }
  const refused = { status: 503, code: 'DATABASE_UNAVAILABLE' }

  t.test(`a certificate of the authority and of the host's name is taken (${engine.name})`, async (t) => {
    t.match(await ask(t, engine, `?ssl-ca=${ca}`, right), served)
    t.match(await ask(t, engine, `?ssl=true&ssl-ca=${ca}`, right), served)
    t.match(await ask(t, engine, `?ssl=verify-ca&ssl-ca=${ca}`, right, '127.0.0.1'), served)
  })

  t.test(`a certificate for another name is accepted only with verify-ca (${engine.name})`, async (t) => {
    t.match(await ask(t, engine, `?ssl=true&ssl-ca=${otherNameCa}`, otherName), {
      ...refused, reason: 'HANDSHAKE_SSL_ERROR'
    })
    t.match(await ask(t, engine, `?ssl=verify-ca&ssl-ca=${otherNameCa}`, otherName), served)
  })

  t.test(`a certificate of another authority is rejected (${engine.name})`, async (t) => {
    for (const parameters of ['?ssl=true', '?ssl=verify-ca', `?ssl-ca=${ca}`, `?ssl=verify-ca&ssl-ca=${ca}`]) {
      t.match(await ask(t, engine, parameters, otherAuthority), {
        ...refused, reason: 'HANDSHAKE_SSL_ERROR'
      }, parameters)
    }
  })

  t.test(`if TLS is required, nothing is sent to a server without TLS (${engine.name})`, async (t) => {
    for (const parameters of ['?ssl=true', '?ssl=verify-ca', `?ssl-ca=${ca}`]) {
      t.match(await ask(t, engine, parameters, undefined), {
        ...refused, reason: 'HANDSHAKE_NO_SSL_SUPPORT', plain: 0
      }, parameters)
    }
  })
}
