// night: fills the buffers of sockets
/** How many streams run at a time: of one caller, and of all callers together. */
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { createToken, hashToken } from '../../src/access/tokens.ts'
import { AUDIENCE, createPair, ISSUER, jwtSetting, serveKeys, sign } from '../support/issuer.ts'
import { onEachEngine, TOKEN, type Service } from '../support/service.ts'
import { until } from '../support/until.ts'

const wide = 'n'.repeat(200)
const schema = {
  mysql: [
    'create table rows_ (id integer primary key auto_increment, wide varchar(200) not null)',
    `insert into rows_ (wide)
      with recursive digits (n) as (select 0 union all select n + 1 from digits where n < 9)
      select '${wide}' from digits a, digits b, digits c, digits d, digits e, (select 1 union all select 2) f`
  ],
  sqlite: [
    'create table rows_ (id integer primary key, wide text not null)',
    `insert into rows_ (wide)
      with recursive seq (n) as (select 1 union all select n + 1 from seq where n < 200000) select '${wide}' from seq`
  ]
}

/** Begins streams that their clients do not read. */
async function listen (t: Test, { server: { app } }: Service) {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = app.server.address() as AddressInfo
  // undici ends the answer that nobody keeps
  const answers: Response[] = []
  t.teardown(async () => { for (const { body } of answers) await body?.cancel() })
  return async (token: string): Promise<number> => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/shop/rows_`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', accept: 'application/x-ndjson' },
      body: JSON.stringify({ verb: 'select' })
    })
    answers.push(answer)
    return answer.status
  }
}

const [other, third] = [createToken(), createToken()]
const tokens = [['other', other], ['third', third]].map(
  ([name, token]) => ({ name: name as string, sha256: hashToken(token as string), permissions: ['select' as const] })
)

await onEachEngine(t, 'a caller that reads slowly keeps no other ' +
  'one from exporting', { schema, tokens, database: { pool: { size: 8 } } }, async (t, service) => {
  const begin = await listen(t, service)
  t.same([await begin(TOKEN), await begin(TOKEN), await begin(TOKEN)], [200, 200, 503], 'two of one token')
  t.same([await begin(other), await begin(other)], [200, 200], 'another one has its own')
  t.same(await begin(third), 503, 'half of the connections remain for short requests')
  t.equal((await service.post('rows_', { verb: 'select', limit: 1 })).status, 200)
})

await onEachEngine(t, 'a pool of four connections has a stream for ' +
  'each of two callers', { schema, tokens, database: { pool: { size: 4 } } }, async (t, service) => {
  const begin = await listen(t, service)
  t.same([await begin(TOKEN), await begin(TOKEN), await begin(other), await begin(third)], [200, 503, 200, 503])
})

const pair = await createPair('one')
const keys = await serveKeys(t, [pair.jwk])
const OTHER_ISSUER = 'https://other.example.com/'
const roles = Object.fromEntries(
  ['reader', 'auditor'].map((name) => [name, { permissions: ['select' as const], databases: '*' as const }])
)
const jwt = [jwtSetting({ jwks: keys.url }), jwtSetting({ jwks: keys.url, issuer: OTHER_ISSUER })]

await onEachEngine(t, 'a caller is a subject of an issuer, or without one a role of an issuer', {
  schema, options: { jwt, roles, limits: { streams: 1 } }, database: { pool: { size: 16 } }, only: ['sqlite']
}, async (t, service) => {
  const begin = await listen(t, service)
  const callers: Array<Record<string, unknown>> = [
    { iss: ISSUER }, { iss: OTHER_ISSUER }, { iss: ISSUER, sub: undefined }, { iss: OTHER_ISSUER, sub: undefined }
  ]
  for (const claims of callers) {
    t.same(
      [await begin(await sign(pair, claims)), await begin(await sign(pair, { ...claims, jti: 'another token' }))],
      [200, 503], JSON.stringify(claims)
    )
  }
  t.equal(await begin(await sign(pair, { iss: ISSUER, sub: 'user-2' })), 503, 'four of all callers')
})

await onEachEngine(t, 'JWTs of two roles without subjects are two callers', {
  schema, options: { jwt, roles, limits: { streams: 1 } }, database: { pool: { size: 16 } }, only: ['sqlite']
}, async (t, service) => {
  const begin = await listen(t, service)
  for (const role of ['reader', 'auditor']) {
    t.same([
      await begin(await sign(pair, { aud: AUDIENCE, sub: undefined, role })),
      await begin(await sign(pair, { sub: undefined, role, jti: '2' }))
    ], [200, 503], role)
  }
})

await onEachEngine(t, 'a caller in process is the name of its grant', {
  schema, database: { pool: { size: 4 } }, only: ['sqlite']
}, async (t, { server: { rows } }) => {
  const open = async (name: string): Promise<AsyncGenerator<unknown>> => {
    const stream = rows.stream({
      database: 'shop', table: 'rows_', body: { verb: 'select' }, grant: { name, permissions: ['select'] }
    })
    await stream.next()
    return stream
  }
  const first = await open('job one')
  await t.rejects(open('job one'), { code: 'OVERLOADED' })
  const second = await open('job two')
  await first.return(undefined)
  await until('the first one has left its place', () =>
    open('job one').then((stream) => stream.return(undefined)).then(() => true, () => false))
  await second.return(undefined)
})
