/** The routes that a developer would write for the workloads: fixed SQL, mysql2, and JSON.stringify by Fastify. */
import { pipeline, type Readable, Transform } from 'node:stream'
import { parse } from 'csv-parse'
import mysql, { type ResultSetHeader, type RowDataPacket } from 'mysql2/promise'
import { COLUMNS, type NewOrder, type SavedOrder } from '../../database/orders.ts'
import type { Product } from '../../database/products.ts'
import type { ChangedOrder, Position } from '../../workloads.ts'
import { createApp, listen } from './app.ts'
import { exportBody, groupsBody, insertBody, insertListBody, keyBody, listBody, lockBody, matchesBody, pageBody, saveBody, salesBody, transactionBody, updateBody, updateListBody, upsertListBody } from './schemas.ts'
import { listStatements, parametersOf, poolOptions, saleStatements, saveStatement, statements, valuesOf } from './statements.ts'

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

app.post<{ Body: { text: string, limit: number } }>('/articles/matches', { schema: { body: matchesBody } }, async ({ body: { text, limit } }) => {
  const [rows] = await run<RowDataPacket[]>(statements.matches, parametersOf({ kind: 'matches', text, limit }))
  return { success: true, data: { rows, count: rows.length } }
})

app.post<{ Body: { after: number, limit: number } }>('/sales/customers', { schema: { body: salesBody } }, async ({ body }) => {
  const { rows, next } = await pageOfSales(body)
  const found = await related(saleStatements.customers, [...new Set(rows.map((row) => row['customer_id'] as number))])
  const customers = new Map(found.map((customer) => [customer['id'], customer]))
  for (const row of rows) row['customer'] = customers.get(row['customer_id']) ?? null
  return { success: true, data: { rows, count: rows.length, next } }
})

app.post<{ Body: { after: number, limit: number } }>('/sales/items', { schema: { body: salesBody } }, async ({ body }) => {
  const { rows, next } = await pageOfSales(body)
  const items = new Map<number, object[]>()
  for (const row of rows) items.set(row['id'], row['items'] = [])
  for (const { sale_id: id, line, sku, quantity, price } of await related(saleStatements.items, [...items.keys()], ' order by sale_id, line')) items.get(id)?.push({ line, sku, quantity, price })
  return { success: true, data: { rows, count: rows.length, next } }
})

async function pageOfSales ({ after, limit }: { after: number, limit: number }) {
  const [found] = await run<RowDataPacket[]>(saleStatements.page, [after, limit + 1])
  const rows = found.slice(0, limit)
  return { rows, next: found.length > limit ? { id: rows.at(-1)?.['id'] } : null }
}

/** The rows related to these ids. A prepared statement has a placeholder for each. */
async function related (sql: string, ids: number[], order = ''): Promise<RowDataPacket[]> {
  if (ids.length === 0) return []
  const [rows] = prepared
    ? await pool.execute<RowDataPacket[]>(`${sql} (${ids.map(() => '?').join()})${order}`, ids)
    : await pool.query<RowDataPacket[]>(`${sql} (?)${order}`, [ids])
  return rows
}

app.post<{ Body: { format: 'ndjson' | 'csv', limit: number } }>('/orders/export', { schema: { body: exportBody } }, (request, reply) => {
  const { format, limit } = request.body
  const write = format === 'csv' ? toCsv : (row: object) => JSON.stringify(row) + '\n'
  const rows = pool.pool.query(statements.export, [limit]).stream()
  const transform = new Transform({ writableObjectMode: true, transform: (row: object, _encoding, done) => done(null, write(row)) })
  if (format === 'csv') transform.push(COLUMNS.join() + '\r\n')
  pipeline(rows, transform, (error) => { if (error != null) request.log.error(error) })
  return reply.type(format === 'csv' ? 'text/csv' : 'application/x-ndjson').send(transform)
})

const toCsv = (row: object): string => Object.values(row).map((value) => {
  const text = value === null ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value)
  return /["\r\n,]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}).join() + '\r\n'

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

app.post<{ Body: Product[] }>('/products/save', { schema: { body: saveBody } }, async ({ body }) => {
  const [{ affectedRows }] = await pool.query<ResultSetHeader>(saveStatement, [body.map(({ sku, price, stock }) => [sku, price, stock])])
  return { success: true, data: { affected: affectedRows } }
})

app.post<{ Body: { id: number, version: number, price: string } }>('/products/lock', { schema: { body: lockBody } }, async ({ body: { id, version, price } }, reply) => {
  const [{ affectedRows }] = await run<ResultSetHeader>(statements.lock, [price, id, version])
  if (affectedRows === 1) return { success: true, data: { updated: 1 } }
  return await reply.code(412).send({ success: false, data: {}, error: { code: 'EXPECTATION_FAILED' } })
})

app.post<{ Body: ChangedOrder[] }>('/orders/update-list', { schema: { body: updateListBody } }, async ({ body }) => {
  const connection = await pool.getConnection()
  try {
    await connection.beginTransaction()
    let updated = 0
    for (const { id, status, quantity } of body) {
      const values = [status, quantity, id]
      const [{ affectedRows }] = prepared ? await connection.execute<ResultSetHeader>(statements.update, values) : await connection.query<ResultSetHeader>(statements.update, values)
      updated += affectedRows
    }
    await connection.commit()
    return { success: true, data: { updated } }
  } catch (error) {
    await connection.rollback()
    throw error
  } finally {
    connection.release()
  }
})

/** The database takes no Z behind a time in UTC. */
const storedOf = (row: Readonly<Record<string, string>>): Array<string | null> =>
  COLUMNS.map((name) => {
    const cell = row[name]
    return cell === undefined || cell === '' ? null : name === 'updated_at' ? cell.slice(0, -1) : cell
  })

app.addContentTypeParser('text/csv', (_request, payload, done) => { done(null, payload) })

app.post<{ Body: Readable }>('/orders/import', async ({ body }) => {
  const connection = await pool.getConnection()
  try {
    await connection.beginTransaction()
    let inserted = 0
    let rows: Array<Array<string | null>> = []
    const write = async (): Promise<void> => {
      await connection.query(listStatements.import, [rows])
      inserted += rows.length
      rows = []
    }
    for await (const row of pipeline(body, parse({ columns: true }), () => {})) {
      if (rows.push(storedOf(row)) === 1000) await write()
    }
    if (rows.length > 0) await write()
    await connection.commit()
    return { success: true, data: { inserted } }
  } catch (error) {
    await connection.rollback()
    throw error
  } finally {
    connection.release()
  }
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
