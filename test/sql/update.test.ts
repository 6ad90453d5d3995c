import t from 'tap'
import { compilesTo } from '../support/sql.ts'

t.test('an update sets its columns where the filters match; SQLite leaves out rows that have the values already', async (t) => {
  compilesTo(t, { verb: 'update', data: { name: 'x', total: null }, filters: { id: 5 } }, {
    mysql: { sql: "update `orders` set `name` = ?, `total` = ? where `id` = '?'", parameters: ['x', null, 5n] },
    sqlite: {
      sql: 'update "orders" set "name" = ?, "total" = ? where "id" = ? and ("name" is not ? collate binary or "total" is not ? collate binary)',
      parameters: ['x', null, 5n, 'x', null]
    }
  })
})

t.test('filters that hold with "or" are kept together', async (t) => {
  compilesTo(t, { verb: 'update', data: { name: 'x' }, filters: { $or: [{ id: 1 }, { name: null }] } }, {
    mysql: { sql: "update `orders` set `name` = ? where (`id` = '?' or `name` is null)", parameters: ['x', 1n] },
    sqlite: { sql: 'update "orders" set "name" = ? where ("id" = ? or "name" is null) and "name" is not ? collate binary', parameters: ['x', 1n, 'x'] }
  })
})

t.test('filters that no row matches are sent as such', async (t) => {
  compilesTo(t, { verb: 'update', data: { name: 'x' }, filters: { id: { $in: [] } } }, {
    mysql: { sql: 'update `orders` set `name` = ? where 1 = 0', parameters: ['x'] },
    sqlite: { sql: 'update "orders" set "name" = ? where 1 = 0 and "name" is not ? collate binary', parameters: ['x', 'x'] }
  })
})
