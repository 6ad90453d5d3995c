/** orderBy over HTTP: both forms, what each rejects, and the order of a SET. */
import t from 'tap'
import { onEachEngine } from '../support/service.ts'

const quote = (engine: string, name: string): string => engine === 'sqlite' ? `"${name}"` : `\`${name}\``

await onEachEngine(t, 'a column with a comma in its name once could not be used in orderBy', {
  schema: (engine) => [
    `create table odd (id integer not null primary key, ${quote(engine, 'a,b')} integer not null, ${quote(engine, ' x')} integer not null, doc json null)`,
    'insert into odd values (1, 2, 1, null), (2, 1, 1, null), (3, 2, 0, null)'
  ]
}, async (t, { post, statements }) => {
  const ids = async (orderBy: unknown): Promise<number[]> => (await post('odd', { verb: 'select', columns: ['id'], orderBy })).json.data?.rows.map(({ id }: { id: number }) => id)
  t.same(await ids([{ 'a,b': 'ASC' }, { id: 'DESC' }]), [2, 3, 1])
  t.same(await ids([{ ' x': 'dEsC' }, { 'a,b': 'asc' }]), [2, 1, 3])
  t.same(await ids('id DESC'), [3, 2, 1])
  statements()
  const refused: Array<[orderBy: string, code: string, path: string]> = [
    ['[{"id":"UP"}]', 'INVALID_ORDER_BY', '/orderBy'], ['[{"id":"ASC","a,b":"ASC"}]', 'INVALID_ORDER_BY', '/orderBy'], ['[{}]', 'INVALID_ORDER_BY', '/orderBy'], ['[]', 'INVALID_ORDER_BY', '/orderBy'],
    ['[{"id":1}]', 'INVALID_ORDER_BY', '/orderBy'], ['[{"id":"ASC "}]', 'INVALID_ORDER_BY', '/orderBy'], ['[{"id":"ASC"},{"id":"DESC"}]', 'INVALID_ORDER_BY', '/orderBy'], ['[{"doc":"ASC"}]', 'INVALID_ORDER_BY', '/orderBy'],
    ['["id"]', 'INVALID_BODY', '/orderBy'], ['[{"id":"ASC"},"id"]', 'INVALID_BODY', '/orderBy'], ['[null]', 'INVALID_BODY', '/orderBy'], ['[1.0]', 'INVALID_BODY', '/orderBy'], ['[["id"]]', 'INVALID_BODY', '/orderBy'],
    ['{"id":"ASC"}', 'INVALID_BODY', '/orderBy'], ['1', 'INVALID_BODY', '/orderBy'], ['null', 'INVALID_BODY', '/orderBy'],
    ['[{"nope":"ASC"}]', 'COLUMN_NOT_FOUND', '/orderBy/0/nope'], ['[{"__proto__":"ASC"}]', 'COLUMN_NOT_FOUND', '/orderBy/0/__proto__']
  ]
  for (const [orderBy, code, path] of refused) {
    t.match((await post('odd', `{"verb":"select","orderBy":${orderBy}}`)).json.error, { code, details: [{ path }] }, orderBy)
  }
  t.same(statements(), [])
})

await onEachEngine(t, 'a SET is ordered by the positions of its members', {
  only: ['mariadb', 'mysql'],
  schema: () => ["create table labelled (id int not null primary key, labels set('b', 'a', 'c') not null)", "insert into labelled values (1, 'c'), (2, 'a,b'), (3, ''), (4, 'b'), (5, 'a')"]
}, async (t, { post }) => {
  for (const [orderBy, ids] of [['labels', [3, 4, 5, 2, 1]], [[{ labels: 'DESC' }], [1, 2, 5, 4, 3]]]) {
    t.same((await post('labelled', { verb: 'select', columns: ['id'], orderBy })).json.data.rows.map(({ id }: { id: number }) => id), ids)
  }
})

await onEachEngine(t, 'orderBy with columns of long texts once ran out of sort memory on MariaDB', {
  schema: (engine) => {
    const types = engine === 'sqlite' ? ['text', 'text', 'blob'] : ['mediumtext', 'longtext', 'longblob']
    return [`create table long_texts (id integer not null primary key, ${types.flatMap((type, index) => [`a${index} ${type} not null`, `b${index} ${type} not null`]).join(', ')})`]
  }
}, async (t, { post }) => {
  const start = 'x'.repeat(20_000)
  const rest = { a1: '', b0: '', b1: '', a2: '', b2: '' }
  for (const [id, end] of [[1, 'b'], [2, 'c'], [3, 'a']] as const) t.match(await post('long_texts', { verb: 'insert', data: { ...rest, id, a0: start + end } }), { status: 200 })
  const orderBy = ['a1', 'b0', 'b1', 'a2', 'b2', 'a0'].map((name) => ({ [name]: 'ASC' }))
  t.match((await post('long_texts', { verb: 'select', columns: ['id'], orderBy })).json.data, { rows: [{ id: 3 }, { id: 1 }, { id: 2 }] })
})
