// An audit table: onWrite is called in the transaction of each write, so that a row and its entry are written together or not at all.
import Fastify from 'fastify'
import rowQuery, { createToken, hashToken, type OnWrite } from 'fastify-row-query'

const token = process.env['TOKEN'] ?? createToken()

const onWrite: OnWrite = async ({ grant, table, verb, data, filters, result, tx }) => {
  // Whatever this function throws refuses the write with 422 WRITE_REFUSED.
  if (verb === 'delete' && result.deleted > 1) throw new Error('orders are deleted one by one')
  await tx.execute({
    table: 'audit',
    grant: { permissions: ['insert'] },
    body: { verb: 'insert', data: { who: grant.name, what: `${verb} ${table}`, request: JSON.stringify({ data, filters }, jsonBigint) } }
  })
}

// Integers beyond 2^53 are bigints, which JSON.stringify refuses.
const jsonBigint = (_key: string, value: unknown): unknown => typeof value === 'bigint' ? String(value) : value

const app = Fastify({ logger: true })
app.register(rowQuery, {
  prefix: '/api',
  databases: {
    shop: {
      url: 'sqlite::memory:',
      setup: [
        'CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, note TEXT)',
        'CREATE TABLE audit (id INTEGER PRIMARY KEY AUTOINCREMENT, who VARCHAR(100) NOT NULL, what VARCHAR(100) NOT NULL, request TEXT NOT NULL, at DATETIME NOT NULL DEFAULT CURRENT_TIMESTAMP)'
      ]
    }
  },
  // The token may read the audit table; only the app writes it.
  tokens: [{ name: 'clerk', sha256: hashToken(token), permissions: ['select', 'insert', 'update', 'delete'], databases: { shop: { orders: {}, audit: { permissions: ['select'] } } } }],
  onWrite
})

const address = await app.listen({ port: Number(process.env['PORT'] ?? 3000) }).catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'EADDRINUSE') throw error
  process.stderr.write(`${error.message}; choose another port with the variable PORT\n`)
  process.exit(1)
})
process.stdout.write(`
curl ${address}/api/shop/orders -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '{"verb": "insert", "data": {"note": "an anvil"}}'
curl ${address}/api/shop/audit -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' -d '{"verb": "select"}'
`)
