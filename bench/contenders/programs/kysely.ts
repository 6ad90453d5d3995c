/** The same routes with Kysely, as in its documentation: each request builds and compiles its query. */
import { Kysely, MysqlDialect, type Generated } from 'kysely'
import mysql from 'mysql2'
import { COLUMNS, type NewOrder } from '../../database/orders.ts'
import { createApp, listen } from './app.ts'
import { insertBody, keyBody, listBody, updateBody } from './schemas.ts'
import { poolOptions } from './statements.ts'

interface Row {
  id: Generated<number>
  quantity: number
  status: string
  total: string
  customer: string
  ordered_at: string
  updated_at: Generated<string>
  details: string
}

const db = new Kysely<{ orders: Row, new_orders: Row }>({ dialect: new MysqlDialect({ pool: mysql.createPool(poolOptions()) }) })
const app = await createApp()

app.post<{ Body: { id: number } }>('/orders/by-key', { schema: { body: keyBody } }, async ({ body }) => {
  const rows = await db.selectFrom('orders').select(COLUMNS).where('id', '=', body.id).execute()
  return { success: true, data: { rows, count: rows.length } }
})

app.post<{ Body: { after: number, limit: number } }>('/orders/list', { schema: { body: listBody } }, async ({ body }) => {
  const rows = await db.selectFrom('orders').select(COLUMNS).where('id', '>', body.after).orderBy('id').limit(body.limit).execute()
  return { success: true, data: { rows, count: rows.length } }
})

app.post<{ Body: NewOrder }>('/orders/insert', { schema: { body: insertBody } }, async ({ body }) => {
  const { insertId } = await db.insertInto('new_orders').values({ ...body, details: JSON.stringify(body.details) }).executeTakeFirstOrThrow()
  return { success: true, data: { inserted: 1, id: Number(insertId) } }
})

app.post<{ Body: { id: number, status: string, quantity: number } }>('/orders/update', { schema: { body: updateBody } }, async ({ body }) => {
  const { id, status, quantity } = body
  const { numUpdatedRows } = await db.updateTable('orders').set({ status, quantity }).where('id', '=', id).executeTakeFirstOrThrow()
  return { success: true, data: { updated: Number(numUpdatedRows) } }
})

await listen(app)
