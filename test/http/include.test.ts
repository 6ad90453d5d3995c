/** Members of rows: `include`. */
import t from 'tap'
import { accounts } from '../support/accounts.ts'
import { type EngineName, onEachEngine, sharedOnEachEngine, startService } from '../support/service.ts'

const schema = (engine: EngineName): string[] => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null auto_increment primary key'
  return [
    `create table customers (id ${id}, name varchar(20) not null, city varchar(20))`,
    `create table orders (id ${id}, customer_id int, total decimal(8,2) not null,
      foreign key (customer_id) references customers (id))`,
    'create table products (sku varchar(10) not null primary key, title varchar(20))',
    `create table order_items (
      order_id int not null, line int not null, sku varchar(10) not null, quantity int not null,
      primary key (order_id, line), foreign key (order_id) references orders (id),
      foreign key (sku) references products (sku))`,
    `create table payments (id ${id}, order_id int not null, amount decimal(8,2) not null)`,
    'create index order_id on payments (order_id)'
  ]
}

const rows = [
  "insert into customers values (1, 'Ada', 'London'), (2, 'Bob', null)",
  'insert into orders values (1, 1, 10.5), (2, 1, 20), (3, 2, 30), (4, null, 40)',
  "insert into products values ('A', 'Apple'), ('B', 'Banana')",
  "insert into order_items values (1, 1, 'A', 2), (1, 2, 'B', 1), (2, 1, 'A', 5), (3, 1, 'B', 7), (3, 2, 'B', " +
    "8), (3, 3, 'A', 9)",
  'insert into payments (id, order_id, amount) values (1, 1, 10), (2, 1, 0.5), (3, 3, 5)'
]
const filled = (engine: EngineName): string[] => [...schema(engine), ...rows]

const odd = (engine: EngineName): string[] => {
  const q = engine === 'sqlite' ? '"' : '`'
  return [
    `create table ${q}t1.x y${q} (${q}c0x1${q} integer not null primary key, ${q}a.b${q} varchar(20) not null)`,
    `create index ${q}i.0${q} on ${q}t1.x y${q} (${q}a.b${q})`,
    `insert into ${q}t1.x y${q} values (1, 'x'), (2, 'y'), (3, 'x')`,
    `create view seen as select ${q}c0x1${q} as n0, ${q}a.b${q} as t1 from ${q}t1.x y${q} where ${q}c0x1${q} < 3`
  ]
}

/** Lists of one row, of 100, of 1,000 and of none. */
const LISTS = [1, 100, 1000, 0]

const test = sharedOnEachEngine(t, {
  schema: (engine) => [
    ...filled(engine), ...accounts(engine), ...odd(engine),
    'create table heads (id int primary key)',
    'create table parts (id int primary key, head_id int not null, word varchar(50))',
    'create index by_head on parts (head_id)', `insert into heads values ${LISTS.map((_, index) => `(${index + 1})`)}`,
    'create table nodes (id integer not null primary key, parent_id integer, foreign key (parent_id) ' +
      'references nodes (id))',
    'create index by_parent on nodes (parent_id)', 'insert into nodes values (1, null)',
    'insert into nodes values (2, 1), (3, 1)', 'insert into nodes values (4, 2)', 'insert into nodes values (5, 4)',
    'create table devices (id int primary key)', 'create table readings (id int primary key, device_id int not null, ' +
      'v float, d double)', 'create index by_device on readings (device_id)',
    ...engine === 'sqlite'
      ? []
      : [
          'create table a (id int primary key, k binary(4) not null, v varbinary(8) not null, key (k), key (v))',
          'create table b (id int primary key, k binary(8) not null, v varbinary(4) not null, key (k), key (v))'
        ]
  ]
})

await test('a row has members: one row or null, a list, and computed values', async (t, { post }) => {
  const { status, json } = await post('orders', {
    verb: 'select',
    columns: ['id', 'total'],
    orderBy: 'id',
    include: {
      customer: { table: 'customers', columns: ['name'] },
      order_items: {
        columns: ['sku', 'quantity'], orderBy: 'line', limit: 2, include: { product: { table: 'products' } }
      },
      payments: { on: { id: 'order_id' }, aggregates: { n: { $count: '*' }, paid: { $sum: 'amount' } } }
    }
  })
  t.equal(status, 200, JSON.stringify(json))
  const product = { A: { sku: 'A', title: 'Apple' }, B: { sku: 'B', title: 'Banana' } }
  t.strictSame(json.data, {
    rows: [
      {
        id: 1,
        total: '10.50',
        customer: { name: 'Ada' },
        order_items: [{ sku: 'A', quantity: 2, product: product.A }, { sku: 'B', quantity: 1, product: product.B }],
        payments: { n: 2, paid: '10.50' }
      },
      {
        id: 2,
        total: '20.00',
        customer: { name: 'Ada' },
        order_items: [{ sku: 'A', quantity: 5, product: product.A }],
        payments: { n: 0, paid: null }
      },
      {
        id: 3,
        total: '30.00',
        customer: { name: 'Bob' },
        order_items: [{ sku: 'B', quantity: 7, product: product.B }, { sku: 'B', quantity: 8, product: product.B }],
        payments: { n: 1, paid: '5.00' }
      },
      { id: 4, total: '40.00', customer: null, order_items: [], payments: { n: 0, paid: null } }
    ],
    count: 4
  })
})

await test('pages, totals and expectations are about the rows of the table, ' +
  'not of its members', async (t, { post, statements }) => {
  const include = {
    items: { table: 'order_items', columns: ['sku'] }, customer: { table: 'customers', columns: ['name'] }
  }
  const first = (await post('orders', {
    verb: 'select', columns: ['total'], include, after: null, limit: 3, total: true, expect: 3
  })).json.data
  t.strictSame(first, {
    rows: [
      { total: '10.50', items: [{ sku: 'A' }, { sku: 'B' }], customer: { name: 'Ada' } },
      { total: '20.00', items: [{ sku: 'A' }], customer: { name: 'Ada' } },
      { total: '30.00', items: [{ sku: 'B' }, { sku: 'B' }, { sku: 'A' }], customer: { name: 'Bob' } }
    ],
    count: 3,
    next: { id: 3 },
    total: 4
  })
  t.strictSame(
    (await post('orders', { verb: 'select', columns: ['total'], include, after: first.next, limit: 3 })).json.data,
    { rows: [{ total: '40.00', items: [], customer: null }], count: 1, next: null }
  )
  t.same((await post('orders', { verb: 'select', include, expect: 3 })).json.error.code, 'EXPECTATION_FAILED')
  t.strictSame((await post('orders', { verb: 'select', filters: { id: 99 }, include })).json.data, {
    rows: [], count: 0
  })
  statements()
  t.strictSame((await post('orders', {
    verb: 'select', columns: ['id'], include: { customer: include.customer }, after: { id: 1 }, limit: 1
  })).json.data, { rows: [{ id: 2, customer: { name: 'Ada' } }], count: 1, next: { id: 2 } })
  t.equal(statements().length, 1, 'one row costs no statement of its own and no transaction')
})

await test('a view has members, and names of columns and tables may be odd', async (t, { post }) => {
  const { json } = await post('seen', {
    verb: 'select',
    orderBy: 'n0',
    include: {
      one: { table: 't1.x y', on: { n0: 'c0x1' } }, many: { table: 't1.x y', on: { t1: 'a.b' }, columns: ['c0x1'] }
    }
  })
  t.strictSame(json.data?.rows, [{
    n0: 1, t1: 'x', one: { c0x1: 1, 'a.b': 'x' }, many: [{ c0x1: 1 }, { c0x1: 3 }]
  }, { n0: 2, t1: 'y', one: { c0x1: 2, 'a.b': 'y' }, many: [{ c0x1: 2 }] }], JSON.stringify(json))
})

await test('reading stops where the whole answer is larger than it may be', async (t, { url, sql, statements }) => {
  const { post } = await startService(t, url, { database: { resultLimit: 3000 } })
  for (let line = 10; line < 110; line++) await sql(`insert into order_items values (2, ${line}, 'A', ${line})`)
  const items = { table: 'order_items', limit: 1000 }
  t.equal((await post('orders', {
    verb: 'select', include: { items: { ...items, filters: { order_id: { $ne: 2 } } } }
  })).status, 200)
  t.equal((await post('orders', { verb: 'select', include: { items: { ...items, limit: 10 } } })).status, 200)
  statements()
  for (const include of [
    { items }, { items: { ...items, include: { product: { table: 'products' } } } },
    {
      customer: {
        table: 'customers', include: { orders: { include: { items, payments: { on: { id: 'order_id' } } } } }
      }
    },
    {
      items: {
        ...items,
        limit: 15,
        include: { again: { table: 'order_items', on: { order_id: 'order_id' }, limit: 15, columns: ['line'] } }
      }
    }
  ]) {
    t.match(
      (await post('orders', { verb: 'select', include })).json.error, { code: 'RESULT_TOO_LARGE' },
      JSON.stringify(include)
    )
  }
  t.notOk(statements().some((statement) => statement.includes('payments')), 'nothing is read after that')
  t.equal(
    (await post('orders', { verb: 'select', include: { items: { ...items, limit: 5 } } })).status, 200,
    'the next request has its answer'
  )
})

await onEachEngine(t, 'a member whose table has ' +
  'changed is planned again', { schema: filled }, async (t, { post, sql }) => {
  const request = {
    verb: 'select',
    columns: ['id'],
    filters: { id: 1 },
    include: {
      items: { table: 'order_items', columns: ['line', 'quantity'] },
      customer: { table: 'customers', columns: ['city'] }
    }
  }
  t.equal((await post('orders', request)).status, 200)
  await sql('alter table order_items rename column quantity to amount')
  t.match(await post('orders', request), { status: /400|503/ })
  await sql('alter table order_items rename column amount to quantity')
  t.match(await post('orders', request), { status: /200|503/ })
  await sql('alter table customers rename column city to town')
  t.match(await post('orders', request), { status: /400|503/ })
})

await test('lists are of the same snapshot as the rows', async (t, { post, statements }) => {
  statements()
  await post('orders', { verb: 'select', include: { payments: { on: { id: 'order_id' } } } })
  t.match(statements()[0], /repeatable read|start transaction/i)
}, ['mariadb', 'mysql'])

await onEachEngine(t, 'an index that was named in the statement of a ' +
  'list may be dropped', { schema: filled, only: ['mariadb', 'mysql'] }, async (t, { post, sql }) => {
  const request = {
    verb: 'select',
    columns: ['id'],
    filters: { id: [1, 3] },
    orderBy: 'id',
    include: { payments: { on: { id: 'order_id' }, columns: ['id'] } }
  }
  const rows = [{ id: 1, payments: [{ id: 1 }, { id: 2 }] }, { id: 3, payments: [{ id: 3 }] }]
  t.same((await post('orders', request)).json.data.rows, rows)
  await sql('alter table payments add index other (order_id, amount), drop index order_id')
  t.same((await post('orders', request)).json.data?.rows, rows)
  await sql('alter table payments drop index other')
  t.match((await post('orders', request)).json.error, {
    code: 'INVALID_BODY', details: [{ path: '/include/payments/on' }]
  })
})

// Values of members that have gone wrong: aggregates of FLOAT, and relations of bytes of different lengths.

await test('the least and the greatest FLOAT of related rows are exact', async (t, { post, sql }) => {
  await sql('insert into devices values (1), (2)')
  await sql('insert into readings values (1, 1, 16777217, 0.1), (2, 1, 0.1, 1e300), (3, 1, null, null)')
  const { json: { data: { rows } } } = await post('readings', {
    verb: 'select', columns: ['v', 'd'], orderBy: 'id', limit: 2
  })
  for (const filters of [undefined, { id: { $gt: 0 } }]) {
    const aggregates = {
      low: { $min: 'v' },
      v: { $max: 'v' },
      sum: { $sum: 'd' },
      least: { $min: 'd' },
      some: { $max: 'v', filters: { id: 2 } }
    }
    const { status, json, text } = await post('devices', {
      verb: 'select',
      orderBy: 'id',
      include: { r: { table: 'readings', on: { id: 'device_id' }, aggregates, ...filters && { filters } } }
    })
    t.equal(status, 200, text)
    t.strictSame(json?.data?.rows, [
      { id: 1, r: { low: rows[1].v, v: rows[0].v, sum: 1e300, least: 0.1, some: rows[1].v } },
      { id: 2, r: { low: null, v: null, sum: null, least: null, some: null } }
    ])
  }
})

await test('bytes of different lengths relate as the database compares them', async (t, { post, sql }) => {
  await sql("insert into a values (1, 'aaaa', 'aaaa'), (2, 'bb', 'bb')")
  await sql("insert into b values (1, 'aaaa', 'aaaa'), (2, 'bb', 'bb'), (3, 'aaaabbbb', '')")
  for (const [from, to, on] of [
    ['a', 'b', { k: 'k' }], ['b', 'a', { k: 'k' }], ['a', 'b', { v: 'v' }], ['b', 'a', { v: 'v' }],
    ['a', 'b', { v: 'v', id: 'id' }]
  ] as const) {
    const pairs = Object.entries(on).map(([own, other]) => `x.${own} = y.${other}`).join(' and ')
    const wanted = await sql(`select x.id, (select group_concat(y.id order by y.id) from ${to} y where ${pairs}) as ids
      from ${from} x order by x.id`)
    const { status, json, text } = await post(from, {
      verb: 'select', columns: ['id'], orderBy: 'id', include: { r: { table: to, on, columns: ['id'] } }
    })
    t.equal(status, 200, text)
    t.same(json?.data?.rows?.map(({ id, r }: any) => ({
      id, ids: [r].flat().filter((each) => each !== null).map((each) => each.id).join() || null
    })), wanted, `${from} to ${to} by ${Object.keys(on).join()}`)
    const some = await post(from, {
      verb: 'select', columns: ['id'], orderBy: 'id', filters: { $some: { r: { table: to, on } } }
    })
    t.same(some.json?.data?.rows?.map(({ id }: any) => id), wanted.filter(({ ids }: any) => ids !== null).map(
      ({ id }: any) => id
    ))
  }
}, ['mariadb', 'mysql'])

// Rows and their members are of one state of the database, while others write and while tables change.

await test('rows, lists and computed values are of one snapshot', async (t, { post, operate }) => {
  const write = async (id: number, line: number): Promise<void> => {
    // as many entries as the account says, and two notes of each
    const operations = [
      { table: 'accounts', verb: 'update', filters: { id }, data: { n: { $inc: 1 }, last: line } },
      { table: 'entries', verb: 'insert', data: { account_id: id, line } },
      { table: 'notes', verb: 'insert', data: [{ account_id: id, line, part: 1 }, { account_id: id, line, part: 2 }] }
    ]
    t.equal((await operate(operations)).status, 200)
  }
  const include = {
    entries: {
      columns: ['line'],
      limit: 1000,
      include: { notes: { on: { account_id: 'account_id', line: 'line' }, columns: ['part'] } }
    },
    counted: { table: 'entries', aggregates: { n: { $count: '*' }, last: { $max: 'line' } } },
    latest: { table: 'entries', on: { id: 'account_id', last: 'line' }, columns: ['line'] }
  }
  const seen = new Set<number>()
  const state = { isOver: false }
  // however long it takes until a reader sees different states
  const writing = (async () => {
    for (let line = 1; line <= 20 || (seen.size < 4 && line < 2000); line++) await write(line % 3 + 1, line)
    state.isOver = true
  })()
  do {
    const { json } = await post('accounts', { verb: 'select', orderBy: 'id', total: true, include })
    const wrong = json.data.rows.find(({ n, last, entries, counted, latest }: any) => entries.length !== n ||
      counted.n !== n ||
      counted.last !== last || (latest?.line ?? null) !== last || entries.some(({ notes }: any) => notes.length !== 2))
    t.equal(wrong, undefined)
    seen.add(json.data.rows[0].n)
  } while (!state.isOver)
  await writing
  t.ok(seen.size >= 4, `${seen.size} states`)
})

const text = (index: number): string =>
  ['plain', 'a "quoted" one', 'line\nfeed \\ and é 😀', '', null][index % 5] as string

await test('lists of any length are written byte by byte as their rows are', async (t, { post, sql }) => {
  const lists = LISTS.map((length, index) =>
    Array.from({ length }, (_, row) => ({ id: (index + 1) * 10_000 + row, head_id: index + 1, word: text(row) })))
  for (const row of lists.flat().filter((_, index) => index % 200 === 0)) {
    const some = lists.flat().filter(({ id }) => id >= row.id).slice(0, 200)
    await sql(`insert into parts values ${some.map(() => '(?, ?, ?)').join()}`, some.flatMap(Object.values))
  }
  const rowsOf = (shown: ReadonlyArray<Array<{ id: number, word: string | null }>>) => JSON.stringify({
    success: true,
    data: {
      rows: shown.map((parts, index) => ({ id: index + 1, parts: parts.map(({ id, word }) => ({ id, word })) })),
      count: shown.length
    }
  })
  const ask = (limit: number, orderBy: string) => post('heads', {
    verb: 'select',
    orderBy: 'id',
    include: { parts: { on: { id: 'head_id' }, columns: ['id', 'word'], orderBy, limit } }
  })
  t.equal((await ask(1000, 'id')).text, rowsOf(lists))
  t.equal((await ask(1000, 'id DESC')).text, rowsOf(lists.map((list) => list.toReversed())))
  t.equal((await ask(7, 'id')).text, rowsOf(lists.map((list) => list.slice(0, 7))), 'lists that are cut')
})
