/** Members under grants: every table is one that the grant sees, with its own columns and rows. */
import t from 'tap'
import { onEachEngine, type Schema } from '../support/service.ts'
import { tokenFor } from './support.ts'

const schema: Schema = (engine) => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'
  return [
    `create table customers (id ${id}, tenant varchar(10) not null, name varchar(20) not null, secret varchar(20))`,
    `create table orders (id ${id}, tenant varchar(10) not null, customer_id int, hidden_id int, foreign key (customer_id) references customers (id), foreign key (hidden_id) references customers (id))`,
    'create table items (tenant int not null, order_id int not null, line int not null, sku varchar(10) not null, primary key (tenant, order_id, line))',
    `create table notes (id ${id}, order_id int not null, text varchar(20))`, 'create index notes_of on notes (order_id)',
    "insert into customers values (1, 'a', 'Ada', 's1'), (2, 'b', 'Bob', 's2')",
    "insert into orders values (1, 'a', 1, 2), (2, 'a', 2, null), (3, 'b', 2, null)",
    "insert into items values (1, 1, 1, 'A'), (2, 1, 1, 'B'), (1, 2, 1, 'C'), (2, 3, 1, 'D')",
    "insert into notes values (1, 1, 'x'), (2, 2, 'y')"
  ]
}

const orders = { columns: { select: ['id', 'customer_id'] }, rows: { tenant: { $claim: '/tenant' } } }
const customers = { columns: { select: ['id', 'name'] }, rows: { tenant: { $claim: '/tenant' } } }
const tokens = [
  tokenFor('seller', { orders, customers, items: { columns: { select: ['order_id', 'line', 'sku'] }, rows: { tenant: { $claim: '/number' } } }, notes: { permissions: ['insert'] } }, { tenant: 'a', number: 1 }),
  tokenFor('clerk', { orders, customers: { rows: { tenant: { $claim: '/missing' } } } }, { tenant: 'a' })
]

await onEachEngine(t, 'a member shows the columns and rows that the grant sees of its table', { schema, tokens }, async (t, { post, operate }) => {
  const select = async (include: object, token = 'seller') => (await post('orders', { verb: 'select', columns: ['id'], orderBy: 'id', include }, { token })).json
  t.strictSame((await select({ customer: { table: 'customers' }, items: { on: { id: 'order_id' } }, counts: { table: 'items', on: { id: 'order_id' }, aggregates: { n: { $count: '*' } } } })).data.rows, [
    { id: 1, customer: { id: 1, name: 'Ada' }, items: [{ order_id: 1, line: 1, sku: 'A' }], counts: { n: 1 } },
    { id: 2, customer: null, items: [{ order_id: 2, line: 1, sku: 'C' }], counts: { n: 1 } }
  ], 'a foreign key with a hidden column is none, and an index may begin with a column that a rule holds equal')
  const refused: Array<[include: object, status: number, code: string, path: string]> = [
    [{ customer: { table: 'customers', columns: ['secret'] } }, 400, 'COLUMN_NOT_FOUND', '/include/customer/columns/0'],
    [{ customer: { table: 'customers', on: { hidden_id: 'id' } } }, 400, 'INVALID_BODY', '/include/customer/on'],
    [{ items: { on: { id: 'tenant' } } }, 400, 'INVALID_BODY', '/include/items/on'],
    [{ customer: { table: 'customers', filters: { tenant: 'b' } } }, 400, 'COLUMN_NOT_FOUND', '/include/customer/filters/tenant'],
    [{ notes: {} }, 403, 'PERMISSION_DENIED', '/include/notes'],
    [{ payments: {} }, 404, 'TABLE_NOT_FOUND', '/include/payments'],
    [{ items: { on: { id: 'order_id' }, filters: { line: 1 }, limit: 3 } }, 200, '', '']
  ]
  for (const [include, status, code, path] of refused) {
    const { json, status: sent } = await post('orders', { verb: 'select', include }, { token: 'seller' })
    t.match({ status: sent, code: json.error?.code ?? '', path: json.error?.details[0]?.path ?? '' }, { status, code, path }, JSON.stringify(include))
  }
  t.match((await select({ gone: { table: 'gone' }, customer: { table: 'customers', columns: ['secret'] }, notes: {} })).error, { code: 'PERMISSION_DENIED', details: [{ path: '/include/notes' }] }, 'stage by stage')
  t.match((await select({ customer: { table: 'customers', columns: ['secret'] }, gone: { table: 'gone' } })).error, { code: 'TABLE_NOT_FOUND', details: [{ path: '/include/gone/table' }] })
  t.match((await select({ customer: { table: 'customers' } }, 'clerk')).error, { code: 'PERMISSION_DENIED' }, 'a claim of the other table is missing')
  t.equal((await select({ hidden: { table: 'unknown' } })).error.message.replace('unknown', ''), (await select({ hidden: { table: 'row_query' } })).error.message.replace('row_query', ''))
  const { json } = await operate([
    { table: 'orders', verb: 'select', columns: ['id'], include: { customer: { table: 'customers' } }, orderBy: 'id' },
    { table: 'orders', verb: 'select', columns: ['id'], include: { items: { on: { id: 'order_id' }, columns: ['sku'], filters: { line: { $ref: '/0/rows/0/customer/id' } } } }, orderBy: 'id' }
  ], { token: 'seller' })
  t.same(json.data?.results[1].rows, [{ id: 1, items: [{ sku: 'A' }] }, { id: 2, items: [{ sku: 'C' }] }], JSON.stringify(json))
  t.match((await operate([{ table: 'orders', verb: 'select', include: { customer: { table: 'customers', columns: ['secret'] } } }], { token: 'seller' })).json.error, { details: [{ path: '/operations/0/include/customer/columns/0' }] })
})
