import { createCustomers, type Customer } from './customers.ts'
import { createOrders, type Order, type OrderItem } from './orders.ts'
import { createProducts, type Product } from './products.ts'
import type { Random } from './random.ts'

/** The rows of each table under the table's name, parents before children: the order they can be written in. */
export type ShopRows = {
  customers: Customer[]
  products: Product[]
  orders: Order[]
  order_items: OrderItem[]
}

/** All rows of the shop. They depend on `random` alone: no clock, no locale, no file. */
export function createRows (random: Random): ShopRows {
  const customers = createCustomers(random, 60)
  const products = createProducts(random, 40)
  return { customers, products, ...createOrders(random, customers, products, 150) }
}
