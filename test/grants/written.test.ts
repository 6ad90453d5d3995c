/** Rows whose values the database computes are checked after the write. */
import t, { type Test } from 'tap'
import { createTestDatabase, engines } from '../servers/engines.ts'
import { onEachEngine, startService, type EngineName, type Schema } from '../support/service.ts'
import { tokenFor } from './support.ts'

const id = (engine: EngineName): string => engine === 'sqlite' ? 'id integer primary key autoincrement' : 'id bigint auto_increment primary key'

const schema: Schema = (engine) => [
  `create table zones (${id(engine)}, name varchar(20), zone varchar(5), region varchar(5) ${engine === 'sqlite' ? '' : 'character set utf8mb4 '}generated always as (upper(zone)) stored)`,
  "insert into zones (id, name, zone) values (1, 'one', 'eu'), (2, 'two', 'us')",
  `create table notes (${id(engine)}, tenant varchar(10) not null, text varchar(20) unique)`,
  "insert into notes values (1, 'acme', 'one'), (2, 'zeta', 'two')",
  'create table tags (code varchar(10) primary key, tenant varchar(10) not null)',
  "insert into tags values ('a', 'acme')",
  engine === 'sqlite' ? "create trigger tag after insert on tags begin update tags set code = code || '!', tenant = 'zeta' where code = new.code; end" : "create trigger tag before insert on tags for each row set new.code = concat(new.code, '!'), new.tenant = 'zeta'",
  ...engine === 'sqlite'
    ? [
        "create trigger give after insert on notes when new.text like 'give%' begin update notes set tenant = 'zeta' where id = new.id; end",
        "create trigger pass after update on notes when new.text like 'give%' begin update notes set tenant = 'zeta' where id = new.id; end"
      ]
    : [
        "create trigger give before insert on notes for each row set new.tenant = if(new.text like 'give%', 'zeta', new.tenant)",
        "create trigger pass before update on notes for each row set new.tenant = if(new.text like 'give%', 'zeta', new.tenant)",
        'create table logs (id int primary key, text varchar(20), changed timestamp not null default current_timestamp on update current_timestamp)',
        "insert into logs values (1, 'one', '2001-01-01')",
        'create table keyless (zone varchar(5), region varchar(5) generated always as (upper(zone)) stored)',
        "insert into keyless (zone) values ('eu')"
      ]
]

const tokens = [
  tokenFor('clerk', {
    zones: { rows: { region: 'EU' } },
    notes: { rows: { tenant: 'acme' } },
    tags: { rows: { tenant: 'acme' } },
    logs: { rows: { changed: { $lt: '2010-01-01T00:00:00Z' } } },
    keyless: { rows: { region: 'EU' } }
  })
]

await onEachEngine(t, 'a row with a value that the database computes satisfies the rules', { schema, tokens }, async (t, { post, sql, engine }) => {
  const send = async (table: string, body: object) => {
    const { status, json } = await post(table, body, { token: 'clerk' })
    return status === 200 ? json.data : [status, json.error.code]
  }
  const before = { zones: await sql('select * from zones order by id'), notes: await sql('select * from notes order by id') }
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
  t.match(await send('tags', { verb: 'insert', data: { code: 'a' } }), engine === 'sqlite' ? [409, 'UNIQUE_VIOLATION'] : [422, 'NOT_SUPPORTED'], 'the key that the row should have is that of another row')
  t.same((await sql('select code, tenant from tags')).map((row) => ({ ...row })), [{ code: 'a', tenant: 'acme' }])
  t.same({ zones: await sql('select * from zones order by id'), notes: await sql('select * from notes order by id') }, before, 'nothing was changed')

  t.match(await send('zones', { verb: 'insert', data: { zone: 'eu' } }), { inserted: 1, id: Number })
  t.match(await send('zones', { verb: 'insert', data: [{ zone: 'eu' }, { zone: 'Eu', name: 'x' }] }), { inserted: 2, id: Number })
  t.match(await send('zones', { verb: 'insert', data: [{ zone: 'eu', name: 'l1' }, { zone: 'eU', name: 'l2' }], returning: ['name', 'region'] }), { inserted: 2, rows: [{ name: 'l1', region: 'EU' }, { name: 'l2', region: 'EU' }] })
  t.match(await send('zones', { verb: 'delete', filters: { name: ['l1', 'l2'] } }), { deleted: 2 })
  t.match(await send('zones', { verb: 'insert', data: { id: 1, zone: 'EU' }, onConflict: { key: ['id'] } }), { inserted: 0, updated: 1 })
  t.match(await send('zones', { verb: 'insert', data: { id: 50, zone: 'eu', name: 'fifty' }, returning: ['id', 'region'] }), { inserted: 1, rows: [{ id: 50, region: 'EU' }] })
  t.same(await send('zones', { verb: 'update', data: { name: 'y' }, filters: { id: { $gte: 0 } } }), { updated: 5 })
  t.same(await send('zones', { verb: 'update', data: { id: 60, zone: 'eU' }, filters: { id: 50 } }), { updated: 1 })
  t.match(await send('notes', { verb: 'insert', data: { text: 'keep' } }), { inserted: 1, id: Number })
  t.match(await send('notes', { verb: 'insert', data: [{ text: 'a' }, { text: 'b' }] }), { inserted: 2 })
  t.match(await send('notes', { verb: 'insert', data: [{ text: 'c' }, { text: 'a' }] }), [409, 'UNIQUE_VIOLATION'])
  t.same(await send('notes', { verb: 'update', data: { text: 'other' }, filters: { text: 'keep' } }), { updated: 1 })
  t.same(await send('notes', { verb: 'delete', filters: { text: 'other' } }), { deleted: 1 })
})

await onEachEngine(t, 'a column that an update sets to the time satisfies its rule; what cannot be checked is refused', { schema, tokens, only: ['mariadb', 'mysql'] }, async (t, { post, sql }) => {
  const update = async (table: string, data: object, filters: object) => {
    const { status, json } = await post(table, { verb: 'update', data, filters }, { token: 'clerk' })
    return status === 200 ? json.data : [status, json.error.code]
  }
  t.same(await update('logs', { text: 'two' }, { id: 1 }), [403, 'PERMISSION_DENIED'])
  t.same(await update('logs', { text: 'two', changed: '2002-02-02T00:00:00Z' }, { id: 1 }), { updated: 1 }, 'unless it is written')
  t.same(await update('logs', { text: 'two' }, { id: 1 }), { updated: 0 }, 'nothing changes, nor does the time')
  t.same(await update('keyless', { zone: 'EU' }, { zone: 'eu' }), [422, 'NOT_SUPPORTED'], 'a row without a key')
  t.same((await sql('select zone from keyless')).map(({ zone }) => zone), ['eu'])
  await sql('insert into zones (id, zone) select 1000 + n, \'eu\' from (with recursive n (n) as (select 1 union all select n + 1 from n where n < 999) select n from n) numbers')
  t.same(await update('zones', { name: 'x' }, { id: { $gte: 1001 } }), { updated: 999 })
  await sql("insert into zones (id, zone) values (3001, 'eu'), (3002, 'eu')")
  t.same(await update('zones', { name: 'y' }, { id: { $gte: 1001 } }), [422, 'RESULT_TOO_LARGE'])
})

for (const engine of await engines()) {
  t.test(`an account that does not see triggers can write under rules (${engine.name})`, async (t) => {
    const database = await createTestDatabase(engine, ['create table items (id int auto_increment primary key, tenant varchar(10) not null, n int)', "insert into items values (1, 'acme', 1), (2, 'zeta', 2)"])
    const account = `w_${database.name.slice(2)}`
    await database.query(`create user '${account}'@'%' identified by 'hunter2'`)
    await database.query(`grant select, insert, update, delete on ${database.name}.* to '${account}'@'%'`)
    t.teardown(async () => {
      await database.query(`drop user '${account}'@'%'`)
      await database.drop()
    })
    const url = Object.assign(new URL(database.url), { username: account, password: 'hunter2' })
    const { post } = await startService(t as Test, url.href, { tokens: [tokenFor('acme', { items: { columns: { select: ['id', 'n'] }, rows: { tenant: 'acme' } } })] })
    const send = async (body: object) => {
      const { status, json } = await post('items', body, { token: 'acme' })
      return status === 200 ? json.data : [status, json.error.code]
    }
    t.same(await send({ verb: 'insert', data: { n: 3 } }), { inserted: 1, id: 3 })
    t.same(await send({ verb: 'insert', data: [{ n: 4 }, { n: 5 }] }), { inserted: 2, id: 4 })
    t.same(await send({ verb: 'insert', data: { id: 1, n: 6 }, onConflict: { key: ['id'] } }), { inserted: 0, updated: 1, unchanged: 0, id: 1 })
    t.same(await send({ verb: 'insert', data: { id: 2, n: 6 }, onConflict: { key: ['id'] } }), [409, 'UNIQUE_VIOLATION'])
    t.same(await send({ verb: 'update', data: { n: 7 }, filters: { id: { $gte: 0 } } }), { updated: 4 })
    t.same((await database.query('select id, tenant, n from items order by id')).map((row: any) => Object.values(row)), [[1, 'acme', 7], [2, 'zeta', 2], [3, 'acme', 7], [4, 'acme', 7], [5, 'acme', 7]])
  })
}
