import t from 'tap'
import { onEachEngine } from '../support/service.ts'
import { shop } from '../support/shop.ts'

await onEachEngine(t, 'select returns the rows that the filters select', { schema: shop }, async (t, { post }) => {
  const { status, json } = await post('customers', { verb: 'select', columns: ['name', 'id', 'credit'], filters: { status: 'new' }, orderBy: 'id DESC' })
  t.equal(status, 200)
  t.same(json, { success: true, data: { rows: [{ name: 'Grace', id: 2, credit: '0.99' }, { name: 'Ada', id: 1, credit: '12.50' }], count: 2 } })
})
