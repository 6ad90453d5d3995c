import { DatabaseSync } from 'node:sqlite'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { createCatalog, type Table } from '../../../src/catalog/catalog.ts'
import { openSqlite } from '../../../src/dialects/sqlite/dialect.ts'
import { Session } from '../../../src/dialects/sqlite/session.ts'
import { alone } from '../../../src/catalog/table-source.ts'
import { planSelect } from '../../../src/plan/select.ts'
import { AnswerSink } from '../../../src/response/answer-sink.ts'
import { compileStatement } from '../../../src/sql/compile.ts'
import { LIMITS } from '../../support/sql.ts'

const MEGABYTE = 2 ** 20

const pool = { queue: 10, wait: 1000 }

async function open (t: Test, ...statements: string[]) {
  const path = join(t.testdir(), 'test.db')
  const direct = new DatabaseSync(path)
  for (const statement of statements) direct.exec(statement)
  const dialect = await openSqlite({ path, pool, statementTimeout: 10_000 })
  t.teardown(async () => {
    direct.close()
    await dialect.close()
  })
  const { tables } = createCatalog(await dialect.introspect(), 0)
  const select = async (body: object) => {
    const plan = planSelect({ verb: 'select', ...body }, alone(tables.get('items') as Table), LIMITS)
    const sink = new AnswerSink(plan.columns, MEGABYTE)
    await dialect.read(compileStatement(plan, 'sqlite'), sink)
    return JSON.parse(String(sink.finish())).data.rows
  }
  return { dialect, direct, select }
}

/** From now on sessions fail at statements that match, as told. */
function failing (t: Test, pattern: RegExp, error: Error): void {
  const { ask } = Session.prototype
  Session.prototype.ask = async function (order) {
    if ('sql' in order && pattern.test(order.sql)) throw error
    return await ask.call(this, order)
  }
  t.teardown(() => { Session.prototype.ask = ask })
}

t.test('an error of the file while the catalog is read is an error of the database', async (t) => {
  const { dialect } = await open(t, 'create table items (id integer primary key)')
  failing(t, /table_xinfo/, Object.assign(new Error('secret'), { errcode: 10, errstr: 'disk I/O error' }))
  await t.rejects(dialect.introspect(), { code: 'DATABASE_UNAVAILABLE', reason: 'disk I/O error' })
})

t.test('a bug while the catalog is read is not reported as an error of the database', async (t) => {
  const { dialect } = await open(t, 'create table items (id integer primary key)')
  failing(t, /table_xinfo/, new TypeError('x is not a function'))
  await t.rejects(dialect.introspect(), { name: 'TypeError' })
})

t.test('foreign keys are enforced and LIKE is case-sensitive, whatever the file sets', async (t) => {
  const { dialect, select } = await open(t, 'create table items (id integer primary key, name text)', "insert into items (name) values ('Ada'), ('ada')", 'create table parts (item int references items)')
  t.same((await select({ filters: { name: { $like: 'a%' } } })).map(({ id }: { id: number }) => id), [2])
  const [, parts] = await dialect.introspect()
  t.equal(parts?.foreignKeys.length, 1)
})

t.test('a prepared statement uses the current table after a change', async (t) => {
  const { direct, select } = await open(t, 'create table items (id integer primary key, name text)')
  t.same(await select({}), [])
  direct.exec("alter table items add column more text; insert into items values (1, 'x', 'y')")
  t.same(await select({}), [{ id: 1, name: 'x' }])
  direct.exec('alter table items drop column name')
  await t.rejects(select({}), { name: 'SchemaMoved' })
})

t.test('the number of prepared statements is limited, and all statements still work', async (t) => {
  const { direct, select } = await open(t, 'create table items (id integer primary key, name text)', "insert into items values (1, 'x')")
  for (let round = 0; round < 2; round++) {
    for (let count = 1; count <= 150; count++) t.same(await select({ filters: { id: Array.from({ length: count }, (_, index) => index + 1) } }), [{ id: 1, name: 'x' }])
  }
  direct.exec('delete from items')
  t.same(await select({ filters: { id: [1] } }), [])
})

t.test('the account is the file\'s', async (t) => {
  const { dialect } = await open(t)
  t.same(await dialect.privileges(), ['reads and writes the file'])
})
