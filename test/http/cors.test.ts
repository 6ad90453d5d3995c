/** CORS, and the headers that every answer has. */
import t from 'tap'
import type { InjectOptions } from 'fastify'
import { onEachEngine, type Service, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const ORIGIN = 'https://app.example.com'
const only = ['sqlite' as const]
const listed = { schema: shop, only, options: { cors: { origins: [ORIGIN, 'http://localhost:5173'] } } }

async function ask ({ server: { app } }: Service, { method = 'POST', url = '/api/shop/customers', headers = {}, token = TOKEN }: Pick<InjectOptions, 'method' | 'url'> & { headers?: Record<string, string>, token?: string | null }) {
  const response = await app.inject({
    method,
    url,
    headers: { ...(token !== null && { authorization: `Bearer ${token}` }), ...headers, ...(method === 'POST' && { 'content-type': 'application/json' }) },
    ...(method === 'POST' && { payload: '{"verb":"select","columns":["id"],"limit":1}' })
  })
  const { 'content-type': type } = response.headers
  return { status: response.statusCode, headers: response.headers, json: type === undefined ? undefined : response.json() }
}

/** The preflight request of a browser, which has no token. */
const asking = (origin: string) => ({ method: 'OPTIONS' as const, token: null, headers: { origin, 'access-control-request-method': 'POST', 'access-control-request-headers': 'authorization,content-type' } })
const corsHeaders = (headers: object): string[] => Object.keys(headers).filter((name) => name.startsWith('access-control-'))

await onEachEngine(t, 'a preflight request of a listed origin needs no token', listed, async (t, service) => {
  for (const origin of [ORIGIN, 'http://localhost:5173']) {
    for (const url of ['/api/shop/customers', '/api/shop/no-such-table', '/api/nowhere', '/api/openapi.json']) {
      const { status, headers, json } = await ask(service, { ...asking(origin), url })
      t.same([status, json], [204, undefined], url)
      t.match(headers, {
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'GET, POST',
        'access-control-allow-headers': 'authorization, content-type, idempotency-key, if-none-match, row-query-consistency, x-request-id',
        'access-control-max-age': '600',
        vary: /origin/i
      })
      t.notOk('access-control-allow-credentials' in headers)
    }
  }
})

await onEachEngine(t, 'a page of a listed origin may read every response and its headers', listed, async (t, service) => {
  const headers = { origin: ORIGIN }
  const answers = [await ask(service, { headers }), await ask(service, { headers, token: 'wrong' }), await ask(service, { headers, url: '/api/shop/nowhere' }), await ask(service, { headers, url: '/api/nowhere' })]
  t.same(answers.map(({ status }) => status), [200, 401, 404, 404])
  for (const { headers } of answers) {
    t.equal(headers['access-control-allow-origin'], ORIGIN)
    t.match(headers['access-control-expose-headers'], /x-request-id, retry-after, idempotency-replayed, ratelimit-limit, ratelimit-remaining, ratelimit-reset/)
  }
})

await onEachEngine(t, 'other origins, and requests without one, get no CORS headers, and their preflight requests are refused', listed, async (t, service) => {
  for (const origin of ['https://evil.example.com', 'https://app.example.com.evil.com', 'http://app.example.com', 'null', '*']) {
    const question = await ask(service, asking(origin))
    t.match(question, { status: 401, json: { error: { code: 'UNAUTHENTICATED' } } })
    const { status, headers } = await ask(service, { headers: { origin } })
    t.same([status, corsHeaders(headers), corsHeaders(question.headers)], [200, [], []], origin)
    t.match(headers['vary'], /origin/i, 'so that caches keep the answers of origins apart')
  }
  t.same(corsHeaders((await ask(service, {})).headers), [])
  t.match(await ask(service, { method: 'OPTIONS', headers: { origin: ORIGIN } }), { status: 405, headers: { allow: 'POST' } }, 'OPTIONS without the preflight headers is an ordinary request')
  t.match(await ask(service, { method: 'OPTIONS', url: '/api/shop/customers/1' }), { status: 404, json: { error: { code: 'NOT_FOUND' } } })
})

await onEachEngine(t, '"*" allows every origin, without naming it', { ...listed, options: { cors: { origins: ['*'] } } }, async (t, service) => {
  for (const { headers, status } of [await ask(service, asking('https://any.example.com')), await ask(service, { headers: { origin: 'null' } })]) {
    t.ok(status < 300)
    t.equal(headers['access-control-allow-origin'], '*')
    t.notOk('access-control-allow-credentials' in headers)
  }
})

const testShop = sharedOnEachEngine(t, { schema: shop, only })

await testShop('without the setting there are no CORS headers', async (t, service) => {
  const question = await ask(service, asking(ORIGIN))
  t.equal(question.status, 401)
  const { status, headers } = await ask(service, { headers: { origin: ORIGIN } })
  t.same([status, corsHeaders(headers), headers['vary'], corsHeaders(question.headers)], [200, [], 'Accept', []])
})

await testShop('every response disables caching and content type guessing', async (t, service) => {
  for (const answer of [await ask(service, {}), await ask(service, { token: 'wrong' }), await ask(service, { url: '/api/nowhere' }), await ask(service, { method: 'GET' })]) {
    t.match(answer.headers, { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }, String(answer.status))
  }
  t.match(await ask(service, { method: 'GET', url: '/api/openapi.json' }), { headers: { 'cache-control': 'private, no-cache', 'x-content-type-options': 'nosniff' } }, 'a document may be kept and asked about')
})
