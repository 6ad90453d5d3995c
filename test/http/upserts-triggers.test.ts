/** Upserts of rows that exist, in tables with triggers of updates and with defaults that differ from NULL: what fires, and what is counted. */
import t from 'tap'
import { hashToken } from '../../src/access/tokens.ts'
import { outcomeOf } from '../grants/support.ts'
import { onEachEngine, startService, type EngineName, type Schema } from '../support/service.ts'

const id = (engine: EngineName): string => engine === 'sqlite' ? 'id integer primary key' : 'id int auto_increment primary key'
const trigger = (engine: EngineName, name: string, event: string, statement: string): string => engine === 'sqlite'
  ? `create trigger ${name} ${event} begin ${statement}; end`
  : `create trigger ${name} ${event} for each row ${statement}`

const watched: Schema = (engine) => [
  'create table fired (what varchar(20))',
  ...['before', 'after'].flatMap((timing) => [
    `create table ${timing}s (${id(engine)}, code varchar(10) not null unique, v int null, seen int not null default 0)`,
    ...['insert', 'update'].map((event) => trigger(engine, `${timing}_${event}`, `${timing} ${event} on ${timing}s`, `insert into fired values ('${event}')`)),
    `insert into ${timing}s values (1, 'a', 1, 0), (2, 'b', 2, 0)`
  ]),
  'create table stamped (code varchar(10) primary key, v int null, seen int not null default 0)', "insert into stamped values ('a', 1, 0)",
  engine === 'sqlite' ? 'create trigger stamp after update on stamped begin update stamped set seen = seen + 1 where code = new.code; end' : 'create trigger stamp before update on stamped for each row set new.seen = old.seen + 1'
]

await onEachEngine(t, 'an upsert that writes nothing fires no trigger of an update and changes nothing', { schema: watched }, async (t, { post, operate, sql }) => {
  const body = (data: object, rest: object = {}) => ({ verb: 'insert', data, onConflict: { key: ['code'], set: [] }, ...rest })
  await sql('delete from fired')
  const fired = async () => (await sql('select what from fired')).map(({ what }) => what)
  for (const table of ['befores', 'afters']) {
    const send = async (data: object, rest?: object) => outcomeOf(await post(table, body(data, rest)))
    const before = await sql(`select * from ${table} order by id`)
    t.match(await send({ code: 'a', v: 9 }), { inserted: 0, updated: 0, unchanged: 1, id: 1 })
    t.match(await send({ code: 'b', v: 9 }, { returning: ['id', 'v'] }), { unchanged: 1, id: 2, rows: [{ id: 2, v: 2 }] })
    t.match(await send([{ code: 'b', v: 9 }, { code: 'a', v: 8 }], { dryRun: true }), { inserted: 0, updated: 0, unchanged: 2, id: null })
    t.match(outcomeOf(await post(table, { verb: 'insert', data: { code: 'a' }, onConflict: { key: ['code'] } })), { unchanged: 1, id: 1 }, 'only the key is given')
    t.match(outcomeOf(await operate([{ table, ...body({ code: 'a', v: 9 }) }])).results, [{ unchanged: 1, id: 1 }])
    t.same(await sql(`select * from ${table} order by id`), before)
    t.same(await fired(), [])
    t.match(await send([{ code: 'c', v: 3 }, { code: 'a', v: 8 }, { code: 'c', v: 4 }], { returning: ['code', 'v'] }), { inserted: 1, updated: 0, unchanged: 2, rows: [{ code: 'c', v: 3 }, { code: 'a', v: 1 }, { code: 'c', v: 3 }] })
    t.same(await fired(), ['insert'])
    await sql('delete from fired')
    t.match(await send({ code: 'z', id: 1 }), [409, 'UNIQUE_VIOLATION'], 'another key')
  }
  t.match(outcomeOf(await post('stamped', body({ code: 'a', v: 9 }))), { inserted: 0, updated: 0, unchanged: 1, id: 'a' })
  t.same(await sql('select * from stamped'), [{ code: 'a', v: 1, seen: 0 }])
})

const counted: Schema = (engine) => {
  const bits = engine === 'sqlite' ? '5' : "b'101'"
  const type = engine === 'sqlite' ? 'int' : 'bit(3)'
  return [
    'create table computed (id int primary key, v int null default (1 + 1), w int)', 'insert into computed values (1, null, 1), (2, null, 2)',
    `create table bits (id int primary key, v ${type} null default ${bits}, w int)`, 'insert into bits values (1, null, 1), (2, null, 2)',
    ...['undone', 'nulled'].flatMap((name) => [`create table ${name} (id int primary key, v int null default 7, w int)`, `insert into ${name} values (1, null, 1), (2, null, 2)`]),
    ...engine === 'sqlite'
      ? ['undone', 'nulled'].map((name) => `create trigger ${name}_back before update on ${name} begin select raise(ignore); end`)
      : ['create trigger undone_back before update on undone for each row set new.v = old.v, new.w = old.w', 'create trigger nulled_back before update on nulled for each row set new.v = null, new.w = old.w']
  ]
}

await onEachEngine(t, 'a row that exists is not counted as inserted, whatever its triggers and defaults are', { schema: counted }, async (t, { post, sql }) => {
  for (const table of ['computed', 'bits', 'undone', 'nulled']) {
    const given = ['computed', 'bits'].includes(table) ? { v: null } : { w: 9 }
    for (const set of [undefined, Object.keys(given), given]) {
      const send = async (data: object) => outcomeOf(await post(table, { verb: 'insert', data, onConflict: { key: ['id'], ...set !== undefined && { set } }, dryRun: true }))
      const what = `${table}: ${JSON.stringify(set)}`
      t.match(await send({ id: 1, ...given }), { inserted: 0, updated: 0, unchanged: 1, id: 1 }, what)
      t.match(await send([{ id: 1, ...given }, { id: 2, ...given }]), { inserted: 0, updated: 0, unchanged: 2 }, what)
      t.match(await send([{ id: 1, ...given }, { id: 3, ...given }, { id: 2, ...given }]), { inserted: 1, updated: 0, unchanged: 2 }, what)
    }
  }
  t.same((await sql('select id, w from undone order by id')), [{ id: 1, w: 1 }, { id: 2, w: 2 }])
})

await onEachEngine(t, 'upserts from eight clients at once succeed in a table with a trigger of updates', { schema: watched }, async (t, { post, sql }) => {
  const lists = Array.from({ length: 40 }, (_, list) => Array.from({ length: 10 }, (_, row) => ({ code: `s${(list * 7 + row * 13) % 40}`, v: list })))
  const refused: unknown[] = []
  let next = 0
  let inserted = 0
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let list = lists[next++]; list !== undefined; list = lists[next++]) {
      const { status, json } = await post('stamped', { verb: 'insert', data: list, onConflict: { key: ['code'], ...next % 2 === 0 && { set: [] } } })
      if (status === 200) inserted += json.data.inserted
      else refused.push(json)
    }
  }))
  t.same(refused, [])
  t.match(await sql('select count(*) as n from stamped'), [{ n: inserted + 1 }])
})

const numbered: Schema = (engine) => [
  ...['before', 'after'].flatMap((timing) => {
    const set = engine === 'sqlite' || timing === 'after' ? 'insert into trimmed values (1)' : 'set new.name = trim(new.name)'
    return [
      `create table ${timing}s (${id(engine)}, email varchar(20) not null unique, name varchar(20) default 'n')`, `insert into ${timing}s values (41, 'a@x', 'Ann')`,
      trigger(engine, `${timing}_update`, `${timing} update on ${timing}s`, set)
    ]
  }),
  'create table trimmed (n int)', `create table visits (${id(engine)}, customer_id int)`
]

await onEachEngine(t, 'an upsert that finds its row answers its id in a table with triggers of updates, also for an account that sees no triggers', { schema: numbered }, async (t, { engine, post, operate, sql, url }) => {
  const clients = [{ post, operate }]
  if (engine !== 'sqlite') {
    const [{ name }] = await sql('select database() as name') as [{ name: string }]
    await sql('create user ? identified by ?', [name, 'word'])
    t.teardown(() => sql('drop user ?', [name]))
    await sql(`grant select, insert, update, delete on ${name}.* to ?`, [name])
    clients.push(await startService(t, Object.assign(new URL(url), { username: name, password: 'word' }).href))
  }
  for (const [client, { post, operate }] of clients.entries()) {
    for (const table of ['befores', 'afters']) {
      const upsert = (name: unknown, onConflict: object = {}, rest: object = {}) => ({ verb: 'insert', data: { email: 'a@x', name }, onConflict: { key: ['email'], ...onConflict }, ...rest })
      const send = async (...args: Parameters<typeof upsert>) => outcomeOf(await post(table, upsert(...args)))
      const name = `Ann ${client}`
      t.match(await send(name), { updated: 1, id: 41 }, table)
      t.match(await send(name), { unchanged: 1, id: 41 }, 'the same again')
      t.match(await send(null), { updated: 1, id: 41 }, 'null where the default is another value')
      t.match(await send(name, { set: { name: 'Ann C' } }), { updated: 1, id: 41 })
      t.match(await send(name, { set: [] }), { unchanged: 1, id: 41 })
      t.match(await send(name, {}, { returning: ['id'] }), { updated: 1, id: 41, rows: [{ id: 41 }] })
      await sql('delete from visits')
      const visit = { table: 'visits', verb: 'insert', data: { customer_id: { $ref: '/0/id' } } }
      t.match(outcomeOf(await operate([{ table, ...upsert(name) }, visit])).results, [{ unchanged: 1, id: 41 }, {}])
      t.same(await sql('select customer_id from visits'), [{ customer_id: 41 }])
    }
  }
})

const owned: Schema = (engine) => [
  `create table notes (${id(engine)}, tenant int not null, code varchar(10) not null, seen int not null default 0, unique (code))`,
  "insert into notes values (1, 7, 'a', 0)",
  ...engine === 'sqlite'
    ? ['create trigger seen after update on notes begin update notes set seen = seen + 1 where id = new.id; end']
    : ['create trigger seen before update on notes for each row set new.seen = old.seen + 1']
]
const inserter = { name: 'inserter', sha256: hashToken('inserter'), permissions: ['insert' as const], databases: { shop: { notes: { rows: { tenant: 7 } } } } }

await onEachEngine(t, 'the column of a rule was once written to the row that exists, and fired a trigger for a token that may only insert', { schema: owned, tokens: [inserter] }, async (t, { post, sql }) => {
  const upsert = async (data: object | object[]): Promise<unknown> => (await post('notes', { verb: 'insert', data, onConflict: { key: ['code'] } }, { token: 'inserter' })).json.data
  t.match(await upsert({ code: 'a' }), { inserted: 0, updated: 0, unchanged: 1 })
  t.match(await upsert([{ code: 'a' }, { code: 'b' }]), { inserted: 1, updated: 0, unchanged: 1 })
  t.same(await sql('select tenant, code, seen from notes order by code'), [{ tenant: 7, code: 'a', seen: 0 }, { tenant: 7, code: 'b', seen: 0 }])
})

const versioned: Schema = () => [
  'create table kept (id int auto_increment primary key, code varchar(10) not null unique, v int null, x int without system versioning) with system versioning',
  "insert into kept values (1, 'a', 1, 1), (2, 'b', 2, 2)",
  'create table computed_keys (id int primary key, k int generated always as (id + 1) stored, v int, unique key by_k (k)) with system versioning',
  'insert into computed_keys (id, v) values (1, 1), (2, 2)'
]

await onEachEngine(t, 'an upsert of rows in a table with history counts each row once, and writes no history where nothing is set', { schema: versioned, only: ['mariadb'] }, async (t, { post, sql }) => {
  const send = async (table: string, data: object, onConflict: object) => outcomeOf(await post(table, { verb: 'insert', data, onConflict }))
  const history = async (table: string) => (await sql(`select count(*) as n from ${table} for system_time all`))[0].n
  const code = { key: ['code'] }
  t.match(await send('kept', { code: 'a', v: 9 }, { ...code, set: [] }), { inserted: 0, updated: 0, unchanged: 1, id: 1 })
  t.match(await send('kept', [{ code: 'b' }, { code: 'a', v: 9 }], { ...code, set: [] }), { inserted: 0, updated: 0, unchanged: 2 })
  t.equal(await history('kept'), 2)
  t.match(await send('kept', { code: 'a', v: 3 }, code), { inserted: 0, updated: 1, unchanged: 0, id: 1 })
  t.match(await send('kept', [{ code: 'a', v: 4 }, { code: 'c', v: 5 }, { code: 'b', v: 6 }], code), { inserted: 1, updated: 2, unchanged: 0 })
  t.match(await send('kept', { code: 'a', x: 7 }, code), { inserted: 0, updated: 1, unchanged: 0, id: 1 }, 'a column without history')
  t.match(await send('kept', [{ code: 'a', v: 1 }, { code: 'd', v: 2 }], { ...code, set: { v: { $inc: 1 } } }), { inserted: 1, updated: 1, unchanged: 0 })
  t.match(await post('kept', { verb: 'update', data: { v: 6 }, filters: { code: 'b' } }), { json: { data: { updated: 1 } } }, 'as an update, which writes history although the value is there')
  t.same(await sql('select code, v, x from kept order by code'), [{ code: 'a', v: 5, x: 7 }, { code: 'b', v: 6, x: 2 }, { code: 'c', v: 5, x: null }, { code: 'd', v: 2, x: null }])
  t.match(await send('computed_keys', { id: 1, v: 5 }, { key: ['k'] }), { inserted: 0, updated: 1, unchanged: 0 }, 'a key that only the database computes')
  t.match(await send('computed_keys', [{ id: 2, v: 5 }, { id: 3, v: 5 }, { id: 1, v: 6 }], { key: ['k'] }), { inserted: 1, updated: 2, unchanged: 0 })
  t.same(await sql('select id, v from computed_keys order by id'), [{ id: 1, v: 6 }, { id: 2, v: 5 }, { id: 3, v: 5 }])
})

await onEachEngine(t, 'a table with explicit columns of its history has the key that the documents say', {
  schema: () => ['create table periods (id int primary key, v int, s timestamp(6) generated always as row start, e timestamp(6) generated always as row end, period for system_time (s, e)) with system versioning'],
  only: ['mariadb']
}, async (t, { post }) => {
  t.match(outcomeOf(await post('periods', { verb: 'insert', data: { id: 1, v: 1 } })), { inserted: 1, id: null })
  t.same(outcomeOf(await post('periods', { verb: 'insert', data: { id: 1, v: 2 }, onConflict: { key: ['id'] } })), [400, 'INVALID_BODY', '/onConflict/key'])
  t.match(outcomeOf(await post('periods', { verb: 'update', data: { v: 2 }, filters: { id: 1 }, expect: 1 })), { updated: 1 })
  t.match(outcomeOf(await post('periods', { verb: 'select', after: null, filters: { id: 1 } })), { count: 1, next: null, rows: [{ id: 1, v: 2 }] })
})
