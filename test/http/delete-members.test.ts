/** `include` beside `returning` of a delete: the members of each row as they were before it. */
import t from 'tap'
import { tokenFor } from '../grants/support.ts'
import { onEachEngine } from '../support/service.ts'

const schema = (): string[] => [
  'create table customers (id integer not null primary key, name varchar(10), secret varchar(10))',
  "insert into customers values (1, 'Ada', 's'), (2, 'Bo', 's')",
  `create table orders (id integer not null primary key, customer_id int, tenant int not null,
    foreign key (customer_id) references customers (id) on delete set null)`,
  'create index by_customer on orders (customer_id)', 'insert into orders values (1, 1, 1), (2, 1, 2), (3, null, 1)',
  'create table items (id integer not null primary key, order_id int not null, sku varchar(5), foreign key ' +
    '(order_id) references orders (id) on delete cascade)',
  'create index by_order on items (order_id)', "insert into items values (1, 1, 'a'), (2, 1, 'b'), (3, 2, 'c')",
  'create view seen as select * from items', 'create table keyless (customer_id int)',
  'insert into keyless values (1), (1)'
]
const SELLER = 'token-of-a-seller-with-rules-0123456789'
const tokens = [tokenFor(SELLER, {
  orders: { rows: { tenant: 1 } },
  items: { columns: { select: ['id', 'order_id'] } },
  customers: { columns: { select: ['id', 'name'] } }
})]

await onEachEngine(t, 'include beside returning of a delete', {
  schema, tokens
}, async (t, { post, operate, sql }) => {
  const include = {
    customer: { table: 'customers', columns: ['name'] }, items: { columns: ['sku'], orderBy: 'id DESC' }
  }
  const remove = (filters: object, more: object = {}, options: object = {}) => post('orders', {
    verb: 'delete', filters, returning: ['id'], include, ...more
  }, options)
  const all = (await remove({ id: { $lte: 3 } }, { dryRun: true })).json.data
  t.same({ ...all, rows: all.rows.sort((a: { id: number }, b: { id: number }) => a.id - b.id) }, {
    deleted: 3,
    rows: [{
      id: 1, customer: { name: 'Ada' }, items: [{ sku: 'b' }, { sku: 'a' }]
    }, { id: 2, customer: { name: 'Ada' }, items: [{ sku: 'c' }] }, { id: 3, customer: null, items: [] }],
    dryRun: true
  })
  t.same((await remove({ id: 2 }, {
    include: { customer: { table: 'customers', columns: ['id'], include: { orders: { columns: ['id'] } } } },
    dryRun: true
  })).json.data.rows, [{ id: 2, customer: { id: 1, orders: [{ id: 1 }, { id: 2 }] } }], 'the deleted row among them')
  t.same((await remove({ id: 99 })).json.data, { deleted: 0, rows: [] })
  t.same(
    (await post('keyless', {
      verb: 'delete',
      filters: { customer_id: 1 },
      returning: '*',
      include: { customer: { table: 'customers', on: { customer_id: 'id' }, columns: ['name'] } },
      dryRun: true
    })).json.data,
    {
      deleted: 2,
      rows: [{ customer_id: 1, customer: { name: 'Ada' } }, { customer_id: 1, customer: { name: 'Ada' } }],
      dryRun: true
    },
    'a table without a key'
  )

  t.same((await remove({ id: [1, 2] }, { include: { items: {} }, dryRun: true }, { token: SELLER })).json.data, {
    deleted: 1, rows: [{ id: 1, items: [{ id: 1, order_id: 1 }, { id: 2, order_id: 1 }] }], dryRun: true
  })

  const { json } = await operate({
    operations: [
      { table: 'orders', verb: 'delete', filters: { id: 1 }, returning: ['id'], include },
      { table: 'customers', verb: 'select', filters: { name: { $ref: '/0/rows/0/customer/name' } }, columns: ['id'] }
    ],
    dryRun: true
  })
  t.same(json.data?.results[1].rows, [{ id: 1 }], JSON.stringify(json))
  t.same(
    (await remove({ id: 1 })).json.data,
    { deleted: 1, rows: [{ id: 1, customer: { name: 'Ada' }, items: [{ sku: 'b' }, { sku: 'a' }] }] },
    'before the cascade'
  )
  t.same((await sql('select id from items')).map(({ id }) => Number(id)), [3])
})
