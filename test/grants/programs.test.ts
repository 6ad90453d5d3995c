// night: starts programs
/** row-query types, openapi and check under grants. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TokenOptions } from '../../schemas/options.ts'
import t, { type Test } from 'tap'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { OWNED } from '../support/owned-tables.ts'
import { runRowQuery } from '../support/row-query.ts'
import { onEachEngine } from '../support/service.ts'
import { createUser } from '../support/users.ts'
import { DOCUMENTED, tenants, tokenFor } from './support.ts'
import { get } from '../support/documents.ts'

const { permissions, databases } = DOCUMENTED[0] as TokenOptions
const roles = { clerk: { permissions, databases } }
const jwt = [{
  issuer: 'https://login.example.com', audience: 'rows', secret: 'x'.repeat(32), algorithms: ['HS256'], role: '/role'
}]

await onEachEngine(t, 'row-query types and row-query openapi show ' +
  'what a token sees', { schema: tenants, only: ['sqlite'], tokens: DOCUMENTED }, async (t, { url, server }) => {
  const settings = { databases: { shop: { url }, other: { url } }, tokens: DOCUMENTED, roles, jwt }
  const config = `${t.testdir({ 'row-query.json': JSON.stringify(settings) })}/row-query.json`
  const run = async (...args: string[]) => await runRowQuery(t, [...args, '--config', config])
  const { stdout } = await run('types', 'shop', '--token', 'clerk')
  t.match(stdout, `export interface Customers {
  id: Column<Int64, never, never, string>
}

export interface Orders {
  id: Column<Int64, never, never, string>
  status: Column<string, string | undefined, string>
  total: Column<Int64 | null, Int64 | null, never, string>
  secret: Column<never, string | null | undefined, never>
}
`)
  t.match((await run('types', '--token', 'form')).stdout, 'export interface Orders {\n  status: Column<never, string ' +
    '| undefined, never>\n}', 'the only database that the token sees')
  t.equal((await run('types', 'shop', '--role', 'clerk')).stdout, stdout, 'a role')
  t.match(await run('types', '--role', 'nobody'), {
    code: 2, stderr: 'row-query: --role: no role is called "nobody"\n'
  })
  const { stdout: printed } = await run('openapi', 'shop', '--token', 'clerk')
  t.same(JSON.parse(printed), (await get(server, '/shop/openapi.json', { token: 'clerk' })).json)
  t.match(await run('types', 'other', '--token', 'clerk'), {
    code: 2, stderr: 'row-query: "clerk" has no permission on "other"\n'
  })
  t.match(await run('types', '--token', 'nobody'), {
    code: 2, stderr: 'row-query: --token: no token is called "nobody"\n'
  })
})

const rules = { owners: { rows: { tenant: 7 } } }
const ruledTokens = [
  tokenFor('ruled', { ...rules, cars: {}, trucks: {} }),
  tokenFor('free', { owners: {}, cars: { rows: { x: 1 } }, trucks: {} })
]

for (const engine of await engines()) {
  t.test(`row-query check warns of foreign keys that cannot be checked (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, OWNED)
    t.teardown(() => database.drop())
    const url = await createUser(t as Test, database, { grants: ['select, insert on cars', 'select on trucks'] })
    const folder = mkdtempSync(join(tmpdir(), 'row-query-'))
    t.teardown(() => { rmSync(folder, { recursive: true }) })
    const config = join(folder, 'row-query.json')
    writeFileSync(config, JSON.stringify({
      databases: { shop: { url } },
      tokens: [...ruledTokens, tokenFor('reader', { ...rules, cars: { permissions: ['select'] } })]
    }))
    const { stdout } = await runRowQuery(t as Test, ['check', '--config', config])
    const lines = stdout.split('\n').filter((line) => line.includes('rules cannot be checked'))
    t.same(lines, [['cars', 'owned'], ['trucks', 'defaulted']].map(([table, key]) =>
      `  warning: token "ruled": rules cannot be checked for "owner_id" of "${table}", so only null can be written: ` +
      `foreign key "${key}" refers to "owners", which the database account does not see`))
  })
}
