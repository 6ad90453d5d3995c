/** Foreign keys to a table with rules: only rows that satisfy them can be referred to. */
import t from 'tap'
import { onEachEngine, type Schema } from '../support/service.ts'
import { ORDERS, outcomeOf, tenants, tokenFor } from './support.ts'

const rows = { tenant: { $claim: '/tenant' } }

const tokens = [
  tokenFor('acme', { orders: { rows }, customers: { rows } }, { tenant: 'acme' }),
  tokenFor('blind', { orders: { columns: { select: ['id'], insert: ['customer_id', 'sku'] }, rows }, customers: { rows } }, { tenant: 'acme' }),
  tokenFor('child', { orders: {}, customers: { rows } }, { tenant: 'acme' }),
  tokenFor('other', { orders: { rows: { tenant: 'acme' } }, customers: { rows } }),
  tokenFor('broken', { orders: {}, customers: { rows: { nope: 1 } } }),
  tokenFor('free', { orders: { rows }, customers: {} }, { tenant: 'acme' })
]

await onEachEngine(t, 'a row outside of the rules cannot be referred to, like one that does not exist', { schema: tenants, tokens }, async (t, { post, sql }) => {
  const before = await sql(ORDERS)
  const send = async (token: string, body: object) => {
    const { status, json } = await post('orders', body, { token })
    return status === 200 ? json.data : { status, ...json.error }
  }
  const insert = (customer: unknown, rest = {}) => ({ verb: 'insert', data: { customer_id: customer, ...rest } })
  const update = (customer: unknown) => ({ verb: 'update', data: { customer_id: customer }, filters: { id: 1 } })
  for (const token of ['acme', 'child']) {
    const tenant = token === 'child' ? { tenant: 'acme' } : {}
    const missing = await send(token, insert(99, tenant))
    t.match(missing, { status: 409, code: 'FOREIGN_KEY_VIOLATION', details: [{ path: '/data/customer_id' }] })
    for (const id of [3, 4]) {
      t.same(await send(token, insert(id, tenant)), missing, `${token} inserts ${id}`)
      t.same(await send(token, update(id)), await send(token, update(99)), `${token} updates ${id}`)
      t.same(await send(token, insert(id, { ...tenant, secret: 'a1' })), missing, 'whatever else is wrong')
    }
    t.same(await send(token, insert(99, { ...tenant, secret: 'a1' })), missing)
    t.match(await send(token, insert(1, { ...tenant, secret: 'a1' })), { code: 'UNIQUE_VIOLATION' })
  }
  t.same((await send('blind', insert(3))).details, [], 'a hidden column')
  t.same(await send('blind', insert(3)), await send('blind', insert(99)))
  t.match(await send('broken', insert(1, { tenant: 'acme' })), { status: 409, code: 'FOREIGN_KEY_VIOLATION' }, 'no row satisfies a rule that does not apply')
  t.match(await send('other', insert(1)), { status: 403, code: 'PERMISSION_DENIED' }, 'claims that are needed for the other table')
  t.match(await send('acme', { verb: 'update', data: { customer_id: { $inc: 1 } }, filters: { id: 1 } }), { status: 403 }, 'a value that is not known before')
  t.same(await sql(ORDERS), before)
  t.match(await send('acme', insert(2, { secret: 'n1' })), { inserted: 1 })
  t.match(await send('acme', insert(null, { secret: 'n2' })), { inserted: 1 })
  t.match(await send('other', { verb: 'insert', data: { secret: 'n3' } }), { inserted: 1 }, 'no reference, no claims')
  t.same(await send('acme', update(2)), { updated: 1 })
  t.same(await send('acme', update(null)), { updated: 1 })
  t.match(await send('free', insert(3, { secret: 'n4' })), { inserted: 1 }, 'without rules for the other table')
})

/** The key to the same table, and one of two columns; SQLite keeps the names of a foreign key as they were written. */
const families: Schema = (engine) => [
  'create table parents (id integer primary key, tenant varchar(10) not null, unique (tenant, id))',
  `create table children (id integer primary key ${engine === 'sqlite' ? '' : 'auto_increment'}, tenant varchar(10) not null, parent_id int, boss int default 1, note varchar(20) unique,
    foreign key (TENANT, Parent_Id) references ${engine === 'sqlite' ? 'PARENTS' : 'parents'} (Tenant, ID), foreign key (BOSS) references ${engine === 'sqlite' ? 'Children' : 'children'} (ID))`,
  "insert into parents values (1, 'acme'), (2, 'zeta'), (3, 'zeta')",
  "insert into children values (1, 'acme', 1, null, 'a'), (2, 'zeta', 2, null, 'z')"
]
const family = { rows: { tenant: { $claim: '/tenant' } } }

await onEachEngine(t, 'a key of several columns and a key to the same table', {
  schema: families,
  tokens: [tokenFor('acme', { parents: family, children: family }, { tenant: 'acme' }), tokenFor('zeta', { parents: { rows: { id: [2, 3] } }, children: { rows: { id: { $gt: 1 } } } })]
}, async (t, { post, sql }) => {
  const before = await sql('select * from children order by id')
  const send = async (token: string, body: object) => outcomeOf(await post('children', body, { token }))
  const update = (data: object, id = 1) => ({ verb: 'update', data, filters: { id } })
  const violation = [409, 'FOREIGN_KEY_VIOLATION']
  for (const boss of [2, 99]) {
    t.same(await send('acme', { verb: 'insert', data: { boss } }), [...violation, '/data/boss'])
    t.same(await send('acme', { verb: 'insert', data: [{ boss: 1, note: 'b' }, { boss, note: 'c' }] }), [...violation, '/data/1/boss'])
    t.same(await send('acme', { verb: 'insert', data: [{ id: 50, note: 'a', boss }] }), [...violation, '/data/0/boss'], 'whatever else is wrong')
    t.same(await send('acme', update({ boss })), [...violation, '/data/boss'])
  }
  for (const id of [2, 9]) t.same(await send('acme', update({ parent_id: id })), [...violation, '/data/tenant', '/data/parent_id'], 'the other column has its value by a rule')
  t.same(await send('zeta', { verb: 'insert', data: { id: 20, tenant: 'zeta', note: 'y' } }), [...violation, '/data/boss'], 'a default refers to a row outside of the rules')
  t.same(await send('zeta', update({ parent_id: 3 }, 2)), [403, 'PERMISSION_DENIED'], 'a key of which a part is not known')
  t.same(await send('zeta', update({ boss: { $inc: 1 } }, 2)), [403, 'PERMISSION_DENIED'])
  t.same(await sql('select * from children order by id'), before)
  t.same(await send('zeta', update({ parent_id: 3, tenant: 'zeta' }, 2)), { updated: 1 })
  t.same(await send('zeta', update({ parent_id: null }, 2)), { updated: 1 })
  t.match(await send('acme', { verb: 'insert', data: [{ id: 60, note: 'b' }, { id: 61, boss: 60, note: 'c' }, { id: 62, boss: 62, note: 'd', parent_id: 1 }] }), { inserted: 3 }, 'a list that refers to itself')
  t.match(await send('acme', { verb: 'insert', data: [{ id: 70, note: 'e' }, { id: 71, boss: 70, note: 'e' }] }), [409, 'UNIQUE_VIOLATION'])
})
