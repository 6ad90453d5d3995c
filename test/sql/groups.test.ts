import t from 'tap'
import { compilesTo } from '../support/sql.ts'

t.test('an aggregate is computed once in MySQL, and cannot be taken for a column in SQLite', async (t) => {
  compilesTo(t, { verb: 'select', filters: { id: 1 }, groupBy: ['name'], aggregates: { n: { $count: '*' }, sum: { $sum: 'total' } }, having: { n: { $gt: 2 }, name: { $ne: 'x' } }, orderBy: 'sum DESC, name', limit: 5 }, {
    mysql: {
      sql: "select `orders`.`name` as `v0`, count(*) as `v1`, sum(`orders`.`total`) as `v2` from `orders` where `id` = '?' group by `orders`.`name` having (`v1` > ? and `orders`.`name` <> ?) order by `v2` desc, `orders`.`name` asc limit ?",
      parameters: [1n, 2n, 'x', 5]
    },
    sqlite: {
      sql: 'select "orders"."name" as "v0", count(*) as "v1", sum(case when abs("orders"."total" * 100.0) >= 9.2e18 then abs(-9223372036854775807 - 1 + ("orders"."total" is null)) else cast(round("orders"."total" * 100.0) as integer) end) as "v2" from "orders" where "id" = ? group by "orders"."name" having (count(*) > ? and "orders"."name" <> ?) order by sum(case when abs("orders"."total" * 100.0) >= 9.2e18 then abs(-9223372036854775807 - 1 + ("orders"."total" is null)) else cast(round("orders"."total" * 100.0) as integer) end) desc, "orders"."name" asc limit ?',
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
      sql: 'select "orders"."name" as "v0", "orders"."id" as "v1", count("orders"."ratio") as "v2" from "orders" group by "orders"."name", "orders"."id" order by count("orders"."ratio") desc, "orders"."name" desc, "orders"."id" desc limit ? offset ?',
      parameters: [6, 7]
    }
  })
})
