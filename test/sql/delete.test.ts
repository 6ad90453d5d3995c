import t from 'tap'
import { compilesTo } from '../support/sql.ts'

t.test('a delete has the conditions of its filters', async (t) => {
  compilesTo(t, { verb: 'delete', filters: { 'odd "na`me"': 'x', id: { $lt: 9 } } }, {
    mysql: { sql: 'delete from `orders` where (`odd "na``me"` = ? and `id` < ?)', parameters: ['x', 9n] },
    sqlite: { sql: 'delete from "orders" where ("odd ""na`me""" = ? and "id" < ?)', parameters: ['x', 9n] }
  })
})
