import t from 'tap'
import { onEachEngine, type Schema, sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const testShop = sharedOnEachEngine(t, { schema: shop })

await testShop('select returns the rows that the filters select', async (t, { post }) => {
  const { status, json } = await post('customers', { verb: 'select', columns: ['name', 'id', 'credit'], filters: { status: 'new' }, orderBy: 'id DESC' })
  t.equal(status, 200)
  t.same(json, { success: true, data: { rows: [{ name: 'Grace', id: 2, credit: '0.99' }, { name: 'Ada', id: 1, credit: '12.50' }], count: 2 } })
})

await testShop('a select that matches no row returns an empty list', async (t, { post }) => {
  const { status, text, headers } = await post('customers', { verb: 'select', filters: { name: 'nobody' } })
  t.equal(status, 200)
  t.equal(text, '{"success":true,"data":{"rows":[],"count":0}}')
  t.equal(headers['content-type'], 'application/json; charset=utf-8')
})

const LOTS = 1500
const values = Array.from({ length: LOTS }, (_, index) => `(${index + 1})`).join(', ')
const numbers: Schema = {
  mysql: ['create table numbers (n int not null primary key)', `insert into numbers values ${values}`],
  sqlite: ['create table numbers (n int not null primary key)', `insert into numbers values ${values}`]
}

await onEachEngine(t, 'a select returns 100 rows by default and at most 1000', { schema: numbers }, async (t, { post, statements }) => {
  for (const [limit, count] of [[undefined, 100], [1, 1], [250, 250], [1000, 1000]] as const) {
    const { json: { data } } = await post('numbers', { verb: 'select', orderBy: 'n', ...(limit !== undefined && { limit }) })
    t.equal(data.count, count, `limit ${limit}`)
    t.same(data.rows, Array.from({ length: count }, (_, index) => ({ n: index + 1 })))
  }
  statements()
  for (const limit of [0, -1, 1001, 100000]) {
    const { status, json } = await post('numbers', { verb: 'select', limit })
    t.equal(status, 400)
    t.match(json.error, { code: 'LIMIT_OUT_OF_RANGE', message: /1 to 1000/, details: [{ path: '/limit' }] }, `limit ${limit}`)
  }
  for (const limit of [1.5, '10', null, true]) {
    const { status, json } = await post('numbers', { verb: 'select', limit })
    t.equal(status, 400)
    t.match(json.error, { code: 'INVALID_BODY', details: [{ path: '/limit' }] }, `limit ${JSON.stringify(limit)}`)
  }
  t.same(statements(), [], 'no statement was sent')
})

await testShop('the keys of a row are in the order of "columns", or in the order of the table', async (t, { post, engine }) => {
  const asked = await post('customers', { verb: 'select', columns: ['note', 'id', 'email', 'name'], filters: { id: 1 } })
  t.equal(asked.text, '{"success":true,"data":{"rows":[{"note":null,"id":1,"email":"ada@example.com","name":"Ada"}],"count":1}}')

  const all = await post('customers', { verb: 'select', filters: { id: 4 } })
  const created = engine === 'sqlite' ? '2026-04-02T03:04:05' : '2026-04-02T03:04:05.000'
  const row = { id: 4, email: 'zoë@example.com', name: 'Zoë', status: 'old', credit: '1000000.01', note: 'rush it', created_at: created, login: engine === 'sqlite' ? 'ZOë@EXAMPLE.COM' : 'ZOË@EXAMPLE.COM' }
  t.equal(all.text, `{"success":true,"data":{"rows":[${JSON.stringify(row)}],"count":1}}`)
})

await testShop('rows are ordered by several terms, with directions in any letter case', async (t, { post }) => {
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

await testShop('the limit applies after the order', async (t, { post }) => {
  const { json } = await post('customers', { verb: 'select', columns: ['id'], orderBy: 'credit DESC', limit: 2 })
  t.same(json.data, { rows: [{ id: 4 }, { id: 1 }], count: 2 })
})

await testShop('a plain null matches NULL, a list matches any of its values', async (t, { post }) => {
  const cases: Array<[filters: unknown, ids: number[]]> = [
    [{ note: null }, [1, 3]],
    [{ id: [1, 3, 99] }, [1, 3]],
    [{ id: { $in: [] } }, []],
    [{ name: ['Ada', 'Zoë'], status: 'old' }, [4]],
    [{ note: ['rush it', null] }, [1, 3, 4]],
    [{ email: null }, []],
    [{}, [1, 2, 3, 4]]
  ]
  for (const [filters, ids] of cases) {
    const { json } = await post('customers', { verb: 'select', columns: ['id'], orderBy: 'id', filters })
    t.same(json.data?.rows?.map(({ id }: { id: number }) => id), ids, JSON.stringify(filters))
  }
})

await testShop('a select reads views as it reads tables', async (t, { post }) => {
  const { json } = await post('order_lines', { verb: 'select', filters: { order_id: 1 }, orderBy: 'line DESC' })
  t.same(json.data, { rows: [{ order_id: 1, line: 2, product_sku: 'CUP-1' }, { order_id: 1, line: 1, product_sku: 'MUG-1' }], count: 2 })
})

const refusals: Array<[why: string, body: object, code: string, path: string]> = [
  ['a column that is not there', { columns: ['id', 'nope'] }, 'COLUMN_NOT_FOUND', '/columns/1'],
  ['a column in another case', { columns: ['ID'] }, 'COLUMN_NOT_FOUND', '/columns/0'],
  ['a filter on a column that is not there', { filters: { nope: 1 } }, 'COLUMN_NOT_FOUND', '/filters/nope'],
  ['an order by a column that is not there', { orderBy: 'id, nope DESC' }, 'COLUMN_NOT_FOUND', '/orderBy'],
  ['an order without a column', { orderBy: '' }, 'INVALID_ORDER_BY', '/orderBy'],
  ['an order with a term left out', { orderBy: 'id,,name' }, 'INVALID_ORDER_BY', '/orderBy'],
  ['a direction of its own', { orderBy: 'id UPWARDS' }, 'INVALID_ORDER_BY', '/orderBy'],
  ['SQL in the order', { orderBy: '(select 1)' }, 'INVALID_ORDER_BY', '/orderBy'],
  ['a column twice in the order', { orderBy: 'id, id DESC' }, 'INVALID_ORDER_BY', '/orderBy'],
  ['a list of no columns', { columns: [] }, 'INVALID_BODY', '/columns'],
  ['a column twice', { columns: ['id', 'id'] }, 'INVALID_BODY', '/columns'],
  ['a column that is no text', { columns: [1] }, 'INVALID_BODY', '/columns/0'],
  ['data, which a select does not use', { data: { id: 1 } }, 'INVALID_BODY', '/data']
]

await testShop('an invalid select is rejected before a statement is sent', async (t, { post, statements }) => {
  statements()
  for (const [why, body, code, path] of refusals) {
    const { status, json } = await post('customers', { verb: 'select', ...body })
    t.equal(status, 400, why)
    t.match(json, { success: false, data: {}, error: { code, details: [{ path }] } }, why)
  }
  t.same(statements(), [])
})
