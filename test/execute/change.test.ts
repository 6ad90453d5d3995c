/** Updates and deletes of several statements, where other clients change rows between them. */
import t from 'tap'
import type { Table } from '../../src/catalog/catalog.ts'
import type { Database } from '../../src/databases/database.ts'
import type { Executor, StatementResult } from '../../src/dialects/dialect.ts'
import { runChange } from '../../src/execute/change.ts'
import { KeyList } from '../../src/execute/runner.ts'
import { Runner } from '../../src/execute/runner.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { createPlan } from '../../src/verbs/index.ts'
import type { DeletePlan, UpdatePlan } from '../../src/plan/plan.ts'
import { rowKeysOf } from '../../src/plan/row-keys.ts'
import { ResponseSink } from '../../src/response/response-sink.ts'
import { LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const columns = [mysqlColumn('id', 'int', { nullable: false }), mysqlColumn('n', 'int')]
const database = {
  dialect: { engine: 'mysql' }, statementCounts: { cached: 0, built: 0 }, resultLimit: 10_000
} as unknown as Database

/** Selects find one row, and writes have an outcome. */
const executor = (write: StatementResult): Executor => ({
  async run ({ verb, columns }, sink) {
    if (verb !== 'select') return write
    sink?.begin(columns)
    sink?.row(columns.map(() => Buffer.from('1')))
    return { rows: 1, changed: 0 }
  }
})

const run = (body: object, table: Table, write: StatementResult): Promise<StatementResult> => {
  const plan = createPlan(body as never, alone(table), LIMITS) as UpdatePlan | DeletePlan
  return runChange(new Runner(executor(write).run, database), plan, {
    sink: plan.returning && new ResponseSink(plan.returning.columns, 10_000)
  })
}

t.test('more rows than were locked are a conflict, which may be tried again', async (t) => {
  const table = tableOf({ columns, primaryKey: ['id'] })
  const update = { verb: 'update', data: { n: 5 }, filters: { n: 1 }, returning: ['n'] }
  t.match(await run(update, table, { rows: 0, changed: 1, matched: 1 }), { changed: 1, rows: 1 })
  await t.rejects(run(update, table, { rows: 0, changed: 2, matched: 2 }), { code: 'DEADLOCK', reason: 'ROWS_CHANGED' })
  await t.rejects(run({ verb: 'delete', filters: { n: 1 }, returning: ['n'] }, table, { rows: 0, changed: 2 }), {
    code: 'DEADLOCK'
  })
})

t.test('in a table without transactions the outcome is unknown then', async (t) => {
  const table = tableOf({ columns, primaryKey: ['id'], transactional: false })
  t.match(await run({
    verb: 'update', data: { n: 5 }, filters: { n: 1 }, expect: 1
  }, table, { rows: 0, changed: 1, matched: 1 }), { changed: 1 })
  for (const more of [{ expect: 1 }, { returning: ['n'] }]) {
    await t.rejects(
      run({ verb: 'update', data: { n: 5 }, filters: { n: 1 }, ...more }, table, { rows: 0, changed: 2, matched: 2 }),
      { code: 'OUTCOME_UNKNOWN', details: [{ message: /rows were changed by others meanwhile/ }] }
    )
  }
})

t.test('keys are kept as parameters; NULL, what is no value of the type and too much are refused', async (t) => {
  const list = new KeyList([mysqlColumn('a', 'bigint'), mysqlColumn('b', 'varchar(10)'), mysqlColumn('c', 'datetime')])
  list.begin()
  list.row([Buffer.from('9223372036854775807'), Buffer.from('x'), Buffer.from('2026-01-02 03:04:05')])
  t.same(list.keys, [[9223372036854775807n, 'x', '2026-01-02 03:04:05']])
  t.throws(() => list.row([null, Buffer.from('x'), null]), { code: 'NOT_SUPPORTED' })
  t.throws(() => list.overflow(), { code: 'RESULT_TOO_LARGE' })
  list.begin()
  t.equal(list.count, 0)
})

t.test('rows are found by whole keys, those that cannot be NULL first', async (t) => {
  const part = (column: string | null, prefix = false) => ({ column, prefix, descending: false })
  const index = (name: string, ...parts: Array<ReturnType<typeof part>>) => ({
    name, unique: true, ordered: true, parts
  })
  const named = (table: Table) => rowKeysOf(table).map((key) => key.map(({ name }) => name).join())
  const all = [
    ...columns, mysqlColumn('t', 'text', { nullable: false }), mysqlColumn('x', 'int', { nullable: false }),
    mysqlColumn('odd', 'something')
  ]
  const indexes = [
    index('PRIMARY', part('id')), index('a', part('n')), index('b', part('t', true)), index('c', part('x'), part('id')),
    index('d', part('x')), index('e', part(null), part('x')), index('f', part('odd'))
  ]
  t.same(named(tableOf({ columns: all, primaryKey: ['id'], indexes })), ['id', 'id', 'x', 'x,id', 'n'])
  t.same(named(tableOf({ columns: all, primaryKey: ['t'], indexes: [index('PRIMARY', part('t', true))] })), [])
  t.same(named(tableOf({ columns: all, primaryKey: ['id'] })), ['id'], 'a rowid has no index')
})
