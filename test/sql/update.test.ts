import t from 'tap'
import { compilesTo } from '../support/sql.ts'

t.test('an update sets its columns where the filters match; in SQLite it skips rows that already have the values', async (t) => {
  compilesTo(t, { verb: 'update', data: { name: 'x', total: null }, filters: { id: 5 } }, {
    mysql: { sql: "update `orders` set `name` = ?, `total` = ? where `id` = '?'", parameters: ['x', null, 5n] },
    sqlite: {
      sql: 'update "orders" set "name" = ?, "total" = ? where "id" = ? and ("name" is not ? collate binary or "total" is not ? collate binary)',
      parameters: ['x', null, 5n, 'x', null]
    }
  })
})

t.test('filters combined with $or are in parentheses', async (t) => {
  compilesTo(t, { verb: 'update', data: { name: 'x' }, filters: { $or: [{ id: 1 }, { name: null }] } }, {
    mysql: { sql: "update `orders` set `name` = ? where (`id` = '?' or `name` is null)", parameters: ['x', 1n] },
    sqlite: { sql: 'update "orders" set "name" = ? where ("id" = ? or "name" is null) and "name" is not ? collate binary', parameters: ['x', 1n, 'x'] }
  })
})

t.test('filters that match no row are compiled', async (t) => {
  compilesTo(t, { verb: 'update', data: { name: 'x' }, filters: { id: { $in: [] } } }, {
    mysql: { sql: 'update `orders` set `name` = ? where 1 = 0', parameters: ['x'] },
    sqlite: { sql: 'update "orders" set "name" = ? where 1 = 0 and "name" is not ? collate binary', parameters: ['x', 'x'] }
  })
})
