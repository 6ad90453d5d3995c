import t from 'tap'
import { compilesTo } from '../support/sql.ts'

t.test('an insert names its columns in the order of the data', async (t) => {
  compilesTo(t, { verb: 'insert', data: { total: 1.5, name: "it's", id: 7, tags: { a: [1] }, 'odd "na`me"': null } }, {
    mysql: { sql: 'insert into `orders` (`total`, `name`, `id`, `tags`, `odd "na``me"`) values (?, ?, ?, ?, ?)', parameters: ['1.50', "it's", 7n, '{"a":[1]}', null] },
    sqlite: { sql: 'insert into "orders" ("total", "name", "id", "tags", "odd ""na`me""") values (?, ?, ?, ?, ?)', parameters: [1.5, "it's", 7n, '{"a":[1]}', null] }
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
    mysql: { sql: 'insert into `orders` (`id`, `total`) values (?, ?)', parameters: [9223372036854775807n, '12345678.90'] },
    sqlite: { sql: 'insert into "orders" ("id", "total") values (?, ?)', parameters: [9223372036854775807n, 12345678.9] }
  })
})
