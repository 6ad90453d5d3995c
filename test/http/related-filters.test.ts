/** Filters by related rows: `$some` and `$none`. */
import t from 'tap'
import { numberedId, plainId, trigger } from '../support/definitions.ts'
import { type EngineName, onEachEngine, type Schema, type Service, sharedOnEachEngine } from '../support/service.ts'

const schema = (engine: EngineName): string[] => {
  const id = plainId(engine)
  return [
    `create table customers (${id}, name varchar(20) not null, city varchar(20))`,
    `create table orders (${id}, customer_id int, total decimal(8,2) not null, note varchar(20), placed_at datetime,
      foreign key (customer_id) references customers (id))`,
    `create table order_items (order_id int not null, line int not null, sku varchar(10) not null,
      quantity int not null, primary key (order_id, line), foreign key (order_id) references orders (id))`,
    'create index of_customer on orders (customer_id)',
    `create table payments (${id}, order_id int, amount decimal(8,2) not null)`,
    'create index by_order on payments (order_id)',
    'create view big_orders as select id, customer_id from orders where total > 15',
    "insert into customers values (1, 'Ada', 'London'), (2, 'Bob', null), (3, 'Cy', 'Oslo')",
    `insert into orders values (1, 1, 10.5, null, '2020-01-01 00:00:00'), (2, 1, 20, 'x', '2999-01-01 00:00:00'),
      (3, 2, 30, null, null), (4, null, 40, null, null)`,
    "insert into order_items values (1, 1, 'A', 2), (1, 2, 'B', 1), (2, 1, 'A', 5), (3, 1, 'B', 7), (3, 2, 'B', 8)",
    'insert into payments values (1, 1, 10), (2, 1, 0.5), (3, 3, 5), (4, null, 1)'
  ]
}

const A = { order_items: { filters: { sku: 'A' } } }
const on = { id: 'order_id' }

/** Filters of orders, and the orders that they select; related-law.test.ts has random ones without counts. */
const cases: Array<[filters: object, ids: number[]]> = [
  [{ $some: A }, [1, 2]],
  [{ $none: A }, [3, 4]],
  [{ $some: { ...A, b: { table: 'order_items', filters: { sku: 'B' } } } }, [1]],
  [{ $none: { ...A, payments: { on } } }, [4]],
  [{ $some: A, $none: { payments: { on } } }, [2]],
  [{ $not: { $some: A } }, [3, 4]],
  [{ $not: { $none: A } }, [1, 2]],
  [{ $or: [{ $some: { payments: { on, filters: { amount: '5.00' } } } }, { id: 4 }] }, [3, 4]],
  // NULL relates to nothing
  [{ $some: { customers: {} } }, [1, 2, 3]],
  [{ $none: { customers: {} } }, [4]],
  // a filter that is NULL passes in neither of them
  [{ $none: { customers: { filters: { city: { $ne: 'London' } } } } }, [1, 2, 3, 4]],
  // constants
  [{ $none: { order_items: { filters: { sku: { $in: [] } } } } }, [1, 2, 3, 4]],
  [{ $or: [{ id: 2 }, { $some: { nothing: { table: 'order_items', filters: { $or: [] } } } }] }, [2]],
  [{ $some: { order_items: { filters: { sku: { $nin: [] } } } } }, [1, 2, 3]],
  // counts
  [{ $some: { order_items: { count: 2 } } }, [1, 3]],
  [{ $some: { order_items: { count: 0 } } }, [4]],
  [{ $some: { order_items: { count: { $gte: 2 } } } }, [1, 3]],
  [{ $some: { order_items: { count: { $gt: 0 } } } }, [1, 2, 3]],
  [{ $some: { order_items: { count: { $lt: 2 } } } }, [2, 4]],
  [{ $some: { order_items: { count: { $lte: 0 } } } }, [4]],
  [{ $some: { order_items: { count: { $between: [1, 1] } } } }, [2]],
  [{ $some: { order_items: { count: { $gte: 1, $lt: 2 } } } }, [2]],
  [{ $some: { order_items: { count: { $between: [2, 1] } } } }, []],
  [{ $some: { order_items: { count: { $lt: 0 } } } }, []],
  [{ $some: { order_items: { filters: { sku: 'B' }, count: { $gte: 2 } } } }, [3]],
  [{ $some: { order_items: { filters: { sku: 'A' }, count: 0 } } }, [3, 4]],
  [{ $not: { $some: { order_items: { count: { $gte: 2 } } } } }, [2, 4]],
  [{ $some: { order_items: { count: { $gte: 0 } } } }, [1, 2, 3, 4]],
  [{ $some: { order_items: { filters: { sku: { $in: [] } }, count: 0 } } }, [1, 2, 3, 4]],
  [{ $some: { order_items: { filters: { sku: { $in: [] } }, count: 1 } } }, []],
  // of NULL there are none
  [{ $some: { customers: { count: 0 } } }, [4]],
  [{ $some: { customers: { count: { $lte: 1 } } } }, [1, 2, 3, 4]],
  // levels
  [{ $some: { customers: { filters: { $some: { orders: { count: 2 } } } } } }, [1, 2]],
  [{ $some: { customers: { filters: { $none: { orders: { filters: { $some: A } } } } } } }, [3]],
  [{ $some: { others: { table: 'orders', on: { customer_id: 'customer_id' }, filters: { note: 'x' } } } }, [1, 2]]
]

const test = sharedOnEachEngine(t, {
  schema: (engine) => [
    ...schema(engine),
    `create table t1 (id integer not null primary key, t1_id integer,
      ${engine === 'sqlite' ? '"up.id"' : '`up.id`'} integer, foreign key (t1_id) references t1 (id))`,
    'create index up on t1 (t1_id)', 'insert into t1 values (1, null, 3), (2, 1, 2), (3, 2, 1)'
  ]
})

await test('reading stops at one row more than decides', async (t, { post, statements, engine }) => {
  await post('orders', { verb: 'select', filters: { $some: { order_items: { count: { $between: [2, 5] } } } } })
  const [sql = ''] = statements()
  t.match(sql, engine === 'sqlite'
    ? /limit 1 offset \?\) is not null and .*limit 1 offset \?\) is null/
    : /limit 1 offset 1\) is not null and .*limit 1 offset 5\) is null/)
})

await test('rows are selected by the rows that are related to them', async (t, { post, operate, statements }) => {
  const select = async (filters: object, more: object = {}): Promise<any> =>
    (await post('orders', { verb: 'select', columns: ['id'], orderBy: 'id', filters, ...more })).json
  for (const [filters, ids] of cases) {
    const json = await select(filters)
    t.same(
      json.data?.rows?.map(({ id }: { id: number }) => id), ids,
      `${JSON.stringify(filters)}: ${JSON.stringify(json.error)}`
    )
  }
  statements()
  await select({ $some: A })
  t.notMatch(statements().join(), /exists/i)
  t.same((await select({ $some: A }, { after: null, limit: 1, total: true })).data, {
    rows: [{ id: 1 }], count: 1, next: { id: 1 }, total: 2
  })
  t.same((await select({ $some: A }, { after: { id: 1 }, limit: 5, expect: 1 })).data, {
    rows: [{ id: 2 }], count: 1, next: null
  })
  t.same((await select({ $none: A }, { offset: 1, limit: 1 })).data, { rows: [{ id: 4 }], count: 1, next: null })
  t.same((await select({ $some: A }, { expect: 3 })).error.code, 'EXPECTATION_FAILED')
  const groups = await post('orders', {
    verb: 'select',
    filters: { $some: A },
    groupBy: ['customer_id'],
    aggregates: { n: { $count: '*' }, sum: { $sum: 'total' } },
    having: { n: { $gt: 1 } }
  })
  t.same(groups.json.data?.rows, [{ customer_id: 1, n: 2, sum: '30.50' }], groups.text)
  t.same((await post('big_orders', {
    verb: 'select', filters: { $some: { order_items: { on, filters: { sku: 'A' } } } }
  })).json.data?.rows, [{ id: 2, customer_id: 1 }], 'the table itself may be a view')
  const now = await select({
    $some: { customers: { filters: { $some: { orders: { filters: { placed_at: { $gt: { $now: { days: 1 } } } } } } } } }
  })
  t.same(now.data?.rows, [{ id: 1 }, { id: 2 }], JSON.stringify(now))
  const { json } = await operate([
    { table: 'order_items', verb: 'select', filters: { order_id: 2 } },
    {
      table: 'orders',
      verb: 'select',
      columns: ['id'],
      orderBy: 'id',
      lock: true,
      filters: {
        $some: {
          order_items: {
            filters: { sku: { $ref: '/0/rows/0/sku' }, quantity: { $in: [{ $ref: '/0/rows/0/quantity' }] } }
          }
        }
      }
    },
    {
      table: 'customers',
      verb: 'select',
      columns: ['id'],
      filters: {
        $some: {
          orders: { filters: { $some: { order_items: { filters: { quantity: { $ref: '/0/rows/0/quantity' } } } } } }
        }
      }
    }
  ])
  t.same(
    json.data?.results.slice(1).map(({ rows }: { rows: unknown }) => rows), [[{ id: 2 }], [{ id: 1 }]],
    JSON.stringify(json)
  )
})

await test('members have filters by related rows, and rows can be sorted by ' +
  'members that are one', async (t, { post }) => {
  const select = async (table: string, body: object): Promise<any> =>
    (await post(table, { verb: 'select', ...body })).json
  const customer = { table: 'customers', columns: ['name'], filters: { $none: { orders: { filters: { note: 'x' } } } } }
  const members = await select('orders', {
    columns: ['id'],
    orderBy: 'id',
    filters: { $some: { order_items: {} } },
    include: {
      customer,
      items: {
        table: 'order_items',
        columns: ['line'],
        filters: { $some: { orders: { filters: { $some: { payments: { on } } } } } }
      },
      n: {
        table: 'order_items',
        filters: { $some: { orders: { filters: { customer_id: 1 } } } },
        aggregates: { n: { $count: '*' } }
      }
    }
  })
  t.same(members.data?.rows, [
    { id: 1, customer: null, items: [{ line: 1 }, { line: 2 }], n: { n: 2 } },
    { id: 2, customer: null, items: [], n: { n: 1 } },
    { id: 3, customer: { name: 'Bob' }, items: [{ line: 1 }, { line: 2 }], n: { n: 0 } }
  ], JSON.stringify(members))
  const include = {
    customer: { table: 'customers', columns: ['name'] },
    bill: { table: 'customers' },
    items: { table: 'order_items' },
    n: { table: 'order_items', aggregates: { n: { $count: '*' } } }
  }
  const sums = {
    table: 'order_items',
    aggregates: { q: { $sum: 'quantity' }, sku: { $max: 'sku' }, b: { $count: '*', filters: { sku: 'B' } } }
  }
  const ofFirst = {
    table: 'order_items',
    filters: { $some: { orders: { filters: { customer_id: 1 } } }, quantity: { $gt: 1 } },
    aggregates: { n: { $countDistinct: 'sku' } }
  }
  const computed = {
    include: { ...include, sums, ofFirst, paid: { table: 'payments', on, aggregates: { sum: { $sum: 'amount' } } } }
  }
  const orders: Array<[orderBy: unknown, ids: number[], more?: object]> = [
    ['customer.name, id', [4, 1, 2, 3]],
    ['customer.name DESC, id DESC', [3, 2, 1, 4]],
    [[{ customer: { name: 'DESC' } }, { id: 'ASC' }], [3, 1, 2, 4]],
    [[{ customer: { city: 'asc' } }, { id: 'DESC' }], [4, 3, 2, 1]],
    ['bill.city desc, customer.city, total DESC', [2, 1, 4, 3]],
    ['customer.name', [1, 2], { offset: 1, limit: 2 }],
    ['customer.id DESC', [3, 2, 1, 4], { offset: 0, filters: { id: { $lte: 4 } } }],
    ['n.n DESC', [3, 1, 2, 4]],
    ['n.n DESC, id', [1, 3, 2, 4]],
    [[{ n: { n: 'ASC' } }], [4, 2, 1, 3]],
    ['n.n DESC, customer.name', [1, 3, 2, 4]],
    ['n.n', [2, 1], { limit: 2, offset: 1, total: true }],
    ['sums.q', [4, 1, 2, 3], computed],
    ['sums.b DESC, sums.q DESC', [3, 1, 2, 4], computed],
    [[{ sums: { sku: 'DESC' } }, { id: 'ASC' }], [1, 3, 2, 4], computed],
    ['ofFirst.n DESC, id', [1, 2, 3, 4], computed],
    ['paid.sum DESC', [1, 3, 2], { ...computed, filters: { $some: { customers: {} } } }]
  ]
  for (const [orderBy, ids, more] of orders) {
    const json = await select('orders', { columns: ['id'], orderBy, include, ...more })
    t.same(
      json.data?.rows?.map(({ id }: { id: number }) => id), ids,
      `${JSON.stringify(orderBy)}: ${JSON.stringify(json.error)}`
    )
  }
})

await test('a column that is really called like a column of a member goes first', async (t, { post }) => {
  const include = {
    up: { table: 't1', on: { t1_id: 'id' }, columns: ['id'] },
    down: { table: 't1', on: { id: 't1_id' }, columns: ['id'] }
  }
  const ids = async (body: object): Promise<unknown> =>
    (await post('t1', { verb: 'select', columns: ['id'], ...body })).json.data?.rows.map(({ id }: { id: number }) => id)
  t.same(await ids({ orderBy: 'up.id', include }), [3, 2, 1])
  t.same(await ids({ orderBy: [{ up: { id: 'DESC' } }], include }), [3, 2, 1])
  t.same(
    await ids({ orderBy: [{ up: { id: 'ASC' } }], include, offset: 0 }), [1, 2, 3],
    'the key of the table completes the order'
  )
  t.same(
    await ids({ orderBy: 'id', filters: { $some: { t1: { on: { id: 't1_id' } } } } }), [1, 2],
    'a table is related to itself, and called like an alias'
  )
  t.same(await ids({
    orderBy: 'id',
    filters: { $some: { t1: { on: { t1_id: 'id' }, filters: { $some: { t1: { on: { t1_id: 'id' } } } } } } }
  }), [3])
})

await test('what is refused of `$some` and `$none` has its place in operations', async (t, { post, operate }) => {
  const refusal = async (filters: object): Promise<unknown> => {
    const select = { table: 'orders', verb: 'select' }
    const { status, json } = await operate([select, { ...select, filters }])
    return [status, json.error?.code, json.error?.details[0]?.path.replace('/operations/1/filters', '')]
  }
  t.same(await refusal({ $some: { nothing: {} } }), [404, 'TABLE_NOT_FOUND', '/$some/nothing'])
  t.same(await refusal({ $some: {} }), [400, 'INVALID_BODY', '/$some'])
  t.same(await refusal({ $some: { order_items: { filters: { sku: { $ref: '/1/id' } } } } }), [
    400, 'INVALID_BODY', '/$some/order_items/filters/sku'
  ])
  const members = Object.fromEntries(Array.from({ length: 256 }, (_, index) => [`m${index}`, {
    table: 'order_items', filters: { sku: 'B' }
  }]))
  t.equal((await post('orders', { verb: 'select', filters: { $some: members } })).status, 400)
  for (const name of Object.keys(members).slice(120)) delete members[name]
  t.equal((await post('orders', {
    verb: 'update', data: { note: 'z' }, filters: { $none: members }
  })).json.data?.updated, 2, 'as many as conditions are allowed')
})

// Updates and deletes of rows by the rows that are related to them: what they change, refuse and lock.

const written: Schema = (engine) => [
  `create table orders (${plainId(engine)}, status varchar(10) not null, total int not null)`,
  `create table items (order_id int not null, line int not null, sku varchar(10) not null, primary key (order_id, line),
    foreign key (order_id) references orders (id) on delete cascade)`,
  ...['log', 'deep', 'hidden_log'].flatMap((name) => [
    `create table ${name} (${numberedId(engine)}, order_id int)`, `create index of_${name} on ${name} (order_id)`
  ]),
  trigger('orders_changed', 'after update on orders', 'insert into log (order_id) values (new.id)'),
  trigger('log_written', 'after insert on log', 'insert into deep (order_id) values (new.order_id)'),
  ...engine === 'sqlite'
    ? []
    : [
        'create procedure note_down (given int) insert into hidden_log (order_id) values (given)',
        trigger('orders_deleted', 'after delete on orders', 'call note_down(old.id)')
      ],
  "insert into orders values (1, 'new', 10), (2, 'new', 20), (3, 'new', 30), (4, 'new', 40)",
  "insert into items values (1, 1, 'A'), (1, 2, 'B'), (2, 1, 'A'), (3, 1, 'B')"
]

const SOLD = { items: { filters: { sku: 'A' } } }

await onEachEngine(t, 'an update and a delete change the rows that their filters by ' +
  'related rows select', { schema: written }, async (t, { post, operate, sql }) => {
  const statuses = async (): Promise<string> =>
    (await sql('select status from orders order by id')).map(({ status }) => status).join()
  const write = async (table: string, body: object): Promise<any> => (await post(table, body)).json
  const update = { verb: 'update', filters: { $some: SOLD }, data: { status: 'a' } }
  t.same((await write('orders', { ...update, dryRun: true })).data, { updated: 2, dryRun: true })
  t.same((await write('orders', { ...update, expect: 1 })).error.code, 'EXPECTATION_FAILED')
  t.same((await write('orders', { ...update, expect: { $lte: 1 } })).error.code, 'EXPECTATION_FAILED')
  t.equal(await statuses(), 'new,new,new,new')
  t.same((await write('orders', update)).data, { updated: 2 })
  t.equal(await statuses(), 'a,a,new,new')
  t.same((await write('orders', {
    verb: 'update', filters: { $none: SOLD }, data: { status: 'b' }, returning: ['id', 'status'], expect: 2
  })).data, { updated: 2, rows: [{ id: 3, status: 'b' }, { id: 4, status: 'b' }] })
  t.same((await write('orders', {
    verb: 'update', filters: { $some: { items: { filters: { sku: { $in: [] } } } } }, data: { status: 'c' }
  })).data, { updated: 0 })
  t.same((await write('items', {
    verb: 'delete', filters: { $some: { orders: { filters: { status: 'b' } } } }, returning: '*'
  })).data, { deleted: 1, rows: [{ order_id: 3, line: 1, sku: 'B' }] })
  const done = await operate([
    { table: 'orders', verb: 'select', columns: ['id', 'status'], filters: { id: 4 } },
    {
      table: 'items',
      verb: 'update',
      filters: { $some: { orders: { filters: { status: { $ref: '/0/rows/0/status' } } } } },
      data: { sku: 'C' }
    },
    {
      table: 'items',
      verb: 'update',
      filters: { $none: { orders: { filters: { status: { $ref: '/0/rows/0/status' } } } } },
      data: { sku: 'C' },
      expect: 3
    }
  ])
  t.same(done.json.data?.results.slice(1), [{ updated: 0 }, { updated: 3 }], done.text)
  t.same((await write('orders', { verb: 'delete', filters: { $none: { items: {} } }, expect: { $lte: 5 } })).data, {
    deleted: 2
  })
  t.equal(await statuses(), 'a,a')
})

await onEachEngine(t, 'what a write itself changes ' +
  'cannot select its rows', { schema: written }, async (t, { post, sql, engine }) => {
  // what the text of its triggers names is in test/plan/bodies/related.txt
  t.same((await post('log', {
    verb: 'update', filters: { $some: { orders: { on: { order_id: 'id' } } } }, data: { order_id: 1 }
  })).json.data, { updated: 0 }, 'a trigger of another event does not count')
  const { status, json } = await post('orders', { verb: 'delete', filters: { $none: { hidden_log: { on } } } })
  if (engine === 'sqlite') t.same(json.data, { deleted: 4 })
  else {
    t.equal(status, 422)
    t.match(
      json.error, { code: 'NOT_SUPPORTED', details: [{ path: '/filters' }] },
      'only the database knows what a routine writes'
    )
    t.equal((await sql('select * from orders')).length, 4)
    t.same(await sql('select * from hidden_log'), [])
  }
})

/** Whether another session can lock a row at once. */
async function isFree ({ sql }: Service, row: string): Promise<boolean> {
  return await sql(`select 1 from ${row} for update nowait`).then(() => true, () => false)
}

const grant = { permissions: ['select', 'insert', 'update', 'delete'] } as const

await onEachEngine(t, 'the rows that filters find stay locked until the write ends, ' +
  'and are those of now', { schema: written, only: ['mariadb', 'mysql'] }, async (t, service) => {
  const { server: { rows }, sql } = service
  const filters = { $some: { items: { filters: { sku: 'A', line: 1 } } } }
  const requests: Array<[name: string, body: object]> = [
    ['update', { verb: 'update', filters, data: { total: 5 } }],
    ['update with returning', { verb: 'update', filters, data: { total: 6 }, returning: ['id'] }],
    ['select with lock', { verb: 'select', filters, lock: true }]
  ]
  for (const [name, body] of requests) {
    await rows.transaction('shop', async (tx) => {
      t.equal(await isFree(service, 'items where order_id = 1 and line = 1'), true, `${name}: before`)
      await tx.execute({ table: 'orders', body, grant } as any)
      t.equal(await isFree(service, 'items where order_id = 1 and line = 1'), false, `${name}: the row that was found`)
      t.equal(await isFree(service, 'items where order_id = 1 and line = 2'), true, `${name}: a row that was not read`)
    })
  }
  for (const [sku, body] of [['Y', { verb: 'select', columns: ['id'], lock: true }], [
    'Z', { verb: 'update', data: { total: 7 }, returning: ['id'] }
  ]] as const) {
    await rows.transaction('shop', async (tx) => {
      await tx.execute({ table: 'items', body: { verb: 'select' }, grant })
      await sql(`insert into items values (4, ${sku === 'Y' ? 1 : 2}, '${sku}')`)
      t.match(await tx.execute({
        table: 'orders', body: { ...body, filters: { $some: { items: { filters: { sku } } } } }, grant
      } as any), { rows: [{ id: 4 }] }, `${sku}: a row that came after the snapshot`)
    })
  }
})

/**
 * Two kinds of writers at the same time: those who close orders without items, and those who add items to open orders.
 */
await onEachEngine(t, 'no order is closed that has items, whoever adds them meanwhile', {
  schema: (engine: EngineName) => [
    `create table orders (${plainId(engine)}, status varchar(10) not null)`,
    `create table items (order_id int not null, line int not null, primary key (order_id, line),
      foreign key (order_id) references orders (id))`,
    ...Array.from({ length: 12 }, (_, index) => `insert into orders values (${index + 1}, 'open')`)
  ]
}, async (t, { post, operate, sql }) => {
  const ids = Array.from({ length: 12 }, (_, index) => index + 1)
  const closing = ids.map(
    (id) => post('orders', { verb: 'update', filters: { id, $none: { items: {} } }, data: { status: 'closed' } })
  )
  const adding = ids.map((order) => operate([
    { table: 'orders', verb: 'select', filters: { id: order, status: 'open' }, lock: true, expect: 1 },
    { table: 'items', verb: 'insert', data: { order_id: order, line: 1 } }
  ]))
  const answers = await Promise.all([...closing, ...adding])
  const bad = answers.filter(({ status }) => ![200, 412, 503].includes(status))
  t.same(bad.map(({ text }) => text), [])
  t.same(await sql("select o.id from orders o join items i on i.order_id = o.id where o.status = 'closed'"), [])
  const closed = answers.slice(0, 12).filter(({ json }) => json.data?.updated === 1).length
  t.same((await sql("select count(*) as n from orders where status = 'closed'")).map(({ n }) => Number(n)), [closed])
})

const cascading: Schema = (engine) => [
  `create table parents (${plainId(engine)}, code int not null unique)`,
  `create table children (${plainId(engine)}, parent_id int,
    foreign key (parent_id) references parents (id) on delete cascade)`,
  `create table loose (${plainId(engine)}, code int,
    foreign key (code) references parents (code) on delete set null on update cascade)`,
  ...['delete on children', 'update on loose', 'delete on loose'].flatMap((event) => {
    const [verb, , table] = event.split(' ')
    const name = `${table}_${verb}d`
    return [
      `create table ${name} (${numberedId(engine)}, parent_id int)`, `create index of_${name} on ${name} (parent_id)`,
      trigger(`${name}_t`, `after ${event}`, `insert into ${name} (parent_id) values (1)`)
    ]
  }),
  'insert into parents values (1, 1)', 'insert into children values (1, 1)', 'insert into loose values (1, 1)'
]

await onEachEngine(t, 'on SQLite a trigger that a cascade fires counts as a write of the statement; ' +
  'servers fire none', { schema: cascading }, async (t, { post, engine, sql }) => {
  for (const [body, tables] of [[{ verb: 'delete' }, ['children_deleted', 'loose_updated']], [
    { verb: 'update', data: { code: 2 } }, ['loose_updated']
  ]] as const) {
    for (const table of ['children_deleted', 'loose_updated', 'loose_deleted']) {
      const { json } = await post('parents', { ...body, filters: { $some: { [table]: { on: { id: 'parent_id' } } } } })
      if (engine === 'sqlite' && (tables as readonly string[]).includes(table)) {
        t.match(
          json.error, { code: 'NOT_SUPPORTED', details: [{ path: `/filters/$some/${table}` }] }, `${body.verb} ${table}`
        )
      } else t.same(json.data, body.verb === 'delete' ? { deleted: 0 } : { updated: 0 }, `${body.verb} ${table}`)
    }
  }
  t.same(await sql('select code from parents'), [{ code: 1 }])
})

await onEachEngine(t, 'an update changes the rows that its filters select, whatever its cascades do to ' +
  'their related rows', {
  schema: () => [
    'create table parts (id integer primary key, a int not null unique, x int)',
    'create table uses (id integer primary key, a int, x int, foreign key (a) references parts (a) on update cascade)',
    'create index by_x on uses (x, id)', 'insert into parts values (1, 1, 7), (2, 2, 7), (3, 3, 8)',
    'insert into uses values (1, 1, 7)'
  ]
}, async (t, { post, sql }) => {
  const filters = { $some: { uses: { on: { x: 'x' }, filters: { a: { $lte: 5 } } } } }
  const data = { a: { $inc: 10 } }
  t.match((await post('parts', { verb: 'update', data, filters, dryRun: true })).json, { data: { updated: 2 } })
  t.match((await post('parts', { verb: 'update', data, filters, expect: 2 })).json, { data: { updated: 2 } })
  t.match((await post('parts', {
    verb: 'update', data, filters: { $some: { uses: { on: { x: 'x' }, filters: { a: { $lte: 15 } } } } }
  })).json, { data: { updated: 2 } })
  await sql('update parts set a = id')
  const { json } = await post('parts', {
    verb: 'update', data: { a: { $inc: 10 } }, filters, returning: ['id', 'a'], expect: 2
  })
  t.same(json.data, { rows: [{ id: 1, a: 11 }, { id: 2, a: 12 }], updated: 2 })
})
