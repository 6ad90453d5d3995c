/** A program that uses the client, typed by the interfaces that `row-query types` writes. */
import { createClient, RowQueryError, type ClientOptions, type Filters, type Insert, type Row } from 'fastify-row-query/client'
import type { DB } from './shop.ts'

const client = createClient<{ shop: DB }>({ url: 'http://127.0.0.1:3000/api', token: 'secret' })
const db = client.database('shop')
const strings = createClient<{ shop: DB }>({ url: 'http://127.0.0.1:3000/api', token: async () => 'renewed', numbers: 'string' }).database('shop')

export async function reads (filters: Filters<DB['orders']>): Promise<void> {
  const some = await db.select('orders', { columns: ['id', 'note'], filters: { id: { $gte: 5n }, $or: [{ note: null }, { note: { $like: 'a%' } }] }, limit: 5, orderBy: 'id' }, { signal: AbortSignal.timeout(1000), consistency: 'primary' })
  const note: string | null | undefined = some.rows[0]?.note
  const first: Row<DB['orders']> | undefined = (await db.select('orders')).rows[0]
  const { next, total } = await db.select('orders', { filters, after: null, total: true })
  const { next: offset }: { next: number | null } = await db.select('orders', { offset: 5, expect: { $lte: 10 } })
  const text: string | number | undefined = (await strings.select('orders', { columns: ['id'] })).rows[0]?.id
  const { rows: [group] } = await db.select('customers', {
    groupBy: ['status'], aggregates: { n: { $count: '*' }, sum: { $sum: 'credit' }, first: { $min: 'id' } }, having: { n: { $gt: 1 } }, orderBy: [{ sum: 'DESC' }], offset: 0
  })
  const sum: string | null | undefined = group?.sum
  const count: number = (group?.n ?? 0) + 1
  for await (const { id, note } of db.pages('orders', { columns: ['id', 'note'], orderBy: 'note DESC', limit: 100, filters: { id: [1, 2n] } })) console.log(id, note?.length)
  for await (const row of strings.pages('orders', { after: { id: 5 } })) {
    const id: string | number = row.id
    console.log(id, row.customer_id)
  }
  console.log(note, first, next?.id, total + 1, offset, text, sum, count)
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
  const { rows: [byTime] } = await db.select('customers', { groupBy: ['status', { month: { $month: 'created_at' } }, { year: { $year: 'created_at' } }], aggregates: { paid: { $sum: 'credit', filters: { status: 'old', created_at: { $gt: { $now: { days: -7 } } } } }, n: { $count: '*' } }, having: { month: { $gte: '2026-01' }, paid: { $gt: 1 }, year: 2026 }, orderBy: [{ month: 'DESC' }] })
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
  // @ts-expect-error: a column that was not asked for
  for await (const row of db.pages('orders', { columns: ['id'] })) console.log(row.note)
  console.log(plain)
}

export async function writes (row: Insert<DB['orders']>): Promise<void> {
  const { id, inserted, rows: [made] } = await db.insert('orders', { data: { customer_id: 1n }, returning: ['id', 'note'] }, { idempotencyKey: 'k', retries: 1, timeout: 500, headers: { traceparent: '00' } })
  const upsert = await db.insert('orders', { data: [row, { id: 1, customer_id: 1 }], onConflict: { key: ['id'], set: { note: null, customer_id: { $inc: 1 } } } })
  const { updated, dryRun } = await db.update('customers', { data: { credit: { $inc: '0.50' }, created_at: { $now: true } }, filters: { id: 1 }, expect: { $gte: 1 }, dryRun: true })
  await db.insert('customers', { data: { email: 'x', name: 'y', created_at: { $now: { days: 1 } } } })
  await db.update('customers', { data: { created_at: { $now: { months: -1 } } }, filters: { created_at: { $lt: { $now: { years: -1, seconds: 1 } } }, $or: [{ created_at: { $now: true } }] } })
  // @ts-expect-error: weeks are no part of an offset
  await db.insert('customers', { data: { email: 'x', name: 'y', created_at: { $now: { weeks: 1 } } } })
  // @ts-expect-error: a number is no time
  await db.select('orders', { filters: { id: { $gt: { $now: true } } } })
  // @ts-expect-error: a list has no present time
  await db.select('customers', { filters: { created_at: { $in: [{ $now: true }] } } })
  // @ts-expect-error: groups have no present time
  await db.select('customers', { groupBy: ['created_at'], having: { created_at: { $now: true } } })
  const { deleted, rows: [gone] } = await db.delete('orders', { filters: { $is: { id: 1, note: null } }, expect: 1, returning: '*' })
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
    { table: 'customers', verb: 'update', filters: { id: 1, credit: { $gte: '1.00' } }, data: { credit: { $inc: '-1.00' } }, expect: 1 },
    { table: 'orders', verb: 'insert', data: { customer_id: 1 }, returning: ['id'] },
    { table: 'order_items', verb: 'insert', data: [{ order_id: { $ref: '/1/id' }, line: 1, product_sku: 'MUG-1', price: '7.50' }] },
    { table: 'orders', verb: 'select', columns: ['id', 'note'], filters: { id: { $in: [{ $ref: '/1/id' }, 5] }, $or: [{ note: null }] }, lock: true },
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
  await db.transaction([{ table: 'products', verb: 'insert', data: { sku: 'x', name: 'x', price: '1.00', tags: { any: { thing: [1, 'x'] } } } }])
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

/** Without interfaces everything is let through, to be checked by the service. */
export async function untyped (options: ClientOptions & { numbers?: 'bigint' }): Promise<string> {
  const anything = createClient(options).database('shop')
  try {
    const { rows: found, count } = await anything.select('orders', { columns: ['id'], filters: { id: 1 } })
    const { rows: groups } = await anything.select('orders', { groupBy: ['note'], aggregates: { n: { $count: '*' } } })
    const { id } = await anything.insert('orders', { data: { customer_id: 1 } })
    const { results } = await anything.transaction([{ table: 'orders', verb: 'insert', data: { customer_id: 1 } }, { table: 'x', verb: 'delete', filters: { a: { $ref: '/0/id' } } }])
    for await (const row of anything.pages('orders')) console.log(row['id'])
    return String(found[0]?.['id']) + String(groups[0]?.['note']) + String(groups[0]?.n) + String(id) + String(count) + String(results[0].id) + String(results[1].deleted)
  } catch (error) {
    if (error instanceof RowQueryError) return `${error.code} ${error.status} ${error.details[0]?.path} ${error.requestId} ${error.retryAfter}`
    throw error
  }
}
