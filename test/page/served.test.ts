/** The files of the page at {prefix}/docs, and what the server answers at its root. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { get } from '../support/documents.ts'
import { onEachEngine, startService } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const FILES = ['/docs', '/docs/page.css', '/docs/page.js']
const options = { docs: true }
/** Of all files, in bytes. */
const MAX_COMPRESSED = 80_000

await onEachEngine(t, 'the page needs no token, does not mention databases and ' +
  'allows no other hosts', { schema: shop, only: ['sqlite'], options }, async (t, { server }) => {
  let compressed = 0
  for (const file of FILES) {
    const { status, headers, text } = await get(server, file, { token: null })
    t.match({ status, headers }, {
      status: 200, headers: { etag: /^(W\/)?"[\w-]+"$/, 'x-content-type-options': 'nosniff', 'x-request-id': String }
    }, file)
    t.equal(headers['content-security-policy'],
      "default-src 'none';script-src 'self';style-src 'self';img-src 'self' data:;connect-src 'self';base-uri " +
        "'none';form-action 'none';frame-ancestors 'none'")
    t.match(headers, {
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'cache-control': 'no-cache'
    })
    t.notOk('strict-transport-security' in headers)
    t.match(await get(server, file, { token: null, headers: { 'if-none-match': headers['etag'] as string } }), {
      status: 304, text: ''
    })
    // the namespaces that Preact gives to elements
    t.notMatch(text.replaceAll(/http:\/\/www\.w3\.org\/[\w/]+/g, ''), /customers|https?:/)
    compressed += gzipSync(text).length
  }
  t.comment(`${compressed} bytes compressed`)
  t.ok(compressed < MAX_COMPRESSED)
  t.match(
    (await get(server, '/docs/page.js', { token: null })).text, /Permission is hereby granted/,
    'with the license of the library in it'
  )
  t.match(await get(server, '/docs/other.js', { token: null }), { status: 401 })
})

await onEachEngine(t, 'the page is off by default', { schema: shop, only: ['sqlite'] }, async (t, { server }) => {
  t.match(await get(server, '/docs'), { status: 404, json: { error: { code: 'NOT_FOUND' } } })
  t.match(await get(server, '/docs/page.js'), { status: 405 }, 'the path is that of a table')
  const root = await server.app.inject({ url: '/', headers: { accept: 'text/html' } })
  t.match(root, { statusCode: 200, headers: { 'content-type': /json/ } }, 'and the root leads nowhere')
})

t.test('the root leads a browser to the page, and with the token of the demo only one on this machine', async (t) => {
  const TOKEN = 'rq_demo'
  const { server, log } = await startService(t, 'sqlite::memory:', {
    options: { ...options, requestLog: true }, server: { demoToken: TOKEN }
  })
  const ask = async (headers: Record<string, string>, remoteAddress = '127.0.0.1') => {
    const { statusCode, headers: { location }, body } = await server.app.inject({ url: '/', headers, remoteAddress })
    return { statusCode, location, body }
  }
  const html = 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8'
  for (const host of ['localhost:3000', '127.0.0.1:3000', '[::1]:3000', 'LOCALHOST']) {
    t.match(await ask({ accept: html, host }, '::ffff:127.0.0.1'), {
      statusCode: 302, location: '/api/docs#token=rq_demo'
    }, host)
  }
  const others: Array<[headers: Record<string, string>, address?: string]> = [
    [{ host: 'shop.example' }], [{ host: 'localhost.shop.example' }], [{ host: '127.0.0.1.shop.example' }],
    [{ host: 'localhost' }, '192.0.2.1'], [{ host: 'localhost' }, '2001:db8::1'],
    [{ host: 'localhost', 'x-forwarded-for': '192.0.2.1' }], [{ host: 'localhost', forwarded: 'for=192.0.2.1' }],
    [{ host: 'localhost', via: '1.1 proxy' }]
  ]
  for (const [headers, address] of others) {
    t.match(
      await ask({ accept: html, ...headers }, address), { statusCode: 302, location: '/api/docs' },
      JSON.stringify([headers, address])
    )
  }
  for (const accept of ['application/json', '*/*', '']) {
    t.match(
      await ask({ accept, host: 'localhost' }), { statusCode: 200, location: undefined, body: /"docs":"\/api\/docs"/ },
      'programs get JSON'
    )
  }
  t.notMatch(log.join(''), TOKEN)
})
