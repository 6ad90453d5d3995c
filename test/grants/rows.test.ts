/**
 * Rules on rows: a row outside of them is not there, and cannot be written, also where the database computes values,
 * leaves rows out or compares otherwise than the column. What the rules make of a body, or refuse it for, is in
 * test/plan/bodies/grants.txt.
 */
import t, { type Test } from 'tap'
import { statementCache } from '../../src/sql/statement-cache.ts'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { type EngineName, onEachEngine, type Schema, startService, sharedOnEachEngine } from '../support/service.ts'
import { numberedId, trigger } from '../support/definitions.ts'
import { createUser } from '../support/users.ts'
import { ORDERS, outcomeOf, tenants, tokenFor } from './support.ts'

const claim = { tenant: { $claim: '/tenant' } }
const columns = { select: ['id', 'status', 'total', 'sku', 'customer_id'] }

const tokens = [
  tokenFor('acme', { orders: { columns, rows: claim }, customers: { rows: claim } }, { tenant: 'acme' }),
  tokenFor('zeta', { orders: { columns, rows: claim }, customers: { rows: claim } }, { tenant: 'zeta' }),
  tokenFor('open', { orders: { rows: { ...claim, status: ['new', 'paid'], total: { $gte: 5, $lt: 100 } } } }, {
    tenant: 'acme'
  }),
  tokenFor('broken', { orders: { rows: { nope: 1 } }, customers: {} })
]

const testTenants = sharedOnEachEngine(t, { schema: tenants, tokens })

await testTenants('a row outside of the rules is not there', async (t, { post, sql }) => {
  const before = await sql(ORDERS)
  const as = (token: string) => async (body: object) => {
    const { status, json } = await post('orders', body, { token })
    return status === 200 ? json.data : [status, json.error.code]
  }
  const acme = as('acme')
  t.match(await acme({ verb: 'select', columns: ['id'], orderBy: 'id' }), {
    rows: [{ id: 1 }, { id: 2 }, { id: 3 }], count: 3
  })
  t.match(
    await as('zeta')({ verb: 'select', columns: ['id'], orderBy: 'id' }),
    { rows: [{ id: 4 }, { id: 5 }, { id: 6 }], count: 3 }, 'the same statement with other values'
  )
  t.match(
    await acme({ verb: 'select', filters: { $or: [{ id: 4 }, { id: { $gt: 0 } }] } }), { count: 3 },
    'an $or does not lead out'
  )
  t.match(await acme({ verb: 'select', filters: { $not: { id: 1 } } }), { count: 2 })
  t.match(await acme({ verb: 'select', filters: { id: 7 } }), { count: 0 }, 'texts are compared to the letter')
  t.match(await as('open')({ verb: 'select', columns: ['id'], orderBy: 'id' }), { rows: [{ id: 1 }, { id: 2 }] })
  for (const id of [4, 7]) {
    t.same(await acme({ verb: 'update', filters: { id }, data: { status: 'x' } }), { updated: 0 })
    t.same(await acme({ verb: 'delete', filters: { id } }), { deleted: 0 })
  }
  t.same(await acme({ verb: 'delete', filters: {} }), [400, 'FILTERS_REQUIRED'], 'a rule is not a filter')
  t.same(await sql(ORDERS), before)
  t.same(await acme({ verb: 'update', filters: { id: { $gte: 0 } }, data: { status: 'x' } }), { updated: 3 })
  t.same((await sql(ORDERS)).map(({ status }) => status), ['x', 'x', 'x', 'new', 'paid', 'done', 'new'])
  t.same(await acme({ verb: 'delete', filters: { id: { $gte: 0 } } }), { deleted: 3 })
  t.same((await sql(ORDERS)).map(({ id }) => Number(id)), [4, 5, 6, 7])
})

await testTenants('a row that is written satisfies the rules', async (t, { post, sql }) => {
  const as = (token: string) => async (body: object) => outcomeOf(await post('orders', body, { token }))
  const [acme, open] = [as('acme'), as('open')]
  const before = await sql(ORDERS)
  const denied = [403, 'PERMISSION_DENIED']
  t.same(await open({ verb: 'insert', data: { status: 'done', total: 5 } }), denied)
  t.same(await open({ verb: 'update', data: { status: 'New' }, filters: { id: 1 } }), denied)
  t.same(await sql(ORDERS), before)
  t.match(await open({ verb: 'insert', data: { status: 'new', total: 5, tenant: 'acme', secret: 'o1' } }), {
    inserted: 1, id: 8
  })
  t.match(
    await open({ verb: 'insert', data: { status: 'paid', total: 99, secret: 'o2' } }), { inserted: 1, id: 9 },
    'an equality is filled in'
  )
  t.match(await acme({ verb: 'insert', data: { sku: 'N' } }), { inserted: 1, id: 10 }, 'in a column that is hidden too')
  t.same((await sql('select tenant from orders where id >= 8 order by id')).map(({ tenant }) => tenant), [
    'acme', 'acme', 'acme'
  ])
  t.same(await open({ verb: 'update', data: { total: 5, status: 'paid', tenant: 'acme' }, filters: { id: 8 } }), {
    updated: 1
  })
})

await onEachEngine(t, 'a rule applies to the ' +
  'table as it is now', { schema: tenants, tokens }, async (t, { post, sql, server }) => {
  const select = async (token: string) => {
    const { status, json } = await post('orders', { verb: 'select', columns: ['id'] }, { token })
    return status === 200 ? json.data.count : [status, json.error.code]
  }
  t.equal(await select('acme'), 3)
  t.same(await select('broken'), [404, 'TABLE_NOT_FOUND'])
  await sql('alter table orders add column nope int default 1')
  await server.rows.refresh()
  t.equal(await select('broken'), 7, 'the column has come')
  await sql('alter table orders rename column tenant to owner')
  t.same(
    await select('acme'), [503, 'DATABASE_UNAVAILABLE'],
    'the column is gone, as the statement has shown, and may come back'
  )
  t.match(
    (await post('orders', { verb: 'update', data: { status: 'x' }, filters: { id: 1 } }, { token: 'acme' })).json,
    { error: { code: 'DATABASE_UNAVAILABLE' } }
  )
  t.equal(await select('broken'), 7)
})

const region = (engine: EngineName): string => `region varchar(5) ${
  engine === 'sqlite' ? '' : 'character set utf8mb4 '}generated always as (upper(zone)) stored`

const schema: Schema = (engine) => [
  `create table zones (${numberedId(engine, 'bigint')}, name varchar(20), zone varchar(5), ${region(engine)})`,
  "insert into zones (id, name, zone) values (1, 'one', 'eu'), (2, 'two', 'us')",
  `create table labels (code varchar(5) not null default 'none' primary key, name varchar(5) not null unique,
    zone varchar(5), ${region(engine)})`,
  `create table notes (${numberedId(engine, 'bigint')}, tenant varchar(10) not null, text varchar(20) unique)`,
  "insert into notes values (1, 'acme', 'one'), (2, 'zeta', 'two')",
  'create table tags (code varchar(10) primary key, tenant varchar(10) not null)',
  "insert into tags values ('a', 'acme')",
  ...engine === 'sqlite'
    ? [
        trigger('tag', 'after insert on tags',
          "update tags set code = code || '!', tenant = 'zeta' where code = new.code"),
        ...['insert', 'update'].map((event) => `create trigger give_${event} after ${event} on notes
          when new.text like 'give%' begin update notes set tenant = 'zeta' where id = new.id; end`)
      ]
    : [
        trigger('tag', 'before insert on tags', "set new.code = concat(new.code, '!'), new.tenant = 'zeta'"),
        ...['insert', 'update'].map((event) => trigger(
          `give_${event}`, `before ${event} on notes`,
          "set new.tenant = if(new.text like 'give%', 'zeta', new.tenant)"
        )),
        'create table logs (id int primary key, text varchar(20), changed timestamp not null default ' +
          'current_timestamp on update current_timestamp)',
        "insert into logs values (1, 'one', '2001-01-01')",
        'create table keyless (zone varchar(5), region varchar(5) generated always as (upper(zone)) stored)',
        "insert into keyless (zone) values ('eu')"
      ]
]

const writtenTokens = [
  tokenFor('clerk', {
    zones: { rows: { region: 'EU' } },
    labels: { rows: { region: 'EU' } },
    notes: { rows: { tenant: 'acme' } },
    tags: { rows: { tenant: 'acme' } },
    logs: { rows: { changed: { $lt: '2010-01-01T00:00:00Z' } } },
    keyless: { rows: { region: 'EU' } }
  })
]

const testWritten = sharedOnEachEngine(t, { schema, tokens: writtenTokens, keepsRows: true })

await testWritten('a row with a value that the database computes ' +
  'satisfies the rules', async (t, { post, sql, engine }) => {
  const send = async (table: string, body: object) => {
    const { status, json } = await post(table, body, { token: 'clerk' })
    return status === 200 ? json.data : [status, json.error.code]
  }
  const before = {
    zones: await sql('select * from zones order by id'), notes: await sql('select * from notes order by id')
  }
  const denied = [403, 'PERMISSION_DENIED']
  const refused: Array<[table: string, body: object]> = [
    ['zones', { verb: 'insert', data: { zone: 'us' } }],
    ['zones', { verb: 'insert', data: { zone: null } }],
    ['zones', { verb: 'insert', data: [{ zone: 'eu' }, { zone: 'us' }] }],
    ['zones', { verb: 'insert', data: { id: 1, zone: 'us' }, onConflict: { key: ['id'] } }],
    ['zones', { verb: 'insert', data: { id: 9, zone: 'us' }, onConflict: { key: ['id'] } }],
    ['zones', { verb: 'insert', data: { zone: 'us' }, returning: ['id'] }],
    ['zones', { verb: 'insert', data: [{ zone: 'eu' }, { zone: 'us' }], returning: ['id'] }],
    ['zones', { verb: 'insert', data: { id: 1, zone: 'us' }, onConflict: { key: ['id'] }, returning: '*' }],
    ['zones', { verb: 'insert', data: { zone: 'us' }, dryRun: true }],
    ['zones', { verb: 'update', data: { zone: 'us' }, filters: { id: 1 } }],
    ['zones', { verb: 'update', data: { zone: 'us' }, filters: { id: { $gte: 0 } }, returning: '*' }],
    ['zones', { verb: 'update', data: { zone: 'us', id: 8 }, filters: { id: 1 } }],
    ['notes', { verb: 'insert', data: { text: 'give it' } }],
    ['notes', { verb: 'insert', data: [{ text: 'keep' }, { text: 'give it' }] }],
    ['notes', { verb: 'insert', data: { id: 7, text: 'give it' } }],
    ['notes', { verb: 'insert', data: { text: 'give it' }, onConflict: { key: ['text'] } }],
    ['notes', { verb: 'insert', data: { id: 1, text: 'give it' }, onConflict: { key: ['id'] } }],
    ['notes', { verb: 'update', data: { text: 'give it' }, filters: { id: 1 } }],
    ['tags', { verb: 'insert', data: { code: 'b' } }]
  ]
  for (const [table, body] of refused) t.same(await send(table, body), denied, JSON.stringify(body))
  t.same(await send('zones', { verb: 'update', data: { zone: 'us' }, filters: { id: 2 } }), { updated: 0 })
  t.match(await send('tags', { verb: 'insert', data: { code: 'a' } }), engine === 'sqlite'
    ? [409, 'UNIQUE_VIOLATION']
    : [422, 'NOT_SUPPORTED'], 'the key that the row should have is that of another row')
  t.same((await sql('select code, tenant from tags')).map((row) => ({ ...row })), [{ code: 'a', tenant: 'acme' }])
  t.same(
    { zones: await sql('select * from zones order by id'), notes: await sql('select * from notes order by id') },
    before, 'nothing was changed'
  )

  t.match(await send('zones', { verb: 'insert', data: { zone: 'eu' } }), { inserted: 1, id: Number })
  t.match(await send('zones', { verb: 'insert', data: [{ zone: 'eu' }, { zone: 'Eu', name: 'x' }] }), {
    inserted: 2, id: Number
  })
  t.match(await send('zones', {
    verb: 'insert', data: [{ zone: 'eu', name: 'l1' }, { zone: 'eU', name: 'l2' }], returning: ['name', 'region']
  }), { inserted: 2, rows: [{ name: 'l1', region: 'EU' }, { name: 'l2', region: 'EU' }] })
  t.match(await send('zones', { verb: 'delete', filters: { name: ['l1', 'l2'] } }), { deleted: 2 })
  t.match(
    await send('labels', {
      verb: 'insert',
      data: [{ code: 'a', name: 'x', zone: 'eu' }, { name: 'y', zone: 'eu' }],
      returning: ['code', 'region']
    }),
    { inserted: 2, rows: [{ code: 'a', region: 'EU' }, { code: 'none', region: 'EU' }] },
    'rows that do not all have the primary key are returned'
  )
  t.match(await send('zones', { verb: 'insert', data: { id: 1, zone: 'EU' }, onConflict: { key: ['id'] } }), {
    inserted: 0, updated: 1
  })
  t.match(
    await send('zones', { verb: 'insert', data: { id: 50, zone: 'eu', name: 'fifty' }, returning: ['id', 'region'] }),
    { inserted: 1, rows: [{ id: 50, region: 'EU' }] }
  )
  t.same(await send('zones', { verb: 'update', data: { name: 'y' }, filters: { id: { $gte: 0 } } }), { updated: 5 })
  t.same(await send('zones', { verb: 'update', data: { id: 60, zone: 'eU' }, filters: { id: 50 } }), { updated: 1 })
  t.match(await send('notes', { verb: 'insert', data: { text: 'keep' } }), { inserted: 1, id: Number })
  t.match(await send('notes', { verb: 'insert', data: [{ text: 'a' }, { text: 'b' }] }), { inserted: 2 })
  t.match(await send('notes', { verb: 'insert', data: [{ text: 'c' }, { text: 'a' }] }), [409, 'UNIQUE_VIOLATION'])
  t.same(await send('notes', { verb: 'update', data: { text: 'other' }, filters: { text: 'keep' } }), { updated: 1 })
  t.same(await send('notes', { verb: 'delete', filters: { text: 'other' } }), { deleted: 1 })
})

await testWritten('a column that an update sets to the time satisfies its rule; what cannot be ' +
  'checked is refused', async (t, { post, sql }) => {
  const update = async (table: string, data: object, filters: object) => {
    const { status, json } = await post(table, { verb: 'update', data, filters }, { token: 'clerk' })
    return status === 200 ? json.data : [status, json.error.code]
  }
  t.same(await update('logs', { text: 'two' }, { id: 1 }), [403, 'PERMISSION_DENIED'])
  t.same(
    await update('logs', { text: 'two', changed: '2002-02-02T00:00:00Z' }, { id: 1 }), { updated: 1 },
    'unless it is written'
  )
  t.same(await update('logs', { text: 'two' }, { id: 1 }), { updated: 0 }, 'nothing changes, nor does the time')
  t.same(await update('keyless', { zone: 'EU' }, { zone: 'eu' }), [422, 'NOT_SUPPORTED'], 'a row without a key')
  t.same((await sql('select zone from keyless')).map(({ zone }) => zone), ['eu'])
  await sql('insert into zones (id, zone) select 1000 + n, \'eu\' from (with recursive n (n) as (select 1 union all ' +
    'select n + 1 from n where n < 999) select n from n) numbers')
  t.same(await update('zones', { name: 'x' }, { id: { $gte: 1001 } }), { updated: 999 })
  await sql("insert into zones (id, zone) values (3001, 'eu'), (3002, 'eu')")
  t.same(await update('zones', { name: 'y' }, { id: { $gte: 1001 } }), [422, 'RESULT_TOO_LARGE'])
}, ['mariadb', 'mysql'])

for (const engine of await engines()) {
  t.test(`an account that does not see triggers can write under rules (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, [
      'create table items (id int auto_increment primary key, tenant varchar(10) not null, n int)',
      "insert into items values (1, 'acme', 1), (2, 'zeta', 2)"
    ])
    t.teardown(() => database.drop())
    const { post } = await startService(t as Test, await createUser(t as Test, database, {
      grants: ['select, insert, update, delete on *']
    }), {
      tokens: [tokenFor('acme', { items: { columns: { select: ['id', 'n'] }, rows: { tenant: 'acme' } } })]
    })
    const send = async (body: object) => {
      const { status, json } = await post('items', body, { token: 'acme' })
      return status === 200 ? json.data : [status, json.error.code]
    }
    t.same(await send({ verb: 'insert', data: { n: 3 } }), { inserted: 1, id: 3 })
    t.same(await send({ verb: 'insert', data: [{ n: 4 }, { n: 5 }] }), { inserted: 2, id: 4 })
    t.same(await send({ verb: 'insert', data: { id: 1, n: 6 }, onConflict: { key: ['id'] } }), {
      inserted: 0, updated: 1, unchanged: 0, id: 1
    })
    t.same(await send({ verb: 'insert', data: { id: 2, n: 6 }, onConflict: { key: ['id'] } }), [
      409, 'UNIQUE_VIOLATION'
    ])
    t.same(await send({ verb: 'update', data: { n: 7 }, filters: { id: { $gte: 0 } } }), { updated: 4 })
    t.same(
      (await database.query('select id, tenant, n from items order by id')).map((row: any) => Object.values(row)),
      [[1, 'acme', 7], [2, 'zeta', 2], [3, 'acme', 7], [4, 'acme', 7], [5, 'acme', 7]]
    )
  })
}

const table = (name: string, columns: string, end = ''): string[] => [
  `create table ${name} (${columns}, tenant int not null, code text not null unique, n int)${end}`,
  `create trigger ${name}_skip before insert on ${name} when new.n < 0 begin select raise(ignore); end`,
  `create trigger ${name}_keep before update on ${name} when new.n < 0 begin select raise(ignore); end`,
  `insert into ${name} (id, tenant, code, n) values (1, 7, 'a', 1), (2, 8, 'b', 2), (3, 8, 'c', 3)`
]

const leftOut: string[] = [
  ...table('numbered', 'id integer primary key'),
  ...table('keyed', 'id int primary key', ' without rowid'),
  ...table('checked', 'id integer primary key'),
  'create trigger checked_after after insert on checked begin update checked set n = n where id = new.id; end',
  'create table loose (tenant int not null, code text, n int)', "insert into loose values (7, 'a', -1), (8, 'a', -1)",
  'create trigger loose_skip before insert on loose when new.n < 0 begin select raise(ignore); end'
]

const rows = { tenant: 7 }
const grant = { rows, permissions: ['select' as const, 'insert' as const, 'update' as const] }
const TABLES = ['numbered', 'keyed', 'checked']

const claimed = { tenant: { $claim: '/tenant' } }
const names = ['coarse', 'exact', 'main_coarse', 'main_exact', 'both', 'computed']

/** The addresses are the same in one of the two collations and different in the other. */
const collations: string[] = [
  'create table coarse (id integer primary key, tenant int not null, email text not null, unique ' +
    '(email collate nocase))',
  'create table exact (id integer primary key, tenant int not null, email text not null collate nocase, unique ' +
    '(email collate binary))',
  'create table main_coarse (tenant int not null, email text not null, id int, primary key (email collate ' +
    'nocase)) without rowid',
  'create table main_exact (tenant int not null, email text not null collate nocase, id int, primary key (email ' +
    'collate binary)) without rowid',
  'create table both (id integer primary key, tenant int not null, email text not null)',
  'create unique index by_both on both (email)', 'create unique index coarse_both on both (email collate nocase)',
  'create table computed (id integer primary key, tenant int not null, email text not null)',
  'create unique index by_computed on computed (email, lower(email))',
  ...names.map((name) => `insert into ${name} (id, tenant, email) values (1, 7, 'ann@x'), (2, 8, 'bob@x')`)
]

const redirected: string[] = [
  'create table codes (code text primary key, tenant int not null, v int) without rowid',
  'create trigger first before insert on codes when new.v = 1 begin insert or ignore into codes values ' +
    '(new.code, 8, 0); end'
]

const granted = Object.fromEntries(
  names.map((name) => [name, { rows: claimed, permissions: ['select', 'insert', 'update'] as const }])
)
/** Each test has tables of its own, or leaves them as they are. */
const testSqlite = sharedOnEachEngine(t, {
  schema: () => [...leftOut, ...collations, ...redirected],
  tokens: [tokenFor('seven', {
    numbered: grant, keyed: grant, checked: grant, loose: grant, ...granted, codes: { rows: claimed }
  } as Parameters<typeof tokenFor>[1], { tenant: 7 })],
  only: ['sqlite'],
  keepsRows: true
})

await testSqlite('an insert that a trigger leaves out counts no ' +
  'row and shows none', async (t, { post, operate, sql }) => {
  for (const name of TABLES) {
    const stored = () => sql(`select * from ${name} order by id`)
    const before = await stored()
    for (const token of ['seven', undefined]) {
      const insert = async (data: object, rest: object = {}) =>
        outcomeOf(await post(name, { verb: 'insert', data, ...rest }, token === undefined ? {} : { token }))
      const own = token === undefined ? { tenant: 7 } : {}
      for (const returning of [{}, { returning: ['id', 'code'] }]) {
        for (const dry of [{}, { dryRun: true }]) {
          const rest = { ...returning, ...dry }
          const none = { inserted: 0, id: null, ...Object.keys(returning).length > 0 && { rows: [] }, ...dry }
          for (const data of [{ id: 2, code: 'x', n: -1 }, { id: 1, code: 'b', n: -1 }, { id: 9, code: 'x', n: -1 }]) {
            const what = `${name}, ${token}: ${JSON.stringify([data, rest])}`
            t.same(await insert({ ...own, ...data }, rest), none, what)
            t.same(await insert([{ ...own, ...data }, { ...own, ...data, id: 3 }], rest), none, `${what} in a list`)
          }
        }
      }
      const some = [
        { id: 2, code: 'x', n: -1 }, { id: 4, code: 'd', n: 1 }, { id: 3, code: 'y', n: -1 }, { id: 5, code: 'e', n: 1 }
      ].map((row) => ({ ...own, ...row }))
      t.match(await insert(some, { returning: ['id', 'code'], dryRun: true }), {
        inserted: 2, rows: [{ id: 4, code: 'd' }, { id: 5, code: 'e' }]
      })
    }
    t.same(await stored(), before)
  }
  for (const data of [{ code: 'a', n: -1 }, { code: 'z', n: -1 }]) {
    t.same(
      outcomeOf(await post('loose', { verb: 'insert', data }, { token: 'seven' })), { inserted: 0, id: null },
      'without any key'
    )
  }
  for (const pointer of ['/0/id', '/0/rows/0/id', '/0/rows/0/code']) {
    const answer = await operate([
      { table: 'numbered', verb: 'insert', data: { id: 2, code: 'x', n: -1 }, returning: ['id', 'code'] },
      { table: 'numbered', verb: 'select', filters: { id: { $in: [{ $ref: pointer }] } } }
    ], { token: 'seven' })
    t.match(outcomeOf(answer), [400, 'INVALID_VALUE'], pointer)
  }
})

await testSqlite('an upsert that a trigger leaves out counts its row as unchanged, and shows only a row ' +
  'that the grant sees', async (t, { post, sql }) => {
  for (const name of TABLES) {
    const before = await sql(`select * from ${name} order by id`)
    const upsert = async (data: object, key: string, rest: object = {}) => outcomeOf(await post(
      name, { verb: 'insert', data, onConflict: { key: [key] }, returning: ['id', 'code'], ...rest }, { token: 'seven' }
    ))
    const unchanged = { inserted: 0, updated: 0, unchanged: 1 }
    t.same(await upsert({ id: 9, code: 'x', n: -1 }, 'id'), { ...unchanged, id: null, rows: [] }, name)
    t.same(await upsert([{ id: 9, code: 'x', n: -1 }], 'id'), { ...unchanged, id: null, rows: [] }, name)
    t.same(await upsert({ id: 1, code: 'x', n: -1 }, 'id'), { ...unchanged, id: 1, rows: [{ id: 1, code: 'a' }] }, name)
    t.same(await upsert({ id: 2, code: 'x', n: -1 }, 'id'), [409, 'UNIQUE_VIOLATION', '/data/id'], name)
    t.same(await upsert({ code: 'b', n: -1, id: 9 }, 'code'), [409, 'UNIQUE_VIOLATION', '/data/code'], name)
    t.same(await upsert([{ id: 9, code: 'x', n: -1 }, { id: 1, code: 'a', n: -1 }, { id: 4, code: 'd', n: 1 }], 'id', {
      dryRun: true
    }),
    {
      inserted: 1,
      updated: 0,
      unchanged: 2,
      id: null,
      rows: [{ id: 1, code: 'a' }, { id: 4, code: 'd' }],
      dryRun: true
    }, name)
    if (name !== 'keyed') {
      t.same(await upsert({ code: 'x', n: -1 }, 'code'), { ...unchanged, id: null, rows: [] }, `${name}, by its number`)
    }
    t.same(await sql(`select * from ${name} order by id`), before)
  }
})

await testSqlite('an update of a key that a trigger leaves out shows no other row', async (t, { post }) => {
  for (const name of TABLES) {
    for (const id of [2, 3]) {
      const outcome = outcomeOf(await post(
        name, { verb: 'update', filters: { id: 1 }, data: { id, code: 'c', n: -1 }, returning: ['id', 'code'] },
        { token: 'seven' }
      ))
      t.match(outcome, [422, 'NOT_SUPPORTED'], name)
    }
  }
})

await testSqlite('an upsert takes over no row of another tenant by an index with another ' +
  'collation than its column', async (t, { post, sql }) => {
  const send = async (table: string, body: object) =>
    outcomeOf(await post(table, { verb: 'insert', ...body }, { token: 'seven' }))
  for (const table of names) {
    const before = await sql(`select * from ${table} order by id`)
    for (const email of ['BOB@x', 'bob@x']) {
      for (const set of [undefined, [], ['tenant'], { tenant: 7 }]) {
        const outcome = await send(table, {
          data: { id: 5, email }, onConflict: { key: ['email'], ...set !== undefined && { set } }, dryRun: true
        })
        if (table === 'both') t.same(outcome, [409, 'UNIQUE_VIOLATION', '/data/email'])
        else t.same(outcome, [400, 'INVALID_BODY', '/onConflict/key'], `${table}: ${email}`)
      }
      const plain = await send(table, { data: { id: 5, email }, returning: ['id', 'email'], dryRun: true })
      t.ok(Array.isArray(plain) || plain.rows[0].id === 5, `${table}: ${JSON.stringify(plain)}`)
    }
    t.same(await sql(`select * from ${table} order by id`), before)
  }
  t.match(await send('both', { data: { id: 1, email: 'ann@x' }, onConflict: { key: ['email'], set: ['id'] } }), {
    inserted: 0, unchanged: 1
  })
})

await testSqlite('a primary key with another collation than its column is no key for pages, ' +
  'returned rows or ids', async (t, { post }) => {
  t.same(outcomeOf(await post('main_exact', { verb: 'select', after: null })), [422, 'NOT_SUPPORTED', '/after'])
  t.match(outcomeOf(await post('main_exact', { verb: 'insert', data: { tenant: 7, email: 'BOB@x' } })), {
    inserted: 1, id: null
  })
  t.same(outcomeOf(
    await post('main_exact', { verb: 'update', filters: { tenant: 8 }, data: { id: 3 }, returning: ['tenant'] })
  ), [422, 'NOT_SUPPORTED', '/returning'])
  t.same(outcomeOf(await post('main_coarse', { verb: 'insert', data: { tenant: 7, email: 'BOB@x' } })), [
    409, 'UNIQUE_VIOLATION', '/data/email'
  ])
})

await onEachEngine(t, 'a token with rules cannot name a key with an expression either', {
  schema: () => [
    'create table words (id int primary key, tenant int not null, word varchar(20) not null, n int, unique key ' +
      'by_word ((lower(word)), n))',
    "insert into words values (1, 7, 'a', 1), (2, 8, 'b', 2)"
  ],
  tokens: [tokenFor('seven', { words: { rows: claimed } }, { tenant: 7 })],
  only: ['mysql']
}, async (t, { post }) => {
  const body = { verb: 'insert', data: { id: 9, word: 'b', n: 2 }, onConflict: { key: ['n'] } }
  for (const token of [undefined, 'seven']) {
    t.same(
      outcomeOf(await post('words', body, token === undefined ? {} : { token })),
      [400, 'INVALID_BODY', '/onConflict/key']
    )
  }
})

await testSqlite('the rules hold in the statement of an upsert: a row that a trigger inserts just before ' +
  'is not taken over', async (t, { post, sql }) => {
  const send = async (data: object, set?: unknown) => outcomeOf(await post(
    'codes', { verb: 'insert', data, onConflict: { key: ['code'], ...set !== undefined && { set } } },
    { token: 'seven' }
  ))
  for (const set of [undefined, ['v'], { v: 5 }]) {
    t.same(await send({ code: 'a', v: 1 }, set), [409, 'UNIQUE_VIOLATION', '/data/code'])
    t.same(await send([{ code: 'b', v: 2 }, { code: 'a', v: 1 }], set), [409, 'UNIQUE_VIOLATION', '/data/1/code'])
  }
  t.match(
    await send({ code: 'a', v: 1 }, []), { inserted: 0, unchanged: 1, id: null }, 'what the trigger has done is undone'
  )
  t.same(await sql('select * from codes'), [])
  t.match(await send({ code: 'a', v: 2 }), { inserted: 1 })
  t.match(await send({ code: 'a', v: 3 }), { updated: 1 })
  t.same(await sql('select * from codes'), [{ code: 'a', tenant: 7, v: 3 }])
})

const thousand = Array.from({ length: 1000 }, (_, index) => index + 1)

await onEachEngine(t, 'a rule with a thousand values is one list, in a statement that is built once', {
  schema: (engine) => [
    `create table listed (id int primary key, n int not null,
      word varchar(20)${engine === 'sqlite' ? ' collate nocase' : ''} not null)`,
    "insert into listed values (1, 7, 'w7'), (2, 7, 'W7'), (3, 7, 'x'), (4, 2000, 'w7'), (5, 8, 'w8')"
  ],
  tokens: [
    tokenFor('numbers', { listed: { rows: { n: { $in: thousand } } } }),
    tokenFor('words', { listed: { rows: { word: { $in: thousand.map((number) => `w${number}`) } } } })
  ]
}, async (t, { post, statements }) => {
  for (const [token, ids] of [['numbers', [1, 2, 3, 5]], ['words', [1, 4, 5]]] as const) {
    const sent = new Set<string>()
    const kept: number[] = []
    for (const limit of [10, 20]) {
      statements()
      t.same((await post('listed', { verb: 'select', columns: ['id'], orderBy: 'id', limit }, {
        token
      })).json.data.rows.map(({ id }: { id: number }) => id), ids, token)
      kept.push(statementCache.bytes)
      for (const statement of statements()) sent.add(statement.replace(/limit \S+$/, ''))
    }
    const [statement = ''] = sent
    t.equal(sent.size, 1)
    t.ok((kept[0] as number) > statement.length && kept[1] === kept[0], 'the statement is kept')
    t.notMatch(statement, / or /, 'no list of equalities')
    t.ok(statement.split(' in (').length <= 3, 'a list, and for texts one of their bytes')
  }
})
