/** Orders: where NULL stands. */
import t from 'tap'
import { tokenFor } from '../grants/support.ts'
import { plainId } from '../support/definitions.ts'
import { countReadRows } from '../support/read-rows.ts'
import { useEachEngine } from '../support/rotation.ts'
import { type EngineName, onEachEngine } from '../support/service.ts'

useEachEngine(t)

const ROWS = 2000
/** Numbers from 1, as a list of rows of VALUES. */
const rows = (write: (n: number) => string): string =>
  Array.from({ length: ROWS }, (_, index) => `(${write(index + 1)})`).join()

const schema = (engine: EngineName): string[] => {
  const id = plainId(engine)
  return [
    `create table owners (${id}, name varchar(10), rank_of int)`,
    "insert into owners values (1, 'b', 1), (2, null, 2), (3, 'a', null)",
    `create table tasks (${id}, owner_id int, due date, hours decimal(5,1), done int not null,
      foreign key (owner_id) references owners (id))`,
    'create index by_owner on tasks (owner_id, due)', 'create index by_due on tasks (due)',
    `insert into tasks values (1, 1, '2026-01-02', 1.5, 0), (2, 1, null, null, 1), (3, 2, '2026-01-01', 2, 0),
      (4, null, null, 1, 1), (5, 3, '2026-01-02', null, 0)`,
    `create table many (${id}, due int, key_of int not null)`, 'create index many_due on many (due)',
    `insert into many values ${rows((n) => `${n}, ${n % 4 === 0 ? 'null' : n}, ${n}`)}`,
    ...engine === 'sqlite' ? ['analyze'] : ['analyze table many']
  ]
}

await onEachEngine(t, 'NULLS FIRST and NULLS LAST', {
  schema
}, async (t, { engine, post, sql, statements }) => {
  const ids = async (table: string, body: object): Promise<unknown> => {
    const { json } = await post(table, { verb: 'select', ...table === 'tasks' && { columns: ['id'] }, ...body })
    return json.error === undefined
      ? json.data.rows.map((row: object) => Object.values(row)[0])
      : `${json.error.code} ${json.error.details[0]?.path}`
  }
  const owner = { include: { owner: { table: 'owners', columns: ['name'] } } }
  const n = { n: { $count: '*' }, sum: { $sum: 'hours' } }
  const table: Array<[table: string, body: object, ids: unknown]> = [
    ['tasks', { orderBy: 'due, id' }, [2, 4, 3, 1, 5]], [
      'tasks', { orderBy: 'due ASC NULLS FIRST, id' }, [2, 4, 3, 1, 5]
    ], ['tasks', { orderBy: 'due ASC NULLS LAST, id' }, [3, 1, 5, 2, 4]],
    ['tasks', { orderBy: 'due DESC NULLS LAST, id' }, [1, 5, 3, 2, 4]], [
      'tasks', { orderBy: 'due desc nulls first, id' }, [2, 4, 1, 5, 3]
    ], ['tasks', { orderBy: [{ due: 'DESC NULLS FIRST' }, { id: 'DESC' }] }, [4, 2, 5, 1, 3]],
    ['tasks', { orderBy: 'hours ASC NULLS LAST, due DESC NULLS FIRST, id' }, [4, 1, 3, 2, 5]],
    ['tasks', { orderBy: 'done DESC NULLS FIRST, id ASC NULLS LAST' }, [2, 4, 1, 3, 5]],
    ['tasks', { orderBy: 'due ASC NULLS LAST', limit: 2, offset: 2 }, [5, 2]],
    ['tasks', { orderBy: 'due DESC NULLS FIRST', limit: 2, offset: 1 }, [2, 5]],
    ['tasks', { orderBy: 'owner.name ASC NULLS LAST, id', ...owner }, [5, 1, 2, 3, 4]],
    ['tasks', { orderBy: [{ owner: { name: 'DESC NULLS FIRST' } }, { id: 'ASC' }], ...owner }, [3, 4, 1, 2, 5]],
    // a member that is one row may be missing, also where its column is NOT NULL
    ['tasks', { orderBy: 'owner.id ASC NULLS LAST, id', ...owner }, [1, 2, 3, 5, 4]],
    ['owners', { orderBy: 'tasks.sum ASC NULLS LAST', include: { tasks: { aggregates: n } } }, [1, 2, 3]], [
      'owners', { orderBy: [{ tasks: { sum: 'DESC NULLS FIRST' } }], include: { tasks: { aggregates: n } } }, [3, 2, 1]
    ], ['owners', {
      orderBy: 'tasks.n DESC NULLS FIRST', columns: ['id'], include: { tasks: { aggregates: n } }
    }, [1, 3, 2]],
    ['tasks', { columns: undefined, groupBy: ['due'], orderBy: 'due ASC NULLS LAST' }, [
      '2026-01-01', '2026-01-02', null
    ]], [
      'tasks', { columns: undefined, groupBy: ['owner_id'], aggregates: n, orderBy: 'sum DESC NULLS FIRST, owner_id' },
      [3, 2, 1, null]
    ],
    ['tasks', {
      columns: undefined, groupBy: ['owner_id'], aggregates: n, orderBy: 'sum ASC NULLS LAST, owner_id DESC', offset: 0
    }, [null, 1, 2, 3]], [
      'tasks',
      {
        columns: undefined,
        groupBy: [{ month: { $month: 'due' } }],
        aggregates: n,
        orderBy: [{ month: 'ASC NULLS LAST' }]
      },
      ['2026-01', null]
    ],
    ['tasks', {
      columns: undefined,
      groupBy: [{ owner: { owner: 'name' } }],
      include: { owner: { table: 'owners' } },
      orderBy: 'owner ASC NULLS LAST'
    }, ['a', 'b', null]],
    ['tasks', { orderBy: 'due ASC NULLS LAST', after: null }, 'INVALID_ORDER_BY /orderBy'], [
      'tasks', { orderBy: 'id, due DESC NULLS FIRST', after: { id: 1, due: null } }, 'INVALID_ORDER_BY /orderBy'
    ], ['tasks', { orderBy: 'due DESC NULLS LAST, id ASC NULLS LAST', after: null }, [1, 5, 3, 2, 4]]
  ]
  for (const [name, body, expected] of table) t.same(await ids(name, body), expected, JSON.stringify(body))
  const lists = await post('owners', {
    verb: 'select',
    columns: ['id'],
    include: { tasks: { columns: ['id'], orderBy: 'due ASC NULLS LAST', limit: 1 } },
    orderBy: 'id'
  })
  t.same(lists.json.data.rows, [
    { id: 1, tasks: [{ id: 1 }] }, { id: 2, tasks: [{ id: 3 }] }, { id: 3, tasks: [{ id: 5 }] }
  ])
  const stream = await post('tasks', {
    verb: 'select', columns: ['id'], orderBy: 'due ASC NULLS LAST, id'
  }, { headers: { accept: 'text/csv' } })
  t.equal(stream.text, 'id\r\n3\r\n1\r\n5\r\n2\r\n4\r\n')
  if (engine === 'sqlite') return
  const read = async (orderBy: string): Promise<number> => {
    statements()
    t.equal((await post('many', { verb: 'select', columns: ['id', 'due'], orderBy, limit: 10 })).json.data.count, 10)
    const [statement = ''] = statements().filter((text) => text.includes('`many`'))
    return await countReadRows(sql, [statement])
  }
  for (const orderBy of ['due', 'due ASC NULLS FIRST', 'due DESC NULLS LAST']) {
    t.ok(await read(orderBy) <= 12, `an index has the order ${orderBy}`)
  }
  t.ok(await read('due ASC NULLS LAST') >= ROWS, 'the other one sorts every row')
})

const regions = (engine: EngineName): string[] => [
  'create table lands (id integer not null primary key, name varchar(10), secret int)',
  "insert into lands values (1, 'Peru', 2), (2, 'Chad', 1)",
  `create table customers (id integer not null primary key, name varchar(10), land_id int,
    foreign key (land_id) references lands (id))`,
  "insert into customers values (1, 'Ada', 1), (2, 'Bo', 2), (3, 'Cy', null)",
  `create table orders (id integer not null primary key, customer_id int,
    foreign key (customer_id) references customers (id))`,
  'insert into orders values (1, 1), (2, 2), (3, 3), (4, null), (5, 2)',
  ...engine === 'sqlite'
    ? ['create index by_customer on orders (customer_id)', 'create index by_land on customers (land_id)']
    : []
]
const SELLER = 'token-of-a-seller-that-sees-little-0123456789'
const sellers = [
  tokenFor(SELLER, { orders: {}, customers: {}, lands: { columns: { select: ['id', 'name'] }, rows: { id: 1 } } })
]

await onEachEngine(t, 'orders through members of members', {
  schema: regions, tokens: sellers
}, async (t, { post }) => {
  const land = { table: 'lands', columns: ['name'] }
  const include = { customer: { table: 'customers', columns: ['name'], include: { land } } }
  const ids = async (orderBy: unknown, more: object = {}, options: object = {}, table = 'orders'): Promise<unknown> => {
    const { json } = await post(table, { verb: 'select', columns: ['id'], orderBy, include, ...more }, options)
    return json.error === undefined
      ? json.data.rows.map(({ id }: { id: number }) => id)
      : `${json.error.code} ${json.error.details[0]?.path}`
  }
  t.same(await ids('customer.land.name DESC, id'), [1, 2, 5, 3, 4])
  t.same(await ids([{ customer: { land: { name: 'DESC' } } }, { id: 'DESC' }]), [1, 5, 2, 4, 3])
  t.same(await ids('customer.land.name ASC NULLS LAST, customer.name DESC NULLS FIRST, id'), [2, 5, 1, 4, 3])
  t.same(await ids('customer.land.name, id', { offset: 2, limit: 2 }), [2, 5])
  t.same(
    (await post('customers', {
      verb: 'select',
      columns: ['id'],
      filters: { id: 2 },
      include: { orders: { columns: ['id'], orderBy: 'customer.land.name, id DESC', include } }
    })).json.data.rows,
    [{
      id: 2,
      orders: [{ id: 5, customer: { name: 'Bo', land: { name: 'Chad' } } }, {
        id: 2, customer: { name: 'Bo', land: { name: 'Chad' } }
      }]
    }]
  )
  const stream = await post('orders', {
    verb: 'select', columns: ['id'], orderBy: 'customer.land.name DESC, id', include, limit: 1
  }, { headers: { accept: 'application/x-ndjson' } })
  t.equal(stream.text, '{"id":1,"customer":{"name":"Ada","land":{"name":"Peru"}}}\n')
  t.equal(await ids('customer.land.secret', {}, { token: SELLER }), 'COLUMN_NOT_FOUND /orderBy')
  t.same(
    await ids('customer.land.name ASC NULLS LAST, id', {}, { token: SELLER }), [1, 2, 3, 4, 5],
    'a row that the grant does not see counts as none'
  )
})
