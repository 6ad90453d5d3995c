// night: starts programs
/** `row-query check` warns of what is dangerous about the account. */
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createShop } from '../../src/demo/shop.ts'
import { createMysqlDialect } from '../../src/dialects/mysql/dialect.ts'
import { createTestDatabase, engines, type Engine, type TestDatabase } from '../servers/engines.ts'
import { addressOf } from '../support/mysql.ts'
import { runRowQuery } from '../support/row-query.ts'
import { TOKEN } from '../support/service.ts'
import { createUser } from '../support/users.ts'

async function createDatabase (t: Test, engine: Engine): Promise<TestDatabase> {
  const database = await createTestDatabase(engine, ['create table orders (id int not null primary key)'])
  t.teardown(() => database.drop())
  return database
}

const userOf = (url: string): string => new URL(url).username
const warnings = (stdout: string, kind = 'warning'): string[] => Array.from(stdout.matchAll(new RegExp(`^ {2}${kind}: (.*)$`, 'gm')), ([, line = '']) => line)

for (const engine of await engines()) {
  t.test(`an account with only the needed privileges has no warnings (${engine.name})`, async (t) => {
    const database = await createDatabase(t, engine)
    const url = await createUser(t, database, { grants: ['select, insert, update, delete on *'] })
    const { code, stdout } = await runRowQuery(t, ['check', '--strict'], { env: { DATABASE_URL: url, API_TOKEN: TOKEN } })
    t.equal(code, 0)
    t.same(warnings(stdout), [])
    t.same(warnings(stdout, 'enough'), [])
  })

  t.test(`further privileges are warnings, and the sufficient statement is printed (${engine.name})`, async (t) => {
    const database = await createDatabase(t, engine)
    const other = await createDatabase(t, engine)
    const url = await createUser(t, database)
    const user = userOf(url)
    await database.query(`grant file, process on *.* to '${user}'@'%'`)
    await database.query(`grant select on ${other.name}.* to '${user}'@'%' with grant option`)
    const expected = [
      'PROCESS: sees the statements of everybody',
      'FILE: reads and writes files of the machine that the server runs on',
      `ALL PRIVILEGES on ${database.name}: more than is needed`,
      `SELECT on ${other.name}: a database that is not configured`,
      `GRANT OPTION on ${other.name}: may give its privileges to other accounts`
    ]
    const { code, stdout } = await runRowQuery(t, ['check'], { env: { DATABASE_URL: url, API_TOKEN: TOKEN } })
    t.equal(code, 0, 'warnings are no error')
    t.same(warnings(stdout).toSorted(), expected.toSorted())
    const [enough = '', ...more] = warnings(stdout, 'enough')
    t.equal(enough, `GRANT SELECT, INSERT, UPDATE, DELETE ON \`${database.name.replaceAll('_', '\\_')}\`.* TO '${user}'@'%';`)
    t.same(more, [])
    await database.query(`revoke all privileges, grant option from '${user}'@'%'`)
    await database.query(enough)
    t.match(await runRowQuery(t, ['check', '--strict'], { env: { DATABASE_URL: url, API_TOKEN: TOKEN } }), { code: 0 }, 'which it is')
  })

  t.test(`the privileges of roles count, active or not (${engine.name})`, async (t) => {
    const database = await createDatabase(t, engine)
    const url = await createUser(t, database, { grants: ['select on *'] })
    const user = userOf(url)
    const [used, unused] = ['used', 'unused'].map((kind) => `${kind}_${user}`)
    for (const [role, privilege] of [[used, 'process'], [unused, 'file']]) {
      await database.query(`create role ${role}`)
      await database.query(`grant ${privilege} on *.* to ${role}`)
      await database.query(`grant ${role} to '${user}'@'%'`)
      t.teardown(() => database.query(`drop role ${role}`))
    }
    await database.query(`set default role ${used} ${engine.name === 'mysql' ? 'to' : 'for'} '${user}'@'%'`)
    const { code, stdout } = await runRowQuery(t, ['check', '--strict'], { env: { DATABASE_URL: url, API_TOKEN: TOKEN, API_TOKEN_PERMISSIONS: 'select' } })
    t.equal(code, 1, '--strict makes an error of it')
    t.same(warnings(stdout).toSorted(), ['FILE: reads and writes files of the machine that the server runs on', 'PROCESS: sees the statements of everybody'])

    await database.query(`set default role none ${engine.name === 'mysql' ? 'to' : 'for'} '${user}'@'%'`)
    t.equal(warnings((await runRowQuery(t, ['check'], { env: { DATABASE_URL: url, API_TOKEN: TOKEN, API_TOKEN_PERMISSIONS: 'select' } })).stdout).length, 2)
  })

  t.test(`an account without a password, and a connection without TLS to another machine, are warnings (${engine.name})`, async (t) => {
    const database = await createDatabase(t, engine)
    const url = new URL(await createUser(t, database, { grants: ['select on *'], password: '' }))
    const { stdout } = await runRowQuery(t, ['check'], { env: { DATABASE_URL: url.href, API_TOKEN: TOKEN, API_TOKEN_PERMISSIONS: 'select' } })
    t.same(warnings(stdout), [`the account ${url.username} is used without a password`])

    const address = addressOf(url.href)
    const [here] = address.hosts
    const hosts = [here, ...['::1', 'localhost', 'db.example.com', '192.0.2.1'].map((host) => ({ host, port: 1 }))] as typeof address.hosts
    const dialect = createMysqlDialect({ address: { ...address, password: 'x', hosts }, pool: { size: 1, queue: 1, wait: 5000 }, statementTimeout: 5000 })
    t.teardown(() => dialect.close())
    await database.query(`alter user '${url.username}'@'%' identified by 'x'`)
    t.match(await dialect.findRisks([database.name]), { excess: [], risks: ['without TLS to db.example.com, 192.0.2.1: add ?ssl=true'] })
  })
}

t.test('a SQLite file that every account may write or replace is a warning', async (t) => {
  const cwd = t.testdir()
  createShop(join(cwd, 'shop.db'))
  chmodSync(cwd, 0o755)
  const check = async (...more: string[]) => {
    const { code, stdout } = await runRowQuery(t, ['check', ...more], { cwd, env: { DATABASE_URL: 'sqlite:shop.db', API_TOKEN: TOKEN } })
    return { code, warnings: warnings(stdout) }
  }
  t.same(await check('--strict'), { code: 0, warnings: [] })
  chmodSync(join(cwd, 'shop.db'), 0o666)
  t.same(await check('--strict'), { code: 1, warnings: ['every account of this machine may write the file: chmod o-w'] })
  chmodSync(cwd, 0o777)
  t.equal((await check()).warnings.length, 2)
  chmodSync(cwd, 0o1777)
  t.equal((await check()).warnings.length, 1, 'of a folder like /tmp nobody can take the files of others')
  chmodSync(cwd, 0o755)
})
