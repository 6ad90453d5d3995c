/** Foreign keys to a table with rules whose values only the written rows show: the database computes them, or keeps a part of them. */
import t from 'tap'
import { onEachEngine, type EngineName, type Schema } from '../support/service.ts'
import { outcomeOf, tokenFor, upsertById as upsert } from './support.ts'

const id = (engine: EngineName): string => engine === 'sqlite' ? 'id integer primary key autoincrement' : 'id bigint auto_increment primary key'
const generated = (engine: EngineName): string => engine === 'sqlite' ? 'half * 2' : '(half * 2)'

const schema: Schema = (engine) => [
  'create table places (x int, y int, tenant int not null, primary key (x, y))',
  'insert into places values (1, 1, 7), (2, 2, 7), (1, 2, 8), (2, 1, 8)',
  `create table stays (${id(engine)}, tenant int not null, x int, y int, foreign key (x, y) references places (x, y))`,
  'create table owners (id int primary key, tenant int not null)',
  'insert into owners values (1, 7), (2, 8), (4, 7)',
  `create table halves (${id(engine)}, tenant int not null, half int, owner_id int generated always as (${generated(engine)}) stored, foreign key (owner_id) references owners (id))`,
  'insert into halves (id, tenant, half) values (1, 7, 2), (2, 8, 1)',
  `create table moved (${id(engine)}, tenant int not null, owner_id int, note varchar(20), foreign key (owner_id) references owners (id))`,
  "insert into moved values (1, 7, 1, 'kept')",
  ...engine === 'sqlite'
    ? [
        "create trigger moved_in after insert on moved when new.note = 'move' begin update moved set owner_id = 2 where id = new.id; end",
        "create trigger moved_on after update on moved when new.note = 'move' begin update moved set owner_id = 2 where id = new.id; end"
      ]
    : [
        "create trigger moved_in before insert on moved for each row set new.owner_id = if(new.note = 'move', 2, new.owner_id)",
        "create trigger moved_on before update on moved for each row set new.owner_id = if(new.note = 'move', 2, new.owner_id)"
      ]
]

const own = { rows: { tenant: { $claim: '/tenant' } } }
const tables = { places: own, stays: own, owners: own, halves: own, moved: own }
const hidden = { ...tables, moved: { ...own, columns: { select: ['id', 'note'] } } }
const tokens = [tokenFor('seven', tables, { tenant: 7 }), tokenFor('children', { ...tables, stays: {}, halves: {}, moved: {} }, { tenant: 7 }), tokenFor('hidden', hidden, { tenant: 7 })]

await onEachEngine(t, 'a write that makes a row refer to one outside of the rules is undone', { schema, tokens }, async (t, { engine, post, operate, sql }) => {
  const send = async (table: string, body: object, token = 'seven') => outcomeOf(await post(table, body, { token }))
  const dump = async () => await Promise.all(['stays', 'halves', 'moved'].map((table) => sql(`select * from ${table} order by id`)))
  // SQLite does not say which key it is
  const refused = (...paths: string[]) => [409, 'FOREIGN_KEY_VIOLATION', ...engine === 'sqlite' ? new Set(paths.flatMap((path) => /^\/data\/\d+/.exec(path) ?? [])) : paths]

  t.match(await send('stays', { verb: 'insert', data: { id: 20, x: 1, y: 1 } }), { inserted: 1 })
  t.match(await send('stays', { verb: 'insert', data: { id: 21, x: null, y: 2 } }), { inserted: 1 })
  const before = await dump()
  for (const token of ['seven', 'children']) {
    const tenant = token === 'children' ? { tenant: 7 } : {}
    const pair = refused('/data/x', '/data/y')
    t.same(await send('stays', upsert({ id: 20, x: 2, y: 2, ...tenant }, ['x']), token), pair, 'x of the request, and y of the row that exists')
    t.same(await send('stays', upsert({ id: 21, x: 1, ...tenant }), token), pair, 'y is left out')
    t.same(await send('stays', upsert([{ id: 20, x: 1, ...tenant }, { id: 21, x: 1, ...tenant }] as never), token), refused('/data/1/x', '/data/1/y'), 'the second row')
    t.same(await send('halves', { verb: 'update', data: { half: 1 }, filters: { id: 1 } }, token), refused('/data/owner_id'), 'a generated column')
    t.same(await send('halves', { verb: 'insert', data: { half: 1, ...tenant } }, token), refused('/data/owner_id'))
    t.same(await send('halves', { verb: 'insert', data: [{ half: 2, ...tenant }, { half: 1, ...tenant }] }, token), refused('/data/1/owner_id'))
    t.same(await send('halves', upsert({ id: 1, half: 1, ...tenant }), token), refused('/data/owner_id'))
    t.same(await send('moved', { verb: 'insert', data: { owner_id: 1, note: 'move', ...tenant } }, token), refused('/data/owner_id'), 'a trigger')
    t.same(await send('moved', { verb: 'update', data: { owner_id: 4, note: 'move' }, filters: { id: 1 } }, token), refused('/data/owner_id'))
    t.same(await send('moved', { verb: 'update', data: { note: 'move' }, filters: { id: 1 } }, token), refused('/data/owner_id'), 'the column is not written')
    t.same(await send('moved', { verb: 'update', data: { note: 'move' }, filters: { id: 1 }, dryRun: true }, token), refused('/data/owner_id'))
  }
  t.same(await send('moved', { verb: 'update', data: { note: 'move' }, filters: { id: 1 } }, 'hidden'), refused(), 'a hidden column')
  const { json } = await operate([{ table: 'stays', verb: 'insert', data: { id: 30, x: 1, y: 1 } }, { table: 'stays', ...upsert({ id: 30, x: 2, y: 2 }, ['x']) }], { token: 'seven' })
  t.match(json, { error: { code: 'FOREIGN_KEY_VIOLATION', details: engine === 'sqlite' ? [{ path: '/operations/1' }] : [{ path: '/operations/1/data/x' }, { path: '/operations/1/data/y' }] } })
  t.same(await dump(), before, 'nothing was changed')

  t.match(await send('stays', upsert({ id: 20, x: 2, y: 2 })), { updated: 1 }, 'the whole key')
  t.match(await send('stays', upsert({ id: 20, x: 2, y: 1 }, ['tenant'])), [409], 'the row would be inserted with this key')
  t.match(await send('stays', upsert({ id: 20, x: null, y: 1 }, ['x'])), { updated: 1 }, 'NULL refers to nothing')
  t.match(await send('stays', upsert({ id: 21, x: 2 })), { updated: 1 }, 'a row that the rules allow')
  t.match(await send('halves', { verb: 'update', data: { half: null }, filters: { id: 1 } }), { updated: 1 })
  t.match(await send('halves', { verb: 'insert', data: [{ half: 2 }, { half: null }] }), { inserted: 2 })
  t.match(await send('moved', { verb: 'insert', data: { owner_id: 4, note: 'here' } }), { inserted: 1 })
  t.match(await send('moved', { verb: 'update', data: { owner_id: 4 }, filters: { id: 1 } }), { updated: 1 })
})

await onEachEngine(t, 'a list that breaks a rule names the row', { schema, tokens }, async (t, { post, operate }) => {
  const error = async (body: object) => (await post('owners', body, { token: 'seven' })).json.error
  const list = [{ id: 11 }, { id: 9, tenant: 7 }, { id: 10, tenant: 8 }, { id: 8, tenant: 8 }]
  t.match(await error({ verb: 'insert', data: list }), { code: 'PERMISSION_DENIED', details: [{ path: '/data/2' }] })
  t.match(await error({ verb: 'insert', data: list, onConflict: { key: ['id'] } }), { code: 'PERMISSION_DENIED', details: [{ path: '/data/2' }] }, 'also where the rows are sorted')
  t.same((await error({ verb: 'insert', data: list[2] })).details, [], 'a row that is no list')
  t.match((await operate([{ table: 'owners', verb: 'insert', data: list }], { token: 'seven' })).json.error, { details: [{ path: '/operations/0/data/2' }] })
})
