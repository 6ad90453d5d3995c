/**
 * Claims in rules: what can be used, what is refused, and that they are exact; the configuration with JWTs in
 * docs/jwt.md works as it stands there.
 */
import { writeFileSync } from 'node:fs'
import t from 'tap'
import type { TokenOptions } from '../../schemas/options.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { loadConfig, splitConfig } from '../../src/config/load.ts'
import { numberedId } from '../support/definitions.ts'
import { AUDIENCE, createPair, ISSUER, jwtSetting, serveKeys, sign, signText } from '../support/issuer.ts'
import { codeBlocks, readDocument } from '../support/markdown.ts'
import { isRefusal } from '../support/refusals.ts'
import { type EngineName, onEachEngine, startService, sharedOnEachEngine, type Schema } from '../support/service.ts'
import { tenants, tokenFor } from './support.ts'

const claim = (pointer: string) => ({ orders: { rows: { tenant: { $claim: pointer } } } })
const number = (pointer: string) => ({
  orders: { rows: { id: { $claim: pointer } } }, nowhere: { rows: { id: { $claim: pointer } } }
})

const used: Array<[why: string, token: TokenOptions, ids: number[]]> = [
  ['a text', tokenFor('text', claim('/tenant'), { tenant: 'acme' }), [1, 2, 3]],
  ['a claim in an object and a list', tokenFor('deep', claim('/org/names/1'), { org: { names: ['x', 'zeta'] } }), [
    4, 5, 6
  ]],
  ['a pointer with escapes', tokenFor('escaped', claim('/a~1b/m~0n'), { 'a/b': { 'm~n': 'acme' } }), [1, 2, 3]],
  [
    'a claim that is called like what every object has',
    tokenFor('proto', claim('/__proto__/constructor'), JSON.parse('{"__proto__": {"constructor": "acme"}}')), [1, 2, 3]
  ],
  ['a number', tokenFor('number', number('/id'), { id: 5 }), [5]],
  ['digits for an integer', tokenFor('digits', number('/id'), { id: '5' }), [5]],
  ['a text that only the collation finds equal', tokenFor('other', claim('/tenant'), { tenant: 'Acme' }), []],
  ['a text with spaces at the end', tokenFor('spaces', claim('/tenant'), { tenant: 'acme ' }), []],
  ['an empty text', tokenFor('empty', claim('/tenant'), { tenant: '' }), []],
  ['several claims', tokenFor('several', {
    orders: { rows: { tenant: [{ $claim: '/tenant' }, 'zeta'], id: { $gte: { $claim: '/least' } } } }
  }, { tenant: 'acme', least: 3 }), [3, 4, 5, 6]]
]

const refused: Array<[why: string, token: TokenOptions]> = [
  ['no claims', tokenFor('none', claim('/tenant'))],
  ['a claim that is missing', tokenFor('missing', claim('/tenant'), { other: 'acme' })],
  ['null', tokenFor('null', claim('/tenant'), { tenant: null })],
  ['a list', tokenFor('list', claim('/tenant'), { tenant: ['acme'] })],
  ['an object', tokenFor('object', claim('/tenant'), { tenant: { name: 'acme' } })],
  ['a text where an object is expected', tokenFor('flat', claim('/tenant/name'), { tenant: 'acme' })],
  ['what every object inherits', tokenFor('inherited', claim('/constructor/name'), {})],
  ['a text that is no number', tokenFor('word', number('/id'), { id: 'five' })],
  ['a number for a text', tokenFor('seven', claim('/tenant'), { tenant: 7 })],
  ['a number that has been rounded', tokenFor('rounded', number('/id'), { id: 2 ** 53 })],
  ['a fraction for an integer', tokenFor('fraction', number('/id'), { id: 1.5 })],
  ['a text that is too long', tokenFor('long', claim('/tenant'), { tenant: 'x'.repeat(21) })],
  ['one of several', tokenFor('one', { orders: { rows: { tenant: ['acme', { $claim: '/tenant' }] } } }, {})]
]

const test = sharedOnEachEngine(t, { schema: tenants, tokens: [...used, ...refused].map(([, token]) => token) })

await test('a rule has the value of a claim', async (t, { post }) => {
  for (const [why, { name }, ids] of used) {
    const { status, json } = await post('orders', { verb: 'select', columns: ['id'], orderBy: 'id' }, { token: name })
    t.same([status, json.data.rows?.map(({ id }: { id: number }) => id)], [200, ids], why)
  }
})

await test('a claim that cannot be used is 403, for every verb', async (t, { post, engine, statements }) => {
  statements()
  const bodies = [
    { verb: 'select' }, { verb: 'insert', data: {} }, { verb: 'insert', data: [{}, {}] },
    { verb: 'update', data: { total: 1 }, filters: { id: 1 } }, { verb: 'delete', filters: { id: 1 } }
  ]
  for (const [why, { name }] of refused) {
    if (why === 'a text that is too long' && engine === 'sqlite') continue // SQLite has no lengths
    for (const body of name === 'missing' ? bodies : bodies.slice(0, 1)) {
      const { status, json } = await post('orders', body, { token: name })
      t.match(
        { status, ...json.error }, { status: 403, code: 'PERMISSION_DENIED', details: [] }, `${why}: ${body.verb}`
      )
    }
  }
  t.equal((await post('orders', { verb: 'delete' }, { token: 'missing' })).status, 400, 'the body is checked before')
  t.same(statements(), [], 'no statement runs')
  t.equal(
    (await post('nowhere', { verb: 'select' }, { token: 'rounded' })).status, 403, 'before a table that is not there'
  )
})

/** A column, a claim that it stores, and others that it stores as another value, or not at all. */
const stored: Array<[declaration: string, claim: unknown, ...others: unknown[]]> = [
  ['char(5)', 'ab', 'ab ', 'ab   '],
  ['float', 16777216, 16777217, 16777215.5, '0'],
  ['float', 0.1, 0.10000000149, 0.1000000001],
  ['float(12,3)', 1234567.9, 1234567.875, 1234567.891],
  ['double', 0.1, '0.1'],
  ['binary(4)', 'YWIAAA==', 'YWI=', 'YWIA'],
  ['bit(5)', '00101', '101', '0101'],
  ['varchar(10) character set latin1', 'é€', '😀', 'ł', 'é😀'],
  ['varchar(10) character set ascii', 'e', 'é'],
  ['varchar(10) character set utf8mb3', 'ł', 'ł😀'],
  ['varchar(10) character set latin2', 'ł', '😀'],
  ["enum('😀','b') character set utf8mb4 collate utf8mb4_general_ci", 'b', '😁', '😀']
]
const storedTokens = stored.flatMap(([, ...claims], index) =>
  claims.map((k, place) => tokenFor(`c${index}-${place}`, { [`c${index}`]: { rows: { k: { $claim: '/k' } } } }, { k })))
const isOn = (engine: EngineName, declaration: string): boolean => engine !== 'sqlite' || declaration === 'double'

await onEachEngine(t, 'a claim that a column would store as another value is refused', {
  schema: (engine) => stored.flatMap(([declaration], index) => isOn(engine, declaration)
    ? [`create table c${index} (k ${declaration} not null, n int)`]
    : []),
  tokens: storedTokens
}, async (t, { post, sql, engine }) => {
  for (const [index, [declaration, ...claims]] of stored.entries()) {
    if (!isOn(engine, declaration)) continue // SQLite has no lengths and no character sets
    const table = `c${index}`
    for (const [place, claim] of claims.entries()) {
      const isStored = place === 0
      const options = { token: `${table}-${place}` }
      t.equal((await post(table, { verb: 'insert', data: { n: place } }, options)).status, isStored
        ? 200
        : 403, `${declaration}: ${claim} is ${isStored ? 'stored' : 'refused'}`)
      const seen = await post(table, { verb: 'select' }, options)
      t.match([seen.status, seen.json.data.rows], isStored
        ? [200, [{ k: claim, n: 0 }]]
        : [403, undefined], `${declaration}: ${claim} sees ${isStored ? 'its row' : 'nothing'}`)
    }
    t.same((await sql(`select n from ${table}`)).map(({ n }) => n), [0])
  }
})

const pair = await createPair('one')
const keys = await serveKeys(t, [pair.jwk])

/** Values that a double cannot tell apart, or that text could be confused with. */
const exact = [
  '9007199254740992', '9007199254740993', '9223372036854775806', '9223372036854775807', '-9223372036854775808', '0', '1'
]
const schema: Schema = () => [
  'create table sizes (tenant double not null primary key)', 'insert into sizes values (9007199254740992), (0.1)',
  'create table things (tenant bigint not null primary key)',
  `insert into things values ${exact.map((value) => `(${value})`).join()}`
]
const rule = { rows: { tenant: { $claim: '/app/tenant' } } }
const databases = { shop: { things: rule, sizes: rule } }
const roles = { reader: { permissions: ['select' as const], databases } }
const select = { verb: 'select' }
const jwtWith = (tenant: string): Promise<string> =>
  signText(pair, `{"iss":"${ISSUER}","aud":"${AUDIENCE}","exp":4000000000,"role":"reader","app":{"tenant":${tenant}}}`)

const testExact = sharedOnEachEngine(t, { schema, options: { jwt: [jwtSetting({ jwks: keys.url })], roles } })

await testExact('numbers in the claims of a JWT are exact to 64 bits', async (t, { post }) => {
  for (const value of exact) {
    t.match((await post('things', select, { token: await jwtWith(value) })).text, `"rows":[{"tenant":${value}}]`, value)
  }
  t.match(
    (await post('things', select, { token: await jwtWith('"9007199254740993"') })).text,
    '"rows":[{"tenant":9007199254740993}]', 'as text'
  )
  t.match((await post('things', select, { token: await jwtWith('9007199254740994') })).text, '"rows":[]')
  for (const value of ['null', '[1]', '{"a":1}', '{"rawJSON":"1"}', '1.5', '9223372036854775808', '"x"']) {
    isRefusal(t, await post('things', select, { token: await jwtWith(value) }), {
      status: 403, code: 'PERMISSION_DENIED', why: value
    })
  }
  for (const value of ['0.1', '0.10', '9007199254740992']) {
    t.match((await post('sizes', select, { token: await jwtWith(value) })).json, { data: { count: 1 } }, value)
  }
  for (const value of ['9007199254740993', '0.10000000000000000001']) {
    isRefusal(t, await post('sizes', select, { token: await jwtWith(value) }), {
      status: 403, code: 'PERMISSION_DENIED', why: `a double: ${value}`
    })
  }
})

await testExact('numbers in the claims of a configuration file are exact to 64 bits', async (t, { url }) => {
  const entries = exact.map((value, index) => JSON.stringify({
    name: `token-${index}`,
    sha256: hashToken(`token-${index}`),
    permissions: ['select'],
    databases,
    claims: { app: { tenant: 'VALUE' } }
  }).replace('"VALUE"', value))
  const folder = t.testdir({})
  const path = `${folder}/row-query.json`
  writeFileSync(`${folder}/tokens.json`, `[${entries.slice(1)}]`)
  const databasesText = `{"shop":{"url":${JSON.stringify(url)}}}`
  writeFileSync(
    path, `{"databases":${databasesText},"tokensFile":"${folder}/tokens.json","tokens":[${entries[0]}]}`
  )
  const { options } = splitConfig(loadConfig({}, { config: path }).config)
  const { post } = await startService(t, url, { options })
  for (const [index, value] of exact.entries()) {
    t.match((await post('things', select, { token: `token-${index}` })).text, `"rows":[{"tenant":${value}}]`, value)
  }
})

const grantsDocSchema: Schema = (engine) => [
  `create table orders (${numberedId(engine, 'bigint')}, tenant varchar(20) not null)`,
  "insert into orders (id, tenant) values (1, 'acme'), (2, 'zeta')"
]
const grantsDocPair = await createPair('one', 'RS256')
const grantsDocKeys = await serveKeys(t, [grantsDocPair.jwk])

await onEachEngine(t, 'the roles of the example see their rows', { schema: grantsDocSchema }, async (t, { url }) => {
  const text = codeBlocks(readDocument('docs/jwt.md')).find(({ kind }) => kind === 'json jwt')?.text as string
  const path = `${t.testdir({})}/row-query.json`
  writeFileSync(path, text.replace('mysql://shop:secret@127.0.0.1:3306/shop', url).replace(
    'https://login.example.com/.well-known/jwks.json', grantsDocKeys.url
  ))
  const { post } = await startService(t, url, { options: splitConfig(loadConfig({}, { config: path }).config).options })
  const select = { verb: 'select', columns: ['id'], orderBy: 'id' }
  const rowsOf = async (claims: object): Promise<unknown> =>
    (await post('orders', select, { token: await sign(grantsDocPair, { aud: 'shop-rows', ...claims }) })).json.data.rows
  t.same(await rowsOf({ role: 'clerk', tenant: 'acme' }), [{ id: 1 }])
  t.same(await rowsOf({ role: ['guest', 'clerk'], tenant: 'zeta' }), [{ id: 2 }])
  t.same(await rowsOf({ role: 'auditor' }), [{ id: 1 }, { id: 2 }])
  t.match(await post('orders', select, { token: await sign(grantsDocPair, { aud: 'shop-rows', role: 'clerk' }) }), {
    status: 403
  })
})
