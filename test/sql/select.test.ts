import t from 'tap'
import { compilesTo } from '../support/sql.ts'

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
