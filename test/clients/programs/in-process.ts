/** An app that asks for rows without HTTP, typed by the interfaces that `row-query types` writes. */
import { createRowQuery, ServiceError, type GrantOptions, type Position, type Row } from 'fastify-row-query'
import type { DB } from './shop.ts'

const rows = createRowQuery<{ shop: DB }>({ databases: { shop: { url: 'mysql://user:password@127.0.0.1:3306/shop' } } })
const grant: GrantOptions = {
  permissions: ['select', 'insert', 'update', 'delete'], databases: { shop: ['orders', 'customers'] }
}
const orders = { database: 'shop', table: 'orders', grant } as const

export async function use (): Promise<void> {
  const some = await rows.execute({
    ...orders,
    body: {
      verb: 'select',
      columns: ['id', 'note'],
      filters: { id: { $gte: 5n }, $or: [{ note: null }, { note: { $like: 'a%' } }] },
      limit: 5
    }
  })
  const note: string | null | undefined = some.rows[0]?.note
  await rows.execute({
    ...orders,
    body: {
      verb: 'update',
      data: { note: null },
      filters: {
        $some: { customer: { table: 'customers', filters: { name: { $like: 'a%' } } } }, $none: { order_items: {} }
      }
    }
  })
  const all = await rows.execute({ ...orders, body: { verb: 'select' } })
  const first: Row<DB['orders']> | undefined = all.rows[0]
  const { id } = await rows.execute({
    ...orders, body: { verb: 'insert', data: { customer_id: 1, note: note ?? null } }
  })
  const { updated } = await rows.execute({
    ...orders, body: { verb: 'update', data: { note: null }, filters: { id: [1, 2n] } }
  })
  const { deleted } = await rows.execute({ ...orders, body: { verb: 'delete', filters: { id: 1 } } })
  const locked = await rows.execute({
    ...orders, body: { verb: 'delete', filters: { $is: { id: 1, note: null }, note: { $is: null } } }
  })
  // what reply.send takes
  const sent = await rows.execute({ ...orders, body: { verb: 'select', columns: ['id'] }, bigints: 'string' })
  const text: string | number | undefined = sent.rows[0]?.id
  const { id: made }: { id: string | number | null } = await rows.execute({
    ...orders, body: { verb: 'insert', data: { customer_id: 1 } }, bigints: 'string'
  })
  // @ts-expect-error: it may be a bigint
  const plain: string | number | undefined = (await rows.execute({
    ...orders, body: { verb: 'select', columns: ['id'] }
  })).rows[0]?.id
  console.log(first, id, updated + deleted + locked.deleted, text, made, plain)
}

/** `id` of an insert has the type of the table's key, so that the next insert takes it. */
export async function ids (): Promise<void> {
  const { id } = await rows.execute({
    ...orders, table: 'customers', body: { verb: 'insert', data: { email: 'a', name: 'b' } }
  })
  await rows.execute({ ...orders, body: { verb: 'insert', data: { customer_id: id } } })
  const { id: sku } = await rows.execute({
    ...orders, table: 'products', body: { verb: 'insert', data: { sku: 'a', name: 'b', price: '1' } }
  })
  const text: string = sku
  const { id: none } = await rows.execute({
    ...orders,
    table: 'order_items',
    body: { verb: 'insert', data: { order_id: 1, line: 1, product_sku: 'a', price: '1' } }
  })
  const { id: ofList } = await rows.execute({
    ...orders, body: { verb: 'insert', data: [{ customer_id: 1 }], onConflict: { key: ['id'] } }
  })
  const nulls: [null, null] = [none, ofList]
  const { id: upserted } = await rows.execute({
    ...orders, body: { verb: 'insert', data: { id: 1, customer_id: 1 }, onConflict: { key: ['id'] } }
  })
  console.log(text, nulls)
  // @ts-expect-error: the id of a row that exists may be unknown
  await rows.execute({ ...orders, body: { verb: 'insert', data: { customer_id: upserted } } })
}

/** A grant that is bound once. */
export async function bound (): Promise<void> {
  const calls = rows.as(grant)
  const { rows: [order] } = await calls.select('shop', 'orders', {
    columns: ['id'], include: { customer: { table: 'customers', columns: ['name'] } }
  })
  const name: string | undefined = order?.customer?.name
  const { id } = await calls.insert('shop', 'customers', { data: { email: 'a', name: 'b' } }, { bigints: 'bigint' })
  await calls.insert('shop', 'orders', { data: { customer_id: id } })
  const { updated } = await calls.update('shop', 'orders', { data: { note: null }, filters: { id: 1 } })
  const { deleted } = await calls.delete('shop', 'orders', { filters: { id: 1 } })
  const { rows: [sent] } = await calls.select('shop', 'orders', { columns: ['id'] }, {
    bigints: 'string', consistency: 'primary'
  })
  const text: string | number | undefined = sent?.id
  for await (const { note } of calls.stream('shop', 'orders', { columns: ['note'] })) console.log(note)
  console.log(name, updated, deleted, text)
  // @ts-expect-error: a misspelt column
  await calls.select('shop', 'orders', { columns: ['idd'] })
  // @ts-expect-error: a misspelt table
  await calls.select('shop', 'order')
  // @ts-expect-error: an update without filters
  await calls.update('shop', 'orders', { data: { note: 'x' } })
  // @ts-expect-error: a view is only read
  await calls.insert('shop', 'order_lines', { data: {} })
  // @ts-expect-error: a misspelt option
  await calls.select('shop', 'orders', {}, { bigint: 'string' })
}

export async function lists (): Promise<void> {
  const list = await rows.execute({
    ...orders, body: { verb: 'insert', data: [{ customer_id: 1 }, { customer_id: 2, note: 'x' }] }
  })
  const upsert = await rows.execute({
    ...orders, body: { verb: 'insert', data: [{ id: 1, customer_id: 1 }], onConflict: { key: ['id'], set: ['note'] } }
  })
  const counts: number = upsert.inserted + upsert.updated + upsert.unchanged
  const object = await rows.execute({
    ...orders,
    body: {
      verb: 'insert',
      data: { id: 1n, customer_id: 1 },
      onConflict: { key: ['id'], set: { customer_id: { $inc: 1 }, note: null } }
    }
  })
  console.log(list.inserted, counts, object.updated)
  // @ts-expect-error: a plain insert counts no updates
  console.log(list.updated)
  // @ts-expect-error: a required column is missing in a row
  await rows.execute({ ...orders, body: { verb: 'insert', data: [{ customer_id: 1 }, { note: 'x' }] } })
  // @ts-expect-error: a misspelt column of the key
  await rows.execute({ ...orders, body: { verb: 'insert', data: [{ customer_id: 1 }], onConflict: { key: ['ids'] } } })
  await rows.execute({
    // @ts-expect-error: a misspelt column to set
    ...orders, body: { verb: 'insert', data: [{ customer_id: 1 }], onConflict: { key: ['id'], set: ['nota'] } }
  })
}

export async function pages (): Promise<void> {
  let after: Position<DB['orders']> | null = null
  do {
    const page: { rows: Array<Row<DB['orders']>>, next: Position<DB['orders']> | null } = await rows.execute({
      ...orders, body: { verb: 'select', orderBy: 'id DESC', after }
    })
    after = page.next
  } while (after !== null)
  const { next, total } = await rows.execute({
    ...orders, body: { verb: 'select', columns: ['note'], after: { id: 5 }, total: true }, bigints: 'string'
  })
  const id: number | string | undefined = next?.id
  const offset: number | null = (await rows.execute({
    ...orders, body: { verb: 'select', offset: 10, total: 500 }
  })).next
  const distinct: number | null = (await rows.execute({
    ...orders, body: { verb: 'select', groupBy: ['note'], offset: 10 }
  })).next
  console.log(id, total + 1, offset, distinct)
  // @ts-expect-error: without after and offset there is no next
  console.log((await rows.execute({ ...orders, body: { verb: 'select', total: 5 } })).next)
  // @ts-expect-error: nor a total without total
  console.log((await rows.execute({ ...orders, body: { verb: 'select', after: null } })).total)
  // @ts-expect-error: a position of another type
  await rows.execute({ ...orders, body: { verb: 'select', after: { id: 'x' } } })
  // @ts-expect-error: a misspelt field
  await rows.execute({ ...orders, body: { verb: 'select', ofset: 1 } })
}

export async function groups (): Promise<void> {
  const customers = { ...orders, table: 'customers' } as const
  const { rows: [group] } = await rows.execute({
    ...customers,
    body: {
      verb: 'select',
      groupBy: ['status'],
      aggregates: {
        n: { $count: '*' },
        names: { $countDistinct: 'name' },
        sum: { $sum: 'credit' },
        mean: { $avg: 'id' },
        last: { $max: 'created_at' },
        first: { $min: 'id' }
      },
      having: {
        n: { $gt: 10 },
        sum: { $gte: 5.5 },
        mean: '1.5000',
        status: 'new',
        $or: [{ last: null }, { first: { $in: [1, 2n] } }]
      },
      orderBy: [{ sum: 'DESC' }, { status: 'ASC' }],
      limit: 5
    }
  })
  const status: string | undefined = group?.status
  const counts: number | undefined = group && group.n + group.names
  const texts: string | null | undefined = group?.sum ?? group?.mean ?? group?.last
  const first: number | bigint | null | undefined = group?.first
  const { rows: [whole] } = await rows.execute({
    ...customers, body: { verb: 'select', aggregates: { n: { $count: '*' }, first: { $min: 'id' } } }, bigints: 'string'
  })
  const text: string | number | null | undefined = whole?.first
  const { rows: distinct } = await rows.execute({ ...customers, body: { verb: 'select', groupBy: ['status', 'name'] } })
  const names: string[] = distinct.map(({ name }) => name)
  console.log(status, counts, texts, first, text, names)
  // @ts-expect-error: a column that is not in groupBy
  console.log(group?.name)
  // @ts-expect-error: a count is a number
  const count: string | undefined = group?.n
  // @ts-expect-error: a sum of decimals is a string
  const sum: number | null | undefined = group?.sum
  // @ts-expect-error: texts have no sum
  await rows.execute({ ...customers, body: { verb: 'select', aggregates: { n: { $sum: 'name' } } } })
  // @ts-expect-error: a misspelt column
  await rows.execute({ ...customers, body: { verb: 'select', aggregates: { n: { $max: 'nam' } } } })
  // @ts-expect-error: a misspelt function
  await rows.execute({ ...customers, body: { verb: 'select', aggregates: { n: { $median: 'id' } } } })
  // @ts-expect-error: a misspelt group
  await rows.execute({ ...customers, body: { verb: 'select', groupBy: ['stat'] } })
  await rows.execute({
    ...customers,
    // @ts-expect-error: a column of the table is none of the result
    body: { verb: 'select', groupBy: ['status'], aggregates: { n: { $count: '*' } }, having: { name: 'x' } }
  })
  await rows.execute({
    // @ts-expect-error: a count is compared with a number
    ...customers, body: { verb: 'select', groupBy: ['status'], aggregates: { n: { $count: '*' } }, having: { n: 'x' } }
  })
  // @ts-expect-error: columns are those of rows
  await rows.execute({ ...customers, body: { verb: 'select', groupBy: ['status'], columns: ['status'] } })
  console.log(count, sum)
}

export async function writes (): Promise<void> {
  const customers = { ...orders, table: 'customers' } as const
  const { rows: [made] } = await rows.execute({
    ...orders, body: { verb: 'insert', data: { customer_id: 1 }, returning: ['id', 'note'] }
  })
  const note: string | null | undefined = made?.note
  const { rows: [raised], updated, dryRun } = await rows.execute({
    ...customers,
    body: {
      verb: 'update',
      data: { credit: { $inc: '0.50' }, created_at: { $now: true } },
      filters: { id: 1 },
      returning: '*',
      expect: { $gte: 1 },
      dryRun: true
    },
    bigints: 'string'
  })
  const credit: string | undefined = raised?.credit
  const isDry: true | undefined = dryRun
  const { rows: [gone], deleted } = await rows.execute({
    ...orders, body: { verb: 'delete', filters: { id: 1 }, returning: ['id'], expect: 1 }
  })
  const { count } = await rows.execute({ ...orders, body: { verb: 'select', filters: { id: 1 }, expect: { $lte: 1 } } })
  await rows.execute({
    ...orders,
    table: 'products',
    grant,
    body: { verb: 'update', data: { tags: { $merge: { a: null } } }, filters: { sku: 'a' } }
  })
  console.log(note, credit, isDry, gone?.id, updated + deleted + count)
  // @ts-expect-error: without returning there are no rows
  console.log((await rows.execute({ ...orders, body: { verb: 'delete', filters: { id: 1 } } })).rows)
  // @ts-expect-error: a column that was not asked for
  console.log(made?.customer_id)
  // @ts-expect-error: a misspelt column to return
  await rows.execute({ ...orders, body: { verb: 'delete', filters: { id: 1 }, returning: ['idd'] } })
  // @ts-expect-error: a text cannot be incremented
  await rows.execute({ ...customers, body: { verb: 'update', data: { name: { $inc: 1 } }, filters: { id: 1 } } })
  // @ts-expect-error: an insert has no forms
  await rows.execute({ ...customers, body: { verb: 'insert', data: { email: 'a', name: 'b', credit: { $inc: 1 } } } })
  // @ts-expect-error: an insert expects nothing
  await rows.execute({ ...orders, body: { verb: 'insert', data: { customer_id: 1 }, expect: 1 } })
  // @ts-expect-error: a misspelt bound
  await rows.execute({ ...orders, body: { verb: 'delete', filters: { id: 1 }, expect: { $ge: 1 } } })
}

/** Requests in a transaction are typed as others. */
export async function transaction (): Promise<number | bigint | undefined> {
  return await rows.transaction('shop', async (tx) => {
    const { id } = await tx.execute({ table: 'orders', grant, body: { verb: 'insert', data: { customer_id: 1 } } })
    const { rows: [locked] } = await tx.execute({
      table: 'orders',
      grant,
      body: {
        verb: 'select',
        columns: ['id'],
        filters: { id: 1 },
        lock: true,
        include: { items: { table: 'order_items', columns: ['line'] } }
      },
      bigints: 'string'
    })
    const text: string | number | undefined = locked?.id ?? locked?.items[0]?.line
    const { updated, rows: [changed] } = await tx.execute({
      table: 'customers',
      grant,
      body: { verb: 'update', data: { credit: { $inc: 1 } }, filters: { id: 1 }, returning: ['id'] }
    })
    console.log(id, text, updated, tx.attempt)
    // @ts-expect-error: a column that was not asked for
    console.log(locked?.note)
    // @ts-expect-error: a misspelt table
    await tx.execute({ table: 'order', grant, body: { verb: 'select' } })
    // @ts-expect-error: a misspelt column
    await tx.execute({ table: 'orders', grant, body: { verb: 'update', data: { nota: 'x' }, filters: { id: 1 } } })
    // @ts-expect-error: a wrong type
    await tx.execute({ table: 'orders', grant, body: { verb: 'insert', data: { customer_id: 'one' } } })
    // @ts-expect-error: only a select locks
    await tx.execute({ table: 'orders', grant, body: { verb: 'delete', filters: { id: 1 }, lock: true } })
    // @ts-expect-error: dryRun is for the whole
    await tx.execute({ table: 'orders', grant, body: { verb: 'delete', filters: { id: 1 }, dryRun: true } })
    // @ts-expect-error: the database is that of the transaction
    await tx.execute({ database: 'shop', table: 'orders', grant, body: { verb: 'select' } })
    return changed?.id
  }, { isolation: 'serializable' })
}

/** Rows of other tables. */
export async function members (): Promise<void> {
  const { rows: [order] } = await rows.execute({
    ...orders,
    body: {
      verb: 'select',
      columns: ['id'],
      include: {
        customer: { table: 'customers', columns: ['name'] },
        order_items: { limit: 5, include: { product: { table: 'products', columns: ['price'] } } }
      }
    }
  })
  const name: string | undefined = order?.customer?.name
  const price: string | undefined = order?.order_items[0]?.product?.price
  console.log(name, price)
  await rows.execute({
    // @ts-expect-error: a misspelt column of a member
    ...orders, body: { verb: 'select', include: { customer: { table: 'customers', columns: ['nam'] } } }
  })
  // @ts-expect-error: a column that was not asked for
  console.log(order?.customer?.email)
  // @ts-expect-error: a misspelt order
  await rows.execute({ ...orders, body: { verb: 'select', orderBy: 'nota' } })
  await rows.execute({
    ...orders,
    table: 'order_items',
    body: {
      // @ts-expect-error: a part of a key
      verb: 'insert', data: { order_id: 1, line: 1, product_sku: 'a', price: '1' }, onConflict: { key: ['line'] }
    }
  })
  // @ts-expect-error: a view is only read
  await rows.execute({ ...orders, table: 'order_lines', body: { verb: 'insert', data: {} } })
  // @ts-expect-error: a write is never sent to a replica
  await rows.execute({ ...orders, body: { verb: 'delete', filters: { id: 1 } }, consistency: 'primary' })
}

/** None of these compiles. */
export async function mistakes (): Promise<void> {
  // @ts-expect-error: a misspelt database
  await rows.execute({ ...orders, database: 'shopp', body: { verb: 'select' } })
  // @ts-expect-error: a misspelt table
  await rows.execute({ ...orders, table: 'order', body: { verb: 'select' } })
  // @ts-expect-error: a misspelt column to select
  await rows.execute({ ...orders, body: { verb: 'select', columns: ['id', 'nota'] } })
  // @ts-expect-error: a misspelt column to filter by
  await rows.execute({ ...orders, body: { verb: 'select', filters: { id: 1, nota: 'x' } } })
  // @ts-expect-error: a misspelt column of a row
  await rows.execute({ ...orders, body: { verb: 'select', filters: { $is: { nota: 'x' } } } })
  // @ts-expect-error: a wrong type to filter by
  await rows.execute({ ...orders, body: { verb: 'select', filters: { id: 'one' } } })
  // @ts-expect-error: a column that was not asked for
  console.log((await rows.execute({ ...orders, body: { verb: 'select', columns: ['id'] } })).rows[0]?.note)
  // @ts-expect-error: a wrong type to insert
  await rows.execute({ ...orders, body: { verb: 'insert', data: { customer_id: 'one' } } })
  // @ts-expect-error: a required column is missing
  await rows.execute({ ...orders, body: { verb: 'insert', data: { note: 'x' } } })
  // @ts-expect-error: an update without filters
  await rows.execute({ ...orders, body: { verb: 'update', data: { note: 'x' } } })
  // @ts-expect-error: a delete without filters
  await rows.execute({ ...orders, body: { verb: 'delete' } })
  await rows.execute({
    // @ts-expect-error: a generated column
    ...orders, table: 'customers', body: { verb: 'update', data: { login: 'x' }, filters: { id: 1 } }
  })
  // @ts-expect-error: no grant
  await rows.execute({ database: 'shop', table: 'orders', body: { verb: 'select' } })
  // @ts-expect-error: read is no permission
  await rows.execute({ ...orders, grant: { permissions: ['read'] }, body: { verb: 'select' } })
}

/** Without interfaces everything is let through, to be checked as over HTTP. */
export async function untyped (): Promise<string> {
  const anything = createRowQuery({ databases: { shop: { url: 'sqlite:shop.db' } } })
  try {
    const { rows: found } = await anything.execute({
      database: 'shop', table: 'orders', body: { verb: 'select', columns: ['id'] }, grant
    })
    const { rows: groups } = await anything.execute({
      database: 'shop',
      table: 'orders',
      body: {
        verb: 'select',
        groupBy: ['note'],
        aggregates: { n: { $count: '*' }, sum: { $sum: 'total' } },
        having: { n: { $gt: 1 } },
        orderBy: 'n'
      },
      grant
    })
    const done = await anything.transaction('shop', async (tx) => (await tx.execute({
      table: 'orders', body: { verb: 'select' }, grant
    })).rows[0].id)
    return String(done) + String(found[0]?.['id']) + String(groups[0]?.sum) + String(groups[0]?.['note'])
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}
