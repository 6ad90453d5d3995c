// A route of the app that changes several tables in one transaction, without HTTP requests to itself.
import Fastify from 'fastify'
import { createRowQuery, ServiceError } from 'fastify-row-query'

const rows = createRowQuery({
  databases: {
    shop: {
      url: 'sqlite::memory:',
      setup: [
        'CREATE TABLE products (sku VARCHAR(20) PRIMARY KEY NOT NULL, stock INTEGER NOT NULL CHECK (stock >= 0))',
        'CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, customer VARCHAR(100) NOT NULL)',
        'CREATE TABLE items (order_id INTEGER NOT NULL REFERENCES orders (id), sku VARCHAR(20) NOT NULL REFERENCES products (sku), quantity INTEGER NOT NULL)',
        "INSERT INTO products VALUES ('BELL', 3), ('PUMP', 1)"
      ]
    }
  }
})

// What this route may do: expect needs select. Requests of other routes have grants of their own.
const grant = { permissions: ['select', 'insert', 'update'] as const, databases: { shop: ['products', 'orders', 'items'] } }

const app = Fastify({ logger: true })
await app.register(rows.plugin, { prefix: '/api' }) // without tokens, it refuses every request from outside

interface Checkout { readonly customer: string, readonly items: ReadonlyArray<{ readonly sku: string, readonly quantity: number }> }

app.post<{ Body: Checkout }>('/checkout', {
  schema: {
    body: {
      type: 'object',
      required: ['customer', 'items'],
      properties: {
        customer: { type: 'string' },
        items: { type: 'array', minItems: 1, maxItems: 100, items: { type: 'object', required: ['sku', 'quantity'], properties: { sku: { type: 'string' }, quantity: { type: 'integer', minimum: 1 } } } }
      }
    }
  }
}, async ({ body: { customer, items } }, reply) => {
  try {
    // The function may run again after a deadlock, so it changes nothing but rows.
    return await rows.transaction('shop', async (tx) => {
      const { id } = await tx.execute({ table: 'orders', grant, body: { verb: 'insert', data: { customer } } })
      for (const { sku, quantity } of items) {
        // expect: 1 refuses the update if there is not enough in stock, and everything is rolled back.
        await tx.execute({ table: 'products', grant, body: { verb: 'update', filters: { sku, stock: { $gte: quantity } }, data: { stock: { $inc: -quantity } }, expect: 1 } })
      }
      await tx.execute({ table: 'items', grant, body: { verb: 'insert', data: items.map(({ sku, quantity }) => ({ order_id: id, sku, quantity })) } })
      return { order: id }
    })
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'EXPECTATION_FAILED') return reply.code(409).send({ error: 'not enough in stock' })
    throw error
  }
})

const address = await app.listen({ port: Number(process.env['PORT'] ?? 3000) }).catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'EADDRINUSE') throw error
  process.stderr.write(`${error.message}; choose another port with the variable PORT\n`)
  process.exit(1)
})
process.stdout.write(`
curl ${address}/checkout -H 'Content-Type: application/json' -d '{"customer": "ada", "items": [{"sku": "BELL", "quantity": 2}]}'
`)
