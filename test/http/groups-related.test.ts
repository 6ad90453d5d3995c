/**
 * Groups by a column of a related row (`{"country": {"customer": "country"}}`), and `$some` and `$none` in the filters
 * of an aggregate.
 */
import t from 'tap'
import { numbersOf } from '../support/numbers.ts'
import { countReadRows } from '../support/read-rows.ts'
import { onEachEngine, type Schema, type Service, sharedOnEachEngine } from '../support/service.ts'

const schema: Schema = (engine) => [
  `create table customers (
    id int not null primary key, country varchar(10)${engine === 'sqlite' ? ' collate nocase' : ''} null,
    vip int not null, total decimal(10,2) null)`,
  `create table orders (
    id int not null primary key, customer_id int null, seller_id int null, total decimal(10,2) not null,
    status varchar(10) not null, v0 int null, made datetime null, foreign key (customer_id) references customers (id))`,
  'create index sellers on orders (seller_id)',
  'create table items (order_id int not null, line int not null, sku varchar(10) not null, primary key (order_id, ' +
    'line), foreign key (order_id) references orders (id))',
  'create view sold as select order_id, sku from items where line = 1',
  'create view sizes as select order_id, count(*) as lines_of from items group by order_id',
  "insert into customers values (1, 'CH', 1, 1.50), (2, 'DE', 0, 2.50), (3, null, 0, null), (4, 'ch', 0, 4.00)",
  "insert into orders values (10, 1, 2, 10.00, 'new', 7, '2026-11-01 10:00:00'), (11, 1, 99, 20.00, 'paid', 8, " +
    "'2026-11-02 10:00:00'), (12, 2, 1, 30.00, 'paid', 7, '2026-12-01 10:00:00'), (13, 3, null, 40.00, 'new', 7, " +
      "null), (14, null, 4, 50.00, 'paid', null, '2026-12-01 10:00:00'), (15, 4, 4, 60.00, 'new', null, null)",
  "insert into items values (10, 1, 'A'), (10, 2, 'B'), (12, 1, 'A'), (15, 1, 'C')"
]

const test = sharedOnEachEngine(t, { schema })

type Row = Record<string, any>
const rowsOf = async ({ post }: Pick<Service, 'post'>, body: object): Promise<Row[]> => {
  const { status, json, text } = await post('orders', { verb: 'select', ...body })
  if (status !== 200) throw new Error(text)
  return json.data.rows
}

const customer = { customer: { table: 'customers' } }
const country = { country: { customer: 'country' } }
const n = { n: { $count: '*' } }

await test('rows are grouped by a column of a related row; no such row and NULL are one group', async (t, service) => {
  const texts = await rowsOf(service, {
    groupBy: [country], aggregates: { ...n, sum: { $sum: 'total' } }, include: customer, orderBy: 'n DESC, sum'
  })
  t.strictSame(texts.map((row) => ({ ...row, country: row['country']?.toUpperCase() ?? null })), [
    { country: 'CH', n: 3, sum: '90.00' }, { country: null, n: 2, sum: '90.00' }, { country: 'DE', n: 1, sum: '30.00' }
  ])
  t.same(Object.keys(texts[0] as Row), ['country', 'n', 'sum'], 'the members do not stand in the rows')
  t.strictSame(await rowsOf(service, {
    groupBy: ['status', { vip: { customer: 'vip' } }], include: customer, orderBy: 'status, vip'
  }), [
    { status: 'new', vip: 0 }, { status: 'new', vip: 1 }, { status: 'paid', vip: null }, { status: 'paid', vip: 0 },
    { status: 'paid', vip: 1 }
  ], 'alone it is distinct')
})

await test('related columns stand beside those of the same name, parts of time, other members, ' +
  'orderBy, having and pages', async (t, service) => {
  const seller = { on: { seller_id: 'id' }, table: 'customers', filters: { vip: 0 } }
  const body = {
    filters: { id: { $ne: 14 } },
    groupBy: ['total', { of: { customer: 'total' } }, { v1: { seller: 'id' } }, { month: { $month: 'made' } }, 'v0'],
    aggregates: { v2: { $max: 'total' } },
    include: { customer: { table: 'customers', on: { customer_id: 'id' } }, seller }
  }
  const all = [
    { total: '10.00', of: '1.50', v1: 2, month: '2026-11', v0: 7, v2: '10.00' }, {
      total: '20.00', of: '1.50', v1: null, month: '2026-11', v0: 8, v2: '20.00'
    }, { total: '30.00', of: '2.50', v1: null, month: '2026-12', v0: 7, v2: '30.00' },
    { total: '40.00', of: null, v1: null, month: null, v0: 7, v2: '40.00' },
    { total: '60.00', of: '4.00', v1: 4, month: null, v0: null, v2: '60.00' }
  ]
  t.equal(JSON.stringify(await rowsOf(service, { ...body, orderBy: 'total' })), JSON.stringify(all))
  t.same(
    await rowsOf(service, { ...body, orderBy: [{ of: 'DESC' }, { total: 'ASC' }] }),
    [all[4], all[2], all[0], all[1], all[3]], 'null comes lowest'
  )
  t.same(await rowsOf(service, { ...body, having: { of: { $gt: '1.50' }, v2: { $lt: '50' } } }), [all[2]])
  t.same(await rowsOf(service, { ...body, having: { $or: [{ v1: 4 }, { of: null }] }, orderBy: 'total' }), [
    all[3], all[4]
  ])
  t.same(await rowsOf(service, { groupBy: [country], include: customer, having: { country: 'DE' } }), [
    { country: 'DE' }
  ])
  const seen: Row[] = []
  for (let offset: number | null = 0; offset !== null;) {
    const { rows, next }: {
      rows: Row[], next: number | null
    } = (await service.post('orders', { verb: 'select', ...body, offset, limit: 2 })).json.data
    seen.push(...rows)
    offset = next
  }
  t.equal(new Set(seen.map((row) => JSON.stringify(row))).size, 5, 'pages do not overlap')
})

await test('$some and $none stand in the filters of an aggregate, also of views and beside ' +
  'groups by a member', async (t, service) => {
  const of = (filters: object) => ({ $count: '*', filters })
  t.strictSame(await rowsOf(service, {
    aggregates: {
      some: of({ $some: { items: {} } }),
      none: of({ $none: { items: {} } }),
      a: { $sum: 'total', filters: { $some: { items: { filters: { sku: 'A' } } } } },
      two: of({ $some: { items: { count: { $gte: 2 } } } }),
      either: of({ $or: [{ status: 'paid' }, { $some: { items: { filters: { sku: 'C' } } } }] }),
      never: of({ $some: { items: { filters: { sku: { $in: [] } } } } }),
      customers: {
        $countDistinct: 'customer_id',
        filters: {
          $some: {
            customers: { filters: { $some: { orders: { on: { id: 'customer_id' }, filters: { status: 'paid' } } } } }
          }
        }
      },
      view: of({ $some: { sold: { on: { id: 'order_id' }, filters: { order_id: { $lt: 12 } } } } }),
      noView: of({ $none: { sold: { on: { id: 'order_id' } } } })
    }
  }), [{ some: 3, none: 3, a: '40.00', two: 1, either: 4, never: 0, customers: 2, view: 1, noView: 3 }])
  const grouped = {
    groupBy: [{ vip: { customer: 'vip' } }],
    aggregates: {
      n: of({ $some: { items: { filters: { sku: 'A' } } } }), view: of({ $some: { sold: { on: { id: 'order_id' } } } })
    },
    include: customer,
    orderBy: 'vip'
  }
  t.strictSame(await rowsOf(service, grouped), [
    { vip: null, n: 0, view: 0 }, { vip: 0, n: 1, view: 2 }, { vip: 1, n: 1, view: 1 }
  ])
  t.strictSame(await rowsOf(service, { ...grouped, having: { n: { $gt: 0 } }, orderBy: 'n DESC, view DESC' }), [
    { vip: 0, n: 1, view: 2 }, { vip: 1, n: 1, view: 1 }
  ])
  const grown = await service.post('orders', {
    verb: 'select', aggregates: { n: of({ $some: { sizes: { on: { id: 'order_id' }, count: 1 } } }) }
  })
  t.strictSame(grown.json.data?.rows, [{ n: 3 }], grown.text)
})

const shared = (): string[] => [
  'create table parents (id int not null primary key, code int not null)',
  'create table children (id int not null primary key, code int not null, x int not null, key (code))',
  `insert into parents select n, n % 10 from ${numbersOf(2)}`,
  `insert into children select n, n % 10, n div 10 % 10 from ${numbersOf(3)}`,
  'create view sums as select code, sum(x) as total from children group by code'
]

await onEachEngine(t, 'the related rows of equal values are read once for $some in the ' +
  'filters of aggregates', { schema: shared, only: ['mariadb', 'mysql'] }, async (t, { post, sql, statements }) => {
  const never = { $some: { children: { on: { code: 'code' }, filters: { x: 99 } } } }
  statements()
  const { json } = await post('parents', {
    verb: 'select',
    groupBy: ['code'],
    aggregates: {
      n: { $count: '*' },
      found: { $count: '*', filters: never },
      most: { $max: 'id', filters: { $not: never } },
      sums: { $sum: 'id', filters: { $some: { sums: { on: { code: 'code' }, filters: { total: { $gt: 5 } } } } } }
    },
    having: { most: { $gte: 95 }, found: 0 },
    orderBy: 'code DESC'
  })
  t.strictSame(json.data?.rows, [9, 8, 7, 6, 5].map(
    (code) => ({ code, n: 10, found: 0, most: 90 + code, sums: String(450 + 10 * code) })
  ))
  const [statement = ''] = statements().filter((text) => text.includes('`children`'))
  const read = await countReadRows(sql, [statement])
  t.ok(read < 5000, `${read} rows read, of 2 x 10 times 100, where each row of 100 would read 2 x 100`)
})
