/** Values of members that have gone wrong: aggregates of FLOAT, and relations of bytes of different lengths. */
import t from 'tap'
import { onEachEngine } from '../support/service.ts'

await onEachEngine(t, 'the least and the greatest FLOAT of related rows are exact', {
  schema: {
    mysql: ['create table devices (id int primary key)', 'create table readings (id int primary key, device_id int not null, v float, d double, key (device_id))'],
    sqlite: ['create table devices (id integer primary key)', 'create table readings (id integer primary key, device_id integer not null, v float, d double)', 'create index by_device on readings (device_id)']
  }
}, async (t, { post, sql }) => {
  await sql('insert into devices values (1), (2)')
  await sql('insert into readings values (1, 1, 16777217, 0.1), (2, 1, 0.1, 1e300), (3, 1, null, null)')
  const { json: { data: { rows } } } = await post('readings', { verb: 'select', columns: ['v', 'd'], orderBy: 'id', limit: 2 })
  for (const filters of [undefined, { id: { $gt: 0 } }]) {
    const aggregates = { low: { $min: 'v' }, v: { $max: 'v' }, sum: { $sum: 'd' }, least: { $min: 'd' }, some: { $max: 'v', filters: { id: 2 } } }
    const { status, json, text } = await post('devices', { verb: 'select', orderBy: 'id', include: { r: { table: 'readings', on: { id: 'device_id' }, aggregates, ...filters && { filters } } } })
    t.equal(status, 200, text)
    t.strictSame(json?.data?.rows, [
      { id: 1, r: { low: rows[1].v, v: rows[0].v, sum: 1e300, least: 0.1, some: rows[1].v } },
      { id: 2, r: { low: null, v: null, sum: null, least: null, some: null } }
    ])
  }
})

await onEachEngine(t, 'bytes of different lengths relate as the database compares them', {
  schema: () => ['create table a (id int primary key, k binary(4) not null, v varbinary(8) not null, key (k), key (v))', 'create table b (id int primary key, k binary(8) not null, v varbinary(4) not null, key (k), key (v))'],
  only: ['mariadb', 'mysql']
}, async (t, { post, sql }) => {
  await sql("insert into a values (1, 'aaaa', 'aaaa'), (2, 'bb', 'bb')")
  await sql("insert into b values (1, 'aaaa', 'aaaa'), (2, 'bb', 'bb'), (3, 'aaaabbbb', '')")
  for (const [from, to, on] of [['a', 'b', { k: 'k' }], ['b', 'a', { k: 'k' }], ['a', 'b', { v: 'v' }], ['b', 'a', { v: 'v' }], ['a', 'b', { v: 'v', id: 'id' }]] as const) {
    const pairs = Object.entries(on).map(([own, other]) => `x.${own} = y.${other}`).join(' and ')
    const wanted = await sql(`select x.id, (select group_concat(y.id order by y.id) from ${to} y where ${pairs}) as ids from ${from} x order by x.id`)
    const { status, json, text } = await post(from, { verb: 'select', columns: ['id'], orderBy: 'id', include: { r: { table: to, on, columns: ['id'] } } })
    t.equal(status, 200, text)
    t.same(json?.data?.rows?.map(({ id, r }: any) => ({ id, ids: [r].flat().filter((each) => each !== null).map((each) => each.id).join() || null })), wanted, `${from} to ${to} by ${Object.keys(on).join()}`)
    const some = await post(from, { verb: 'select', columns: ['id'], orderBy: 'id', filters: { $some: { r: { table: to, on } } } })
    t.same(some.json?.data?.rows?.map(({ id }: any) => id), wanted.filter(({ ids }: any) => ids !== null).map(({ id }: any) => id))
  }
})

await onEachEngine(t, 'SQLite finds the rows of a list by the index of "on", not by that of another filter', {
  schema: () => ['create table orders (id integer primary key)', 'create table items (id integer primary key, order_id integer, status text, qty integer)', 'create index by_order on items (order_id, qty)', 'create index by_status on items (status)', 'insert into orders values (1), (2)', "insert into items values (1, 1, 'open', 5), (2, 2, 'open', 6)"],
  only: ['sqlite']
}, async (t, { post, sql, statements }) => {
  for (const member of [{ orderBy: 'id' }, { aggregates: { n: { $count: '*' }, sum: { $sum: 'qty' } } }]) {
    statements()
    t.match(await post('orders', { verb: 'select', include: { items: { on: { id: 'order_id' }, filters: { status: 'open' }, ...member } } }), { status: 200 })
    const statement = statements().find((each) => each.includes('union all') || each.includes('items')) as string
    const plan = await sql(`explain query plan ${statement.replaceAll('?', '1')}`)
    const details = plan.map(({ detail }: any) => detail).join('\n')
    t.match(details, /by_order/, statement)
    t.notMatch(details, /by_status/, statement)
  }
})
