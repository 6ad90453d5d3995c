// night: starts programs
import { once } from 'node:events'
import { openSync, writeFileSync, writeSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { createShop } from '../../src/demo/shop.ts'
import * as errors from '../../src/errors.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { runRowQuery } from '../support/row-query.ts'

const NO_TOKEN = 'tokens and keys:\n  warning: no token is configured, so all requests are refused\n'

const SCHEMA = [
  'create table orders (id int auto_increment primary key, place point null, note text null)',
  'create table items (order_id int not null, line int not null, primary key (order_id, line))',
  'create table logs (line text null)',
  'create view order_notes as select note from orders'
]

t.test('without configuration the demo is checked', async (t) => {
  const { code, stdout, stderr } = await runRowQuery(t, ['check'])
  t.same({ code, stderr }, { code: 0, stderr: '' })
  t.match(stdout, /^demo: answers, 6 tables and views\n/)
  t.match(stdout, '\n  order_items: 6 columns, key order_id, line\n')
  t.match(stdout, '\n  order_totals: view, 4 columns\n')
  t.match(stdout, '\n  account: reads and writes the file\n')
})

for (const engine of await engines()) {
  t.test(`the tables of a database and the privileges of its account are printed (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, SCHEMA)
    const account = `c_${database.name.slice(2)}`
    await database.query(`create user '${account}'@'%' identified by 'hunter2'`)
    await database.query(`grant select, insert on ${database.name}.* to '${account}'@'%'`)
    t.teardown(async () => {
      await database.query(`drop user '${account}'@'%'`)
      await database.drop()
    })
    const url = new URL(database.url)
    url.username = account
    url.password = 'hunter2'
    const { code, stdout, stderr } = await runRowQuery(t, ['check'], { env: { DATABASE_URL: url.href } })
    t.same({ code, stderr }, { code: 0, stderr: '' })
    t.match(stdout, `${database.name}: answers, 4 tables and views\n`)
    t.match(stdout, '\n  items: 2 columns, key order_id, line\n')
    t.match(stdout, '\n  logs: 1 columns, no primary key\n')
    t.match(stdout, '\n  order_notes: view, 1 columns\n')
    t.match(stdout, new RegExp(`\n  account: GRANT SELECT, INSERT ON .${database.name}.\\.\\* TO`))
    t.notMatch(stdout, /hunter2|IDENTIFIED|\*[0-9A-F]{40}/)
  })

  t.test(`a wrong password is distinguished from an unreachable server (${engine.name})`, async (t) => {
    const cwd = t.testdir()
    const config = {
      databases: {
        wrong: { url: engine.url.replace('root@', 'nobody:hunter2@') + '/shop' },
        gone: { url: 'mysql://root:hunter2@127.0.0.1:1/shop' },
        file: { url: 'sqlite:nowhere.db' },
        missing: { url: `${engine.url}/no_such_database` }
      }
    }
    writeFileSync(join(cwd, 'row-query.json'), JSON.stringify(config))
    const { code, stdout, stderr } = await runRowQuery(t, ['check', '--config', 'row-query.json'], { cwd })
    t.same({ code, stderr }, { code: 1, stderr: '' })
    t.same(stdout.trimEnd().split('\n'), [
      'wrong: the server refuses the user name or the password (ER_ACCESS_DENIED_ERROR)',
      'gone: does not answer (ECONNREFUSED)',
      'file: databases.file.url: nowhere.db does not exist',
      'missing: the server does not have the database (ER_BAD_DB_ERROR)',
      'tokens and keys:',
      '  warning: no token is configured, so all requests are refused'
    ])
  })
}

t.test('a server that accepts connections and does not answer is reported', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.teardown(() => { silent.close() })
  const { port } = silent.address() as AddressInfo
  const { code, stdout } = await runRowQuery(t, ['check'], { env: { DATABASE_URL: `mysql://root@127.0.0.1:${port}/shop` } })
  t.same({ code, stdout }, { code: 1, stdout: 'shop: does not answer (ETIMEDOUT)\n' + NO_TOKEN })
})

t.test('columns of unknown types are reported as not writable', async (t) => {
  const cwd = t.testdir()
  const database = new DatabaseSync(join(cwd, 'shop.db'))
  database.exec('create table odd (id integer primary key, what money, untyped)')
  database.close()
  const { code, stdout } = await runRowQuery(t, ['check'], { cwd, env: { DATABASE_URL: 'sqlite:shop.db' } })
  t.equal(code, 0)
  t.match(stdout, '\n  odd: 3 columns, key id; not writable: what money, untyped\n')
})

t.test('a damaged SQLite file is reported', async (t) => {
  const cwd = t.testdir()
  const path = join(cwd, 'shop.db')
  createShop(path)
  writeSync(openSync(path, 'r+'), Buffer.alloc(3000, 0xff), 0, 3000, 100)
  const { code, stdout } = await runRowQuery(t, ['check'], { cwd, env: { DATABASE_URL: 'sqlite:shop.db' } })
  t.same({ code, stdout }, { code: 1, stdout: 'shop: databases.shop.url: shop.db cannot be opened: database disk image is malformed\n' + NO_TOKEN })
})

t.test('an error without a reason is reported by its code, and an unexpected error is thrown', async (t) => {
  const withError = async (error: Error) => {
    const { check } = await t.mockImport<typeof import('../../src/cli/check.ts')>('../../src/cli/check.ts', {
      '../../src/databases/open.ts': { openDialect: async () => { throw error } },
      '../../src/demo/shop.ts': { createShop: () => {} },
      '../../src/errors.ts': errors
    })
    const written = t.capture(process.stdout, 'write')
    const code = await check([]).finally(() => written.restore())
    return { code, stdout: written.args().flat().join('') }
  }
  t.same(await withError(errors.databaseUnavailable()), { code: 1, stdout: 'demo: does not answer (DATABASE_UNAVAILABLE)\n' })
  await t.rejects(withError(new TypeError('a mistake')), { message: 'a mistake' })
})

t.test('an invalid configuration is refused', async (t) => {
  const { code, stdout, stderr } = await runRowQuery(t, ['check'], { env: { DATABASE_URL: 'mysql://root:hunter2@host', PORT: 'x' } })
  t.same({ code, stdout }, { code: 2, stdout: '' })
  t.match(stderr, /^row-query: DATABASE_URL: [^\n]*\nrow-query: PORT: [^\n]*\n$/)
})
