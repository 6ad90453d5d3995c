/**
 * Aggregates of a column of a related row (`{"credit": {"$sum": {"customer": "credit"}}}`), and groups through members
 * of members.
 */
import t from 'tap'
import { tokenFor } from '../grants/support.ts'
import { type Schema, type Service, sharedOnEachEngine } from '../support/service.ts'

const schema: Schema = (engine) => [
  'create table regions (id int not null primary key, label varchar(20) not null, area decimal(12,3) not null)',
  `create table lands (
    id int not null primary key, region_id int null, code varchar(4) not null, area bigint not null,
    foreign key (region_id) references regions (id))`,
  `create table customers (
    id int not null primary key, land_id int null, tenant varchar(4) not null, credit decimal(20,2) not null,
    rate double not null, born date not null, v1 int not null, secret int not null,
    mood ${engine === 'sqlite' ? 'varchar(5)' : "enum('good','bad')"} not null, note json null,
    foreign key (land_id) references lands (id))`,
  `create table orders (id int not null primary key, customer_id int null, credit int not null,
    foreign key (customer_id) references customers (id))`,
  `create table plain (id int not null primary key, other_id int null,
    foreign key (other_id) references customers (id))`,
  "insert into regions values (1, 'north', 10.125), (2, 'south', 20.250)",
  "insert into lands values (1, 1, 'DE', 9007199254740993), (2, 2, 'CH', 5), (3, 1, 'de2', 7), (4, null, 'XX', 9)",
  "insert into customers values (1, 1, 'a', 100.10, 0.5, '2000-01-31', 3, 11, 'good', null), (2, 2, 'a', 200.20, " +
    "1.5, '1990-05-05', 2, 12, 'bad', '{\"a\": 1}'), (3, 1, 'b', 1000000.01, 2.5, '1980-12-31', 1, 13, 'good', " +
      "null), (4, null, 'a', 7.00, 0.25, '2010-02-28', 4, 14, 'bad', '[]'), (5, 4, 'a', 0.00, 0, '2011-03-01', 5, " +
        "15, 'good', null)",
  // 1: three orders; 2: one; 3: two, of another tenant; 4: one; without a customer: two
  'insert into orders values (1, 1, 10), (2, 1, 20), (3, 1, 30), (4, 2, 40), (5, 3, 50), (6, 3, 60), (7, 4, 70), (8, ' +
    'null, 80), (9, null, 90), (10, 5, 100)',
  'insert into plain values (1, null), (2, null)'
]

const columns = ['id', 'land_id', 'credit', 'rate', 'born', 'v1']
const tokens = [
  tokenFor('acme', {
    orders: {},
    customers: { columns: { select: columns }, rows: { tenant: 'a' } },
    lands: { columns: { select: ['id', 'code', 'area'] } }
  }),
  tokenFor('north', { orders: {}, customers: {}, lands: { rows: { region_id: 1 } }, regions: {} }),
]

const test = sharedOnEachEngine(t, { schema, tokens })

type Row = Record<string, any>
const rowsOf = async ({ post }: Pick<Service, 'post'>, body: object, { token, table = 'orders' }: {
  token?: string, table?: string
} = {}): Promise<Row[]> => {
  const { status, json, text } = await post(table, { verb: 'select', ...body }, token === undefined ? {} : { token })
  if (status !== 200) throw new Error(text)
  return json.data.rows
}

const customer = { customer: { table: 'customers' } }
const throughLand = { customer: { table: 'customers', include: { land: { table: 'lands' } } } }
const throughRegion = {
  customer: { table: 'customers', include: { land: { table: 'lands', include: { region: { table: 'regions' } } } } }
}
const of = (column: unknown) => ({ customer: column })
const n = { $count: '*' }

await test('an aggregate takes a column of a related row once for each row; ' +
  'without one it is NULL', async (t, service) => {
  t.equal(JSON.stringify(await rowsOf(service, {
    aggregates: {
      n,
      all: { $count: of('id') },
      notNull: { $count: of('tenant') },
      nullable: { $count: of('land_id') },
      json: { $count: of('note') },
      distinct: { $countDistinct: of('id') },
      credit: { $sum: of('credit') },
      own: { $sum: 'credit' },
      average: { $avg: of('v1') },
      rate: { $sum: of('rate') },
      first: { $min: of('born') },
      last: { $max: of('born') },
      least: { $min: of('tenant') }
    },
    include: customer
  })), JSON.stringify([{
    n: 10,
    all: 8,
    notNull: 8,
    nullable: 7,
    json: 2,
    distinct: 5,
    credit: '2000507.52',
    own: '550',
    average: '2.7500',
    rate: 8.25,
    first: '1980-12-31',
    last: '2011-03-01',
    least: 'a'
  }]))
})

await test('counts of columns that are NOT NULL count no row without a related one, ' +
  'alone and in groups', async (t, service) => {
  for (const column of ['id', 'tenant', 'credit', 'rate', 'born', 'v1', 'mood']) {
    t.strictSame(await rowsOf(service, { aggregates: { c: { $count: of(column) } }, include: customer }), [
      { c: 8 }
    ], column)
    t.strictSame(await rowsOf(service, {
      filters: { customer_id: null }, aggregates: { c: { $count: of(column) } }, include: customer
    }), [{ c: 0 }], column)
    t.strictSame(await rowsOf(service, {
      aggregates: { c: { $count: of(column), filters: { id: { $gte: 7 } } } }, include: customer
    }), [{ c: 2 }], column)
    t.strictSame(await rowsOf(service, {
      filters: { id: { $in: [1, 8] } },
      groupBy: ['id'],
      aggregates: { c: { $count: of(column) } },
      include: customer,
      orderBy: 'id'
    }), [{ id: 1, c: 1 }, { id: 8, c: 0 }], column)
    t.strictSame(await rowsOf(service, {
      aggregates: { c: { $count: { other: column } } }, include: { other: { table: 'customers' } }
    }, { table: 'plain' }), [{ c: 0 }], column)
  }
  t.strictSame(
    await rowsOf(service, { aggregates: { c: { $count: of({ land: { region: 'label' } }) } }, include: throughRegion }),
    [{ c: 6 }], 'also of a member of a member'
  )
})

await test('no row, and rows without related ones, give counts of 0 and null', async (t, service) => {
  const aggregates = {
    c: { $count: of('v1') },
    d: { $countDistinct: of('v1') },
    sum: { $sum: of('credit') },
    avg: { $avg: of('rate') },
    min: { $min: of('born') },
    max: { $max: of('v1') }
  }
  for (const filters of [{ id: 999 }, { customer_id: null }, { id: { $in: [] } }]) {
    t.strictSame(
      await rowsOf(service, { filters, aggregates, include: customer }),
      [{ c: 0, d: 0, sum: null, avg: null, min: null, max: null }], JSON.stringify(filters)
    )
  }
  for (const [name, call] of Object.entries(aggregates)) {
    t.strictSame(
      await rowsOf(service, { filters: { customer_id: null }, aggregates: { [name]: call }, include: customer }),
      [{ [name]: name.length === 1 ? 0 : null }], 'alone'
    )
  }
  t.strictSame(await rowsOf(service, { aggregates: { max: { $max: of('v1') } }, include: customer }), [{ max: 5 }])
  t.strictSame(await rowsOf(service, { aggregates: { sum: { $sum: of('credit') } }, include: customer }), [
    { sum: '2000507.52' }
  ])
})

await test('groups and aggregates go through members of members, on three levels', async (t, service) => {
  t.equal(JSON.stringify(await rowsOf(service, {
    groupBy: [{ region: of({ land: { region: 'label' } }) }],
    aggregates: {
      n,
      credit: { $sum: of('credit') },
      area: { $max: of({ land: 'area' }) },
      wide: { $sum: of({ land: { region: 'area' } }) }
    },
    include: throughRegion,
    orderBy: 'region DESC'
  })), JSON.stringify([
    { region: 'south', n: 1, credit: '200.20', area: 5, wide: '20.250' },
    { region: 'north', n: 5, credit: '2000300.32', area: 9007199254740992, wide: '50.625' },
    { region: null, n: 4, credit: '7.00', area: 9, wide: null }
  ]))
  const { text } = await service.post('orders', {
    verb: 'select', aggregates: { area: { $max: of({ land: 'area' }) } }, include: throughLand
  })
  t.match(text, '"area":9007199254740993', 'exact')
  const codes = await rowsOf(service, {
    groupBy: [{ code: of({ land: 'code' }) }, { id: of('id') }, 'credit'],
    aggregates: { lands: { $countDistinct: of({ land: 'code' }) } },
    filters: { id: [4, 7] },
    include: throughLand,
    orderBy: [{ code: 'DESC' }]
  })
  t.strictSame(codes, [{ code: 'CH', id: 2, credit: 40, lands: 1 }, { code: null, id: 4, credit: 70, lands: 0 }])
})

await test('having, orders, pages, filters of aggregates and named values go with ' +
  'aggregates of related rows', async (t, service) => {
  const body = {
    groupBy: ['customer_id'], aggregates: { n, v0: { $sum: of('v1') }, v1: { $max: of('born') } }, include: customer
  }
  t.strictSame(await rowsOf(service, {
    ...body, having: { v0: { $gte: 2 }, v1: { $lt: '2005-01-01' } }, orderBy: 'v0 DESC, n'
  }), [
    { customer_id: 1, n: 3, v0: '9', v1: '2000-01-31' }, { customer_id: 2, n: 1, v0: '2', v1: '1990-05-05' },
    { customer_id: 3, n: 2, v0: '2', v1: '1980-12-31' }
  ])
  t.strictSame(
    (await rowsOf(service, { ...body, orderBy: 'v1 DESC NULLS FIRST, n DESC' })).map((row) => row['customer_id']),
    [null, 5, 4, 1, 2, 3]
  )
  const seen: unknown[] = []
  for (let offset: number | null = 0; offset !== null;) {
    const { rows, next }: {
      rows: Row[], next: number | null
    } = (await service.post('orders', { verb: 'select', ...body, orderBy: 'v0', offset, limit: 4 })).json.data
    seen.push(...rows.map((row) => row['customer_id']))
    offset = next
  }
  t.same(new Set(seen), new Set([1, 2, 3, 4, 5, null]), 'pages do not overlap')
  for (const low of [1, 60, 1]) {
    t.strictSame(await rowsOf(service, {
      aggregates: {
        s: { $sum: of('v1'), filters: { credit: { $gte: low }, $some: { customers: { filters: { v1: { $lt: 4 } } } } } }
      },
      include: customer
    }), [{ s: low === 1 ? '13' : '1' }], 'a cached statement has the values of its request')
    t.strictSame(await rowsOf(service, {
      aggregates: { s: { $count: of('v1') } },
      include: {
        customer: {
          table: 'customers', filters: { v1: { $gte: low }, $some: { lands: { filters: { area: { $gte: low } } } } }
        }
      }
    }), [{ s: low === 1 ? 7 : 0 }])
  }
})

await test('rows that the grant does not see count as not there', async (t, service) => {
  const aggregates = {
    n,
    c: { $count: of('id') },
    d: { $countDistinct: of('v1') },
    credit: { $sum: of('credit') },
    last: { $min: of('born') },
    area: { $max: of({ land: 'area' }) }
  }
  const body = { aggregates, include: throughLand }
  t.strictSame(await rowsOf(service, body, { token: 'acme' }), [
    { n: 10, c: 6, d: 4, credit: '507.50', last: '1990-05-05', area: 9007199254740992 }
  ])
  t.strictSame(await rowsOf(
    service,
    {
      ...body, groupBy: [{ id: of('id') }], orderBy: 'id', aggregates: { n, c: { $count: of('v1') } }, include: customer
    },
    { token: 'acme' }
  ), [
    { id: null, n: 4, c: 0 }, { id: 1, n: 3, c: 3 }, { id: 2, n: 1, c: 1 }, { id: 4, n: 1, c: 1 }, { id: 5, n: 1, c: 1 }
  ])
  t.strictSame(await rowsOf(service, {
    groupBy: [{ code: of({ land: 'code' }) }],
    aggregates: { n, region: { $count: of({ land: { region: 'id' } }) } },
    include: throughRegion,
    orderBy: 'region'
  }, { token: 'north' }), [{ code: null, n: 5, region: 0 }, { code: 'DE', n: 5, region: 5 }],
  'hidden in between: what is behind is not there either')
})

await test('whatever is in hidden rows and columns, every answer has the same bytes', async (t, service) => {
  const bodies = ['id', 'v1', 'secret', 'tenant', 'sexret'].flatMap((column) => ['$count', '$max'].flatMap((call) => [
    { aggregates: { x: { [call]: of(column) } }, include: customer },
    {
      groupBy: ['credit'],
      aggregates: { x: { [call]: of(column) } },
      include: customer,
      orderBy: 'x DESC NULLS FIRST, credit'
    },
    {
      aggregates: { x: { [call]: of(column), filters: { $some: { customers: { filters: { v1: { $gt: 1 } } } } } } },
      include: customer
    },
    {
      groupBy: [{ g: of(column) }],
      aggregates: { x: { [call]: of('v1') } },
      include: customer,
      having: { x: { $gt: 0 } },
      orderBy: 'g'
    },
    {
      groupBy: [{ g: { self: of(column) } }],
      aggregates: { x: { [call]: { self: of({ land: 'area' }) } }, y: { $count: { self: of(column) } } },
      include: { self: { table: 'orders', on: { id: 'id' }, include: throughLand } },
      orderBy: 'g'
    }
  ]))
  const read = async (): Promise<string[]> => await Promise.all(bodies.map(async (body) => {
    const { status, text } = await service.post('orders', { verb: 'select', ...body }, { token: 'acme' })
    return `${status} ${text}`
  }))
  const before = await read()
  t.ok(before.filter((answer) => answer.startsWith('200')).length > bodies.length / 3)
  for (const change of [
    "update customers set credit = 5, v1 = 77, rate = 9, born = '1900-01-01', land_id = 2 where id = 3",
    "update customers set secret = 4, mood = 'bad'", 'update lands set region_id = 2',
    'update orders set customer_id = null where id = 5'
  ]) {
    await service.sql(change)
    for (const [index, answer] of (await read()).entries()) {
      t.equal(answer, before[index], `${change}: ${JSON.stringify(bodies[index])}`)
    }
  }
})
