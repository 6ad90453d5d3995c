// night: downloads nginx and Caddy, and starts them
/** The proxies of examples/proxies: what they must pass on between a client and the service. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { request, type RequestOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t, { type Test } from 'tap'
import { freePort } from '../servers/free-port.ts'
import { unpackedPackage } from '../servers/packages.ts'
import { createCertificate } from '../support/certificates.ts'
import { readDocument } from '../support/markdown.ts'
import { serveRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { until } from '../support/until.ts'

const certificate = await createCertificate()

interface Proxy { readonly program: string, readonly check: string[], readonly run: string[], readonly config: string }

/** The example with the ports and the certificate of the test. Throws if a line of it is missing. */
function adapt (example: string, changes: Record<string, string>): string {
  return Object.entries(changes).reduce((config, [from, to]) => {
    if (!config.includes(from)) throw new Error(`no ${from}`)
    return config.replaceAll(from, to)
  }, readDocument(example))
}

const proxies: Record<string, (folder: string, listen: number, service: number) => Promise<Proxy>> = {
  nginx: async (folder, listen, service) => {
    const site = adapt('examples/proxies/nginx.conf', {
      '127.0.0.1:3000': `127.0.0.1:${service}`,
      'listen 443 ssl': `listen 127.0.0.1:${listen} ssl`,
      '/etc/letsencrypt/live/api.example.com/fullchain.pem': `${folder}/cert.pem`,
      '/etc/letsencrypt/live/api.example.com/privkey.pem': `${folder}/key.pem`,
      'api.example.com': 'localhost'
    })
    writeFileSync(join(folder, 'site.conf'), site)
    const config = `daemon off; worker_processes 1; pid ${folder}/pid; error_log ${folder}/error.log; events {}
http {
  access_log off; client_body_temp_path ${folder}/a; proxy_temp_path ${folder}/b; fastcgi_temp_path ${folder}/c;
  uwsgi_temp_path ${folder}/d; scgi_temp_path ${folder}/e; include ${folder}/site.conf;
}`
    const args = ['-p', folder, '-e', join(folder, 'error.log'), '-c', join(folder, 'config')]
    return {
      program: join(await unpackedPackage('nginx-light'), 'usr/sbin/nginx'), config, check: [...args, '-t'], run: args
    }
  },
  Caddy: async (folder, listen, service) => {
    const site = adapt('examples/proxies/Caddyfile', {
      '127.0.0.1:3000': `127.0.0.1:${service}`,
      'api.example.com {': `https://localhost:${listen} {\n\ttls ${folder}/cert.pem ${folder}/key.pem`
    })
    const config = `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`
    const args = ['--config', join(folder, 'config'), '--adapter', 'caddyfile']
    return {
      program: join(await unpackedPackage('caddy'), 'usr/bin/caddy'),
      config,
      check: ['validate', ...args],
      run: ['run', ...args]
    }
  }
}

/** Starts the proxy in front of a port. Returns a function that begins a request. */
async function start (t: Test, name: string, service: number) {
  const folder = mkdtempSync(join(tmpdir(), 'row-query-proxy-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const listen = await freePort()
  const { program, check, run, config } = await (proxies[name] as NonNullable<typeof proxies[string]>)(
    folder, listen, service
  )
  for (const [file, content] of Object.entries({
    config, 'cert.pem': certificate.cert, 'key.pem': certificate.key
  })) writeFileSync(join(folder, file), content)
  const options = { env: { HOME: folder, PATH: process.env['PATH'] } }
  execFileSync(program, check, { ...options, stdio: 'pipe' })
  const proxy: ChildProcess = spawn(program, run, { ...options, stdio: 'ignore' })
  t.teardown(async () => {
    proxy.kill('SIGTERM')
    await once(proxy, 'exit')
  })
  const begin = (path: string, { headers, ...rest }: RequestOptions = {}) =>
    request({
      host: 'localhost',
      family: 4,
      port: listen,
      path,
      ca: certificate.cert,
      method: 'POST',
      agent: false,
      headers: { authorization: `Bearer ${TOKEN}`, ...headers },
      ...rest
    })
  const ask = async (path: string, options: RequestOptions = {}, body?: string | Buffer) => {
    const asking = begin(path, options)
    asking.end(body)
    const [answer] = await once(asking, 'response') as [IncomingMessage]
    return { status: answer.statusCode, headers: answer.headers, body: await text(answer) }
  }
  await until('the proxy listens', async () => await ask('/nothing', { method: 'GET' }).then(() => true, () => false))
  return { begin, ask }
}

/** A service that does what the test wants. */
async function pretend (t: Test, answer: RequestListener): Promise<number> {
  const server = createServer(answer)
  server.listen(0, '127.0.0.1')
  t.teardown(() => { server.close().closeAllConnections() })
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

for (const name of Object.keys(proxies)) {
  t.test(`${name}: rows, QUERY with an entity tag, a large import and an export`, async (t) => {
    const { address } = await serveRowQuery(t as Test, { env: { API_TOKEN: TOKEN } })
    const { ask } = await start(t as Test, name, Number(new URL(address).port))
    const json = { 'content-type': 'application/json', 'accept-encoding': 'gzip' }
    const query = async (headers: object) =>
      await ask('/api/demo/products', { method: 'QUERY', headers: { ...json, ...headers } }, '{"limit":50}')
    const { status, headers: { etag } } = await query({})
    t.equal(status, 200)
    t.match(await query({ 'if-none-match': etag }), { status: 304, body: '' })
    t.match(await query({ 'if-none-match': '"another"' }), { status: 200 })
    const rows = Array.from(
      { length: 30_000 }, (_, index) => `imported-${index},${'A long name of a product '.repeat(3)},1.50\n`
    )
    t.match(await ask('/api/demo/products', {
      headers: { 'content-type': 'text/csv' }
    }, Buffer.from(`sku,name,price\n${rows.join('')}`)), { status: 200, body: /"inserted":30000/ })
    const csv = await ask(
      '/api/demo/products', { headers: { ...json, accept: 'text/csv' } }, '{"verb":"select","columns":["sku"]}'
    )
    t.equal(csv.body.split('\n').length > 30_000, true)
    t.match(
      await ask('/api/demo/products', { headers: json }, '{}'), { status: 400, body: /INVALID_BODY/ },
      'errors are those of the service'
    )
    for (const path of ['/health/ready', '/metrics']) t.match(await ask(path, { method: 'GET' }), { status: 404 })
  })

  t.test(`${name}: bodies are passed on as they arrive, in both directions, and a client that goes is noticed`, async (
    t
  ) => {
    const events = Object.fromEntries(
      ['body', 'row', 'gone'].map((event) => [event, Promise.withResolvers<unknown>()])
    ) as Record<string, PromiseWithResolvers<unknown>>
    const port = await pretend(t as Test, (request, response) => {
      const { url, headers } = request
      if (url === '/api/import') {
        request.once(
          'data', (data) => events['body']?.resolve([String(data), headers['x-forwarded-for'], headers.host])
        )
        request.resume().once('end', () => response.end('all'))
      } else if (url === '/api/export') {
        response.setHeader('content-type', 'application/x-ndjson').write('{"id":1}\n')
        events['row']?.promise.then(() => response.end('{"id":2}\n'))
      } else if (url === '/api/left') {
        response.setHeader('content-type', 'application/x-ndjson').write('{"id":1}\n')
        response.once('close', () => events['gone']?.resolve(true))
      } else response.end()
    })
    const { begin } = await start(t as Test, name, port)

    const importing = begin('/api/import', { headers: { 'content-type': 'text/csv', 'x-forwarded-for': '10.9.9.9' } })
    importing.write('id\n1\n')
    const [first, forwarded, host] = await events['body']?.promise as [string, string, string]
    t.equal(first, 'id\n1\n', 'before the end of the body')
    t.equal(forwarded, '127.0.0.1', 'what a client claims is not passed on')
    t.match(host, /^localhost/)
    importing.end('2\n')
    const [imported] = await once(importing, 'response') as [IncomingMessage]
    t.equal(await text(imported), 'all')

    const exporting = begin('/api/export')
    exporting.end()
    const [rows] = await once(exporting, 'response') as [IncomingMessage]
    t.equal(String((await once(rows, 'data'))[0]), '{"id":1}\n', 'before the end of the answer')
    events['row']?.resolve(true)
    t.equal(await text(rows), '{"id":2}\n')

    const leaving = begin('/api/left')
    leaving.end()
    const [left] = await once(leaving, 'response') as [IncomingMessage]
    await once(left, 'data')
    left.destroy()
    t.equal(await events['gone']?.promise, true)
  })
}
