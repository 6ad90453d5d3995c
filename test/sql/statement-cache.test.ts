// night: thousands of statements
/** Statements are kept within one bound, whatever tables there are and whatever is asked of them. */
import { inspect } from 'node:util'
import t from 'tap'
import { alone } from '../../src/catalog/catalog.ts'
import { createPlan } from '../../src/verbs/index.ts'
import { CacheByTable } from '../../src/bounded-map.ts'
import { buildStatement } from '../../src/sql/statement-cache.ts'
import type { SelectPlan, UpdatePlan } from '../../src/plan/plan.ts'
import { compilePlan, LIMITS } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'
import { ask, createTable } from '../support/wide-tables.ts'

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

t.test('statements of all tables together stay within the limit, above which all are dropped', async (t) => {
  const size = 250 + 2 + 2000 + 40
  const cache = new CacheByTable<string>(4 * size, (key, text) => 250 + 2 * key.length + 2 * text.length + 40)
  const [one, two] = [{}, {}]
  const keep = (table: object, ...keys: string[]): void => {
    for (const key of keys) cache.set(table, key, 'x'.repeat(1000))
  }
  keep(one, 'a', 'b')
  keep(two, 'a', 'b')
  t.equal(cache.bytes, 4 * size)
  t.ok(cache.get(one, 'a') !== undefined && cache.get(two, 'b') !== undefined)
  keep(two, 'c')
  t.same([cache.get(one, 'a'), cache.get(two, 'a'), cache.get(two, 'c') !== undefined], [undefined, undefined, true])
  t.equal(cache.bytes, size)
})

t.test('NULLs in data use the same statement', async (t) => {
  const table = createTable()
  const use = { cached: 0, built: 0 }
  for (const value of [1, null, 2]) {
    for (const body of [{ verb: 'insert', data: { id: value, column_1: 1 } }, {
      verb: 'update', data: { column_1: value }, filters: { id: 1 }
    }] as const) {
      const plan = createPlan(body, alone(table), LIMITS)
      const { sql, parameters } = plan.verb === 'insert'
        ? {
            sql: 'insert into `items` (`id`, `column_1`) values (?, ?)',
            parameters: [value === null ? null : BigInt(value), 1n]
          }
        : {
            sql: buildStatement(plan as UpdatePlan, 'mysql').sql,
            parameters: buildStatement(plan as UpdatePlan, 'mysql').slots
          }
      t.match(compilePlan(plan, 'mysql', use), { sql, parameters })
    }
  }
  t.same(use, { cached: 4, built: 2 })
})

t.test('statements that are kept do not hold the values of the first request', async (t) => {
  const table = tableOf({ columns: [mysqlColumn('id', 'int'), mysqlColumn('body', 'text')] })
  const plan = createPlan(
    { verb: 'select', aggregates: { n: { $count: '*', filters: { body: 'a value of the request' } } } }, alone(table),
    LIMITS
  )
  t.match(compilePlan(plan, 'mysql').parameters, ['a value of the request'])
  t.notMatch(inspect(compilePlan(plan, 'mysql').columns, { depth: Infinity }), 'a value of the request')
})

t.test('selects of all columns share the list of the table, by which layouts of rows are kept', async (t) => {
  const table = createTable()
  for (const filters of [{}, { id: 1 }]) {
    t.equal(
      compilePlan(createPlan({ verb: 'select', filters }, alone(table), LIMITS), 'mysql').columns, table.columnList
    )
  }
})

t.test('no plan gets the statement of another one, whatever tables, columns and results are called', async (t) => {
  const column = (name: string) => mysqlColumn(name, 'int')
  const table = tableOf({
    name: 'items', columns: ['id', 'a', 'b', 'a#1;', '1:a', '?', '}{'].map(column), primaryKey: ['id']
  })
  const indexes = [
    { name: 'PRIMARY', unique: true, ordered: true, parts: [{ column: 'id', descending: false, prefix: false }] }
  ]
  // tables of two grants, or of a catalog and the one before, with one name
  const others = [
    ['id', 'x', 'y'], ['id', 'y', 'x'], ['id', 'x'], ['y', 'id']
  ].flatMap((names) => ['u', '?', '#1;', '1:u'].map((name) =>
    tableOf({
      name, columns: names.map(column), primaryKey: ['id'], indexes, uniqueKeys: [{ name: 'PRIMARY', columns: ['id'] }]
    })))
  const own = [
    {}, ...table.columnList.flatMap(({ name }) => [
      { filters: { [name]: 1 } }, { filters: { [name]: { $ne: 1 } } }, { columns: [name] },
      { orderBy: [{ [name]: 'ASC' }] }, { orderBy: [{ [name]: 'DESC' }] }
    ]),
    { columns: ['a', 'b'] }, { columns: ['b', 'a'] }, { offset: 1 }, { filters: { a: [1, 2] } }, {
      filters: { a: [1, 2, 3] }
    }, { filters: { a: { $nin: [1, 2] } } }, { filters: { a: 1, b: 1 } }, { filters: { $or: [{ a: 1 }, { b: 1 }] } },
    { filters: { $not: { a: 1, b: 1 } } }, { filters: { $not: { a: 1 }, b: 1 } }, {
      filters: { $or: [{ a: 1, b: 1 }, { id: 1 }] }
    }, { filters: { $or: [{ a: 1 }, { b: 1, id: 1 }] } }, { filters: { a: { $null: true } } },
    { filters: { a: { $null: false } } },
    ...['n', 'm'].flatMap((name) => [
      { aggregates: { [name]: { $sum: 'a' } } }, { aggregates: { [name]: { $sum: 'b' } } },
      { aggregates: { [name]: { $max: 'a' } } }, { aggregates: { [name]: { $max: 'a', filters: { b: 1 } } } },
      { groupBy: ['b'], aggregates: { [name]: { $sum: 'a' } }, having: { [name]: 1 } },
      { groupBy: ['b'], aggregates: { [name]: { $sum: 'a' } }, having: { b: 1 } }
    ]),
    { aggregates: { n: { $sum: 'a' }, m: { $sum: 'b' } } }, { aggregates: { n: { $sum: 'b' }, m: { $sum: 'a' } } }
  ]
  const related = [
    { $some: { o: { on: { a: 'id' }, table: 'u' } } }, { $none: { o: { on: { a: 'id' }, table: 'u' } } },
    { $some: { o: { on: { b: 'id' }, table: 'u' } } },
    { $some: { o: { on: { b: 'id' }, table: 'u', filters: { id: 1 } } } }
  ].map((filters) => ({ filters }))
  const members = [
    { o: { on: { a: 'id' }, table: 'u' } }, { p: { on: { a: 'id' }, table: 'u' } },
    { o: { on: { b: 'id' }, table: 'u' } }, { o: { on: { b: 'id' }, table: 'u', filters: { id: { $gt: 1 } } } }
  ].map((include) => ({ include }))
  const limits = { ...LIMITS, include: { levels: 2, members: 2 } }
  const plans = [
    ...own.map((body) => createPlan({ verb: 'select', ...body } as never, alone(table), limits)),
    ...others.flatMap((other) => [...related, ...members].map(
      (body) => createPlan({ verb: 'select', ...body } as never, { table, see: () => other }, limits)
    ))
  ]
  for (const run of ['built', 'cached']) {
    for (const plan of plans) {
      const { sql } = buildStatement(plan as SelectPlan, 'mysql')
      const compiled = compilePlan(plan, 'mysql')
      if (compiled.sql !== sql) t.equal(compiled.sql, sql, run)
      if (plan.verb === 'select' && plan.members === undefined) {
        t.same(compiled.columns.map(({ name }) => name), plan.columns.map(({ name }) => name))
      }
      const [member] = plan.verb === 'select' ? plan.members ?? [] : []
      if (member !== undefined) {
        t.ok(member.table.columnList.every((each) => compiled.columns.includes(each)), 'the columns of its own table')
      }
    }
  }
})
