/** How an operation is sent to each contender over HTTP, and where its rows are in the answer. */
import { COLUMNS } from '../database/orders.ts'
import type { Operation } from '../workloads.ts'

export interface HttpRequest { readonly method: string, readonly path: string, readonly body?: object }

export interface Api {
  readonly headers: Readonly<Record<string, string>>
  toRequest (operation: Operation): HttpRequest
  /** Rows of a select. */
  rowsOf (answer: unknown): Array<Record<string, unknown>>
}

/** The token of every contender. */
export const TOKEN = 'a-token-for-measurements-0123456789'

const bearer = { authorization: `Bearer ${TOKEN}` }

/** This service and the routes of this folder answer in the same form. */
function rowsOfEnvelope (answer: unknown): Array<Record<string, unknown>> {
  return (answer as { data: { rows?: [] } }).data.rows ?? []
}

/** This service, and the name of the database there. */
export function rowQueryApi (database: string, token = TOKEN): Api {
  const post = (table: string, body: object): HttpRequest => ({ method: 'POST', path: `/api/${database}/${table}`, body })
  return {
    headers: { authorization: `Bearer ${token}` },
    toRequest (operation) {
      switch (operation.kind) {
        case 'key': return post('orders', { verb: 'select', filters: { id: operation.id } })
        case 'list': return post('orders', { verb: 'select', filters: { id: { $gt: operation.after } }, orderBy: 'id', limit: operation.limit })
        case 'groups': return post('orders', {
          verb: 'select',
          filters: { id: { $gt: operation.after, $lte: operation.after + operation.rows } },
          groupBy: ['status'],
          aggregates: { orders: { $count: '*' }, total: { $sum: 'total' }, quantity: { $avg: 'quantity' }, latest: { $max: 'ordered_at' } },
          orderBy: 'status'
        })
        case 'page': return post('orders', { verb: 'select', orderBy: 'ordered_at', limit: operation.limit, after: operation.after })
        case 'customers': return post('sales', { verb: 'select', orderBy: 'id', limit: operation.limit, after: { id: operation.after }, include: { customer: { table: 'customers', columns: ['id', 'name', 'email', 'country'] } } })
        case 'items': return post('sales', { verb: 'select', orderBy: 'id', limit: operation.limit, after: { id: operation.after }, include: { items: { table: 'sale_items', columns: ['line', 'sku', 'quantity', 'price'] } } })
        case 'matches': return post('articles', { verb: 'select', filters: { $match: { columns: ['title', 'body'], text: operation.text } }, orderBy: 'id', limit: operation.limit })
        case 'insert': return post('new_orders', { verb: 'insert', data: operation.order })
        case 'insertList': return post('new_orders', { verb: 'insert', data: operation.orders })
        case 'upsertList': return post('saved_orders', { verb: 'insert', data: operation.orders, onConflict: { key: ['id'], set: ['quantity', 'status', 'total'] } })
        case 'transaction': return {
          method: 'POST',
          path: `/api/${database}`,
          body: {
            operations: [
              { table: 'orders', verb: 'update', data: { status: operation.status }, filters: { id: operation.id } },
              { table: 'new_orders', verb: 'insert', data: operation.order },
              { table: 'new_orders', verb: 'insert', data: operation.orders }
            ]
          }
        }
        case 'save': return post('products', { verb: 'insert', data: operation.products, onConflict: { key: ['sku'] } })
        case 'lock': return post('products', { verb: 'update', data: { price: operation.price }, filters: { id: operation.id, version: operation.version }, expect: 1 })
        case 'updateList': return post('orders', { verb: 'update', key: ['id'], filters: {}, data: operation.orders })
        case 'update': return post('orders', { verb: 'update', data: { status: operation.status, quantity: operation.quantity }, filters: { id: operation.id } })
      }
    },
    rowsOf: rowsOfEnvelope
  }
}

/** The routes of this folder, one for each workload. */
export const routesApi: Api = {
  headers: bearer,
  toRequest (operation) {
    const { kind, ...body } = operation
    switch (kind) {
      case 'key': return { method: 'POST', path: '/orders/by-key', body }
      case 'insert': return { method: 'POST', path: '/orders/insert', body: (operation as { order: object }).order }
      case 'insertList':
      case 'upsertList': return { method: 'POST', path: `/orders/${kind === 'insertList' ? 'insert' : 'upsert'}-list`, body: (operation as { orders: object }).orders }
      case 'updateList': return { method: 'POST', path: '/orders/update-list', body: (operation as { orders: object }).orders }
      case 'save': return { method: 'POST', path: '/products/save', body: (operation as { products: object }).products }
      case 'lock': return { method: 'POST', path: '/products/lock', body }
      case 'customers':
      case 'items': return { method: 'POST', path: `/sales/${kind}`, body }
      case 'matches': return { method: 'POST', path: '/articles/matches', body }
      case 'list':
      case 'page':
      case 'groups':
      case 'transaction':
      case 'update': return { method: 'POST', path: `/orders/${kind}`, body }
    }
  },
  rowsOf: rowsOfEnvelope
}

export const platformaticApi: Api = {
  headers: { 'x-platformatic-admin-secret': TOKEN },
  toRequest (operation) {
    switch (operation.kind) {
      case 'key': return { method: 'GET', path: `/orders/${operation.id}` }
      case 'list': return { method: 'GET', path: `/orders/?where.id.gt=${operation.after}&orderby.id=asc&limit=${operation.limit}` }
      case 'update': return { method: 'PUT', path: `/orders/${operation.id}?fields=id`, body: { status: operation.status, quantity: operation.quantity } }
      case 'insert': {
        const { ordered_at: orderedAt, ...rest } = operation.order
        return { method: 'POST', path: '/newOrders/?fields=id', body: { ...rest, orderedAt } }
      }
      case 'page':
      case 'customers':
      case 'items':
      case 'matches':
      case 'groups':
      case 'insertList':
      case 'upsertList':
      case 'updateList':
      case 'save':
      case 'lock':
      case 'transaction': throw new Error(`not measured: ${operation.kind}`)
    }
  },
  rowsOf: (answer) => [answer as Record<string, unknown>].flat().map((row) => Object.fromEntries(COLUMNS.map((name) => [name, row[camelCase(name)]])))
}

function camelCase (name: string): string {
  return name.replace(/_(\w)/g, (_all, letter: string) => letter.toUpperCase())
}

/** The bytes of a whole HTTP/1.1 request, as text. */
export function toRequestText (port: number, { headers }: Api, { method, path, body }: HttpRequest): string {
  const text = body === undefined ? '' : JSON.stringify(body)
  const all = {
    host: `127.0.0.1:${port}`,
    ...headers,
    ...(body !== undefined && { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) })
  }
  return `${method} ${path} HTTP/1.1\r\n${Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${text}`
}
