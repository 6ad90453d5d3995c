/** `include` beside `returning`: the members of the rows that a write returns, as they are after it. */
import t from 'tap'
import { type EngineName, onEachEngine, type Schema, sharedOnEachEngine, startService } from '../support/service.ts'

const schema: Schema = (engine) => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null auto_increment primary key'
  return [
    `create table customers (id ${id}, name varchar(20) not null)`,
    `create table orders (id ${id}, customer_id int, code varchar(10) unique, note varchar(20),
      foreign key (customer_id) references customers (id) on update cascade)`,
    'create table items (order_id int not null, line int not null, sku varchar(20) not null, at datetime, primary ' +
      'key (order_id, line), foreign key (order_id) references orders (id) on delete cascade)',
    'create index by_customer on orders (customer_id)',
    "insert into customers values (1, 'Ada'), (2, 'Bob')",
    "insert into orders values (1, 1, 'A', null), (2, 2, 'B', null), (3, null, 'C', null)",
    "insert into items values (1, 1, 'mug', '2020-01-01 00:00:00'), (1, 2, 'cup', '2100-01-01 00:00:00'), " +
      "(2, 1, 'pot', null)"
  ]
}

const customer = { table: 'customers', columns: ['name'] }
const items = { columns: ['line', 'sku'], orderBy: 'line DESC' }
const orders = { columns: ['id'] }

const test = sharedOnEachEngine(t, { schema })

await test('the rows of a write have members as those of a select', async (t, { post, operate }) => {
  const include = { customer, items, last: { ...items, table: 'items', as: 'object' } }
  const mug = { line: 1, sku: 'mug' }
  const cup = { line: 2, sku: 'cup' }
  const ada = { customer: { name: 'Ada' }, items: [cup, mug], last: cup }
  const bob = { customer: { name: 'Bob' }, items: [{ line: 1, sku: 'pot' }], last: { line: 1, sku: 'pot' } }
  const none = { customer: null, items: [], last: null }
  const writes: Array<[body: object, data: object]> = [
    [{ verb: 'insert', data: { customer_id: 2 } }, {
      rows: [{ id: 4, ...none, customer: { name: 'Bob' } }], inserted: 1, id: 4
    }],
    [{ verb: 'insert', data: [{ customer_id: 1 }, { code: 'D' }] }, {
      rows: [{ id: 5, ...none, customer: { name: 'Ada' } }, { id: 6, ...none }], inserted: 2, id: 5
    }],
    [{
      verb: 'insert', data: [{ code: 'B', note: 'x' }, { code: 'A', customer_id: 1 }], onConflict: { key: ['code'] }
    }, { rows: [{ id: 2, ...bob }, { id: 1, ...ada }], inserted: 0, updated: 1, unchanged: 1, id: null }],
    [{ verb: 'update', data: { note: 'y' }, filters: { id: 1 } }, { rows: [{ id: 1, ...ada }], updated: 1 }],
    [{ verb: 'update', data: { note: 'y' }, filters: { id: 99 } }, { rows: [], updated: 0 }],
    [{
      verb: 'update',
      key: ['id'],
      data: [{ id: 3, note: 'z' }, { id: 1, note: 'z' }, { id: 99, note: 'z' }],
      filters: {}
    }, { rows: [{ id: 3, ...none }, { id: 1, ...ada }], updated: 2 }],
    [{ verb: 'update', data: { customer_id: 2 }, filters: { id: 1 }, dryRun: true }, {
      rows: [{ id: 1, ...ada, customer: { name: 'Bob' } }], updated: 1, dryRun: true
    }],
    [{ verb: 'insert', data: { id: 90, customer_id: 2 }, dryRun: true }, {
      rows: [{ id: 90, ...none, customer: { name: 'Bob' } }], inserted: 1, id: 90, dryRun: true
    }],
    [{ verb: 'update', data: { id: 20 }, filters: { id: 3 } }, { rows: [{ id: 20, ...none }], updated: 1 }]
  ]
  for (const [body, data] of writes) {
    const { json } = await post('orders', { ...body, returning: ['id'], include })
    t.strictSame(json.data, data, JSON.stringify({ body, error: json.error }))
  }
  t.same(
    (await post('orders', { verb: 'select', columns: ['customer_id'], filters: { id: 1 } })).json.data.rows,
    [{ customer_id: 1 }], 'a dry run changes nothing'
  )
  const inner = {
    ...orders, include: { items: { ...items, limit: 1, include: { order: { table: 'orders', columns: ['note'] } } } }
  }
  t.strictSame(
    (await post('customers', {
      verb: 'update', data: { name: 'Eve' }, filters: { id: 1 }, returning: '*', include: { orders: inner }
    })).json.data.rows,
    [{ id: 1, name: 'Eve', orders: [{ id: 1, items: [{ ...cup, order: { note: 'z' } }] }, { id: 5, items: [] }] }],
    'on three levels'
  )
  const { json } = await operate([
    {
      table: 'orders',
      verb: 'insert',
      data: { id: 50, customer_id: 2 },
      returning: ['id'],
      include: { customer: { table: 'customers' } }
    },
    {
      table: 'items',
      verb: 'insert',
      data: [{ order_id: { $ref: '/0/rows/0/id' }, line: 1, sku: { $ref: '/0/rows/0/customer/name' } }],
      returning: ['sku'],
      include: {
        order: { table: 'orders', filters: { customer_id: { $ref: '/0/rows/0/customer/id' } }, columns: ['id'] }
      }
    }
  ])
  t.strictSame(json.data?.results, [{
    rows: [{ id: 50, customer: { id: 2, name: 'Bob' } }], inserted: 1, id: 50
  }, { rows: [{ sku: 'Bob', order: { id: 50 } }], inserted: 1, id: null }], JSON.stringify(json))
})

await test('members of many returned rows, and those that a moment selects', async (t, { post, statements }) => {
  const data = Array.from({ length: 320 }, (_, index) => ({ id: 1000 + index, customer_id: index % 3 === 0 ? 1 : 2 }))
  statements()
  const { json } = await post('orders', {
    verb: 'insert',
    data,
    returning: ['id'],
    include: {
      customer,
      all: { ...orders, table: 'orders', on: { customer_id: 'customer_id' }, limit: 2 },
      same: { table: 'orders', on: { id: 'id' }, as: 'list', columns: ['id'] }
    }
  })
  t.strictSame(json.data?.rows, data.map(({ id, customer_id: of }) => ({
    id, customer: { name: of === 1 ? 'Ada' : 'Bob' }, all: [{ id: of }, { id: of === 1 ? 1000 : 1001 }], same: [{ id }]
  })), JSON.stringify(json.error))
  t.ok(
    statements().filter((statement) => /union all/.test(statement)).length <= 4,
    'lists are read for 250 values at a time'
  )
  for (const body of [{ verb: 'update', filters: { id: 1 }, data: { note: 'x' } }, {
    verb: 'insert', data: { code: 'A' }, onConflict: { key: ['code'], set: [] }
  }]) {
    const past = { ...items, table: 'items', filters: { at: { $lte: { $now: true } } } }
    t.strictSame((await post('orders', {
      ...body,
      returning: ['id'],
      include: {
        past,
        some: {
          ...orders,
          table: 'orders',
          on: { id: 'id' },
          filters: { $some: { items: { filters: { at: { $gt: { $now: true } } } } } }
        }
      }
    })).json.data?.rows, [{ id: 1, past: [{ line: 1, sku: 'mug' }], some: { id: 1 } }])
  }
})

await test('a write whose members are too large for the answer is undone', async (t, { post, sql, url }) => {
  const before = await sql('select * from orders order by id')
  const small = await startService(t, url, { database: { resultLimit: 1000 } })
  await sql(
    `insert into items values ${Array.from({ length: 60 }, (_, line) => `(3, ${line}, 'something long', null)`).join()}`
  )
  t.match((await small.post('orders', {
    verb: 'update', filters: { id: 3 }, data: { note: 'no' }, returning: ['id'], include: { items: { limit: 1000 } }
  })).json.error, { code: 'RESULT_TOO_LARGE' })
  t.match((await small.post('orders', {
    verb: 'insert',
    data: { id: 7 },
    returning: ['id'],
    include: {
      all: { table: 'items', on: { id: 'line' }, filters: { order_id: 3 }, as: 'list' },
      items: { table: 'items', on: { customer_id: 'line' }, filters: { order_id: 3 } }
    }
  })).status, 200)
  await sql('delete from orders where id = 7')
  t.same(await sql('select * from orders order by id'), before)
})

/** A trigger of each engine: `body` is one statement. */
const trigger = (engine: EngineName, name: string, event: string, body: string): string =>
  `create trigger ${name} after ${event} on orders for each row ${engine === 'sqlite' ? `begin ${body}; end` : body}`

await onEachEngine(t, 'members are as triggers and cascades have left them', {
  schema: (engine) => [
    ...schema(engine),
    trigger(engine, 'on_insert', 'insert', "insert into items values (new.id, 1, 'by trigger', null)"),
    trigger(engine, 'on_update', 'update', "update items set sku = 'changed' where order_id = new.id")
  ]
}, async (t, { post, server }) => {
  const body = {
    verb: 'insert', data: [{ customer_id: 1 }, { customer_id: 2 }], returning: ['id'], include: { items, customer }
  }
  const made = [{ line: 1, sku: 'by trigger' }]
  t.strictSame((await post('orders', body)).json.data?.rows, [
    { id: 4, items: made, customer: { name: 'Ada' } }, { id: 5, items: made, customer: { name: 'Bob' } }
  ])
  t.strictSame((await post('orders', {
    verb: 'update', data: { note: 'x' }, filters: { id: 1 }, returning: ['note'], include: { items }
  })).json.data?.rows, [{ note: 'x', items: [{ line: 2, sku: 'changed' }, { line: 1, sku: 'changed' }] }])
  t.strictSame((await post('customers', {
    verb: 'update',
    data: { id: 9 },
    filters: { id: 2 },
    returning: ['id'],
    include: { orders: { columns: ['id', 'customer_id'] } }
  })).json.data?.rows, [{ id: 9, orders: [{ id: 2, customer_id: 9 }, { id: 5, customer_id: 9 }] }])
  const { rows } = await server.rows.execute({
    database: 'shop',
    table: 'orders',
    grant: { permissions: ['insert', 'select'] },
    body: { ...body, data: [{ customer_id: 1 }, {}] }
  } as never) as unknown as { rows: object[] }
  t.strictSame(
    rows, [{ id: 6, items: made, customer: { name: 'Ada' } }, { id: 7, items: made, customer: null }], 'in process'
  )
})

await test('members are read as they are now and stay locked, whatever the ' +
  'transaction has read before', async (t, { server, sql }) => {
  const grant = { permissions: ['select', 'update'] }
  await server.rows.transaction('shop', async (tx) => {
    t.same(
      (await tx.execute({ table: 'customers', grant, body: { verb: 'select', orderBy: 'id' } } as never)).rows[0].name,
      'Ada'
    )
    await sql("update customers set name = 'new' where id = 1")
    await sql("update items set sku = 'new' where order_id = 1")
    const { rows } = await tx.execute({
      table: 'orders',
      grant,
      body: {
        verb: 'update',
        data: { note: 'x' },
        filters: { id: 1 },
        returning: ['id'],
        include: {
          customer: { ...customer, include: { orders } }, items, last: { ...items, table: 'items', as: 'object' }
        }
      }
    } as never)
    t.strictSame(rows, [{
      id: 1,
      customer: { name: 'new', orders: [{ id: 1 }] },
      items: [{ line: 2, sku: 'new' }, { line: 1, sku: 'new' }],
      last: { line: 2, sku: 'new' }
    }])
    const free = async (from: string): Promise<unknown[]> => await sql(`select 1 from ${from} for update skip locked`)
    t.same([await free('customers where id = 1'), await free('items where order_id = 1')], [[], []])
    t.equal((await free('customers where id = 2')).length, 1)
  })
}, ['mariadb', 'mysql'])

const tree: Schema = () => [
  'create table nodes (id int primary key, parent_id int, n int not null default 0, foreign key (parent_id) ' +
    'references nodes (id))',
  'insert into nodes values (1, null, 0)',
  'insert into nodes values (2, 1, 0)',
  'insert into nodes values (3, 2, 0)',
  'update nodes set parent_id = 3 where id = 1'
]

await onEachEngine(t, 'writes of the same rows that return each other wait for each other, in whatever ' +
  'order they name them', {
  schema: tree, only: ['mariadb', 'mysql'], options: { requestLog: true }
}, async (t, { post, log }) => {
  const orders = [[1, 2, 3], [3, 2, 1], [2, 3, 1], [1, 3, 2], [3, 1, 2], [2, 1, 3]]
  const returned = {
    returning: ['id', 'n'], include: { parent: { table: 'nodes', on: { parent_id: 'id' }, columns: ['n'] } }
  }
  let n = 0
  const writes: Record<string, (ids: number[]) => object> = {
    'upserts of a list': (ids) => ({
      verb: 'insert', data: ids.map((id) => ({ id, n: ++n })), onConflict: { key: ['id'] }
    }),
    'updates of a list': (ids) => ({
      verb: 'update', key: ['id'], filters: {}, data: ids.map((id) => ({ id, n: ++n }))
    }),
    'updates by a filter': (ids) => ({ verb: 'update', filters: { id: ids }, data: { n: ++n } })
  }
  for (const [way, write] of Object.entries(writes)) {
    log.splice(0)
    const statuses = await Promise.all(Array.from({ length: 100 }, async (_, index) =>
      (await post('nodes', { ...write(orders[index % orders.length] as number[]), ...returned })).status))
    t.same(statuses.filter((status) => status !== 200), [], `${way}: none is refused`)
    t.same(log.filter((line) => line.includes('"retries"')), [], `${way}: none is a deadlock`)
  }
})
