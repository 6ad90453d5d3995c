/** The named requests of the demo, and the role with whose rights they run. */
import type { RequestsOptions } from '../../schemas/options.ts'

const param = (name: string) => ({ $param: name })

/** For the role, as its own settings are in the configuration. */
export const DEMO_ROLE = {
  for: 'requests',
  permissions: ['select', 'insert', 'update'],
  databases: {
    demo: {
      products: {
        permissions: ['select'],
        columns: { select: ['sku', 'name', 'price', 'category_id', 'discontinued'] }
      },
      customers: {
        permissions: ['insert'],
        columns: { select: ['id', 'email'], insert: ['email', 'name', 'country'] }
      },
      orders: {
        permissions: ['insert', 'update'],
        columns: { select: ['id'], insert: ['customer_id', 'ordered_at'], update: ['total'] }
      },
      order_items: {
        permissions: ['select', 'insert'],
        columns: {
          select: ['line_total'],
          insert: ['order_id', 'line', 'product_sku', 'quantity', 'unit_price']
        }
      }
    }
  }
} as const

export const DEMO_REQUESTS = {
  find_products: {
    description: 'Products, the cheapest first',
    database: 'demo',
    table: 'products',
    as: 'front',
    maxAge: 60,
    parameters: {
      categories: { description: 'the numbers of categories', optional: true },
      name: { description: 'a part of the name', optional: true },
      most: { description: 'the highest price', default: '1000.00' },
      size: { description: 'the number of products', default: 20, maximum: 100 },
      after: { description: '"next" of the page before', default: null }
    },
    body: {
      verb: 'select',
      columns: ['sku', 'name', 'price'],
      filters: {
        discontinued: false,
        category_id: { $in: param('categories') },
        name: { $contains: param('name'), $case: 'ignore' },
        price: { $lte: param('most') }
      },
      orderBy: 'price',
      limit: param('size'),
      after: param('after')
    }
  },
  sign_up: {
    description: 'A new customer',
    database: 'demo',
    table: 'customers',
    as: 'front',
    parameters: { email: {}, name: {}, country: { description: 'two letters' } },
    body: { verb: 'insert', data: { email: param('email'), name: param('name'), country: param('country') } }
  },
  place_order: {
    description: 'An order of one product, at its present price',
    database: 'demo',
    as: 'front',
    parameters: { customer: { description: 'the number of the customer' }, sku: {}, quantity: { default: 1 } },
    body: {
      operations: [
        {
          table: 'products',
          verb: 'select',
          columns: ['price'],
          filters: { sku: param('sku'), discontinued: false },
          expect: 1
        },
        { table: 'orders', verb: 'insert', data: { customer_id: param('customer'), ordered_at: { $now: true } } },
        {
          table: 'order_items',
          verb: 'insert',
          data: {
            order_id: { $ref: '/1/id' },
            line: 1,
            product_sku: param('sku'),
            quantity: param('quantity'),
            unit_price: { $ref: '/0/rows/0/price' }
          },
          returning: ['line_total']
        },
        {
          table: 'orders',
          verb: 'update',
          filters: { id: { $ref: '/1/id' } },
          data: { total: { $ref: '/2/rows/0/line_total' } }
        }
      ]
    }
  }
} satisfies RequestsOptions
