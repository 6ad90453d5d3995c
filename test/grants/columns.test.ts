/** Permissions and columns of a table: what a grant does not see does not exist. */
import t from 'tap'
import { type EngineName, type Schema, sharedOnEachEngine } from '../support/service.ts'
import { tokenFor, tokenOf } from './support.ts'

const id = (engine: EngineName): string => engine === 'sqlite' ? 'id integer primary key autoincrement' : 'id int auto_increment primary key'

const schema: Schema = (engine) => [
  `create table people (${id(engine)}, name varchar(20) not null, email varchar(20) unique, wage int not null default 100, level int, boss int,
    constraint fair check (level < wage), foreign key (boss) references people (id))`,
  "insert into people (id, name, email, wage, level) values (1, 'Ann', 'a@x', 50, 1), (2, 'Bob', 'b@x', 70, 2)",
  'create table rooms (id int primary key, name varchar(10))'
]

const tokens = [
  tokenFor('clerk', { people: { columns: { select: ['level', 'id', 'name', 'nope'], insert: ['name', 'email', 'level', 'boss', 'wage'], update: ['level', 'wage'] } } }),
  tokenFor('same', { people: { columns: { select: ['id', 'name', 'level'] } } }),
  tokenFor('form', { people: { columns: { insert: ['name', 'email'] } } }),
  tokenFor('hidden', { people: { columns: { select: ['level'], insert: ['level', 'name', 'email'] } } }),
  tokenOf('narrow', { permissions: ['select', 'insert'], databases: { shop: { people: { permissions: ['select', 'delete'] }, rooms: { permissions: ['delete'] } } } }),
  tokenOf('star', { permissions: ['select'], databases: '*' })
]

const test = sharedOnEachEngine(t, { schema, tokens })

await test('a column that a grant does not see does not exist for it', async (t, { post, sql }) => {
  const send = async (token: string, body: object, table = 'people') => {
    const { status, json } = await post(table, body, { token })
    return status === 200 ? json.data : [status, json.error.code, json.error.details.map(({ path }: { path: string }) => path)]
  }
  const before = await sql('select * from people order by id')
  t.same(await send('clerk', { verb: 'select', filters: { id: 1 } }), { rows: [{ id: 1, name: 'Ann', level: 1 }], count: 1 }, 'in the order of the table')
  t.same(await send('same', { verb: 'select', filters: { id: 1 } }), { rows: [{ id: 1, name: 'Ann', level: 1 }], count: 1 })

  const insert = (data: object) => ({ verb: 'insert', data })
  const update = (data: object) => ({ verb: 'update', data, filters: { id: 1 } })
  const refused: Array<[token: string, body: object, code: string, path: string]> = [
    ['clerk', insert({ id: 9, name: 'x' }), 'COLUMN_NOT_WRITABLE', '/data/id'],
    ['clerk', update({ name: 'x' }), 'COLUMN_NOT_WRITABLE', '/data/name'],
    ['clerk', update({ email: 'x' }), 'COLUMN_NOT_FOUND', '/data/email'],
    ['clerk', update({ nope: 1 }), 'COLUMN_NOT_FOUND', '/data/nope'],
    ['clerk', update({ wage: { $inc: 1 } }), 'COLUMN_NOT_WRITABLE', '/data/wage'],
    ['clerk', { verb: 'select', filters: { email: 'a@x' } }, 'COLUMN_NOT_FOUND', '/filters/email'],
    ['clerk', { verb: 'select', columns: ['wage'] }, 'COLUMN_NOT_FOUND', '/columns/0'],
    ['clerk', { verb: 'select', columns: ['nope'] }, 'COLUMN_NOT_FOUND', '/columns/0'],
    ['clerk', { verb: 'update', data: { level: 1 }, filters: { wage: { $gt: 60 } } }, 'COLUMN_NOT_FOUND', '/filters/wage'],
    ['clerk', { ...update({ wage: 5 }), returning: ['wage'] }, 'COLUMN_NOT_FOUND', '/returning/0'],
    ['same', insert({ name: 'x', email: 'x' }), 'COLUMN_NOT_FOUND', '/data/email'],
    ['form', insert({ email: 'x' }), 'MISSING_COLUMN', '/data/name'],
    ['form', insert({ name: 'x', level: 1 }), 'COLUMN_NOT_FOUND', '/data/level']
  ]
  for (const [token, body, code, path] of refused) t.same(await send(token, body), [400, code, [path]], `${token} ${JSON.stringify(body)}`)

  t.same(await send('hidden', insert({ name: 'x', email: 'a@x' })), [409, 'UNIQUE_VIOLATION', []], 'a key with a hidden column')
  t.same(await send('clerk', insert({ name: 'x', email: 'a@x' })), [409, 'UNIQUE_VIOLATION', []], 'also if it may be written')
  t.same(await send('hidden', insert({ name: 'x', level: 100 })), [422, 'CHECK_VIOLATION', []])
  t.same(await send('clerk', insert({ name: 'x', boss: 99 })), [409, 'FOREIGN_KEY_VIOLATION', []])
  t.same(await send('clerk', update({ wage: 1 })), [422, 'CHECK_VIOLATION', []])
  t.same(await send('form', { verb: 'select' }), [403, 'PERMISSION_DENIED', []], 'nothing to select')
  t.same(await send('hidden', { verb: 'delete', filters: { id: 1 } }), [400, 'COLUMN_NOT_FOUND', ['/filters/id']])
  t.same(await sql('select * from people order by id'), before)

  t.match(await send('clerk', insert({ name: 'Cat', email: 'c@x', wage: 60, level: 3 })), { inserted: 1, id: Number })
  t.same(await send('hidden', insert({ name: 'Dan' })), { inserted: 1, id: null }, 'an id that is hidden')
  t.same(await send('hidden', insert([{ name: 'Eve' }, { name: 'Fay' }] as object)), { inserted: 2, id: null })
  t.same(await send('form', insert({ name: 'Gus' })), { inserted: 1, id: null })
  t.match(await send('clerk', { ...insert({ name: 'Hal' }), returning: '*' }), { inserted: 1, rows: [{ id: Number, name: 'Hal', level: null }] })
  t.same(await send('clerk', { ...update({ wage: 55, level: 4 }), returning: '*' }), { updated: 1, rows: [{ id: 1, name: 'Ann', level: 4 }] })
  t.same((await sql('select wage from people where id = 1')).map(({ wage }) => Number(wage)), [55])
})

await test('permissions of a table narrow those of the entry', async (t, { post }) => {
  const status = async (token: string, table: string, body: object) => {
    const answer = await post(table, body, { token })
    return [answer.status, answer.json.error?.code]
  }
  t.same(await status('narrow', 'people', { verb: 'select' }), [200, undefined])
  t.same(await status('narrow', 'people', { verb: 'insert', data: { name: 'x' } }), [403, 'PERMISSION_DENIED'])
  t.same(await status('narrow', 'people', { verb: 'delete', filters: { id: 1 } }), [403, 'PERMISSION_DENIED'], 'they never widen them')
  const [hidden, absent] = await Promise.all(['rooms', 'roomz'].map(async (table) => (await post(table, { verb: 'select' }, { token: 'narrow' })).text.replaceAll(table, 'X')))
  t.equal(hidden, absent, 'a table without a permission is not there')
  t.same(await status('narrow', 'rooms', { verb: 'delete', filters: { id: 1 } }), [404, 'TABLE_NOT_FOUND'])
  t.same(await status('star', 'rooms', { verb: 'select' }), [200, undefined], '"*" is all databases')
})
