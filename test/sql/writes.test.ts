/** The SQL of inserts, updates and deletes. */
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
import { compilesTo, LIMITS } from '../support/sql.ts'
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

t.test('SQLite runs one statement for each row, which says whether the row exists', async (t) => {
  const [statement, ...others] = compile('sqlite', [{ sku: 'a', n: 1 }, { sku: 'b', n: 2 }], { key: ['sku'] })
  t.same(others, [])
  t.match(statement, {
    sql: 'insert into "items" ("sku", "n") values (?, ?) on conflict ("sku") do update set "n" = "excluded"."n" ' +
      'where row_query_exists(null) and "items"."n" is not "excluded"."n" collate binary',
    parameters: ['a', 1n, 'b', 2n],
    rows: 2
  })
  t.equal(compile('sqlite', [{ sku: 'a' }, { sku: 'b', n: 1 }]).length, 2, 'it has no DEFAULT for a value')
  t.equal(
    compile('sqlite', [{}, {}], undefined, tableOf({ columns: [sqliteColumn('n', 'int')], engine: 'sqlite' }))[0]?.sql,
    'insert into "items" default values'
  )
})

t.test('an upsert on MySQL fails in its first assignment unless the named key is equal', async (t) => {
  const guard = 'if(`items`.`sku` = /*!80019 `given`.`sku` */ /*M!100700 values(`sku`) */, `items`.`sku`, (select ' +
    '`items`.`sku` from (select 1 union all select 2) as two))'
  t.same(written('mysql', [{ sku: 'a', price: 1 }, { sku: 'b', price: 2 }], { key: ['sku'] }), [
    `insert into \`items\` (\`sku\`, \`price\`) values ('a', '1.00'), ('b', '2.00') /*!80019 as \`given\` */ on duplicate key update \`sku\` = ${guard}, \`price\` = /*!80019 \`given\`.\`price\` */ /*M!100700 values(\`price\`) */`
  ])
  t.match(written('mysql', [{ sku: 'a' }], { key: ['sku'], set: [] })[0], `on duplicate key update \`sku\` = ${guard}`)
  t.match(written('mysql', [{ sku: 'a' }], {
    key: ['sku'], set: { price: { $inc: 5 } }
  })[0], /, `price` = `items`\.`price` \+ /)
  t.match(written('mysql', { sku: 'a' }, {
    key: ['sku']
  })[0], 'on duplicate key update `id` = if(`items`.`sku` = ', 'one row reports its id')
  t.match(written('mysql', { sku: 'a' }, { key: ['sku'] })[0], 'last_insert_id(`items`.`id`)')
  t.match(written('mysql', [{ sku: 'a' }], { key: ['n'] }, {
    ...createTable('mysql'), uniqueKeys: [{ name: 'by_n', columns: ['n'] }]
  })[0], '(`sku`, `n`) values (\'a\', default)', 'the columns of the key are named')
  const [beside] = written('mysql', [{ sku: 'a' }, { id: 1, sku: 'b' }], { key: ['id'], set: ['sku'] })
  t.match(
    beside, "insert into `items` (`sku`, `id`) values ('a', null), ('b', 1) ",
    'rows that the database numbers are among the others'
  )
  t.match(
    beside, /update `sku` = if\(`items`\.`id` = .* and `items`\.`id` <= -?\d+, `items`\.`sku`, /,
    'which are not near the last number'
  )
  t.equal(written('mysql', [{ sku: 'a' }, { sku: 'c' }], {
    key: ['id'], set: ['sku']
  })[0], "insert into `items` (`sku`) values ('a'), ('c')", 'rows that the database numbers are inserted')
  t.match(
    written('mysql', [{ sku: 'a' }], { key: ['sku'] }, createTable('mysql', 'Given'))[0], '/*!80019 as `given_` */'
  )
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

t.test('an insert names its columns in the order of the data', async (t) => {
  compilesTo(t, { verb: 'insert', data: { total: 1.5, name: "it's", id: 7, tags: { a: [1] }, 'odd "na`me"': null } }, {
    mysql: {
      sql: 'insert into `orders` (`total`, `name`, `id`, `tags`, `odd "na``me"`) values (?, ?, ?, ?, ?)',
      parameters: ['1.50', "it's", 7n, '{"a":[1]}', null]
    },
    sqlite: {
      sql: 'insert into "orders" ("total", "name", "id", "tags", "odd ""na`me""") values (?, ?, ?, ?, ?)',
      parameters: [1.5, "it's", 7n, '{"a":[1]}', null]
    }
  })
})

t.test('an insert without data has the form of its engine', async (t) => {
  compilesTo(t, { verb: 'insert', data: {} }, {
    mysql: { sql: 'insert into `orders` () values ()', parameters: [] },
    sqlite: { sql: 'insert into "orders" default values', parameters: [] }
  })
})

t.test('64-bit integers become parameters unchanged', async (t) => {
  compilesTo(t, '{"verb":"insert","data":{"id":9223372036854775807,"total":12345678.90}}', {
    mysql: {
      sql: 'insert into `orders` (`id`, `total`) values (?, ?)', parameters: [9223372036854775807n, '12345678.90']
    },
    sqlite: {
      sql: 'insert into "orders" ("id", "total") values (?, ?)', parameters: [9223372036854775807n, 12345678.9]
    }
  })
})

t.test('an update sets its columns where the filters match; in SQLite it skips rows that ' +
  'already have the values', async (t) => {
  compilesTo(t, { verb: 'update', data: { name: 'x', total: null }, filters: { id: 5 } }, {
    mysql: { sql: "update `orders` set `name` = ?, `total` = ? where `id` = '?'", parameters: ['x', null, 5n] },
    sqlite: {
      sql: 'update "orders" set "name" = ?, "total" = ? where "id" = ? and ("name" is not ? collate binary or ' +
        '"total" is not ? collate binary)',
      parameters: ['x', null, 5n, 'x', null]
    }
  })
})

t.test('filters combined with $or are in parentheses', async (t) => {
  compilesTo(t, { verb: 'update', data: { name: 'x' }, filters: { $or: [{ id: 1 }, { name: null }] } }, {
    mysql: { sql: "update `orders` set `name` = ? where (`id` = '?' or `name` is null)", parameters: ['x', 1n] },
    sqlite: {
      sql: 'update "orders" set "name" = ? where ("id" = ? or "name" is null) and "name" is not ? collate binary',
      parameters: ['x', 1n, 'x']
    }
  })
})

t.test('filters that match no row are compiled', async (t) => {
  compilesTo(t, { verb: 'update', data: { name: 'x' }, filters: { id: { $in: [] } } }, {
    mysql: { sql: 'update `orders` set `name` = ? where 1 = 0', parameters: ['x'] },
    sqlite: {
      sql: 'update "orders" set "name" = ? where 1 = 0 and "name" is not ? collate binary', parameters: ['x', 'x']
    }
  })
})

t.test('a delete has the conditions of its filters', async (t) => {
  compilesTo(t, { verb: 'delete', filters: { 'odd "na`me"': 'x', id: { $lt: 9 } } }, {
    mysql: { sql: 'delete from `orders` where (`odd "na``me"` = ? and `id` < ?)', parameters: ['x', 9n] },
    sqlite: { sql: 'delete from "orders" where ("odd ""na`me""" = ? and "id" < ?)', parameters: ['x', 9n] }
  })
})
