/** Tables, columns, keys and indexes that are new in the database: they are looked for before a request is refused. */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { onEachEngine, TOKEN } from '../support/service.ts'

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
  'second ago can be used', { schema: { mysql: schema, sqlite: schema } }, async (t, { post, sql, engine, server }) => {
  for (const [name, [table, body]] of Object.entries(KEYS)) {
    t.equal(
      (await post(table, body)).json.error.code, 'NOT_SUPPORTED', `${name} is missing`
    )
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
  const load = async () => (await server.app.inject({
    method: 'POST',
    url: '/api/shop/loaded',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'text/csv' },
    payload: 'id\n1\n'
  })).json()
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
    load(), ...Object.values(cases).map(([table, body]) => post(table, body))
  ])
  t.match(loaded, { data: { inserted: 1 } }, 'a table of an import')
  for (const [index, name] of Object.keys(cases).entries()) t.same(answers[index]?.json.error, undefined, name)
})
