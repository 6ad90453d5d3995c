/** An app that asks for rows without HTTP, typed by the interfaces that `row-query types` writes. */
import { createRowQuery, ServiceError, type GrantOptions, type Row } from 'fastify-row-query'
import type { DB } from './shop.ts'

const rows = createRowQuery<{ shop: DB }>({ databases: { shop: { url: 'mysql://user:password@127.0.0.1:3306/shop' } } })
const grant: GrantOptions = { permissions: ['select', 'insert', 'update', 'delete'], databases: { shop: ['orders', 'customers'] } }
const orders = { database: 'shop', table: 'orders', grant } as const

export async function use (): Promise<void> {
  const some = await rows.execute({ ...orders, body: { verb: 'select', columns: ['id', 'note'], filters: { id: { $gte: 5n }, $or: [{ note: null }, { note: { $like: 'a%' } }] }, limit: 5 } })
  const note: string | null | undefined = some.rows[0]?.note
  const all = await rows.execute({ ...orders, body: { verb: 'select' } })
  const first: Row<DB['orders']> | undefined = all.rows[0]
  const { id } = await rows.execute({ ...orders, body: { verb: 'insert', data: { customer_id: 1, note: note ?? null } } })
  const { updated } = await rows.execute({ ...orders, body: { verb: 'update', data: { note: null }, filters: { id: [1, 2n] } } })
  const { deleted } = await rows.execute({ ...orders, body: { verb: 'delete', filters: { id: 1 } } })
  const locked = await rows.execute({ ...orders, body: { verb: 'delete', filters: { $is: { id: 1, note: null }, note: { $is: null } } } })
  // what reply.send takes
  const sent = await rows.execute({ ...orders, body: { verb: 'select', columns: ['id'] }, bigints: 'string' })
  const text: string | number | undefined = sent.rows[0]?.id
  const { id: made }: { id: string | number | null } = await rows.execute({ ...orders, body: { verb: 'insert', data: { customer_id: 1 } }, bigints: 'string' })
  // @ts-expect-error: it may be a bigint
  const plain: string | number | undefined = (await rows.execute({ ...orders, body: { verb: 'select', columns: ['id'] } })).rows[0]?.id
  console.log(first, id, updated + deleted + locked.deleted, text, made, plain)
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
  // @ts-expect-error: a generated column
  await rows.execute({ ...orders, table: 'customers', body: { verb: 'update', data: { login: 'x' }, filters: { id: 1 } } })
  // @ts-expect-error: no grant
  await rows.execute({ database: 'shop', table: 'orders', body: { verb: 'select' } })
  // @ts-expect-error: read is no permission
  await rows.execute({ ...orders, grant: { permissions: ['read'] }, body: { verb: 'select' } })
}

/** Without interfaces everything is let through, to be checked as over HTTP. */
export async function untyped (): Promise<string> {
  const anything = createRowQuery({ databases: { shop: { url: 'sqlite:shop.db' } } })
  try {
    const { rows: found } = await anything.execute({ database: 'shop', table: 'orders', body: { verb: 'select', columns: ['id'] }, grant })
    return String(found[0]?.['id'])
  } catch (error) {
    if (error instanceof ServiceError) return error.code
    throw error
  }
}
