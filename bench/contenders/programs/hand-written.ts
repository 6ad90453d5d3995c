/** The routes that a developer would write for the workloads: fixed SQL, mysql2, and JSON.stringify by Fastify. */
import mysql, { type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'
import type { NewOrder, SavedOrder } from '../../database/orders.ts'
import type { Position } from '../../workloads.ts'
import { createApp, listen } from './app.ts'
import { groupsBody, insertBody, insertListBody, keyBody, listBody, pageBody, transactionBody, updateBody, upsertListBody } from './schemas.ts'
import { listStatements, parametersOf, poolOptions, statements, valuesOf } from './statements.ts'

const pool = mysql.createPool(poolOptions())
const prepared = process.env['METHOD'] === 'execute'
const app = await createApp()

app.post<{ Body: { id: number } }>('/orders/by-key', { schema: { body: keyBody } }, async ({ body }) => {
  const [rows] = await run<RowDataPacket[]>(statements.key, [body.id])
  return { success: true, data: { rows, count: rows.length } }
})

app.post<{ Body: { after: number, limit: number } }>('/orders/list', { schema: { body: listBody } }, async ({ body }) => {
  const [rows] = await run<RowDataPacket[]>(statements.list, [body.after, body.limit])
  return { success: true, data: { rows, count: rows.length } }
})

app.post<{ Body: { after: number, rows: number } }>('/orders/groups', { schema: { body: groupsBody } }, async ({ body }) => {
  const [rows] = await run<RowDataPacket[]>(statements.groups, [body.after, body.after + body.rows])
  return { success: true, data: { rows, count: rows.length } }
})

app.post<{ Body: { after: Position, limit: number } }>('/orders/page', { schema: { body: pageBody } }, async ({ body: { after, limit } }) => {
  const [found] = await run<RowDataPacket[]>(statements.page, parametersOf({ kind: 'page', after, limit }))
  const rows = found.slice(0, limit)
  const last = found.length > limit ? rows.at(-1) : undefined
  return { success: true, data: { rows, count: rows.length, next: last === undefined ? null : { ordered_at: last['ordered_at'], id: last['id'] } } }
})

app.post<{ Body: NewOrder }>('/orders/insert', { schema: { body: insertBody } }, async ({ body }) => {
  const [{ insertId }] = await run<ResultSetHeader>(statements.insert, parametersOf({ kind: 'insert', order: body }))
  return { success: true, data: { inserted: 1, id: insertId } }
})

app.post<{ Body: { id: number, status: string, quantity: number } }>('/orders/update', { schema: { body: updateBody } }, async ({ body }) => {
  const [{ affectedRows }] = await run<ResultSetHeader>(statements.update, [body.status, body.quantity, body.id])
  return { success: true, data: { updated: affectedRows } }
})

app.post<{ Body: NewOrder[] }>('/orders/insert-list', { schema: { body: insertListBody } }, async ({ body }) => {
  const [{ affectedRows, insertId }] = await pool.query<ResultSetHeader>(listStatements.insert, [body.map(valuesOf)])
  return { success: true, data: { inserted: affectedRows, id: insertId } }
})

app.post<{ Body: SavedOrder[] }>('/orders/upsert-list', { schema: { body: upsertListBody } }, async ({ body }) => {
  const [{ affectedRows }] = await pool.query<ResultSetHeader>(listStatements.upsert, [body.map((order) => [order.id ?? null, ...valuesOf(order)])])
  return { success: true, data: { affected: affectedRows } }
})

app.post<{ Body: { id: number, status: string, order: NewOrder, orders: NewOrder[] } }>('/orders/transaction', { schema: { body: transactionBody } }, async ({ body: { id, status, order, orders } }) => {
  const connection = await pool.getConnection()
  const one = <T extends ResultSetHeader>(sql: string, values: Array<string | number>) => prepared ? connection.execute<T>(sql, values) : connection.query<T>(sql, values)
  try {
    await connection.beginTransaction()
    const [{ affectedRows: updated }] = await one(statements.updateStatus, [status, id])
    const [{ insertId: first }] = await one(statements.insert, valuesOf(order))
    const [{ affectedRows: inserted, insertId }] = await connection.query<ResultSetHeader>(listStatements.insert, [orders.map(valuesOf)])
    await connection.commit()
    return { success: true, data: { results: [{ updated }, { inserted: 1, id: first }, { inserted, id: insertId }] } }
  } catch (error) {
    await connection.rollback()
    throw error
  } finally {
    connection.release()
  }
})

function run<T extends RowDataPacket[] | ResultSetHeader> (sql: string, values: Array<string | number>) {
  return prepared ? pool.execute<T>(sql, values) : pool.query<T>(sql, values)
}

await listen(app)
