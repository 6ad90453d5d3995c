import mysql from 'mysql2'
import t, { type Test } from 'tap'
import { createMysqlDialect } from '../../../src/dialects/mysql/dialect.ts'
import { createCommandSender } from '../../../src/dialects/mysql/row-command.ts'
import { createCatalog } from '../../../src/catalog/catalog.ts'
import { createPlan } from '../../../src/plan/create-plan.ts'
import { compileQuery } from '../../../src/query/compile-query.ts'
import { createTestDatabase, engines } from '../../servers/engines.ts'
import { addressOf } from '../../support/mysql.ts'
import { LIMITS } from '../../support/sql.ts'

/** mysql2 as it may be one day: its class for queries without the methods that ours overrides. */
function withoutMethods (t: Test): void {
  const Connection = mysql.Connection as unknown as { createQuery: unknown }
  const { createQuery } = Connection
  Connection.createQuery = () => ({})
  t.teardown(() => { Connection.createQuery = createQuery })
}

t.test('the way past mysql2\'s own reading of rows is taken only where mysql2 is made as expected', async (t) => {
  t.equal(createCommandSender({}), undefined, 'a connection that takes no commands')
  t.type(createCommandSender({ addCommand: () => {} }), 'function')
  withoutMethods(t)
  t.equal(createCommandSender({ addCommand: () => {} }), undefined)
})

for (const engine of await engines()) {
  t.test(`where it is not, mysql2 reads the rows, and answers are the same (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table items (id int not null auto_increment primary key, name varchar(20) null)', "insert into items (name) values ('Ada'), (null), ('Zoë \"x\"')"])
    t.teardown(() => database.drop())
    const openDialect = () => createMysqlDialect({ address: addressOf(database.url), pool: { size: 1, queue: 1, wait: 5000 }, statementTimeout: 5000, resultLimit: 10_000 })
    const walk = async (body: object): Promise<unknown> => {
      const dialect = openDialect()
      const table = createCatalog(await dialect.introspect(), 0).tables.get('items')
      const plan = createPlan(body as never, table as never, LIMITS)
      const { answer, ...changes } = await dialect.execute(compileQuery(plan, 'mysql'), plan)
      await dialect.close()
      return { answer: answer === undefined ? undefined : String(answer), ...changes }
    }
    const bodies = [
      { verb: 'select', orderBy: 'id' },
      { verb: 'update', data: { name: 'Bo' }, filters: { id: [1, 2] } },
      { verb: 'update', data: { name: 'Ada' }, filters: { id: 1 } },
      { verb: 'update', data: { name: null }, filters: { id: 2 } }
    ]
    const expected = []
    for (const body of bodies) expected.push(await walk(body))
    withoutMethods(t)
    for (const [index, body] of bodies.entries()) t.same(await walk(body), expected[index], JSON.stringify(body))
    t.match(expected[0], { answer: '{"success":true,"data":{"rows":[{"id":1,"name":"Ada"},{"id":2,"name":null},{"id":3,"name":"Zoë \\"x\\""}],"count":3}}' })
    t.match(await walk({ verb: 'insert', data: { name: 'new' } }), { changed: 1, insertId: '4' })
  })
}
