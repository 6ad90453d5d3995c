/** Rules on rows: a row outside of them is not there, and cannot be written. */
import t from 'tap'
import { onEachEngine } from '../support/service.ts'
import { ORDERS, tenants, tokenFor } from './support.ts'

const claim = { tenant: { $claim: '/tenant' } }
const columns = { select: ['id', 'status', 'total', 'sku', 'customer_id'] }

const tokens = [
  tokenFor('acme', { orders: { columns, rows: claim }, customers: { rows: claim } }, { tenant: 'acme' }),
  tokenFor('zeta', { orders: { columns, rows: claim }, customers: { rows: claim } }, { tenant: 'zeta' }),
  tokenFor('open', { orders: { rows: { ...claim, status: ['new', 'paid'], total: { $gte: 5, $lt: 100 } } } }, { tenant: 'acme' }),
  tokenFor('misfit', { orders: { rows: { total: 'many' } } }),
  tokenFor('broken', { orders: { rows: { nope: 1 } }, customers: {} })
]

await onEachEngine(t, 'a row outside of the rules is not there', { schema: tenants, tokens }, async (t, { post, sql }) => {
  const before = await sql(ORDERS)
  const as = (token: string) => async (body: object) => {
    const { status, json } = await post('orders', body, { token })
    return status === 200 ? json.data : [status, json.error.code]
  }
  const acme = as('acme')
  t.match(await acme({ verb: 'select', columns: ['id'], orderBy: 'id' }), { rows: [{ id: 1 }, { id: 2 }, { id: 3 }], count: 3 })
  t.match(await as('zeta')({ verb: 'select', columns: ['id'], orderBy: 'id' }), { rows: [{ id: 4 }, { id: 5 }, { id: 6 }], count: 3 }, 'the same statement with other values')
  t.match(await acme({ verb: 'select', filters: { $or: [{ id: 4 }, { id: { $gt: 0 } }] } }), { count: 3 }, 'an $or does not lead out')
  t.match(await acme({ verb: 'select', filters: { $not: { id: 1 } } }), { count: 2 })
  t.match(await acme({ verb: 'select', filters: { id: 7 } }), { count: 0 }, 'texts are compared to the letter')
  t.match(await as('open')({ verb: 'select', columns: ['id'], orderBy: 'id' }), { rows: [{ id: 1 }, { id: 2 }] })
  for (const id of [4, 7]) {
    t.same(await acme({ verb: 'update', filters: { id }, data: { status: 'x' } }), { updated: 0 })
    t.same(await acme({ verb: 'delete', filters: { id } }), { deleted: 0 })
  }
  t.same(await acme({ verb: 'delete', filters: {} }), [400, 'FILTERS_REQUIRED'], 'a rule is not a filter')
  t.same(await sql(ORDERS), before)
  t.same(await acme({ verb: 'update', filters: { id: { $gte: 0 } }, data: { status: 'x' } }), { updated: 3 })
  t.same((await sql(ORDERS)).map(({ status }) => status), ['x', 'x', 'x', 'new', 'paid', 'done', 'new'])
  t.same(await acme({ verb: 'delete', filters: { id: { $gte: 0 } } }), { deleted: 3 })
  t.same((await sql(ORDERS)).map(({ id }) => Number(id)), [4, 5, 6, 7])
  t.same(await as('broken')({ verb: 'select' }), [404, 'TABLE_NOT_FOUND'], 'a rule on a column that is not there')
  t.same(await as('misfit')({ verb: 'select' }), [404, 'TABLE_NOT_FOUND'], 'a constant that does not fit its column')
})

await onEachEngine(t, 'a row that is written satisfies the rules', { schema: tenants, tokens }, async (t, { post, sql }) => {
  const as = (token: string) => async (body: object) => {
    const { status, json } = await post('orders', body, { token })
    return status === 200 ? json.data : [status, json.error.code, json.error.details.length]
  }
  const [acme, open] = [as('acme'), as('open')]
  const before = await sql(ORDERS)
  const denied = [403, 'PERMISSION_DENIED', 0]
  for (const data of [
    {}, { total: 5 }, { status: 'new' }, { status: 'done', total: 5 }, { status: 'NEW', total: 5 }, { status: 'new', total: 100 }, { status: 'new', total: null },
    { status: null, total: 5 }, { status: 'new', total: 5, tenant: null }, { id: null, status: 'new', total: 4 }, [{ status: 'new', total: 5 }, { status: null, total: 5 }],
    { status: 'new', total: 5, tenant: 'zeta' }, { status: 'new', total: 5, tenant: 'ACME' }, { status: 'new', total: 5, tenant: 'acme ' }
  ]) t.same(await open({ verb: 'insert', data }), Array.isArray(data) ? [...denied.slice(0, 2), 1] : denied, JSON.stringify(data))
  for (const data of [{ total: 4 }, { total: null }, { status: null }, { tenant: null }, { id: null, total: 4 }, { status: 'done' }, { status: 'New' }, { tenant: 'zeta' }, { total: 10, tenant: 'Acme' }]) {
    t.same(await open({ verb: 'update', data, filters: { id: 1 } }), denied, JSON.stringify(data))
  }
  t.same(await open({ verb: 'insert', data: { id: 8, status: 'new', total: 5 }, onConflict: { key: ['id'], set: { status: null } } }), denied)
  t.same(await open({ verb: 'update', data: { total: 4, nope: 1 }, filters: { id: 1 } }), [400, 'COLUMN_NOT_FOUND', 1], 'after all that the catalog tells')
  t.same(await open({ verb: 'update', data: { id: null, total: 5 }, filters: { id: 1 } }), [422, 'NOT_NULL_VIOLATION', 1], 'what the database refuses comes last')
  t.same(await acme({ verb: 'insert', data: { tenant: 'acme' } }), [400, 'COLUMN_NOT_FOUND', 1], 'the column is hidden')
  t.same(await sql(ORDERS), before)
  t.match(await open({ verb: 'insert', data: { status: 'new', total: 5, tenant: 'acme', secret: 'o1' } }), { inserted: 1, id: 8 })
  t.match(await open({ verb: 'insert', data: { status: 'paid', total: 99, secret: 'o2' } }), { inserted: 1, id: 9 }, 'an equality is filled in')
  t.match(await acme({ verb: 'insert', data: { sku: 'N' } }), { inserted: 1, id: 10 }, 'in a column that is hidden too')
  t.same((await sql('select tenant from orders where id >= 8 order by id')).map(({ tenant }) => tenant), ['acme', 'acme', 'acme'])
  t.same(await open({ verb: 'update', data: { total: 5, status: 'paid', tenant: 'acme' }, filters: { id: 8 } }), { updated: 1 })
})

await onEachEngine(t, 'a rule applies to the table as it is now', { schema: tenants, tokens }, async (t, { post, sql, server }) => {
  const select = async (token: string) => {
    const { status, json } = await post('orders', { verb: 'select', columns: ['id'] }, { token })
    return status === 200 ? json.data.count : [status, json.error.code]
  }
  t.equal(await select('acme'), 3)
  t.same(await select('broken'), [404, 'TABLE_NOT_FOUND'])
  await sql('alter table orders add column nope int default 1')
  await server.rows.refresh()
  t.equal(await select('broken'), 7, 'the column has come')
  await sql('alter table orders rename column tenant to owner')
  t.same(await select('acme'), [503, 'DATABASE_UNAVAILABLE'], 'the column is gone, as the statement has shown, and may come back')
  t.match((await post('orders', { verb: 'update', data: { status: 'x' }, filters: { id: 1 } }, { token: 'acme' })).json, { error: { code: 'DATABASE_UNAVAILABLE' } })
  t.equal(await select('broken'), 7)
})
