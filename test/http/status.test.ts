import { METHODS } from 'node:http'
import t from 'tap'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, sharedOnEachEngine, TOKEN } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { hashToken } from '../../src/access/tokens.ts'
import type { TokenOptions } from '../../schemas/options.ts'
import { startUnforeseen, unforeseen } from '../support/unforeseen.ts'
import { listen, request } from '../support/wire.ts'

const token = (name: string, rest: Partial<TokenOptions>): TokenOptions => ({ name, sha256: hashToken(name), permissions: ['select'], ...rest })
const tokens = [
  token('expired', { expires: '2020-01-01' }),
  token('reader', {}),
  token('orders-only', { permissions: ['select', 'insert', 'update', 'delete'], databases: { shop: ['orders', 'gone'] } }),
  token('nowhere', { databases: {} })
]

const select = { verb: 'select' }

const unauthenticated: Array<[why: string, authorization: string | undefined, challenge: string]> = [
  ['no token', undefined, 'Bearer'],
  ['another scheme, which is no token (RFC 6750, section 3)', `Basic ${TOKEN}`, 'Bearer'],
  ['a scheme that begins like the right one', `Bearers ${TOKEN}`, 'Bearer'],
  ['a token without a scheme', TOKEN, 'Bearer'],
  ['a token that nobody was given', 'Bearer nobody', 'Bearer error="invalid_token"'],
  ['an expired token', 'Bearer expired', 'Bearer error="invalid_token"'],
  ['no token behind the scheme', 'Bearer', 'Bearer error="invalid_token"'],
  ['two tokens', `Bearer ${TOKEN} ${TOKEN}`, 'Bearer error="invalid_token"'],
  ['a token in quotes', `Bearer "${TOKEN}"`, 'Bearer error="invalid_token"'],
  ['a token with a comma', `Bearer ${TOKEN},`, 'Bearer error="invalid_token"'],
  ['half of a token', `Bearer ${TOKEN.slice(0, -1)}`, 'Bearer error="invalid_token"'],
  ['the hash of a token', `Bearer ${hashToken(TOKEN)}`, 'Bearer error="invalid_token"'],
  ['bytes that are no ASCII', 'Bearer t\xf6ken', 'Bearer error="invalid_token"']
]

const testShop = sharedOnEachEngine(t, { schema: shop, tokens })

await testShop('401 without a valid token, with a challenge that says so', async (t, { post, statements }) => {
  statements()
  for (const [why, authorization, challenge] of unauthenticated) {
    const answer = await post('customers', select, { token: null, ...(authorization !== undefined && { headers: { authorization } }) })
    isRefusal(t, answer, { status: 401, code: 'UNAUTHENTICATED', why })
    t.equal(answer.headers['www-authenticate'], challenge, why)
  }
  t.same(statements(), [])
})

await testShop('403 if the token lacks the permission for the verb', async (t, { post, statements }) => {
  statements()
  for (const body of [{ verb: 'insert', data: {} }, { verb: 'update', data: { name: 'x' }, filters: { id: 1 } }, { verb: 'delete', filters: { id: 1 } }]) {
    const answer = await post('customers', body, { token: 'reader' })
    isRefusal(t, answer, { status: 403, code: 'PERMISSION_DENIED', why: body.verb })
    t.equal(answer.json.error.message, `The token does not have the permission ${body.verb}`)
    t.same(answer.json.error.details, [])
  }
  t.same(statements(), [])
  t.equal((await post('customers', select, { token: 'reader' })).status, 200)
})

await testShop('404 for a missing database or table, and exactly the same answer for one on which the token has no permission', async (t, { post }) => {
  const pairs: Array<[code: string, forbidden: Parameters<typeof post>, missing: Parameters<typeof post>]> = [
    ['TABLE_NOT_FOUND', ['products', select, { token: 'orders-only' }], ['pr0ducts', select, { token: 'orders-only' }]],
    ['TABLE_NOT_FOUND', ['products', select, { token: 'orders-only' }], ['pr0ducts', select]],
    ['TABLE_NOT_FOUND', ['products', '{', { token: 'orders-only' }], ['pr0ducts', '{', { token: 'orders-only' }]],
    ['DATABASE_NOT_FOUND', ['products', select, { token: 'nowhere' }], ['products', select, { token: 'nowhere', database: 'sh0p' }]],
    ['DATABASE_NOT_FOUND', ['products', select, { token: 'nowhere' }], ['products', select, { database: 'sh0p' }]],
    ['DATABASE_NOT_FOUND', ['products', '{', { token: 'nowhere' }], ['products', '{', { token: 'nowhere', database: 'sh0p' }]]
  ]
  for (const [code, forbidden, missing] of pairs) {
    const [one, two] = [await post(...forbidden), await post(...missing)]
    isRefusal(t, one, { status: 404, code, why: JSON.stringify(forbidden) })
    isRefusal(t, two, { status: 404, code, why: JSON.stringify(missing) })
    const bare = ({ headers: { date, 'x-request-id': id, ...headers }, text }: typeof one): unknown => [headers, text.replace('pr0ducts', 'products').replace('sh0p', 'shop')]
    t.strictSame(bare(one), bare(two), code)
  }
})

await testShop('404 for a missing table on which the token has permissions', async (t, { post }) => {
  isRefusal(t, await post('gone', select, { token: 'orders-only' }), { status: 404, code: 'TABLE_NOT_FOUND', why: 'gone' })
})

await onEachEngine(t, '405 for every other method, with the allowed method', { schema: shop }, async (t, service) => {
  const wire = await listen(service)
  service.statements()
  for (const method of METHODS.filter((method) => method !== 'POST')) {
    // CONNECT names a host in place of a path: it asks for a tunnel
    const target = method === 'CONNECT' ? 'shop:3306' : '/api/shop/customers'
    const [answer] = await wire.send(request({ start: `${method} ${target} HTTP/1.1`, ...(method === 'HEAD' && { body: '' }) }))
    t.equal(answer?.status, 405, method)
    t.match(answer?.headers, { allow: 'POST', connection: 'close' }, method)
    if (answer !== undefined && method !== 'HEAD') isRefusal(t, answer, { status: 405, code: 'METHOD_NOT_ALLOWED', why: method })
  }
  t.same(service.statements(), [])
})

await onEachEngine(t, '413 and 415 for a body that is too large or not JSON', { schema: shop, options: { bodyLimit: 100 } }, async (t, { post }) => {
  isRefusal(t, await post('customers', { verb: 'select', orderBy: 'x'.repeat(100) }), { status: 413, code: 'BODY_TOO_LARGE', why: 'too large' })
  isRefusal(t, await post('customers', select, { headers: { 'content-type': 'text/plain' } }), { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', why: 'text' })
})

await onEachEngine(t, '429 for requests of a token beyond its limit in a window', { schema: shop, tokens, options: { rateLimit: { max: 2, window: 30_000 } } }, async (t, { post, statements }) => {
  for (const remaining of ['1', '0']) {
    const { status, headers } = await post('customers', select)
    t.match([status, headers], [200, { 'ratelimit-limit': '2', 'ratelimit-remaining': remaining, 'ratelimit-reset': /^\d+$/ }])
  }
  statements()
  const answer = await post('customers', select)
  isRefusal(t, answer, { status: 429, code: 'RATE_LIMITED', why: 'the third' })
  t.match(answer.headers, { 'ratelimit-limit': '2', 'ratelimit-remaining': '0', 'ratelimit-reset': /^\d+$/, 'retry-after': /^\d+$/ })
  t.ok(Number(answer.headers['retry-after']) > 0 && Number(answer.headers['retry-after']) <= 30)
  t.same(statements(), [])
})

await onEachEngine(t, '500 for an unexpected error, which the log contains with its stack and the request id', { schema: unforeseen }, async (t, service) => {
  const { post, log } = await startUnforeseen(t, service)
  const answer = await post('unforeseen', { verb: 'insert', data: { a: 1 } }, { headers: { 'x-request-id': 'find me' } })
  isRefusal(t, answer, { status: 500, code: 'INTERNAL', why: 'a statement that cannot be parsed' })
  t.equal(answer.headers['x-request-id'], 'find me')
  t.notOk('retry-after' in answer.headers)
  const [event] = log.map((line) => JSON.parse(line)).filter(({ level }) => level >= 50)
  t.match(event, { requestId: 'find me', err: { type: 'UnknownDatabaseError', message: /^unexpected database error (1|1064)$/, stack: /\n +at / } })
  t.notMatch(log.join(''), /syntax|bm25/)
  t.match(await service.sql('select count(*) as count from unforeseen'), [{ count: 0 }])
})
