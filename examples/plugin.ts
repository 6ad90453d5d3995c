// The plugin in an app, twice: two databases, each with its own prefix and tokens.
import Fastify from 'fastify'
import rowQuery, { createToken, hashToken, type PluginOptions } from 'fastify-row-query'

// Your own tokens come from `row-query token`, and only their hashes are here.
const clerk = process.env['CLERK_TOKEN'] ?? createToken()
const auditor = process.env['AUDITOR_TOKEN'] ?? createToken()

// With types, a misspelt option does not compile.
const shop: PluginOptions = {
  prefix: '/shop',
  databases: {
    // Your own database: { url: 'mysql://user:password@127.0.0.1:3306/shop' }
    shop: {
      url: 'sqlite::memory:',
      setup: ['CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, status VARCHAR(12) NOT NULL, total DECIMAL(12,2) NOT NULL)', "INSERT INTO orders (status, total) VALUES ('new', '19.90'), ('paid', '5.00')"]
    }
  },
  tokens: [{ name: 'clerk', sha256: hashToken(clerk), permissions: ['select', 'insert', 'update'] }]
}

const archive: PluginOptions = {
  prefix: '/archive',
  databases: {
    archive: {
      url: 'sqlite::memory:',
      setup: ['CREATE TABLE orders (id INTEGER PRIMARY KEY, total DECIMAL(12,2) NOT NULL)', 'CREATE TABLE notes (id INTEGER PRIMARY KEY)', "INSERT INTO orders VALUES (1, '7.50')"],
      pool: { size: 2 }
    }
  },
  tokens: [{ name: 'auditor', sha256: hashToken(auditor), permissions: ['select'], databases: { archive: ['orders'] }, expires: '2999-01-01' }],
  rateLimit: { max: 600 }
}

const app = Fastify({ logger: true })
app.get('/', async () => ({ hello: 'world' }))
app.register(rowQuery, shop)
app.register(rowQuery, archive)
const address = await app.listen({ port: Number(process.env['PORT'] ?? 3000) }).catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'EADDRINUSE') throw error
  process.stderr.write(`${error.message}; choose another port with the variable PORT\n`)
  process.exit(1)
})

process.stdout.write(`
curl ${address}/shop/shop/orders -H 'Authorization: Bearer ${clerk}' -H 'Content-Type: application/json' -d '{"verb": "select"}'
curl ${address}/archive/archive/orders -H 'Authorization: Bearer ${auditor}' -H 'Content-Type: application/json' -d '{"verb": "select"}'
`)
