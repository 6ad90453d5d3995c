/** A service's client as somebody writes it with openapi-typescript and openapi-fetch. */
import createClient from 'openapi-fetch'
import type { components, paths } from './shop.ts'

const client = createClient<paths>({
  baseUrl: process.env['BASE'] as string, headers: { authorization: `Bearer ${process.env['TOKEN']}` }
})

const inserted = await client.POST('/shop/orders', {
  body: { verb: 'insert', data: { customer_id: 2, note: 'by a client' } }
})
if (inserted.error !== undefined || !('inserted' in inserted.data.data) || inserted.data.data.id === null) {
  throw new Error('not inserted')
}
const id: number = inserted.data.data.id

const updated = await client.POST('/shop/orders', { body: { verb: 'update', data: { note: null }, filters: { id } } })

const selected = await client.POST('/shop/orders', {
  body: {
    verb: 'select',
    columns: ['id', 'note'],
    filters: { id: { $gte: id }, $or: [{ note: null }, { note: { $startsWith: 'by' } }] },
    orderBy: 'id DESC',
    limit: 5
  }
})
if (selected.error !== undefined || !('count' in selected.data.data)) throw new Error('not selected')
const rows: Array<components['schemas']['OrdersRow']> = selected.data.data.rows
// a row has the columns that were asked for: its type says of none that it must be there
const note: string | null | undefined = rows[0]?.note

const lines = await client.POST('/shop/order_lines', { body: { verb: 'select', limit: 1 } })
const deleted = await client.POST('/shop/orders', { body: { verb: 'delete', filters: { id: [id] } } })
const together = await client.POST('/shop', {
  body: {
    operations: [
      { table: 'orders', verb: 'insert', data: { customer_id: 2, note: 'together' } },
      { table: 'orders', verb: 'update', data: { note: null }, filters: { id: { $ref: '/0/id' } } },
      { table: 'orders', verb: 'delete', filters: { id: { $ref: '/0/id' } }, expect: 1 }
    ]
  }
})
const refused = await client.POST('/shop/orders', { body: { verb: 'insert', data: { customer_id: 999 } } })
const code: components['schemas']['ErrorResponse']['error']['code'] | undefined = refused.error?.error.code

const member = await client.POST('/shop/orders', {
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
type Schemas = components['schemas']
const members: Array<Schemas['OrdersRow'] & { customer?: Schemas['CustomersRow'] | null }> = member.data.data.rows
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
  // @ts-expect-error: a misspelt table
  await client.POST('/shop/order', { body: { verb: 'select' } })
  // @ts-expect-error: a misspelt verb
  await client.POST('/shop/orders', { body: { verb: 'selekt' } })
  // @ts-expect-error: a misspelt column to select
  await client.POST('/shop/orders', { body: { verb: 'select', columns: ['id', 'nota'] } })
  // @ts-expect-error: a misspelt column to filter by
  await client.POST('/shop/orders', { body: { verb: 'select', filters: { id: 1, nota: 'x' } } })
  // @ts-expect-error: a misspelt column to insert
  await client.POST('/shop/orders', { body: { verb: 'insert', data: { customer_id: 1, nota: 'x' } } })
  // @ts-expect-error: a misspelt column to change
  await client.POST('/shop/orders', { body: { verb: 'update', data: { nota: 'x' }, filters: { id: 1 } } })
  // @ts-expect-error: a wrong type to insert
  await client.POST('/shop/orders', { body: { verb: 'insert', data: { customer_id: 'one' } } })
  // @ts-expect-error: a wrong type to change
  await client.POST('/shop/orders', { body: { verb: 'update', data: { note: 1 }, filters: { id: 1 } } })
  // openapi-fetch itself lets a text pass where operators may stand: who wants to know writes the type
  // @ts-expect-error: a wrong type to filter by
  const filters: components['schemas']['OrdersFilters'] = { id: 'one' }
  await client.POST('/shop/orders', { body: { verb: 'select', filters } })
  // @ts-expect-error: a wrong type of an operator
  await client.POST('/shop/orders', { body: { verb: 'select', filters: { id: { $gt: '1' } } } })
  // @ts-expect-error: an operator that numbers do not have
  await client.POST('/shop/orders', { body: { verb: 'select', filters: { id: { $like: '1%' } } } })
  // @ts-expect-error: null where there must be a value
  await client.POST('/shop/orders', { body: { verb: 'insert', data: { customer_id: null } } })
  // @ts-expect-error: a required column is missing
  await client.POST('/shop/orders', { body: { verb: 'insert', data: { note: 'x' } } })
  // @ts-expect-error: an update without filters
  await client.POST('/shop/orders', { body: { verb: 'update', data: { note: 'x' } } })
  // @ts-expect-error: a delete without filters
  await client.POST('/shop/orders', { body: { verb: 'delete' } })
  // @ts-expect-error: a generated column
  await client.POST('/shop/customers', { body: { verb: 'insert', data: { email: 'a', name: 'b', login: 'c' } } })
  await client.POST('/shop/orders', {
    // @ts-expect-error: a misspelt column of a member
    body: { verb: 'select', include: { customer: { table: 'customers', columns: ['nam'] } } }
  })
  // @ts-expect-error: a misspelt table of a member
  await client.POST('/shop/orders', { body: { verb: 'select', include: { customer: { table: 'customer' } } } })
  await client.POST('/shop/orders', {
    // @ts-expect-error: a misspelt field of a member
    body: { verb: 'select', include: { customer: { table: 'customers', limt: 1 } } }
  })
  // @ts-expect-error: a view is only selected from
  await client.POST('/shop/order_lines', { body: { verb: 'delete', filters: { line: 1 } } })
}
