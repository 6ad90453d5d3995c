/**
 * Writes that a key, a check, a trigger or the account of the database refuses: their codes, and what the details name.
 * Foreign keys that SQLite checks at COMMIT.
 */
import t, { type Test } from 'tap'
import type { RowQueryOptions } from '../../schemas/options.ts'
import type { OnWrite } from '../../src/index.ts'
import { tokenFor } from '../grants/support.ts'
import { isRefusal } from '../support/refusals.ts'
import { useEachEngine } from '../support/rotation.ts'
import {
  type Answer, onEachEngine, type Schema, type Service, sharedOnEachEngine, startService
} from '../support/service.ts'
import { shop } from '../support/shop.ts'

useEachEngine(t)

const { mysql, sqlite } = shop as { mysql: string[], sqlite: string[] }

/** Self-referencing keys, keys with odd names, and triggers that change other tables. */
const schema: Schema = (engine) => engine === 'sqlite'
  ? [
      ...sqlite,
      'create table staff (id integer primary key, boss integer null references staff (id), deputy integer null ' +
        'references staff (id), badge int null unique)',
      'insert into staff values (1, null, null, 7), (2, 1, null, 8)',
      'create table visits (id integer primary key, staff_id integer not null references staff (id) ' +
        'on delete restrict)',
      'create table "o\'dd.t" (id integer primary key, "a, b" int, "c.d" int, e varchar(50), constraint one ' +
        'unique ("a, b", "c.d"))',
      'create unique index "lo\'w" on "o\'dd.t" (lower(e))',
      'insert into visits values (1, 2)',
      'insert into "o\'dd.t" values (1, 1, 1, \'x\')',
      'create table defaults (id integer primary key, a int not null default (nullif(1, 1)))',
      'create table checked (id integer primary key, n int null)',
      'create table narrow (n int null) strict',
      "create trigger guard before insert on checked when new.n = 1 begin select raise(abort, 'the secret of " +
        "the trigger'); end",
      "create trigger guard2 before insert on checked when new.n = 2 begin insert into narrow (n) values ('a'); end",
      'create trigger guard3 before insert on checked when new.n = 3 begin insert into staff (id, badge) ' +
        'values (9, 7); end',
      'create trigger guard6 before insert on checked when new.n = 6 begin insert into staff (id) values (1); end',
      'create trigger guard7 before insert on checked when new.n = 7 begin delete from staff where id = 1; end',
      "create trigger guard8 before insert on checked when new.n = 8 begin select raise(abort, 'UNIQUE constraint " +
        "failed: checked.id'); end"
    ]
  : [
      ...mysql,
      `create table staff (id int not null primary key, boss int null, deputy int null, badge int null,
        unique key staff_badge (badge), constraint staff_boss foreign key (boss) references staff (id),
        constraint staff_deputy foreign key (deputy) references staff (id))`,
      'insert into staff values (1, null, null, 7), (2, 1, null, 8)',
      'create table visits (id int not null primary key, staff_id int not null, constraint visits_staff foreign key ' +
        '(staff_id) references staff (id) on delete restrict)',
      'create table `o\'dd.t` (id int not null primary key, `a, b` int, `c.d` int, e varchar(50), unique key ' +
        '`o\'ne.k` (`a, b`, `c.d`), unique key `lo\'w` (e))',
      'insert into visits values (1, 2)',
      'insert into `o\'dd.t` values (1, 1, 1, \'x\')',
      'create table defaults (id int not null auto_increment primary key, a int not null default ' +
        '(nullif(rand() * 0, 0)))',
      'create table checked (id int not null auto_increment primary key, n int null, small tinyint generated always ' +
        'as (n * 10) stored, l varchar(10) character set latin1 null, must int not null default 0)',
      `create trigger guard before insert on checked for each row begin
        if new.n = 1 then signal sqlstate '45000' set message_text = 'the secret of the trigger'; end if;
        if new.n = 2 then
          signal sqlstate '45000' set mysql_errno = 45, message_text = 'the secret of the trigger'; end if;
        if new.n = 3 then insert into staff (id, badge) values (9, 7); end if;
        if new.n = 6 then insert into staff (id) values (1); end if;
        if new.n = 7 then delete from staff where id = 1; end if;
        if new.n = 8 then signal sqlstate '45000' set
          mysql_errno = 1062, message_text = "Duplicate entry 'secret' for key 'PRIMARY'"; end if;
        if new.n = 4 then set new.must = null; end if;
        if new.n = 5 then
          signal sqlstate '22007' set mysql_errno = 9999, message_text = 'the secret of the trigger'; end if; end`,
      'create table people (id int not null primary key, boss int null, constraint `bo``ss\'s` foreign key (boss) ' +
        'references people (id))',
      'create table years (id int not null primary key) partition by range (id) (partition early ' +
        'values less than (10))',
      'create table endless (id int not null primary key, n int null)',
      'create trigger again after insert on endless for each row update endless set n = 1'
    ]

const servers = ['mariadb', 'mysql'] as const
/** The rows are kept: the database refuses nearly all that the tests send. */
const test = sharedOnEachEngine(t, { schema, keepsRows: true })

type Detail = [path: string, message: string]
type Case = [why: string, table: string, body: object, code: string, ...details: Detail[]]

async function refuseAll (t: Test, { post }: Pick<Service, 'post'>, status: number, cases: Case[]): Promise<void> {
  for (const [why, table, body, code, ...details] of cases) {
    const answer: Answer = await post(table, body)
    isRefusal(t, answer, { status, code, why })
    t.same(answer.json?.error?.details, details.map(([path, message]) => ({ path, message })), `${why}: the details`)
    t.notMatch(answer.text, /secret|ada@|grace@/, why)
  }
}

const insert = (data: unknown) => ({ verb: 'insert', data })
const update = (data: object, id: unknown = 1) => ({ verb: 'update', data, filters: { id } })
const remove = (id: number) => ({ verb: 'delete', filters: { id } })

await test('409 for a second row with a unique value, naming the key and its columns', async (t, service) => {
  const lite = service.engine === 'sqlite'
  const code = 'UNIQUE_VIOLATION'
  const email: Detail = [
    '/data/email', `unique key "${lite ? 'sqlite_autoindex_customers_email' : 'customers_email'}" on "email"`
  ]
  const odd = `unique key "${lite ? "sqlite_autoindex_o'dd.t_a, b_c.d" : "o'ne.k"}" on "a, b", "c.d"`
  const line = 'unique key "PRIMARY" on "order_id", "line"'
  const before = await service.sql('select * from customers order by id')
  await refuseAll(t, service, 409, [
    ['an insert', 'customers', insert({ name: 'x', email: 'ada@example.com' }), code, email],
    ['an update', 'customers', update({ email: 'ada@example.com' }, 3), code, email],
    ['an update of several rows to one value', 'customers', update({ email: 'x' }, { $gt: 2 }), code, email],
    ['a primary key', 'customers', insert({ id: 1, name: 'x', email: 'x' }), code, [
      '/data/id', 'unique key "PRIMARY" on "id"'
    ]],
    ['a key of two columns', 'order_items', insert({ order_id: 1, line: 1, product_sku: 'MUG-1', price: 1 }), code, [
      '/data/order_id', line
    ], ['/data/line', line]],
    ['a key with an odd name', "o'dd.t", insert({ id: 2, 'a, b': 1, 'c.d': 1 }), code, ['/data/a, b', odd], [
      '/data/c.d', odd
    ]]
  ])
  t.same(await service.sql('select * from customers order by id'), before)
})

await test('409 for a duplicate whose value looks like the end of an error message', async (t, service) => {
  const value = "' for key 'o'dd.t.o'ne.k'"
  t.equal((await service.post("o'dd.t", insert({ id: 2, e: value }))).status, 200)
  await refuseAll(t, service, 409, [
    [value, "o'dd.t", insert({ id: 3, e: value }), 'UNIQUE_VIOLATION', ['/data/e', 'unique key "lo\'w" on "e"']]
  ])
}, servers)

await test('409 does not name a key of another table that a trigger wrote to, although MariaDB reports only ' +
  'the name of the key', async (t, service) => {
  await refuseAll(t, service, 409, [
    ['a trigger', 'checked', insert({ n: 3 }), 'UNIQUE_VIOLATION'],
    ['a trigger, a key of the same name', 'checked', insert({ n: 6 }), 'UNIQUE_VIOLATION'],
    ['rows that refer to one that a trigger deletes', 'checked', insert({ n: 7 }), 'FOREIGN_KEY_VIOLATION']
  ])
  await refuseAll(t, service, 422, [
    ['an exception that looks like a key', 'checked', insert({ n: 8 }), 'CHECK_VIOLATION']
  ])
})

await test('a reference to a missing row is distinguished from a row that other rows reference', async (t, service) => {
  const lite = service.engine === 'sqlite'
  const key = (name: string, column: string, referred: string, table = name.split('_')[0]): Detail => [
    `/data/${column}`, `foreign key "${lite ? `${table}_${column}` : name}" on "${column}" refers to ${referred}`
  ]
  const [customer, boss, deputy] = [
    key('orders_customer', 'customer_id', '"id" of "customers"'), key('staff_boss', 'boss', '"id" of "staff"'),
    key('staff_deputy', 'deputy', '"id" of "staff"')
  ]
  const [product, order] = [
    key('items_product', 'product_sku', '"sku" of "products"', 'order_items'),
    key('items_order', 'order_id', '"id" of "orders"', 'order_items')
  ]
  // SQLite does not report which key it was: the message names the only one, or those that the catalog has
  const referenced = (table: string, column: string, name: string, others: string): Detail => ['', lite
    ? `other rows refer to this one; keys that may: ${others}`
    : `rows of "${table}" refer to this one by "${column}" (foreign key "${name}")`]
  const byOrders: Detail = [
    '', `rows of "orders" refer to this one by "customer_id" (foreign key "orders_customer${lite ? '_id' : ''}")`
  ]
  const ofStaff = '"deputy" of "staff", "boss" of "staff", "staff_id" of "visits"'
  const [byBoss, byVisits] = [
    referenced('staff', 'boss', 'staff_boss', ofStaff), referenced('visits', 'staff_id', 'visits_staff', ofStaff)
  ]
  const code = 'FOREIGN_KEY_VIOLATION'
  const item = insert({ order_id: 99, line: 1, product_sku: 'MUG-1', price: 1 })
  await refuseAll(t, service, 409, [
    ['an insert', 'orders', insert({ customer_id: 99 }), code, customer],
    ['an update', 'orders', update({ customer_id: 99, note: 'x' }), code, customer],
    ['an update of every row found', 'orders', update({ customer_id: 99 }, [1, 2]), code, customer],
    ['one key of two, the other null', 'staff', insert({ id: 3, boss: null, deputy: 99 }), code, deputy],
    ['one key of two, the other left out', 'staff', update({ boss: 99 }, 2), code, boss],
    // SQLite does not report which foreign key was violated
    ['one key of two, the other right', 'order_items', item, code, ...lite ? [product, order] : [order]],
    ['a delete of a row that others refer to', 'customers', remove(1), code, byOrders],
    ['a change of what others refer to', 'customers', update({ id: 77 }), code, byOrders],
    ['a delete of a row that its own table refers to', 'staff', remove(1), code, byBoss],
    ['a change of what its own table refers to', 'staff', update({ id: 77 }), code, byBoss],
    ['a delete that the key restricts', 'staff', remove(2), code, byVisits]
  ])
  t.match(await service.sql('select (select count(*) from customers) as customers, (select count(*) from staff) as ' +
    'staff, (select count(*) from orders where customer_id = 1) as orders'), [{ customers: 4, staff: 2, orders: 1 }])
})

await test('422 for values that only the database can check', async (t, service) => {
  const cases: Case[] = [
    ['a check of the table', 'customers', update({ credit: '-500.00' }), 'CHECK_VIOLATION',
      service.engine === 'sqlite'
        ? ['', 'check constraint "credit_floor"']
        : ['/data/credit', 'check constraint "credit_floor" on "credit"']],
    ['a default that is null', 'defaults', insert({}), 'NOT_NULL_VIOLATION'],
    ['an exception of a trigger', 'checked', insert({ n: 1 }), 'CHECK_VIOLATION'],
    ['an exception with a number of its own', 'checked', insert({ n: 2 }),
      service.engine === 'sqlite' ? 'VALUE_OUT_OF_RANGE' : 'CHECK_VIOLATION']
  ]
  if (service.engine !== 'sqlite') {
    const out = 'VALUE_OUT_OF_RANGE'
    cases.push(
      ['null from a trigger', 'checked', insert({ n: 4 }), 'NOT_NULL_VIOLATION'],
      ['an exception about a value, with a number that nobody knows', 'checked', insert({ n: 5 }), out],
      ['a character that the column has none for', 'checked', insert({ l: '😀' }), out],
      ['an update to such a character', 'checked', update({ l: '名' }), out, ['/data/l', 'column "l"']],
      ['a computed column that overflows', 'checked', insert({ n: 100 }), out]
    )
    await service.post('checked', insert({ id: 1, n: 0 }))
  }
  await refuseAll(t, service, 422, cases)
  t.match(await service.sql('select (select count(*) from checked where id <> 1) as checked, (select count(*) from ' +
    'defaults) as defaults, (select min(credit) from customers) as credit'), [{ checked: 0, defaults: 0, credit: -3 }])
})

await test('403 if the database account lacks a privilege', async (t, { url, sql }) => {
  const [{ name }] = await sql('select database() as name') as [{ name: string }]
  await sql('create user ? identified by ?', [name, 'word'])
  t.teardown(() => sql('drop user ?', [name]))
  await sql(`grant select, insert (email, name) on ${name}.customers to ?`, [name])
  const { post } = await startService(t, Object.assign(new URL(url), { username: name, password: 'word' }).href)
  t.equal((await post('customers', { verb: 'select' })).status, 200)
  for (const body of [remove(4), update({ name: 'x' }, 4), insert({ email: 'x', name: 'x', note: 'x' })]) {
    const answer = await post('customers', body)
    t.same([answer.status, answer.json.error.code], [403, 'PERMISSION_DENIED'], body.verb)
    t.equal(answer.json.error.message, 'The service\'s database account may not do this on "customers"')
  }
}, servers)

await test('a foreign key with a backtick in its name, a row without a partition and a trigger that cannot run ' +
  'have distinct errors', async (t, service) => {
  await refuseAll(t, service, 409, [['a backtick', 'people', insert({ id: 1, boss: 2 }), 'FOREIGN_KEY_VIOLATION', [
    '/data/boss', 'foreign key "bo`ss\'s" on "boss" refers to "id" of "people"'
  ]]])
  await refuseAll(t, service, 422, [
    ['no partition', 'years', insert({ id: 10 }), 'CHECK_VIOLATION'],
    ['a trigger on its own table', 'endless', insert({ id: 1 }), 'CHECK_VIOLATION']
  ])
  t.match(await service.sql('select (select count(*) from people) + (select count(*) from years) + (select count(*) ' +
    'from endless) as count'), [{ count: 0 }])
}, servers)

const deferred = 'deferrable initially deferred'
const deferredTables = {
  sqlite: [
    'create table customers (id integer primary key)',
    'create table shops (id integer primary key)',
    `create table orders (
      id integer primary key, shop_id integer references shops ${deferred},
      customer_id integer references customers ${deferred}, parent_id integer references orders ${deferred},
      note text)`,
    'insert into customers values (1)',
    'insert into shops values (1)',
    'insert into orders (id, shop_id) values (1, 1)',
    `create table log (id integer primary key, order_id integer references orders ${deferred})`
  ],
  mysql: []
}
const STRANGER = 'a-token-that-does-not-see-customers'
const tokens = [tokenFor(STRANGER, {
  orders: { columns: { select: ['id', 'shop_id'], insert: ['id', 'shop_id', 'customer_id'] } }
})]

const customer = {
  path: '/data/customer_id', message: 'foreign key "orders_customer_id" on "customer_id" refers to "id" of "customers"'
}
const refused = (...details: object[]) => ({ status: 409, json: { error: { code: 'FOREIGN_KEY_VIOLATION', details } } })
const inOperation = (index: number, { path, message }: typeof customer) => ({
  path: `/operations/${index}${path}`, message
})
const testDeferred = sharedOnEachEngine(t, { schema: deferredTables, only: ['sqlite'], tokens })

await testDeferred('the error of COMMIT names the key that it refused, and ' +
  'a dry run finds it', async (t, { post, sql }) => {
  const keep = async () => sql('select * from orders')
  const before = await keep()
  for (const dryRun of [false, true]) {
    const send = async (body: object, token?: string) =>
      await post('orders', { ...body, dryRun }, token === undefined ? {} : { token })
    t.match(await send(insert({ shop_id: 1, customer_id: 9 })), refused(customer))
    t.same((await send(insert({ shop_id: 1, customer_id: 9 }))).json.error.details, [customer])
    t.match(await send({ verb: 'update', data: { shop_id: 1, customer_id: 9 }, filters: { id: 1 } }), refused(customer))
    t.same(
      (await send(insert({ id: 5, shop_id: 1, customer_id: 9 }), STRANGER)).json.error.details, [],
      'a hidden column is not named'
    )
    t.match(await send(insert({ id: 5, parent_id: 5, customer_id: 9 })), refused(customer), 'a row may refer to itself')
    t.match(await send({ ...insert([{ id: 5, shop_id: 1 }, { id: 6, parent_id: 5, customer_id: 9 }]) }), {
      status: 409
    })
    t.same(await keep(), before)
    t.match(await send(insert({ id: 5, parent_id: 5, customer_id: 1 })), { status: 200 })
    if (!dryRun) await sql('delete from orders where id = 5')
  }
  t.match(
    await post('orders', insert([{ id: 5, parent_id: 1, customer_id: 1 }, { id: 6, parent_id: 5, customer_id: 9 }])),
    refused({ ...customer, path: '/data/1/customer_id' })
  )
  for (const dryRun of [false, true]) {
    t.same((await post('customers', { verb: 'delete', filters: { id: 1 }, dryRun })).status, 200)
  }
  await sql('insert into customers values (1)')
  for (const dryRun of [true, false]) {
    t.match(
      await post('shops', { verb: 'delete', filters: { id: 1 }, dryRun }),
      refused({ path: '', message: 'rows of "orders" refer to this one by "shop_id" (foreign key "orders_shop_id")' })
    )
  }
  t.same(await keep(), before)
})

await testDeferred('the error of COMMIT names the operation of the key', async (t, { operate, sql }) => {
  const bad = { table: 'orders', ...insert({ id: 7, shop_id: 1, customer_id: 9 }) }
  const good = { table: 'orders', ...insert({ id: 8, shop_id: 1, customer_id: 1 }) }
  for (const dryRun of [false, true]) {
    const send = (...operations: object[]) => operate({ operations, dryRun })
    t.same((await send(good, bad, { table: 'shops', verb: 'select', lock: true }, {
      ...good, data: { shop_id: 1 }
    })).json.error.details, [inOperation(1, customer)])
    t.same((await send(bad, good, { table: 'orders', verb: 'update', data: { customer_id: 1 }, filters: { id: 7 } }, {
      table: 'shops', verb: 'delete', filters: { id: 1 }
    })).json.error.details, [], 'the first one is cured, the last one is not certain')
    t.match(await send(bad, { table: 'customers', ...insert({ id: 9 }) }, {
      table: 'orders', verb: 'delete', filters: { id: 7 }
    }, { table: 'customers', verb: 'delete', filters: { id: 9 } }), { status: 200 })
    t.match(await send(good, { table: 'orders', ...insert([{ shop_id: 1 }, { customer_id: 9 }]) }), refused({
      path: '/operations/1', message: customer.message
    }))
  }
  t.same(await sql('select id from orders'), [{ id: 1 }])
})

const logs: OnWrite = async ({ tx }) => {
  await tx.execute({ table: 'log', body: insert({ order_id: 99 }), grant: { permissions: ['insert'] } })
}

await onEachEngine(t, 'the key of a write of a hook that COMMIT refuses is not told to the client', {
  schema: deferredTables, only: ['sqlite'], options: { onWrite: logs } as Partial<RowQueryOptions>
}, async (t, { post, operate, server: { rows }, sql }) => {
  const good = insert({ shop_id: 1 })
  for (const dryRun of [false, true]) {
    t.same((await post('orders', { ...good, dryRun })).json.error, {
      code: 'FOREIGN_KEY_VIOLATION', message: 'A foreign key does not allow this change', details: []
    })
    t.same((await operate({ operations: [{ table: 'orders', ...good }], dryRun })).json.error.details, [])
    await t.rejects(rows.transaction(
      'shop', (tx) => tx.execute({ table: 'orders', body: good, grant: { permissions: ['insert'] } }), { dryRun }
    ), { code: 'FOREIGN_KEY_VIOLATION', details: [] })
  }
  t.same(await sql('select id from orders'), [{ id: 1 }])
})
