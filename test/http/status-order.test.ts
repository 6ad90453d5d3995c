import t from 'tap'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, TOKEN, type PostOptions } from '../support/service.ts'
import { shop } from '../support/shop.ts'
import { hashToken } from '../../src/access/tokens.ts'
import type { TokenOptions } from '../../schemas/options.ts'

const token = (name: string, rest: Partial<TokenOptions>): TokenOptions => ({ name, sha256: hashToken(name), permissions: ['select'], ...rest })
const tokens = [
  token('nowhere', { databases: {} }),
  token('elsewhere', { databases: { shop: ['customers'] } }),
  token('reader', { databases: { shop: ['gone', 'orders', 'order_lines'] } }),
  token('writer', { permissions: ['update', 'delete'], databases: { shop: ['gone', 'orders', 'order_lines'] } })
]

type Step = [status: number, code: string, table: string, body: unknown, options: PostOptions]

const text = { 'content-type': 'text/plain' }
const large = `{"verb":"truncate"${' '.repeat(400)}`
const update = { verb: 'update', data: { customer_id: 99 }, filters: { id: 1 } }

/** Each request has all errors of the later requests, and the error that it is rejected for. */
const steps: Step[] = [
  [401, 'UNAUTHENTICATED', 'gone', large, { token: 'nobody', headers: text }],
  [404, 'DATABASE_NOT_FOUND', 'gone', large, { token: 'nowhere', headers: text }],
  [404, 'TABLE_NOT_FOUND', 'gone', large, { token: 'elsewhere', headers: text }],
  [413, 'BODY_TOO_LARGE', 'gone', large, { token: 'reader' }],
  [415, 'UNSUPPORTED_MEDIA_TYPE', 'gone', '{"verb":"truncate"', { token: 'reader', headers: text }],
  [400, 'INVALID_JSON', 'gone', '{"verb":"truncate"', { token: 'reader' }],
  [400, 'INVALID_BODY', 'gone', { verb: 'truncate' }, { token: 'reader' }],
  [400, 'INVALID_BODY', 'gone', { verb: 'update', data: { nope: 1 }, limit: 1, filters: {} }, { token: 'reader' }],
  [400, 'FILTERS_REQUIRED', 'gone', { verb: 'update', data: { nope: 1 }, filters: {} }, { token: 'reader' }],
  [403, 'PERMISSION_DENIED', 'gone', { verb: 'update', data: { nope: 1 }, filters: { $and: [] } }, { token: 'reader' }],
  [404, 'TABLE_NOT_FOUND', 'gone', { verb: 'update', data: { nope: 1 }, filters: { $and: [] } }, { token: 'writer' }],
  [403, 'PERMISSION_DENIED', 'order_lines', { verb: 'update', data: { nope: 1 }, filters: { $and: [] } }, { token: 'writer' }],
  [400, 'FILTERS_REQUIRED', 'orders', { ...update, filters: { $and: [] } }, { token: 'writer' }],
  [400, 'COLUMN_NOT_FOUND', 'orders', { ...update, data: { ...update.data, nope: 1 } }, { token: 'writer' }],
  [409, 'FOREIGN_KEY_VIOLATION', 'orders', update, { token: 'writer' }]
]

await onEachEngine(t, 'a request with several errors is answered with the first one in the documented order', { schema: shop, tokens, options: { bodyLimit: 200 } }, async (t, { post, statements }) => {
  statements()
  for (const [status, code, table, body, options] of steps) {
    isRefusal(t, await post(table, body, options), { status, code, why: `${options.token}: ${JSON.stringify(body).slice(0, 80)}` })
    t.equal(statements().length, status === 409 ? 1 : 0, 'the database is asked last')
  }
})

await onEachEngine(t, 'an unknown path is rejected after the token and before the body', { schema: shop }, async (t, { server, post }) => {
  const send = async (headers: Record<string, string>) => (await server.app.inject({ method: 'POST', url: '/api/shop', headers: { 'content-type': 'application/json', ...headers }, payload: '{' })).statusCode
  t.equal(await send({}), 401)
  t.equal(await send({ authorization: 'Bearer nobody' }), 401)
  isRefusal(t, await post('customers/1', '{', { headers: { 'content-type': 'text/plain' }, method: 'GET' }), { status: 405, code: 'METHOD_NOT_ALLOWED', why: 'a method comes before the body too' })
})

await onEachEngine(t, 'a path that cannot be decoded was once 404 without a token, and its failed logins were not counted', { schema: shop, only: ['sqlite'], options: { failedLogins: { max: 2 } } }, async (t, { server }) => {
  const paths = ['/api/shop/%', '/api/shop/%zz', '/api/%ff/customers', '/api/%c3%28', `/api/shop/${'x'.repeat(2000)}`, 'http://elsewhere/api/shop/%zz?a=%', '/api/shop/customers/%']
  const send = async (url: string, authorization?: string, method: 'POST' | 'GET' = 'POST') => {
    const { statusCode, headers, json } = await server.app.inject({ method, url, headers: { 'content-type': 'application/json', ...authorization !== undefined && { authorization } }, ...method === 'POST' && { payload: '{' } })
    t.match(headers, { 'x-request-id': String, 'content-type': 'application/json; charset=utf-8' })
    return [statusCode, json().error.code]
  }
  for (const url of paths) {
    t.same(await send(url, `Bearer ${TOKEN}`), [404, 'NOT_FOUND'], url)
    t.same(await send(url, `Bearer ${TOKEN}`, 'GET'), [404, 'NOT_FOUND'], url)
    t.same(await send(url), [401, 'UNAUTHENTICATED'], url)
  }
  t.same(await send('/elsewhere/%zz'), [404, 'NOT_FOUND'], 'outside the prefix, as every path')
  for (let count = 0; count < 2; count++) t.same(await send('/api/shop/%zz', 'Bearer wrong'), [401, 'UNAUTHENTICATED'])
  t.same(await send('/api/shop/%zz', 'Bearer wrong'), [429, 'RATE_LIMITED'])
})
