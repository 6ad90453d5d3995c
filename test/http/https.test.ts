// night: starts programs
/** TLS in the server. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request, type RequestOptions } from 'node:https'
import { connect as connectPlain, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { connect, type ConnectionOptions } from 'node:tls'
import t, { type Test } from 'tap'
import { HTTP_DEFAULTS } from '../../src/config/split-config.ts'
import { createCertificate, type TestCertificate } from '../support/certificates.ts'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'
import { onEachEngine, TOKEN, type Service } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { readAnswers, request as bytes } from '../support/wire.ts'

const [one, other, client] = [await createCertificate(), await createCertificate(), await createCertificate('client')]
const folder = t.testdir({ 'cert.pem': one.cert, 'key.pem': one.key, 'ca.pem': client.cert })
const https = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }
const quick = { schema: shop, only: ['sqlite' as const], server: { https, http: { ...HTTP_DEFAULTS, headersTimeout: 300 } } }

function install ({ cert, key }: TestCertificate): void {
  writeFileSync(https.cert, cert)
  writeFileSync(https.key, key)
}

async function listen ({ server: { app } }: Service): Promise<number> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  return (app.server.address() as AddressInfo).port
}

/** Sends a request on a new connection. */
async function select (port: number, { path = '/api/shop/customers', ...options }: RequestOptions): Promise<{ status: number | undefined, json: any }> {
  const sent = request({ host: '127.0.0.1', port, path, method: 'POST', agent: false, headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }, ...options })
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

await onEachEngine(t, 'requests are answered over TLS 1.2 or later, with the certificate of the files', quick, async (t, service) => {
  const port = await listen(service)
  t.match(await select(port, { ca: one.cert }), { status: 200, json: { success: true } })
  await t.rejects(select(port, { ca: other.cert }), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
  t.equal(await shake(port, {}), 'TLSv1.3')
  t.equal(await shake(port, { maxVersion: 'TLSv1.2' }), 'TLSv1.2')
  await t.rejects(shake(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }))
})

await onEachEngine(t, 'a new certificate in the files is used after a reload; an invalid one is not', quick, async (t, service) => {
  t.teardown(() => install(one))
  const port = await listen(service)
  install(other)
  t.match(await select(port, { ca: one.cert }), { status: 200 }, 'the new certificate is not used before the reload')
  service.server.reloadCertificate()
  t.match(await select(port, { ca: other.cert }), { status: 200 })
  await t.rejects(select(port, { ca: one.cert }))
  t.equal(await shake(port, { ca: other.cert, maxVersion: 'TLSv1.2' }), 'TLSv1.2')
  await t.rejects(shake(port, { ca: other.cert, minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }))

  install({ ...other, key: one.key })
  service.server.reloadCertificate()
  t.match(await select(port, { ca: other.cert }), { status: 200 })
  const logged = service.log.map((line) => JSON.parse(line)).filter(({ msg }) => /certificate/.test(msg))
  t.match(logged, [{ level: 30, msg: 'certificate reloaded' }, { level: 50, errors: ['https.key: is not the key of https.cert'] }])
})

await onEachEngine(t, 'with https.ca, clients without a certificate of this authority are rejected', { ...quick, server: { https: { ...https, ca: join(folder, 'ca.pem') } } }, async (t, service) => {
  const port = await listen(service)
  t.match(await select(port, { ca: one.cert, ...client }), { status: 200 })
  await t.rejects(select(port, { ca: one.cert }))
  await t.rejects(select(port, { ca: one.cert, ...other }))
})

await onEachEngine(t, 'connections without TLS, or with a handshake that is too slow, are closed without an answer', quick, async (t, service) => {
  const port = await listen(service)
  for (const sent of [bytes(), Buffer.from('160301', 'hex'), Buffer.alloc(0)]) {
    const socket = connectPlain(port, '127.0.0.1')
    socket.write(sent)
    const answers = await readAnswers(socket).catch(() => ['an alert'])
    t.notMatch(JSON.stringify(answers), 'success')
  }
  t.match(await select(port, { ca: one.cert }), { status: 200 }, 'and other clients are served')
  t.same(service.log.filter((line) => JSON.parse(line).level >= 40), [])
})

t.test('the program reads its certificate from the files of HTTPS_CERT and HTTPS_KEY, and again on SIGHUP', async (t: Test) => {
  t.teardown(() => install(one))
  const env = { HTTPS_CERT: https.cert, HTTPS_KEY: https.key, API_TOKEN: TOKEN }
  const server = await serveRowQuery(t, { env })
  const port = Number(/https:\/\/127\.0\.0\.1:(\d+)/.exec(await server.printed(/"update"/))?.[1])
  const path = '/api/demo/products'
  t.match(await select(port, { ca: one.cert, path }), { status: 200 })
  install(other)
  server.child.kill('SIGHUP')
  await server.printed(/certificate reloaded/)
  t.match(await select(port, { ca: other.cert, path }), { status: 200 })
  t.match(await server.stop(), { code: 0, stderr: '' })
})

t.test('an invalid certificate, or one without a key, stops the start', async (t) => {
  t.match(await runRowQuery(t, ['serve'], { env: { HTTPS_CERT: 'nowhere.pem', HTTPS_KEY: https.key } }), { code: 2, stderr: 'row-query: https.cert: the file cannot be read\n' })
  t.match(await runRowQuery(t, ['serve'], { env: { HTTPS_CERT: https.cert } }), { code: 2, stderr: /^row-query: https\.key: is required/ })
})

t.test('HTTPS_CERT and HTTPS_KEY override the file, unless its setting is not an object', async (t) => {
  const run = async (content: unknown) => {
    const cwd = t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url: 'mysql://root@127.0.0.1:1/shop' } }, https: content }) })
    return await runRowQuery(t, ['serve', '--config', 'row-query.json'], { cwd, env: { HTTPS_CERT: 'nowhere.pem' } })
  }
  t.match(await run(https), { code: 2, stderr: 'row-query: https.cert: the file cannot be read\n' })
  t.match(await run('yes'), { code: 2, stderr: /^row-query: https: must be an object \(/ })
})
