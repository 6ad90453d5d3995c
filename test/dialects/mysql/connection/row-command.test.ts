import mysql from 'mysql2'
import t, { type Test } from 'tap'
import { createMysqlDialect } from '../../../../src/dialects/mysql/dialect.ts'
import { createCommandSender } from '../../../../src/dialects/mysql/connection/row-command.ts'
import { createCatalog } from '../../../../src/catalog/catalog.ts'
import { createPlan } from '../../../../src/plan/create-plan.ts'
import { AnswerSink } from '../../../../src/response/sink.ts'
import { compileStatement } from '../../../../src/sql/compile.ts'
import { createTestDatabase, engines } from '../../../servers/engines.ts'
import { addressOf } from '../../../support/mysql.ts'
import { startService } from '../../../support/service.ts'
import { LIMITS } from '../../../support/sql.ts'

const Connection = mysql.Connection as unknown as { createQuery (...all: unknown[]): object }
const { createQuery } = Connection
type Command = Record<string, (...all: unknown[]) => unknown>
const Query = createQuery('', [], () => {}, {}).constructor as new (...all: unknown[]) => Command

/** mysql2 as it may be one day: its class for queries is another one. What goes by its public ways works all the same. */
function withQueries (t: Test, create: () => object): void {
  Connection.createQuery = create
  t.teardown(() => { Connection.createQuery = createQuery })
}

const withoutMethods = () => ({})

/** The number of columns is in another field. */
const withOtherField = () => {
  class Renamed extends Query {}
  Object.defineProperty(Renamed.prototype, '_fieldCount', { get: () => -1, set () {} })
  return new Renamed({ sql: '' }, () => {})
}

/** Nothing follows the definitions. */
const withoutAnswer = () => {
  class Silent extends Query {
    fieldsEOF () { return function wait () { return wait } }
  }
  return new Silent({ sql: '' }, () => {})
}

/** The first row is another kind of packet. */
const withOtherRows = () => {
  class Skipping extends Query {
    fieldsEOF () {
      return (packet: { isEOF (): boolean }) => packet.isEOF() ? this['row']?.(packet) : this['row']
    }
  }
  return new Skipping({ sql: '' }, () => {})
}

t.test('the way past mysql2\'s own reading of rows is there only where mysql2 has its methods', async (t) => {
  t.equal(createCommandSender({}), undefined, 'a connection that takes no commands')
  t.type(createCommandSender({ addCommand: () => {} }), 'function')
  withQueries(t, withoutMethods)
  t.equal(createCommandSender({ addCommand: () => {} }), undefined)
})

const cases: ReadonlyArray<readonly [name: string, create: () => object, reason: string]> = [
  ['without methods', withoutMethods, 'mysql2 lacks methods'],
  ['with a field renamed', withOtherField, 'it does not answer'],
  ['that says nothing after the definitions', withoutAnswer, 'it does not answer'],
  ['with other rows', withOtherRows, 'it reads something else']
]

const servers = await engines()

for (const engine of servers) {
  t.test(`selects once hung with an unknown mysql2: its public API is used instead, with the same answers (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table items (id int not null auto_increment primary key, name varchar(20) null)', "insert into items (name) values ('Ada'), (null), ('Zoë \"x\"')"])
    t.teardown(() => database.drop())
    const reasons: string[] = []
    const openDialect = () => createMysqlDialect({
      address: addressOf(database.url),
      pool: { size: 1, minimum: 0, idleTimeout: 60_000, queue: 1, wait: 5000 },
      statementTimeout: 5000,
      onPlainReader: (reason) => { reasons.push(reason) }
    })
    const runPlan = async (body: object): Promise<unknown> => {
      const dialect = openDialect()
      const table = createCatalog(await dialect.introspect(), 0).tables.get('items')
      const plan = createPlan(body as never, table as never, LIMITS)
      const sink = new AnswerSink(plan.verb === 'select' ? plan.columns : [], 10_000)
      const statement = compileStatement(plan, 'mysql')
      const outcome = plan.verb === 'select' ? await dialect.read(statement, sink) : await dialect.write(statement)
      await dialect.close()
      return { answer: plan.verb === 'select' ? String(sink.finish()) : undefined, ...outcome }
    }
    const bodies = [
      { verb: 'select', orderBy: 'id' },
      { verb: 'update', data: { name: 'Bo' }, filters: { id: [1, 2] } },
      { verb: 'update', data: { name: 'Ada' }, filters: { id: 1 } },
      { verb: 'update', data: { name: null }, filters: { id: 2 } }
    ]
    const expected = []
    for (const body of bodies) expected.push(await runPlan(body))
    t.match(expected[0], { answer: '{"success":true,"data":{"rows":[{"id":1,"name":"Ada"},{"id":2,"name":null},{"id":3,"name":"Zoë \\"x\\""}],"count":3}}' })
    t.same(reasons, [], 'with this mysql2 nothing is said')
    for (const [name, create, reason] of cases) {
      const sample = create()
      withQueries(t, () => sample)
      for (const [index, body] of bodies.entries()) t.same(await runPlan(body), expected[index], `${name}: ${JSON.stringify(body)}`)
      t.same(reasons.splice(0), name === 'without methods' && engine !== servers[0] ? [] : [reason], `${name}: said once in a process`)
    }
    t.match(await runPlan({ verb: 'insert', data: { name: 'new' } }), { changed: 1, insertId: '4' })
  })

  t.test(`the log says that rows are read with the slow reader (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table items (id int not null primary key, n int null)', 'insert into items values (1, 2)'])
    t.teardown(() => database.drop())
    const sample = withOtherRows()
    withQueries(t, () => sample)
    const { post, log } = await startService(t, database.url, { database: { resultLimit: 2000 } })
    t.same((await post('items', { verb: 'select' })).json.data.rows, [{ id: 1, n: 2 }])
    const lines = log.map((line) => JSON.parse(line)).filter(({ reason }) => reason === 'it reads something else')
    t.equal(lines.length, 1)
    t.match(lines[0], { level: 40, msg: /read more slowly.*mysql2/ })
    await database.query('alter table items modify n text')
    await database.query("update items set n = '1,\"admin\":true'")
    t.same((await post('items', { verb: 'select' })).json.data.rows, [{ id: 1, n: '1,"admin":true' }], 'a column that has become another type is noticed here too')
    await database.query("update items set n = repeat('x', 3000)")
    t.match(await post('items', { verb: 'select' }), { status: 422, json: { error: { code: 'RESULT_TOO_LARGE' } } })
  })
}
