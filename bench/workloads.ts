/** The workloads and their operations, the same for all contenders because of a seed. */
import { wordOf, WORDS } from './database/articles.ts'
import { PRODUCTS, skuOf, type Product } from './database/products.ts'
import { SALES } from './database/sales.ts'
import { STATUSES, type NewOrder, type SavedOrder } from './database/orders.ts'
import { createRandom } from '../test/support/random.ts'

export type Operation =
  | { readonly kind: 'key', readonly id: number }
  | { readonly kind: 'list', readonly after: number, readonly limit: number }
  /** Groups of the rows from `after` on, `rows` of them. */
  | { readonly kind: 'groups', readonly after: number, readonly rows: number }
  | { readonly kind: 'page', readonly after: Position, readonly limit: number }
  /** A page of sales, each with its customer, or with its items. */
  | { readonly kind: 'customers' | 'items', readonly after: number, readonly limit: number }
  /** A page of the articles with a word. */
  | { readonly kind: 'matches', readonly text: string, readonly limit: number }
  | { readonly kind: 'insert', readonly order: NewOrder }
  | { readonly kind: 'insertList', readonly orders: readonly NewOrder[] }
  | { readonly kind: 'upsertList', readonly orders: readonly SavedOrder[] }
  /** Products by their natural key, which are new or exist. */
  | { readonly kind: 'save', readonly products: readonly Product[] }
  /** An update of a row that must have this version. */
  | { readonly kind: 'lock', readonly id: number, readonly version: number, readonly price: string }
  /** An update, an insert and an insert of five rows, in one transaction. */
  | { readonly kind: 'transaction', readonly id: number, readonly status: string, readonly order: NewOrder, readonly orders: readonly NewOrder[] }
  /** Rows with values of their own, in one transaction. */
  | { readonly kind: 'updateList', readonly orders: readonly ChangedOrder[] }
  | { readonly kind: 'update', readonly id: number, readonly status: string, readonly quantity: number }

export interface ChangedOrder { readonly id: number, readonly status: string, readonly quantity: number }

/** Where a page by time begins: behind this row, which need not exist. */
export interface Position { readonly ordered_at: string, readonly id: number }

export interface Workload {
  readonly name: string
  readonly operations: readonly Operation[]
}

/** Rows in the table `orders`. */
export const TABLE_SIZE = 100_000

/** The number of prepared requests, which are sent in rotation. */
const REQUESTS = 2000
/** The same for requests with a list, which are longer. */
const LISTS = 200
/** Rows of a list. */
const ROWS = 100

/** Rows that are grouped: one percent of the table. */
const GROUPED = TABLE_SIZE / 100

export const WORKLOADS: readonly Workload[] = [
  byKey(TABLE_SIZE),
  { name: '100 rows', operations: make(REQUESTS, (random) => ({ kind: 'list', after: random(TABLE_SIZE - 100), limit: 100 })) },
  { name: '1000 rows', operations: make(REQUESTS, (random) => ({ kind: 'list', after: random(TABLE_SIZE - 1000), limit: 1000 })) },
  { name: 'groups of 1000 rows', operations: make(REQUESTS, (random) => ({ kind: 'groups', after: random(TABLE_SIZE - GROUPED), rows: GROUPED })) },
  { name: 'insert', operations: make(REQUESTS, (random) => ({ kind: 'insert', order: newOrder(random(TABLE_SIZE)) })) },
  { name: 'update by key', operations: updates() },
  { name: 'page of 100 rows', operations: make(REQUESTS, (random) => ({ kind: 'page', after: middle(random), limit: ROWS })) },
  { name: 'customers of 100 rows', operations: sales('customers') },
  { name: 'items of 100 rows', operations: sales('items') },
  { name: 'matches of 20 rows', operations: make(REQUESTS, (random) => ({ kind: 'matches', text: wordOf(random(WORDS)), limit: 20 })) },
  { name: 'insert of 100 rows', operations: make(LISTS, (random) => ({ kind: 'insertList', orders: listOf((index) => newOrder(random(TABLE_SIZE) + index)) })) },
  { name: 'upsert of 100 rows', operations: make(LISTS, (random) => ({ kind: 'upsertList', orders: listOf((index) => savedOrder(index, random)) })) },
  { name: 'upsert by sku of 1 row', operations: saves(REQUESTS, 1, 2 * PRODUCTS) },
  { name: 'upsert by sku of 100 rows', operations: saves(LISTS, ROWS, 2 * PRODUCTS) },
  // few rows, so that clients wait for each other
  { name: 'upsert among 50 of 5 rows', operations: saves(REQUESTS, 5, 50) },
  { name: 'optimistic lock of 1 row', operations: make(REQUESTS, (random) => ({ kind: 'lock', id: random(PRODUCTS) + 1, version: 1, price: `${random(10_000)}.25` })) },
  { name: 'update of 100 rows', operations: updateLists() },
  { name: 'transaction of 7 rows', operations: make(REQUESTS, transaction) }
]

function sales (kind: 'customers' | 'items'): Operation[] {
  return make(REQUESTS, (random) => ({ kind, after: random(SALES - ROWS), limit: ROWS }))
}

export function byKey (tableSize: number): Workload {
  return { name: 'row by key', operations: make(REQUESTS, (random) => ({ kind: 'key', id: random(tableSize) + 1 })) }
}

/** In the middle half of the orders, which come once in 61 seconds. */
function middle (random: (below: number) => number): Position {
  const number = TABLE_SIZE / 4 + random(TABLE_SIZE / 2)
  return { ordered_at: new Date(Date.UTC(2026, 0, 1) + number * 61_137).toISOString().slice(0, -1), id: number }
}

function listOf<T> (one: (index: number) => T): T[] {
  return Array.from({ length: ROWS }, (_, index) => one(index))
}

/** Every other row exists already. */
function savedOrder (index: number, random: (below: number) => number): SavedOrder {
  return { ...index % 2 === 0 && { id: random(TABLE_SIZE) + 1 }, ...newOrder(random(TABLE_SIZE)) }
}

/** Upserts of `rows` different products each, of the first `among`. */
function saves (count: number, rows: number, among: number): Operation[] {
  return make(count, (random) => {
    const numbers = new Set<number>()
    while (numbers.size < rows) numbers.add(random(among) + 1)
    return { kind: 'save', products: [...numbers].map((number) => ({ sku: skuOf(number), price: `${random(10_000)}.25`, stock: random(1000) })) }
  })
}

function transaction (random: (below: number) => number): Operation {
  const orders = Array.from({ length: 5 }, () => newOrder(random(TABLE_SIZE)))
  return { kind: 'transaction', id: random(TABLE_SIZE) + 1, status: STATUSES[random(STATUSES.length)] as string, order: newOrder(random(TABLE_SIZE)), orders }
}

/** A row in each hundredth of the table, in no order; each list occurs twice with different values. */
function updateLists (): Operation[] {
  const size = TABLE_SIZE / ROWS
  const first = make(LISTS / 2, (random) => listOf((index) =>
    ({ id: (index * 37 % ROWS) * size + random(size) + 1, status: STATUSES[random(STATUSES.length)] as string, quantity: random(1000) + 1 })))
  return [0, 1000].flatMap((offset) => first.map((orders): Operation => ({ kind: 'updateList', orders: orders.map((order) => ({ ...order, quantity: order.quantity + offset })) })))
}

/** Each row occurs twice with different values, because an update that changes nothing costs less. */
function updates (): Operation[] {
  const first = make(REQUESTS / 2, (random) => ({ id: random(TABLE_SIZE) + 1, change: random(50) }))
  return [0, 50].flatMap((offset) => first.map(({ id, change }): Operation =>
    ({ kind: 'update', id, status: STATUSES[(change + offset / 50) % STATUSES.length] as string, quantity: change + offset + 1 })))
}

function newOrder (number: number): NewOrder {
  return {
    quantity: number % 97 + 1,
    status: STATUSES[number % STATUSES.length] as string,
    total: `${number % 10_000}.25`,
    customer: `Zoë Example-Sørensen ${number}`,
    ordered_at: new Date(Date.UTC(2026, 0, 1) + number * 61_137).toISOString().slice(0, -1),
    details: { gift: number % 3 === 0, weight: number % 5000 + 0.25, tags: ['fragile', `north-${number % 50}`] }
  }
}

function make<T> (count: number, one: (random: (below: number) => number) => T): T[] {
  const random = createRandom(20_261_120)
  return Array.from({ length: count }, () => one(random))
}
