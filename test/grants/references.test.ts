/**
 * Foreign keys to tables with rules: a write that refers to a row which the grant does not see has the same answer as
 * one that refers to no row, whatever else is wrong with it, also where only the written rows show the values of the
 * key, where a trigger changes keys, and where the other table is not seen.
 */
import t, { type Test } from 'tap'
import { createTestDatabase, engines, type TestDatabase } from '../servers/engines.ts'
import { numberedId, trigger } from '../support/definitions.ts'
import { load, NDJSON } from '../support/load.ts'
import { OWNED } from '../support/owned-tables.ts'
import { onEachEngine, type Schema, startService, sharedOnEachEngine } from '../support/service.ts'
import { running } from '../support/connections.ts'
import { until } from '../support/until.ts'
import { createUser } from '../support/users.ts'
import { ORDERS, outcomeOf, tenants, tokenFor, tokenOf, upsertById as upsert } from './support.ts'

const rows = { tenant: { $claim: '/tenant' } }

const tokens = [
  tokenFor('acme', { orders: { rows }, customers: { rows } }, { tenant: 'acme' }),
  tokenFor(
    'blind', { orders: { columns: { select: ['id'], insert: ['customer_id', 'sku'] }, rows }, customers: { rows } },
    { tenant: 'acme' }
  ),
  tokenFor('child', { orders: {}, customers: { rows } }, { tenant: 'acme' }),
  tokenFor('other', { orders: { rows: { tenant: 'acme' } }, customers: { rows } }),
  tokenFor('broken', { orders: {}, customers: { rows: { nope: 1 } } }),
  tokenFor('free', { orders: { rows }, customers: {} }, { tenant: 'acme' })
]

await onEachEngine(t, 'a row outside of the rules cannot be referred to, like one ' +
  'that does not exist', { schema: tenants, tokens }, async (t, { post, sql }) => {
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
  t.match(
    await send('broken', insert(1, { tenant: 'acme' })), { status: 409, code: 'FOREIGN_KEY_VIOLATION' },
    'no row satisfies a rule that does not apply'
  )
  t.match(
    await send('other', insert(1)), { status: 403, code: 'PERMISSION_DENIED' },
    'claims that are needed for the other table'
  )
  t.match(
    await send('acme', { verb: 'update', data: { customer_id: { $inc: 1 } }, filters: { id: 1 } }), { status: 403 },
    'a value that is not known before'
  )
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
  `create table children (${numberedId(engine)}, tenant varchar(10) not null, parent_id int, boss int default 1,
    note varchar(20) unique,
    foreign key (TENANT, Parent_Id) references ${engine === 'sqlite' ? 'PARENTS' : 'parents'} (Tenant, ID),
    foreign key (BOSS) references ${engine === 'sqlite' ? 'Children' : 'children'} (ID))`,
  "insert into parents values (1, 'acme'), (2, 'zeta'), (3, 'zeta')",
  "insert into children values (1, 'acme', 1, null, 'a'), (2, 'zeta', 2, null, 'z')"
]
const family = { rows: { tenant: { $claim: '/tenant' } } }

await onEachEngine(t, 'a key of several columns and a key to the same table', {
  schema: families,
  tokens: [tokenFor('acme', { parents: family, children: family }, { tenant: 'acme' }), tokenFor('zeta', {
    parents: { rows: { id: [2, 3] } }, children: { rows: { id: { $gt: 1 } } }
  })]
}, async (t, { post, sql }) => {
  const before = await sql('select * from children order by id')
  const send = async (token: string, body: object) => outcomeOf(await post('children', body, { token }))
  const update = (data: object, id = 1) => ({ verb: 'update', data, filters: { id } })
  const violation = [409, 'FOREIGN_KEY_VIOLATION']
  for (const boss of [2, 99]) {
    t.same(await send('acme', { verb: 'insert', data: { boss } }), [...violation, '/data/boss'])
    t.same(await send('acme', { verb: 'insert', data: [{ boss: 1, note: 'b' }, { boss, note: 'c' }] }), [
      ...violation, '/data/1/boss'
    ])
    t.same(
      await send('acme', { verb: 'insert', data: [{ id: 50, note: 'a', boss }] }), [...violation, '/data/0/boss'],
      'whatever else is wrong'
    )
    t.same(await send('acme', update({ boss })), [...violation, '/data/boss'])
  }
  for (const id of [2, 9]) {
    t.same(
      await send('acme', update({ parent_id: id })), [...violation, '/data/tenant', '/data/parent_id'],
      'the other column has its value by a rule'
    )
  }
  t.same(
    await send('zeta', { verb: 'insert', data: { id: 20, tenant: 'zeta', note: 'y' } }), [...violation, '/data/boss'],
    'a default refers to a row outside of the rules'
  )
  t.same(
    await send('zeta', update({ parent_id: 3 }, 2)), [403, 'PERMISSION_DENIED'], 'a key of which a part is not known'
  )
  t.same(await send('zeta', update({ boss: { $inc: 1 } }, 2)), [403, 'PERMISSION_DENIED'])
  t.same(await sql('select * from children order by id'), before)
  t.same(await send('zeta', update({ parent_id: 3, tenant: 'zeta' }, 2)), { updated: 1 })
  t.same(await send('zeta', update({ parent_id: null }, 2)), { updated: 1 })
  t.match(await send('acme', {
    verb: 'insert',
    data: [{ id: 60, note: 'b' }, { id: 61, boss: 60, note: 'c' }, { id: 62, boss: 62, note: 'd', parent_id: 1 }]
  }), { inserted: 3 }, 'a list that refers to itself')
  t.match(await send('acme', { verb: 'insert', data: [{ id: 70, note: 'e' }, { id: 71, boss: 70, note: 'e' }] }), [
    409, 'UNIQUE_VIOLATION'
  ])
})

const schema: Schema = (engine) => [
  'create table places (x int, y int, tenant int not null, primary key (x, y))',
  'insert into places values (1, 1, 7), (2, 2, 7), (1, 2, 8), (2, 1, 8)',
  `create table stays (${numberedId(engine)}, tenant int not null, x int, y int,
    foreign key (x, y) references places (x, y))`,
  'create table owners (id int primary key, tenant int not null)',
  'insert into owners values (1, 7), (2, 8), (4, 7)',
  `create table halves (${numberedId(engine)}, tenant int not null, half int,
    owner_id int generated always as (half * 2) stored, foreign key (owner_id) references owners (id))`,
  'insert into halves (id, tenant, half) values (1, 7, 2), (2, 8, 1)',
  `create table moved (${numberedId(engine)}, tenant int not null, owner_id int, note varchar(20),
    foreign key (owner_id) references owners (id))`,
  "insert into moved values (1, 7, 1, 'kept')",
  ...engine === 'sqlite'
    ? [
        ...['insert', 'update'].map((event) => `create trigger moved_${event} after ${event} on moved
          when new.note = 'move' begin update moved set owner_id = 2 where id = new.id; end`)
      ]
    : [
        ...['insert', 'update'].map((event) => trigger(
          `moved_${event}`, `before ${event} on moved`, "set new.owner_id = if(new.note = 'move', 2, new.owner_id)"
        ))
      ]
]

const own = { rows: { tenant: { $claim: '/tenant' } } }
const tables = { places: own, stays: own, owners: own, halves: own, moved: own }
const hidden = { ...tables, moved: { ...own, columns: { select: ['id', 'note'] } } }
const writtenReferencesTokens = [
  tokenFor('seven', tables, { tenant: 7 }),
  tokenFor('children', { ...tables, stays: {}, halves: {}, moved: {} }, { tenant: 7 }),
  tokenFor('hidden', hidden, { tenant: 7 })
]

const testWritten = sharedOnEachEngine(t, { schema, tokens: writtenReferencesTokens, keepsRows: true })

await testWritten('a write that makes a row refer to one outside of ' +
  'the rules is undone', async (t, { engine, post, operate, sql }) => {
  const send = async (table: string, body: object, token = 'seven') => outcomeOf(await post(table, body, { token }))
  const dump = async () =>
    await Promise.all(['stays', 'halves', 'moved'].map((table) => sql(`select * from ${table} order by id`)))
  // SQLite does not say which key it is
  const refused = (...paths: string[]) => [
    409, 'FOREIGN_KEY_VIOLATION',
    ...engine === 'sqlite' ? new Set(paths.flatMap((path) => /^\/data\/\d+/.exec(path) ?? [])) : paths
  ]

  t.match(await send('stays', { verb: 'insert', data: { id: 20, x: 1, y: 1 } }), { inserted: 1 })
  t.match(await send('stays', { verb: 'insert', data: { id: 21, x: null, y: 2 } }), { inserted: 1 })
  const before = await dump()
  for (const token of ['seven', 'children']) {
    const tenant = token === 'children' ? { tenant: 7 } : {}
    const pair = refused('/data/x', '/data/y')
    t.same(
      await send('stays', upsert({ id: 20, x: 2, y: 2, ...tenant }, ['x']), token), pair,
      'x of the request, and y of the row that exists'
    )
    t.same(await send('stays', upsert({ id: 21, x: 1, ...tenant }), token), pair, 'y is left out')
    t.same(
      await send('stays', upsert([{ id: 20, x: 1, ...tenant }, { id: 21, x: 1, ...tenant }] as never), token),
      refused('/data/1/x', '/data/1/y'), 'the second row'
    )
    t.same(
      await send('halves', { verb: 'update', data: { half: 1 }, filters: { id: 1 } }, token), refused('/data/owner_id'),
      'a generated column'
    )
    t.same(await send('halves', { verb: 'insert', data: { half: 1, ...tenant } }, token), refused('/data/owner_id'))
    t.same(
      await send('halves', { verb: 'insert', data: [{ half: 2, ...tenant }, { half: 1, ...tenant }] }, token),
      refused('/data/1/owner_id')
    )
    t.same(await send('halves', upsert({ id: 1, half: 1, ...tenant }), token), refused('/data/owner_id'))
    t.same(
      await send('moved', { verb: 'insert', data: { owner_id: 1, note: 'move', ...tenant } }, token),
      refused('/data/owner_id'), 'a trigger'
    )
    t.same(
      await send('moved', { verb: 'update', data: { owner_id: 4, note: 'move' }, filters: { id: 1 } }, token),
      refused('/data/owner_id')
    )
    t.same(
      await send('moved', { verb: 'update', data: { note: 'move' }, filters: { id: 1 } }, token),
      refused('/data/owner_id'), 'the column is not written'
    )
    t.same(
      await send('moved', { verb: 'update', data: { note: 'move' }, filters: { id: 1 }, dryRun: true }, token),
      refused('/data/owner_id')
    )
  }
  t.same(
    await send('moved', { verb: 'update', data: { note: 'move' }, filters: { id: 1 } }, 'hidden'), refused(),
    'a hidden column'
  )
  const { json } = await operate([{
    table: 'stays', verb: 'insert', data: { id: 30, x: 1, y: 1 }
  }, { table: 'stays', ...upsert({ id: 30, x: 2, y: 2 }, ['x']) }], { token: 'seven' })
  t.match(json, {
    error: {
      code: 'FOREIGN_KEY_VIOLATION',
      details: engine === 'sqlite'
        ? [{ path: '/operations/1' }]
        : [{ path: '/operations/1/data/x' }, { path: '/operations/1/data/y' }]
    }
  })
  t.same(await dump(), before, 'nothing was changed')

  t.match(await send('stays', upsert({ id: 20, x: 2, y: 2 })), { updated: 1 }, 'the whole key')
  t.match(
    await send('stays', upsert({ id: 20, x: 2, y: 1 }, ['tenant'])), [409], 'the row would be inserted with this key'
  )
  t.match(await send('stays', upsert({ id: 20, x: null, y: 1 }, ['x'])), { updated: 1 }, 'NULL refers to nothing')
  t.match(await send('stays', upsert({ id: 21, x: 2 })), { updated: 1 }, 'a row that the rules allow')
  t.match(await send('halves', { verb: 'update', data: { half: null }, filters: { id: 1 } }), { updated: 1 })
  t.match(await send('halves', { verb: 'insert', data: [{ half: 2 }, { half: null }] }), { inserted: 2 })
  t.match(await send('moved', { verb: 'insert', data: { owner_id: 4, note: 'here' } }), { inserted: 1 })
  t.match(await send('moved', { verb: 'update', data: { owner_id: 4 }, filters: { id: 1 } }), { updated: 1 })
})

await testWritten('a list that breaks a rule names the row', async (t, { post, operate }) => {
  const error = async (body: object) => (await post('owners', body, { token: 'seven' })).json.error
  const list = [{ id: 11 }, { id: 9, tenant: 7 }, { id: 10, tenant: 8 }, { id: 8, tenant: 8 }]
  t.match(await error({ verb: 'insert', data: list }), { code: 'PERMISSION_DENIED', details: [{ path: '/data/2' }] })
  t.match(
    await error({ verb: 'insert', data: list, onConflict: { key: ['id'] } }),
    { code: 'PERMISSION_DENIED', details: [{ path: '/data/2' }] }, 'also where the rows are sorted'
  )
  t.same((await error({ verb: 'insert', data: list[2] })).details, [], 'a row that is no list')
  t.match((await operate([{ table: 'owners', verb: 'insert', data: list }], { token: 'seven' })).json.error, {
    details: [{ path: '/operations/0/data/2' }]
  })
})

/**
 * 4 moves the key and the tenant of a row, 6 slowly, 10 only its key, 11 only its tenant; 5 changes what it refers to.
 */
const away = 'set new.id = if(new.n in (4, 6, 10), new.id + 50 + if(new.n = 6, sleep(0.3), 0), new.id), new.tenant = ' +
  'if(new.n in (4, 6, 11), 8, new.tenant), new.owner_id = if(new.n = 5, 2, new.owner_id)'

const changedKeysSchema: Schema = (engine) => [
  'create table owners (id int not null, tenant int not null, primary key (id), unique (tenant, id))',
  'insert into owners values (1, 7), (2, 8), (4, 7)',
  'create table cars (id int primary key, owner_id int, note varchar(20), foreign key (owner_id) ' +
    'references owners (id))',
  "insert into cars values (1, 1, 'a'), (2, 1, 'b')",
  `create table orders (${numberedId(engine, 'bigint')}, tenant int not null, owner_id int, note varchar(20) unique,
    foreign key (tenant, owner_id) references owners (tenant, id))`,
  ...engine === 'sqlite'
    ? []
    : [
        'create table moved (id int primary key, tenant int not null, n int not null default 0, owner_id int, ' +
          'foreign key (owner_id) references owners (id))',
        'insert into moved values (1, 7, 0, 1), (2, 7, 0, 1)',
        `create trigger moved_in before insert on moved for each row ${away}`,
        `create trigger moved_on before update on moved for each row ${away}`,
        'create table words (word varchar(20) primary key, tenant int not null)',
        "insert into words values ('a', 7), ('b', 7)",
        'create trigger words_on before update on words for each row set new.tenant = new.tenant'
      ]
]

const changedKeysOwn = { rows: { tenant: 7 } }
const changedKeysTokens = [tokenFor('seven', {
  owners: changedKeysOwn, cars: {}, orders: changedKeysOwn, moved: changedKeysOwn, words: changedKeysOwn
})]

/** Each test has tables of its own. */
const testChangedKeys = sharedOnEachEngine(t, { schema: changedKeysSchema, tokens: changedKeysTokens, keepsRows: true })

await testChangedKeys('a row whose key a trigger changes is not written ' +
  'outside of the rules', async (t, { post, sql }) => {
  const send = async (body: object, table = 'moved') => outcomeOf(await post(table, body, { token: 'seven' }))
  const dump = async () => await sql('select * from moved order by id')
  const before = await dump()
  const refused = [403, 'PERMISSION_DENIED']
  t.same(await send(upsert({ id: 1, n: 4 })), refused, 'of a row that exists')
  t.same(await send(upsert({ id: 9, n: 4 })), refused, 'of a new row')
  t.same(await send(upsert([{ id: 8 }, { id: 9, n: 4 }])), [...refused, '/data/1'], 'of a row of a list')
  t.same(await send(upsert([{ id: 2, n: 4 }, { id: 52 }])), [...refused, '/data/0'])
  t.same(await send({ ...upsert({ id: 1, n: 4 }), returning: '*' }), refused)
  t.same(await send(upsert({ id: 9, n: 5 })), [409, 'FOREIGN_KEY_VIOLATION', '/data/owner_id'])
  t.same(
    await send(upsert([{ id: 9, n: 5 }, { id: 9, n: 0, owner_id: 1 }])),
    [409, 'FOREIGN_KEY_VIOLATION', '/data/0/owner_id'], 'each row is checked'
  )
  t.same(
    await send({ verb: 'update', data: { id: 2, n: 4 }, filters: { id: 1 } }), [422, 'NOT_SUPPORTED', ''],
    'an update that gives a row the key of another'
  )
  t.same(await send({ verb: 'update', data: { id: 5, n: 4 }, filters: { id: 1 } }), refused)
  t.same(await send({ verb: 'update', data: { id: { $inc: 1 }, n: 4 }, filters: { id: { $in: [1, 2] } } }), refused)
  t.same((await send({ verb: 'update', data: { id: 2 }, filters: { id: 1 } })).slice(0, 2), [409, 'UNIQUE_VIOLATION'])
  t.same(await dump(), before, 'nothing was changed')

  t.match(await send(upsert({ id: 1, n: 1 })), { updated: 1 })
  t.match(await send(upsert([{ id: 1, n: 1 }, { id: 2, n: 2 }, { id: 3, n: 3 }])), {
    inserted: 1, updated: 1, unchanged: 1
  })
  t.match(await send({ ...upsert([{ id: 4, n: 1 }, { id: 3, n: 7 }]), returning: ['id', 'tenant', 'n'] }), {
    inserted: 1, updated: 1, rows: [{ id: 4, tenant: 7, n: 1 }, { id: 3, tenant: 7, n: 7 }]
  })
  t.match(await send({ verb: 'update', data: { id: 30 }, filters: { id: 3 } }), { updated: 1 })
  t.match(await send({ verb: 'update', data: { id: { $inc: 40 } }, filters: { id: { $in: [4, 30] } } }), { updated: 2 })
  t.match(
    await send({ verb: 'update', data: { word: 'A' }, filters: { word: 'a' } }, 'words'), { updated: 1 },
    'a key that is equal to the one before'
  )
  t.match(await send({ verb: 'update', data: { word: 'B', tenant: 7 }, filters: { word: 'a' } }, 'words'), [
    409, 'UNIQUE_VIOLATION'
  ])
}, ['mariadb', 'mysql'])

await testChangedKeys('a row that a trigger moves out of the rules is not taken for one that another client ' +
  'inserts with its key', async (t, service) => {
  const { post, operate, sql } = service
  const token = 'seven'
  const row = { id: 9, n: 6 }
  const dump = async () => await sql('select * from moved order by id')
  const before = await dump()
  const moves = { verb: 'update', data: row, filters: { id: 1 } }
  const writes: Record<string, () => Promise<any>> = {
    'an insert': async () => (await post('moved', { verb: 'insert', data: row }, { token })).json,
    'a list': async () => (await post('moved', { verb: 'insert', data: [row] }, { token })).json,
    'an upsert': async () => (await post('moved', upsert(row), { token })).json,
    'an update of the key': async () => (await post('moved', moves, { token })).json,
    operations: async () => (await operate([{ table: 'moved', ...upsert(row) }], { token })).json,
    'an import': async () =>
      (await load(service, 'moved', JSON.stringify({ ...row, tenant: 7 }), { type: NDJSON, token })).json
  }
  for (const [way, write] of Object.entries(writes)) {
    const answer = write()
    await until('the trigger runs', async () => (await running(service)).some((text) => /^(insert|update)/i.test(text)))
    await sql('insert into moved values (9, 7, 0, 1)')
    t.match(await answer, { error: { code: 'PERMISSION_DENIED' } }, way)
    await sql('delete from moved where id = 9')
    t.same(await dump(), before, `${way}: nothing was changed`)
  }
  for (const n of [10, 11]) {
    t.match((await post('moved', { verb: 'insert', data: { id: 9, n } }, { token })).json, {
      error: { code: 'PERMISSION_DENIED' }
    }, `${n}`)
  }
  t.same(await dump(), before, 'nothing was changed')
}, ['mariadb', 'mysql'])

await testChangedKeys('an upsert without a value for the key is inserted where its reference is ' +
  'checked after the write', async (t, { post }) => {
  const send = async (body: object) => (await post('orders', body, { token: 'seven' })).json
  t.match(await send(upsert({ note: 'x' })), { data: { inserted: 1, id: 1 } })
  t.match(await send(upsert({ note: 'y', owner_id: 1 }, ['owner_id'])), { data: { inserted: 1, id: 2 } })
  t.match(await send(upsert([{ note: 'z' }, { id: 1, note: 'w' }])), { data: { inserted: 1, updated: 1 } })
  t.match(await send({ ...upsert([{ note: 'v' }, { id: 1, note: 'u' }]), returning: ['note', 'tenant'] }), {
    data: { rows: [{ note: 'v', tenant: 7 }, { note: 'u', tenant: 7 }] }
  })
  for (const owner of [2, 99]) {
    t.match(await send(upsert({ note: 'r', owner_id: owner })), {
      error: { code: 'FOREIGN_KEY_VIOLATION' }
    }, `${owner}`)
    t.match(await send(upsert([{ note: 'r' }, { note: 's', owner_id: owner }], ['owner_id'])), {
      error: { code: 'FOREIGN_KEY_VIOLATION' }
    }, `${owner}`)
  }
  t.match(await send(upsert([{ note: 'r' }, { note: 'x', id: 3 }, { note: 'u' }])), {
    error: { code: 'UNIQUE_VIOLATION', details: [{ path: '/data/2/note' }] }
  })
  t.match(await send({ verb: 'select', columns: ['note'], orderBy: 'id' }), {
    data: { rows: [{ note: 'u' }, { note: 'y' }, { note: 'z' }, { note: 'v' }] }
  })
})

await testChangedKeys('a number of rows that is not expected does not tell whether a ' +
  'hidden row exists', async (t, { post, sql }) => {
  const ask = async (owner: number, terms: object) => {
    const { text } = await post('cars', { verb: 'update', data: { owner_id: owner }, ...terms }, { token: 'seven' })
    return text
  }
  for (const terms of [
    { filters: { id: 1 }, expect: 0 }, { filters: { id: { $gte: 1 } }, expect: 1 },
    { filters: { id: 1 }, expect: { $gte: 2 } }, { filters: { id: 1 }, expect: 0, returning: '*' },
    { filters: { id: 9 }, expect: 1 }, { filters: { id: 9 } }
  ]) {
    t.equal(await ask(2, terms), await ask(99, terms), JSON.stringify(terms))
  }
  t.match(JSON.parse(await ask(4, { filters: { id: 1 }, expect: 0 })), { error: { code: 'EXPECTATION_FAILED' } })
  t.match(
    JSON.parse(await ask(99, { filters: { id: 9 } })), { data: { updated: 0 } }, 'an update of no row refers to nothing'
  )
  t.match(await sql('select owner_id from cars'), [{ owner_id: 1 }, { owner_id: 1 }])
})

const rules = { owners: { rows: { tenant: 7 } } }
const unseenParentsTokens = [
  tokenFor('ruled', { ...rules, cars: {}, trucks: {} }),
  tokenFor('free', { owners: {}, cars: { rows: { x: 1 } }, trucks: {} })
]
const refused = [403, 'PERMISSION_DENIED']

/** Writes of a car that refer to an owner, each in one way. */
const carsOf = (owner: number): object[] => [
  { verb: 'insert', data: { id: 5, x: 1, owner_id: owner } },
  { verb: 'insert', data: [{ id: 5, x: 1 }, { id: 6, x: 1, owner_id: owner }] },
  { verb: 'update', data: { owner_id: owner }, filters: { id: 1 }, dryRun: true },
  upsert({ id: 1, x: 1, owner_id: owner }), upsert({ id: 1, x: 1 }, { owner_id: owner })
]

type Send = (token: string, table: string, body: object) => Promise<unknown>

const updateOwner = (id: number, owner: unknown, rest: object = {}): object =>
  ({ verb: 'update', data: { owner_id: owner, ...rest }, filters: { id } })

/** Tokens with rules for owners, which the service cannot look up, may write cars without one only. */
async function writesWithoutOwners (t: Test, send: Send, cars: () => Promise<any[]>, tokens: {
  readonly ruled: readonly string[], readonly free: readonly string[]
}): Promise<void> {
  const before = await cars()
  for (const token of tokens.ruled) {
    for (const body of [...[1, 2, 99].flatMap(carsOf), updateOwner(1, { $inc: 1 })]) {
      t.same(await send(token, 'cars', body), refused, `${token}: ${JSON.stringify(body)}`)
    }
    t.same(await send(token, 'trucks', { verb: 'insert', data: { id: 5 } }), refused, 'a default')
    t.same(await cars(), before)
    t.match(await send(token, 'cars', { verb: 'insert', data: { id: 5, x: 1, owner_id: null } }), { inserted: 1 })
    t.match(await send(token, 'cars', upsert({ id: 5, x: 1, note: 'n' })), { updated: 1 })
    t.match(await send(token, 'cars', updateOwner(5, null, { note: 'm' })), { updated: 1 })
    t.match(await send(token, 'cars', { verb: 'delete', filters: { id: 5 } }), { deleted: 1 })
  }
  for (const token of tokens.free) {
    t.match(await send(token, 'cars', updateOwner(1, 2)), { updated: 1 }, 'without rules for the other table')
    t.match(await send(token, 'cars', updateOwner(1, null)), { updated: 1 })
    t.same((await send(token, 'cars', updateOwner(1, 99)) as unknown[]).slice(0, 2), [409, 'FOREIGN_KEY_VIOLATION'])
  }
}

for (const engine of await engines()) {
  const start = async (t: Test, grants: string[]): Promise<{ database: TestDatabase, send: Send }> => {
    const database = await createTestDatabase(engine, OWNED)
    t.teardown(() => database.drop())
    const { post } = await startService(t, await createUser(t, database, { grants }), {
      tokens: [tokenOf('anything', {}), ...unseenParentsTokens]
    })
    return { database, send: async (token, table, body) => outcomeOf(await post(table, body, { token })) }
  }

  t.test(`a foreign key to a table that the account does not see is checked (${engine.name})`, async (t) => {
    const { database, send } = await start(t as Test, ['cars', 'trucks'].map(
      (table) => `select, insert, update, delete on ${table}`
    ))
    await writesWithoutOwners(t as Test, send, () => database.query('select * from cars order by id'), {
      ruled: ['ruled'], free: ['anything', 'free']
    })
  })

  t.test(`a foreign key whose columns the account may not list is checked (${engine.name})`, async (t) => {
    const { database, send } = await start(t as Test, [
      'select on owners', 'select (id, x, owner_id), insert (id, owner_id), update (x, owner_id) on cars'
    ])
    for (const owner of [2, 99]) {
      for (const body of [{ verb: 'insert', data: { id: 5, owner_id: owner } }, updateOwner(1, owner)]) {
        const [status] = await send('ruled', 'cars', body) as unknown[]
        t.ok(status === 403 || status === 409, JSON.stringify(body))
      }
    }
    t.same(await database.query('select owner_id from cars'), [{ owner_id: null }])
    t.match(await send('anything', 'cars', updateOwner(1, 2)), { updated: 1 }, 'without rules')
  })

  t.test(`a foreign key to a table with rules in another database is checked (${engine.name})`, async (t) => {
    const other = await createTestDatabase(engine, [
      'create table owners (id int primary key, tenant int not null)', 'insert into owners values (1, 7), (2, 8)'
    ])
    const key = `foreign key (owner_id) references ${other.name}.owners (id)`
    const database = await createTestDatabase(engine, [
      `create table cars (id int primary key, x int not null default 1, owner_id int, note varchar(20), ${key})`,
      `create table trucks (id int primary key, owner_id int default 2, ${key})`,
      `create table vans (id int primary key, half int, owner_id int generated always as (half * 2) stored, ${key})`,
      'insert into cars values (1, 1, null, null)',
      'insert into vans (id) values (1)'
    ])
    t.teardown(async () => {
      await database.drop()
      await other.drop()
    })
    const rules = { Owners: { rows: { tenant: 7 } } }
    const tokens = [
      tokenOf('everything', {}),
      tokenOf('all', { databases: { other: rules, shop: '*' } }),
      tokenOf('list', { databases: { other: rules, shop: ['cars', 'trucks', 'vans'] } }),
      tokenOf('narrowed', { databases: { other: rules, shop: { cars: { rows: { x: 1 } }, trucks: {}, vans: {} } } }),
      tokenOf('free', { databases: { other: { owners: {} }, shop: { cars: { rows: { x: 1 } } } } })
    ]
    const { post } = await startService(t as Test, database.url, {
      options: { databases: { shop: { url: database.url }, other: { url: other.url } }, tokens }
    })
    const send: Send = async (token, table, body) => outcomeOf(await post(table, body, { token }))
    const ruled = ['all', 'list', 'narrowed']
    for (const token of ruled) {
      t.same(await send(token, 'vans', { verb: 'update', data: { half: 1 }, filters: { id: 1 } }), refused, token)
    }
    await writesWithoutOwners(t as Test, send, () => database.query('select * from cars order by id'), {
      ruled, free: ['everything', 'free']
    })
  })
}

await onEachEngine(t, 'a row of an upsert may only name a parent that the grant sees, also where the row that exists ' +
  'gets or keeps another one', {
  schema: () => [
    'create table parents (a int not null, b int not null, tenant int not null, primary key (a, b), unique (a))',
    'insert into parents values (2, 2, 7), (4, 4, 7), (6, 6, 8)',
    'create table children (id int primary key, tenant int not null, k varchar(5) not null unique, a int default 2, ' +
      'x int, y int, n int, foreign key (a) references parents (a), foreign key (x, y) references parents (a, b))',
    "insert into children values (1, 7, 'a', 4, 4, 4, 0), (2, 7, 'b', 2, null, null, 0)"
  ],
  tokens: [tokenFor('seven', { parents: { rows: { tenant: 7 } }, children: { rows: { tenant: 7 } } })]
}, async (t, { post, operate, sql }) => {
  const before = await sql('select * from children order by id')
  const bodies: Array<(parent: number) => object> = [
    (a) => upsert({ id: 1, k: 'a', a }, { a: { $default: true } }),
    (a) => ({ ...upsert({ id: 1, k: 'a', a }, { a: { $default: true } }), outcomes: true, dryRun: true }),
    (a) => upsert([{ id: 1, k: 'a', a }, { id: 9, k: 'z' }], []),
    (a) => upsert([{ id: 9, k: 'z' }, { id: 1, k: 'a', a }], ['n']),
    (a) => upsert([{ id: 2, k: 'b', n: 1 }, { id: 1, k: 'a', a }]),
    (x) => upsert({ id: 1, k: 'a', x, y: x }, { x: { $default: true }, y: { $default: true } })
  ]
  for (const body of bodies) {
    for (const parent of [6, 99, 6]) {
      const answers = [
        await post('children', body(parent), { token: 'seven' }),
        await operate([{ table: 'children', ...body(parent), dryRun: undefined }], { token: 'seven' })
      ]
      for (const { status, json } of answers) {
        t.match([status, json.error?.code], [409, 'FOREIGN_KEY_VIOLATION'], JSON.stringify(body(parent)))
      }
    }
  }
  t.same(await sql('select * from children order by id'), before, 'nothing was changed')
  t.match((await post('children', upsert([{ id: 1, k: 'a', a: 2 }, { id: 9, k: 'z' }], { a: { $default: true } }), {
    token: 'seven'
  })).json, { data: { inserted: 1, updated: 1 } }, 'parents that it sees')
})
