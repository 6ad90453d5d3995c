/** Foreign keys to a table with rules: only rows that satisfy them can be referred to. */
import t from 'tap'
import { onEachEngine } from '../support/service.ts'
import { ORDERS, tenants, tokenFor } from './support.ts'

const rows = { tenant: { $claim: '/tenant' } }

const tokens = [
  tokenFor('acme', { orders: { rows }, customers: { rows } }, { tenant: 'acme' }),
  tokenFor('blind', { orders: { columns: { select: ['id'], insert: ['customer_id', 'sku'] }, rows }, customers: { rows } }, { tenant: 'acme' }),
  tokenFor('child', { orders: {}, customers: { rows } }, { tenant: 'acme' }),
  tokenFor('other', { orders: { rows: { tenant: 'acme' } }, customers: { rows } }),
  tokenFor('broken', { orders: {}, customers: { rows: { nope: 1 } } }),
  tokenFor('free', { orders: { rows }, customers: {} }, { tenant: 'acme' })
]

await onEachEngine(t, 'a row outside of the rules cannot be referred to, like one that does not exist', { schema: tenants, tokens }, async (t, { post, sql }) => {
  const before = await sql(ORDERS)
  const send = async (token: string, body: object) => {
    const { status, json } = await post('orders', body, { token })
    return status === 200 ? json.data : { status, ...json.error }
  }
  const insert = (customer: unknown, rest = {}) => ({ verb: 'insert', data: { customer_id: customer, ...rest } })
  const update = (customer: unknown) => ({ verb: 'update', data: { customer_id: customer }, filters: { id: 1 } })
  for (const token of ['acme', 'child']) {
    const tenant = token === 'child' ? { tenant: 'acme' } : {}
    const missing = await send(token, insert(99, tenant))
    t.match(missing, { status: 409, code: 'FOREIGN_KEY_VIOLATION', details: [{ path: '/data/customer_id' }] })
    for (const id of [3, 4]) {
      t.same(await send(token, insert(id, tenant)), missing, `${token} inserts ${id}`)
      t.same(await send(token, update(id)), await send(token, update(99)), `${token} updates ${id}`)
      t.same(await send(token, insert(id, { ...tenant, secret: 'a1' })), missing, 'whatever else is wrong')
    }
    t.same(await send(token, insert(99, { ...tenant, secret: 'a1' })), missing)
    t.match(await send(token, insert(1, { ...tenant, secret: 'a1' })), { code: 'UNIQUE_VIOLATION' })
  }
  t.same((await send('blind', insert(3))).details, [], 'a hidden column')
  t.same(await send('blind', insert(3)), await send('blind', insert(99)))
  t.match(await send('broken', insert(1, { tenant: 'acme' })), { status: 409, code: 'FOREIGN_KEY_VIOLATION' }, 'no row satisfies a rule that does not apply')
  t.match(await send('other', insert(1)), { status: 403, code: 'PERMISSION_DENIED' }, 'claims that are needed for the other table')
  t.match(await send('acme', { verb: 'update', data: { customer_id: { $inc: 1 } }, filters: { id: 1 } }), { status: 403 }, 'a value that is not known before')
  t.same(await sql(ORDERS), before)
  t.match(await send('acme', insert(2, { secret: 'n1' })), { inserted: 1 })
  t.match(await send('acme', insert(null, { secret: 'n2' })), { inserted: 1 })
  t.match(await send('other', { verb: 'insert', data: { secret: 'n3' } }), { inserted: 1 }, 'no reference, no claims')
  t.same(await send('acme', update(2)), { updated: 1 })
  t.same(await send('acme', update(null)), { updated: 1 })
  t.match(await send('free', insert(3, { secret: 'n4' })), { inserted: 1 }, 'without rules for the other table')
})
