/** Texts in columns of SQLite that have the affinity of numbers, such as `string` and `uuid`. */
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { sqliteType } from '../../src/types/sqlite.ts'
import { onEachEngine } from '../support/service.ts'

const PARTS = [
  '', '7', '.', 'e', 'E', '-', '+', ' ', '\t', '\v', '\0', 'x', '_', '٣', 'inf', '00', '99999999999999999999'
]
const texts = new Set(PARTS.flatMap((a) => PARTS.flatMap((b) => PARTS.flatMap((c) => [a + b + c, `7${a}${b}${c}`]))))

t.test('a text is refused exactly if SQLite would store it as a number', async (t) => {
  const database = new DatabaseSync(':memory:')
  database.exec('create table texts (s string)')
  const insert = database.prepare('insert into texts values (?) returning typeof(s) as class, s')
  const { read } = sqliteType({
    name: 'string',
    declaration: 'string',
    length: null,
    bytes: null,
    scale: null,
    charset: null,
    srid: null,
    json: false
  })
  const isTaken = (text: string): boolean => {
    try {
      return read(text) === text
    } catch {
      return false
    }
  }
  database.exec('begin')
  const wrong = [...texts].filter((text) => {
    const { class: stored, s } = insert.get(text) as { class: string, s: unknown }
    return isTaken(text) !== (stored === 'text' && s === text)
  })
  t.same(wrong, [], `of ${texts.size} texts`)
  database.close()
})

await onEachEngine(t, 'a column that SQLite gives the affinity of numbers holds texts and bytes, relates rows, and ' +
  'is compared as what it is', {
  only: ['sqlite'],
  schema: () => [
    'create table users (id uuid primary key, name string unique, code text, hash binary(4))',
    "create table visits (id integer primary key, user uuid references users (id), tag string default '7')",
    "insert into users values ('6f-a', '007', '7', x'01')"
  ]
}, async (t, { post, sql }) => {
  t.match(
    (await post('users', { verb: 'insert', data: { id: '6f-b', name: '1e', code: '1', hash: 'AQI=' } })).json.data,
    { id: '6f-b' }
  )
  t.match(await sql("select typeof(name) as name, typeof(hash) as hash from users where id = '6f-b'"), [
    { name: 'text', hash: 'blob' }
  ])
  t.match((await post('users', { verb: 'insert', data: { id: '6f-c', name: '1e5' } })).json.error, {
    code: 'INVALID_VALUE', details: [{ path: '/data/name' }]
  })
  const find = async (filters: object) => (await post('users', { verb: 'select', columns: ['id'], filters })).json
  t.same(
    (await find({ name: { $gte: '' } })).data.rows, [{ id: '6f-b' }], 'what others have stored as a number is no text'
  )
  t.same((await find({ hash: 'AQI=' })).data.rows, [{ id: '6f-b' }])
  t.same((await find({ name: { $startsWith: '1' } })).data.rows, [{ id: '6f-b' }])
  t.match(
    (await find({ code: { $gt: { $column: 'name' } } })).error, { code: 'INVALID_VALUE' },
    'SQLite would compare the text 7 as a number'
  )
  const { json } = await post('visits', {
    verb: 'insert',
    data: { user: '6f-b' },
    returning: ['tag'],
    include: { owner: { table: 'users', columns: ['name'] } }
  })
  t.match(json.data, { rows: [{ tag: 7, owner: { name: '1e' } }] })
  t.match((await post('visits', { verb: 'insert', data: { user: '6f-x' } })).json.error, {
    code: 'FOREIGN_KEY_VIOLATION'
  })
})
