/** What 409 of a foreign key says of the other table: no more than the grant sees, whichever row it was. */
import t from 'tap'
import { get } from '../support/documents.ts'
import { onEachEngine, type Schema } from '../support/service.ts'
import { tokenFor, tokenOf } from './support.ts'

const schema: Schema = () => [
  'create table people (id int not null primary key, secret int, unique (secret))',
  'create table visits (id int not null primary key, person int, foreign key (person) references people (id))',
  'create table notes (id int not null primary key, person int, foreign key (person) references people (id))',
  'create table pets (id int not null primary key, owner int, foreign key (owner) references people (secret))',
  'insert into people values (1, 10), (2, 20), (3, 30), (4, 40)',
  'insert into visits values (1, 1)',
  'insert into notes values (1, 2)',
  'insert into pets values (1, 30)'
]

const all = ['select', 'insert', 'update', 'delete'] as const
const tokens = [
  tokenOf('anything', {}),
  tokenFor('some', { people: {}, visits: {} }),
  tokenFor('ruled', { people: {}, visits: {}, pets: {}, notes: { rows: { id: 99 } } }),
  tokenFor('writes', { people: {}, visits: {}, pets: {}, notes: { permissions: ['insert'] } }),
  tokenFor('alone', {
    people: { permissions: [...all], columns: { select: ['id'] } }, pets: { permissions: ['insert'] }
  }),
  tokenFor('keyless', { people: {}, visits: { columns: { select: ['id'] } } })
]

await onEachEngine(t, 'a refused delete names the tables of the referring rows as far as the grant sees ' +
  'all of their rows', { schema, tokens }, async (t, { post, operate, engine }) => {
  const lite = engine === 'sqlite'
  const remove = async (id: number, token: string) => {
    const { status, json } = await post('people', { verb: 'delete', filters: { id } }, { token })
    t.same([status, json.error.code, json.error.details.length], [409, 'FOREIGN_KEY_VIOLATION', 1])
    return json.error.details[0].message as string
  }
  if (lite) {
    t.match(
      await remove(1, 'anything'),
      /^other rows refer to this one; keys that may: (?=.* of "notes")(?=.*"owner" of "pets")(?=.* of "visits")/
    )
  } else {
    t.match(await remove(1, 'anything'), /^rows of "visits" refer to this one by "person" \(foreign key "visits_.*"\)$/)
    t.match(await remove(2, 'anything'), /^rows of "notes" refer to this one by "person"/)
    t.match(await remove(3, 'anything'), /^rows of "pets" refer to this one by "owner"/)
  }
  // a hidden row refers, or one that is seen: the same answer
  for (const [token, keys] of [
    ['some', ['"person" of "visits"']], ['ruled', ['"person" of "notes"', '"owner" of "pets"', '"person" of "visits"']],
    ['writes', ['"person" of "notes"', '"owner" of "pets"', '"person" of "visits"']]
  ] as const) {
    const told = await remove(1, token)
    const [, named = ''] = /^other rows refer to this one; keys that may: (.*)$/.exec(told) ?? []
    t.same(named.split(', ').sort(), [...keys].sort(), token)
    for (const id of [2, 3]) t.equal(await remove(id, token), told, `${token}: the same for the row ${id}`)
  }
  for (const token of ['alone', 'keyless']) {
    for (const id of [1, 2, 3]) {
      t.equal(await remove(id, token), 'other rows refer to this one', token)
    }
  }
  const { json } = await operate([{ table: 'people', verb: 'delete', filters: { id: 3 } }], { token: 'some' })
  t.same(json.error.details, [
    { path: '/operations/0', message: 'other rows refer to this one; keys that may: "person" of "visits"' }
  ])
})

await onEachEngine(t, 'a refused insert or update names the table and columns that the key refers to if ' +
  'the grant sees them', { schema, tokens }, async (t, { post, engine }) => {
  const refusals = async (table: string, data: object, token: string) => {
    const answers = await Promise.all([
      post(table, { verb: 'insert', data: { id: 9, ...data } }, { token }),
      post(table, { verb: 'update', data, filters: { id: 1 } }, { token })
    ])
    return answers.map(({ json }) =>
      json.error.details.map(({ path, message }: any) => [path, message.replace(/^foreign key ".*?"/, 'key')])[0])
  }
  const told = ['/data/person', 'key on "person" refers to "id" of "people"']
  for (const token of ['anything', 'some', 'ruled']) {
    t.same(await refusals('visits', { person: 99 }, token), [told, told], token)
  }
  const { json } = await post('pets', { verb: 'insert', data: { id: 9, owner: 99 } }, { token: 'alone' })
  t.match(
    json.error.details, [{ path: '/data/owner', message: /^foreign key "[^"]*" on "owner"$/ }],
    'the column that it refers to is hidden'
  )
  const csv = await post('visits', 'id,person\r\n8,1\r\n9,99\r\n', { headers: { 'content-type': 'text/csv' } })
  t.match(csv.json.error.details, [{ line: 3, message: /on "person" refers to "id" of "people"$/ }], engine)
})

const KEYS = 'unique (code), foreign key (person) references people (id), foreign key (other) references people (id)'
const HIDDEN = 'unique (h1, code), unique (h2), foreign key (h1) references people (id), foreign key (h2) ' +
  'references people (id)'
const columns = 'id int not null primary key, h1 int, h2 int, code int, person int, other int'

await onEachEngine(t, 'the names of the keys of SQLite do not count those with hidden columns', {
  only: ['sqlite'],
  schema: () => [
    'create table people (id int not null primary key)',
    'insert into people values (1)',
    `create table few (${columns}, ${KEYS})`,
    // SQLite numbers unique constraints from the first on, and foreign keys from the last on
    `create table early (${columns}, ${HIDDEN}, ${KEYS})`,
    `create table late (${columns}, ${KEYS}, ${HIDDEN})`,
    ...['few', 'early', 'late'].map((table) => `insert into ${table} values (1, null, null, 5, 1, 1)`)
  ],
  tokens: [tokenFor('seer', {
    people: {},
    ...Object.fromEntries(
      ['few', 'early', 'late'].map((table) => [table, { columns: { select: ['id', 'code', 'person', 'other'] } }])
    )
  })]
}, async (t, { post, server }) => {
  const bodies = [
    { verb: 'insert', data: { id: 2, code: 5 } }, { verb: 'update', data: { code: 5, person: 99 }, filters: { id: 1 } },
    { verb: 'insert', data: { id: 2, person: 99 } }, { verb: 'insert', data: { id: 2, other: 99 } }
  ]
  const told = async (table: string) => {
    const answers = await Promise.all(
      bodies.map(async (body) => (await post(table, body, { token: 'seer' })).json.error)
    )
    const { schemas } = (await get(server, '/shop/openapi.json', { token: 'seer' })).json.components
    const row = schemas[`${table.charAt(0).toUpperCase()}${table.slice(1)}Row`]
    return JSON.stringify([answers, row['x-unique-keys'], row['x-foreign-keys']]).replaceAll(table, 'TABLE')
  }
  const few = await told('few')
  t.match(few, /unique key \\"sqlite_autoindex_TABLE_code\\" on/)
  t.match(few, /foreign key \\"TABLE_other\\" on/)
  for (const table of ['early', 'late']) t.equal(await told(table), few, table)
})

await onEachEngine(t, 'two foreign keys of the same columns are named apart, each with its own table', {
  only: ['sqlite'],
  schema: () => [
    'create table people (id int not null primary key)', 'create table dogs (id int not null primary key)',
    'create table names (id int not null primary key, owner int references people (id) references dogs (id))'
  ]
}, async (t, { post }) => {
  const { json } = await post('names', { verb: 'insert', data: { id: 1, owner: 9 } })
  t.same(json.error.details.map(({ message }: { message: string }) => message), [
    'foreign key "names_owner" on "owner" refers to "id" of "dogs"',
    'foreign key "names_owner_2" on "owner" refers to "id" of "people"'
  ])
})
