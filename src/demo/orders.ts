import { DAY, LATEST, toDateTime, toSeconds } from './calendar.ts'
import type { Customer } from './customers.ts'
import type { Product } from './products.ts'
import type { Random } from './random.ts'

export type Order = {
  id: number
  customer_id: number
  status: string
  note: string | null
  total: number
  ordered_at: string
}

/** `line_total` is missing because the database works it out. */
export type OrderItem = {
  order_id: number
  line: number
  product_sku: string
  quantity: number
  unit_price: number
}

const NOTES = [
  'Please leave it with the neighbour.',
  'Happy birthday, Zoë! 🎂',
  'The bell is broken; knock "twice".',
  "It's a present: no invoice in the box, please.",
  'First floor,\nleft-hand door.'
] as const

/** What an order of this age has come to: the newest are on their way, the old ones are over. */
function status (random: Random, orderedAt: number): string {
  const days = (LATEST - orderedAt) / DAY
  if (days < 10) return random.pick(['new', 'paid'])
  if (days < 30) return random.pick(['paid', 'shipped', 'shipped', 'cancelled'])
  return random.pick(['delivered', 'delivered', 'delivered', 'delivered', 'delivered', 'delivered', 'cancelled', 'returned'])
}

/** The later of two draws: a shop that grows has more orders near its end. */
function orderTime (random: Random, customer: Customer): number {
  const signedUp = toSeconds(customer.created_at)
  return Math.max(random.integer(signedUp, LATEST), random.integer(signedUp, LATEST))
}

/** Nobody buys six suitcases; mugs come in sixes. */
function quantity (random: Random, product: Product): number {
  return random.pick(product.price > 40 ? [1, 1, 1, 1, 2] : [1, 1, 2, 2, 3, 6])
}

/** Prices are copied into the order, sometimes with 10 % off: later changes of a product leave them alone. */
function items (random: Random, orderId: number, products: readonly Product[]): OrderItem[] {
  const percent = random.chance(10) ? 90 : 100
  return random.sample(products, random.pick([1, 1, 2, 2, 2, 3, 3, 3, 4])).map((product, index) => ({
    order_id: orderId,
    line: index + 1,
    product_sku: product.sku,
    quantity: quantity(random, product),
    unit_price: Math.round(toCents(product.price) * percent / 100) / 100
  }))
}

const toCents = (amount: number) => Math.round(amount * 100)

/** Added up in whole cents, so that the sum is right to the cent whatever the fractions are. */
function total (lines: readonly OrderItem[]): number {
  return lines.reduce((cents, line) => cents + line.quantity * toCents(line.unit_price), 0) / 100
}

/** Orders by time with counted ids, each with its lines. */
export function createOrders (random: Random, customers: readonly Customer[], products: readonly Product[], count: number) {
  const drafts = Array.from({ length: count }, () => {
    const customer = random.pick(customers)
    return { customer, time: orderTime(random, customer) }
  }).sort((a, b) => a.time - b.time)
  const orderItems = drafts.map((_, index) => items(random, index + 1, products))
  const orders = drafts.map(({ customer, time }, index): Order => ({
    id: index + 1,
    customer_id: customer.id,
    status: status(random, time),
    note: random.chance(20) ? random.pick(NOTES) : null,
    total: total(orderItems[index] as OrderItem[]),
    ordered_at: toDateTime(time)
  }))
  return { orders, order_items: orderItems.flat() }
}
