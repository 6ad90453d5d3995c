/** Filters by related rows: `$some` and `$none`. */
import t from 'tap'
import { onEachEngine, type Schema, sharedOnEachEngine } from '../support/service.ts'

const schema: Schema = (engine) => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'
  return [
    `create table customers (id ${id}, name varchar(20) not null, city varchar(20))`,
    `create table orders (id ${id}, customer_id int, total decimal(8,2) not null, note varchar(20), placed_at datetime, foreign key (customer_id) references customers (id))`,
    'create table order_items (order_id int not null, line int not null, sku varchar(10) not null, quantity int not null, primary key (order_id, line), foreign key (order_id) references orders (id))',
    'create index of_customer on orders (customer_id)',
    `create table payments (id ${id}, order_id int, amount decimal(8,2) not null)`, 'create index by_order on payments (order_id)',
    'create view big_orders as select id, customer_id from orders where total > 15',
    "insert into customers values (1, 'Ada', 'London'), (2, 'Bob', null), (3, 'Cy', 'Oslo')",
    "insert into orders values (1, 1, 10.5, null, '2020-01-01 00:00:00'), (2, 1, 20, 'x', '2999-01-01 00:00:00'), (3, 2, 30, null, null), (4, null, 40, null, null)",
    "insert into order_items values (1, 1, 'A', 2), (1, 2, 'B', 1), (2, 1, 'A', 5), (3, 1, 'B', 7), (3, 2, 'B', 8)",
    'insert into payments values (1, 1, 10), (2, 1, 0.5), (3, 3, 5), (4, null, 1)'
  ]
}

const A = { order_items: { filters: { sku: 'A' } } }
const on = { id: 'order_id' }

/** Filters of orders, and the orders that they select. */
const cases: Array<[filters: object, ids: number[]]> = [
  [{ $some: { order_items: {} } }, [1, 2, 3]],
  [{ $none: { order_items: {} } }, [4]],
  [{ $some: A }, [1, 2]],
  [{ $none: A }, [3, 4]],
  [{ $some: { order_items: { filters: { sku: 'A', quantity: { $gt: 2 } } } } }, [2]],
  [{ $some: { ...A, b: { table: 'order_items', filters: { sku: 'B' } } } }, [1]],
  [{ $none: { ...A, payments: { on } } }, [4]],
  [{ $some: A, $none: { payments: { on } } }, [2]],
  [{ $not: { $some: A } }, [3, 4]],
  [{ $not: { $none: A } }, [1, 2]],
  [{ $or: [{ $some: { payments: { on, filters: { amount: '5.00' } } } }, { id: 4 }] }, [3, 4]],
  [{ $and: [{ $some: A }, { total: { $lt: 15 } }] }, [1]],
  // NULL relates to nothing
  [{ $some: { customers: {} } }, [1, 2, 3]],
  [{ $none: { customers: {} } }, [4]],
  [{ $some: { customers: { filters: { city: null } } } }, [3]],
  [{ $none: { customers: { filters: { city: 'London' } } } }, [3, 4]],
  // a filter that is NULL passes in neither of them
  [{ $none: { customers: { filters: { city: { $ne: 'London' } } } } }, [1, 2, 3, 4]],
  // constants
  [{ $some: { order_items: { filters: { sku: { $in: [] } } } } }, []],
  [{ $none: { order_items: { filters: { sku: { $in: [] } } } } }, [1, 2, 3, 4]],
  [{ $or: [{ id: 2 }, { $some: { nothing: { table: 'order_items', filters: { $or: [] } } } }] }, [2]],
  [{ $some: { order_items: { filters: { sku: { $nin: [] } } } } }, [1, 2, 3]],
  // levels
  [{ $some: { customers: { filters: { $some: { orders: { filters: { total: { $gte: 20 } } } } } } } }, [1, 2, 3]],
  [{ $some: { customers: { filters: { $none: { orders: { filters: { $some: A } } } } } } }, [3]],
  [{ $some: { others: { table: 'orders', on: { customer_id: 'customer_id' }, filters: { note: 'x' } } } }, [1, 2]],
  [{ $some: { order_items: { filters: { quantity: { $in: [8, 1] } } } } }, [1, 3]]
]

const test = sharedOnEachEngine(t, { schema })

await test('rows are selected by the rows that are related to them', async (t, { post, operate, statements }) => {
  const select = async (filters: object, more: object = {}): Promise<any> => (await post('orders', { verb: 'select', columns: ['id'], orderBy: 'id', filters, ...more })).json
  for (const [filters, ids] of cases) {
    const json = await select(filters)
    t.same(json.data?.rows?.map(({ id }: { id: number }) => id), ids, `${JSON.stringify(filters)}: ${JSON.stringify(json.error)}`)
  }
  statements()
  await select({ $some: A })
  t.notMatch(statements().join(), /exists/i)
  t.same((await select({ $some: A }, { after: null, limit: 1, total: true })).data, { rows: [{ id: 1 }], count: 1, next: { id: 1 }, total: 2 })
  t.same((await select({ $some: A }, { after: { id: 1 }, limit: 5, expect: 1 })).data, { rows: [{ id: 2 }], count: 1, next: null })
  t.same((await select({ $none: A }, { offset: 1, limit: 1 })).data, { rows: [{ id: 4 }], count: 1, next: null })
  t.same((await select({ $some: A }, { expect: 3 })).error.code, 'EXPECTATION_FAILED')
  const groups = await post('orders', { verb: 'select', filters: { $some: A }, groupBy: ['customer_id'], aggregates: { n: { $count: '*' }, sum: { $sum: 'total' } }, having: { n: { $gt: 1 } } })
  t.same(groups.json.data?.rows, [{ customer_id: 1, n: 2, sum: '30.50' }], groups.text)
  t.same((await post('big_orders', { verb: 'select', filters: { $some: { order_items: { on, filters: { sku: 'A' } } } } })).json.data?.rows, [{ id: 2, customer_id: 1 }], 'the table itself may be a view')
  const now = await select({ $some: { customers: { filters: { $some: { orders: { filters: { placed_at: { $gt: { $now: { days: 1 } } } } } } } } } })
  t.same(now.data?.rows, [{ id: 1 }, { id: 2 }], JSON.stringify(now))
  const { json } = await operate([
    { table: 'order_items', verb: 'select', filters: { order_id: 2 } },
    { table: 'orders', verb: 'select', columns: ['id'], orderBy: 'id', lock: true, filters: { $some: { order_items: { filters: { sku: { $ref: '/0/rows/0/sku' }, quantity: { $in: [{ $ref: '/0/rows/0/quantity' }] } } } } } },
    { table: 'customers', verb: 'select', columns: ['id'], filters: { $some: { orders: { filters: { $some: { order_items: { filters: { quantity: { $ref: '/0/rows/0/quantity' } } } } } } } } }
  ])
  t.same(json.data?.results.slice(1).map(({ rows }: { rows: unknown }) => rows), [[{ id: 2 }], [{ id: 1 }]], JSON.stringify(json))
})

await test('members have filters by related rows, and rows can be sorted by members that are one', async (t, { post }) => {
  const select = async (table: string, body: object): Promise<any> => (await post(table, { verb: 'select', ...body })).json
  const customer = { table: 'customers', columns: ['name'], filters: { $none: { orders: { filters: { note: 'x' } } } } }
  const members = await select('orders', {
    columns: ['id'],
    orderBy: 'id',
    filters: { $some: { order_items: {} } },
    include: {
      customer,
      items: { table: 'order_items', columns: ['line'], filters: { $some: { orders: { filters: { $some: { payments: { on } } } } } } },
      n: { table: 'order_items', filters: { $some: { orders: { filters: { customer_id: 1 } } } }, aggregates: { n: { $count: '*' } } }
    }
  })
  t.same(members.data?.rows, [
    { id: 1, customer: null, items: [{ line: 1 }, { line: 2 }], n: { n: 2 } },
    { id: 2, customer: null, items: [], n: { n: 1 } },
    { id: 3, customer: { name: 'Bob' }, items: [{ line: 1 }, { line: 2 }], n: { n: 0 } }
  ], JSON.stringify(members))
  const include = { customer: { table: 'customers', columns: ['name'] }, bill: { table: 'customers' }, items: { table: 'order_items' }, n: { table: 'order_items', aggregates: { n: { $count: '*' } } } }
  const orders: Array<[orderBy: unknown, ids: number[], more?: object]> = [
    ['customer.name, id', [4, 1, 2, 3]],
    ['customer.name DESC, id DESC', [3, 2, 1, 4]],
    [[{ customer: { name: 'DESC' } }, { id: 'ASC' }], [3, 1, 2, 4]],
    [[{ customer: { city: 'asc' } }, { id: 'DESC' }], [4, 3, 2, 1]],
    ['bill.city desc, customer.city, total DESC', [2, 1, 4, 3]],
    ['customer.name', [1, 2], { offset: 1, limit: 2 }],
    ['customer.id DESC', [3, 2, 1, 4], { offset: 0, filters: { id: { $lte: 4 } } }]
  ]
  for (const [orderBy, ids, more] of orders) {
    const json = await select('orders', { columns: ['id'], orderBy, include, ...more })
    t.same(json.data?.rows?.map(({ id }: { id: number }) => id), ids, `${JSON.stringify(orderBy)}: ${JSON.stringify(json.error)}`)
  }
  const refused: Array<[body: object, code: string, path: string]> = [
    [{ orderBy: 'customer.name', include, after: null }, 'INVALID_ORDER_BY', '/orderBy'],
    [{ orderBy: 'items.sku', include }, 'INVALID_ORDER_BY', '/orderBy'],
    [{ orderBy: [{ n: { n: 'ASC' } }], include }, 'INVALID_ORDER_BY', '/orderBy'],
    [{ orderBy: 'other.name', include }, 'INVALID_ORDER_BY', '/orderBy'],
    [{ orderBy: [{ other: { name: 'ASC' } }], include }, 'INVALID_ORDER_BY', '/orderBy/0/other'],
    [{ orderBy: 'customer.nothing', include }, 'COLUMN_NOT_FOUND', '/orderBy'],
    [{ orderBy: [{ customer: { nothing: 'ASC' } }], include }, 'COLUMN_NOT_FOUND', '/orderBy/0/customer/nothing'],
    [{ orderBy: 'customer', include }, 'COLUMN_NOT_FOUND', '/orderBy'],
    [{ orderBy: 'customer.name, customer.name DESC', include }, 'INVALID_ORDER_BY', '/orderBy'],
    [{ orderBy: [{ customer: { name: 'UP' } }], include }, 'INVALID_ORDER_BY', '/orderBy'],
    [{ orderBy: [{ customer: {} }], include }, 'INVALID_ORDER_BY', '/orderBy'],
    [{ orderBy: 'customer.name' }, 'INVALID_ORDER_BY', '/orderBy'],
    [{ include: { items: { table: 'order_items', orderBy: 'order.total', include: { order: { table: 'orders' } } } } }, 'INVALID_ORDER_BY', '/include/items/orderBy'],
    [{ groupBy: ['customer_id'], orderBy: [{ customer: { name: 'ASC' } }] }, 'INVALID_ORDER_BY', '/orderBy/0/customer']
  ]
  for (const [body, code, path] of refused) t.match((await select('orders', body)).error, { code, details: [{ path }] }, JSON.stringify(body))
})

await onEachEngine(t, 'a column that is really called like a column of a member goes first', {
  schema: (engine) => {
    const q = engine === 'sqlite' ? '"' : '`'
    return [`create table t1 (id integer not null primary key, t1_id integer, ${q}up.id${q} integer, foreign key (t1_id) references t1 (id))`, 'create index up on t1 (t1_id)', 'insert into t1 values (1, null, 3), (2, 1, 2), (3, 2, 1)']
  }
}, async (t, { post }) => {
  const include = { up: { table: 't1', on: { t1_id: 'id' }, columns: ['id'] }, down: { table: 't1', on: { id: 't1_id' }, columns: ['id'] } }
  const ids = async (body: object): Promise<unknown> => (await post('t1', { verb: 'select', columns: ['id'], ...body })).json.data?.rows.map(({ id }: { id: number }) => id)
  t.same(await ids({ orderBy: 'up.id', include }), [3, 2, 1])
  t.same(await ids({ orderBy: [{ up: { id: 'DESC' } }], include }), [3, 2, 1])
  t.same(await ids({ orderBy: [{ up: { id: 'ASC' } }], include, offset: 0 }), [1, 2, 3], 'the key of the table completes the order')
  t.same(await ids({ orderBy: 'id', filters: { $some: { t1: { on: { id: 't1_id' } } } } }), [1, 2], 'a table is related to itself, and called like an alias')
  t.same(await ids({ orderBy: 'id', filters: { $some: { t1: { on: { t1_id: 'id' }, filters: { $some: { t1: { on: { t1_id: 'id' } } } } } } } }), [3])
})
