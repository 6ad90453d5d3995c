/** Updates and deletes of rows by the rows that are related to them: what they change, refuse and lock. */
import t from 'tap'
import { onEachEngine, type EngineName, type Schema, type Service } from '../support/service.ts'

const schema: Schema = (engine) => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'
  const trigger = (name: string, when: string, table: string, statement: string): string => `create trigger ${name} ${when} on ${table} for each row ${engine === 'sqlite' ? `begin ${statement}; end` : statement}`
  const routine = [
    `create table hidden_log (id ${engine === 'sqlite' ? id : 'int not null auto_increment primary key'}, order_id int)`, 'create index hidden_of on hidden_log (order_id)',
    ...engine === 'sqlite' ? [] : ['create procedure note_down (given int) insert into hidden_log (order_id) values (given)', 'create trigger orders_deleted after delete on orders for each row call note_down(old.id)']
  ]
  return [
    `create table orders (id ${id}, status varchar(10) not null, total int not null)`,
    'create table items (order_id int not null, line int not null, sku varchar(10) not null, primary key (order_id, line), foreign key (order_id) references orders (id) on delete cascade)',
    `create table log (id ${engine === 'sqlite' ? id : 'int not null auto_increment primary key'}, order_id int)`, 'create index log_of on log (order_id)',
    `create table deep (id ${engine === 'sqlite' ? id : 'int not null auto_increment primary key'}, order_id int)`, 'create index deep_of on deep (order_id)',
    trigger('orders_changed', 'after update', 'orders', 'insert into log (order_id) values (new.id)'),
    trigger('log_written', 'after insert', 'log', 'insert into deep (order_id) values (new.order_id)'),
    ...routine,
    "insert into orders values (1, 'new', 10), (2, 'new', 20), (3, 'new', 30), (4, 'new', 40)",
    "insert into items values (1, 1, 'A'), (1, 2, 'B'), (2, 1, 'A'), (3, 1, 'B')"
  ]
}

const A = { items: { filters: { sku: 'A' } } }
const on = { id: 'order_id' }

await onEachEngine(t, 'an update and a delete change the rows that their filters by related rows select', { schema }, async (t, { post, operate, sql }) => {
  const statuses = async (): Promise<string> => (await sql('select status from orders order by id')).map(({ status }) => status).join()
  const write = async (table: string, body: object): Promise<any> => (await post(table, body)).json
  const update = { verb: 'update', filters: { $some: A }, data: { status: 'a' } }
  t.same((await write('orders', { ...update, dryRun: true })).data, { updated: 2, dryRun: true })
  t.same((await write('orders', { ...update, expect: 1 })).error.code, 'EXPECTATION_FAILED')
  t.same((await write('orders', { ...update, expect: { $lte: 1 } })).error.code, 'EXPECTATION_FAILED')
  t.equal(await statuses(), 'new,new,new,new')
  t.same((await write('orders', update)).data, { updated: 2 })
  t.equal(await statuses(), 'a,a,new,new')
  t.same((await write('orders', { verb: 'update', filters: { $none: A }, data: { status: 'b' }, returning: ['id', 'status'], expect: 2 })).data, { updated: 2, rows: [{ id: 3, status: 'b' }, { id: 4, status: 'b' }] })
  t.same((await write('orders', { verb: 'update', filters: { $some: { items: { filters: { sku: { $in: [] } } } } }, data: { status: 'c' } })).data, { updated: 0 })
  t.same((await write('items', { verb: 'delete', filters: { $some: { orders: { filters: { status: 'b' } } } }, returning: '*' })).data, { deleted: 1, rows: [{ order_id: 3, line: 1, sku: 'B' }] })
  const done = await operate([
    { table: 'orders', verb: 'select', columns: ['id', 'status'], filters: { id: 4 } },
    { table: 'items', verb: 'update', filters: { $some: { orders: { filters: { status: { $ref: '/0/rows/0/status' } } } } }, data: { sku: 'C' } },
    { table: 'items', verb: 'update', filters: { $none: { orders: { filters: { status: { $ref: '/0/rows/0/status' } } } } }, data: { sku: 'C' }, expect: 3 }
  ])
  t.same(done.json.data?.results.slice(1), [{ updated: 0 }, { updated: 3 }], done.text)
  t.same((await write('orders', { verb: 'delete', filters: { $none: { items: {} } }, expect: { $lte: 5 } })).data, { deleted: 2 })
  t.equal(await statuses(), 'a,a')
})

const writes: Array<[table: string, body: object, code: string, path: string]> = [
  ['orders', { verb: 'update', filters: { $none: { items: { filters: { sku: { $in: [] } } } } } }, 'FILTERS_REQUIRED', '/filters'],
  ['orders', { verb: 'delete', filters: { $or: [{ id: 1 }, { $not: { $some: { items: { filters: { sku: { $in: [] } } } } } }] } }, 'FILTERS_REQUIRED', '/filters'],
  ['orders', { verb: 'update', filters: { $some: { orders: { on: { id: 'id' } } } } }, 'NOT_SUPPORTED', '/filters/$some/orders'],
  ['orders', { verb: 'delete', filters: { $or: [{ id: 1 }, { $none: { x: { table: 'orders', on: { id: 'id' } } } }] } }, 'NOT_SUPPORTED', '/filters/$or/1/$none/x/table'],
  ['orders', { verb: 'update', filters: { $some: { items: { filters: { $some: { orders: {} } } } } } }, 'NOT_SUPPORTED', '/filters/$some/items/filters/$some/orders'],
  ['orders', { verb: 'update', filters: { $some: { log: { on } } } }, 'NOT_SUPPORTED', '/filters/$some/log'],
  ['orders', { verb: 'update', filters: { $some: { items: { filters: { $none: { deep: { on: { order_id: 'order_id' } } } } } } } }, 'NOT_SUPPORTED', '/filters/$some/items/filters/$none/deep'],
  ['orders', { verb: 'update', filters: { $some: { orders: { on: { id: 'id' } } } }, returning: ['nothing'] }, 'COLUMN_NOT_FOUND', '/returning/0'],
  ['orders', { verb: 'delete', filters: { $some: { orders: { on: { id: 'id' } } } }, returning: ['nothing'] }, 'COLUMN_NOT_FOUND', '/returning/0'],
  ['orders', { verb: 'update', filters: { nothing: 1, $some: { orders: { on: { id: 'id' } } } } }, 'COLUMN_NOT_FOUND', '/filters/nothing'],
  ['orders', { verb: 'update', filters: { $some: { orders: { on: { id: 'id' } } } }, data: { nothing: 1 } }, 'COLUMN_NOT_FOUND', '/data/nothing']
]

await onEachEngine(t, 'what a write itself changes cannot select its rows', { schema }, async (t, { post, sql, engine }) => {
  for (const [table, body, code, path] of writes) {
    const { json } = await post(table, 'data' in body || (body as { verb: string }).verb === 'delete' ? body : { ...body, data: { status: 'x' } })
    t.match(json.error, { code, details: [{ path }] }, JSON.stringify(body))
  }
  t.same(await sql("select * from orders where status <> 'new'"), [])
  t.same((await post('log', { verb: 'update', filters: { $some: { orders: { on: { order_id: 'id' } } } }, data: { order_id: 1 } })).json.data, { updated: 0 }, 'a trigger of another event does not count')
  const { status, json } = await post('orders', { verb: 'delete', filters: { $none: { hidden_log: { on } } } })
  if (engine === 'sqlite') t.same(json.data, { deleted: 4 })
  else {
    t.equal(status, 422)
    t.match(json.error, { code: 'NOT_SUPPORTED', details: [{ path: '/filters' }] }, 'only the database knows what a routine writes')
    t.equal((await sql('select * from orders')).length, 4)
    t.same(await sql('select * from hidden_log'), [])
  }
})

/** Whether another session can lock a row at once. */
async function isFree ({ sql }: Service, row: string): Promise<boolean> {
  return await sql(`select 1 from ${row} for update nowait`).then(() => true, () => false)
}

const grant = { permissions: ['select', 'insert', 'update', 'delete'] } as const

await onEachEngine(t, 'the rows that filters find stay locked until the write ends, and are those of now', { schema, only: ['mariadb', 'mysql'] }, async (t, service) => {
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
  for (const [sku, body] of [['Y', { verb: 'select', columns: ['id'], lock: true }], ['Z', { verb: 'update', data: { total: 7 }, returning: ['id'] }]] as const) {
    await rows.transaction('shop', async (tx) => {
      await tx.execute({ table: 'items', body: { verb: 'select' }, grant })
      await sql(`insert into items values (4, ${sku === 'Y' ? 1 : 2}, '${sku}')`)
      t.match(await tx.execute({ table: 'orders', body: { ...body, filters: { $some: { items: { filters: { sku } } } } }, grant } as any), { rows: [{ id: 4 }] }, `${sku}: a row that came after the snapshot`)
    })
  }
})

/** Two kinds of writers at the same time: those who close orders without items, and those who add items to open orders. */
await onEachEngine(t, 'no order is closed that has items, whoever adds them meanwhile', {
  schema: (engine: EngineName) => [
    `create table orders (id ${engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'}, status varchar(10) not null)`,
    'create table items (order_id int not null, line int not null, primary key (order_id, line), foreign key (order_id) references orders (id))',
    ...Array.from({ length: 12 }, (_, index) => `insert into orders values (${index + 1}, 'open')`)
  ]
}, async (t, { post, operate, sql }) => {
  const ids = Array.from({ length: 12 }, (_, index) => index + 1)
  const closing = ids.map((id) => post('orders', { verb: 'update', filters: { id, $none: { items: {} } }, data: { status: 'closed' } }))
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

const cascading: Schema = (engine) => {
  const id = engine === 'sqlite' ? 'integer primary key' : 'int not null primary key'
  const trigger = (name: string, when: string, table: string): string => `create trigger ${name} ${when} on ${table} for each row ${engine === 'sqlite' ? `begin insert into ${name} (parent_id) values (1); end` : `insert into ${name} (parent_id) values (1)`}`
  return [
    `create table parents (id ${id}, code int not null unique)`,
    `create table children (id ${id}, parent_id int, foreign key (parent_id) references parents (id) on delete cascade)`,
    `create table loose (id ${id}, code int, foreign key (code) references parents (code) on delete set null on update cascade)`,
    ...['children_deleted', 'loose_updated', 'loose_deleted'].flatMap((name) => [`create table ${name} (id ${engine === 'sqlite' ? id : 'int not null auto_increment primary key'}, parent_id int)`, `create index ${name}_of on ${name} (parent_id)`]),
    trigger('children_deleted', 'after delete', 'children'), trigger('loose_updated', 'after update', 'loose'), trigger('loose_deleted', 'after delete', 'loose'),
    'insert into parents values (1, 1)', 'insert into children values (1, 1)', 'insert into loose values (1, 1)'
  ]
}

await onEachEngine(t, 'a trigger that a cascade fires was not seen, which SQLite has and servers have not', { schema: cascading }, async (t, { post, engine, sql }) => {
  for (const [body, tables] of [[{ verb: 'delete' }, ['children_deleted', 'loose_updated']], [{ verb: 'update', data: { code: 2 } }, ['loose_updated']]] as const) {
    for (const table of ['children_deleted', 'loose_updated', 'loose_deleted']) {
      const { json } = await post('parents', { ...body, filters: { $some: { [table]: { on: { id: 'parent_id' } } } } })
      if (engine === 'sqlite' && (tables as readonly string[]).includes(table)) t.match(json.error, { code: 'NOT_SUPPORTED', details: [{ path: `/filters/$some/${table}` }] }, `${body.verb} ${table}`)
      else t.same(json.data, body.verb === 'delete' ? { deleted: 0 } : { updated: 0 }, `${body.verb} ${table}`)
    }
  }
  t.same(await sql('select code from parents'), [{ code: 1 }])
})
