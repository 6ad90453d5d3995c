import t from 'tap'
import type { TokenOptions } from '../../schemas/options.ts'
import { VERBS } from '../../schemas/grant.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { onEachEngine, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const token = (name: string, rest: Omit<TokenOptions, 'name' | 'sha256'>): TokenOptions => ({ name, sha256: hashToken(name), ...rest })
const everything = [...VERBS]

const tokens: TokenOptions[] = [
  ...VERBS.map((verb) => token(`only-${verb}`, { permissions: [verb] })),
  token('select-and-insert', { permissions: ['select', 'insert'] }),
  token('shop', { permissions: everything, databases: { shop: '*' } }),
  token('two-tables', { permissions: ['select'], databases: { shop: ['customers', 'not_there'] } }),
  token('nowhere', { permissions: everything, databases: {} }),
  token('expired', { permissions: everything, expires: '2020-01-01' }),
  token('not-yet-expired', { permissions: everything, expires: '2999-12-31T23:59:59+02:00' })
]

const bodies = {
  select: { verb: 'select' },
  insert: { verb: 'insert', data: {} },
  update: { verb: 'update', data: { note: 'x' }, filters: { id: 1 } },
  delete: { verb: 'delete', filters: { id: 1 } }
}

const testShop = sharedOnEachEngine(t, { schema: shop, tokens })

await testShop('a token may use only the verbs of its permissions', async (t, { post, statements }) => {
  const allowed: Array<[token: string, verbs: readonly string[]]> = [
    ...VERBS.map((verb): [string, string[]] => [`only-${verb}`, [verb]]),
    ['select-and-insert', ['select', 'insert']],
    ['shop', everything],
    ['not-yet-expired', everything]
  ]
  for (const [token, verbs] of allowed) {
    for (const verb of VERBS) {
      statements()
      const { status, json } = await post('settings', bodies[verb], { token })
      t.equal(status, verbs.includes(verb) ? 200 : 403, `${token}: ${verb}`)
      if (status === 200) continue
      t.match(json, { success: false, data: {}, error: { code: 'PERMISSION_DENIED', message: `The token does not have the permission ${verb}`, details: [] } })
      t.same(statements(), [])
    }
  }
})

await testShop('a token for named tables may use these tables', async (t, { post }) => {
  t.equal((await post('customers', { verb: 'select' }, { token: 'two-tables' })).status, 200)
  t.equal((await post('customers', bodies.delete, { token: 'two-tables' })).status, 403)
  t.equal((await post('not_there', { verb: 'select' }, { token: 'two-tables' })).json.error.code, 'TABLE_NOT_FOUND')
})

await testShop('a database or table without permissions looks like one that does not exist', async (t, { post, statements }) => {
  statements()
  const answerTo = async (table: string, body: unknown, options: { token: string, database?: string }) => {
    const { status, text, headers } = await post(table, body, { ...options, headers: { 'x-request-id': 'same' } })
    return { status, text: text.replaceAll(table, '?').replaceAll(options.database ?? 'shop', '?'), headers: { ...headers, date: '' } }
  }
  for (const body of [{ verb: 'select' }, bodies.delete, { verb: 'no verb' }, 'no JSON', '']) {
    const what = JSON.stringify(body)
    const hidden = await answerTo('orders', body, { token: 'two-tables' })
    t.match(hidden, { status: 404, text: /"TABLE_NOT_FOUND"/ }, what)
    t.same(await answerTo('xrders', body, { token: 'two-tables' }), hidden, `table: ${what}`)

    const elsewhere = await answerTo('customers', body, { token: 'nowhere' })
    t.match(elsewhere, { status: 404, text: /"DATABASE_NOT_FOUND"/ }, what)
    t.same(await answerTo('customers', body, { token: 'nowhere', database: 'xhop' }), elsewhere, `database: ${what}`)
    t.same(await answerTo('customers', body, { token: 'shop', database: 'xhop' }), elsewhere, `database that nobody has: ${what}`)
  }
  t.same(statements(), [])
})

await testShop('the response for a table without permissions equals that for a missing table', async (t, { post }) => {
  const hidden = await post('orders', { verb: 'select' }, { token: 'two-tables' })
  const missing = await post('gone', { verb: 'select' }, { token: 'shop' })
  t.equal(hidden.status, missing.status)
  t.equal(hidden.text.replace('orders', 'gone'), missing.text)
})

const refused: Array<[why: string, headers: Record<string, string>]> = [
  ['an unknown token', { authorization: 'Bearer nobody' }],
  ['an expired token', { authorization: 'Bearer expired' }],
  ['a token in another case', { authorization: 'Bearer SHOP' }],
  ['the hash of a token', { authorization: `Bearer ${hashToken('shop')}` }],
  ['a token followed by other text', { authorization: 'Bearer shop shop' }],
  ['a scheme without a token', { authorization: 'Bearer ' }],
  ['the name of a property', { authorization: 'Bearer __proto__' }]
]

await testShop('a request without a valid token is refused before any other check', async (t, { post, statements }) => {
  statements()
  for (const [why, headers] of refused) {
    for (const [table, database] of [['customers', 'shop'], ['nope', 'shop'], ['nope', 'nope']] as const) {
      const answer = await post(table, 'not JSON', { token: null, headers, database })
      t.equal(answer.status, 401, why)
      t.equal(answer.headers['www-authenticate'], 'Bearer error="invalid_token"', why)
      t.same(answer.json, { success: false, data: {}, error: { code: 'UNAUTHENTICATED', message: 'The token is not valid', details: [] } }, why)
    }
  }
  const none = await post('customers', { verb: 'select' }, { token: null })
  t.equal(none.status, 401)
  t.equal(none.headers['www-authenticate'], 'Bearer', 'no error code without a token (RFC 6750, section 3)')
  t.equal(none.json.error.code, 'UNAUTHENTICATED')
  t.same(statements(), [])
})

await testShop('the scheme of the header may be in any case', async (t, { post }) => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    t.equal((await post('customers', { verb: 'select' }, { token: null, headers: { authorization: `${scheme} shop` } })).status, 200, scheme)
  }
})

await onEachEngine(t, 'a service without tokens refuses every request', { schema: shop, options: { tokens: [] } }, async (t, { post }) => {
  for (const token of ['', 'undefined', 'null', 'any']) t.equal((await post('customers', { verb: 'select' }, { token })).status, 401, token)
})
