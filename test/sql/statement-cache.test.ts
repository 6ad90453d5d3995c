// alone: measures memory
// night: many random cases
/** Statements are kept within one bound, whatever tables there are and whatever is asked of them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { inspect } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import type { Table } from '../../src/catalog/catalog.ts'
import { alone } from '../../src/catalog/table-source.ts'
import { createPlan } from '../../src/plan/create-plan.ts'
import { statementCache } from '../../src/sql/kysely-builder.ts'
import { buildStatement } from '../../src/sql/compile.ts'
import { createStatementCache, type KeptStatement, type StatementCounts } from '../../src/sql/statement-cache.ts'
import type { UpdatePlan } from '../../src/plan/plan.ts'
import { compilePlan, LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

const times = <T> (count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, index) => make(index))
const createTable = (): Table => tableOf({ columns: times(50, (index) => mysqlColumn(index === 0 ? 'id' : `column_${index}`, 'int')) })
const ask = (table: Table, values: number, use?: StatementCounts): void => { compilePlan(createPlan({ verb: 'select', filters: { id: times(values, (id) => id) } }, alone(table), LIMITS), 'mysql', use) }
const statement = (length: number): KeptStatement => ({ sql: 'x'.repeat(length), pieces: ['x'] })
const keep = (of: { set (key: string, kept: KeptStatement): void }, ...keys: string[]): void => { for (const key of keys) of.set(key, statement(1000)) }

t.test('statements of 1,000 tables stay within the limit of the process, and are released with their tables', async (t) => {
  const bound = 16 * 1024 * 1024
  collectGarbage()
  const before = process.memoryUsage().heapUsed
  let tables = times(1000, createTable)
  collectGarbage()
  const empty = process.memoryUsage().heapUsed
  for (const table of tables) for (let length = 1; length <= 6; length++) ask(table, length)
  collectGarbage()
  const full = process.memoryUsage().heapUsed
  t.comment(`${tables.length} tables: ${empty - before} bytes; ${statementCache.size} statements: ${full - empty} bytes, counted as ${statementCache.bytes}`)
  t.ok(statementCache.bytes <= bound && statementCache.bytes > bound * 0.9, 'the bound is used')
  t.ok(statementCache.size < 20_000)
  // what each table has for itself, columns by place above all, is part of it
  t.ok(full - empty < 2 * bound, `${full - empty} bytes`)
  tables = []
  // the last one may still be in a register
  const one = 100_000
  for (let tries = 0; statementCache.bytes > one && tries < 50; tries++) {
    collectGarbage()
    await sleep(20)
  }
  t.ok(statementCache.bytes < one, `${statementCache.bytes} bytes`)
})

t.test('a hundred statements of a table are cached, and no long ones', async (t) => {
  const table = createTable()
  const use = { kept: 0, built: 0 }
  for (let length = 1; length <= 150; length++) ask(table, length, use)
  t.same(use, { kept: 0, built: 150 })
  for (let length = 51; length <= 150; length++) ask(table, length, use)
  t.same(use, { kept: 100, built: 150 })
  for (let time = 0; time < 2; time++) ask(table, 5000, use)
  t.same(use, { kept: 100, built: 152 })
  ask(table, 50, use)
  t.same(use, { kept: 100, built: 153 })
})

t.test('the least recently used statements are evicted', async (t) => {
  const table = createTable()
  const use = { kept: 0, built: 0 }
  for (let length = 1; length <= 300; length++) {
    ask(table, 1, use)
    ask(table, length, use)
  }
  t.same(use, { kept: 300, built: 300 }, 'the first one was always there')
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

t.test('a cached statement once kept its table, so that the memory of earlier catalogs was never freed', async (t) => {
  const size = 250 + 2 + 2000 + 40
  const cache = createStatementCache<KeptStatement & { table: object }>(2 * size)
  const fill = (count: number): void => {
    for (let each = 0; each < count; each++) {
      const table = {}
      cache.forTable(table).set('a', { ...statement(1000), table })
    }
  }
  fill(2)
  t.equal(cache.bytes, 2 * size)
  await sleep(1)
  collectGarbage()
  fill(1) // before the cache has learned of the collection
  t.ok(cache.bytes <= 2 * size)
  for (let tries = 0; cache.bytes > 0 && tries < 50; tries++) {
    await sleep(20)
    collectGarbage()
  }
  t.same([cache.bytes, cache.size], [0, 0])
})

t.test('NULLs in data use the same statement', async (t) => {
  const table = createTable()
  const use = { kept: 0, built: 0 }
  for (const value of [1, null, 2]) {
    for (const body of [{ verb: 'insert', data: { id: value, column_1: 1 } }, { verb: 'update', data: { column_1: value }, filters: { id: 1 } }] as const) {
      const plan = createPlan(body, alone(table), LIMITS)
      const { sql, parameters } = plan.verb === 'insert' ? { sql: 'insert into `items` (`id`, `column_1`) values (?, ?)', parameters: [value === null ? null : BigInt(value), 1n] } : buildStatement(plan as UpdatePlan, 'mysql')
      t.match(compilePlan(plan, 'mysql', use), { sql, parameters })
    }
  }
  t.same(use, { kept: 4, built: 2 })
})

t.test('statements that were kept once held the values of the first request', async (t) => {
  const table = tableOf({ columns: [mysqlColumn('id', 'int'), mysqlColumn('body', 'text')] })
  const plan = createPlan({ verb: 'select', aggregates: { n: { $count: '*', filters: { body: 'a value of the request' } } } }, alone(table), LIMITS)
  t.match(compilePlan(plan, 'mysql').parameters, ['a value of the request'])
  t.notMatch(inspect(compilePlan(plan, 'mysql').columns, { depth: Infinity }), 'a value of the request')
})

t.test('selects of all columns share the list of the table, by which layouts of rows are kept', async (t) => {
  const table = createTable()
  for (const filters of [{}, { id: 1 }]) t.equal(compilePlan(createPlan({ verb: 'select', filters }, alone(table), LIMITS), 'mysql').columns, table.columnList)
})
