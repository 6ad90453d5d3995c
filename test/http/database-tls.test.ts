/** TLS to the database: requirements on the certificate of the server, and servers without TLS. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createTestDatabase, engines, type Engine } from '../servers/engines.ts'
import { createCertificate, type TestCertificate } from '../support/certificates.ts'
import { startService } from '../support/service.ts'
import { createTlsProxy } from '../support/tls-proxy.ts'

const right = await createCertificate()
const otherName = await createCertificate('db.example.com')
const otherAuthority = await createCertificate()
const folder = t.testdir({ 'ca.pem': right.cert, 'other-name.pem': otherName.cert })
const [ca, otherNameCa] = ['ca.pem', 'other-name.pem'].map((name) => encodeURIComponent(join(folder, name))) as [string, string]

/** Sends a request, with this certificate of the server and these parameters of the URL. */
async function ask (t: Test, engine: Engine, parameters: string, certificate: TestCertificate | undefined, host = 'localhost') {
  const database = await createTestDatabase(engine, ['create table orders (id int not null primary key)'])
  const proxy = await createTlsProxy(database.url, certificate)
  t.teardown(async () => {
    await proxy.close()
    await database.drop()
  })
  const service = await startService(t, `${proxy.url.replace('localhost', host)}${parameters}`)
  const { status, json } = await service.post('orders', { verb: 'select' })
  const reasons = service.log.map((line) => JSON.parse(line).reason).filter((reason) => reason !== undefined)
  return { status, code: json.error?.code, reason: reasons[0], secured: proxy.secured > 0, plain: Buffer.concat(proxy.plain).length }
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
    t.match(await ask(t, engine, `?ssl=true&ssl-ca=${otherNameCa}`, otherName), { ...refused, reason: 'HANDSHAKE_SSL_ERROR' })
    t.match(await ask(t, engine, `?ssl=verify-ca&ssl-ca=${otherNameCa}`, otherName), served)
  })

  t.test(`a certificate of another authority is rejected (${engine.name})`, async (t) => {
    for (const parameters of ['?ssl=true', '?ssl=verify-ca', `?ssl-ca=${ca}`, `?ssl=verify-ca&ssl-ca=${ca}`]) {
      t.match(await ask(t, engine, parameters, otherAuthority), { ...refused, reason: 'HANDSHAKE_SSL_ERROR' }, parameters)
    }
  })

  t.test(`if TLS is required, nothing is sent to a server without TLS (${engine.name})`, async (t) => {
    for (const parameters of ['?ssl=true', '?ssl=verify-ca', `?ssl-ca=${ca}`]) {
      t.match(await ask(t, engine, parameters, undefined), { ...refused, reason: 'HANDSHAKE_NO_SSL_SUPPORT', plain: 0 }, parameters)
    }
  })
}
