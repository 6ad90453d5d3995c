/** `columns`, `orderBy`, `limit` and plain filters of a select. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { codeBlocks, readDocument } from '../support/markdown.ts'
import { useEachEngine } from '../support/rotation.ts'
import { type EngineName, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

useEachEngine(t)

const LOTS = 1500
const quote = (engine: EngineName, name: string): string => engine === 'sqlite' ? `"${name}"` : `\`${name}\``

const test = sharedOnEachEngine(t, {
  schema: (engine) => {
    const types = engine === 'sqlite' ? ['text', 'text', 'blob'] : ['mediumtext', 'longtext', 'longblob']
    return [
      ...shop[engine === 'sqlite' ? 'sqlite' : 'mysql'],
      'create table numbers (n int not null primary key)',
      `insert into numbers values ${Array.from({ length: LOTS }, (_, index) => `(${index + 1})`).join(', ')}`,
      `create table odd (id integer not null primary key, ${quote(engine, 'a,b')} integer not null,
        ${quote(engine, ' x')} integer not null, doc json null)`,
      'insert into odd values (1, 2, 1, null), (2, 1, 1, null), (3, 2, 0, null)',
      `create table long_texts (id integer not null primary key, ${types.flatMap((type, index) =>
        [`a${index} ${type} not null`, `b${index} ${type} not null`]).join(', ')})`,
      'create table renamed (v1 int not null, v0 int not null)', 'insert into renamed values (1, 30), (2, 20), (3, 10)',
      ...engine === 'sqlite'
        ? []
        : [
            "create table labelled (id int not null primary key, labels set('b', 'a', 'c') not null)",
            "insert into labelled values (1, 'c'), (2, 'a,b'), (3, ''), (4, 'b'), (5, 'a')"
          ]
    ]
  }
})

// CONTRIBUTING.md shows it
await test('orderBy sorts the rows before limit takes them', async (t, { post }) => {
  const { json } = await post('customers', { verb: 'select', orderBy: 'id DESC', limit: 1, columns: ['id'] })
  t.same(json.data.rows, [{ id: 4 }])
})

t.test('the test that CONTRIBUTING.md shows is one of these', async (t) => {
  const [shown] = codeBlocks(readDocument('CONTRIBUTING.md')).filter(({ kind }) => kind === 'ts test')
  t.ok(readFileSync(new URL(import.meta.url), 'utf8').includes(shown?.text as string))
})

await test('select returns the rows that the filters select', async (t, { post }) => {
  const { status, json } = await post('customers', {
    verb: 'select', columns: ['name', 'id', 'credit'], filters: { status: 'new' }, orderBy: 'id DESC'
  })
  t.equal(status, 200)
  t.same(json, {
    success: true,
    data: { rows: [{ name: 'Grace', id: 2, credit: '0.99' }, { name: 'Ada', id: 1, credit: '12.50' }], count: 2 }
  })
})

await test('a select that matches no row returns an empty list', async (t, { post }) => {
  const { status, text, headers } = await post('customers', { verb: 'select', filters: { name: 'nobody' } })
  t.equal(status, 200)
  t.equal(text, '{"success":true,"data":{"rows":[],"count":0}}')
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
})

await test('a select returns 100 rows by default and at most 1000', async (t, { post }) => {
  for (const [limit, count] of [[undefined, 100], [1, 1], [250, 250], [1000, 1000]] as const) {
    const { json: { data } } = await post('numbers', {
      verb: 'select', orderBy: 'n', ...(limit !== undefined && { limit })
    })
    t.equal(data.count, count, `limit ${limit}`)
    t.same(data.rows, Array.from({ length: count }, (_, index) => ({ n: index + 1 })))
  }
})

await test('the keys of a row are in the order of "columns", or in the ' +
  'order of the table', async (t, { post, engine }) => {
  const asked = await post('customers', {
    verb: 'select', columns: ['note', 'id', 'email', 'name'], filters: { id: 1 }
  })
  t.equal(
    asked.text,
    '{"success":true,"data":{"rows":[{"note":null,"id":1,"email":"ada@example.com","name":"Ada"}],"count":1}}'
  )

  const all = await post('customers', { verb: 'select', filters: { id: 4 } })
  const created = engine === 'sqlite' ? '2026-04-02T03:04:05' : '2026-04-02T03:04:05.000'
  const row = {
    id: 4,
    email: 'zoë@example.com',
    name: 'Zoë',
    status: 'old',
    credit: '1000000.01',
    note: 'rush it',
    created_at: created,
    login: engine === 'sqlite' ? 'ZOë@EXAMPLE.COM' : 'ZOË@EXAMPLE.COM'
  }
  t.equal(all.text, `{"success":true,"data":{"rows":[${JSON.stringify(row)}],"count":1}}`)
})

await test('rows are ordered by several terms, with directions in any letter case', async (t, { post }) => {
  const orders: Array<[string, number[]]> = [
    ['id', [1, 2, 3, 4]],
    ['id DESC', [4, 3, 2, 1]],
    ['status, id desc', [2, 1, 4, 3]],
    ['status DESC,name ASC', [3, 4, 1, 2]],
    ['  status   dEsC ,\tcredit Asc ', [3, 4, 2, 1]],
    ['credit', [3, 2, 1, 4]]
  ]
  for (const [orderBy, ids] of orders) {
    const { json } = await post('customers', { verb: 'select', columns: ['id'], orderBy })
    t.same(json.data.rows.map(({ id }: { id: number }) => id), ids, orderBy)
  }
})

await test('a select reads views as it reads tables', async (t, { post }) => {
  const { json } = await post('order_lines', { verb: 'select', filters: { order_id: 1 }, orderBy: 'line DESC' })
  t.same(json.data, {
    rows: [{ order_id: 1, line: 2, product_sku: 'CUP-1' }, { order_id: 1, line: 1, product_sku: 'MUG-1' }], count: 2
  })
})

// orderBy over HTTP: both forms, and the order of a SET.

await test('orderBy in objects takes columns of any name, also with a comma', async (t, { post }) => {
  const ids = async (orderBy: unknown): Promise<number[]> => (await post('odd', {
    verb: 'select', columns: ['id'], orderBy
  })).json.data?.rows.map(({ id }: { id: number }) => id)
  t.same(await ids([{ 'a,b': 'ASC' }, { id: 'DESC' }]), [2, 3, 1])
  t.same(await ids([{ ' x': 'dEsC' }, { 'a,b': 'asc' }]), [2, 1, 3])
  t.same(await ids('id DESC'), [3, 2, 1])
})

await test('a SET is ordered by the positions of its members', async (t, { post }) => {
  for (const [orderBy, ids] of [['labels', [3, 4, 5, 2, 1]], [[{ labels: 'DESC' }], [1, 2, 5, 4, 3]]]) {
    t.same((await post('labelled', { verb: 'select', columns: ['id'], orderBy })).json.data.rows.map(
      ({ id }: { id: number }) => id
    ), ids)
  }
}, ['mariadb', 'mysql'])

await test('orderBy takes columns of long texts, whatever memory the server has for sorting', async (t, { post }) => {
  const start = 'x'.repeat(20_000)
  const rest = { a1: '', b0: '', b1: '', a2: '', b2: '' }
  for (const [id, end] of [[1, 'b'], [2, 'c'], [3, 'a']] as const) {
    t.match(await post('long_texts', { verb: 'insert', data: { ...rest, id, a0: start + end } }), { status: 200 })
  }
  const orderBy = ['a1', 'b0', 'b1', 'a2', 'b2', 'a0'].map((name) => ({ [name]: 'ASC' }))
  t.match((await post('long_texts', { verb: 'select', columns: ['id'], orderBy })).json.data, {
    rows: [{ id: 3 }, { id: 1 }, { id: 2 }]
  })
})

await test('rows are ordered by the column, not by another column that has ' +
  'its name as an alias', async (t, { post }) => {
  const { json } = await post('renamed', {
    verb: 'select', columns: ['v1', 'v0'], orderBy: 'v0', filters: { v1: { $gt: 1 } }
  })
  t.same(json.data.rows, [{ v1: 3, v0: 10 }, { v1: 2, v0: 20 }])
})
