/** Claims of tokens and JWTs are exact: a rule compares them to the last digit. */
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { splitConfig } from '../../src/config/split-config.ts'
import { hashToken } from '../../src/access/tokens.ts'
import { AUDIENCE, createPair, ISSUER, jwtSetting, serveKeys, signText } from '../support/issuer.ts'
import { isRefusal } from '../support/refusals.ts'
import { onEachEngine, startService } from '../support/service.ts'

const pair = await createPair('one')
const keys = await serveKeys(t, [pair.jwk])

/** Values that a double cannot tell apart, or that text could be confused with. */
const stored = ['9007199254740992', '9007199254740993', '9223372036854775806', '9223372036854775807', '-9223372036854775808', '0', '1']
const sizes = ['create table sizes (tenant double not null primary key)', 'insert into sizes values (9007199254740992), (0.1)']
const schema = {
  mysql: [...sizes, 'create table things (tenant bigint not null primary key)', `insert into things values ${stored.map((value) => `(${value})`).join()}`],
  sqlite: [...sizes, 'create table things (tenant bigint not null primary key)', `insert into things values ${stored.map((value) => `(${value})`).join()}`]
}
const rule = { rows: { tenant: { $claim: '/app/tenant' } } }
const databases = { shop: { things: rule, sizes: rule } }
const roles = { reader: { permissions: ['select' as const], databases } }
const select = { verb: 'select' }
const jwtWith = (tenant: string): Promise<string> => signText(pair, `{"iss":"${ISSUER}","aud":"${AUDIENCE}","exp":4000000000,"role":"reader","app":{"tenant":${tenant}}}`)

await onEachEngine(t, 'numbers in the claims of a JWT are exact to 64 bits', { schema, options: { jwt: [jwtSetting({ jwks: keys.url })], roles } }, async (t, { post }) => {
  for (const value of stored) t.match((await post('things', select, { token: await jwtWith(value) })).text, `"rows":[{"tenant":${value}}]`, value)
  t.match((await post('things', select, { token: await jwtWith('"9007199254740993"') })).text, '"rows":[{"tenant":9007199254740993}]', 'as text')
  t.match((await post('things', select, { token: await jwtWith('9007199254740994') })).text, '"rows":[]')
  for (const value of ['null', '[1]', '{"a":1}', '{"rawJSON":"1"}', '1.5', '9223372036854775808', '"x"']) {
    isRefusal(t, await post('things', select, { token: await jwtWith(value) }), { status: 403, code: 'PERMISSION_DENIED', why: value })
  }
  for (const value of ['0.1', '0.10', '9007199254740992']) t.match((await post('sizes', select, { token: await jwtWith(value) })).json, { data: { count: 1 } }, value)
  for (const value of ['9007199254740993', '0.10000000000000000001']) {
    isRefusal(t, await post('sizes', select, { token: await jwtWith(value) }), { status: 403, code: 'PERMISSION_DENIED', why: `a double: ${value}` })
  }
})

await onEachEngine(t, 'numbers in the claims of a configuration file are exact to 64 bits', { schema }, async (t, { url }) => {
  const entries = stored.map((value, index) => JSON.stringify({ name: `token-${index}`, sha256: hashToken(`token-${index}`), permissions: ['select'], databases, claims: { app: { tenant: 'VALUE' } } }).replace('"VALUE"', value))
  const folder = t.testdir({})
  const path = `${folder}/row-query.json`
  writeFileSync(`${folder}/tokens.json`, `[${entries.slice(1)}]`)
  writeFileSync(path, `{"databases":{"shop":{"url":${JSON.stringify(url)}}},"tokensFile":"${folder}/tokens.json","tokens":[${entries[0]}]}`)
  const { options } = splitConfig(loadConfig({}, { config: path }).config)
  const { post } = await startService(t, url, { options })
  for (const [index, value] of stored.entries()) t.match((await post('things', select, { token: `token-${index}` })).text, `"rows":[{"tenant":${value}}]`, value)
})
