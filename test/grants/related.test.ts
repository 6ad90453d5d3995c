/**
 * Filters by related rows, members, operations and upserts under grants: each table is one that the grant sees, with
 * its own columns and rows.
 */
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import type { HostGrant } from '../../src/access/grant.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { onEachEngine, type Schema, sharedOnEachEngine } from '../support/service.ts'
import { ORDERS, outcomeOf, tenants, tokenFor, upsertById } from './support.ts'

const schema: Schema = (engine) => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'
  return [
    `create table customers (id ${id}, tenant varchar(10) not null, name varchar(20) not null, secret varchar(20), city varchar(10))`,
    `create table orders (id ${id}, tenant varchar(10) not null, status varchar(10) not null, customer_id int, hidden_id int, foreign key (customer_id) references customers (id), foreign key (hidden_id) references customers (id))`,
    'create index by_status on orders (status)',
    'create table items (tenant int not null, order_id int not null, line int not null, sku varchar(10) not null, ' +
      'primary key (tenant, order_id, line))',
    `create table notes (id ${id}, order_id int not null, text varchar(20))`,
    'create index notes_of on notes (order_id)',
    `create table nulls (id ${id}, order_id int not null, kind varchar(5) not null)`,
    'create index nulls_of on nulls (order_id)',
    'create view sold as select * from orders',
    "insert into customers values (1, 'a', 'Ada', 's1', 'X'), (2, 'b', 'Bob', 's2', 'A')",
    "insert into orders values (1, 'a', 'new', 1, 2), (2, 'a', 'new', 2, null), (3, 'b', 'new', 2, null), (4, 'a', " +
      "'new', null, null)",
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
  tokenFor(
    'seller',
    { orders, customers, items, sold: orders, notes: { permissions: ['insert'] }, nulls: { rows: { kind: null } } },
    { tenant: 'a', number: 1 }
  ),
  tokenFor('clerk', { orders, customers: { rows: { tenant: { $claim: '/missing' } } } }, { tenant: 'a' }),
  tokenFor('writer', { orders: { permissions: ['update', 'delete'], rows }, items }, { tenant: 'a', number: 1 })
]
const on = { id: 'order_id' }

const test = sharedOnEachEngine(t, { schema, tokens })

await test('filters by related rows see the columns and rows of the grant', async (t, { post, operate }) => {
  const select = async (filters: object, token = 'seller', more: object = {}): Promise<any> =>
    outcomeOf(await post('orders', { verb: 'select', columns: ['id'], orderBy: 'id', filters, ...more }, { token }))
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
    [{ $some: { customers: { filters: { secret: 's1' } } } }, [
      400, 'COLUMN_NOT_FOUND', '/filters/$some/customers/filters/secret'
    ]],
    [{ $some: { items: { on, filters: { tenant: 2 } } } }, [
      400, 'COLUMN_NOT_FOUND', '/filters/$some/items/filters/tenant'
    ]],
    [{ $some: { notes: {} } }, [403, 'PERMISSION_DENIED', '/filters/$some/notes']],
    [{ $none: { gone: {} } }, [404, 'TABLE_NOT_FOUND', '/filters/$none/gone']],
    [{ $some: { gone: {}, items: { on, filters: { tenant: 2 } }, notes: {} } }, [
      403, 'PERMISSION_DENIED', '/filters/$some/notes'
    ]],
    [{ nothing: 1, $some: { gone: {} } }, [404, 'TABLE_NOT_FOUND', '/filters/$some/gone']],
    [{ $some: { sold: { on: { customer_id: 'customer_id' } } } }, [1, 2]],
    [{ $some: { sold: { on: { id: 'id' }, filters: { id: { $in: [3, 4] } } } } }, [4]],
    [{ $none: { sold: { on: { customer_id: 'customer_id' }, filters: { id: 3 } } } }, [1, 2, 4]],
    [{ $some: { sold: { on: { id: 'id' }, filters: { hidden_id: 2 } } } }, [
      400, 'COLUMN_NOT_FOUND', '/filters/$some/sold/filters/hidden_id'
    ]],
    [{ $some: { sold: { on: { id: 'hidden_id' } } } }, [400, 'INVALID_BODY', '/filters/$some/sold/on']],
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
    const [known, unknown] = [
      await post('orders', { verb: 'select', filters: ask(name) }, { token: 'seller' }),
      await post('orders', { verb: 'select', filters: ask('nothing') }, { token: 'seller' })
    ]
    t.equal(known.status, 400)
    t.equal(known.text.replaceAll(name, 'nothing'), unknown.text)
  }
  t.same(await ids({ $some: { customers: {} } }, 'clerk'), [403, 'PERMISSION_DENIED'])
  t.same((await post('orders', { verb: 'delete', filters: { $none: { nulls: { on } } }, dryRun: true }, {
    token: 'seller'
  })).json.data, { deleted: 3, dryRun: true }, 'a rule does not count as a filter, and is not folded')
  const hidden = await post('orders', { verb: 'select', filters: { $some: { unknown: {} } } }, { token: 'seller' })
  const keys = await post('orders', { verb: 'select', filters: { $some: { row_query_keys: {} } } }, { token: 'seller' })
  t.equal(keys.text.replaceAll('row_query_keys', 'unknown'), hidden.text)
  const total = await select({ $some: { items: { on } } }, 'seller', { after: null, limit: 1, total: true })
  t.same(total, { rows: [{ id: 1 }], count: 1, next: { id: 1 }, total: 2 })
  const { json } = await operate(
    [{ table: 'orders', verb: 'select', filters: { $some: { notes: {} } } }, { table: 'gone', verb: 'select' }],
    { token: 'seller' }
  )
  t.match(json.error, { code: 'PERMISSION_DENIED', details: [{ path: '/operations/0/filters/$some/notes' }] })
})

await test('an order by a member knows its columns and rows as the grant does', async (t, { post }) => {
  const include = { customer: { table: 'customers', columns: ['name'] } }
  const select = async (orderBy: unknown): Promise<any> =>
    outcomeOf(await post('orders', { verb: 'select', columns: ['id'], orderBy, include }, { token: 'seller' }))
  // the city of order 2 is hidden: it would come before that of order 1
  t.same((await select('customer.city, id')).rows, [
    { id: 2, customer: null }, { id: 4, customer: null }, { id: 1, customer: { name: 'Ada' } }
  ])
  t.same((await select('customer.city DESC, id DESC')).rows.map(({ id }: { id: number }) => id), [1, 4, 2])
  const listed = async (orderBy: unknown): Promise<any> => outcomeOf(await post('orders', {
    verb: 'select',
    columns: ['id'],
    filters: { id: 1 },
    include: { all: { table: 'orders', on: { status: 'status' }, columns: ['id'], orderBy, include } }
  }, { token: 'seller' }))
  t.same(
    (await listed('customer.city, id')).rows[0].all,
    [{ id: 2, customer: null }, { id: 4, customer: null }, { id: 1, customer: { name: 'Ada' } }], 'also in a list'
  )
  t.same(await listed('customer.secret'), [400, 'COLUMN_NOT_FOUND', '/include/all/orderBy'])
  for (const column of ['secret', 'tenant', 'nothing']) {
    t.same(await select(`customer.${column}`), [400, 'COLUMN_NOT_FOUND', '/orderBy'])
    t.same(await select([{ customer: { [column]: 'ASC' } }]), [
      400, 'COLUMN_NOT_FOUND', `/orderBy/0/customer/${column}`
    ])
  }
})

await test('writes are under the rules of all tables, also when they are replayed', async (t, { post, sql }) => {
  const write = async (body: object, token: string, key?: string): Promise<any> =>
    outcomeOf(await post('orders', body, { token, ...key !== undefined && { headers: { 'idempotency-key': key } } }))
  t.same(await write({ verb: 'update', data: { status: 'x' }, filters: { $some: { items: { on } } } }, 'writer'), {
    updated: 2
  })
  t.same((await sql('select id from orders where status = \'x\' order by id')).map(({ id }) => id), [1, 2])
  t.same(await write({ verb: 'update', data: { status: 'y' }, filters: { $some: { customers: {} } } }, 'writer'), [
    404, 'TABLE_NOT_FOUND', '/filters/$some/customers'
  ])
  t.same(await write({
    verb: 'delete', filters: { $none: { items: { on, filters: { sku: 'E' } } } }, dryRun: true, returning: ['id']
  }, 'seller'), { deleted: 3, dryRun: true, rows: [{ id: 1 }, { id: 2 }, { id: 4 }] })
  const body = { verb: 'update', data: { status: 'z' }, filters: { $some: { items: { on } } } }
  t.same(await write(body, 'seller', 'k1'), { updated: 2 })
  t.same(await write(body, 'seller', 'k1'), { updated: 2 })
  t.same((await sql("select id from orders where status = 'z' order by id")).map(({ id }) => id), [1, 2])
})

t.test('rules of a grant cannot have filters by related rows', async (t) => {
  const { createServer } = await import('../../src/server/server.ts')
  for (const rule of [{ $some: { items: {} } }, { $none: { items: { filters: {} } } }]) {
    const token = tokenFor('x', { orders: { rows: rule as never } })
    await t.rejects(createServer({
      options: { databases: { shop: { url: 'sqlite::memory:' } }, tokens: [token] }, prefix: '/api', logLevel: 'silent'
    }).then(async ({ app }) => { await app.ready() }), /rows/, JSON.stringify(rule))
  }
})

const membersSchema: Schema = (engine) => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'
  return [
    `create table customers (id ${id}, tenant varchar(10) not null, name varchar(20) not null, secret varchar(20))`,
    `create table orders (id ${id}, tenant varchar(10) not null, customer_id int, hidden_id int, foreign key (customer_id) references customers (id), foreign key (hidden_id) references customers (id))`,
    'create table items (tenant int not null, order_id int not null, line int not null, sku varchar(10) not null, ' +
      'primary key (tenant, order_id, line))',
    `create table notes (id ${id}, order_id int not null, text varchar(20))`,
    'create index notes_of on notes (order_id)',
    'create view kept as select * from items',
    "insert into customers values (1, 'a', 'Ada', 's1'), (2, 'b', 'Bob', 's2')",
    "insert into orders values (1, 'a', 1, 2), (2, 'a', 2, null), (3, 'b', 2, null)",
    "insert into items values (1, 1, 1, 'A'), (2, 1, 1, 'B'), (1, 2, 1, 'C'), (2, 3, 1, 'D')",
    "insert into notes values (1, 1, 'x'), (2, 2, 'y')"
  ]
}

const membersOrders = { columns: { select: ['id', 'customer_id'] }, rows: { tenant: { $claim: '/tenant' } } }
const membersCustomers = { columns: { select: ['id', 'name'] }, rows: { tenant: { $claim: '/tenant' } } }
const membersTokens = [
  tokenFor('seller', {
    orders: membersOrders,
    customers: membersCustomers,
    items: { columns: { select: ['order_id', 'line', 'sku'] }, rows: { tenant: { $claim: '/number' } } },
    kept: { columns: { select: ['order_id', 'sku'] }, rows: { tenant: { $claim: '/number' } } },
    notes: { permissions: ['insert'] }
  }, { tenant: 'a', number: 1 }),
  tokenFor('clerk', { orders: membersOrders, customers: { rows: { tenant: { $claim: '/missing' } } } }, { tenant: 'a' })
]

await onEachEngine(t, 'a member shows the columns and rows that the grant ' +
  'sees of its table', { schema: membersSchema, tokens: membersTokens }, async (t, { post, operate }) => {
  const select = async (include: object, token = 'seller') =>
    (await post('orders', { verb: 'select', columns: ['id'], orderBy: 'id', include }, { token })).json
  t.strictSame((await select({
    customer: { table: 'customers' },
    customers: { as: 'list' },
    items: { on: { id: 'order_id' } },
    last: { table: 'items', on: { id: 'order_id' }, as: 'object', orderBy: 'sku DESC' },
    counts: { table: 'items', on: { id: 'order_id' }, aggregates: { n: { $count: '*' } } }
  })).data.rows, [
    {
      id: 1,
      customer: { id: 1, name: 'Ada' },
      customers: [
        { id: 1, name: 'Ada' }
      ],
      items: [{ order_id: 1, line: 1, sku: 'A' }],
      last: { order_id: 1, line: 1, sku: 'A' },
      counts: { n: 1 }
    },
    {
      id: 2,
      customer: null,
      customers: [],
      items: [
        { order_id: 2, line: 1, sku: 'C' }
      ],
      last: { order_id: 2, line: 1, sku: 'C' },
      counts: { n: 1 }
    }
  ], 'a foreign key with a hidden column is none, and an index may begin with a column that a rule holds equal')
  t.strictSame((await select({
    kept: { on: { id: 'order_id' } }, n: { table: 'kept', on: { id: 'order_id' }, aggregates: { n: { $count: '*' } } }
  })).data.rows, [
    { id: 1, kept: [{ order_id: 1, sku: 'A' }], n: { n: 1 } }, { id: 2, kept: [{ order_id: 2, sku: 'C' }], n: { n: 1 } }
  ], 'of a view')
  const refused: Array<[include: object, status: number, code: string, path: string]> = [
    [{ kept: { on: { id: 'tenant' } } }, 400, 'INVALID_BODY', '/include/kept/on'],
    [
      { kept: { on: { id: 'order_id' }, filters: { tenant: 2 } } }, 400, 'COLUMN_NOT_FOUND',
      '/include/kept/filters/tenant'
    ],
    [{ kept: { on: { id: 'order_id' }, orderBy: 'tenant' } }, 400, 'COLUMN_NOT_FOUND', '/include/kept/orderBy'],
    [{ customer: { table: 'customers', columns: ['secret'] } }, 400, 'COLUMN_NOT_FOUND', '/include/customer/columns/0'],
    [{ customer: { table: 'customers', on: { hidden_id: 'id' } } }, 400, 'INVALID_BODY', '/include/customer/on'],
    [{ items: { on: { id: 'tenant' } } }, 400, 'INVALID_BODY', '/include/items/on'],
    [
      { last: { table: 'items', on: { id: 'order_id' }, as: 'object', orderBy: 'tenant' } }, 400, 'COLUMN_NOT_FOUND',
      '/include/last/orderBy'
    ],
    [
      { customer: { table: 'customers', filters: { tenant: 'b' } } }, 400, 'COLUMN_NOT_FOUND',
      '/include/customer/filters/tenant'
    ],
    [{ notes: {} }, 403, 'PERMISSION_DENIED', '/include/notes'],
    [{ payments: {} }, 404, 'TABLE_NOT_FOUND', '/include/payments'],
    [{ items: { on: { id: 'order_id' }, filters: { line: 1 }, limit: 3 } }, 200, '', '']
  ]
  for (const [include, status, code, path] of refused) {
    const { json, status: sent } = await post('orders', { verb: 'select', include }, { token: 'seller' })
    t.match({
      status: sent,
      code: json.error?.code ??
      '',
      path: json.error?.details[0]?.path ?? ''
    }, { status, code, path }, JSON.stringify(include))
  }
  t.match(
    (await select({ gone: { table: 'gone' }, customer: { table: 'customers', columns: ['secret'] }, notes: {} })).error,
    { code: 'PERMISSION_DENIED', details: [{ path: '/include/notes' }] }, 'stage by stage'
  )
  t.match((await select({ customer: { table: 'customers', columns: ['secret'] }, gone: { table: 'gone' } })).error, {
    code: 'TABLE_NOT_FOUND', details: [{ path: '/include/gone/table' }]
  })
  t.match(
    (await select({ customer: { table: 'customers' } }, 'clerk')).error, { code: 'PERMISSION_DENIED' },
    'a claim of the other table is missing'
  )
  t.equal(
    (await select({ hidden: { table: 'unknown' } })).error.message.replace('unknown', ''),
    (await select({ hidden: { table: 'row_query' } })).error.message.replace('row_query', '')
  )
  const { json } = await operate([
    { table: 'orders', verb: 'select', columns: ['id'], include: { customer: { table: 'customers' } }, orderBy: 'id' },
    {
      table: 'orders',
      verb: 'select',
      columns: ['id'],
      include: {
        items: { on: { id: 'order_id' }, columns: ['sku'], filters: { line: { $ref: '/0/rows/0/customer/id' } } }
      },
      orderBy: 'id'
    }
  ], { token: 'seller' })
  t.same(
    json.data?.results[1].rows, [{ id: 1, items: [{ sku: 'A' }] }, { id: 2, items: [{ sku: 'C' }] }],
    JSON.stringify(json)
  )
  t.match((await operate(
    [{ table: 'orders', verb: 'select', include: { customer: { table: 'customers', columns: ['secret'] } } }],
    { token: 'seller' }
  )).json.error, { details: [{ path: '/operations/0/include/customer/columns/0' }] })
})

await onEachEngine(t, 'a write returns members as the grant sees them, and refuses those of other ' +
  'tables before it runs', { schema: membersSchema, tokens: membersTokens }, async (t, { post, operate, sql }) => {
  const write = async (body: object, token = 'seller'): Promise<unknown> =>
    outcomeOf(await post('orders', { returning: ['id'], ...body }, { token }))
  const update = { verb: 'update', filters: { id: 1 }, data: { customer_id: 1 } }
  const before = await sql('select * from orders order by id')
  const include = {
    customer: { table: 'customers' },
    items: { on: { id: 'order_id' } },
    last: {
      table: 'items', on: { id: 'order_id' }, as: 'object'
    }
  }
  t.same(await write({ ...update, include: { notes: {} } }), [403, 'PERMISSION_DENIED', '/include/notes'])
  t.same(await write({ ...update, include: { gone: {} } }), [404, 'TABLE_NOT_FOUND', '/include/gone'])
  t.same(await write({ ...update, include: { customer: { table: 'customers', columns: ['secret'] } } }), [
    400, 'COLUMN_NOT_FOUND', '/include/customer/columns/0'
  ])
  t.same(await write({ verb: 'insert', data: { id: 9 }, include: { notes: {} } }), [
    403, 'PERMISSION_DENIED', '/include/notes'
  ])
  t.same(
    await write({ ...update, include: { customer: include.customer } }, 'clerk'), [403, 'PERMISSION_DENIED'],
    'a claim of the other table is missing'
  )
  t.same(
    await write({ verb: 'insert', data: { id: 9, customer_id: 2 }, include }),
    [409, 'FOREIGN_KEY_VIOLATION', '/data/customer_id'], 'a customer that is hidden, as without members'
  )
  t.match((await operate([{ table: 'orders', ...update, returning: ['id'], include: { notes: {} } }], {
    token: 'seller'
  })).json.error, { code: 'PERMISSION_DENIED', details: [{ path: '/operations/0/include/notes' }] })
  t.same(await sql('select * from orders order by id'), before)
  const item = (id: number, sku: string) => ({ order_id: id, line: 1, sku })
  t.same(await write({ verb: 'update', filters: { id: [1, 2, 3] }, data: { id: { $inc: 0 } }, include }), {
    rows: [{
      id: 1, customer: { id: 1, name: 'Ada' }, items: [item(1, 'A')], last: item(1, 'A')
    }, { id: 2, customer: null, items: [item(2, 'C')], last: item(2, 'C') }],
    updated: 0
  })
  t.same(await write({ verb: 'insert', data: { id: 9, customer_id: 1 }, include }), {
    rows: [{ id: 9, customer: { id: 1, name: 'Ada' }, items: [], last: null }], inserted: 1, id: 9
  })
})

const operationsRows = { tenant: { $claim: '/tenant' } }
const columns = { select: ['id', 'status', 'total', 'sku', 'customer_id'] }
const tables = {
  orders: { columns, rows: { ...operationsRows, status: ['new', 'paid', 'done'] } }, customers: { rows: operationsRows }
}
const operationsSchema: Schema = (engine) => [
  ...(tenants as (name: string) => string[])(engine),
  ...(engine === 'sqlite' ? CREATE.sqlite : CREATE.mysql).split(';').map((sql) => sql.trim()).filter(
    (sql) => sql !== ''
  )
]

const operationsTokens = [
  tokenFor('acme', tables, { tenant: 'acme' }),
  tokenFor('reader', { orders: { ...tables.orders, permissions: ['select'] }, customers: {} }, { tenant: 'acme' })
]

const narrow = { select: ['id', 'status'], insert: ['status', 'sku'] }
const grants: Record<string, object> = {
  acme: { orders: { columns, rows: operationsRows } },
  zeta: { orders: { columns, rows: operationsRows } },
  narrow: { orders: { columns: narrow, rows: operationsRows } },
  parents: { orders: { columns, rows: operationsRows }, customers: { rows: operationsRows } },
  names: {
    orders: { columns, rows: operationsRows }, customers: { rows: operationsRows, columns: { select: ['id', 'name'] } }
  },
  reader: { orders: { columns, rows: operationsRows, permissions: ['select'] } }
}
const authenticate = (request: FastifyRequest): HostGrant => {
  const name = String(request.headers['x-grant'])
  return {
    name: 'caller',
    permissions: ['insert', 'select'],
    databases: { shop: grants[name] as any },
    claims: {
      tenant: name === 'zeta' ? 'zeta' : 'acme'
    }
  }
}

const testOperations = sharedOnEachEngine(t, {
  schema: operationsSchema, tokens: operationsTokens, options: { authenticate } as object
})

await testOperations('each operation is under its own rules', async (t, { operate, sql }) => {
  const before = await sql(ORDERS)
  const send = async (operations: object[], rest: object = {}, token = 'acme') => {
    const { status, json } = await operate({ operations, ...rest }, { token })
    return status === 200
      ? json.data.results
      : [
          status, json.error.code, json.error.details.map((detail: any) => detail.path)
        ]
  }
  const insert = { table: 'orders', verb: 'insert', data: { status: 'new' } }
  const foreign = { table: 'orders', verb: 'update', filters: { id: 4 }, data: { total: 1 } }
  const select = { table: 'customers', verb: 'select', filters: { id: 1 } }
  t.same(await send([foreign, { ...foreign, filters: { id: 99 } }]), [{ updated: 0 }, { updated: 0 }])
  t.match(await send([{ table: 'orders', verb: 'select', filters: { id: { $in: [4, 7] } }, lock: true }]), [
    { count: 0 }
  ])
  for (const customer of [3, 99]) {
    t.same(await send([insert, { ...insert, data: { status: 'new', customer_id: customer } }]), [
      409, 'FOREIGN_KEY_VIOLATION', ['/operations/1/data/customer_id']
    ])
  }
  t.same(await send([
    { ...select, filters: { id: 3 } }, { ...insert, data: { status: 'new', customer_id: { $ref: '/0/rows/0/id' } } }
  ]), [400, 'INVALID_VALUE', ['/operations/1/data/customer_id']])
  t.same(
    await send([select, { ...insert, data: { status: { $ref: '/0/rows/0/name' } } }]),
    [403, 'PERMISSION_DENIED', ['/operations/1']], 'a value that breaks a rule when it is known'
  )
  t.same(await send([insert, { ...insert, data: { status: 'open' } }]), [403, 'PERMISSION_DENIED', ['/operations/1']])
  t.same(
    await send([{ ...insert, data: { id: null, status: 'new' } }, { ...insert, data: { status: null } }]),
    [403, 'PERMISSION_DENIED', ['/operations/1']], 'what the database refuses comes last'
  )
  t.same(await send([select, insert], {}, 'reader'), [403, 'PERMISSION_DENIED', ['/operations/1']])
  t.same(await send([insert, { ...insert, data: { tenant: 'acme' } }]), [
    400, 'COLUMN_NOT_FOUND', ['/operations/1/data/tenant']
  ])
  t.same(await sql(ORDERS), before)
  t.match(await send([
    { ...select, filters: { id: 2 } }, { ...insert, data: { status: 'new', customer_id: { $ref: '/0/rows/0/id' } } }
  ]), [{ count: 1 }, { inserted: 1 }])
  t.match(await send([{ table: 'orders', verb: 'select', filters: { id: 1 } }, {
    ...foreign, filters: { id: 2 }, data: { status: { $ref: '/0/rows/0/status' } }
  }]), [{ count: 1 }, { updated: 1 }], 'a value that satisfies the rule')
})

await testOperations('an answer is repeated only to the grant that it was made for', async (t, { post, sql }) => {
  const send = async (name: string) => {
    const { status, json, headers } = await post('orders', { verb: 'insert', data: { status: 'new', sku: 'K' } }, {
      token: null, headers: { 'x-grant': name, 'idempotency-key': 'k' }
    })
    return [status, json.error?.code ?? json.data.inserted, headers['idempotency-replayed']]
  }
  t.same(await send('acme'), [200, 1, undefined])
  t.same(await send('acme'), [200, 1, 'true'])
  for (const name of ['zeta', 'narrow', 'parents']) {
    t.same(await send(name), [
      422, 'IDEMPOTENCY_KEY_REUSED', undefined
    ], name)
  }
  t.same(await send('reader'), [403, 'PERMISSION_DENIED', undefined])
  t.equal((await sql("select * from orders where sku = 'K'")).length, 1)
  await sql("delete from orders where sku = 'K'")
  const returned = async (name: string) => (await post('orders', {
    verb: 'insert',
    data: { status: 'new', sku: 'R', customer_id: 1 },
    returning: ['sku'],
    include: { customer: { table: 'customers' } }
  }, { token: null, headers: { 'x-grant': name, 'idempotency-key': 'r' } })).json
  const [first, again, other] = [await returned('parents'), await returned('parents'), await returned('names')]
  t.match(first.data?.rows, [{ sku: 'R', customer: { id: 1, tenant: 'acme', name: 'Ann' } }], JSON.stringify(first))
  t.same(again, first)
  t.equal(other.error?.code, 'IDEMPOTENCY_KEY_REUSED', 'a grant that sees less of a member is another one')
})

const upsertRows = { tenant: { $claim: '/tenant' } }
const upsertColumns = {
  select: ['id', 'status', 'total', 'secret', 'customer_id'],
  insert: ['id', 'status', 'total', 'secret', 'customer_id'],
  update: ['status', 'secret']
}

const upsertTokens = [
  tokenFor('acme', { orders: { rows: upsertRows }, customers: { rows: upsertRows } }, { tenant: 'acme' }),
  tokenFor('clerk', {
    orders: {
      columns: upsertColumns, rows: { ...upsertRows, status: ['new', 'paid', 'done'] }
    },
    customers: { rows: upsertRows }
  }, { tenant: 'acme' })
]

const testTenants = sharedOnEachEngine(t, { schema: tenants, tokens: upsertTokens })

await testTenants('an upsert does not reach a row outside of the rules', async (t, { post, sql }) => {
  const before = await sql(ORDERS)
  const send = async (token: string, data: object, onConflict?: object) => {
    const { status, json } = await post('orders', {
      verb: 'insert', data, ...(onConflict !== undefined && { onConflict })
    }, { token })
    return status === 200
      ? json.data
      : {
          status, code: json.error.code, paths: json.error.details.map((detail: any) => detail.path)
        }
  }
  const byId = { key: ['id'] }
  const violation = { status: 409, code: 'UNIQUE_VIOLATION', paths: ['/data/id'] }
  for (const id of [4, 7]) {
    t.same(await send('acme', { id, status: 'x' }), violation, 'an ordinary violation')
    for (const onConflict of [
      byId, { ...byId, set: [] }, { ...byId, set: ['status'] }, { ...byId, set: { status: 'x' } },
      { ...byId, set: { total: { $inc: 1 } } }
    ]) {
      t.same(await send('acme', { id, status: 'x' }, onConflict), violation, JSON.stringify(onConflict))
      t.same(
        await send('acme', [{ id: 1, status: 'x', secret: 'n1' }, { id, status: 'x', secret: 'n2' }], onConflict),
        { ...violation, paths: ['/data/1/id'] }, 'as one of a list'
      )
    }
  }
  t.same(
    await send('acme', { sku: 'X', total: 1, secret: 'n1' }, { key: ['tenant', 'sku'] }),
    { status: 409, code: 'UNIQUE_VIOLATION', paths: ['/data/tenant', '/data/sku'] }, 'ACME in the same place of the key'
  )
  t.same(await send('acme', { id: 1 }, { ...byId, set: { tenant: 'zeta' } }), {
    status: 403, code: 'PERMISSION_DENIED', paths: []
  })
  t.same(await send('acme', { id: 1, tenant: 'zeta' }, byId), { status: 403, code: 'PERMISSION_DENIED', paths: [] })
  t.same(
    await send('clerk', { id: 1, status: 'new', total: 1 }, byId),
    { status: 400, code: 'COLUMN_NOT_WRITABLE', paths: ['/data/total'] }, 'a column that update may not write'
  )
  t.same(
    await send('clerk', { id: 1, status: 'new' }, { key: ['tenant', 'sku'] }),
    { status: 400, code: 'INVALID_BODY', paths: ['/onConflict/key'] }, 'a key with a hidden column is none'
  )
  t.same(await send('clerk', { id: 1, status: 'new' }, { ...byId, set: { status: 'open' } }), {
    status: 403, code: 'PERMISSION_DENIED', paths: []
  })
  t.same(await send('clerk', { id: 1, status: 'open' }, byId), { status: 403, code: 'PERMISSION_DENIED', paths: [] })
  t.same(await send('acme', { id: 1, customer_id: 3 }, byId), {
    status: 409, code: 'FOREIGN_KEY_VIOLATION', paths: ['/data/customer_id']
  })
  t.same(await send('acme', { id: 1 }, { ...byId, set: { customer_id: 4 } }), {
    status: 409, code: 'FOREIGN_KEY_VIOLATION', paths: ['/data/customer_id']
  })
  t.same(await sql(ORDERS), before)

  t.match(await send('acme', { id: 1, status: 'x', customer_id: 2 }, byId), { inserted: 0, updated: 1, unchanged: 0 })
  t.match(await send('acme', { id: 1 }, { ...byId, set: [] }), { inserted: 0, updated: 0, unchanged: 1 })
  t.match(
    await send('acme', [{ sku: 'A', total: 5 }, { sku: 'N', total: 5, secret: 'n1' }], { key: ['sku', 'tenant'] }),
    { inserted: 1, updated: 1, unchanged: 0 }
  )
  t.match(await send('clerk', { id: 2, status: 'done' }, { ...byId, set: { status: 'new' } }), {
    inserted: 0, updated: 1, unchanged: 0, id: 2
  })
  t.match(await send('clerk', { id: 20, status: 'done', total: 9, secret: 'n2' }, { ...byId, set: ['status'] }), {
    inserted: 1, updated: 0, unchanged: 0, id: 20
  })
  t.same((await sql("select id, tenant, status, total, customer_id from orders where tenant = 'acme' and id not in " +
    '(3, 7) order by secret')).map((row) => ({ ...row, id: undefined })), [
    { id: undefined, tenant: 'acme', status: 'x', total: 5, customer_id: 2 },
    { id: undefined, tenant: 'acme', status: 'new', total: 20, customer_id: 2 },
    { id: undefined, tenant: 'acme', status: 'new', total: 5, customer_id: null },
    { id: undefined, tenant: 'acme', status: 'done', total: 9, customer_id: null }
  ])
  t.same((await sql(ORDERS)).slice(3, 7), before.slice(3), 'the rows of others are as they were')
})

await testTenants('every row of a list satisfies the rules', async (t, { post, sql }) => {
  const before = await sql(ORDERS)
  const send = async (token: string, data: object) => {
    const { status, json } = await post('orders', { verb: 'insert', data }, { token })
    return status === 200
      ? json.data
      : {
          status, code: json.error.code, paths: json.error.details.map((detail: any) => detail.path)
        }
  }
  const ok = { status: 'new', secret: 'n1' }
  t.match(await send('clerk', [ok, { status: 'open', secret: 'n2' }]), { status: 403, code: 'PERMISSION_DENIED' })
  t.match(
    await send('clerk', [ok, { secret: 'n2' }]), { status: 403, code: 'PERMISSION_DENIED' },
    'a column with a rule must be given'
  )
  t.match(await send('acme', [ok, { ...ok, secret: 'n2', tenant: 'zeta' }]), { status: 403, code: 'PERMISSION_DENIED' })
  const missing = await send('acme', [ok, { ...ok, secret: 'n2', customer_id: 99 }])
  t.match(missing, { status: 409, code: 'FOREIGN_KEY_VIOLATION', paths: ['/data/1/customer_id'] })
  for (const id of [3, 4]) t.same(await send('acme', [ok, { ...ok, secret: 'n2', customer_id: id }]), missing)
  t.same(await send('acme', [
    { ...ok, customer_id: 1 }, { ...ok, secret: 'n2', customer_id: 2 }, { ...ok, secret: 'n3', customer_id: 3 }
  ]), { ...missing, paths: ['/data/2/customer_id'] })
  t.same(await send('acme', [ok, { ...ok, customer_id: 3 }]), missing, 'whatever else is wrong')
  t.same(await send('acme', [ok, { ...ok, customer_id: 99 }]), missing)
  t.same(await sql(ORDERS), before)
  t.match(await send('acme', [{
    ...ok, customer_id: 1
  }, { ...ok, secret: 'n2', customer_id: 2 }, { secret: 'n3', customer_id: 2 }, { secret: 'n4' }]), { inserted: 4 })
  t.same((await sql('select distinct tenant from orders where id > 7')).map(({ tenant }) => tenant), ['acme'])
})

const withDefault: Schema = (engine) =>
  tenants(engine).map((statement) => statement.replace('customer_id bigint', 'customer_id bigint default 4'))

await onEachEngine(t, 'a default that refers to a row outside of the rules concerns new rows ' +
  'of an upsert only', { schema: withDefault, tokens: upsertTokens }, async (t, { engine, post, sql }) => {
  await sql('update orders set customer_id = 4 where id = 2')
  const send = async (data: object, set?: unknown) =>
    outcomeOf(await post('orders', upsertById(data, set), { token: 'acme' }))
  const hidden = [409, 'FOREIGN_KEY_VIOLATION', '/data/customer_id']
  // SQLite does not say which key a default breaks
  const byDefault = engine === 'sqlite' ? hidden.slice(0, 2) : hidden
  const inList = [409, 'FOREIGN_KEY_VIOLATION', engine === 'sqlite' ? '/data/1' : '/data/1/customer_id']
  for (const set of [undefined, ['status'], { status: 'x' }]) {
    for (const id of [1, 2]) {
      t.match(
        await send({ id, status: set === undefined ? 'y' : 'x' }, set), { inserted: 0, updated: 1, id },
        JSON.stringify([set, id])
      )
    }
    await sql("update orders set status = 'new' where id < 3")
    t.same(await send({ id: 4, status: 'x' }, set), byDefault, 'as where the row of the default is missing')
    t.same(await send({ id: 20, status: 'x' }, set), byDefault)
    t.same(await send([{ id: 1, status: 'x' }, { id: 20, status: 'x' }], set), inList)
  }
  t.match(await send({ id: 2, status: 'x' }, []), { unchanged: 1 })
  t.same(await send({ id: 1, status: 'x' }, ['customer_id']), byDefault, 'the default is written')
  t.same(await send({ id: 1, customer_id: 4 }), hidden)
  t.match(await send({ id: 20, customer_id: 1, secret: 'n1' }), { inserted: 1 })
  t.same(await sql('select id, status, customer_id from orders where id in (1, 2, 4, 20) order by id'), [
    { id: 1, status: 'new', customer_id: 1 }, { id: 2, status: 'new', customer_id: 4 },
    { id: 4, status: 'new', customer_id: 3 }, { id: 20, status: 'new', customer_id: 1 }
  ])
})
