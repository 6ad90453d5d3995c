/** Members of rows: `include`. */
import t from 'tap'
import { onEachEngine, type Schema, sharedOnEachEngine } from '../support/service.ts'

const schema: Schema = {
  mysql: [
    'create table customers (id int not null primary key, name varchar(20) not null, city varchar(20))',
    'create table orders (id int not null primary key, customer_id int, total decimal(8,2) not null, foreign key (customer_id) references customers (id))',
    'create table products (sku varchar(10) not null primary key, title varchar(20))',
    'create table order_items (order_id int not null, line int not null, sku varchar(10) not null, quantity int not null, primary key (order_id, line), foreign key (order_id) references orders (id), foreign key (sku) references products (sku))',
    'create table payments (id int not null auto_increment primary key, order_id int not null, amount decimal(8,2) not null, key (order_id))'
  ],
  sqlite: [
    'create table customers (id integer primary key, name varchar(20) not null, city varchar(20))',
    'create table orders (id integer primary key, customer_id int, total decimal(8,2) not null, foreign key (customer_id) references customers (id))',
    'create table products (sku varchar(10) not null primary key, title varchar(20))',
    'create table order_items (order_id int not null, line int not null, sku varchar(10) not null, quantity int not null, primary key (order_id, line), foreign key (order_id) references orders (id), foreign key (sku) references products (sku))',
    'create table payments (id integer primary key, order_id int not null, amount decimal(8,2) not null)', 'create index by_order on payments (order_id)'
  ]
}

const rows = [
  "insert into customers values (1, 'Ada', 'London'), (2, 'Bob', null)",
  'insert into orders values (1, 1, 10.5), (2, 1, 20), (3, 2, 30), (4, null, 40)',
  "insert into products values ('A', 'Apple'), ('B', 'Banana')",
  "insert into order_items values (1, 1, 'A', 2), (1, 2, 'B', 1), (2, 1, 'A', 5), (3, 1, 'B', 7), (3, 2, 'B', 8), (3, 3, 'A', 9)",
  'insert into payments (id, order_id, amount) values (1, 1, 10), (2, 1, 0.5), (3, 3, 5)'
]
const filled = (tables: Schema): Schema => (engine) => [...typeof tables === 'function' ? tables(engine) : tables[engine === 'sqlite' ? 'sqlite' : 'mysql'], ...rows]

const testFilled = sharedOnEachEngine(t, { schema: filled(schema) })

await testFilled('a row has members: one row or null, a list, and computed values', async (t, { post }) => {
  const { status, json } = await post('orders', {
    verb: 'select',
    columns: ['id', 'total'],
    orderBy: 'id',
    include: {
      customer: { table: 'customers', columns: ['name'] },
      order_items: { columns: ['sku', 'quantity'], orderBy: 'line', limit: 2, include: { product: { table: 'products' } } },
      payments: { on: { id: 'order_id' }, aggregates: { n: { $count: '*' }, paid: { $sum: 'amount' } } }
    }
  })
  t.equal(status, 200, JSON.stringify(json))
  const product = { A: { sku: 'A', title: 'Apple' }, B: { sku: 'B', title: 'Banana' } }
  t.strictSame(json.data, {
    rows: [
      { id: 1, total: '10.50', customer: { name: 'Ada' }, order_items: [{ sku: 'A', quantity: 2, product: product.A }, { sku: 'B', quantity: 1, product: product.B }], payments: { n: 2, paid: '10.50' } },
      { id: 2, total: '20.00', customer: { name: 'Ada' }, order_items: [{ sku: 'A', quantity: 5, product: product.A }], payments: { n: 0, paid: null } },
      { id: 3, total: '30.00', customer: { name: 'Bob' }, order_items: [{ sku: 'B', quantity: 7, product: product.B }, { sku: 'B', quantity: 8, product: product.B }], payments: { n: 1, paid: '5.00' } },
      { id: 4, total: '40.00', customer: null, order_items: [], payments: { n: 0, paid: null } }
    ],
    count: 4
  })
})

await testFilled('pages, totals and expectations are about the rows of the table, not of its members', async (t, { post, statements }) => {
  const include = { items: { table: 'order_items', columns: ['sku'] }, customer: { table: 'customers', columns: ['name'] } }
  const first = (await post('orders', { verb: 'select', columns: ['total'], include, after: null, limit: 3, total: true, expect: 3 })).json.data
  t.strictSame(first, {
    rows: [
      { total: '10.50', items: [{ sku: 'A' }, { sku: 'B' }], customer: { name: 'Ada' } }, { total: '20.00', items: [{ sku: 'A' }], customer: { name: 'Ada' } },
      { total: '30.00', items: [{ sku: 'B' }, { sku: 'B' }, { sku: 'A' }], customer: { name: 'Bob' } }
    ],
    count: 3,
    next: { id: 3 },
    total: 4
  })
  t.strictSame((await post('orders', { verb: 'select', columns: ['total'], include, after: first.next, limit: 3 })).json.data, { rows: [{ total: '40.00', items: [], customer: null }], count: 1, next: null })
  t.same((await post('orders', { verb: 'select', include, expect: 3 })).json.error.code, 'EXPECTATION_FAILED')
  t.strictSame((await post('orders', { verb: 'select', filters: { id: 99 }, include })).json.data, { rows: [], count: 0 })
  statements()
  t.strictSame((await post('orders', { verb: 'select', columns: ['id'], include: { customer: include.customer }, after: { id: 1 }, limit: 1 })).json.data, { rows: [{ id: 2, customer: { name: 'Ada' } }], count: 1, next: { id: 2 } })
  t.equal(statements().length, 1, 'one row costs no statement of its own and no transaction')
})

await testFilled('filters of a member make it one row, and never remove rows of the table', async (t, { post }) => {
  const { json } = await post('orders', { verb: 'select', columns: ['id'], orderBy: 'id', include: { second: { table: 'order_items', filters: { line: 2 }, columns: ['sku'] }, none: { table: 'customers', filters: { id: { $in: [] } } }, maybe: { table: 'order_items', filters: { line: { $in: [2] } }, columns: ['sku'] } } })
  t.strictSame(json.data?.rows, [
    { id: 1, second: { sku: 'B' }, none: null, maybe: [{ sku: 'B' }] }, { id: 2, second: null, none: null, maybe: [] },
    { id: 3, second: { sku: 'B' }, none: null, maybe: [{ sku: 'B' }] }, { id: 4, second: null, none: null, maybe: [] }
  ], JSON.stringify(json))
})

await onEachEngine(t, 'a table can be related to itself, in both directions and on three levels', {
  schema: () => ['create table nodes (id integer not null primary key, parent_id integer, foreign key (parent_id) references nodes (id))', 'create index by_parent on nodes (parent_id)', 'insert into nodes values (1, null)', 'insert into nodes values (2, 1), (3, 1)', 'insert into nodes values (4, 2)', 'insert into nodes values (5, 4)']
}, async (t, { post }) => {
  const children = { table: 'nodes', on: { id: 'parent_id' }, columns: ['id'] }
  const parent = { table: 'nodes', on: { parent_id: 'id' }, columns: ['id'] }
  const { json } = await post('nodes', { verb: 'select', columns: ['id'], filters: { id: [1, 2] }, orderBy: 'id', include: { parent, children: { ...children, include: { parent: { ...parent, include: { children } }, children } } } })
  t.strictSame(json.data?.rows, [
    { id: 1, parent: null, children: [{ id: 2, parent: { id: 1, children: [{ id: 2 }, { id: 3 }] }, children: [{ id: 4 }] }, { id: 3, parent: { id: 1, children: [{ id: 2 }, { id: 3 }] }, children: [] }] },
    { id: 2, parent: { id: 1 }, children: [{ id: 4, parent: { id: 2, children: [{ id: 4 }] }, children: [{ id: 5 }] }] }
  ], JSON.stringify(json))
})

await onEachEngine(t, 'a view has members, and names of columns and tables may be odd', {
  schema: (engine) => {
    const q = engine === 'sqlite' ? '"' : '`'
    return [`create table ${q}t1.x y${q} (${q}c0x1${q} integer not null primary key, ${q}a.b${q} varchar(20) not null)`, `create index ${q}i.0${q} on ${q}t1.x y${q} (${q}a.b${q})`, `insert into ${q}t1.x y${q} values (1, 'x'), (2, 'y'), (3, 'x')`, `create view seen as select ${q}c0x1${q} as n0, ${q}a.b${q} as t1 from ${q}t1.x y${q} where ${q}c0x1${q} < 3`]
  }
}, async (t, { post }) => {
  const { json } = await post('seen', { verb: 'select', orderBy: 'n0', include: { one: { table: 't1.x y', on: { n0: 'c0x1' } }, many: { table: 't1.x y', on: { t1: 'a.b' }, columns: ['c0x1'] } } })
  t.strictSame(json.data?.rows, [{ n0: 1, t1: 'x', one: { c0x1: 1, 'a.b': 'x' }, many: [{ c0x1: 1 }, { c0x1: 3 }] }, { n0: 2, t1: 'y', one: { c0x1: 2, 'a.b': 'y' }, many: [{ c0x1: 2 }] }], JSON.stringify(json))
})

await onEachEngine(t, 'reading stops where the whole answer is larger than it may be', { schema: filled(schema), database: { resultLimit: 3000 } }, async (t, { post, sql, statements }) => {
  for (let line = 10; line < 110; line++) await sql(`insert into order_items values (2, ${line}, 'A', ${line})`)
  const items = { table: 'order_items', limit: 1000 }
  t.equal((await post('orders', { verb: 'select', include: { items: { ...items, filters: { order_id: { $ne: 2 } } } } })).status, 200)
  t.equal((await post('orders', { verb: 'select', include: { items: { ...items, limit: 10 } } })).status, 200)
  statements()
  for (const include of [{ items }, { items: { ...items, include: { product: { table: 'products' } } } }, { customer: { table: 'customers', include: { orders: { include: { items, payments: { on: { id: 'order_id' } } } } } } }, { items: { ...items, limit: 15, include: { again: { table: 'order_items', on: { order_id: 'order_id' }, limit: 15, columns: ['line'] } } } }]) {
    t.match((await post('orders', { verb: 'select', include })).json.error, { code: 'RESULT_TOO_LARGE' }, JSON.stringify(include))
  }
  t.notOk(statements().some((statement) => statement.includes('payments')), 'nothing is read after that')
  t.equal((await post('orders', { verb: 'select', include: { items: { ...items, limit: 5 } } })).status, 200, 'the next request has its answer')
})

await onEachEngine(t, 'a member whose table has changed is planned again', { schema: filled(schema) }, async (t, { post, sql }) => {
  const request = { verb: 'select', columns: ['id'], filters: { id: 1 }, include: { items: { table: 'order_items', columns: ['line', 'quantity'] }, customer: { table: 'customers', columns: ['city'] } } }
  t.equal((await post('orders', request)).status, 200)
  await sql('alter table order_items rename column quantity to amount')
  t.match(await post('orders', request), { status: /400|503/ })
  await sql('alter table order_items rename column amount to quantity')
  t.match(await post('orders', request), { status: /200|503/ })
  await sql('alter table customers rename column city to town')
  t.match(await post('orders', request), { status: /400|503/ })
})

await onEachEngine(t, 'lists are of the same snapshot as the rows', { schema: filled(schema), only: ['mariadb', 'mysql'] }, async (t, { post, statements }) => {
  statements()
  await post('orders', { verb: 'select', include: { payments: { on: { id: 'order_id' } } } })
  t.match(statements()[0], /repeatable read|start transaction/i)
})

await onEachEngine(t, 'an index that was named in the statement of a list may be dropped', { schema: filled(schema), only: ['mariadb', 'mysql'] }, async (t, { post, sql }) => {
  const request = { verb: 'select', columns: ['id'], filters: { id: [1, 3] }, orderBy: 'id', include: { payments: { on: { id: 'order_id' }, columns: ['id'] } } }
  const rows = [{ id: 1, payments: [{ id: 1 }, { id: 2 }] }, { id: 3, payments: [{ id: 3 }] }]
  t.same((await post('orders', request)).json.data.rows, rows)
  await sql('alter table payments add index other (order_id, amount), drop index order_id')
  t.same((await post('orders', request)).json.data?.rows, rows)
  await sql('alter table payments drop index other')
  t.match((await post('orders', request)).json.error, { code: 'INVALID_BODY', details: [{ path: '/include/payments/on' }] })
})
