import t from 'tap'
import { compilesTo } from '../support/sql.ts'

t.test('an aggregate is computed once, and cannot be taken for a column', async (t) => {
  compilesTo(t, { verb: 'select', filters: { id: 1 }, groupBy: ['name'], aggregates: { n: { $count: '*' }, sum: { $sum: 'total' } }, having: { n: { $gt: 2 }, name: { $ne: 'x' } }, orderBy: 'sum DESC, name', limit: 5 }, {
    mysql: {
      sql: "select `orders`.`name` as `v0`, count(*) as `v1`, sum(`orders`.`total`) as `v2` from `orders` where `id` = '?' group by `orders`.`name` having (`v1` > ? and `orders`.`name` <> ?) order by `v2` desc, `orders`.`name` asc limit ?",
      parameters: [1n, 2n, 'x', 5]
    },
    sqlite: {
      sql: 'select "orders"."name" as "v0", count(*) as "v1", sum(case when abs("orders"."total" * 100.0) >= 9.2e18 then abs(-9223372036854775807 - 1 + ("orders"."total" is null)) else cast(round("orders"."total" * 100.0) as integer) end) filter (where typeof("orders"."total") in (\'integer\', \'real\')) as "v2" from "orders" where "id" = ? group by "orders"."name" having ("v1" > ? and (typeof("orders"."name") = \'text\' and "orders"."name" <> ?)) order by "v2" desc, "orders"."name" asc limit ?',
      parameters: [1n, 2n, 'x', 5]
    }
  })
})

t.test('with an offset the order is completed by the columns of groupBy', async (t) => {
  compilesTo(t, { verb: 'select', groupBy: ['name', 'id'], aggregates: { n: { $count: 'ratio' } }, orderBy: 'n DESC', offset: 7, limit: 5 }, {
    mysql: {
      sql: 'select `orders`.`name` as `v0`, `orders`.`id` as `v1`, count(`orders`.`ratio`) as `v2` from `orders` group by `orders`.`name`, `orders`.`id` order by `v2` desc, `orders`.`name` desc, `orders`.`id` desc limit ? offset ?',
      parameters: [6, 7]
    },
    sqlite: {
      sql: 'select "orders"."name" as "v0", "orders"."id" as "v1", count("orders"."ratio") as "v2" from "orders" group by "orders"."name", "orders"."id" order by "v2" desc, "orders"."name" desc, "orders"."id" desc limit ? offset ?',
      parameters: [6, 7]
    }
  })
})

t.test('the filters of an aggregate are a CASE in MySQL and a clause in SQLite, and their parameters come first', async (t) => {
  compilesTo(t, { verb: 'select', filters: { id: 1 }, groupBy: ['name'], aggregates: { n: { $count: '*', filters: { name: 'y' } }, least: { $min: 'total', filters: { id: { $gt: 2 } } } }, having: { n: 3 }, limit: 5 }, {
    mysql: {
      sql: "select `orders`.`name` as `v0`, count(case when `name` = ? then 1 end) as `v1`, min(case when `id` > ? then `orders`.`total` end) as `v2` from `orders` where `id` = '?' group by `orders`.`name` having `v1` = ? limit ?",
      parameters: ['y', 2n, 1n, 3n, 5]
    },
    sqlite: {
      sql: 'select "orders"."name" as "v0", count(*) filter (where "name" = ?) as "v1", min("orders"."total") filter (where typeof("orders"."total") in (\'integer\', \'real\') and "id" > ?) as "v2" from "orders" where "id" = ? group by "orders"."name" having "v1" = ? limit ?',
      parameters: ['y', 2n, 1n, 3n, 5]
    }
  })
})
