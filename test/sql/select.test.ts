/** The SQL of selects. */
import t from 'tap'
import type { Column } from '../../src/catalog/catalog.ts'
import type { Condition, ManyMember } from '../../src/plan/plan.ts'
import { compileStatement } from '../../src/sql/statement-cache.ts'
import { compileRelated, type OnValues } from '../../src/sql/related-rows.ts'
import type { Parameter } from '../../src/types/column-type.ts'
import { compileBody, compilesTo, orders } from '../support/sql.ts'
import { mysqlColumn, tableOf } from '../support/tables.ts'

t.test('the columns of a select are in the requested order, with aliases', async (t) => {
  compilesTo(t, { verb: 'select', columns: ['name', 'id'] }, {
    mysql: { sql: 'select `name` as `v0`, `id` as `v1` from `orders` limit ?', parameters: [100] },
    sqlite: { sql: 'select "name" as "v0", "id" as "v1" from "orders" limit ?', parameters: [100] }
  })
})

t.test('a type may define how its column is selected', async (t) => {
  compilesTo(t, { verb: 'select', columns: ['ratio'], limit: 1 }, {
    mysql: { sql: 'select cast(`ratio` as double) as `v0` from `orders` limit ?', parameters: [1] },
    sqlite: { sql: 'select "ratio" as "v0" from "orders" limit ?', parameters: [1] }
  })
})

t.test('a select without columns names every column, in table order', async (t) => {
  compilesTo(t, { verb: 'select' }, {
    mysql: {
      sql: 'select `id` as `v0`, `name` as `v1`, `total` as `v2`, cast(`ratio` as double) as `v3`, `tags` as ' +
      '`v4`, `odd "na``me"` as `v5` from `orders` limit ?',
      parameters: [100]
    },
    sqlite: {
      sql: 'select "id" as "v0", "name" as "v1", "total" as "v2", "ratio" as "v3", "tags" as "v4", "odd ' +
      '""na`me""" as "v5" from "orders" limit ?',
      parameters: [100]
    }
  })
})

t.test('orderBy qualifies its columns with the table, so that no alias is used', async (t) => {
  compilesTo(t, { verb: 'select', columns: ['id'], orderBy: 'total DESC, odd "na`me", id asc', limit: 7 }, {
    mysql: {
      sql: 'select `id` as `v0` from `orders` order by `orders`.`total` desc, `orders`.`odd "na``me"` asc, ' +
      '`orders`.`id` asc limit ?',
      parameters: [7]
    },
    sqlite: {
      sql: 'select "id" as "v0" from "orders" order by "orders"."total" desc, "orders"."odd ""na`me""" asc, ' +
      '"orders"."id" asc limit ?',
      parameters: [7]
    }
  })
})

t.test('filters that match every row are omitted', async (t) => {
  for (const filters of [
    {}, { id: { $nin: [] } }, { $and: [] }, { $not: { id: { $in: [] } } }, { id: { $ne: null } }
  ]) {
    compilesTo(t, { verb: 'select', columns: ['id'], filters }, {
      mysql: { sql: 'select `id` as `v0` from `orders` limit ?', parameters: [100] },
      sqlite: { sql: 'select "id" as "v0" from "orders" limit ?', parameters: [100] }
    })
  }
})

t.test('pages and counts', async (t) => {
  const indexed = tableOf({
    columns: [
      mysqlColumn('id', 'bigint', { nullable: false }), mysqlColumn('tenant', 'int', { nullable: false }),
      mysqlColumn('at', 'datetime')
    ],
    primaryKey: ['id'],
    indexes: [{
      name: 'c0',
      unique: false,
      ordered: true,
      parts: ['tenant', 'at', 'id'].map(
        (column) => ({ column, descending: false, prefix: false })
      )
    }]
  })
  const page = compileBody('mysql', {
    verb: 'select',
    columns: [
      'tenant'
    ],
    filters: { tenant: 7 },
    orderBy: 'at DESC',
    after: { at: '2026-01-01T00:00:00', id: 5 },
    limit: 10
  }, indexed)
  t.equal(page.sql, 'select `tenant` as `v0`, `at` as `v1`, `id` as `v2` from `items` force index (`c0`) ' +
    "where `tenant` = '?' and " +
    '((`at` < ? or `at` is null) or (`at` = ? and `id` < ?)) order by `items`.`at` desc, `items`.`id` desc limit ?')
  t.strictSame(page.parameters, [7n, '2026-01-01 00:00:00', '2026-01-01 00:00:00', 5n, 11])
  t.same(page.columns.map(({ name }) => name), ['tenant', 'at', 'id'])
  const counted = (limit: number | undefined) => compileStatement({
    verb: 'count',
    table: indexed,
    condition: { kind: 'compare', column: indexed.columnList[1] as Column, operator: '>', parameter: 7n },
    limit
  }, 'mysql')
  t.equal(counted(undefined).sql, 'select count(*) as `v0` from `items` where `tenant` > ?')
  t.equal(counted(9)
    .sql, 'select count(*) as `v0` from (select 1 as `v0` from `items` where `tenant` > ? limit ?) as `matching`')
  t.same(counted(9).confirmations.map(({ sql }) => sql), ['select * from `items` limit 0'])
})

type Expected = readonly [sql: string, ...parameters: Parameter[]]

/** What other programs may have stored on SQLite passes no comparison. */
const TEXT_NAME = '(typeof("name") = \'text\' and'
const JSON_TAGS = 'case when typeof("tags") <> \'blob\' and json_valid("tags") then'

const filters: Array<[filters: object, mysql: Expected, sqlite: Expected]> = [
  [{ name: 'x' }, ['`name` = ?', 'x'], ['"name" = ?', 'x']],
  [{ name: { $is: 'x' } }, ['(`name` = ? and cast(convert(`name` using utf8mb4) as binary) = cast(? as binary) and ' +
    '`name` is not null)', 'x', 'x'], ['("name" = ? and "name" = ? collate binary and "name" is not null)', 'x', 'x']],
  [{ $is: { id: 1, name: null } }, ["(`id` = '?' and `name` is null)", 1n], ['("id" = ? and "name" is null)', 1n]],
  [{ name: null }, ['`name` is null'], ['"name" is null']],
  [{ name: { $null: false } }, ['`name` is not null'], ['"name" is not null']],
  [{ id: { $ne: 1 } }, ["`id` <> '?'", 1n], ['"id" <> ?', 1n]],
  [{ id: { $gt: 1 } }, ['`id` > ?', 1n], ['"id" > ?', 1n]],
  [{ id: { $gte: 1 } }, ['`id` >= ?', 1n], ['"id" >= ?', 1n]],
  [{ id: { $lt: 1 } }, ['`id` < ?', 1n], ['"id" < ?', 1n]],
  [{ id: { $lte: 1 } }, ['`id` <= ?', 1n], ['"id" <= ?', 1n]],
  [{ name: ['a', 'b'] }, ['`name` in (?, ?)', 'a', 'b'], ['"name" in (?, ?)', 'a', 'b']],
  [{ name: { $nin: ['a', 'b'] } }, ['`name` not in (?, ?)', 'a', 'b'], [
    '(typeof("name") = \'text\' and "name" not in (?, ?))', 'a', 'b'
  ]],
  [{ name: ['a', null] }, ['(`name` in (?) or `name` is null)', 'a'], ['("name" in (?) or "name" is null)', 'a']],
  [{ id: { $in: [] } }, ['1 = 0'], ['1 = 0']],
  [{ total: 5 }, ['`total` = cast(? as decimal(10,2))', '5.00'], ['"total" = ?', 5]],
  [{ total: [1, 2] }, ['`total` in (cast(? as decimal(10,2)), cast(? as decimal(10,2)))', '1.00', '2.00'], [
    '"total" in (?, ?)', 1, 2
  ]],
  [
    { total: { $between: [1, 2] } },
    ['`total` between cast(? as decimal(10,2)) and cast(? as decimal(10,2))', '1.00', '2.00'],
    ['(typeof("total") in (\'integer\', \'real\') and "total" between ? and ?)', 1, 2]
  ],
  [{ tags: { a: 1 } }, ['`tags` = cast(? as json)', '{"a":1}'], [`${JSON_TAGS} json("tags") = json(?) end`, '{"a":1}']],
  [{ tags: null }, ['(`tags` is null or `tags` = cast(? as json))', 'null'], [
    `("tags" is null or ${JSON_TAGS} json("tags") = json(?) end)`, 'null'
  ]],
  [{ name: { $like: 'a%' } }, ["`name` like ? escape '!'", 'a%'], [`${TEXT_NAME} "name" like ? escape '!')`, 'a%']],
  [{ name: { $nlike: 'a_' } }, ["`name` not like ? escape '!'", 'a_'], [
    `${TEXT_NAME} "name" not like ? escape '!')`, 'a_'
  ]],
  [{ name: { $startsWith: '5%' } }, ["`name` like ? escape '!'", '5!%%'], [
    `${TEXT_NAME} "name" like ? escape '!')`, '5!%%'
  ]],
  [{ name: { $contains: '\\_' } }, ["`name` like ? escape '!'", '%\\!_%'], [
    `${TEXT_NAME} "name" like ? escape '!')`, '%\\!_%'
  ]],
  [{ id: 1, name: 'x' }, ["(`id` = '?' and `name` = ?)", 1n, 'x'], ['("id" = ? and "name" = ?)', 1n, 'x']],
  [{ $or: [{ id: 1 }, { id: 2, name: 'x' }] }, ["(`id` = '?' or (`id` = '?' and `name` = ?))", 1n, 2n, 'x'], [
    '("id" = ? or ("id" = ? and "name" = ?))', 1n, 2n, 'x'
  ]],
  [{ $not: { id: 1 } }, ["not (`id` = '?')", 1n], ['not ("id" = ?)', 1n]],
  [{ $not: { name: 'x' } }, ['not (`name` = ?)', 'x'], [
    'not (case when typeof("name") = \'text\' then "name" = ? end)', 'x'
  ]],
  [{ 'odd "na`me"': 'x' }, ['`odd "na``me"` = ?', 'x'], ['"odd ""na`me""" = ?', 'x']]
]

t.test('filters become conditions with a placeholder for each value', async (t) => {
  for (const [filter, [mysql, ...mysqlParameters], [sqlite, ...sqliteParameters]] of filters) {
    compilesTo(t, { verb: 'delete', filters: filter }, {
      mysql: { sql: `delete from \`orders\` where ${mysql}`, parameters: mysqlParameters },
      sqlite: { sql: `delete from "orders" where ${sqlite}`, parameters: sqliteParameters }
    })
  }
})

t.test('a condition that is always true can be compiled', async (t) => {
  const table = orders.mysql
  const always: Condition = { kind: 'constant', value: true }
  t.equal(compileStatement({ verb: 'delete', table, condition: { kind: 'not', condition: always } }, 'mysql')
    .sql, 'delete from `orders` where not (1 = 1)')
})

t.test('an aggregate is computed once, and cannot be taken for a column', async (t) => {
  compilesTo(t, {
    verb: 'select',
    filters: { id: 1 },
    groupBy: ['name'],
    aggregates: {
      n: { $count: '*' }, sum: { $sum: 'total' }
    },
    having: { n: { $gt: 2 }, name: { $ne: 'x' } },
    orderBy: 'sum DESC, name',
    limit: 5
  }, {
    mysql: {
      sql: 'select `orders`.`name` as `v0`, count(*) as `v1`, sum(`orders`.`total`) as `v2` from `orders` where ' +
        "`orders`.`id` = '?' group by `orders`.`name` having (`v1` > ? and `orders`.`name` <> ?) order by `v2` desc, " +
          '`orders`.`name` asc limit ?',
      parameters: [1n, 2n, 'x', 5]
    },
    sqlite: {
      sql: 'select "orders"."name" as "v0", count(*) as "v1", sum(case when abs("orders"."total" * 100.0) >= 9.2e18 ' +
        'then abs(-9223372036854775807 - 1 + ("orders"."total" is null)) else cast(round("orders"."total" * 100.0) ' +
          'as integer) end) filter (where typeof("orders"."total") in (\'integer\', \'real\')) as "v2" from "orders" ' +
            'where "orders"."id" = ? group by "orders"."name" having ("v1" > ? and (typeof("orders"."name") = ' +
              '\'text\' and "orders"."name" <> ?)) order by "v2" desc, "orders"."name" asc limit ?',
      parameters: [1n, 2n, 'x', 5]
    }
  })
})

t.test('with an offset the order is completed by the columns of groupBy', async (t) => {
  compilesTo(t, {
    verb: 'select',
    groupBy: [
      'name', 'id'
    ],
    aggregates: { n: { $count: 'ratio' } },
    orderBy: 'n DESC',
    offset: 7,
    limit: 5
  }, {
    mysql: {
      sql: 'select `orders`.`name` as `v0`, `orders`.`id` as `v1`, count(`orders`.`ratio`) as `v2` from `orders` ' +
        'group by `orders`.`name`, `orders`.`id` order by `v2` desc, `orders`.`name` desc, `orders`.`id` ' +
          'desc limit ? offset ?',
      parameters: [6, 7]
    },
    sqlite: {
      sql: 'select "orders"."name" as "v0", "orders"."id" as "v1", count("orders"."ratio") as "v2" from "orders" ' +
        'group by "orders"."name", "orders"."id" order by "v2" desc, "orders"."name" desc, "orders"."id" ' +
          'desc limit ? offset ?',
      parameters: [6, 7]
    }
  })
})

t.test('the filters of an aggregate are a CASE in MySQL and a clause in SQLite, and their ' +
  'parameters come first', async (t) => {
  compilesTo(t, {
    verb: 'select',
    filters: { id: 1 },
    groupBy: ['name'],
    aggregates: {
      n: { $count: '*', filters: { name: 'y' } }, least: { $min: 'total', filters: { id: { $gt: 2 } } }
    },
    having: { n: 3 },
    limit: 5
  }, {
    mysql: {
      sql: 'select `orders`.`name` as `v0`, count(case when `orders`.`name` = ? then 1 end) as `v1`, min(case when ' +
        "`orders`.`id` > ? then `orders`.`total` end) as `v2` from `orders` where `orders`.`id` = '?' group by " +
          '`orders`.`name` having `v1` = ? limit ?',
      parameters: ['y', 2n, 1n, 3n, 5]
    },
    sqlite: {
      sql: 'select "orders"."name" as "v0", count(*) filter (where "orders"."name" = ?) as "v1", ' +
        'min("orders"."total") filter (where typeof("orders"."total") in (\'integer\', \'real\') and "orders"."id" > ' +
          '?) as "v2" from "orders" where "orders"."id" = ? group by "orders"."name" having "v1" = ? limit ?',
      parameters: ['y', 2n, 1n, 3n, 5]
    }
  })
})

/** How many values each part of a statement has, and how many parts there are. */
const VALUES = 9000
const PARTS = 40

for (const engine of ['mysql', 'sqlite'] as const) {
  await t.test(`the statements of a member whose filters have many values are not built at once, which blocked the process for seconds (${engine})`, async (
    t
  ) => {
    const table = orders[engine]
    const [id, name] = [...table.columns.values()] as [ManyMember['columns'][0], ManyMember['columns'][0]]
    const member: ManyMember = {
      kind: 'many',
      name: 'orders',
      table,
      on: [{ column: name, other: name }],
      condition: {
        kind: 'in', column: id, negated: false, parameters: Array.from({ length: VALUES }, (_, index) => index)
      },
      columns: [id],
      members: [],
      order: [{ column: id, direction: 'asc' }],
      limit: 10,
      index: undefined
    }
    let taken = 0
    const onValues = {
      * [Symbol.iterator] (): Generator<OnValues> {
        for (; taken < PARTS; taken++) yield { id: taken, values: [`name ${taken}`] }
      }
    }
    const parts: number[] = []
    for (const { parameters, sql } of compileRelated(member, onValues as unknown as readonly OnValues[], {
      engine, counts: { cached: 0, built: 0 }
    })) {
      const count = sql.split(' union all ').length
      parts.push(count)
      t.equal(parameters.length, count * (VALUES + 3))
      t.ok(parameters.length <= 30_000)
      t.ok(taken <= parts.reduce((sum, each) => sum + each) + 1, 'later parts have not been looked at')
    }
    t.equal(parts.reduce((sum, each) => sum + each), PARTS)
  })
}
