/** What is refused of `include`: with which code, at which place, and what the message says instead. */
import t from 'tap'
import { onEachEngine, type Schema } from '../support/service.ts'

const schema: Schema = (engine) => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'
  const tables = [
    `create table customers (id ${id}, name varchar(20) not null, code varchar(10) ${engine === 'sqlite' ? 'collate nocase' : 'collate utf8mb4_bin'})`,
    `create table orders (id ${id}, customer_id int, billed_to int, code varchar(10), note text, ratio double, foreign key (customer_id) references customers (id), foreign key (billed_to) references customers (id))`,
    'create table items (order_id int not null, line int not null, sku varchar(10) not null, product_id int, primary key (order_id, line), foreign key (order_id) references orders (id))',
    `create table parents (id ${id}, parent_id int, foreign key (parent_id) references parents (id))`,
    'create view all_orders as select id, customer_id from orders'
  ]
  return tables
}

type Case = readonly [include: object, code: string, path: string, message: RegExp]

const cases: Case[] = [
  [{}, 'INVALID_BODY', '/include', /at least one member/],
  [{ '1st': { table: 'items' } }, 'INVALID_BODY', '/include/1st', /begins with a letter/],
  [{ items: [] }, 'INVALID_BODY', '/include/items', /must be an object/],
  [{ items: { where: {} } }, 'INVALID_BODY', '/include/items/where', /its fields are/],
  [{ items: { on: {} } }, 'INVALID_BODY', '/include/items/on', /columns/],
  [{ items: { limit: 0 } }, 'LIMIT_OUT_OF_RANGE', '/include/items/limit', /1 to 1000/],
  [{ items: { limit: 1001 } }, 'LIMIT_OUT_OF_RANGE', '/include/items/limit', /1 to 1000/],
  [{ items: { aggregates: { n: { $count: '*' } }, limit: 5 } }, 'INVALID_BODY', '/include/items/limit', /"aggregates"/],
  [{ items: { aggregates: { n: {} } } }, 'INVALID_BODY', '/include/items/aggregates/n', /function/],
  [{ note: { table: 'items' } }, 'INVALID_BODY', '/include/note', /another name/],
  [{ nothing: {} }, 'TABLE_NOT_FOUND', '/include/nothing', /"nothing"/],
  [{ items: { include: { x: { table: 'nothing' } } } }, 'TABLE_NOT_FOUND', '/include/items/include/x/table', /"nothing"/],
  [{ all_orders: {} }, 'INVALID_BODY', '/include/all_orders/table', /view/],
  [{ customer: { table: 'customers' } }, 'INVALID_BODY', '/include/customer', /(?=.*\{"customer_id":"id"\})(?=.*\{"billed_to":"id"\})/],
  [{ parents: {} }, 'INVALID_BODY', '/include/parents', /no foreign key/],
  [{ items: { on: { id: 'nothing' } } }, 'INVALID_BODY', '/include/items/on', /"items", which has no column "nothing"/],
  [{ items: { on: { nothing: 'order_id' } } }, 'INVALID_BODY', '/include/items/on', /"orders", which has no column "nothing"/],
  [{ items: { on: { id: 'sku' } } }, 'INVALID_BODY', '/include/items/on', /cannot relate/],
  [{ items: { on: { code: 'sku' } } }, 'INVALID_BODY', '/include/items/on', /begins with "sku"/],
  [{ items: { on: { id: 'product_id' } } }, 'INVALID_BODY', '/include/items/on', /begins with "product_id"/],
  [{ items: { on: { id: 'line' } } }, 'INVALID_BODY', '/include/items/on', /begins with "line"/],
  [{ others: { table: 'orders', on: { ratio: 'ratio' } } }, 'INVALID_BODY', '/include/others/on', /floating-point/],
  [{ coded: { table: 'customers', on: { code: 'code' } } }, 'INVALID_BODY', '/include/coded/on', /collation/],
  [{ customer: { table: 'customers', on: { customer_id: 'id' }, limit: 2 } }, 'INVALID_BODY', '/include/customer/limit', /one row at most/],
  [{ items: { filters: { line: 1 }, orderBy: 'sku' } }, 'INVALID_BODY', '/include/items/orderBy', /one row at most/],
  [{ items: { filters: { nothing: 1 } } }, 'COLUMN_NOT_FOUND', '/include/items/filters/nothing', /"nothing"/],
  [{ items: { filters: { line: 'x' } } }, 'INVALID_VALUE', '/include/items/filters/line', /"line"/],
  [{ items: { columns: ['nothing'] } }, 'COLUMN_NOT_FOUND', '/include/items/columns/0', /"nothing"/],
  [{ items: { orderBy: 'nothing' } }, 'COLUMN_NOT_FOUND', '/include/items/orderBy', /"nothing"/],
  [{ items: { aggregates: { n: { $sum: 'sku' } } } }, 'INVALID_VALUE', '/include/items/aggregates/n/$sum', /"sku"/],
  [{ items: { include: { order: { table: 'orders', include: { items: { include: { order: { table: 'orders' } } } } } } } }, 'INVALID_BODY', '/include/items/include/order/include/items/include', /3 levels/],
  [Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`m${index}`, { table: 'items' }])), 'INVALID_BODY', '/include/m10', /10 members/]
]

await onEachEngine(t, 'what is wrong with a member has its place', { schema }, async (t, { post, operate }) => {
  for (const [include, code, path, message] of cases) {
    const { json } = await post('orders', { verb: 'select', include })
    t.match({ code: json.error?.code, path: json.error?.details[0]?.path, message: json.error?.message }, { code, path, message }, JSON.stringify(include))
  }
  for (const more of [{ groupBy: ['id'] }, { aggregates: { n: { $count: '*' } } }]) t.match((await post('orders', { verb: 'select', include: { items: {} }, ...more })).json.error, { code: 'INVALID_BODY', details: [{ path: '/include' }] })
  t.match((await operate([{ table: 'orders', verb: 'select', lock: true, include: { items: {} } }])).json.error, { code: 'INVALID_BODY', details: [{ path: '/operations/0/include' }] })
  t.match((await operate([{ table: 'orders', verb: 'select', include: { nothing: {} } }])).json.error, { code: 'TABLE_NOT_FOUND', details: [{ path: '/operations/0/include/nothing' }] })
  t.match((await post('parents', { verb: 'select', include: { parent: { table: 'parents' } } })).json.error, { code: 'INVALID_BODY', message: /\{"parent_id":"id"\}, \{"id":"parent_id"\}/ }, 'a key of a table to itself counts as two')
  const levels = 20_000
  t.equal((await post('orders', `{"verb":"select","include":${'{"items":{"include":'.repeat(levels)}{"items":{}}${'}}'.repeat(levels)}}`)).status, 400)
})

await onEachEngine(t, 'a setting of 0 refuses members', { schema, options: { limits: { include: { levels: 0 } } } }, async (t, { post }) => {
  t.match((await post('orders', { verb: 'select', include: { items: {} } })).json.error, { code: 'INVALID_BODY', message: /limits\.include/ })
})
