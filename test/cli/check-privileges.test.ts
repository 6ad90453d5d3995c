/** `row-query check` compares what grants allow with what the account of the database may do. */
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createShop } from '../../src/demo/shop.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { tokenFor, tokenOf } from '../grants/support.ts'
import { runCheck } from '../support/check.ts'
import { createUser } from '../support/users.ts'

const found = (stdout: string, kind = 'warning'): string[] => Array.from(stdout.matchAll(new RegExp(`^ {2}${kind}: (.*)$`, 'gm')), ([, line = '']) => line)

const SCHEMA = [
  'create table orders (id int primary key, status varchar(10), secret varchar(10), twice int as (id * 2))',
  'create table customers (id int primary key, `na\'me``\\` varchar(10))',
  'create view totals as select id from orders'
]

for (const engine of await engines()) {
  t.test(`privileges that grants need and the account lacks are warnings, by verb, table and column (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, SCHEMA)
    t.teardown(() => database.drop())
    const url = await createUser(t, database, { grants: ['select on totals', 'select, insert, update, delete on customers', 'select (id, status), insert (id, status), update (status) on orders'] })
    const tokens = [
      tokenOf('all', {}), tokenOf('reads', { permissions: ['select'], databases: { shop: ['customers', 'totals'] } }),
      tokenFor('narrow', { orders: { permissions: ['select', 'insert', 'update'], columns: { select: ['id', 'status'], insert: ['id', 'status'], update: ['status'] } } }),
      tokenFor('writes', { orders: { permissions: ['update'], columns: { select: ['id'], update: ['id', 'status'] } } }),
      tokenFor('deletes', { customers: { permissions: ['delete'] } })
    ]
    const cwd = t.testdir({ 'row-query.json': JSON.stringify({ databases: { shop: { url } }, tokens }) })
    const check = async (...more: string[]) => await runCheck(t as Test, ['--config', `${cwd}/row-query.json`, ...more])
    const { code, stdout } = await check()
    t.equal(code, 0)
    t.same(found(stdout), [
      'token "all": the database account lacks DELETE on "orders"',
      'token "all": the database account lacks UPDATE on "id" of "orders"',
      'token "writes": the database account lacks UPDATE on "id" of "orders"'
    ], 'the account does not see the other columns of orders')
    t.equal(found(stdout, 'enough').length, 1)
    t.equal((await check('--strict')).code, 1)
  })

  t.test(`an account that may only select, and privileges of a role (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, SCHEMA)
    t.teardown(() => database.drop())
    const url = await createUser(t, database, { grants: ['select on *'] })
    const env = { DATABASE_URL: url, API_TOKEN: 'x'.repeat(32) }
    t.same(found((await runCheck(t as Test, [], env)).stdout), ['token "API_TOKEN": the database account lacks INSERT, UPDATE, DELETE on "customers", "orders"'])
    const { username: user } = new URL(url)
    await database.query(`create role r_${user}`)
    t.teardown(() => database.query(`drop role r_${user}`))
    await database.query(`grant insert, update, delete on ${database.name}.* to r_${user}`)
    await database.query(`grant r_${user} to '${user}'@'%'`)
    await database.query(`set default role r_${user} ${engine.name === 'mysql' ? 'to' : 'for'} '${user}'@'%'`)
    t.match(await runCheck(t as Test, ['--strict'], env), { code: 0 }, 'an active role has them')
    const definer = new URL(await createUser(t, database, { grants: ['select on customers'] })).username
    await database.query(`create or replace definer = ${definer} sql security definer view totals as select id from orders`)
    await database.query('create table gone (id int)')
    await database.query('create view broken as select id from gone')
    await database.query('drop table gone')
    const { stdout } = await runCheck(t as Test, [], env)
    t.match(found(stdout).toSorted(), [/^left out, because the database cannot open them: .*"broken"/, ...stdout.includes('totals: view') ? [/^token "API_TOKEN": "totals" cannot be read \(ER_\w+\)$/] : []])
  })
}

t.test('a SQLite file that may not be written lacks the writes', { skip: process.getuid?.() === 0 && 'root may write every file' }, async (t) => {
  const cwd = t.testdir()
  createShop(join(cwd, 'shop.db'))
  chmodSync(join(cwd, 'shop.db'), 0o444)
  const { code, stdout } = await runCheck(t as Test, [], { DATABASE_URL: `sqlite:${cwd}/shop.db`, API_TOKEN: 'x'.repeat(32) })
  t.equal(code, 0)
  t.match(found(stdout), [/^token "API_TOKEN": the database account lacks INSERT, UPDATE, DELETE on "customers"/])
  writeFileSync(join(cwd, 'row-query.json'), JSON.stringify({ databases: { shop: { url: `sqlite:${cwd}/shop.db` } }, tokens: [tokenOf('reader', { permissions: ['select'] })] }))
  t.same(found((await runCheck(t as Test, ['--config', `${cwd}/row-query.json`, '--strict'])).stdout), [])
})
