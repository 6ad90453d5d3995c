/** Inserts with triggers and generated defaults: `id` is correct or null, and a column that a trigger fills may be omitted. */
import t from 'tap'
import { get } from '../support/documents.ts'
import { onEachEngine, type Schema } from '../support/service.ts'

const schema: Schema = {
  mysql: [
    'create table log (id int not null auto_increment primary key, note varchar(20) null) auto_increment = 500',
    'create table logged (id bigint not null auto_increment primary key, note varchar(20) null)',
    'create trigger logged_insert after insert on logged for each row insert into log (note) values (new.note)',
    'create table logged_before (id int not null auto_increment primary key, note varchar(20) null)',
    'create trigger logged_before_insert before insert on logged_before for each row begin insert into log (note) values (new.note); set new.note = last_insert_id(); end',
    'create table renumbered (id bigint not null auto_increment primary key, note varchar(20) null)',
    'create trigger renumbered_insert before insert on renumbered for each row set new.id = -1000 + coalesce(new.note, 0)',
    'create table keyed (code varchar(40) not null primary key, note varchar(20) null)',
    "create trigger keyed_insert before insert on keyed for each row set new.code = concat('made-', new.note)",
    'create table by_default (code varchar(40) not null default (uuid()) primary key, note varchar(20) null)',
    'create table filled (id int not null auto_increment primary key, slug varchar(20) not null, owner varchar(20) not null)',
    "create trigger filled_insert before insert on filled for each row set new.slug = coalesce(new.slug, 'made')",
    'create table unfilled (id int not null auto_increment primary key, slug varchar(20) not null)'
  ],
  sqlite: [
    'create table log (id integer not null primary key, note text)',
    "insert into log values (500, '')",
    'create table logged (id integer not null primary key, note text)',
    'create trigger logged_insert after insert on logged for each row begin insert into log (note) values (new.note); end',
    'create table logged_before (id integer not null primary key, note text)',
    'create trigger logged_before_insert before insert on logged_before for each row begin insert into log (note) values (new.note); end',
    'create table renumbered (id integer not null primary key, note text)',
    'create trigger renumbered_insert after insert on renumbered for each row begin update renumbered set id = id + 1000 where id = new.id; end',
    'create table keyed (code text not null primary key, note text)',
    "create trigger keyed_insert after insert on keyed for each row begin update keyed set code = 'made-' || new.note where code = new.code; end",
    'create table "left ""out""" (code text not null primary key, note text)',
    "create trigger left_out before insert on \"left \"\"out\"\"\" for each row when new.note = 'no' begin select raise(ignore); end",
    'create trigger left_out_after after insert on "left ""out""" for each row begin insert into log (note) values (new.note); end',
    'create table filled (id integer not null primary key, slug text not null, owner text not null)',
    "create trigger filled_insert before insert on filled for each row begin insert into log (note) values ('x'); end",
    'create table unfilled (id integer not null primary key, slug text not null)'
  ]
}

await onEachEngine(t, 'an insert once returned a wrong id when a trigger had changed the key', { schema }, async (t, { engine, post, sql }) => {
  const insert = async (table: string, data: object): Promise<any> => (await post(table, { verb: 'insert', data })).json.data
  t.same(await insert('logged', { note: 'x' }), { inserted: 1, id: 1 }, 'a row that a trigger adds to another table does not change the id')
  t.same(await insert('logged', { id: 7, note: 'x' }), { inserted: 1, id: 7 })
  t.same(await insert('logged', { id: -7, note: 'x' }), { inserted: 1, id: -7 })
  t.same(await insert('logged_before', { note: 'x' }), { inserted: 1, id: 1 })
  t.same(await insert('logged_before', { id: 9, note: 'x' }), { inserted: 1, id: 9 })
  t.same(await insert('logged_before', { id: -9, note: 'x' }), { inserted: 1, id: -9 })
  if (engine === 'sqlite') {
    t.same(await insert('renumbered', { note: 'x' }), { inserted: 1, id: null })
    t.same(await insert('renumbered', { id: 5, note: 'x' }), { inserted: 1, id: null })
    t.same(await insert('left "out"', { code: 'a', note: 'yes' }), { inserted: 1, id: 'a' })
    t.same(await insert('left "out"', { code: 'b', note: 'no' }), { inserted: 0, id: null })
  } else {
    t.same(await insert('renumbered', {}), { inserted: 1, id: -1000 })
    t.same(await insert('renumbered', { id: 5, note: '2000' }), { inserted: 1, id: 1000 })
    t.same(await insert('by_default', { note: 'x' }), { inserted: 1, id: null })
    t.same(await insert('by_default', { code: 'given' }), { inserted: 1, id: 'given' })
  }
  t.same(await insert('keyed', { code: 'given', note: 'x' }), { inserted: 1, id: null })
  t.match(await sql('select code from keyed'), [{ code: 'made-x' }])
})

await onEachEngine(t, 'a column that a trigger fills was once required', { schema }, async (t, { engine, server, post, statements }) => {
  const insert = async (table: string, data: object): Promise<any> => (await post(table, { verb: 'insert', data })).json
  const slug = { code: 'MISSING_COLUMN', message: '"data" is missing columns that have no default: "slug"', details: [{ path: '/data/slug', message: 'has no default' }] }
  if (engine === 'sqlite') t.same((await insert('filled', { owner: 'me' })).error, slug, "SQLite's triggers fill no column")
  else t.same((await insert('filled', { owner: 'me' })).data, { inserted: 1, id: 1 })
  t.same((await insert('filled', { slug: 'own' })).error, { code: 'MISSING_COLUMN', message: '"data" is missing columns that have no default: "owner"', details: [{ path: '/data/owner', message: 'has no default' }] })
  t.match((await insert('filled', { slug: 'own', owner: null })).error, { code: 'NOT_NULL_VIOLATION', details: [{ path: '/data/owner' }] })
  t.same((await get(server, '/shop/openapi.json')).json.components.schemas.FilledInsert.required, engine === 'sqlite' ? ['slug', 'owner'] : undefined, 'the OpenAPI document agrees')
  statements()
  t.same((await insert('unfilled', {})).error, slug)
  t.same(statements(), [], 'without a trigger no statement is sent')
})

const halfWay: Schema = {
  mysql: [],
  sqlite: [
    'create table items (id integer primary key, n integer not null unique on conflict fail, note text)',
    "insert into items values (1, 1, 'a'), (2, 2, 'b'), (3, 3, 'c')",
    'create table log (id integer primary key on conflict fail)',
    'insert into log values (3)',
    "create trigger raises before update of note on items when old.id = 3 and new.note = 'raise' begin select raise(fail, 'no'); end",
    "create trigger collides after update of note on items when new.note = 'log' begin insert into log values (new.id); end",
    "create trigger keeps before delete on items when old.id = 2 begin select raise(fail, 'no'); end"
  ]
}

await onEachEngine(t, 'a statement that SQLite aborts halfway with FAIL changes nothing', { schema: halfWay, only: ['sqlite'] }, async (t, { post, sql }) => {
  const before = await sql('select id, n, note, (select count(*) from log) as logged from items')
  const filters = { id: { $lte: 3 } }
  const refused: Array<[body: object, status: number]> = [
    [{ verb: 'update', data: { note: 'raise' }, filters }, 422],
    [{ verb: 'update', data: { note: 'log' }, filters }, 409],
    [{ verb: 'update', data: { n: 7 }, filters }, 409],
    [{ verb: 'delete', filters }, 422]
  ]
  for (const [body, status] of refused) {
    t.equal((await post('items', body)).status, status, JSON.stringify(body))
    t.same(await sql('select id, n, note, (select count(*) from log) as logged from items'), before, JSON.stringify(body))
  }
  t.match((await post('items', { verb: 'update', data: { note: 'fine' }, filters })).json, { data: { updated: 3 } }, 'and no transaction stays open')
})
