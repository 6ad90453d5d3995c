/** A service's client as somebody writes it with @hey-api/openapi-ts. */
import {
  queryCustomers, queryOrderLines, queryOrders, runShopOperations, type CustomersRow, type ErrorResponse, type OrdersRow
} from './client/index.js'
import { client } from './client/client.gen.js'

client.setConfig({ baseUrl: process.env['BASE'] as string, auth: process.env['TOKEN'] as string })

const inserted = await queryOrders({ body: { verb: 'insert', data: { customer_id: 2, note: 'by a client' } } })
if (inserted.error !== undefined || !('inserted' in inserted.data.data) || inserted.data.data.id === null) {
  throw new Error('not inserted')
}
const id: number = inserted.data.data.id

const updated = await queryOrders({ body: { verb: 'update', data: { note: null }, filters: { id } } })

const selected = await queryOrders({
  body: {
    verb: 'select',
    columns: ['id', 'note'],
    filters: { id: { $gte: id }, $or: [{ note: null }, { note: { $startsWith: 'by' } }] },
    orderBy: 'id DESC',
    limit: 5
  }
})
if (selected.error !== undefined || !('count' in selected.data.data)) throw new Error('not selected')
const rows: OrdersRow[] = selected.data.data.rows
// a row has the columns that were asked for: its type says of none that it must be there
const note: string | null | undefined = rows[0]?.note

const lines = await queryOrderLines({ body: { verb: 'select', limit: 1 } })
const deleted = await queryOrders({ body: { verb: 'delete', filters: { id: [id] } } })
const together = await runShopOperations({
  body: {
    operations: [
      { table: 'orders', verb: 'insert', data: { customer_id: 2, note: 'together' } },
      { table: 'orders', verb: 'update', data: { note: null }, filters: { id: { $ref: '/0/id' } } },
      { table: 'orders', verb: 'delete', filters: { id: { $ref: '/0/id' } }, expect: 1 }
    ]
  }
})
const refused = await queryOrders({ body: { verb: 'insert', data: { customer_id: 999 } } })
const code: ErrorResponse['error']['code'] | undefined = refused.error?.error.code

const member = await queryOrders({
  body: {
    verb: 'select',
    columns: ['id'],
    filters: { id: 1 },
    include: {
      customer: { table: 'customers', columns: ['name'] },
      items: {
        table: 'order_items',
        columns: ['line'],
        orderBy: 'line DESC',
        limit: 1,
        include: { product: { table: 'products', on: { product_sku: 'sku' }, columns: ['name'] } }
      },
      sums: { table: 'order_items', aggregates: { n: { $count: '*' } } }
    }
  }
})
if (member.error !== undefined || !('count' in member.data.data)) throw new Error('no members')
const members: Array<OrdersRow & { customer?: CustomersRow | null }> = member.data.data.rows
const name: string | undefined = members[0]?.customer?.name

console.log(JSON.stringify({
  members,
  name,
  updated: updated.data,
  rows,
  note,
  lines: lines.data,
  deleted: deleted.data,
  together: together.data,
  code
}))

/** None of these compiles. */
export async function mistakes (): Promise<void> {
  // @ts-expect-error: a misspelt verb
  await queryOrders({ body: { verb: 'selekt' } })
  // @ts-expect-error: a misspelt column to select
  await queryOrders({ body: { verb: 'select', columns: ['id', 'nota'] } })
  // @ts-expect-error: a misspelt column to filter by
  await queryOrders({ body: { verb: 'select', filters: { id: 1, nota: 'x' } } })
  // @ts-expect-error: a misspelt column to insert
  await queryOrders({ body: { verb: 'insert', data: { customer_id: 1, nota: 'x' } } })
  // @ts-expect-error: a misspelt column to change
  await queryOrders({ body: { verb: 'update', data: { nota: 'x' }, filters: { id: 1 } } })
  // @ts-expect-error: a wrong type to insert
  await queryOrders({ body: { verb: 'insert', data: { customer_id: 'one' } } })
  // @ts-expect-error: a wrong type to change
  await queryOrders({ body: { verb: 'update', data: { note: 1 }, filters: { id: 1 } } })
  // @ts-expect-error: a wrong type to filter by
  await queryOrders({ body: { verb: 'select', filters: { id: 'one' } } })
  // @ts-expect-error: a wrong type of an operator
  await queryOrders({ body: { verb: 'select', filters: { id: { $gt: '1' } } } })
  // @ts-expect-error: an operator that numbers do not have
  await queryOrders({ body: { verb: 'select', filters: { id: { $like: '1%' } } } })
  // @ts-expect-error: null where there must be a value
  await queryOrders({ body: { verb: 'insert', data: { customer_id: null } } })
  // @ts-expect-error: a required column is missing
  await queryOrders({ body: { verb: 'insert', data: { note: 'x' } } })
  // @ts-expect-error: an update without filters
  await queryOrders({ body: { verb: 'update', data: { note: 'x' } } })
  // @ts-expect-error: a delete without filters
  await queryOrders({ body: { verb: 'delete' } })
  // @ts-expect-error: a generated column
  await queryCustomers({ body: { verb: 'insert', data: { email: 'a', name: 'b', login: 'c' } } })
  // @ts-expect-error: a misspelt column of a member
  await queryOrders({ body: { verb: 'select', include: { customer: { table: 'customers', columns: ['nam'] } } } })
  // @ts-expect-error: a misspelt table of a member
  await queryOrders({ body: { verb: 'select', include: { customer: { table: 'customer' } } } })
  // @ts-expect-error: a misspelt field of a member
  await queryOrders({ body: { verb: 'select', include: { customer: { table: 'customers', limt: 1 } } } })
  // @ts-expect-error: a view is only selected from
  await queryOrderLines({ body: { verb: 'delete', filters: { line: 1 } } })
}
