/** Checks, before the measurement, that a contender works correctly. */
import { deepStrictEqual } from 'node:assert/strict'
import type { Connection, RowDataPacket } from 'mysql2/promise'
import { normalizeArticle } from '../database/articles.ts'
import { normalizeSale } from '../database/sales.ts'
import { normalizeGroup, normalizeOrder, type NewOrder, type SavedOrder } from '../database/orders.ts'
import type { Operation, Workload } from '../workloads.ts'
import { parametersOf, saleStatements, statements } from './programs/statements.ts'
import type { Contender, Running } from './contender.ts'

/** The number of operations of a workload that are checked. */
const SAMPLE = 3

/** @throws if the contender accepts a request without a token or with an invalid value, or returns or writes wrong rows */
export async function checkContender ({ withoutRows }: Contender, running: Running, { operations }: Workload, database: Connection): Promise<void> {
  for (const status of await running.refusals()) {
    if (status < 400 || status > 499) throw new Error(`it should have refused a request and answered ${status}`)
  }
  for (const operation of operations.slice(0, SAMPLE)) {
    const rows = await running.run(operation)
    if (withoutRows) continue
    const { actual, expected } = await compare(operation, rows, database)
    deepStrictEqual(actual, expected)
  }
}

async function compare (operation: Operation, rows: Array<Record<string, unknown>>, database: Connection): Promise<{ actual: unknown, expected: unknown }> {
  const read = async (sql: string, values: Array<number | number[] | string> = []): Promise<unknown[]> =>
    (await database.query<RowDataPacket[]>(sql, values))[0].map(normalizeOrder)
  switch (operation.kind) {
    case 'key': return { actual: rows.map(normalizeOrder), expected: await read('select * from orders where id = ?', [operation.id]) }
    case 'list': return { actual: rows.map(normalizeOrder), expected: await read('select * from orders where id > ? order by id limit ?', [operation.after, operation.limit]) }
    case 'groups': {
      const [groups] = await database.query<RowDataPacket[]>(statements.groups, parametersOf(operation))
      return { actual: rows.map(normalizeGroup), expected: groups.map(normalizeGroup) }
    }
    case 'page': {
      const { after: { ordered_at: orderedAt, id }, limit } = operation
      const sql = 'select * from orders where ordered_at > ? or (ordered_at = ? and id > ?) order by ordered_at, id limit ?'
      return { actual: rows.map(normalizeOrder), expected: await read(sql, [orderedAt, orderedAt, id, limit]) }
    }
    case 'matches': {
      const [articles] = await database.query<RowDataPacket[]>(statements.matches, parametersOf(operation))
      return { actual: rows.map(normalizeArticle), expected: articles.map(normalizeArticle) }
    }
    case 'customers':
    case 'items': {
      const [sales] = await database.query<RowDataPacket[]>(saleStatements.page, [operation.after, operation.limit])
      for (const sale of sales) {
        const [related] = await database.query<RowDataPacket[]>(`${saleStatements[operation.kind]} (?)`, [operation.kind === 'customers' ? sale['customer_id'] : sale['id']])
        Object.assign(sale, operation.kind === 'customers' ? { customer: { ...related[0] } } : { items: related })
      }
      return { actual: rows.map(normalizeSale), expected: sales.map(normalizeSale) }
    }
    case 'update': {
      const { id, status, quantity } = operation
      const [stored] = await read('select * from orders where id = ?', [id]) as object[]
      return { actual: stored, expected: { ...stored, status, quantity } }
    }
    case 'updateList': {
      const orders = operation.orders.toSorted((a, b) => a.id - b.id)
      const stored = await read('select * from orders where id in (?) order by id', [orders.map(({ id }) => id)]) as object[]
      return { actual: stored, expected: stored.map((row, index) => ({ ...row, ...orders[index] })) }
    }
    case 'insertList': {
      const stored = (await read('select * from (select * from new_orders order by id desc limit ?) n order by id', [operation.orders.length])) as object[]
      return { actual: stored, expected: stored.map((row, index) => ({ ...row, ...storedAs(operation.orders[index] as NewOrder) })) }
    }
    case 'upsertList': {
      const known = operation.orders.filter(({ id }) => id !== undefined)
      const stored = (await read('select * from saved_orders where id in (?)', [known.map(({ id }) => id as number)])) as Array<{ id: number }>
      // the last one decides if an id occurs twice
      return { actual: stored, expected: stored.map((row) => ({ ...row, ...pick(known.findLast(({ id }) => id === row.id) as SavedOrder) })) }
    }
    case 'save': {
      const [stored] = await database.query<RowDataPacket[]>('select sku, price, stock from products where sku in (?) order by sku', [operation.products.map(({ sku }) => sku)])
      return { actual: stored, expected: operation.products.toSorted((a, b) => a.sku < b.sku ? -1 : 1).map((product) => ({ ...product, price: Number(product.price).toFixed(2) })) }
    }
    case 'lock': {
      const [stored] = await database.query<RowDataPacket[]>('select price from products where id = ?', [operation.id])
      return { actual: stored, expected: [{ price: Number(operation.price).toFixed(2) }] }
    }
    case 'transaction': {
      const { id, status, order, orders } = operation
      const [updated] = await read('select * from orders where id = ?', [id]) as object[]
      const stored = await read('select * from (select * from new_orders order by id desc limit ?) n order by id', [orders.length + 1]) as object[]
      const expected = stored.map((row, index) => ({ ...row, ...storedAs(index === 0 ? order : orders[index - 1] as NewOrder) }))
      return { actual: [updated, ...stored], expected: [{ ...updated, status }, ...expected] }
    }
    case 'insert': {
      const [stored] = await read('select * from new_orders order by id desc limit 1') as object[]
      return { actual: stored, expected: { ...stored, ...storedAs(operation.order) } }
    }
  }
}

const storedAs = (order: NewOrder) => ({ ...order, ordered_at: order.ordered_at + 'Z' })
/** The columns that an upsert writes to a row that exists. */
const pick = ({ quantity, status, total }: SavedOrder) => ({ quantity, status, total: Number(total).toFixed(2) })
