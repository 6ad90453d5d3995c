/** Several operations, references between them and idempotency keys under a grant. */
import type { FastifyRequest } from 'fastify'
import t from 'tap'
import type { HostGrant } from '../../src/access/host-grant.ts'
import { CREATE } from '../../src/idempotency/keys-table.ts'
import { onEachEngine, type Schema } from '../support/service.ts'
import { ORDERS, tenants, tokenFor } from './support.ts'

const rows = { tenant: { $claim: '/tenant' } }
const columns = { select: ['id', 'status', 'total', 'sku', 'customer_id'] }
const tables = { orders: { columns, rows: { ...rows, status: ['new', 'paid', 'done'] } }, customers: { rows } }
const schema: Schema = (engine) => [
  ...(tenants as (name: string) => string[])(engine),
  ...(engine === 'sqlite' ? CREATE.sqlite : CREATE.mysql).split(';').map((sql) => sql.trim()).filter((sql) => sql !== '')
]

const tokens = [
  tokenFor('acme', tables, { tenant: 'acme' }),
  tokenFor('reader', { orders: { ...tables.orders, permissions: ['select'] }, customers: {} }, { tenant: 'acme' })
]

await onEachEngine(t, 'each operation is under its own rules', { schema, tokens }, async (t, { operate, sql }) => {
  const before = await sql(ORDERS)
  const send = async (operations: object[], rest: object = {}, token = 'acme') => {
    const { status, json } = await operate({ operations, ...rest }, { token })
    return status === 200 ? json.data.results : [status, json.error.code, json.error.details.map((detail: any) => detail.path)]
  }
  const insert = { table: 'orders', verb: 'insert', data: { status: 'new' } }
  const foreign = { table: 'orders', verb: 'update', filters: { id: 4 }, data: { total: 1 } }
  const select = { table: 'customers', verb: 'select', filters: { id: 1 } }
  t.same(await send([foreign, { ...foreign, filters: { id: 99 } }]), [{ updated: 0 }, { updated: 0 }])
  t.match(await send([{ table: 'orders', verb: 'select', filters: { id: { $in: [4, 7] } }, lock: true }]), [{ count: 0 }])
  for (const customer of [3, 99]) {
    t.same(await send([insert, { ...insert, data: { status: 'new', customer_id: customer } }]), [409, 'FOREIGN_KEY_VIOLATION', ['/operations/1/data/customer_id']])
  }
  t.same(await send([{ ...select, filters: { id: 3 } }, { ...insert, data: { status: 'new', customer_id: { $ref: '/0/rows/0/id' } } }]), [400, 'INVALID_VALUE', ['/operations/1/data/customer_id']])
  t.same(await send([select, { ...insert, data: { status: { $ref: '/0/rows/0/name' } } }]), [403, 'PERMISSION_DENIED', ['/operations/1']], 'a value that breaks a rule when it is known')
  t.same(await send([insert, { ...insert, data: { status: 'open' } }]), [403, 'PERMISSION_DENIED', ['/operations/1']])
  t.same(await send([{ ...insert, data: { id: null, status: 'new' } }, { ...insert, data: { status: null } }]), [403, 'PERMISSION_DENIED', ['/operations/1']], 'what the database refuses comes last')
  t.same(await send([select, insert], {}, 'reader'), [403, 'PERMISSION_DENIED', ['/operations/1']])
  t.same(await send([insert, { ...insert, data: { tenant: 'acme' } }]), [400, 'COLUMN_NOT_FOUND', ['/operations/1/data/tenant']])
  t.same(await sql(ORDERS), before)
  t.match(await send([{ ...select, filters: { id: 2 } }, { ...insert, data: { status: 'new', customer_id: { $ref: '/0/rows/0/id' } } }]), [{ count: 1 }, { inserted: 1 }])
  t.match(await send([{ table: 'orders', verb: 'select', filters: { id: 1 } }, { ...foreign, filters: { id: 2 }, data: { status: { $ref: '/0/rows/0/status' } } }]), [{ count: 1 }, { updated: 1 }], 'a value that satisfies the rule')
})

const narrow = { select: ['id', 'status'], insert: ['status', 'sku'] }
const grants: Record<string, object> = {
  acme: { orders: { columns, rows } },
  zeta: { orders: { columns, rows } },
  narrow: { orders: { columns: narrow, rows } },
  parents: { orders: { columns, rows }, customers: { rows } },
  reader: { orders: { columns, rows, permissions: ['select'] } }
}
const authenticate = (request: FastifyRequest): HostGrant => {
  const name = String(request.headers['x-grant'])
  return { name: 'caller', permissions: ['insert', 'select'], databases: { shop: grants[name] as any }, claims: { tenant: name === 'zeta' ? 'zeta' : 'acme' } }
}

await onEachEngine(t, 'an answer is repeated only to the grant that it was made for', { schema, options: { authenticate } as object }, async (t, { post, sql }) => {
  const send = async (name: string) => {
    const { status, json, headers } = await post('orders', { verb: 'insert', data: { status: 'new', sku: 'K' } }, { token: null, headers: { 'x-grant': name, 'idempotency-key': 'k' } })
    return [status, json.error?.code ?? json.data.inserted, headers['idempotency-replayed']]
  }
  t.same(await send('acme'), [200, 1, undefined])
  t.same(await send('acme'), [200, 1, 'true'])
  for (const name of ['zeta', 'narrow', 'parents']) t.same(await send(name), [422, 'IDEMPOTENCY_KEY_REUSED', undefined], name)
  t.same(await send('reader'), [403, 'PERMISSION_DENIED', undefined])
  t.equal((await sql("select * from orders where sku = 'K'")).length, 1)
})
