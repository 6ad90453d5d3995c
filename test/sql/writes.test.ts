/** The SQL of inserts that golden/*.sql do not show: the rows of a list as a dialect writes them. */
import t from 'tap'
import type { Body } from '../../schemas/body.ts'
import type { Table, Triggers } from '../../src/catalog/catalog.ts'
import type { Engine } from '../../src/catalog/traits.ts'
import { alone } from '../../src/catalog/catalog.ts'
import { writeStatement } from '../../src/dialects/mysql/statement-command.ts'
import { createPlan } from '../../src/verbs/index.ts'
import type { InsertPlan } from '../../src/plan/plan.ts'
import { compileInsert, toBatch } from '../../src/sql/compile-insert.ts'
import { whyOneByOne } from '../../src/plan/writes.ts'
import type { Statement } from '../../src/sql/statement.ts'
import { textOf } from '../support/mysql.ts'
import { compileBody, LIMITS } from '../support/sql.ts'
import { mysqlColumn, sqliteColumn, tableOf } from '../support/tables.ts'

const createTable = (engine: Engine, name = 'items', odd = 'n', triggers?: Triggers): Table => {
  const column = engine === 'mysql' ? mysqlColumn : sqliteColumn
  return tableOf({
    name,
    engine: engine === 'sqlite' ? 'sqlite' : 'innodb',
    columns: [
      column('id', 'bigint', { nullable: false, autoIncrement: true }),
      column('sku', 'varchar(20)', { nullable: false, optional: false }), column(odd, 'int', { defaultText: '3' }),
      column('price', 'decimal(10,2)')
    ],
    primaryKey: ['id'],
    uniqueKeys: [{ name: 'PRIMARY', columns: ['id'] }, { name: 'sku', columns: ['sku'] }],
    indexes: [['PRIMARY', 'id'] as const, ['sku', 'sku'] as const].map(
      ([name, column]) => ({ name, unique: true, ordered: true, parts: [{ column, descending: false, prefix: false }] })
    ),
    ...triggers && { triggers }
  })
}

function compile (engine: Engine, data: object
  | object[], onConflict?: object, table = createTable(engine)): Statement[] {
  const plan = createPlan({ verb: 'insert', data, onConflict } as unknown as Body, alone(table), LIMITS) as InsertPlan
  const parts = whyOneByOne(plan, plan.rows) === undefined ? [plan.rows] : plan.rows.map((row) => [row])
  return parts.map((rows) => compileInsert(toBatch(plan, rows), engine, { cached: 0, built: 0 }))
}

const written = (...parameters: Parameters<typeof compile>): string[] =>
  compile(...parameters).map((statement) => textOf(writeStatement(statement)))

t.test('MySQL gets all rows in one statement, with DEFAULT where a row leaves a column out, and NULL ' +
  'for AUTO_INCREMENT', async (t) => {
  t.same(written('mysql', [{ sku: "it's", n: 1 }, { price: '2', sku: 'b' }, { id: 7, sku: 'c', n: null }]), [
    "insert into `items` (`sku`, `n`, `price`, `id`) values ('it\\'s', 1, default, null), ('b', default, '2.00', " +
      "null), ('c', null, default, 7)"
  ])
  const optional = tableOf({ columns: [mysqlColumn('n', 'int')] })
  t.same(written('mysql', [{}, {}, {}], undefined, optional), ['insert into `items` () values (), (), ()'])
})

t.test('the statement of a shape is the same whatever the number of rows', async (t) => {
  const table = createTable('mysql')
  const [one, two] = [1, 2].map((count) =>
    compile('mysql', Array.from({ length: count }, () => ({ sku: 'a' })), { key: ['sku'] }, table)[0] as Statement)
  t.equal(one?.pieces, two?.pieces)
  t.same([one?.rows, two?.rows], [1, 2])
})

t.test('SQLite runs one statement for each row, and the same for rows of one shape', async (t) => {
  const [statement, ...others] = compile('sqlite', [{ sku: 'a', n: 1 }, { sku: 'b', n: 2 }], { key: ['sku'] })
  t.same(others, [])
  t.match(statement, { parameters: ['a', 1n, 'b', 2n], rows: 2 })
  t.equal(compile('sqlite', [{ sku: 'a' }, { sku: 'b', n: 1 }]).length, 2, 'it has no DEFAULT for a value')
})

t.test('an upsert on MySQL names the columns of the key that a row leaves out', async (t) => {
  t.match(written('mysql', [{ sku: 'a' }], { key: ['n'] }, {
    ...createTable('mysql'), uniqueKeys: [{ name: 'by_n', columns: ['n'] }]
  })[0], '(`sku`, `n`) values (\'a\', default)')
})

t.test('a name that would end a comment is not put into one', async (t) => {
  const [sql] = written('mysql', [{ sku: 'a', 'n*/--': 1 }], { key: ['sku'] }, createTable('mysql', 'items', 'n*/--'))
  t.equal(sql, 'insert into `items` (`sku`, `n*/--`) values (\'a\', 1) on duplicate key update `sku` = ' +
    'if(`items`.`sku` = values(`sku`), `items`.`sku`, (select `items`.`sku` from (select 1 union all select 2) as ' +
      'two)), `n*/--` = values(`n*/--`)')
})

t.test('rows get statements of their own where one statement is not certain to do the same', async (t) => {
  const count = (...parameters: Parameters<typeof compile>): number[] =>
    compile(...parameters).map(({ rows }) => rows as number)
  const [a, b, c] = [{ sku: 'a', n: 1 }, { sku: 'b', n: 2 }, { sku: 'c', price: 1 }]
  t.same(count('mysql', [a, b, c]), [3])
  t.same(count('mysql', [a, b, c], { key: ['sku'], set: ['n'] }), [3])
  t.same(count('mysql', [a, b, c], { key: ['sku'] }), [1, 1, 1], 'each row writes its own columns')
  t.same(count('mysql', [c, a, { ...c, sku: 'd' }], { key: ['sku'] }), [1, 1, 1])
  t.same(count('mysql', [
    a, { sku: 'b', n: null }, { sku: 'bb', n: null }, { sku: 'c', n: 1 }, { sku: 'd', n: 1 }
  ], { key: ['sku'] }), [1, 1, 1, 1, 1], 'NULL in a column with another default')
  t.same(count('mysql', [a, { sku: 'b', n: null }], { key: ['sku'], set: ['price'] }), [2])
  const before: Triggers = { isComplete: true, list: [{ timing: 'before', event: 'insert' }] }
  t.same(count('mysql', [a, b, c], undefined, createTable('mysql', 'items', 'n', before)), [3])
  t.same(
    count('mysql', [a, { n: 1 }, { n: 2 }], undefined, createTable('mysql', 'items', 'n', before)), [1, 1, 1],
    'a required column that a trigger fills in'
  )
})

t.test('64-bit integers become parameters unchanged', async (t) => {
  const body = '{"verb":"insert","data":{"id":9223372036854775807,"total":12345678.90}}'
  t.strictSame(compileBody('mysql', body).parameters, [9223372036854775807n, '12345678.90'])
  t.strictSame(compileBody('sqlite', body).parameters, [9223372036854775807n, 12345678.9])
})
