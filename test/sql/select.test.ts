import t from 'tap'
import type { Column } from '../../src/catalog/catalog.ts'
import { compileStatement } from '../../src/sql/compile.ts'
import { compileBody, compilesTo } from '../support/sql.ts'
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
    mysql: { sql: 'select `id` as `v0`, `name` as `v1`, `total` as `v2`, cast(`ratio` as double) as `v3`, `tags` as `v4`, `odd "na``me"` as `v5` from `orders` limit ?', parameters: [100] },
    sqlite: { sql: 'select "id" as "v0", "name" as "v1", "total" as "v2", "ratio" as "v3", "tags" as "v4", "odd ""na`me""" as "v5" from "orders" limit ?', parameters: [100] }
  })
})

t.test('orderBy qualifies its columns with the table, so that no alias is used', async (t) => {
  compilesTo(t, { verb: 'select', columns: ['id'], orderBy: 'total DESC, odd "na`me", id asc', limit: 7 }, {
    mysql: { sql: 'select `id` as `v0` from `orders` order by `orders`.`total` desc, `orders`.`odd "na``me"` asc, `orders`.`id` asc limit ?', parameters: [7] },
    sqlite: { sql: 'select "id" as "v0" from "orders" order by "orders"."total" desc, "orders"."odd ""na`me""" asc, "orders"."id" asc limit ?', parameters: [7] }
  })
})

t.test('filters that match every row are omitted', async (t) => {
  for (const filters of [{}, { id: { $nin: [] } }, { $and: [] }, { $not: { id: { $in: [] } } }, { id: { $ne: null } }]) {
    compilesTo(t, { verb: 'select', columns: ['id'], filters }, {
      mysql: { sql: 'select `id` as `v0` from `orders` limit ?', parameters: [100] },
      sqlite: { sql: 'select "id" as "v0" from "orders" limit ?', parameters: [100] }
    })
  }
})

t.test('pages and counts', async (t) => {
  const indexed = tableOf({
    columns: [mysqlColumn('id', 'bigint', { nullable: false }), mysqlColumn('tenant', 'int', { nullable: false }), mysqlColumn('at', 'datetime')],
    primaryKey: ['id'],
    indexes: [{ name: 'c0', unique: false, ordered: true, parts: ['tenant', 'at', 'id'].map((column) => ({ column, descending: false, prefix: false })) }]
  })
  const page = compileBody('mysql', { verb: 'select', columns: ['tenant'], filters: { tenant: 7 }, orderBy: 'at DESC', after: { at: '2026-01-01T00:00:00', id: 5 }, limit: 10 }, indexed)
  t.equal(page.sql, "select `tenant` as `v0`, `at` as `v1`, `id` as `v2` from `items` as `items` force index (`c0`) where `tenant` = '?' and " +
    '((`at` < ? or `at` is null) or (`at` = ? and `id` < ?)) order by `items`.`at` desc, `items`.`id` desc limit ?')
  t.strictSame(page.parameters, [7n, '2026-01-01 00:00:00', '2026-01-01 00:00:00', 5n, 11])
  t.same(page.columns.map(({ name }) => name), ['tenant', 'at', 'id'])
  const counted = (limit: number | undefined) => compileStatement({ verb: 'count', table: indexed, condition: { kind: 'compare', column: indexed.columnList[1] as Column, operator: '>', parameter: 7n }, limit }, 'mysql')
  t.equal(counted(undefined).sql, 'select count(*) as `v0` from `items` where `tenant` > ?')
  t.equal(counted(9).sql, 'select count(*) as `v0` from (select 1 as `v0` from `items` where `tenant` > ? limit ?) as `matching`')
  t.same(counted(9).confirmation?.columns.map(({ name }) => name), ['tenant'])
})
