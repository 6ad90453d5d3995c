import t from 'tap'
import { createMysqlDialect } from '../../../../src/dialects/mysql/dialect.ts'
import { createTestDatabase, engines } from '../../../servers/engines.ts'
import { addressOf } from '../../../support/mysql.ts'
import { createUser } from '../../../support/users.ts'

const pool = { size: 1, queue: 1, wait: 5000 }

for (const engine of await engines()) {
  t.test(`the privileges of the account are listed without its password (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table orders (id int not null primary key)', 'create table staff (id int not null primary key)'])
    t.teardown(() => database.drop())
    const url = await createUser(t, database, { grants: ['select, insert on orders'], password: 'secret-password' })
    const dialect = createMysqlDialect({ address: addressOf(url), pool, statementTimeout: 1000 })
    const lines = await dialect.privileges()
    t.ok(lines.some((line) => /^GRANT SELECT, INSERT ON .*`orders`/.test(line)), lines.join('\n'))
    t.notMatch(lines.join('\n'), /identified|secret|\*[0-9A-F]{40}/i)

    const tables = await dialect.introspect()
    t.same(tables.map(({ name }) => name), ['orders'], 'what the account may not touch is not there')
    await dialect.close()
    await t.rejects(dialect.privileges(), { code: 'DATABASE_UNAVAILABLE' })
  })
}
