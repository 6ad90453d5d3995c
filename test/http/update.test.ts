import t from 'tap'
import { onEachEngine, type Schema, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const testShop = sharedOnEachEngine(t, { schema: shop })

await testShop('update changes exactly the rows that the filters select', async (t, { post, sql }) => {
  const { status, text } = await post('customers', { verb: 'update', data: { status: 'old', note: 'gone' }, filters: { status: 'new' } })
  t.equal(status, 200)
  t.equal(text, '{"success":true,"data":{"updated":2}}')
  t.match(await sql('select id, status, note from customers order by id'), [
    { id: 1, status: 'old', note: 'gone' },
    { id: 2, status: 'old', note: 'gone' },
    { id: 3, status: 'old', note: null },
    { id: 4, status: 'old', note: 'rush it' }
  ])
})

await testShop('"updated" counts the rows that changed, not the rows that matched', async (t, { post }) => {
  const update = async (data: object, filters: object) => (await post('customers', { verb: 'update', data, filters })).json.data.updated
  t.equal(await update({ name: 'Ada' }, { id: 1 }), 0, 'the row already has the value')
  t.equal(await update({ note: null }, { id: [1, 2, 3] }), 1, 'two rows already have no note')
  t.equal(await update({ note: 'n', status: 'new' }, { id: [1, 2] }), 2, 'one of two columns changes')
  t.equal(await update({ credit: 12.5, created_at: '2026-01-02 03:04:05' }, { id: 1 }), 0, 'the same values written differently')
  t.equal(await update({ name: 'Nobody' }, { id: 99 }), 0, 'no row matches')
  t.equal(await update({ note: 'ä' }, { id: { $gte: 3 } }), 2)
  t.equal(await update({ note: 'a' }, { id: { $gte: 3 } }), 2, 'letters that a collation may treat as equal')
  t.equal(await update({ note: 'A' }, { id: { $gte: 3 } }), 2, 'another case')
  t.equal(await update({ note: 'A ' }, { id: 3 }), 1, 'a trailing space')
})

const collated: Schema = {
  mysql: ['create table words (id int not null primary key, word varchar(10) collate utf8mb4_general_ci null)', "insert into words values (1, 'ada')"],
  sqlite: [
    'create table words (id int not null primary key, word varchar(10) collate nocase null, trimmed varchar(10) collate rtrim null)',
    "insert into words values (1, 'ada', 'x')"
  ]
}

await onEachEngine(t, 'a column with a case-insensitive collation can be updated to the same word in another case', { schema: collated }, async (t, { post, sql, engine }) => {
  const { json } = await post('words', { verb: 'update', data: { word: 'ADA' }, filters: { id: 1 } })
  t.same(json.data, { updated: 1 })
  t.match(await sql('select word from words'), [{ word: 'ADA' }])
  if (engine !== 'sqlite') return
  t.same((await post('words', { verb: 'update', data: { trimmed: 'x  ' }, filters: { id: 1 } })).json.data, { updated: 1 })
  t.match(await sql('select trimmed from words'), [{ trimmed: 'x  ' }])
})

await testShop('update can change the filtered column and a key', async (t, { post, sql }) => {
  t.same((await post('customers', { verb: 'update', data: { id: 30 }, filters: { id: 3 } })).json.data, { updated: 1 })
  t.equal((await sql('select name from customers where id = 30'))[0].name, 'Linus')
})

await testShop('filters of an update accept lists and null, as in a select', async (t, { post, sql }) => {
  t.same((await post('customers', { verb: 'update', data: { name: 'None' }, filters: { note: null } })).json.data, { updated: 2 })
  t.same((await post('customers', { verb: 'update', data: { name: 'Some' }, filters: { id: [2, 4] } })).json.data, { updated: 2 })
  t.same((await post('customers', { verb: 'update', data: { name: 'All' }, filters: { id: { $in: [] } } })).json.data, { updated: 0 })
  t.same((await sql('select name from customers order by id')).map(({ name }) => name), ['None', 'Some', 'None', 'Some'])
})

const refusals: Array<[why: string, table: string, body: object, status: number, code: string, path: string | undefined]> = [
  ['no filters', 'customers', { data: { name: 'x' } }, 400, 'FILTERS_REQUIRED', '/filters'],
  ['empty filters', 'customers', { data: { name: 'x' }, filters: {} }, 400, 'FILTERS_REQUIRED', '/filters'],
  ['no data', 'customers', { filters: { id: 1 } }, 400, 'INVALID_BODY', '/data'],
  ['empty data', 'customers', { data: {}, filters: { id: 1 } }, 400, 'INVALID_BODY', '/data'],
  ['a limit, which an update does not use', 'customers', { data: { name: 'x' }, filters: { id: 1 }, limit: 1 }, 400, 'INVALID_BODY', '/limit'],
  ['a column that is not there', 'customers', { data: { nope: 1 }, filters: { id: 1 } }, 400, 'COLUMN_NOT_FOUND', '/data/nope'],
  ['a filter on a column that is not there', 'customers', { data: { name: 'x' }, filters: { nope: 1 } }, 400, 'COLUMN_NOT_FOUND', '/filters/nope'],
  ['a generated column', 'customers', { data: { login: 'X' }, filters: { id: 1 } }, 400, 'COLUMN_NOT_WRITABLE', '/data/login'],
  ['null for a column that must have a value', 'customers', { data: { name: null }, filters: { id: 1 } }, 422, 'NOT_NULL_VIOLATION', '/data/name'],
  ['null for every key of rows to return', 'customers', { data: { id: null, email: null }, filters: { id: 1 }, returning: ['id'] }, 422, 'NOT_NULL_VIOLATION', '/data/id'],
  ['a value of another type', 'customers', { data: { credit: 'much' }, filters: { id: 1 } }, 400, 'INVALID_VALUE', '/data/credit'],
  ['a filter of another type', 'customers', { data: { credit: 1 }, filters: { name: 0 } }, 400, 'INVALID_VALUE', '/filters/name'],
  ['a row of a view', 'order_lines', { data: { line: 5 }, filters: { order_id: 1 } }, 403, 'PERMISSION_DENIED', undefined]
]

await testShop('an invalid update is rejected before a statement is sent', async (t, { post, statements, sql }) => {
  const before = await sql('select * from customers order by id')
  statements()
  for (const [why, table, body, status, code, path] of refusals) {
    const answer = await post(table, { verb: 'update', ...body })
    t.equal(answer.status, status, why)
    t.match(answer.json, { success: false, data: {}, error: { code } }, why)
    t.equal(answer.json.error.details[0]?.path, path, why)
  }
  t.same(statements(), [])
  t.same(await sql('select * from customers order by id'), before)
})
