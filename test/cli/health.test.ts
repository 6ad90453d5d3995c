/** `row-query health`: whether the server with the same configuration is alive. */
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import type { HttpsOptions } from '../../schemas/server-settings.ts'
import { createServer } from '../../src/server/server.ts'
import { createCertificate } from '../support/certificates.ts'
import { runRowQuery } from '../support/row-query.ts'

const databases = { shop: { url: 'sqlite::memory:' } }

async function listen (t: Test, https?: HttpsOptions): Promise<number> {
  const { app } = await createServer({ options: { databases }, prefix: '/api', logLevel: 'silent', https })
  t.teardown(() => app.close())
  await app.listen({ port: 0 })
  return (app.server.address() as AddressInfo).port
}

/** A server of another kind, which never answers without a status. */
async function listenOther (t: Test, status?: number): Promise<number> {
  const server = createHttpServer((_request, response) => { if (status !== undefined) response.writeHead(status).end() }).listen(0, '127.0.0.1')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

t.test('asks the server of the configuration, whatever it listens on', async (t) => {
  const { cert, key } = await createCertificate('rows.example.com')
  const folder = t.testdir({ cert, key })
  const https = { cert: `${folder}/cert`, key: `${folder}/key` }
  const closed = await listenOther(t as Test)
  const tls = { HTTPS_CERT: https.cert, HTTPS_KEY: https.key }
  const [plain, encrypted, mutual, other] = await Promise.all([listen(t as Test), listen(t as Test, https), listen(t as Test, { ...https, ca: https.cert }), listenOther(t as Test, 404)])
  const cases: Array<[what: string, env: Record<string, string>, stdout: string]> = [
    ['the address of HOST', { HOST: '0.0.0.0', PORT: String(plain) }, 'alive\n'],
    ['TLS with a certificate for another name', { PORT: String(encrypted), ...tls }, 'alive\n'],
    ['TLS that requires a certificate', { PORT: String(mutual), ...tls, ROW_QUERY_HTTPS_CA: https.cert }, 'alive\n'],
    ['TLS without the setting', { PORT: String(encrypted) }, 'not alive: ECONNRESET\n'],
    ['another server', { PORT: String(other) }, 'not alive: status 404\n'],
    ['a server that does not answer', { PORT: String(closed) }, 'not alive: no answer within 4000 ms\n'],
    ['nobody', { PORT: '1' }, 'not alive: ECONNREFUSED\n']
  ]
  await Promise.all(cases.map(async ([what, env, stdout]) => {
    t.same(await runRowQuery(t as Test, ['health'], { env }), { code: stdout === 'alive\n' ? 0 : 1, stdout, stderr: '' }, what)
  }))
})

t.test('refuses a configuration that is not valid', async (t) => {
  t.match(await runRowQuery(t as Test, ['health', '--port', 'x']), { code: 2, stderr: 'row-query: --port: ' })
})
