import t from 'tap'
import { sharedOnEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

const ids = (rows: Array<{ id: number }>) => rows.map(({ id }) => id)

const testShop = sharedOnEachEngine(t, { schema: shop })

await testShop('delete removes exactly the rows that the filters select', async (t, { post, sql }) => {
  const { status, text } = await post('customers', { verb: 'delete', filters: { status: 'old' } })
  t.equal(status, 200)
  t.equal(text, '{"success":true,"data":{"deleted":2}}')
  t.same(ids(await sql('select id from customers order by id')), [1, 2])
})

await testShop('a delete that matches no row counts 0', async (t, { post, sql }) => {
  t.same((await post('customers', { verb: 'delete', filters: { id: 99 } })).json.data, { deleted: 0 })
  t.same((await post('customers', { verb: 'delete', filters: { id: { $in: [] } } })).json.data, { deleted: 0 })
  t.same((await post('customers', { verb: 'delete', filters: { email: null } })).json.data, { deleted: 0 })
  t.equal((await sql('select id from customers')).length, 4)
})

await testShop('filters of a delete accept lists, null and operators, as in a select', async (t, { post, sql }) => {
  t.same((await post('customers', { verb: 'delete', filters: { id: [3, 98, 99] } })).json.data, { deleted: 1 })
  t.same((await post('orders', { verb: 'delete', filters: { note: null } })).json.data, { deleted: 1 })
  t.same((await post('customers', { verb: 'delete', filters: { credit: { $gt: '1000' }, name: { $startsWith: 'Zo' } } })).json.data, { deleted: 1 })
  t.same(ids(await sql('select id from customers order by id')), [1, 2])
  t.same(ids(await sql('select id from orders')), [1])
})

await testShop('a row with a key of several columns is deleted by all of them', async (t, { post, sql }) => {
  t.same((await post('order_items', { verb: 'delete', filters: { order_id: 1, line: 2 } })).json.data, { deleted: 1 })
  t.match(await sql('select line from order_items'), [{ line: 1 }])
})

const refusals: Array<[why: string, table: string, body: object, status: number, code: string, path: string | undefined]> = [
  ['no filters', 'customers', {}, 400, 'FILTERS_REQUIRED', '/filters'],
  ['empty filters', 'customers', { filters: {} }, 400, 'FILTERS_REQUIRED', '/filters'],
  ['filters that are a list', 'customers', { filters: [] }, 400, 'INVALID_BODY', '/filters'],
  ['filters that are null', 'customers', { filters: null }, 400, 'INVALID_BODY', '/filters'],
  ['data, which a delete does not use', 'customers', { filters: { id: 1 }, data: { id: 1 } }, 400, 'INVALID_BODY', '/data'],
  ['a filter on a column that is not there', 'customers', { filters: { nope: 1 } }, 400, 'COLUMN_NOT_FOUND', '/filters/nope'],
  ['a number for a text: MySQL would find every name that is no number', 'customers', { filters: { name: 0 } }, 400, 'INVALID_VALUE', '/filters/name'],
  ['a row of a view', 'order_lines', { filters: { order_id: 1 } }, 403, 'PERMISSION_DENIED', undefined]
]

await testShop('an invalid delete is rejected before a statement is sent', async (t, { post, statements, sql }) => {
  statements()
  for (const [why, table, body, status, code, path] of refusals) {
    const answer = await post(table, { verb: 'delete', ...body })
    t.equal(answer.status, status, why)
    t.match(answer.json, { success: false, data: {}, error: { code } }, why)
    t.equal(answer.json.error.details[0]?.path, path, why)
  }
  t.same(statements(), [])
  t.equal((await sql('select id from customers')).length, 4)
})
