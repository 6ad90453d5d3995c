/** A program that uses the client, typed by the interfaces that `row-query types` writes. */
import {
  createClient, RowQueryError, type ClientOptions, type Filters, type Insert, type OperationOf, type Position, type Row
} from 'fastify-row-query/client'
import type { DB } from './shop.ts'

const client = createClient<{ shop: DB }>({ url: 'http://127.0.0.1:3000/api', token: 'secret' })
const db = client.database('shop')
const strings = createClient<{ shop: DB }>({
  url: 'http://127.0.0.1:3000/api', token: async () => 'renewed', numbers: 'string'
}).database('shop')

export async function reads (filters: Filters<DB['orders']>): Promise<void> {
  const some = await db.select('orders', {
    columns: ['id', 'note'],
    filters: { id: { $gte: 5n }, $or: [{ note: null }, { note: { $like: 'a%' } }] },
    limit: 5,
    orderBy: 'id'
  }, { signal: AbortSignal.timeout(1000), consistency: 'primary' })
  const note: string | null | undefined = some.rows[0]?.note
  const first: Row<DB['orders']> | undefined = (await db.select('orders')).rows[0]
  const { next, total } = await db.select('orders', { filters, after: null, total: true })
  const { next: offset }: { next: number | null } = await db.select('orders', { offset: 5, expect: { $lte: 10 } })
  const text: string | number | undefined = (await strings.select('orders', { columns: ['id'] })).rows[0]?.id
  const { rows: [group] } = await db.select('customers', {
    groupBy: ['status'],
    aggregates: { n: { $count: '*' }, sum: { $sum: 'credit' }, first: { $min: 'id' } },
    having: { n: { $gt: 1 } },
    orderBy: [{ sum: 'DESC' }],
    offset: 0
  })
  const sum: string | null | undefined = group?.sum
  const count: number = (group?.n ?? 0) + 1
  for await (const { id, note } of db.pages('orders', {
    columns: ['id', 'note'], orderBy: 'note DESC', limit: 100, filters: { id: [1, 2n] }
  })) console.log(id, note?.length)
  for await (const row of strings.pages('orders', { after: { id: 5 } })) {
    const id: string | number = row.id
    console.log(id, row.customer_id)
  }
  const related = await db.select('orders', {
    filters: {
      $some: { order_items: { filters: { line: { $gte: 1 }, $none: { orders: { filters: { id: 5 } } } } } },
      $or: [{ id: 1 }, { $none: { lines: { table: 'order_items', on: { id: 'order_id' } } } }]
    }
  })
  const rules: Filters<DB['orders']> = { $some: { order_items: {} } }
  const dollars: Filters<{ $or: string, $x: number }> = { $$or: 'a', $$x: { $gt: 5 }, $or: [{ $$x: 1 }] }
  // @ts-expect-error: the name of a column that begins with $ gets another one
  const dollar: Filters<{ $x: number }> = { $x: 5 }
  await db.delete('orders', {
    filters: { $and: [rules, filters], $not: { $some: { customers: { filters: { id: [1, 2] } } } } }
  })
  console.log(related.count, dollars, dollar, note, first, next?.id, total + 1, offset, text, sum, count)
  // @ts-expect-error: it may be a bigint
  const plain: string | number | undefined = first?.id
  // @ts-expect-error: a column that was not asked for
  console.log(some.rows[0]?.customer_id)
  // @ts-expect-error: without after and offset there is no next
  console.log((await db.select('orders', { total: 5 })).next)
  // @ts-expect-error: a misspelt column to select
  await db.select('orders', { columns: ['id', 'nota'] })
  // @ts-expect-error: a misspelt column to filter by
  await db.select('orders', { filters: { nota: 'x' } })
  // @ts-expect-error: a wrong type to filter by
  await db.select('orders', { filters: { id: 'one' } })
  // @ts-expect-error: a misspelt field
  await db.select('orders', { limt: 5 })
  // @ts-expect-error: a misspelt table
  await db.select('order')
  // @ts-expect-error: a misspelt database
  client.database('shopp')
  // @ts-expect-error: texts have no sum
  await db.select('customers', { aggregates: { n: { $sum: 'name' } } })
  // @ts-expect-error: a read has no key
  await db.select('orders', {}, { idempotencyKey: 'x' })
  // @ts-expect-error: pages are no groups
  for await (const row of db.pages('customers', { groupBy: ['status'] })) console.log(row)
  const { rows: [byTime] } = await db.select('customers', {
    groupBy: ['status', { month: { $month: 'created_at' } }, { year: { $year: 'created_at' } }],
    aggregates: {
      paid: { $sum: 'credit', filters: { status: 'old', created_at: { $gt: { $now: { days: -7 } } } } },
      n: { $count: '*' }
    },
    having: { month: { $gte: '2026-01' }, paid: { $gt: 1 }, year: 2026 },
    orderBy: [{ month: 'DESC' }]
  })
  const month: string | null | undefined = byTime?.month
  const year: number | null | undefined = byTime?.year
  const paid: string | null | undefined = byTime?.paid
  console.log(month, year, paid, byTime?.status)
  // @ts-expect-error: a number has no month
  await db.select('customers', { groupBy: [{ month: { $month: 'id' } }] })
  // @ts-expect-error: an unknown part of time
  await db.select('customers', { groupBy: [{ day: { $day: 'created_at' } }] })
  // @ts-expect-error: a column that is not grouped
  console.log(byTime?.email)
  // @ts-expect-error: filters of an aggregate have values of the columns
  await db.select('customers', { aggregates: { n: { $count: '*', filters: { name: 1 } } } })
  // @ts-expect-error: a text has no members
  await db.select('customers', { filters: { name: { $has: 'x' } } })
  await db.select('products', {
    filters: {
      tags: {
        $at: { '$[0]': 'new', '$.size': { $gt: 5n, $in: [1, 'a', true, null] }, '$."odd key"': { $exists: false } }
      }
    }
  })
  await db.select('products', {
    orderBy: [{ tags: { '$[0]': 'DESC NULLS LAST' } }, { tags: { '$.size': 'ASC' } }, { name: 'ASC' }]
  })
  // @ts-expect-error: a text has no paths
  await db.select('products', { orderBy: [{ name: { '$.size': 'ASC' } }] })
  // @ts-expect-error: a path begins with $
  await db.select('products', { orderBy: [{ tags: { size: 'ASC' } }] })
  // @ts-expect-error: no direction
  await db.select('products', { orderBy: [{ tags: { '$.size': 'down' } }] })
  // @ts-expect-error: a text has no paths
  await db.select('products', { filters: { name: { $at: { '$.size': 1 } } } })
  const include = {
    lines: { table: 'order_items', filters: { line: { $gt: 1 } }, aggregates: { n: { $count: '*' } } }
  } as const
  await db.select('orders', { include, orderBy: 'lines.n DESC, id' })
  await db.select('orders', {
    include,
    orderBy: [{ lines: { n: 'DESC' } }, { id: 'ASC' }],
    filters: { $some: { order_items: { count: { $gte: 3 } } } }
  })
  // @ts-expect-error: $none has no count
  await db.select('orders', { filters: { $none: { order_items: { count: 3 } } } })
  // @ts-expect-error: an unknown aggregate
  await db.select('orders', { include, orderBy: 'lines.line DESC' })
  // @ts-expect-error: an unknown aggregate in a list
  await db.select('orders', { include, orderBy: [{ lines: { line: 'DESC' } }] })
  await db.select('products', {
    filters: { $match: { columns: ['name'], text: 'red', mode: 'all' } }, orderBy: [{ $match: 'DESC' }]
  })
  await db.select('orders', { orderBy: 'note ASC NULLS LAST, id DESC' })
  await db.select('orders', { orderBy: [{ note: 'DESC NULLS FIRST' }, { id: 'asc nulls last' }] })
  // @ts-expect-error: a direction is needed
  await db.select('orders', { orderBy: 'note NULLS LAST' })
  // @ts-expect-error: NULL has two places
  await db.select('orders', { orderBy: [{ note: 'DESC NULLS UP' }] })
  await db.select('products', { filters: { name: { $contains: 'bell', $ne: 'BELL', $case: 'ignore' } } })
  // @ts-expect-error: an order follows the collation
  await db.select('products', { filters: { name: { $gt: 'bell', $case: 'ignore' } } })
  // @ts-expect-error: a number has no letter case
  await db.select('orders', { filters: { id: { $eq: 5, $case: 'ignore' } } })
  await db.select('orders', {
    filters: { id: { $gt: { $column: 'customer_id' } }, $or: [{ note: { $ne: { $column: 'note' } } }] }
  })
  // @ts-expect-error: a misspelt column
  await db.select('orders', { filters: { id: { $gt: { $column: 'customer' } } } })
  // @ts-expect-error: no list has columns
  await db.select('orders', { filters: { id: { $in: [{ $column: 'customer_id' }] } } })
  await db.update('orders', { filters: { id: 5 }, data: { note: { $default: true } } })
  // @ts-expect-error: a default is true
  await db.update('orders', { filters: { id: 5 }, data: { note: { $default: 1 } } })
  // @ts-expect-error: an insert leaves the column out
  await db.insert('orders', { data: { customer_id: 1, note: { $default: true } } })
  const { outcomes } = await db.insert('orders', {
    data: [{ id: 1, customer_id: 1 }], onConflict: { key: ['id'] }, outcomes: true
  })
  const outcome: 'inserted' | 'updated' | 'unchanged' | undefined = outcomes[0]
  // @ts-expect-error: only an upsert has outcomes
  await db.insert('orders', { data: { customer_id: 1 }, outcomes: true })
  const removed = await db.delete('orders', {
    filters: { id: 5 }, returning: ['id'], include: { customer: { table: 'customers', columns: ['name'] } }
  })
  console.log(outcome, removed.rows[0]?.customer?.name)
  // @ts-expect-error: the rows that a delete does not return have no members
  await db.delete('orders', { filters: { id: 5 }, include: { customer: { table: 'customers' } } })
  const through = { lines: { table: 'order_items' } } as const
  const inner = { order: { table: 'orders', include: { customer: { table: 'customers' } } } } as const
  await db.select('order_items', { include: inner, orderBy: 'order.customer.name DESC, line' })
  await db.select('order_items', {
    include: inner, orderBy: [{ order: { customer: { name: 'DESC NULLS FIRST' } } }, { line: 'ASC' }]
  })
  // @ts-expect-error: an unknown column of the member of a member
  await db.select('order_items', { include: inner, orderBy: 'order.customer.nome' })
  // @ts-expect-error: a list
  await db.select('orders', { include: through, orderBy: 'lines.line' })
  const { rows: [sums] } = await db.select('order_items', {
    groupBy: [{ name: { order: { customer: 'name' } } }, { note: { order: 'note' } }],
    aggregates: {
      credit: { $sum: { order: { customer: 'credit' } }, filters: { line: 1 } },
      last: { $max: { order: { customer: 'created_at' } } },
      orders: { $countDistinct: { order: 'id' } },
      first: { $min: { order: 'id' } },
      n: { $count: '*' }
    },
    include: inner,
    having: { credit: { $gt: 5 }, orders: 2, name: { $like: 'A%' } },
    orderBy: [{ credit: 'DESC' }, { name: 'ASC' }]
  })
  const credit: string | null | undefined = sums?.credit
  const named: string | null | undefined = sums?.name ?? sums?.note ?? sums?.last
  const numbers: number | undefined = sums && sums.orders + sums.n
  const firstOrder: number | bigint | null | undefined = sums?.first
  const { rows: [whole] } = await db.select('orders', {
    aggregates: { credit: { $sum: { customer: 'credit' } } }, include: { customer: { table: 'customers' } }
  })
  console.log(credit, named, numbers, firstOrder, whole?.credit?.length)
  // @ts-expect-error: a sum of decimals is a string
  const noNumber: number | null | undefined = sums?.credit
  console.log(noNumber)
  // @ts-expect-error: an unknown column of the member
  await db.select('order_items', { aggregates: { x: { $max: { order: { customer: 'nome' } } } }, include: inner })
  // @ts-expect-error: a text has no sum
  await db.select('order_items', { aggregates: { x: { $sum: { order: { customer: 'name' } } } }, include: inner })
  // @ts-expect-error: a member that is not there
  await db.select('order_items', { aggregates: { x: { $max: { order: { payer: 'name' } } } }, include: inner })
  // @ts-expect-error: an unknown column of the member of a member
  await db.select('order_items', { groupBy: [{ x: { order: { customer: 'nome' } } }], include: inner })
  // @ts-expect-error: a list
  await db.select('orders', { aggregates: { x: { $sum: { lines: 'line' } } }, include: through })
  await db.select('orders', {
    // @ts-expect-error: aggregates of related rows have their own columns
    include: { lines: { table: 'order_items', aggregates: { x: { $max: { order: 'id' } } } } }
  })
  // @ts-expect-error: a number has no words
  await db.select('orders', { filters: { $match: { columns: ['id'], text: 'red' } } })
  // @ts-expect-error: a column that was not asked for
  for await (const row of db.pages('orders', { columns: ['id'] })) console.log(row.note)
  console.log(plain)
}

export async function writes (row: Insert<DB['orders']>): Promise<void> {
  const { id, inserted, rows: [made] } = await db.insert('orders', {
    data: { customer_id: 1n }, returning: ['id', 'note']
  }, {
    idempotencyKey: 'k', retries: 1, timeout: 500, headers: { traceparent: '00' }
  })
  const upsert = await db.insert('orders', {
    data: [row, { id: 1, customer_id: 1 }], onConflict: { key: ['id'], set: { note: null, customer_id: { $inc: 1 } } }
  })
  const { updated, dryRun } = await db.update('customers', {
    data: { credit: { $inc: '0.50' }, created_at: { $now: true } },
    filters: { id: 1 },
    expect: { $gte: 1 },
    dryRun: true
  })
  await db.insert('customers', { data: { email: 'x', name: 'y', created_at: { $now: { days: 1 } } } })
  await db.update('customers', {
    data: { created_at: { $now: { months: -1 } } },
    filters: { created_at: { $lt: { $now: { years: -1, seconds: 1 } } }, $or: [{ created_at: { $now: true } }] }
  })
  // @ts-expect-error: weeks are no part of an offset
  await db.insert('customers', { data: { email: 'x', name: 'y', created_at: { $now: { weeks: 1 } } } })
  // @ts-expect-error: a number is no time
  await db.select('orders', { filters: { id: { $gt: { $now: true } } } })
  // @ts-expect-error: a list has no present time
  await db.select('customers', { filters: { created_at: { $in: [{ $now: true }] } } })
  // @ts-expect-error: groups have no present time
  await db.select('customers', { groupBy: ['created_at'], having: { created_at: { $now: true } } })
  const { deleted, rows: [gone] } = await db.delete('orders', {
    filters: { $is: { id: 1, note: null } }, expect: 1, returning: '*'
  })
  console.log(id, inserted, made?.note, upsert.inserted + upsert.unchanged, updated, dryRun, deleted, gone?.customer_id)
  // @ts-expect-error: a column that was not asked for
  console.log(made?.customer_id)
  // @ts-expect-error: without returning there are no rows
  console.log((await db.delete('orders', { filters: { id: 1 } })).rows)
  // @ts-expect-error: an update counts no inserts
  console.log((await db.update('orders', { data: { note: 'x' }, filters: { id: 1 } })).inserted)
  // @ts-expect-error: a required column is missing
  await db.insert('orders', { data: { note: 'x' } })
  // @ts-expect-error: a generated column
  await db.update('customers', { data: { login: 'x' }, filters: { id: 1 } })
  // @ts-expect-error: an update without filters
  await db.update('orders', { data: { note: 'x' } })
  // @ts-expect-error: a delete without filters
  await db.delete('orders', {})
}

export async function transactions (): Promise<void> {
  const { results: [changed, made, items, rows, groups] } = await db.transaction([
    {
      table: 'customers',
      verb: 'update',
      filters: { id: 1, credit: { $gte: '1.00' } },
      data: { credit: { $inc: '-1.00' } },
      expect: 1
    },
    { table: 'orders', verb: 'insert', data: { customer_id: 1 }, returning: ['id'] },
    {
      table: 'order_items',
      verb: 'insert',
      data: [{ order_id: { $ref: '/1/id' }, line: 1, product_sku: 'MUG-1', price: '7.50' }]
    },
    {
      table: 'orders',
      verb: 'select',
      columns: ['id', 'note'],
      filters: { id: { $in: [{ $ref: '/1/id' }, 5] }, $or: [{ note: null }] },
      lock: true
    },
    { table: 'customers', verb: 'select', groupBy: ['status'], aggregates: { n: { $count: '*' } } }
  ], { isolation: 'serializable' }, { idempotencyKey: 'x' })
  const id: number | bigint | undefined = made.rows[0]?.id
  const counts: number = changed.updated + items.inserted + rows.count + (groups.rows[0]?.n ?? 0)
  const note: string | null | undefined = rows.rows[0]?.note
  const { dryRun } = await db.transaction([{ table: 'orders', verb: 'delete', filters: { id: 1 } }], { dryRun: true })
  const { results } = await strings.transaction([{ table: 'orders', verb: 'select', columns: ['id'] }])
  const text: string | number | undefined = results[0].rows[0]?.id
  console.log(id, counts, note, dryRun, groups.rows[0]?.status, text)
  // @ts-expect-error: an update has no id
  console.log(changed.id)
  // @ts-expect-error: a column that was not asked for
  console.log(rows.rows[0]?.customer_id)
  // @ts-expect-error: there are five results
  console.log((await db.transaction([{ table: 'orders', verb: 'delete', filters: { id: 1 } }])).results[1])
  // @ts-expect-error: a misspelt table
  await db.transaction([{ table: 'order', verb: 'select' }])
  // @ts-expect-error: a misspelt column of the data
  await db.transaction([{ table: 'orders', verb: 'insert', data: { customer_id: 1, nota: 'x' } }])
  // @ts-expect-error: a required column is missing
  await db.transaction([{ table: 'orders', verb: 'insert', data: { note: 'x' } }])
  // @ts-expect-error: a misspelt column of the filters
  await db.transaction([{ table: 'orders', verb: 'delete', filters: { id: 1, $or: [{ nota: 'x' }] } }])
  // @ts-expect-error: two of them are misspelt: the column is beside others
  await db.transaction([{ table: 'orders', verb: 'delete', filters: { id: 1, $or: [{ note: 'x', nota: 'x' }] } }])
  await db.transaction([
    {
      table: 'products',
      verb: 'insert',
      data: { sku: 'x', name: 'x', price: '1.00', tags: { any: { thing: [1, 'x'] } } }
    }
  ])
  // @ts-expect-error: a misspelt operator
  await db.transaction([{ table: 'orders', verb: 'delete', filters: { id: { $gtt: 1 } } }])
  // @ts-expect-error: a misspelt field
  await db.transaction([{ table: 'orders', verb: 'select', limt: 1 }])
  // @ts-expect-error: a wrong type
  await db.transaction([{ table: 'orders', verb: 'insert', data: { customer_id: 'one' } }])
  // @ts-expect-error: an update without filters
  await db.transaction([{ table: 'orders', verb: 'update', data: { note: 'x' } }])
  // @ts-expect-error: dryRun is for the whole
  await db.transaction([{ table: 'orders', verb: 'delete', filters: { id: 1 }, dryRun: true }])
  // @ts-expect-error: no such level
  await db.transaction([{ table: 'orders', verb: 'select' }], { isolation: 'dirty' })
}

/** Rows of other tables: an object or null where a unique key allows no more than one, otherwise a list. */
export async function members (line: number | null, filters: Filters<DB['order_items']>): Promise<void> {
  const { rows: [order] } = await db.select('orders', {
    columns: ['id', 'note'],
    include: {
      customer: { table: 'customers', columns: ['name'] },
      order_items: {
        columns: ['line', 'price'],
        orderBy: 'line DESC, price',
        limit: 3,
        include: { product: { table: 'products', include: { all: { table: 'order_items', columns: ['line'] } } } }
      },
      first: {
        table: 'order_items', filters: { $and: [{ line: { $eq: 1 } }], quantity: { $gt: 0 } }, columns: ['price']
      },
      some: { table: 'order_items', filters: { line: [1] }, orderBy: [{ line: 'DESC' }] },
      latest: { table: 'order_items', as: 'object', orderBy: 'line DESC', columns: ['line'] },
      payers: { table: 'customers', as: 'list', orderBy: 'name', limit: 1, columns: ['name'] },
      sums: {
        table: 'order_items',
        filters: { quantity: 1 },
        aggregates: { n: { $count: '*' }, paid: { $sum: 'price', filters: { line: 1 } }, last: { $max: 'line' } }
      }
    }
  })
  if (order === undefined) return
  const name: string | undefined = order.customer?.name
  const price: string | undefined = order.order_items[0]?.price ?? order.first?.price ?? order.some[0]?.price
  const product: string | undefined = order.order_items[0]?.product?.name
  const third: number | bigint | undefined = order.order_items[0]?.product?.all[0]?.line
  const n: number = order.sums.n
  const sums: string | number | bigint | null = order.sums.paid ?? order.sums.last
  console.log(order.id, order.note, name, price, product, third, n, sums)
  const { rows: [text] } = await strings.select('orders', {
    include: {
      order_items: { columns: ['line'] },
      customer: { table: 'customers', columns: ['id'] },
      sums: { table: 'order_items', aggregates: { last: { $max: 'line' } } }
    }
  })
  const digits: string | number | null | undefined = text?.order_items[0]?.line ?? text?.customer?.id ?? text?.sums.last
  await db.select('orders', {
    include: { order_items: { orderBy: 'product.sku DESC, line', include: { product: { table: 'products' } } } }
  })
  const latest: number | bigint | undefined = order.latest?.line
  const payer: string | undefined = order.payers[0]?.name
  console.log(latest, payer)
  await db.select('orders', {
    orderBy: 'payer.name', include: { payer: { table: 'customers', as: 'object', orderBy: 'name' } }
  })
  // what is only known at run time
  const { rows: [perhaps] } = await db.select('orders', {
    include: {
      one: { table: 'order_items', filters: { line } },
      two: { table: 'order_items', filters },
      three: { table: 'order_items', filters: line === 1 ? { line } : { quantity: 2 } }
    }
  })
  const three: number | undefined = Array.isArray(perhaps?.three) ? perhaps.three.length : undefined
  // @ts-expect-error: only one of the two filters makes it one row
  console.log(three, perhaps?.three?.price)
  if (perhaps !== undefined) {
    const { one, two } = perhaps
    console.log(digits, Array.isArray(one) ? one.length : one?.line, Array.isArray(two) ? two[0]?.line : two?.line)
  }
  // a view has no relations: on says the columns
  const { rows: [shown] } = await db.select('order_lines', {
    include: {
      order: { table: 'orders', on: { order_id: 'id' } }, others: { table: 'order_items', on: { order_id: 'order_id' } }
    }
  })
  const note: string | null | undefined = shown?.order?.note
  // and no keys: its rows are a list
  const { rows: [viewed] } = await db.select('orders', {
    include: {
      order_lines: { on: { id: 'order_id' }, filters: { line: 1 }, orderBy: 'line' },
      n: { table: 'order_lines', on: { id: 'order_id' }, aggregates: { n: { $count: '*' } } }
    },
    filters: { $some: { order_lines: { on: { id: 'order_id' } } } }
  })
  console.log(viewed?.order_lines[0]?.line, viewed?.n.n.toFixed())
  for await (const { id, customer } of db.pages('orders', {
    columns: ['id'], include: { customer: { table: 'customers', columns: ['email'] } }
  })) console.log(id, customer?.email)
  const { results: [made, found] } = await db.transaction([
    {
      table: 'orders', verb: 'select', columns: ['id'], include: { items: { table: 'order_items', columns: ['line'] } }
    },
    {
      table: 'orders',
      verb: 'select',
      include: { customer: { table: 'customers', filters: { id: { $ref: '/0/rows/0/id' } } } }
    }
  ])
  const last: number | bigint | undefined = made.rows[0]?.items[0]?.line ?? found.rows[0]?.customer?.id
  console.log(note, shown?.others.length, last)
  // @ts-expect-error: null where there is none
  console.log(order.customer.name)
  // @ts-expect-error: a list is no object
  console.log(order.order_items.line)
  // @ts-expect-error: a column that was not asked for
  console.log(order.customer?.email)
  // @ts-expect-error: a member that was not asked for
  console.log(order.products)
  // @ts-expect-error: a misspelt column
  await db.select('orders', { include: { customer: { table: 'customers', columns: ['nam'] } } })
  // @ts-expect-error: a misspelt column to filter by
  await db.select('orders', { include: { customer: { table: 'customers', filters: { nam: 'x' } } } })
  // @ts-expect-error: a misspelt field
  await db.select('orders', { include: { order_items: { limt: 1 } } })
  await db.select('orders', {
    include: {
      order_items: {
        // @ts-expect-error: a misspelt column on the third level
        include: { product: { table: 'products', include: { all: { table: 'order_items', columns: ['lin'] } } } }
      }
    }
  })
  // @ts-expect-error: a misspelt table
  await db.select('orders', { include: { customer: { table: 'customer' } } })
  // @ts-expect-error: no table has the name of the member
  await db.select('orders', { include: { customer: { columns: ['name'] } } })
  // @ts-expect-error: no foreign key relates a view
  await db.select('orders', { include: { order_lines: {} } })
  // @ts-expect-error: a misspelt column of a view
  await db.select('orders', { include: { lines: { table: 'order_lines', on: { id: 'order' } } } })
  // @ts-expect-error: a misspelt column of a view to filter by
  await db.select('orders', { filters: { $some: { order_lines: { on: { id: 'order_id' }, filters: { lin: 1 } } } } })
  await db.select('customers', {
    include: { orders: { filters: { $some: { order_items: { filters: { line: 1 } } } } } }
  })
  await db.select('customers', {
    // @ts-expect-error: a misspelt column to filter the rows of a member by
    include: { orders: { filters: { $some: { order_items: { filters: { lin: 1 } } } } } }
  })
  // @ts-expect-error: no foreign key says the columns
  await db.select('orders', { include: { settings: {} } })
  // @ts-expect-error: a misspelt column of this table
  await db.select('orders', { include: { settings: { on: { idd: 'id' } } } })
  // @ts-expect-error: a text is never equal to a number
  await db.select('orders', { include: { settings: { on: { note: 'id' } } } })
  // @ts-expect-error: one row has no limit
  await db.select('orders', { include: { customer: { table: 'customers', limit: 5 } } })
  // @ts-expect-error: nor an order
  await db.select('orders', { include: { first: { table: 'order_items', filters: { line: 1 }, orderBy: 'line' } } })
  // @ts-expect-error: a misspelt order
  await db.select('orders', { include: { order_items: { orderBy: 'lin DESC' } } })
  await db.select('orders', {
    include: {
      order_items: {
        // @ts-expect-error: nor by computed values
        orderBy: 'n.n',
        include: { n: { table: 'order_items', on: { order_id: 'order_id' }, aggregates: { n: { $count: '*' } } } }
      }
    }
  })
  // @ts-expect-error: a list has no order by another list
  await db.select('orders', { include: { order_items: { orderBy: 'orders.id', include: { orders: { as: 'list' } } } } })
  await db.select('orders', {
    // @ts-expect-error: a misspelt column of its member
    include: { order_items: { orderBy: 'product.skuu', include: { product: { table: 'products' } } } }
  })
  // @ts-expect-error: an object is no list
  console.log(order.latest[0])
  // @ts-expect-error: it may be null
  console.log(order.latest.line)
  // @ts-expect-error: a list is no object
  console.log(order.payers?.name)
  // @ts-expect-error: an object has no limit
  await db.select('orders', { include: { order_items: { as: 'object', limit: 1 } } })
  // @ts-expect-error: no such form
  await db.select('orders', { include: { order_items: { as: 'rows' } } })
  // @ts-expect-error: aggregates have no form
  await db.select('orders', { include: { order_items: { as: 'list', aggregates: { n: { $count: '*' } } } } })
  // @ts-expect-error: rows have no order by a list
  await db.select('orders', { orderBy: 'payers.name', include: { payers: { table: 'customers', as: 'list' } } })
  // @ts-expect-error: nor by the first of several rows
  await db.select('orders', { orderBy: 'latest.line', include: { latest: { table: 'order_items', as: 'object' } } })
  // @ts-expect-error: aggregates have no columns
  await db.select('orders', { include: { order_items: { aggregates: { n: { $count: '*' } }, columns: ['line'] } } })
  // @ts-expect-error: texts have no sum
  await db.select('orders', { include: { order_items: { aggregates: { n: { $sum: 'product_sku' } } } } })
  // @ts-expect-error: groups have no lists
  await db.select('orders', { groupBy: ['note'], include: { order_items: {} } })
  const { rows: [byCustomer] } = await db.select('orders', {
    groupBy: ['note', { status: { customer: 'status' } }, { who: { customer: 'id' } }],
    aggregates: { n: { $count: '*', filters: { $some: { order_items: { filters: { line: 1 } } } } } },
    include: { customer: { table: 'customers', filters: { name: 'x' } } },
    having: { who: { $gt: 1 }, n: 2 },
    orderBy: 'status, n DESC'
  })
  const [country, who, count]: [string | null | undefined, number | bigint | null | undefined, number | undefined] = [
    byCustomer?.status, byCustomer?.who, byCustomer?.n
  ]
  console.log(country, who, count)
  // @ts-expect-error: the member does not stand in the rows
  console.log(byCustomer?.customer)
  // @ts-expect-error: a column that the other table does not have
  await db.select('orders', { groupBy: [{ x: { customer: 'nope' } }], include: { customer: { table: 'customers' } } })
  await db.select('orders', {
    // @ts-expect-error: a member of groups has no columns
    groupBy: [{ x: { customer: 'id' } }], include: { customer: { table: 'customers', columns: ['id'] } }
  })
  // @ts-expect-error: and is one row
  await db.select('orders', { groupBy: [{ x: { order_items: 'line' } }], include: { order_items: {} } })
  await db.select('orders', {
    // @ts-expect-error: filters of aggregates name columns of the other table
    aggregates: { n: { $count: '*', filters: { $some: { order_items: { filters: { nope: 1 } } } } } }
  })
}

/** Members of the rows that a write returns. */
export async function returned (): Promise<void> {
  const { rows: [made] } = await db.insert('order_items', {
    data: { order_id: 1, line: 1, product_sku: 'a', price: '1' },
    returning: ['line'],
    include: { product: { table: 'products', columns: ['sku'] }, orders: { as: 'list', columns: ['id'], limit: 1 } }
  })
  const sku: string | undefined = made?.product?.sku
  const { rows: [changed] } = await db.update('orders', {
    filters: { id: 1 },
    data: { note: 'x' },
    returning: '*',
    include: { order_items: { columns: ['line'], orderBy: 'line' } }
  })
  const line: number | bigint | undefined = changed?.order_items[0]?.line
  const { results: [first] } = await db.transaction([
    {
      table: 'orders',
      verb: 'update',
      key: ['id'],
      filters: {},
      data: [{ id: 1, note: 'y' }],
      returning: ['id'],
      include: { customers: { columns: ['name'] } }
    }
  ])
  const name: string | undefined = first.rows[0]?.customers?.name
  console.log(sku, line, name, changed?.note)
  // @ts-expect-error: a column that was not asked for
  console.log(made?.price)
  // @ts-expect-error: only returned rows have members
  await db.update('orders', { filters: { id: 1 }, data: { note: 'x' }, include: { order_items: {} } })
  await db.update('orders', {
    // @ts-expect-error: a misspelt column of a member
    filters: { id: 1 }, data: { note: 'x' }, returning: '*', include: { order_items: { columns: ['lin'] } }
  })
  await db.update('orders', {
    filters: { id: 1 },
    data: { note: 'x' },
    returning: '*',
    // @ts-expect-error: no aggregates of them
    include: { order_items: { aggregates: { n: { $count: '*' } } } }
  })
  await db.delete('orders', { filters: { id: 1 }, returning: '*', include: { order_items: {} } })
}

/** What a program makes at run time, and what TypeScript knows of a text. */
export async function made (
  list: Array<OperationOf<DB>>, filters: Filters<DB['orders']>, order: string, way: 'ASC' | 'DESC'
): Promise<void> {
  const { results } = await db.transaction([
    ...list, { table: 'orders', verb: 'select', columns: ['id'], orderBy: `id ${way}` }
  ])
  await db.transaction(list)
  await db.transaction([1, 2].map((line) => ({
    table: 'order_items', verb: 'insert', data: { order_id: 1, line, product_sku: 'a', price: '1' }
  } as const)))
  await db.transaction([{ table: 'orders', verb: 'delete', filters: { $and: [filters, { id: 1 }] } }])
  await db.select('orders', { orderBy: order })
  await db.select('orders', { orderBy: ' id desc , note' })
  await db.select('orders', { orderBy: `${order} DESC` })
  await db.select('customers', { groupBy: ['status'], aggregates: { n: { $count: '*' } }, orderBy: 'n DESC, status' })
  await db.insert('order_items', {
    data: { order_id: 1, line: 1, product_sku: 'a', price: '1' }, onConflict: { key: ['line', 'order_id'] }
  })
  let after: Position<DB['orders']> | null = null
  do {
    const page: { rows: unknown[], next: Position<DB['orders']> | null } = await db.select('orders', {
      columns: ['note'], orderBy: 'id', after
    })
    after = page.next
  } while (after !== null)
  const any = async <T extends keyof DB & string>(table: T): Promise<number> =>
    (await db.select(table, { limit: 1 })).count
  console.log(results.length, any)
  // @ts-expect-error: a misspelt field beside operations of any kind
  await db.transaction([...list, { table: 'orders', verb: 'select', limt: 1 }])
  // @ts-expect-error: a misspelt order
  await db.select('orders', { orderBy: 'nota' })
  // @ts-expect-error: the second one is misspelt
  await db.select('orders', { orderBy: 'id, nota DESC' })
  // @ts-expect-error: no direction
  await db.select('orders', { orderBy: 'id DOWN' })
  // @ts-expect-error: a misspelt order of pages
  db.pages('orders', { orderBy: 'nota' })
  // @ts-expect-error: a column that is not grouped
  await db.select('customers', { groupBy: ['status'], aggregates: { n: { $count: '*' } }, orderBy: 'name' })
  // @ts-expect-error: a view has no rows of its own
  await db.insert('order_lines', { data: {} })
  // @ts-expect-error: also in an operation
  await db.transaction([{ table: 'order_lines', verb: 'delete', filters: { line: 1 } }])
  // @ts-expect-error: no unique key
  await db.insert('orders', { data: { customer_id: 1 }, onConflict: { key: ['note'] } })
  await db.insert('order_items', {
    // @ts-expect-error: a part of a unique key
    data: { order_id: 1, line: 1, product_sku: 'a', price: '1' }, onConflict: { key: ['line'] }
  })
}

/** Requests of which a part is one of two. */
export async function either (is: boolean, aggregate: { $count: '*' } | { $min: 'credit' }, any: any): Promise<void> {
  const { rows: [row] } = await db.select('customers', {
    groupBy: [is ? 'status' : { year: { $year: 'created_at' } }],
    aggregates: { x: aggregate, y: is ? { $count: '*' } : { $max: 'name' } },
    having: { x: 1, y: 'a' }
  })
  const values: Array<string | number | null | undefined> = [row?.x, row?.y, row?.year]
  const { rows: [order] } = await db.select('orders', {
    include: { order_items: { aggregates: { x: is ? { $countDistinct: 'product_sku' } : { $max: 'product_sku' } } } }
  })
  const ofMember: string | number | null | undefined = order?.order_items.x
  const { rows: [timed] } = await db.select('customers', {
    columns: ['id'],
    filters: { created_at: is ? { $now: true } : '2026-01-01', name: is ? { $eq: 'x', $case: 'ignore' } : 'x' }
  })
  const id: number | bigint | undefined = timed?.id
  const { count } = await db.select(is ? 'orders' : 'customers', { filters: { customer_id: 1, $or: [{ email: 'x' }] } })
  console.log(values, ofMember, id, count)
  // @ts-expect-error: it may be a number
  const text: string | null | undefined = row?.x
  // @ts-expect-error: it may be a text
  const number: number | null | undefined = row?.y
  // @ts-expect-error: it may be a number, of a member too
  const textOfMember: string | null | undefined = order?.order_items.x
  // @ts-expect-error: nobody knows what it is
  const unknown: number | null | undefined = (await db.select('orders', { aggregates: { x: any } })).rows[0]?.x
  console.log(text, number, textOfMember, unknown)
}

/** Without interfaces everything is let through, to be checked by the service. */
export async function untyped (options: ClientOptions & { numbers?: 'bigint' }): Promise<string> {
  const anything = createClient(options).database('shop')
  try {
    const { rows: found, count } = await anything.select('orders', { columns: ['id'], filters: { id: 1 } })
    const { rows: groups } = await anything.select('orders', { groupBy: ['note'], aggregates: { n: { $count: '*' } } })
    const { id } = await anything.insert('orders', { data: { customer_id: 1 } })
    const { results } = await anything.transaction([
      { table: 'orders', verb: 'insert', data: { customer_id: 1 } },
      { table: 'x', verb: 'delete', filters: { a: { $ref: '/0/id' } } }
    ])
    for await (const row of anything.pages('orders')) console.log(row['id'])
    const { rows: [order] } = await anything.select('orders', {
      include: { customer: { table: 'customers' }, items: { include: { product: {} } } }, orderBy: 'x'
    })
    console.log(order?.customer.name, order?.items[0].product)
    return String(found[0]?.['id']) + String(groups[0]?.['note']) + String(groups[0]?.n) + String(id) +
      String(count) + String(results[0].id) + String(results[1].deleted)
  } catch (error) {
    if (error instanceof RowQueryError) {
      return `${error.code} ${error.status} ${error.details[0]?.path} ${error.requestId} ${error.retryAfter}`
    }
    throw error
  }
}
