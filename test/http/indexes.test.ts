/**
 * Every type and operator that can use an index on the filtered column does so: no function is applied to the column.
 */
import t from 'tap'
import { numbersOf } from '../support/numbers.ts'
import { useEachEngine } from '../support/rotation.ts'
import { type EngineName, sharedOnEachEngine } from '../support/service.ts'

useEachEngine(t)

interface Indexed {
  declaration: string
  /** SQL for the value of row n; values ascend with n. */
  fill: string
  /** JSON of two values near that of the last row. */
  low: unknown
  high: unknown
  key?: string
  only?: EngineName
  /** The type supports equality only. */
  unordered?: true
}

const ROWS = 2000
const day = (n: number): string => new Date(Date.UTC(2000, 0, 1 + n)).toISOString().slice(0, 10)
/** The offset of the day of row n. */
const daysSince = (n: number): number => -Math.round((Date.now() - Date.parse(day(n))) / 86_400_000)
const bytes = (n: number): string => Buffer.from(`b${String(n).padStart(5, '0')}`).toString('base64')
const texts = { fill: "concat('t', lpad(n, 5, '0'))", low: 't01998', high: 't01999' }

const columns: Indexed[] = [
  ...['smallint', 'mediumint unsigned', 'int', 'bigint', 'bigint unsigned'].map(
    (declaration) => ({ declaration, fill: 'n', low: ROWS - 1, high: String(ROWS) })
  ),
  ...['decimal(10,2)', 'decimal(65,30)'].map(
    (declaration) => ({ declaration, fill: 'n + 0.5', low: '1999.5', high: '2000.50' })
  ),
  { declaration: 'float', fill: 'n + 0.1', low: 1999.1, high: 2000.1 },
  { declaration: 'double', fill: 'n + 0.1', low: 1999.1, high: 2000.1 },
  { declaration: 'bit(20)', fill: 'n', low: (1999).toString(2), high: (2000).toString(2) },
  { declaration: 'year', fill: '1901 + floor(n / 8)', low: 2150, high: 2151 },
  { declaration: 'date', fill: "date_add('2000-01-01', interval n day)", low: day(1999), high: day(2000) },
  {
    declaration: 'datetime(3)',
    fill: "date_add('2000-01-01', interval n day)",
    low: `${day(1999)}T00:00:00`,
    high: `${day(2000)}T00:00:00`
  },
  {
    declaration: 'timestamp(6) null',
    fill: "date_add('2000-01-01', interval n day)",
    low: `${day(1999)}T00:00:00Z`,
    high: `${day(2000)}T02:00:00+02:00`
  },
  { declaration: 'time(2)', fill: 'sec_to_time(n)', low: '00:33:19', high: '00:33:20.00' },
  { declaration: 'char(10)', ...texts },
  { declaration: 'varchar(20)', ...texts },
  { declaration: 'varchar(20) character set latin1', ...texts },
  { declaration: 'varchar(20) collate utf8mb4_bin', ...texts },
  { declaration: 'text', ...texts, key: '(20)' },
  {
    declaration: `enum(${Array.from({ length: 200 }, (_, index) => `'m${index}'`).join(',')})`,
    fill: "concat('m', n mod 200)",
    low: 'm7',
    high: 'm8',
    unordered: true
  },
  {
    declaration: "set('a','b','c','d','e','f','g','h')", fill: '1 + n mod 200', low: ['a'], high: ['b'], unordered: true
  },
  { declaration: 'binary(6)', fill: "concat('b', lpad(n, 5, '0'))", low: bytes(1999), high: bytes(2000) },
  { declaration: 'varbinary(20)', fill: "concat('b', lpad(n, 5, '0'))", low: bytes(1999), high: bytes(2000) },
  { declaration: 'blob', fill: "concat('b', lpad(n, 5, '0'))", low: bytes(1999), high: bytes(2000), key: '(20)' },
  { declaration: 'inet4', fill: 'inet_ntoa(n)', low: '0.0.7.207', high: '0.0.7.208', only: 'mariadb' },
  {
    declaration: 'uuid',
    fill: "concat(lpad(n, 8, '0'), '-0000-1000-a000-000000000000')",
    low: '00001999-0000-1000-a000-000000000000',
    high: '00002000-0000-1000-a000-000000000000',
    only: 'mariadb',
    unordered: true
  }
]

const on = (engine: EngineName): Indexed[] => columns.filter(({ only }) => only === undefined || only === engine)

const schema = (engine: EngineName): string[] => {
  const list = on(engine)
  return [
    "set session time_zone = '+00:00'",
    `create table indexed (id int not null primary key, ${list.map(
      ({ declaration, key = '' }, index) => `c${index} ${declaration}, key i${index} (c${index}${key})`
    ).join(', ')})`,
    `insert into indexed select n, ${list.map(({ fill }) => fill).join(', ')} from ${numbersOf(4)}
      where n between 1 and ${ROWS} order by n`,
    'analyze table indexed',
    'create table orders (id int not null primary key, tenant int not null, created datetime not null, ' +
      'email varchar(50) not null, key newest (tenant, created), unique key by_email (email), key of_day (created))',
    'create table dated (id int not null primary key, created datetime not null, key of_day (created))',
    "insert into dated values (1, '2026-01-01'), (2, '2025-01-01')"
  ]
}

const test = sharedOnEachEngine(t, { schema, only: ['mariadb', 'mysql'], keepsRows: true })
const testSqlite = sharedOnEachEngine(t, {
  schema: () => [
    'create table orders (id integer primary key)',
    'create table items (id integer primary key, order_id integer, status text, qty integer)',
    'create index by_order on items (order_id, qty)', 'create index by_status on items (status)',
    'insert into orders values (1), (2)', "insert into items values (1, 1, 'open', 5), (2, 2, 'open', 6)",
    'create table events (id integer primary key, tenant int not null, created datetime not null, price int, ' +
      'code text)',
    'create index newest on events (tenant, created)', 'create index by_code on events (code)',
    'create index by_price on events (price)', 'create table parents (id integer primary key)',
    'create table children (parent_id int not null, line int not null, sku int not null, primary key ' +
      '(parent_id, line))',
    'create index by_sku on children (sku)', 'create table others (id integer primary key, parent_id int, sku int)',
    'create index of_parent on others (parent_id)', 'create index of_sku on others (sku)'
  ],
  only: ['sqlite']
})

await test('every type and operator that can use an index on the ' +
  'filtered column does', async (t, { engine, post, sql, statements }) => {
  for (const [index, { declaration, low, high, unordered }] of on(engine).entries()) {
    const filters: unknown[] = [{ $eq: high }, { $is: high }, { $in: [low, high] }]
    if (unordered === undefined) filters.push({ $gt: low }, { $gte: high }, { $between: [low, high] })
    if (/char|^text/.test(declaration)) filters.push({ $startsWith: 't0199' }, { $like: 't0199%' })
    if (/^(date|timestamp)/.test(declaration)) {
      filters.push({ $gt: { $now: { days: daysSince(1990) } } }, {
        $between: [{ $now: { days: daysSince(1990) } }, { $now: { months: 1 } }]
      })
    }
    for (const filter of filters) {
      statements()
      const { json } = await post('indexed', { verb: 'select', filters: { [`c${index}`]: filter } })
      const statement = statements().at(-1) // before it the columns may have been confirmed
      const [plan] = await sql(`explain format=json ${statement}`)
      const what = `${declaration.slice(0, 40)} ${JSON.stringify(filter)}`
      t.match(plan.EXPLAIN, new RegExp(`"key": "i${index}"|using i${index}\\b`), what)
      t.ok(json.data.count > 0, `${what} finds rows`)
    }
  }
})

await testSqlite('SQLite finds the rows of a list by the index of "on", not by that of another filter', async (
  t, { post, sql, statements }
) => {
  for (const member of [{ orderBy: 'id' }, { aggregates: { n: { $count: '*' }, sum: { $sum: 'qty' } } }]) {
    statements()
    t.match(await post('orders', {
      verb: 'select', include: { items: { on: { id: 'order_id' }, filters: { status: 'open' }, ...member } }
    }), { status: 200 })
    const statement = statements().find((each) => each.includes('union all') || each.includes('items')) as string
    const plan = await sql(`explain query plan ${statement.replaceAll('?', '1')}`)
    const details = plan.map(({ detail }: any) => detail).join('\n')
    t.match(details, /by_order/, statement)
    t.notMatch(details, /by_status/, statement)
  }
})

await test('an index is forced only where no other one may find fewer rows', async (t, { post, statements }) => {
  const forced = async (body: object): Promise<string | undefined> => {
    statements()
    await post('orders', { verb: 'select', after: null, ...body })
    return /force index \(`(\w+)`\)/.exec(statements().at(-1) as string)?.[1]
  }
  const newest = { orderBy: 'created DESC' }
  t.equal(await forced({}), 'PRIMARY')
  t.equal(await forced({ orderBy: 'created DESC' }), 'of_day')
  t.equal(await forced({ ...newest, filters: { tenant: 1 } }), 'newest')
  t.equal(await forced({
    ...newest, filters: { $and: [{ tenant: 1 }, { created: { $gte: '2026-01-01T00:00:00' } }] }
  }), 'newest')
  t.equal(await forced({ orderBy: 'tenant, created' }), 'newest')
  t.equal(await forced({ orderBy: 'tenant DESC, created DESC, id DESC' }), 'newest')
  for (const body of [
    { ...newest, filters: { tenant: 1, email: 'x' } }, { ...newest, filters: { tenant: 1, id: { $gt: 5 } } },
    { ...newest, filters: { $or: [{ tenant: 1 }, { tenant: 2 }] } }, { ...newest, filters: { tenant: [1, 2] } },
    { filters: { $not: { tenant: 1 } } }, { orderBy: 'tenant, created DESC' }, { orderBy: 'created, id DESC' },
    { orderBy: 'email DESC, id' }
  ]) t.equal(await forced(body), undefined, JSON.stringify(body))
  t.equal(await forced({ orderBy: 'email' }), 'by_email')
  t.equal(await forced({ filters: { email: 'x' } }), 'by_email', 'the primary key follows the columns of an index')
})

await test('an index that was dropped since the catalog was read is not missed', async (
  t, { post, sql, statements }
) => {
  const body = { verb: 'select', columns: ['id'], orderBy: 'created', after: null }
  t.match((await post('dated', body)).json.data, { rows: [{ id: 2 }, { id: 1 }], next: null })
  await sql('alter table dated drop index of_day')
  statements()
  t.match((await post('dated', body)).json.data, { rows: [{ id: 2 }, { id: 1 }], next: null })
  t.match(statements().filter((statement) => statement.startsWith('select `id`')), [/force index/, /^((?!force).)*$/])
})

await testSqlite('SQLite reads an index from the position of a page on', async (t, { post, statements, sql }) => {
  const planOf = async (body: object): Promise<string> => {
    statements()
    t.equal((await post('events', { verb: 'select', ...body })).status, 200)
    return (await sql(`explain query plan ${statements().at(-1)}`)).map(({ detail }) => detail).join('; ')
  }
  const filters = { tenant: 1 }
  const created = '2026-01-01T00:00:00'
  t.equal(
    await planOf({ filters, orderBy: 'created', after: { created, id: 1 } }),
    'SEARCH events USING INDEX newest (tenant=? AND created>?)'
  )
  t.equal(
    await planOf({ filters, orderBy: 'created DESC', after: { created, id: 1 } }),
    'SEARCH events USING INDEX newest (tenant=? AND created<?)'
  )
  t.equal(await planOf({ orderBy: 'code', after: { code: 'x', id: 1 } }), 'SEARCH events USING INDEX by_code (code>?)')
  t.equal(
    await planOf({ orderBy: 'price', after: { price: null, id: 1 } }), 'SCAN events USING INDEX by_price',
    'after NULL come all others'
  )
  t.match(await planOf({ after: { id: 1 } }), /^SEARCH events USING INTEGER PRIMARY KEY \(rowid>\?\)$/)
})

await testSqlite('SQLite finds related rows by the index of the relation, whichever was defined last', async (
  t, { post, sql, statements }
) => {
  for (const table of ['children', 'others']) {
    statements()
    await post('parents', {
      verb: 'select', filters: { $some: { [table]: { on: { id: 'parent_id' }, filters: { sku: 5 } } } }
    })
    const [statement = ''] = statements()
    const plan = await sql(`explain query plan ${statement.replaceAll('?', '1')}`)
    t.match(plan.map(({ detail }) => detail).join(), /SEARCH t1 USING INDEX \w+ \(parent_id=\?\)/)
  }
})
