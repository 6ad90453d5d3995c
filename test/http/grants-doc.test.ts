/** The configuration with JWTs in docs/grants.md works as it stands there. */
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { loadConfig } from '../../src/config/load.ts'
import { splitConfig } from '../../src/config/split-config.ts'
import { createPair, serveKeys, sign } from '../support/issuer.ts'
import { codeBlocks, readDocument } from '../support/markdown.ts'
import { onEachEngine, startService } from '../support/service.ts'

const schema = (engine: string): string[] => [
  `create table orders (id ${engine === 'sqlite' ? 'integer primary key autoincrement' : 'bigint auto_increment primary key'}, tenant varchar(20) not null)`,
  "insert into orders (id, tenant) values (1, 'acme'), (2, 'zeta')"
]
const pair = await createPair('one', 'RS256')
const keys = await serveKeys(t, [pair.jwk])

await onEachEngine(t, 'the roles of the example see their rows', { schema }, async (t, { url }) => {
  const text = codeBlocks(readDocument('docs/grants.md')).find(({ kind }) => kind === 'json jwt')?.text as string
  const path = `${t.testdir({})}/row-query.json`
  writeFileSync(path, text.replace('mysql://shop:secret@127.0.0.1:3306/shop', url).replace('https://login.example.com/.well-known/jwks.json', keys.url))
  const { post } = await startService(t, url, { options: splitConfig(loadConfig({}, { config: path }).config).options })
  const select = { verb: 'select', columns: ['id'], orderBy: 'id' }
  const rowsOf = async (claims: object): Promise<unknown> => (await post('orders', select, { token: await sign(pair, { aud: 'shop-rows', ...claims }) })).json.data.rows
  t.same(await rowsOf({ role: 'clerk', tenant: 'acme' }), [{ id: 1 }])
  t.same(await rowsOf({ role: ['guest', 'clerk'], tenant: 'zeta' }), [{ id: 2 }])
  t.same(await rowsOf({ role: 'auditor' }), [{ id: 1 }, { id: 2 }])
  t.match(await post('orders', select, { token: await sign(pair, { aud: 'shop-rows', role: 'clerk' }) }), { status: 403 })
})
