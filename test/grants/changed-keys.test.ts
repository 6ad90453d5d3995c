/** Writes under rules whose rows are hard to find again: a trigger changes their keys, or the request gives none. */
import t from 'tap'
import { onEachEngine, type EngineName, type Schema } from '../support/service.ts'
import { outcomeOf, tokenFor, upsertById as upsert } from './support.ts'

const number = (engine: EngineName): string => engine === 'sqlite' ? 'id integer primary key autoincrement' : 'id bigint auto_increment primary key'
const away = 'set new.id = if(new.n = 4, new.id + 50, new.id), new.tenant = if(new.n = 4, 8, new.tenant), new.owner_id = if(new.n = 5, 2, new.owner_id)'

const schema: Schema = (engine) => [
  'create table owners (id int not null, tenant int not null, primary key (id), unique key of_tenant (tenant, id))'.replace(engine === 'sqlite' ? 'unique key of_tenant' : 'nothing', 'unique'),
  'insert into owners values (1, 7), (2, 8), (4, 7)',
  'create table cars (id int primary key, owner_id int, note varchar(20), foreign key (owner_id) references owners (id))',
  "insert into cars values (1, 1, 'a'), (2, 1, 'b')",
  `create table orders (${number(engine)}, tenant int not null, owner_id int, note varchar(20) unique, foreign key (tenant, owner_id) references owners (tenant, id))`,
  ...engine === 'sqlite'
    ? []
    : [
        'create table moved (id int primary key, tenant int not null, n int not null default 0, owner_id int, foreign key (owner_id) references owners (id))',
        'insert into moved values (1, 7, 0, 1), (2, 7, 0, 1)',
        `create trigger moved_in before insert on moved for each row ${away}`,
        `create trigger moved_on before update on moved for each row ${away}`,
        'create table words (word varchar(20) primary key, tenant int not null)',
        "insert into words values ('a', 7), ('b', 7)",
        'create trigger words_on before update on words for each row set new.tenant = new.tenant'
      ]
]

const own = { rows: { tenant: 7 } }
const tokens = [tokenFor('seven', { owners: own, cars: {}, orders: own, moved: own, words: own })]
const only = ['mariadb', 'mysql'] as const

await onEachEngine(t, 'a row whose key a trigger changes is not written outside of the rules', { schema, tokens, only }, async (t, { post, sql }) => {
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
  t.same(await send(upsert([{ id: 9, n: 5 }, { id: 9, n: 0, owner_id: 1 }])), [409, 'FOREIGN_KEY_VIOLATION', '/data/0/owner_id'], 'each row is checked')
  t.same(await send({ verb: 'update', data: { id: 2, n: 4 }, filters: { id: 1 } }), [422, 'NOT_SUPPORTED', ''], 'an update that gives a row the key of another')
  t.same(await send({ verb: 'update', data: { id: 5, n: 4 }, filters: { id: 1 } }), refused)
  t.same(await send({ verb: 'update', data: { id: { $inc: 1 }, n: 4 }, filters: { id: { $in: [1, 2] } } }), refused)
  t.same((await send({ verb: 'update', data: { id: 2 }, filters: { id: 1 } })).slice(0, 2), [409, 'UNIQUE_VIOLATION'])
  t.same(await dump(), before, 'nothing was changed')

  t.match(await send(upsert({ id: 1, n: 1 })), { updated: 1 })
  t.match(await send(upsert([{ id: 1, n: 1 }, { id: 2, n: 2 }, { id: 3, n: 3 }])), { inserted: 1, updated: 1, unchanged: 1 })
  t.match(await send({ ...upsert([{ id: 4, n: 1 }, { id: 3, n: 7 }]), returning: ['id', 'tenant', 'n'] }), { inserted: 1, updated: 1, rows: [{ id: 4, tenant: 7, n: 1 }, { id: 3, tenant: 7, n: 7 }] })
  t.match(await send({ verb: 'update', data: { id: 30 }, filters: { id: 3 } }), { updated: 1 })
  t.match(await send({ verb: 'update', data: { id: { $inc: 40 } }, filters: { id: { $in: [4, 30] } } }), { updated: 2 })
  t.match(await send({ verb: 'update', data: { word: 'A' }, filters: { word: 'a' } }, 'words'), { updated: 1 }, 'a key that is equal to the one before')
  t.match(await send({ verb: 'update', data: { word: 'B', tenant: 7 }, filters: { word: 'a' } }, 'words'), [409, 'UNIQUE_VIOLATION'])
})

await onEachEngine(t, 'an upsert without a value for the key is inserted where its reference is checked after the write', { schema, tokens }, async (t, { post }) => {
  const send = async (body: object) => (await post('orders', body, { token: 'seven' })).json
  t.match(await send(upsert({ note: 'x' })), { data: { inserted: 1, id: 1 } })
  t.match(await send(upsert({ note: 'y', owner_id: 1 }, ['owner_id'])), { data: { inserted: 1, id: 2 } })
  t.match(await send(upsert([{ note: 'z' }, { id: 1, note: 'w' }])), { data: { inserted: 1, updated: 1 } })
  t.match(await send({ ...upsert([{ note: 'v' }, { id: 1, note: 'u' }]), returning: ['note', 'tenant'] }), { data: { rows: [{ note: 'v', tenant: 7 }, { note: 'u', tenant: 7 }] } })
  for (const owner of [2, 99]) {
    t.match(await send(upsert({ note: 'r', owner_id: owner })), { error: { code: 'FOREIGN_KEY_VIOLATION' } }, `${owner}`)
    t.match(await send(upsert([{ note: 'r' }, { note: 's', owner_id: owner }], ['owner_id'])), { error: { code: 'FOREIGN_KEY_VIOLATION' } }, `${owner}`)
  }
  t.match(await send(upsert([{ note: 'r' }, { note: 'x', id: 3 }, { note: 'u' }])), { error: { code: 'UNIQUE_VIOLATION', details: [{ path: '/data/2/note' }] } })
  t.match(await send({ verb: 'select', columns: ['note'], orderBy: 'id' }), { data: { rows: [{ note: 'u' }, { note: 'y' }, { note: 'z' }, { note: 'v' }] } })
})

await onEachEngine(t, 'a number of rows that is not expected does not tell whether a hidden row exists', { schema, tokens }, async (t, { post, sql }) => {
  const ask = async (owner: number, terms: object) => {
    const { text } = await post('cars', { verb: 'update', data: { owner_id: owner }, ...terms }, { token: 'seven' })
    return text
  }
  for (const terms of [{ filters: { id: 1 }, expect: 0 }, { filters: { id: { $gte: 1 } }, expect: 1 }, { filters: { id: 1 }, expect: { $gte: 2 } }, { filters: { id: 1 }, expect: 0, returning: '*' }, { filters: { id: 9 }, expect: 1 }, { filters: { id: 9 } }]) {
    t.equal(await ask(2, terms), await ask(99, terms), JSON.stringify(terms))
  }
  t.match(JSON.parse(await ask(4, { filters: { id: 1 }, expect: 0 })), { error: { code: 'EXPECTATION_FAILED' } })
  t.match(JSON.parse(await ask(99, { filters: { id: 9 } })), { data: { updated: 0 } }, 'an update of no row refers to nothing')
  t.match(await sql('select owner_id from cars'), [{ owner_id: 1 }, { owner_id: 1 }])
})
