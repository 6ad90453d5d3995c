/** Whose an Idempotency-Key is: a token's, a subject's of an issuer, or a caller's of an app. */
import Fastify from 'fastify'
import t from 'tap'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { rowQuery, type HostGrant } from '../../src/index.ts'
import { tokenFor } from '../support/documents.ts'
import { createPair, jwtSetting, serveKeys, sign } from '../support/issuer.ts'
import { isRefusal } from '../support/refusals.ts'
import { type EngineName, onEachEngine, sharedOnEachEngine } from '../support/service.ts'

const pair = await createPair('one')
const keys = await serveKeys(t, [pair.jwk])
const OTHER_ISSUER = 'https://other.example.com'

const schema = (engine: EngineName): string[] => [
  `create table orders (id ${engine === 'sqlite' ? 'integer primary key autoincrement' : 'bigint auto_increment primary key'}, tenant varchar(20), note varchar(20))`,
  ...(engine === 'sqlite' ? CREATE.sqlite.split(';').map((sql) => sql.trim()).filter((sql) => sql !== '') : [CREATE.mysql])
]
const databases = { shop: { orders: { rows: { tenant: { $claim: '/tenant' } } } } }
const permissions = ['select' as const, 'insert' as const]
const options = {
  jwt: [jwtSetting({ jwks: keys.url }), jwtSetting({ issuer: OTHER_ISSUER, jwks: keys.url })],
  roles: { reader: { permissions, databases }, clerk: { permissions, databases }, auditor: { permissions: ['select' as const], databases } }
}
const insert = { verb: 'insert', data: { note: 'new' } }
const headers = { 'idempotency-key': 'a' }

const test = sharedOnEachEngine(t, { schema, options })

await test('the key of a JWT belongs to its issuer and subject', async (t, { post, sql }) => {
  const send = async (claims: Record<string, unknown>) => await post('orders', insert, { headers, token: await sign(pair, { tenant: 'acme', ...claims }) })
  t.match((await send({})).json.data, { id: 1 })
  for (const claims of [{ exp: 4_000_000_000 }, { role: ['clerk'] }, { jti: 'another token', name: 'Ada' }]) {
    const again = await send(claims)
    t.match([again.json.data, again.headers['idempotency-replayed']], [{ id: 1 }, 'true'], `another token of the subject: ${JSON.stringify(claims)}`)
  }
  t.match((await send({ sub: 'user-2' })).json.data, { id: 2 }, 'another subject')
  t.match((await send({ iss: OTHER_ISSUER })).json.data, { id: 3 }, 'the same subject of another issuer')
  isRefusal(t, await send({ tenant: 'zeta' }), { status: 422, code: 'IDEMPOTENCY_KEY_REUSED', why: 'claims that a rule uses are a part of the request' })
  isRefusal(t, await send({ role: 'auditor' }), { status: 403, code: 'PERMISSION_DENIED', why: 'it is authorized anew' })
  t.same((await sql('select tenant from orders order by id')).map(({ tenant }) => tenant), ['acme', 'acme', 'acme'])
})

await test('a JWT without a subject cannot use keys', async (t, { post, sql }) => {
  for (const sub of [undefined, '', null, 7, ['user-1']]) {
    const token = await sign(pair, { tenant: 'acme', sub })
    isRefusal(t, await post('orders', insert, { headers, token }), { status: 422, code: 'NOT_SUPPORTED', why: JSON.stringify(sub) ?? 'no sub' })
    t.match(await post('orders', { verb: 'select' }, { headers, token }), { status: 200 }, 'which are ignored on reads')
  }
  t.equal((await sql('select id from orders')).length, 0)
})

await onEachEngine(t, 'a token and a caller of an app with the same name have keys of their own', { schema }, async (t, { url }) => {
  const app = Fastify()
  t.teardown(() => app.close())
  await app.register(rowQuery, {
    databases: { shop: { url } },
    tokens: [tokenFor('ada', ['insert'])],
    authenticate: ({ headers }): HostGrant => ({ name: String(headers['x-user']), permissions: ['insert'], databases: '*' })
  })
  const idOf = async (more: Record<string, string>): Promise<number> => (await app.inject({ method: 'POST', url: '/shop/orders', headers: { ...headers, ...more }, payload: insert })).json().data.id
  t.equal(await idOf({ authorization: 'Bearer ada' }), 1)
  t.equal(await idOf({ 'x-user': 'ada' }), 2)
  t.equal(await idOf({ 'x-user': 'grace' }), 3)
  t.same([await idOf({ 'x-user': 'ada' }), await idOf({ authorization: 'Bearer ada' })], [2, 1])
})
