/** Tables, columns, keys and indexes that are new in the database: they are looked for before a request is refused. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { movableClock } from '../support/clock.ts'
import { load } from '../support/load.ts'
import { callOf, send } from '../support/mcp.ts'
import { onEachEngine } from '../support/service.ts'

const keyless = ['select', 'update', 'insert'].map((verb) => `create table keyless_${verb} (n int not null)`)
const schema = [
  ...keyless, 'create table old (id int not null primary key, sku varchar(10) not null)',
  "insert into old values (1, 'a')"
]

/** The keys of rows that are found again, by what they are for. */
const KEYS = {
  'the key of "after"': ['keyless_select', { verb: 'select', orderBy: 'n', limit: 1, after: null }],
  'the key of rows that an update returns': [
    'keyless_update', { verb: 'update', data: { n: 1 }, filters: { n: 0 }, returning: '*' }
  ],
  'the key of rows that an insert returns': ['keyless_insert', { verb: 'insert', data: { n: 2 }, returning: '*' }]
} as const

await onEachEngine(t, 'what was created a ' +
  'second ago can be used', { schema: () => schema }, async (t, service) => {
  const { post, sql, engine } = service
  for (const [name, [table, body]] of Object.entries(KEYS)) {
    t.equal((await post(table, body)).json.error.code, 'NOT_SUPPORTED', `${name} is missing`)
  }
  for (const statement of [
    'create table later (id int not null primary key, old_id int, foreign key (old_id) references old (id))',
    'create table loaded (id int not null primary key)',
    'alter table old add column note varchar(10) null',
    'alter table old add column size int null',
    'create unique index by_sku on old (sku)',
    'create table parts (id int not null primary key, old_id int, foreign key (old_id) references old (id))',
    ...Object.values(KEYS).map(([table]) => `create unique index by_n_${table} on ${table} (n)`),
    ...engine === 'sqlite' ? [] : ['create fulltext index words on old (sku)']
  ]) await sql(statement)
  await sleep(1000)
  // all at once, so that each is planned by the catalog from before
  const cases: Record<string, readonly [table: string, body: object]> = {
    'a table': ['later', { verb: 'select' }],
    'a column of a select': ['old', { verb: 'select', columns: ['note'] }],
    'a column of filters and of an update': ['old', { verb: 'update', data: { size: 2 }, filters: { size: null } }],
    'a unique key': ['old', { verb: 'insert', data: { id: 1, sku: 'a' }, onConflict: { key: ['sku'] } }],
    'a table of a member': ['old', { verb: 'select', include: { parts: { table: 'parts' } } }],
    ...engine !== 'sqlite' && {
      'an index of words': ['old', { verb: 'select', filters: { $match: { columns: ['sku'], text: 'a' } } }] as const
    },
    ...KEYS
  }
  const [loaded, ...answers] = await Promise.all([
    load(service, 'loaded', 'id\n1\n'), ...Object.values(cases).map(([table, body]) => post(table, body))
  ])
  t.match(loaded.json, { data: { inserted: 1 } }, 'a table of an import')
  for (const [index, name] of Object.keys(cases).entries()) t.same(answers[index]?.json.error, undefined, name)
})

/** In milliseconds: how often the catalog is read depends on how long that takes. */
const APART = 10_000
const renamed = 'alter table @ rename column a to b'
const becomes = (column: string, type: string): string[] => [
  `alter table @ drop column ${column}`, `alter table @ add column ${column} ${type} null`
]
/**
 * What takes the place of something else in a table `@`, and a request that only the new definition accepts. A table is
 * there as it was until a second reading, because what it has lost may come back. `before`: statements before the
 * service starts.
 */
const REPLACED: Record<string, readonly [changes: readonly string[], body: object, before?: readonly string[]]> = {
  'a renamed column, selected': [[renamed], { verb: 'select', columns: ['id', 'b'] }],
  'a renamed column in filters': [[renamed], { verb: 'delete', filters: { b: 1 } }],
  'a renamed column in an order': [[renamed], { verb: 'select', orderBy: 'b' }],
  'a renamed column in groups': [[renamed], { verb: 'select', groupBy: ['b'] }],
  'a renamed column in an insert': [[renamed], { verb: 'insert', data: [{ id: 5, b: 1 }] }],
  'a renamed column in an update of many rows': [
    [renamed], { verb: 'update', key: ['id'], filters: {}, data: [{ id: 1, b: 1 }] }
  ],
  'a renamed column in "returning"': [
    [renamed], { verb: 'update', data: { s: 'z' }, filters: { id: 1 }, returning: ['b'] }
  ],
  'a column in place of one that was dropped': [
    ['alter table @ drop column a', 'alter table @ add column b int null'], { verb: 'select', filters: { b: null } }
  ],
  'a required column that was dropped': [['alter table @ drop column a'], { verb: 'insert', data: { id: 5 } }],
  'a required column that may be left out': [becomes('a', 'int'), { verb: 'insert', data: { id: 5 } }],
  'a column that may be NULL': [becomes('a', 'int'), { verb: 'insert', data: { id: 5, a: null } }],
  'a condition that says something where a column may be NULL': [
    becomes('a', 'int'), { verb: 'delete', filters: { a: { $null: false } } }
  ],
  'a column of another type, beside one that was dropped': [
    [...becomes('s', 'int'), 'alter table @ drop column u'], { verb: 'select', filters: { s: 5 } }
  ],
  'a longer column': [becomes('s', 'varchar(20)'), { verb: 'insert', data: { id: 5, a: 1, s: 'longer text' } }],
  'a column that is not computed any more': [becomes('g', 'int'), { verb: 'insert', data: { id: 5, a: 1, g: 5 } }],
  'a type that has an order': [becomes('j', 'int'), { verb: 'select', orderBy: 'j' }],
  'a table in place of a view': [
    ['drop view @', 'create table @ (id int not null primary key)'],
    { verb: 'insert', data: { id: 5 } },
    ['drop table @', 'create view @ as select 1 as id']
  ],
  'a key that may not be NULL any more': [
    ['drop table @', 'create table @ (id int not null primary key, u int not null unique, a int null)'],
    { verb: 'update', key: ['u'], filters: {}, data: [{ u: 1, a: 1 }] },
    ['create unique index @u on @ (u)']
  ],
  'a member in place of a column of its name': [
    ['alter table @ drop column u'], { verb: 'select', include: { u: { table: 'parts', on: { id: 'id' } } } }
  ],
  'a key by which a member is one row': [
    ['create unique index by_a on parts (a)'],
    { verb: 'select', include: { parts: { on: { id: 'a' } } }, groupBy: [{ n: { parts: 'a' } }] }
  ],
  'operators of a type that had none': [becomes('s', 'json'), { verb: 'select', filters: { s: { $at: { '$.a': 1 } } } }]
}

const partsOf = ['create table parts (id int not null primary key, a int null)', 'create index a on parts (a)']

/** The tables before those of `REPLACED`. */
const WAYS = 8
const replaced = Array.from({ length: Object.keys(REPLACED).length + WAYS }, (_, index) =>
  `create table t${index} (id int not null primary key, a int not null, s varchar(5) null, u int null, j json null,
    g int generated always as (id + 1) virtual)`)
const before = Object.values(REPLACED).flatMap(([, , statements = []], index) =>
  statements.map((statement) => statement.replaceAll('@', `t${WAYS + index}`)))
const grant = { permissions: ['select', 'insert'], databases: '*' } as const

await onEachEngine(t, 'what takes the place of something else is found by the first request for it, on every way', {
  schema: () => [...replaced, ...partsOf, ...before],
  options: {
    mcp: {},
    requests: {
      named: { database: 'shop', table: 't0', body: { verb: 'select', columns: ['b'] } },
      several: { database: 'shop', body: { operations: [{ table: 't1', verb: 'select', columns: ['b'] }] } }
    }
  }
}, async (t, service) => {
  const { post, operate, call, sql, server } = service
  const clock = movableClock(t)
  const body = { verb: 'select', columns: ['b'] } as const
  const ways: Record<string, (table: string) => Promise<unknown>> = {
    'a named request': async () => (await call('named', {})).status,
    'named operations': async () => (await call('several', {})).status,
    operations: async (table) => (await operate([{ table, ...body }])).status,
    'a stream': async (table) => (await post(table, body, { headers: { accept: 'text/csv' } })).status,
    'an import': async (table) => (await load(service, table, 'id,b\n1,1\n')).status,
    'a tool': async (table) => {
      const { json } = await send(service, callOf('select', { database: 'shop', table, columns: ['b'] }))
      return json.result.isError === true ? json.result : 200
    },
    'in process': async (table) => {
      await server.rows.execute({ database: 'shop', table, body, grant })
      return 200
    },
    'a transaction in process': async (table) => {
      await server.rows.transaction('shop', async (tx) => { await tx.execute({ table, body, grant }) })
      return 200
    }
  }
  const cases = [
    ...Object.entries(ways).map(([name, way]) => [name, [renamed], way] as const),
    ...Object.entries(REPLACED).map(([name, [changes, body]]) =>
      [name, changes, async (table: string) => (await post(table, body)).status] as const)
  ]
  for (const [index, [name, changes, ask]] of cases.entries()) {
    // a reading while the clock passes seems to have taken so long, and no request looks again for four times that
    await server.rows.refresh()
    for (const change of changes) await sql(change.replaceAll('@', `t${index}`))
    clock.pass(APART)
    t.equal(await ask(`t${index}`), 200, name)
  }
})
