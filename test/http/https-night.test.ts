// night: starts programs
/** The certificate of the program. */
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { request, type RequestOptions } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { createCertificate, type TestCertificate } from '../support/certificates.ts'
import { runRowQuery, serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'

const [one, other, client] = [await createCertificate(), await createCertificate(), await createCertificate('client')]
const folder = t.testdir({ 'cert.pem': one.cert, 'key.pem': one.key, 'ca.pem': client.cert })
const https = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') }

function install ({ cert, key }: TestCertificate): void {
  writeFileSync(https.cert, cert)
  writeFileSync(https.key, key)
}

/** Sends a request on a new connection. */
async function select (port: number, { path = '/api/shop/customers', ...options }: RequestOptions): Promise<{
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

t.test('the program reads its certificate from the files of HTTPS_CERT and HTTPS_KEY, ' +
  'and again on SIGHUP', async (t: Test) => {
  t.teardown(() => install(one))
  const env = { HTTPS_CERT: https.cert, HTTPS_KEY: https.key, API_TOKEN: TOKEN }
  const server = await serveRowQuery(t, { env })
  const port = Number(/https:\/\/127\.0\.0\.1:(\d+)/.exec(await server.printed(/"groupBy"/))?.[1])
  const path = '/api/demo/products'
  t.match(await select(port, { ca: one.cert, path }), { status: 200 })
  install(other)
  server.child.kill('SIGHUP')
  await server.printed(/certificate reloaded/)
  t.match(await select(port, { ca: other.cert, path }), { status: 200 })
  t.match(await server.stop(), { code: 0, stderr: '' })
})

t.test('an invalid certificate, or one without a key, stops the start', async (t) => {
  t.match(await runRowQuery(t, ['serve'], { env: { HTTPS_CERT: 'nowhere.pem', HTTPS_KEY: https.key } }), {
    code: 2, stderr: 'row-query: https.cert: the file cannot be read\n'
  })
  t.match(await runRowQuery(t, ['serve'], { env: { HTTPS_CERT: https.cert } }), {
    code: 2, stderr: /^row-query: https\.key: is required/
  })
})

t.test('HTTPS_CERT and HTTPS_KEY override the file, unless its setting is not an object', async (t) => {
  const run = async (content: unknown) => {
    const cwd = t.testdir({
      'row-query.json': JSON.stringify({
        databases: { shop: { url: 'mysql://root@127.0.0.1:1/shop' } }, https: content
      })
    })
    return await runRowQuery(t, ['serve', '--config', 'row-query.json'], { cwd, env: { HTTPS_CERT: 'nowhere.pem' } })
  }
  t.match(await run(https), { code: 2, stderr: 'row-query: https.cert: the file cannot be read\n' })
  t.match(await run('yes'), { code: 2, stderr: /^row-query: https: must be an object \(/ })
})
