/** Filters by related rows under grants: they tell nothing of columns and rows that the grant does not see. */
import t from 'tap'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { type Schema, sharedOnEachEngine } from '../support/service.ts'
import { outcomeOf, tokenFor } from './support.ts'

const schema: Schema = (engine) => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'
  return [
    `create table customers (id ${id}, tenant varchar(10) not null, name varchar(20) not null, secret varchar(20), city varchar(10))`,
    `create table orders (id ${id}, tenant varchar(10) not null, status varchar(10) not null, customer_id int, hidden_id int, foreign key (customer_id) references customers (id), foreign key (hidden_id) references customers (id))`,
    'create table items (tenant int not null, order_id int not null, line int not null, sku varchar(10) not null, primary key (tenant, order_id, line))',
    `create table notes (id ${id}, order_id int not null, text varchar(20))`, 'create index notes_of on notes (order_id)',
    `create table nulls (id ${id}, order_id int not null, kind varchar(5) not null)`, 'create index nulls_of on nulls (order_id)',
    "insert into customers values (1, 'a', 'Ada', 's1', 'X'), (2, 'b', 'Bob', 's2', 'A')",
    "insert into orders values (1, 'a', 'new', 1, 2), (2, 'a', 'new', 2, null), (3, 'b', 'new', 2, null), (4, 'a', 'new', null, null)",
    "insert into items values (1, 1, 1, 'A'), (2, 1, 1, 'B'), (1, 2, 1, 'C'), (2, 3, 1, 'D'), (2, 4, 1, 'E')",
    "insert into notes values (1, 1, 'x')", "insert into nulls values (1, 1, 'x')",
    CREATE[engine === 'sqlite' ? 'sqlite' : 'mysql']
  ]
}

const rows = { tenant: { $claim: '/tenant' } }
const orders = { columns: { select: ['id', 'customer_id', 'status'] }, rows }
const customers = { columns: { select: ['id', 'name', 'city'] }, rows }
const items = { columns: { select: ['order_id', 'line', 'sku'] }, rows: { tenant: { $claim: '/number' } } }
const tokens = [
  tokenFor('seller', { orders, customers, items, notes: { permissions: ['insert'] }, nulls: { rows: { kind: null } } }, { tenant: 'a', number: 1 }),
  tokenFor('clerk', { orders, customers: { rows: { tenant: { $claim: '/missing' } } } }, { tenant: 'a' }),
  tokenFor('writer', { orders: { permissions: ['update', 'delete'], rows }, items }, { tenant: 'a', number: 1 })
]
const on = { id: 'order_id' }

const test = sharedOnEachEngine(t, { schema, tokens })

await test('filters by related rows see the columns and rows of the grant', async (t, { post, operate }) => {
  const select = async (filters: object, token = 'seller', more: object = {}): Promise<any> => outcomeOf(await post('orders', { verb: 'select', columns: ['id'], orderBy: 'id', filters, ...more }, { token }))
  const ids = async (filters: object, token?: string): Promise<unknown> => {
    const found = await select(filters, token)
    return Array.isArray(found) ? found : found.rows.map(({ id }: { id: number }) => id)
  }
  const cases: Array<[filters: object, found: unknown]> = [
    [{ $some: { items: { on } } }, [1, 2]],
    [{ $none: { items: { on } } }, [4]],
    [{ $some: { items: { on, filters: { sku: 'B' } } } }, []],
    [{ $none: { items: { on, filters: { sku: { $in: ['B', 'E'] } } } } }, [1, 2, 4]],
    [{ $some: { customers: {} } }, [1]],
    [{ $none: { customers: {} } }, [2, 4]],
    [{ $none: { customers: { filters: { $some: { orders: {} } } } } }, [2, 4]],
    [{ $some: { customers: { filters: { secret: 's1' } } } }, [400, 'COLUMN_NOT_FOUND', '/filters/$some/customers/filters/secret']],
    [{ $some: { items: { on, filters: { tenant: 2 } } } }, [400, 'COLUMN_NOT_FOUND', '/filters/$some/items/filters/tenant']],
    [{ $some: { notes: {} } }, [403, 'PERMISSION_DENIED', '/filters/$some/notes']],
    [{ $none: { gone: {} } }, [404, 'TABLE_NOT_FOUND', '/filters/$none/gone']],
    [{ $some: { gone: {}, items: { on, filters: { tenant: 2 } }, notes: {} } }, [403, 'PERMISSION_DENIED', '/filters/$some/notes']],
    [{ nothing: 1, $some: { gone: {} } }, [404, 'TABLE_NOT_FOUND', '/filters/$some/gone']],
    // a rule that no row can satisfy
    [{ $some: { nulls: { on } } }, []],
    [{ $none: { nulls: { on } } }, [1, 2, 4]]
  ]
  for (const [filters, found] of cases) t.same(await ids(filters), found, JSON.stringify(filters))
  const hiddenNames: Array<[name: string, ask: (name: string) => object]> = [
    ['hidden_id', (name) => ({ $some: { customers: { on: { [name]: 'id' } } } })],
    ['secret', (name) => ({ $some: { customers: { on: { customer_id: name } } } })],
    ['tenant', (name) => ({ $some: { items: { on: { id: name } } } })],
    ['secret', (name) => ({ $none: { customers: { filters: { $or: [{ [name]: { $gt: 's1' } }] } } } })]
  ]
  for (const [name, ask] of hiddenNames) {
    const [known, unknown] = [await post('orders', { verb: 'select', filters: ask(name) }, { token: 'seller' }), await post('orders', { verb: 'select', filters: ask('nothing') }, { token: 'seller' })]
    t.equal(known.status, 400)
    t.equal(known.text.replaceAll(name, 'nothing'), unknown.text)
  }
  t.same(await ids({ $some: { customers: {} } }, 'clerk'), [403, 'PERMISSION_DENIED'])
  t.same((await post('orders', { verb: 'delete', filters: { $none: { nulls: { on } } }, dryRun: true }, { token: 'seller' })).json.data, { deleted: 3, dryRun: true }, 'a rule does not count as a filter, and is not folded')
  const hidden = await post('orders', { verb: 'select', filters: { $some: { unknown: {} } } }, { token: 'seller' })
  const keys = await post('orders', { verb: 'select', filters: { $some: { row_query_keys: {} } } }, { token: 'seller' })
  t.equal(keys.text.replaceAll('row_query_keys', 'unknown'), hidden.text)
  const total = await select({ $some: { items: { on } } }, 'seller', { after: null, limit: 1, total: true })
  t.same(total, { rows: [{ id: 1 }], count: 1, next: { id: 1 }, total: 2 })
  const { json } = await operate([{ table: 'orders', verb: 'select', filters: { $some: { notes: {} } } }, { table: 'gone', verb: 'select' }], { token: 'seller' })
  t.match(json.error, { code: 'PERMISSION_DENIED', details: [{ path: '/operations/0/filters/$some/notes' }] })
})

await test('an order by a member knows its columns and rows as the grant does', async (t, { post }) => {
  const include = { customer: { table: 'customers', columns: ['name'] } }
  const select = async (orderBy: unknown): Promise<any> => outcomeOf(await post('orders', { verb: 'select', columns: ['id'], orderBy, include }, { token: 'seller' }))
  // the city of order 2 is hidden: it would come before that of order 1
  t.same((await select('customer.city, id')).rows, [{ id: 2, customer: null }, { id: 4, customer: null }, { id: 1, customer: { name: 'Ada' } }])
  t.same((await select('customer.city DESC, id DESC')).rows.map(({ id }: { id: number }) => id), [1, 4, 2])
  for (const column of ['secret', 'tenant', 'nothing']) {
    t.same(await select(`customer.${column}`), [400, 'COLUMN_NOT_FOUND', '/orderBy'])
    t.same(await select([{ customer: { [column]: 'ASC' } }]), [400, 'COLUMN_NOT_FOUND', `/orderBy/0/customer/${column}`])
  }
})

await test('writes are under the rules of all tables, also when they are replayed', async (t, { post, sql }) => {
  const write = async (body: object, token: string, key?: string): Promise<any> => outcomeOf(await post('orders', body, { token, ...key !== undefined && { headers: { 'idempotency-key': key } } }))
  t.same(await write({ verb: 'update', data: { status: 'x' }, filters: { $some: { items: { on } } } }, 'writer'), { updated: 2 })
  t.same((await sql('select id from orders where status = \'x\' order by id')).map(({ id }) => id), [1, 2])
  t.same(await write({ verb: 'update', data: { status: 'y' }, filters: { $some: { customers: {} } } }, 'writer'), [404, 'TABLE_NOT_FOUND', '/filters/$some/customers'])
  t.same(await write({ verb: 'delete', filters: { $none: { items: { on, filters: { sku: 'E' } } } }, dryRun: true, returning: ['id'] }, 'seller'), { deleted: 3, dryRun: true, rows: [{ id: 1 }, { id: 2 }, { id: 4 }] })
  const body = { verb: 'update', data: { status: 'z' }, filters: { $some: { items: { on } } } }
  t.same(await write(body, 'seller', 'k1'), { updated: 2 })
  t.same(await write(body, 'seller', 'k1'), { updated: 2 })
  t.same((await sql("select id from orders where status = 'z' order by id")).map(({ id }) => id), [1, 2])
})

t.test('rules of a grant cannot have filters by related rows', async (t) => {
  const { createServer } = await import('../../src/server/server.ts')
  for (const rule of [{ $some: { items: {} } }, { $none: { items: { filters: {} } } }]) {
    const token = tokenFor('x', { orders: { rows: rule as never } })
    await t.rejects(createServer({ options: { databases: { shop: { url: 'sqlite::memory:' } }, tokens: [token] }, prefix: '/api', logLevel: 'silent' }).then(async ({ app }) => { await app.ready() }), /rows/, JSON.stringify(rule))
  }
})
