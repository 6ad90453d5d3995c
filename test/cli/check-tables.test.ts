/** What `row-query check` finds in tables, replicas and the keys of issuers. */
import { createServer } from 'node:http'
import { once } from 'node:events'
import { generateKeyPairSync } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { createTestDatabase, engines, enginesAndSqlite } from '../servers/engines.ts'
import { tokenOf } from '../grants/support.ts'
import { runCheck } from '../support/check.ts'
import { createUser } from '../support/users.ts'

const found = (stdout: string, kind: string): string[] => Array.from(stdout.matchAll(new RegExp(`^ {2}${kind}: (.*)$`, 'gm')), ([, line = '']) => line)
const tokens = [tokenOf('all', {})]

async function check (t: Test, config: object, ...more: string[]) {
  const cwd = t.testdir({ 'row-query.json': JSON.stringify({ tokens, ...config }) })
  return await runCheck(t, ['--config', `${cwd}/row-query.json`, ...more])
}

for (const engine of await enginesAndSqlite()) {
  const name = typeof engine === 'string' ? engine : engine.name
  t.test(`keys that cannot be named, indexes that relations want, and the table for keys are found (${name})`, async (t) => {
    const schema = [
      `create table customers (id int primary key, ${name === 'sqlite' ? 'name varchar(20)' : 'name varchar(20), unique name_key (name(5))'})`,
      ...name === 'sqlite' ? ['create unique index name_key on customers (name collate nocase)', 'create unique index lower_key on customers (lower(name))'] : [],
      'create table orders (id int primary key, customer_id int, foreign key (customer_id) references customers (id))',
      'create table notes (id int primary key, order_id int, at int, foreign key (order_id) references orders (id))',
      'create index notes_order on notes (order_id, at)'
    ]
    const create = CREATE[name === 'sqlite' ? 'sqlite' : 'mysql']
    const old = create.replace(/ {2}answer [^\n]*\n/, '  status int not null,\n')
    let run: (sql: string) => Promise<unknown>
    let url: string
    if (typeof engine === 'string') {
      const database = new DatabaseSync(`${t.testdir()}/shop.db`)
      t.teardown(() => database.close())
      run = async (sql) => database.exec(sql)
      url = `sqlite:${t.testdirName}/shop.db`
    } else {
      const database = await createTestDatabase(engine)
      t.teardown(() => database.drop())
      run = database.query
      url = await createUser(t, database, { grants: ['select, insert, update, delete on *'] })
    }
    for (const statement of schema) await run(statement)
    const dialect = typeof engine === 'string' ? 'sqlite' : 'mysql'
    const checkNow = async (...more: string[]) => {
      const { code, stdout } = await runCheck(t as Test, more, { DATABASE_URL: url, API_TOKEN: 'x'.repeat(32) })
      return { code, notes: found(stdout, 'note'), warnings: found(stdout, 'warning') }
    }
    const isNoKey = (key: string, what: string) => `unique key "${key}" of "customers" cannot be named in "onConflict", because it compares ${what}`
    const another = 'an expression, or a column by another collation than its own'
    const notes = dialect === 'mysql'
      ? [isNoKey('name_key', 'only the beginnings of values')]
      : [isNoKey('name_key', another), isNoKey('lower_key', another), '"orders" has no index that begins with "customer_id": each "include" of its rows in those of "customers" reads the whole table']
    t.same(await checkNow('--strict').then(({ notes, ...rest }) => ({ ...rest, notes: notes.toSorted() })), {
      code: 0, warnings: [], notes: [...notes, 'there is no table "row_query_keys", so requests with an Idempotency-Key are refused; "row-query keys" prints its statement'].toSorted()
    })
    await run(old.split(';')[0] as string)
    const { code, warnings } = await checkNow('--strict')
    t.equal(code, 1)
    const isNot = 'the table "row_query_keys" is not as "row-query keys" prints it: '
    t.same(warnings, ['it has no column "answer"', 'column "status" is not one of its columns and has no default', ...dialect === 'sqlite' ? ['it has no index on "created", by which old keys are deleted'] : []].map((line) => isNot + line))
    await run('drop table row_query_keys')
    for (const statement of create.split(';').filter((each) => each.trim() !== '')) await run(statement)
    t.same((await checkNow('--strict')).warnings, [])
  })
}

for (const engine of await engines()) {
  t.test(`each replica is checked (${engine.name})`, async (t) => {
    const schema = ['create table orders (id int primary key, total int)', 'create table customers (id int primary key)']
    const [primary, behind] = [await createTestDatabase(engine, schema), await createTestDatabase(engine, ['create table orders (id int primary key)'])]
    t.teardown(async () => {
      await primary.drop()
      await behind.drop()
    })
    const [url, replica] = [await createUser(t, primary, { grants: ['select, insert, update, delete on *'] }), await createUser(t, behind, { grants: ['insert on orders'] })]
    const wrong = Object.assign(new URL(replica), { password: 'hunter2' }).href
    const { code, stdout } = await check(t as Test, { databases: { shop: { url, replicas: [wrong, replica, Object.assign(new URL(replica), { port: '1' }).href] } } })
    t.equal(code, 1)
    t.same(found(stdout, 'error'), ['replicas.0 (127.0.0.1): the server refuses the user name or the password (ER_ACCESS_DENIED_ERROR)', 'replicas.2 (127.0.0.1): does not answer (ECONNREFUSED)'])
    t.same(found(stdout, 'warning').filter((line) => line.startsWith('replicas')), [
      'replicas.1 (127.0.0.1): does not have "customers"', 'replicas.1 (127.0.0.1): "orders" does not have "total"', 'replicas.1 (127.0.0.1): token "all": the database account lacks SELECT on "orders"'
    ])
    t.match(stdout, '\n  replicas.1 (127.0.0.1): answers, 1 tables and views\n')
    t.notMatch(stdout, 'hunter2')
  })
}

t.test('the keys of issuers are downloaded', async (t) => {
  const { publicKey } = generateKeyPairSync('ed25519')
  const sets: Record<string, unknown> = { '/good': { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }] }, '/empty': { keys: [] } }
  const server = createServer(({ url = '' }, response) => { response.writeHead(url in sets ? 200 : 404).end(JSON.stringify(sets[url])) }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => { server.close() })
  const { port } = server.address() as AddressInfo
  const issuer = (path: string, at = port) => ({ issuer: 'https://login.example.com', audience: 'rows', jwks: `http://127.0.0.1:${at}${path}`, algorithms: ['EdDSA'], role: '/role' })
  const { code, stdout } = await check(t as Test, { databases: { shop: { url: 'sqlite::memory:' } }, jwt: [issuer('/good'), issuer('/empty'), issuer('/gone'), issuer('/', 3)], roles: { clerk: { permissions: ['select'], databases: '*' } } })
  t.equal(code, 1)
  t.match(stdout, '\ntokens and keys:\n  jwt.0.jwks: answers, 1 keys\n')
  t.same(found(stdout, 'error'), [
    'jwt.1.jwks: has no public key with a "kid" that verifies signatures', 'jwt.2.jwks: the keys cannot be downloaded (status 404)', 'jwt.3.jwks: the keys cannot be downloaded (ECONNREFUSED)'
  ])
})
