/** `onConflict` of an insert (docs/writes.md). */
import t from 'tap'
import { outcomeOf, tokenFor } from '../grants/support.ts'
import { numberedId, trigger } from '../support/definitions.ts'
import { load } from '../support/load.ts'
import { isRefusal } from '../support/refusals.ts'
import { type EngineName, onEachEngine, type Schema, sharedOnEachEngine, startService } from '../support/service.ts'
import { createUser } from '../support/users.ts'

const schema: Schema = (engine) => [
  `create table items (${numberedId(engine)}, sku varchar(20) not null unique, code varchar(20) null unique,
    price decimal(10,2) not null default 7, n int null default 3, note varchar(10) null, check (n < 100))`,
  "insert into items (sku, code, price) values ('A', 'a1', 1), ('B', 'b1', 2)",
  'create table pairs (a int not null, b int not null, v int null, primary key (b, a))',
  'insert into pairs values (1, 2, 3)',
  'create table words (word varchar(20) not null primary key, v int null)',
  "insert into words values ('one', 1)",
  `create table spoken (word varchar(20) ${engine === 'sqlite' ? 'collate nocase' : ''} not null primary key,
    v int null)`,
  "insert into spoken values ('one', 1)",
  `create table plain (${numberedId(engine)}, n int null)`,
  ...['signed', 'unsigned'].flatMap((name) => [
    `create table ${name}_ids (${numberedId(engine, name === 'signed' ? 'bigint' : 'bigint unsigned')},
      k int not null unique, c int null unique, v int null)`,
    `insert into ${name}_ids values (${firstId(engine, name)}, 1, 1, 1), (7, 2, 2, 2)`
  ]),
  ...defaults(engine), ...odd(engine)
]
const firstId = (engine: EngineName, name: string): string =>
  name === 'signed' || engine === 'sqlite' ? '-5' : '18446744073709551610'

/** The servers meet the key on `name` first. */
const defaults = (engine: EngineName): string[] => [
  `create table tags (${numberedId(engine)}, name varchar(20) not null unique,
    kind varchar(10) not null default 'x' unique, n int null default 5 unique,
    made varchar(40) null default ${engine === 'sqlite' ? "('a' || 'b')" : "(concat('a', 'b'))"} unique, v int null)`,
  "insert into tags (name, kind, n, made) values ('one', 'q', 1, 'm1'), ('two', 'x', 5, 'm2')"
]

/** Keys with a prefix, a condition or an expression are not keys of their columns. */
const odd = (engine: EngineName): string[] => [
  'create table odd (id int not null primary key, t text null, e varchar(20) null, c varchar(20) null)',
  ...engine === 'mariadb' ? [] : ['create unique index odd_e on odd (e, (lower(c)))'],
  engine === 'sqlite'
    ? 'create unique index odd_t on odd (t) where id > 5'
    : 'create unique index odd_t on odd (t(10))'
]

const items = 'select sku, code, price, n from items order by id'
const shown = (rows: any[]): unknown[] => rows.map(({ sku, code, price, n }) => [sku, code, Number(price), n])

const test = sharedOnEachEngine(t, { schema })

await test('rows that exist in the named key are updated, the others inserted, ' +
  'and each is counted', async (t, { post, sql }) => {
  const upsert = async (data: unknown, onConflict: object) =>
    (await post('items', { verb: 'insert', data, onConflict })).json.data
  t.same(await upsert([{ sku: 'A', price: '5.00' }, { sku: 'C' }], { key: ['sku'], set: ['price'] }), {
    inserted: 1, updated: 1, unchanged: 0, id: null
  })
  t.same(await upsert([
    { sku: 'A', price: '5.00' }, { sku: 'B', price: '6.00' }, { sku: 'D', price: '8.00' }
  ], { key: ['sku'] }), { inserted: 1, updated: 1, unchanged: 1, id: null })
  t.same(shown(await sql(items)), [['A', 'a1', 5, 3], ['B', 'b1', 6, 3], ['C', null, 7, 3], ['D', null, 8, 3]])
  t.same(
    await upsert([{ sku: 'A', price: 1, n: 1 }, { sku: 'E', n: 1 }], { key: ['sku'], set: [] }),
    { inserted: 1, updated: 0, unchanged: 1, id: null }, 'an empty set'
  )
  t.same(await upsert([{ sku: 'A', n: 1 }, { sku: 'E', n: 5 }], {
    key: ['sku'], set: { n: { $inc: 2 }, price: '1.00', note: 'x' }
  }), { inserted: 0, updated: 2, unchanged: 0, id: null }, 'an object')
  t.same(shown(await sql(items)), [
    ['A', 'a1', 1, 5], ['B', 'b1', 6, 3], ['C', null, 7, 3], ['D', null, 8, 3], ['E', null, 1, 3]
  ])
  t.same(
    await upsert([{ sku: 'B', n: null }, { sku: 'C' }], { key: ['sku'], set: ['n', 'price'] }),
    { inserted: 0, updated: 1, unchanged: 1, id: null }, 'a listed column that a row leaves out gets its default'
  )
  t.same(shown(await sql("select * from items where sku in ('B', 'C') order by id")), [
    ['B', 'b1', 7, null], ['C', null, 7, 3]
  ])
})

await test('one row has the id of the row that was inserted or updated', async (t, { post, sql }) => {
  const [sku, word] = [{ key: ['sku'] }, { key: ['word'] }]
  const first = await post('items', { verb: 'insert', data: { sku: 'C', n: 1 }, onConflict: sku })
  const [{ id }] = await sql("select id from items where sku = 'C'") as [{ id: number }]
  t.equal(first.json.data.id, Number(id))
  type Outcome = 'inserted' | 'updated' | 'unchanged'
  const cases: Array<[table: string, data: object, onConflict: object, outcome: Outcome, id: unknown, why?: string]> = [
    ['items', { sku: 'C', n: 2 }, sku, 'updated', id],
    ['items', { sku: 'C', n: 2 }, sku, 'unchanged', id],
    ['items', { sku: 'C', n: 5 }, { ...sku, set: [] }, 'unchanged', id],
    ['items', { id: 50, sku: 'C' }, { ...sku, set: [] }, 'unchanged', id, 'not the one that was sent'],
    ['items', { id: 50, sku: 'C' }, sku, 'updated', 50, 'unless it is written'],
    ['items', { sku: 'C' }, { ...sku, set: { id: 60 } }, 'updated', 60],
    ['items', { id: 60, sku: 'C2' }, { key: ['id'] }, 'updated', 60],
    ['items', { sku: 'C3' }, { key: ['id'] }, 'inserted', 61, 'a row without a value for the key is new'],
    ['pairs', { a: 1, b: 2, v: 4 }, { key: ['a', 'b'] }, 'updated', null],
    ['words', { word: 'two', v: 4 }, word, 'inserted', 'two'],
    ['words', { word: 'two', v: 5 }, word, 'updated', 'two'],
    ['words', { word: 'two' }, { ...word, set: { word: 'three' } }, 'updated', 'three'],
    ['words', { word: 'TWO', v: 1 }, word, 'inserted', 'TWO'],
    // where the collation considers two keys equal, it is the one that is stored
    ['spoken', { word: 'ONE', v: 2 }, word, 'updated', 'one'],
    ['spoken', { word: 'ONE', v: 2 }, { ...word, set: ['word'] }, 'updated', 'ONE'],
    ['spoken', { word: 'one', v: 3 }, { ...word, set: ['v'] }, 'updated', 'ONE']
  ]
  for (const [table, data, onConflict, outcome, id, why] of cases) {
    t.same((await post(table, { verb: 'insert', data, onConflict })).json.data, {
      inserted: 0, updated: 0, unchanged: 0, [outcome]: 1, id
    }, why ?? JSON.stringify([table, data, onConflict]))
  }
})

await test('the id may be any number of its column', async (t, { post, engine }) => {
  for (const name of ['signed', 'unsigned']) {
    for (const data of [{ k: 1, v: 2 }, { k: 1, v: 2 }, { k: 1, c: 2, v: 3 }]) {
      t.match(
        (await post(`${name}_ids`, { verb: 'insert', data, onConflict: { key: ['k'], set: ['v'] } })).text,
        `"id":${firstId(engine, name)}}`, `${name}: ${JSON.stringify(data)}`
      )
    }
  }
})

await test('a row of defaults is inserted', async (t, { post }) => {
  const upsert = async (data: unknown, set?: unknown) =>
    (await post('plain', { verb: 'insert', data, onConflict: { key: ['id'], set } })).json.data
  t.same(await upsert({}), { inserted: 1, updated: 0, unchanged: 0, id: 1 })
  t.same(await upsert([{}, { id: 1, n: 5 }, {}], { n: 7 }), { inserted: 2, updated: 1, unchanged: 0, id: null })
})

const EMAIL = 'email varchar(50) not null, low varchar(50) generated always as (lower(email)) stored unique, n int null'
const fires = (table: string, timing: string): string =>
  trigger(`${table}_${timing}`, `${timing} update on ${table}`, `insert into fired (name) values ('${timing}')`)

await onEachEngine(t, 'the id is that of the row that exists, also where the database computes the key', {
  schema: (engine) => [
    ...['plain', 'watched'].map((name) => `create table ${name} (${numberedId(engine)}, ${EMAIL})`),
    `create table numbered (id bigint not null primary key, ${EMAIL})`,
    `create table named (id varchar(20) not null primary key, ${EMAIL})`,
    'create table fired (name varchar(10) not null)', fires('watched', 'after'),
    ...['plain', 'watched', 'numbered'].map(
      (name) => `insert into ${name} (id, email, n) values (41, 'A@x', 1), (-5, 'B@x', 1)`
    ), "insert into named (id, email, n) values ('first', 'A@x', 1)"
  ]
}, async (t, { post, engine }) => {
  const key = ['low']
  const upsert = async (table: string, data: object, set?: unknown, rest: object = {}) => (await post(table, {
    verb: 'insert', data, onConflict: { key, ...set !== undefined && { set } }, ...rest
  })).json.data
  const [updated, unchanged] = [{ inserted: 0, updated: 1, unchanged: 0 }, { inserted: 0, updated: 0, unchanged: 1 }]
  for (const table of ['plain', 'watched', 'numbered']) {
    // the column has no default here
    const own = table === 'numbered' ? { id: 99 } : {}
    t.same(await upsert(table, { ...own, email: 'a@X', n: 2 }, ['n']), { ...updated, id: 41 }, table)
    t.same(
      await upsert(table, { ...own, email: 'a@X', n: 2 }, ['n']), { ...unchanged, id: 41 },
      `${table}: the row keeps its values`
    )
    if (engine !== 'sqlite' && table !== 'numbered') {
      t.same(
        await upsert(table, [{ email: 'a@X', n: 2 }, { email: 'b@X', n: 1 }] as object, ['n'], { returning: ['id'] }),
        { inserted: 0, updated: 0, unchanged: 2, id: null, rows: [{ id: 41 }, { id: -5 }] },
      `${table}: the rows are returned`
      )
    }
    t.same(await upsert(table, { ...own, email: 'b@X' }, { n: { $inc: 1 } }), { ...updated, id: -5 }, table)
    t.same(
      await upsert(table, { ...own, email: 'b@X' }, { email: 'C@x' }), { ...updated, id: -5 },
      `${table}: the key changes`
    )
    t.same(await upsert(table, { id: 7, email: 'c@X' }), { ...updated, id: 7 }, `${table}: the id is written`)
    t.same(await upsert(table, { ...own, email: 'C@X' }, { id: 8 }), { ...updated, id: 8 }, table)
    t.same(await upsert(table, { id: 9, email: 'new@x' }), { inserted: 1, updated: 0, unchanged: 0, id: 9 }, table)
    // MySQL and MariaDB would fire triggers of updates, and cannot find the row
    if (engine === 'sqlite' || table !== 'watched') {
      t.same(await upsert(table, { ...own, email: 'A@X', n: 5 }, []), { ...unchanged, id: 41 }, table)
    }
    t.same(
      await upsert(table, [{ ...own, email: 'A@X', n: 5 }] as object, ['n']), { ...updated, id: null },
      `${table}: a list has none`
    )
  }
  const id = engine === 'sqlite' ? 'first' : null
  t.same(
    await upsert('named', { id: 'x', email: 'a@X', n: 2 }, ['n']), { ...updated, id },
    'MySQL and MariaDB report numbers only'
  )
  t.same(await upsert('named', { id: 'x', email: 'a@X', n: 2 }, ['n']), { ...unchanged, id })
})

await onEachEngine(t, 'where a row keeps its values, triggers of an update fire on MySQL and MariaDB, ' +
  'and none on SQLite', {
  schema: () => [
    'create table items (id int not null primary key, n int null)', 'create table fired (name varchar(10) not null)',
    'insert into items values (1, 1), (2, 2)',
    fires('items', 'before'), fires('items', 'after')
  ]
}, async (t, { post, sql, engine }) => {
  const fired = async (): Promise<string[]> => {
    const rows = await sql('select name from fired order by name')
    await sql('delete from fired')
    return rows.map(({ name }) => name)
  }
  const expected = engine === 'sqlite' ? [] : ['after', 'before']
  t.same((await post('items', { verb: 'update', data: { n: 1 }, filters: { id: 1 } })).json.data, { updated: 0 })
  t.same(await fired(), expected)
  t.same((await post('items', { verb: 'insert', data: { id: 1, n: 1 }, onConflict: { key: ['id'] } })).json.data, {
    inserted: 0, updated: 0, unchanged: 1, id: 1
  })
  t.same(await fired(), expected)
  t.same(
    (await post('items', { verb: 'insert', data: { id: 1, n: 9 }, onConflict: { key: ['id'], set: [] } })).json.data,
    { inserted: 0, updated: 0, unchanged: 1, id: 1 }
  )
  t.same(await fired(), [], 'nothing is written')
  t.same((await post('items', { verb: 'update', data: { n: 5 }, filters: { id: { $in: [1, 2] } } })).json.data, {
    updated: 2
  })
  t.same(await fired(), ['after', 'after', 'before', 'before'])
})

await test('NULL in a key is equal to nothing', async (t, { post }) => {
  const upsert = async (data: unknown) =>
    (await post('items', { verb: 'insert', data, onConflict: { key: ['code'] } })).json
  t.match(await upsert([{ sku: 'C', code: null }, { sku: 'D', code: null }, { sku: 'E' }]), {
    data: { inserted: 3, updated: 0, unchanged: 0 }
  })
  t.match(
    await upsert({ sku: 'C', code: null }), { error: { code: 'UNIQUE_VIOLATION' } },
    'both rows have NULL, and collide in another key'
  )
  t.match(
    await upsert({ sku: 'C' }), { error: { code: 'UNIQUE_VIOLATION', details: [{ path: '/data/sku' }] } },
    'a row without a value has NULL'
  )
  t.match(await upsert([{ sku: 'F' }, { sku: 'C' }]), {
    error: { code: 'UNIQUE_VIOLATION', details: [{ path: '/data/1/sku' }] }
  })
})

await test('a row that leaves a column of the key out collides by its default', async (t, { post, sql, engine }) => {
  const upsert = async (data: unknown, key: string) =>
    (await post('tags', { verb: 'insert', data, onConflict: { key: [key], set: ['v'] } })).json
  t.match(await upsert({ name: 'one', n: 7, made: 'm3', v: 1 }, 'kind'), {
    data: { inserted: 0, updated: 1, id: 2 }
  }, 'a text')
  t.match(await upsert({ name: 'one', kind: 'z', made: 'm3', v: 2 }, 'n'), {
    data: { inserted: 0, updated: 1, id: 2 }
  }, 'a number')
  t.same((await sql('select name, v from tags order by id')).map(({ name, v }) => [name, v]), [
    ['one', null], ['two', 2]
  ])
  t.match(
    await upsert({ name: 'three', kind: 'z', n: 9, v: 2 }, 'made'), { data: { inserted: 1, updated: 0 } },
    'an expression'
  )
  const answer = await upsert({ name: 'one', kind: 'y', n: 10, v: 3 }, 'made')
  t.match(answer, engine === 'sqlite'
    ? { data: { updated: 1 } }
    : { error: { code: 'NOT_SUPPORTED', details: [{ path: '/onConflict/key' }] } }, 'an expression, and another key')
})

await test('errors of the database in an upsert name the row', async (t, { post, sql }) => {
  const before = shown(await sql(items))
  const upsert = (data: unknown, set?: unknown) => post('items', {
    verb: 'insert', data, onConflict: { key: ['sku'], ...set !== undefined && { set } }
  })
  for (const data of [[{ sku: 'C' }, { sku: 'A', n: 100 }], [{ sku: 'C' }, { sku: 'D', n: 100 }]]) {
    const answer = await upsert(data)
    isRefusal(t, answer, { status: 422, code: 'CHECK_VIOLATION', why: 'a check' })
    t.match(answer.json.error.details, [{ path: /^\/data\/1(\/n)?$/ }])
  }
  const overflow = await upsert([{ sku: 'C' }, { sku: 'A' }], { n: { $inc: 2_147_483_647 } })
  t.match(overflow.json.error, { code: /VALUE_OUT_OF_RANGE|CHECK_VIOLATION/, details: [{ path: /^\/data\/1/ }] })
  t.same(shown(await sql(items)), before)
})

await test('a key with a prefix, a condition or an expression is no unique key of its columns', async (t, { post }) => {
  for (const key of ['t', 'e']) {
    t.match((await post('odd', { verb: 'insert', data: { id: 1 }, onConflict: { key: [key] } })).json.error, {
      code: 'INVALID_BODY', details: [{ path: '/onConflict/key' }]
    }, key)
  }
})

const spelled = (engine: EngineName): string[] => [
  'create table defaulted (k varchar(20) not null default \'x\' unique, v int null)',
  `create table timed (k ${engine === 'sqlite' ? 'varchar(20)' : 'time(1)'} not null unique, v int null)`,
  ...engine === 'mariadb'
    ? [
        'create table addresses (k inet6 not null unique, v int null)',
        'create table ids (k uuid not null unique, v int null)'
      ]
    : [],
  ...engine === 'sqlite'
    ? []
    : [
        "create table hashes (k varbinary(8) not null default 'x' unique, v int null)",
        'create table cut (k varchar(20) not null unique, v int null)',
        'create trigger cut_key before insert on cut for each row set new.k = left(new.k, 1)'
      ]
]

/**
 * Two rows of a list with the same key, the one that would be written first if they were sorted as texts behind the
 * other.
 */
const sameKeys: Record<EngineName, Array<[table: string, one: unknown, other: unknown]>> = {
  sqlite: [['defaulted', 'x', undefined], ['defaulted', undefined, 'x']],
  mysql: [
    ['defaulted', 'x', undefined], ['defaulted', undefined, 'X'], ['hashes', 'eA==', undefined],
    ['hashes', undefined, 'eA=='], ['timed', '10:00:00', '010:00:00'], ['timed', '010:00:00.0', '10:00:00'],
    ['timed', '-010:00:00', '-10:00:00.0'], ['cut', 'ab', 'aa']
  ],
  mariadb: [
    ['addresses', '::1', '0:0:0:0:0:0:0:1'], ['addresses', '::ffff:1.2.3.4', '0:0::FFFF:0102:0304'],
    ['addresses', '::5:6', '0::0005:0006'],
    ['ids', '123E4567-e89b-12d3-a456-426655440000', '123e4567e89b12d3a456426655440000']
  ]
}

const watched = (engine: EngineName): string[] => [
  'create table fired (what varchar(20))',
  ...['before', 'after'].flatMap((timing) => [
    `create table ${timing}s (${numberedId(engine)}, code varchar(10) not null unique, v int null,
      seen int not null default 0)`,
    ...['insert', 'update'].map((event) => trigger(
      `${timing}_${event}`, `${timing} ${event} on ${timing}s`, `insert into fired values ('${event}')`
    )),
    `insert into ${timing}s values (1, 'a', 1, 0), (2, 'b', 2, 0)`
  ]),
  'create table stamped (code varchar(10) primary key, v int null, seen int not null default 0)',
  "insert into stamped values ('a', 1, 0)",
  engine === 'sqlite'
    ? 'create trigger stamp after update on stamped begin update stamped set seen = seen + 1 where code = new.code; end'
    : 'create trigger stamp before update on stamped for each row set new.seen = old.seen + 1'
]

const counted = (engine: EngineName): string[] => {
  const bits = engine === 'sqlite' ? '5' : "b'101'"
  const type = engine === 'sqlite' ? 'int' : 'bit(3)'
  return [
    'create table computed (id int primary key, v int null default (1 + 1), w int)',
    'insert into computed values (1, null, 1), (2, null, 2)',
    `create table bits (id int primary key, v ${type} null default ${bits}, w int)`,
    'insert into bits values (1, null, 1), (2, null, 2)',
    ...['undone', 'nulled'].flatMap((name) => [
      `create table ${name} (id int primary key, v int null default 7, w int)`,
      `insert into ${name} values (1, null, 1), (2, null, 2)`
    ]),
    ...engine === 'sqlite'
      ? ['undone', 'nulled'].map(
          (name) => `create trigger ${name}_back before update on ${name} begin select raise(ignore); end`
        )
      : [
          'create trigger undone_back before update on undone for each row set new.v = old.v, new.w = old.w',
          'create trigger nulled_back before update on nulled for each row set new.v = null, new.w = old.w'
        ]
  ]
}

const numbered = (engine: EngineName): string[] => [
  ...['before', 'after'].flatMap((timing) => {
    const set = engine === 'sqlite' || timing === 'after'
      ? 'insert into trimmed values (1)'
      : 'set new.name = trim(new.name)'
    return [
      `create table ${timing}_people (${numberedId(engine)}, email varchar(20) not null unique,
        name varchar(20) default 'n')`,
      `insert into ${timing}_people values (41, 'a@x', 'Ann')`,
      trigger(`${timing}_numbered`, `${timing} update on ${timing}_people`, set)
    ]
  }),
  'create table trimmed (n int)', `create table visits (${numberedId(engine)}, customer_id int)`
]

const owned = (engine: EngineName): string[] => [
  `create table notes (${numberedId(engine)}, tenant int not null, code varchar(10) not null unique,
    seen int not null default 0)`,
  "insert into notes values (1, 7, 'a', 0)",
  ...engine === 'sqlite'
    ? ['create trigger seen after update on notes begin update notes set seen = seen + 1 where id = new.id; end']
    : ['create trigger seen before update on notes for each row set new.seen = old.seen + 1']
]
const inserter = tokenFor('inserter', { notes: { permissions: ['insert'], rows: { tenant: 7 } } })

const CLAUSES = ['replace', 'ignore', 'fail', 'rollback', 'abort']

const clauses = (engine: EngineName): string[] => engine !== 'sqlite'
  ? []
  : [
      ...CLAUSES.flatMap((clause) => [
        `create table ${clause}s (id integer primary key on conflict ${clause}, tenant int not null, code text not null,
          n int check (n < 100), unique (code) ON/**/Conflict ${clause})`,
        `create table ${clause}_parts (id integer primary key,
          whole int references ${clause}s (id) on delete cascade on update cascade)`,
        `insert into ${clause}s values (1, 7, 'a', 1), (2, 8, 'b', 2), (3, 8, 'c', 3)`,
        `insert into ${clause}_parts values (1, 1), (2, 2), (3, 3)`
      ]),
      'create table loose (id integer primary key, code text unique)', 'create table log (code text primary key)',
      'create trigger logs after insert on loose begin insert or ignore into log values (new.code); end',
      'create trigger relogs after update on loose begin insert or replace into log values (new.code); end'
    ]

const rows = { tenant: 7 }
const tokens = [inserter, tokenFor('seven', Object.fromEntries(
  CLAUSES.map((clause) => [`${clause}s`, { rows, permissions: ['insert', 'update', 'select'] as const }])
))]

/** A table that a trigger gives its keys. */
const shouted = (engine: EngineName): string[] => engine === 'sqlite'
  ? []
  : [
      'create table codes (code varchar(10) collate utf8mb4_bin primary key, v int)',
      'create trigger shout before insert on codes for each row set new.code = upper(new.code)'
    ]

/** Tables that show the order in which their rows are written. */
const ordered = (engine: EngineName): string[] => [
  `create table steps (${numberedId(engine)}, what int)`,
  ...[['after', 'insert'], ['after', 'update'], ['before', 'update']].flatMap(([timing, event]) => {
    const table = `${timing}_${event}`
    return [
      `create table ${table} (id int primary key, v int)`,
      `insert into ${table} values ${event === 'insert' ? '(9, 0)' : '(1, 0), (2, 0), (3, 0)'}`,
      trigger(`${table}_step`, `${timing} ${event} on ${table}`, 'insert into steps (what) values (new.id)')
    ]
  }),
  ...engine === 'mariadb' ? ['create table versions (id int primary key, v int) with system versioning'] : [],
  'create table copied (id int primary key, v int, s int generated always as (v) stored unique)',
  ...engine === 'sqlite'
    ? ['create table expressions (id int primary key, v int)', 'create unique index e on expressions (v + 0)']
    : [],
  ...engine === 'mysql'
    ? [
        'create table expressions (id int primary key, v int, unique ((v + 0)))',
        "create table several (id int primary key, v json, unique ((cast(v->'$' as unsigned array))))"
      ]
    : []
]

/** A table whose trigger spells addresses in one way. */
const spelt = (engine: EngineName): string[] => engine === 'sqlite'
  ? []
  : [
      'create table emails (id int auto_increment primary key, email varchar(20) unique, n int ' +
        'default 5, u int unique)',
      'create trigger spell before insert on emails for each row set new.email = lower(trim(new.email))'
    ]

/** Tables whose rows may be defaults alone. */
const defaulted = (engine: EngineName): string[] => [
  `create table days (day varchar(10) not null default 'today' primary key, n int not null default 1,
    note varchar(10) null)`,
  'create table thirds (n int not null default 3, v int not null default 5, unique (n))',
  ...engine === 'sqlite'
    ? ["create table made (k text not null default (lower('K')) primary key, v int not null default (1 + 1))"]
    : []
]

const others = (engine: EngineName): string[] => [
  `create table mixed (${numberedId(engine)}, n int not null check (n > 0))`,
  'insert into mixed values (1, 1), (2, 2)',
  ...['meta json', 'note text'].map((column, index) =>
    `create table long_${index} (${numberedId(engine)}, n int, ${column})`)
]

/** Each test has tables of its own. */
const testOwn = sharedOnEachEngine(t, {
  schema: (engine) => [
    spelled, watched, counted, numbered, owned, clauses, shouted, ordered, spelt, defaulted, others
  ].flatMap((tables) => tables(engine)),
  tokens,
  keepsRows: true
})

await testOwn('of two rows with the same key the last one of the list wins, however the key is written, and also if ' +
  'one of them leaves it to its default', async (t, { post, sql, engine }) => {
  for (const [table, one, other] of [...sameKeys[engine], ...engine === 'mariadb' ? sameKeys.mysql : []]) {
    for (const keys of [[one, other], [other, one]]) {
      const data = keys.map((k, index) => ({ ...k !== undefined && { k }, v: index + 1 }))
      const answer = await post(table, { verb: 'insert', data, onConflict: { key: ['k'], set: ['v'] } })
      t.match(
        answer, { status: 200, json: { data: { inserted: 1, updated: 1, unchanged: 0 } } }, `${table} ${keys.join()}`
      )
      t.match(await sql(`select v from ${table}`), [{ v: 2 }], `${table} ${keys.join()}`)
      await sql(`delete from ${table}`)
    }
  }
})

await testOwn('an upsert that writes nothing fires no trigger of an update ' +
  'and changes nothing', async (t, { post, operate, sql }) => {
  const body = (data: object, rest: object = {}) => ({
    verb: 'insert', data, onConflict: { key: ['code'], set: [] }, ...rest
  })
  await sql('delete from fired')
  const fired = async () => (await sql('select what from fired')).map(({ what }) => what)
  for (const table of ['befores', 'afters']) {
    const send = async (data: object, rest?: object) => outcomeOf(await post(table, body(data, rest)))
    const before = await sql(`select * from ${table} order by id`)
    t.match(await send({ code: 'a', v: 9 }), { inserted: 0, updated: 0, unchanged: 1, id: 1 })
    t.match(await send({ code: 'b', v: 9 }, { returning: ['id', 'v'] }), {
      unchanged: 1, id: 2, rows: [{ id: 2, v: 2 }]
    })
    t.match(await send([{ code: 'b', v: 9 }, { code: 'a', v: 8 }], { dryRun: true }), {
      inserted: 0, updated: 0, unchanged: 2, id: null
    })
    t.match(
      outcomeOf(await post(table, { verb: 'insert', data: { code: 'a' }, onConflict: { key: ['code'] } })),
      { unchanged: 1, id: 1 }, 'only the key is given'
    )
    t.match(outcomeOf(await operate([{ table, ...body({ code: 'a', v: 9 }) }])).results, [{ unchanged: 1, id: 1 }])
    t.same(await sql(`select * from ${table} order by id`), before)
    t.same(await fired(), [])
    t.match(await send([{ code: 'c', v: 3 }, { code: 'a', v: 8 }, { code: 'c', v: 4 }], { returning: ['code', 'v'] }), {
      inserted: 1, updated: 0, unchanged: 2, rows: [{ code: 'c', v: 3 }, { code: 'a', v: 1 }, { code: 'c', v: 3 }]
    })
    t.same(await fired(), ['insert'])
    await sql('delete from fired')
    t.match(await send({ code: 'z', id: 1 }), [409, 'UNIQUE_VIOLATION'], 'another key')
  }
  t.match(outcomeOf(await post('stamped', body({ code: 'a', v: 9 }))), {
    inserted: 0, updated: 0, unchanged: 1, id: 'a'
  })
  t.same(await sql('select * from stamped'), [{ code: 'a', v: 1, seen: 0 }])
})

await testOwn('a row that exists is not counted as inserted, whatever its ' +
  'triggers and defaults are', async (t, { post, sql }) => {
  for (const table of ['computed', 'bits', 'undone', 'nulled']) {
    const given = ['computed', 'bits'].includes(table) ? { v: null } : { w: 9 }
    for (const set of [undefined, Object.keys(given), given]) {
      const send = async (data: object) => outcomeOf(await post(table, {
        verb: 'insert', data, onConflict: { key: ['id'], ...set !== undefined && { set } }, dryRun: true
      }))
      const what = `${table}: ${JSON.stringify(set)}`
      t.match(await send({ id: 1, ...given }), { inserted: 0, updated: 0, unchanged: 1, id: 1 }, what)
      t.match(await send([{ id: 1, ...given }, { id: 2, ...given }]), { inserted: 0, updated: 0, unchanged: 2 }, what)
      t.match(await send([{ id: 1, ...given }, { id: 3, ...given }, { id: 2, ...given }]), {
        inserted: 1, updated: 0, unchanged: 2
      }, what)
    }
  }
  t.same((await sql('select id, w from undone order by id')), [{ id: 1, w: 1 }, { id: 2, w: 2 }])
})

await testOwn('upserts from eight clients at once succeed in a table with a ' +
  'trigger of updates', async (t, { post, sql }) => {
  const lists = Array.from({ length: 16 }, (_, list) =>
    Array.from({ length: 10 }, (_, row) => ({ code: `s${(list * 7 + row * 13) % 40}`, v: list })))
  const refused: unknown[] = []
  let next = 0
  let inserted = 0
  await Promise.all(Array.from({ length: 8 }, async () => {
    for (let list = lists[next++]; list !== undefined; list = lists[next++]) {
      const { status, json } = await post('stamped', {
        verb: 'insert', data: list, onConflict: { key: ['code'], ...next % 2 === 0 && { set: [] } }
      })
      if (status === 200) inserted += json.data.inserted
      else refused.push(json)
    }
  }))
  t.same(refused, [])
  t.match(await sql('select count(*) as n from stamped'), [{ n: inserted + 1 }])
})

await testOwn('an upsert that finds its row answers its id in a table with triggers of updates, also for an account ' +
  'that sees no triggers', async (t, { engine, post, operate, sql, url }) => {
  const clients = [{ post, operate }]
  if (engine !== 'sqlite') {
    const [{ name }] = await sql('select database() as name') as [{ name: string }]
    clients.push(await startService(t, await createUser(t, { name, url, query: sql }, {
      grants: ['select, insert, update, delete on *']
    })))
  }
  for (const [client, { post, operate }] of clients.entries()) {
    for (const table of ['before_people', 'after_people']) {
      const upsert = (name: unknown, onConflict: object = {}, rest: object = {}) => ({
        verb: 'insert', data: { email: 'a@x', name }, onConflict: { key: ['email'], ...onConflict }, ...rest
      })
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

await testOwn('the column of a rule is not written to the row that exists, and fires no trigger for a token ' +
  'that may only insert', async (t, { post, sql }) => {
  const upsert = async (data: object | object[]): Promise<unknown> =>
    (await post('notes', { verb: 'insert', data, onConflict: { key: ['code'] } }, { token: 'inserter' })).json.data
  t.match(await upsert({ code: 'a' }), { inserted: 0, updated: 0, unchanged: 1 })
  t.match(await upsert([{ code: 'a' }, { code: 'b' }]), { inserted: 1, updated: 0, unchanged: 1 })
  t.same(await sql('select tenant, code, seen from notes order by code'), [
    { tenant: 7, code: 'a', seen: 0 }, { tenant: 7, code: 'b', seen: 0 }
  ])
})

await testOwn('what the definition of a table says of conflicts neither deletes rows ' +
  'nor hides refusals', async (t, { post, sql }) => {
  const code = { code: 'b' }
  const data = [
    { verb: 'insert', data: { id: 9, ...code } }, { verb: 'insert', data: { id: 2, code: 'x' } },
    { verb: 'insert', data: [{ code: 'y' }, code] }, { verb: 'insert', data: code, returning: '*' },
    { verb: 'insert', data: { id: 1, ...code }, onConflict: { key: ['id'] } },
    { verb: 'insert', data: [{ id: 4, code: 'y' }, { id: 5, ...code }], onConflict: { key: ['id'], set: [] } },
    { verb: 'update', filters: { id: 1 }, data: code }, { verb: 'update', filters: { code: 'a' }, data: { id: 2 } },
    { verb: 'update', filters: { code: 'a' }, data: { id: 2 }, returning: ['id'] }
  ]
  for (const clause of CLAUSES) {
    const stored = async () => [await sql(`select * from ${clause}s`), await sql(`select * from ${clause}_parts`)]
    const before = await stored()
    for (const body of data) {
      for (const dryRun of [true, false]) {
        t.match(
          outcomeOf(await post(`${clause}s`, { ...body, dryRun }, { token: 'seven' })), [409, 'UNIQUE_VIOLATION'],
          `${clause}: ${JSON.stringify(body)}`
        )
        t.same(await stored(), before)
      }
    }
    t.match(outcomeOf(await post(`${clause}s`, {
      verb: 'insert',
      data: [{ id: 1, code: 'a2' }, { id: 6, code: 'f' }],
      onConflict: { key: ['id'] },
      returning: ['id', 'code']
    }, { token: 'seven' })),
    { inserted: 1, updated: 1, rows: [{ id: 1, code: 'a2' }, { id: 6, code: 'f' }] })
  }
}, ['sqlite'])

await testOwn('statements of triggers keep what they say of conflicts', async (t, { post, sql }) => {
  await sql("insert into log values ('a'), ('b')")
  t.match(outcomeOf(await post('loose', { verb: 'insert', data: { code: 'a' } })), { inserted: 1, id: 1 })
  t.match(outcomeOf(
    await post('loose', { verb: 'insert', data: [{ code: 'b' }, { code: 'd' }], onConflict: { key: ['code'] } })
  ), { inserted: 2 })
  t.match(outcomeOf(await post('loose', { verb: 'update', filters: { id: 1 }, data: { code: 'e' } })), { updated: 1 })
  t.same((await sql('select code from log order by code')).map((row) => row.code), ['a', 'b', 'd', 'e'])
}, ['sqlite'])

await testOwn('the id of a row that exists is null where a trigger may have made it the ' +
  'key of another row', async (t, { post, sql }) => {
  for (const [v, counts] of [[1, { inserted: 1, updated: 0 }], [2, { inserted: 0, updated: 1 }]] as const) {
    t.match(await post('codes', { verb: 'insert', data: { code: 'abc', v }, onConflict: { key: ['code'] } }), {
      status: 200, json: { data: { ...counts, id: null } }
    })
  }
  t.match(await sql('select code, v from codes'), [{ code: 'ABC', v: 2 }])
}, ['mariadb', 'mysql'])

await testOwn('rows of a list and of an import are written in the order of `data` where a trigger or ' +
  'the history shows it', async (t, service) => {
  const { post, sql, engine } = service
  const ids = [3, 1, 2]
  for (const table of ['after_insert', 'after_update', 'before_update', ...engine === 'mariadb' ? ['versions'] : []]) {
    const sent = {
      list: async () =>
        await post(table, { verb: 'insert', data: ids.map((id) => ({ id, v: 1 })), onConflict: { key: ['id'] } }),
      import: async () =>
        await load(service, table, `id,v\n${ids.map((id) => `${id},2`).join('\n')}\n`, { query: '?onConflict=id' })
    }
    for (const [what, send] of Object.entries(sent)) {
      await sql(table.endsWith('insert') ? `delete from ${table}` : 'delete from steps')
      if (table.endsWith('insert')) await sql('delete from steps')
      t.match(await send(), { status: 200 }, `${table}: ${what}`)
      const written = table === 'versions'
        ? await sql('select id as what from versions order by row_start')
        : await sql('select what from steps order by id')
      t.same(written.map((row) => row.what), ids, `${table}: ${what}`)
    }
  }
})

await testOwn('a later row may take only what an earlier one has released, also in a unique key of what the ' +
  'database computes', async (t, { post, sql, engine }) => {
  for (const table of [
    'copied', ...engine === 'mariadb' ? [] : ['expressions'], ...engine === 'mysql' ? ['several'] : []
  ]) {
    const value = (v: number) => table === 'several' ? [v] : v
    const send = async (rows: ReadonlyArray<readonly [number, number]>) => outcomeOf(await post(table, {
      verb: 'insert', data: rows.map(([id, v]) => ({ id, v: value(v) })), onConflict: { key: ['id'] }
    }))
    t.match(await send([[2, 20], [3, 30]]), { inserted: 2 }, table)
    t.match(await send([[3, 20], [2, 50]]), [409, 'UNIQUE_VIOLATION'], `${table}: released later`)
    t.match(await send([[3, 50], [2, 30]]), { updated: 2 }, `${table}: released before`)
    t.same((await sql(`select id, v from ${table} order by id`)).map(({ id, v }) =>
      [id, Number(typeof v === 'number' ? v : JSON.parse(String(v))[0] ?? v)]), [[2, 30], [3, 50]], table)
  }
})

await testOwn('a BEFORE INSERT trigger sets the values that a row gives to one that exists, whatever else it gives, ' +
  'in a list and in an import', async (t, service) => {
  const { post, sql } = service
  const stored = async () =>
    (await sql('select email, n, u from emails order by u')).map(({ email, n, u }) => [email, n, u])
  const send = async (data: object
    | object[]) => outcomeOf(await post('emails', { verb: 'insert', data, onConflict: { key: ['u'] } }))
  await sql("insert into emails (email, u) values ('x', 4), ('taken', 9)")
  const [{ id }] = await sql('select id from emails where u = 4') as [{ id: number }]
  for (const n of [1, null]) {
    for (const data of [{ email: ' A@b', u: 4, n }, { email: ' C@d', u: 4, n }]) {
      t.match(await send(data), { inserted: 0, updated: 1, unchanged: 0, id })
      t.match(await send(data), { inserted: 0, updated: 0, unchanged: 1, id }, 'the same again')
      t.match(await send([data, { ...data, email: ' E@f' }]), { inserted: 0, updated: 1, unchanged: 1 })
      t.same(await stored(), [['e@f', n, 4], ['taken', 5, 9]])
    }
  }
  t.match((await load(service, 'emails', 'email,u,n\n G@h,4,\n I@j,5,\n', { query: '?onConflict=u' })).json.data, {
    inserted: 1, updated: 1, unchanged: 0
  })
  t.same(await stored(), [['g@h', null, 4], ['i@j', null, 5], ['taken', 5, 9]])
  for (const n of [1, null]) {
    t.match(
      await send({ email: ' Taken', u: 4, n }), [409, 'UNIQUE_VIOLATION'], 'what the trigger makes of it collides'
    )
  }
  t.match(outcomeOf(await post('emails', {
    verb: 'insert', data: { email: ' Taken', u: 4, n: 7 }, onConflict: { key: ['u'], set: ['n'] }
  })), { updated: 1 }, 'what is written does not collide')
  t.same(await stored(), [['g@h', 7, 4], ['i@j', null, 5], ['taken', 5, 9]])
}, ['mariadb', 'mysql'])

await testOwn('a row that gives no values is updated where the default of the key exists', async (
  t, { post, sql, engine }
) => {
  const upsert = async (table: string, data: unknown, onConflict: object) =>
    (await post(table, { verb: 'insert', data, onConflict })).json.data
  const [day, n] = [{ key: ['day'] }, { key: ['n'] }]
  t.same(await upsert('days', {}, day), { inserted: 1, updated: 0, unchanged: 0, id: 'today' })
  t.same(await upsert('days', {}, day), { inserted: 0, updated: 0, unchanged: 1, id: 'today' })
  t.same(await upsert('days', {}, { ...day, set: { n: { $inc: 1 }, note: 'x' } }), {
    inserted: 0, updated: 1, unchanged: 0, id: 'today'
  })
  t.same(await upsert('days', {}, { ...day, set: [] }), { inserted: 0, updated: 0, unchanged: 1, id: 'today' })
  t.same((await sql('select day, n, note from days')).map((row) => ({ ...row })), [{ day: 'today', n: 2, note: 'x' }])
  t.same(
    await upsert('days', [{}, { day: 'other' }, {}], { ...day, set: ['n', 'note'] }),
    { inserted: 1, updated: 1, unchanged: 1, id: null }, 'listed columns get their defaults'
  )
  t.same((await sql('select day, n, note from days order by day')).map((row) => ({ ...row })), [
    { day: 'other', n: 1, note: null }, { day: 'today', n: 1, note: null }
  ])
  t.same(await upsert('thirds', [{}, {}], { ...n, set: { v: { $inc: 1 } } }), {
    inserted: 1, updated: 1, unchanged: 0, id: null
  })
  t.same((await sql('select n, v from thirds')).map((row) => ({ ...row })), [{ n: 3, v: 6 }])
  if (engine === 'sqlite') {
    const { status, json } = await post('made', { verb: 'insert', data: [{ k: 'x' }, {}], onConflict: { key: ['k'] } })
    t.match(
      [status, json.error], [422, { code: 'NOT_SUPPORTED', details: [{ path: '/data/1' }] }],
      'no column has a default that is known'
    )
  }
})

await testOwn('rows that the database numbers are written by the statement of those that may exist; the ' +
  'first refused row of the list is named', async (t, { post, sql, proxy }) => {
  const send = (data: object[]) => post('mixed', { verb: 'insert', data, onConflict: { key: ['id'] } })
  await send([{ id: 1, n: 1 }])
  proxy?.statements.splice(0)
  t.same((await send([{ n: 7 }, { id: 2, n: 20 }, { n: 8 }, { id: 1, n: 1 }, { n: 9 }])).json.data, {
    inserted: 3, updated: 1, unchanged: 1, id: null
  })
  t.equal(proxy?.statements.filter((text) => text.startsWith('insert')).length, 1)
  t.same((await sql('select n from mixed order by n')).map(({ n }) => n), [1, 7, 8, 9, 20])
  for (const [data, index] of [
    [[{ n: 5 }, { n: -1 }, { id: 2, n: 5 }, { id: 1, n: -1 }], 1], [[{ n: 5 }, { id: 1, n: -1 }, { n: -1 }], 1],
    [[{ n: 5 }, { id: 1, n: 6 }, { n: -1 }], 2]
  ] as const) {
    const { status, json } = await send(data as unknown as object[])
    t.equal(status, 422)
    t.equal(json.error.details[0].path, `/data/${index}/n`)
  }
  t.same((await sql('select n from mixed order by n')).map(({ n }) => n), [1, 7, 8, 9, 20], 'nothing was changed')
}, ['mariadb', 'mysql'])

await testOwn('an upsert that writes nothing but long values stores them as they are', async (t, { post, sql }) => {
  for (const [index, column, values] of [
    [0, 'meta', [{ size: 2, a: { b: 'x2' }, tags: [2, 't0'] }, true, 'x'.repeat(9), [1]]],
    [1, 'note', ['a long text'.repeat(5), 'short', 'x'.repeat(9000), '']]
  ] as const) {
    await sql(
      `insert into long_${index} (id, ${column}) values (2, '{"size": 2, "a": {"b": "x2"}, "tags": [2, "t0"]}')`
    )
    for (const value of values) {
      const { json } = await post(`long_${index}`, {
        verb: 'insert', data: [{ [column]: value, id: 2 }, { n: 1 }], onConflict: { key: ['id'] }
      })
      t.match(json, { success: true, data: { inserted: 1 } }, JSON.stringify(value).slice(0, 30))
      t.same((await post(`long_${index}`, { verb: 'select', columns: [column], filters: { id: 2 } })).json.data?.rows, [
        { [column]: value }
      ])
    }
  }
})
