/** What is refused of `$some` and `$none`: with which code, and at which place. */
import t from 'tap'
import { onEachEngine, type Schema } from '../support/service.ts'

const schema: Schema = (engine) => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'
  return [
    `create table customers (id ${id}, name varchar(20) not null)`,
    `create table orders (id ${id}, customer_id int, billed_to int, note varchar(10), foreign key (customer_id) references customers (id), foreign key (billed_to) references customers (id))`,
    'create table items (order_id int not null, line int not null, sku varchar(10) not null, primary key (order_id, line), foreign key (order_id) references orders (id))',
    'create view all_orders as select id, customer_id from orders',
    ...Array.from({ length: 11 }, (_, index) => `create table t${index} (id ${id})`),
    "insert into orders values (1, null, null, 'x')", "insert into items values (1, 1, 'A')"
  ]
}

const nested = (levels: number): object => levels === 0 ? {} : { $some: { items: { filters: levels === 1 ? {} : { $some: { orders: { filters: nested(levels - 2) } } } } } }
const many = (count: number, member: object): object => Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index}`, member]))

/** `path`: behind `/filters`. */
const cases: Array<[filters: object, code: string, path: string, message: RegExp]> = [
  [{ $some: {} }, 'INVALID_BODY', '/$some', /at least one member/],
  [{ $none: [] }, 'INVALID_BODY', '/$none', /at least one member/],
  [{ $some: null }, 'INVALID_BODY', '/$some', /at least one member/],
  [{ $or: [{ id: 1 }, { $not: { $none: 'items' } }] }, 'INVALID_BODY', '/$or/1/$not/$none', /at least one member/],
  [{ $some: { items: true } }, 'INVALID_BODY', '/$some/items', /must be an object/],
  [{ $some: { items: { where: {} } } }, 'INVALID_BODY', '/$some/items/where', /table, on, filters/],
  [{ $some: { items: { limit: 1 } } }, 'INVALID_BODY', '/$some/items/limit', /table, on, filters/],
  [{ $some: { items: { table: 5 } } }, 'INVALID_BODY', '/$some/items/table', /name of a table/],
  [{ $some: { items: { on: {} } } }, 'INVALID_BODY', '/$some/items/on', /columns/],
  [{ $some: { items: { on: { id: 1 } } } }, 'INVALID_BODY', '/$some/items/on/id', /columns/],
  [{ $some: { items: { filters: [] } } }, 'INVALID_BODY', '/$some/items/filters', /filters/],
  [{ $some: { items: { filters: { $some: {} } } } }, 'INVALID_BODY', '/$some/items/filters/$some', /at least one member/],
  [{ $some: { nothing: {} } }, 'TABLE_NOT_FOUND', '/$some/nothing', /"nothing"/],
  [{ $not: { $some: { x: { table: 'nothing' } } } }, 'TABLE_NOT_FOUND', '/$not/$some/x/table', /"nothing"/],
  [{ nothing: 1, $some: { nothing: {} } }, 'TABLE_NOT_FOUND', '/$some/nothing', /"nothing"/],
  [{ $some: { all_orders: { on: { id: 'id' } } } }, 'INVALID_BODY', '/$some/all_orders/table', /view/],
  [{ $some: { customers: {} } }, 'INVALID_BODY', '/$some/customers', /(?=.*\{"customer_id":"id"\})(?=.*\{"billed_to":"id"\})/],
  [{ $some: { t0: {} } }, 'INVALID_BODY', '/$some/t0', /no foreign key/],
  [{ $some: { items: { on: { note: 'order_id' } } } }, 'INVALID_BODY', '/$some/items/on', /cannot relate/],
  [{ $some: { items: { on: { id: 'line' } } } }, 'INVALID_BODY', '/$some/items/on', /begins with "line"/],
  [{ $some: { items: { filters: { nothing: 1 } } } }, 'COLUMN_NOT_FOUND', '/$some/items/filters/nothing', /"nothing"/],
  [{ $some: { items: { filters: { $or: [{ line: 'x' }] } } } }, 'INVALID_VALUE', '/$some/items/filters/$or/0/line', /"line"/],
  [nested(4), 'INVALID_BODY', '/$some/items/filters/$some/orders/filters/$some/items/filters/$some', /3 levels/],
  [{ $some: many(257, { table: 'items' }) }, 'INVALID_BODY', '/$some/m256', /256 conditions/],
  [{ $some: Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`t${index}`, { on: { id: 'id' } }])) }, 'INVALID_BODY', '/$some/t10', /10 different tables/],
  [{ id: { $some: { items: {} } } }, 'INVALID_BODY', '/id/$some', /not an operator/]
]

await onEachEngine(t, 'what is wrong with a filter by related rows has its place', { schema }, async (t, { post, operate }) => {
  const refusal = (json: any) => ({ code: json.error?.code, path: json.error?.details[0]?.path, message: json.error?.message })
  for (const [filters, code, path, message] of cases) {
    t.match(refusal((await post('orders', { verb: 'select', filters })).json), { code, path: `/filters${path}`, message }, JSON.stringify(filters))
    t.match(refusal((await post('orders', { verb: 'update', filters, data: { note: 'y' } })).json), { code, path: `/filters${path}`, message }, JSON.stringify(filters))
  }
  const [[filters, code, path]] = cases.slice(-7) as [typeof cases[number]]
  t.match(refusal((await post('items', { verb: 'select', include: { order: { table: 'orders', filters } } })).json), { code, path: `/include/order/filters${path}` })
  t.match(refusal((await post('items', { verb: 'select', include: { order: { table: 'orders', filters: { $some: {} } } } })).json), { code: 'INVALID_BODY', path: '/include/order/filters/$some' })
  const included = (inner: object, filters: object) => ({ verb: 'select', include: { order: { table: 'orders', include: { customer: { table: 'customers', on: { customer_id: 'id' }, filters: { $some: { orders: { on: { id: 'customer_id' }, filters: inner } } } } }, filters } } })
  t.equal((await post('items', included({}, nested(2)))).status, 200, 'levels of both together')
  t.match(refusal((await post('items', included(nested(1), {}))).json), { code: 'INVALID_BODY', path: '/include/order/include/customer/filters/$some/orders/filters/$some', message: /3 levels/ })
  t.match(refusal((await post('items', included({}, nested(3)))).json), { code: 'INVALID_BODY', path: '/include/order/filters/$some/items/filters/$some/orders/filters/$some', message: /3 levels/ })
  t.match(refusal((await operate([{ table: 'orders', verb: 'select', filters: { $some: { nothing: {} } } }])).json), { code: 'TABLE_NOT_FOUND', path: '/operations/0/filters/$some/nothing' })
  t.match(refusal((await operate([{ table: 'orders', verb: 'select' }, { table: 'orders', verb: 'select', filters: { $some: { items: { filters: { sku: { $ref: '/1/id' } } } } } }])).json), { code: 'INVALID_BODY', path: '/operations/1/filters/$some/items/filters/sku' })
  const some = { $some: { items: {} } }
  for (const [body, path] of [
    [{ groupBy: ['note'], having: some }, '/having/$some'],
    [{ aggregates: { n: { $count: '*', filters: some } } }, '/aggregates/n/filters/$some'],
    [{ include: { items: { aggregates: { n: { $count: '*', filters: { $not: { $none: 5 } } } } } } }, '/include/items/aggregates/n/filters/$not/$none']
  ] as const) {
    t.match(refusal((await post('orders', { verb: 'select', ...body })).json), { code: 'INVALID_BODY', path, message: /not allowed here/ }, path)
    t.match(refusal((await operate([{ table: 'orders', verb: 'select', ...body }])).json), { code: 'INVALID_BODY', path: `/operations/0${path}`, message: /not allowed here/ }, path)
  }
  t.equal((await post('orders', { verb: 'select', filters: nested(3) })).status, 200)
  t.equal((await post('orders', { verb: 'select', filters: { $some: many(256, { table: 'items' }) } })).json.data?.count, 1, 'as many as conditions are allowed')
  t.equal((await post('orders', { verb: 'update', data: { note: 'z' }, filters: { $none: many(120, { table: 'items', filters: { sku: 'B' } }) } })).json.data?.updated, 1)
  const depth = 20_000
  t.equal((await post('orders', `{"verb":"select","filters":${'{"$not":'.repeat(depth)}{"$some":{}}${'}'.repeat(depth + 1)}`)).status, 400)
  t.equal((await post('orders', `{"verb":"select","filters":${'{"$some":{"items":{"filters":'.repeat(depth)}{}${'}}}'.repeat(depth)}}`)).status, 400)
})

await onEachEngine(t, 'a setting of 0 levels refuses them', { schema, options: { limits: { include: { levels: 0 } } }, only: ['sqlite'] }, async (t, { post }) => {
  t.match((await post('orders', { verb: 'select', filters: { $some: { items: {} } } })).json.error, { code: 'INVALID_BODY', message: /limits\.include/ })
})
