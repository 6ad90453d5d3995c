/** `{"$column": …}`: filters that compare two columns of a row. */
import t from 'tap'
import { tokenFor } from '../grants/support.ts'
import { useEachEngine } from '../support/rotation.ts'
import { type EngineName, onEachEngine } from '../support/service.ts'

useEachEngine(t)

const schema = (engine: EngineName): string[] => {
  const isSqlite = engine === 'sqlite'
  const text = isSqlite ? 'text collate binary' : 'varchar(20) collate utf8mb4_bin'
  return [
    `create table parcels (
      id integer not null primary key, tenant int, small smallint, big bigint${isSqlite ? '' : ' unsigned'},
      price decimal(10,2), made date, due date, a ${text}, b ${text}, d double, e double,
      doc json, doc2 json, secret int, tx ${isSqlite ? 'text' : 'text collate utf8mb4_bin'},
      bin varbinary(5), bin2 varbinary(9))`,
    `insert into parcels (id, tenant, small, big, price, made, due, a, b, d, e, tx, secret) values
      (1, 1, 5, 5, 5.00, '2026-01-01', '2026-01-02', 'x', 'x', 1.5, 1.5, 'x', 5),
      (2, 1, -1, ${isSqlite ? '9223372036854775807' : '18446744073709551615'}, 2.50, '2026-01-03', '2026-01-02',
        'x', 'X', 1, 2, 'y', 0),
      (3, 2, null, 7, null, null, '2026-01-02', 'x', null, null, 1, null, 1),
      (4, 2, 7, 6, 7.01, '2026-01-02', '2026-01-02', 'a', 'b', 0, -1, 'b', 7)`,
    'create table items (id integer not null primary key, parcel int, n int, m int)',
    'create index parcel on items (parcel)', 'insert into items values (1, 1, 1, 2), (2, 1, 2, 2), (3, 2, 3, 2)',
    ...isSqlite
      ? ["insert into parcels (id, small, big, a, b) values (5, 'abc', 5, x'78', 'x'), (6, 9, 'text', 'z', 1.5)"]
      : []
  ]
}
const SELLER = 'seller-token-of-tenant-one-0123456789'
const tokens = [tokenFor(SELLER, { parcels: { columns: { select: ['id', 'small', 'big'] }, rows: { tenant: 1 } } })]
const $column = (name: string): object => ({ $column: name })

await onEachEngine(t, '$column compares two columns of a row', { schema, tokens }, async (t, { engine, post }) => {
  const found = async (filters: object, options: object = {}): Promise<unknown> => {
    const { json } = await post('parcels', { verb: 'select', columns: ['id'], orderBy: 'id', filters }, options)
    return json.error === undefined
      ? json.data.rows.map(({ id }: { id: number }) => id)
      : `${json.error.code} ${json.error.details[0]?.path}`
  }
  const table: Array<[filters: object, expected: unknown]> = [
    [{ small: { $eq: $column('big') } }, [1]], [{ small: { $lt: $column('big') } }, [2]],
    [{ big: { $lt: $column('small') } }, [4]], [
      { small: { $ne: $column('big') } }, [2, 4]
    ], [{ $not: { small: { $eq: $column('big') } } }, [2, 4]], [{ $not: { small: { $ne: $column('big') } } }, [1]],
    [{ small: { $eq: $column('price') } }, [1]], [{ price: { $gt: $column('small') } }, [2, 4]],
    [{ price: { $lte: $column('big') } }, [1, 2]], [
      { made: { $gt: $column('due') } }, [2]
    ], [{ made: { $gte: $column('due') } }, [2, 4]], [{ d: { $eq: $column('e') } }, [1]],
    [{ e: { $gt: $column('d') } }, [2]],
    [{ a: { $eq: $column('b') } }, [1]], [{ a: { $lt: $column('b') } }, [4]], [{ a: { $eq: $column('tx') } }, [1]], [
      { made: { $gte: '2026-01-02', $eq: $column('due') } }, [4]
    ], [{ $or: [{ id: 3 }, { small: { $eq: $column('big') } }] }, [1, 3]],
    [{ $and: [{ $not: { $or: [{ a: { $ne: $column('b') } }] } }] }, [1]],
    [{ doc: { $eq: $column('doc2') } }, []],
    ...engine === 'sqlite' ? [] : [[{ bin: { $eq: $column('bin2') } }, []]] as Array<[object, unknown]>
  ]
  for (const [filters, expected] of table) t.same(await found(filters), expected, JSON.stringify(filters))

  await t.test('wherever filters select or change rows', async (t) => {
    t.same((await post('parcels', {
      verb: 'update', filters: { small: { $lt: $column('big') } }, data: { secret: 9 }, expect: 1, dryRun: true
    })).json.data, { updated: 1, dryRun: true })
    t.same(
      (await post('parcels', { verb: 'delete', filters: { small: { $eq: $column('big') } }, dryRun: true })).json.data,
      { deleted: 1, dryRun: true }
    )
    t.same((await post('parcels', {
      verb: 'select', aggregates: { n: { $count: '*', filters: { made: { $gt: $column('due') } } } }
    })).json.data.rows, [{ n: 1 }])
    const on = { on: { id: 'parcel' } }
    t.same(
      await found({ $some: { items: { ...on, filters: { n: { $gt: $column('m') } } } } }), [2],
      'a column of the other table'
    )
    t.same(
      await found({ $some: { items: { ...on, filters: { n: { $gt: $column('small') } } } } }),
      'COLUMN_NOT_FOUND /filters/$some/items/filters/n/$gt/$column'
    )
    t.same((await post('parcels', {
      verb: 'select',
      columns: ['id'],
      filters: { id: 1 },
      include: { items: { ...on, columns: ['id'], filters: { n: { $eq: $column('m') } } } }
    })).json.data.rows, [{ id: 1, items: [{ id: 2 }] }])
  })

  await t.test('a hidden column is none, and rows outside the rules are not there', async (t) => {
    t.same(
      await found({ small: { $eq: $column('secret') } }, { token: SELLER }),
      'COLUMN_NOT_FOUND /filters/small/$eq/$column'
    )
    t.same(await found({ small: { $ne: $column('big') } }, { token: SELLER }), [2])
    t.same(await found({ $or: [{ small: { $ne: $column('big') } }, { small: { $eq: $column('big') } }] }, {
      token: SELLER
    }), [1, 2])
  })
})
