/** Statements are kept within one bound, whatever tables there are and whatever is asked of them. */
import { inspect } from 'node:util'
import t from 'tap'
import type { Table } from '../../src/catalog/catalog.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { buildStatement } from '../../src/sql/compile.ts'
import { createStatementCache, type CachedStatement, type StatementCounts } from '../../src/sql/builder.ts'
import type { UpdatePlan } from '../../src/plan/plan.ts'
import { compilePlan, LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

const times = <T> (count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index))
const createTable = (): Table => tableOf({ columns: times(50, (index) => mysqlColumn(index === 0 ? 'id' : `column_${index}`, 'int')) })
const ask = (table: Table, values: number, use?: StatementCounts): void => { compilePlan(createPlan({ verb: 'select', filters: { id: times(values, (id) => id) } }, alone(table), LIMITS), 'mysql', use) }
const statement = (length: number): CachedStatement => ({ sql: 'x'.repeat(length), pieces: ['x'] })
const keep = (of: { set (key: string, kept: CachedStatement): void }, ...keys: string[]): void => { for (const key of keys) of.set(key, statement(1000)) }

t.test('a hundred statements of a table are cached, and no long ones', async (t) => {
  const table = createTable()
  const use = { cached: 0, built: 0 }
  for (let length = 1; length <= 150; length++) ask(table, length, use)
  t.same(use, { cached: 0, built: 150 })
  for (let length = 51; length <= 150; length++) ask(table, length, use)
  t.same(use, { cached: 100, built: 150 })
  for (let time = 0; time < 2; time++) ask(table, 5000, use)
  t.same(use, { cached: 100, built: 152 })
  ask(table, 50, use)
  t.same(use, { cached: 100, built: 153 })
})

t.test('the least recently used statements are evicted', async (t) => {
  const table = createTable()
  const use = { cached: 0, built: 0 }
  for (let length = 1; length <= 300; length++) {
    ask(table, 1, use)
    ask(table, length, use)
  }
  t.same(use, { cached: 300, built: 300 }, 'the first one was always there')
})

t.test('the statements of the least recently used table are evicted first', async (t) => {
  const size = 250 + 2 + 2000 + 40
  const cache = createStatementCache(4 * size)
  const [one, two] = [cache.forTable({}), cache.forTable({})]
  keep(one, 'a', 'b')
  keep(two, 'a', 'b')
  t.equal(cache.bytes, 4 * size)
  t.ok(one.get('a'), 'used last')
  keep(two, 'c')
  t.same([one.get('a') !== undefined, one.get('b') !== undefined, two.get('a') !== undefined], [true, false, true])
  keep(two, 'd', 'e')
  t.same([one.get('a'), two.get('b')], [undefined, undefined])
  t.equal(cache.bytes, 4 * size)
  t.equal(cache.size, 4)
  keep(one, 'a')
  t.ok(one.get('a'), 'a table that has lost all of its statements has a place again')
})

t.test('NULLs in data use the same statement', async (t) => {
  const table = createTable()
  const use = { cached: 0, built: 0 }
  for (const value of [1, null, 2]) {
    for (const body of [{ verb: 'insert', data: { id: value, column_1: 1 } }, { verb: 'update', data: { column_1: value }, filters: { id: 1 } }] as const) {
      const plan = createPlan(body, alone(table), LIMITS)
      const { sql, parameters } = plan.verb === 'insert' ? { sql: 'insert into `items` (`id`, `column_1`) values (?, ?)', parameters: [value === null ? null : BigInt(value), 1n] } : buildStatement(plan as UpdatePlan, 'mysql')
      t.match(compilePlan(plan, 'mysql', use), { sql, parameters })
    }
  }
  t.same(use, { cached: 4, built: 2 })
})

t.test('statements that are kept do not hold the values of the first request', async (t) => {
  const table = tableOf({ columns: [mysqlColumn('id', 'int'), mysqlColumn('body', 'text')] })
  const plan = createPlan({ verb: 'select', aggregates: { n: { $count: '*', filters: { body: 'a value of the request' } } } }, alone(table), LIMITS)
  t.match(compilePlan(plan, 'mysql').parameters, ['a value of the request'])
  t.notMatch(inspect(compilePlan(plan, 'mysql').columns, { depth: Infinity }), 'a value of the request')
})

t.test('selects of all columns share the list of the table, by which layouts of rows are kept', async (t) => {
  const table = createTable()
  for (const filters of [{}, { id: 1 }]) t.equal(compilePlan(createPlan({ verb: 'select', filters }, alone(table), LIMITS), 'mysql').columns, table.columnList)
})
