/** The SQL of the hand-written routes, and their driver settings. */
import type { PoolOptions } from 'mysql2'
import { COLUMNS, type NewOrder } from '../../database/orders.ts'
import type { Operation } from '../../workloads.ts'

/** The operations that are one statement with a fixed number of parameters. */
export type PlainOperation = Exclude<Operation, { kind: 'customers' | 'items' | 'insertList' | 'upsertList' | 'updateList' | 'save' | 'lock' | 'transaction' }>

/**
 * The defaults of mysql2, except that dates stay text, because Date objects double the cost of lists.
 * JSON is parsed, so that clients receive values instead of strings.
 */
export function poolOptions (): PoolOptions {
  return { uri: process.env['DATABASE_URL'] as string, connectionLimit: 10, dateStrings: true }
}

const columns = COLUMNS.join(', ')

export const statements = {
  key: `select ${columns} from orders where id = ?`,
  list: `select ${columns} from orders where id > ? order by id limit ?`,
  page: `select ${columns} from orders where ordered_at > ? or (ordered_at = ? and id > ?) order by ordered_at, id limit ?`,
  matches: 'select id, title, body, status, published_at from articles where match(title, body) against(? in boolean mode) order by id limit ?',
  export: `select ${columns} from exported order by id limit ?`,
  groups: `select status, count(*) as orders, sum(total) as total, avg(quantity) as quantity, max(ordered_at) as latest
    from orders where id > ? and id <= ? group by status order by status`,
  insert: 'insert into new_orders (quantity, status, total, customer, ordered_at, details) values (?, ?, ?, ?, ?, ?)',
  update: 'update orders set status = ?, quantity = ? where id = ?',
  lock: 'update products set price = ? where id = ? and version = ?',
  updateStatus: 'update orders set status = ? where id = ?'
}

/** A page of sales, and what is related to them. */
export const saleStatements = {
  page: 'select id, customer_id, status, total, ordered_at from sales where id > ? order by id limit ?',
  customers: 'select id, name, email, country from customers where id in',
  items: 'select sale_id, line, sku, quantity, price from sale_items where sale_id in'
}

/** Lists are always sent by `query`, which expands them. */
export const listStatements = {
  import: `insert into imported (${columns}) values ?`,
  insert: 'insert into new_orders (quantity, status, total, customer, ordered_at, details) values ?',
  upsert: `insert into saved_orders (id, quantity, status, total, customer, ordered_at, details) values ?
    on duplicate key update quantity = values(quantity), status = values(status), total = values(total)`
}

export const saveStatement = `insert into products (sku, price, stock) values ?
  on duplicate key update price = values(price), stock = values(stock)`

export function valuesOf ({ quantity, status, total, customer, ordered_at: orderedAt, details }: NewOrder): Array<string | number> {
  return [quantity, status, total, customer, orderedAt, JSON.stringify(details)]
}

export function parametersOf (operation: PlainOperation): Array<string | number> {
  switch (operation.kind) {
    case 'key': return [operation.id]
    case 'list': return [operation.after, operation.limit]
    case 'page': return [operation.after.ordered_at, operation.after.ordered_at, operation.after.id, operation.limit + 1]
    case 'groups': return [operation.after, operation.after + operation.rows]
    case 'matches': return [operation.text, operation.limit]
    case 'update': return [operation.status, operation.quantity, operation.id]
    case 'insert': return valuesOf(operation.order)
  }
}
