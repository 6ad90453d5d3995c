// Own users instead of tokens: a login gives a JWT of @fastify/jwt, and each user sees the orders of one tenant.
import fastifyJwt from '@fastify/jwt'
import Fastify from 'fastify'
import rowQuery from 'fastify-row-query'
import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto'

interface User { readonly name: string, readonly tenant: string, readonly mayWrite: boolean, readonly salt: string, readonly password: Buffer }

// In your app, users are in a table and passwords are hashed when they are set.
const createUser = (name: string, tenant: string, mayWrite: boolean, password: string): User => {
  const salt = randomBytes(16).toString('hex')
  return { name, tenant, mayWrite, salt, password: scryptSync(password, salt, 32) }
}
const users = new Map([createUser('ada', 'acme', true, 'lovelace'), createUser('zoe', 'zeta', false, 'quick')].map((user) => [user.name, user]))

const app = Fastify({ logger: true })
await app.register(fastifyJwt, { secret: process.env['JWT_SECRET'] ?? randomBytes(32).toString('hex') })

app.post<{ Body: { name: string, password: string } }>('/login', {
  schema: { body: { type: 'object', required: ['name', 'password'], properties: { name: { type: 'string' }, password: { type: 'string' } } } }
}, async ({ body: { name, password } }, reply) => {
  const user = users.get(name)
  if (user === undefined || !timingSafeEqual(user.password, scryptSync(password, user.salt, 32))) return reply.code(401).send({ error: 'unknown user or wrong password' })
  return { token: app.jwt.sign({ sub: user.name, tenant: user.tenant }, { expiresIn: '1h' }) }
})

await app.register(rowQuery, {
  prefix: '/api',
  databases: {
    shop: {
      url: 'sqlite::memory:',
      setup: ['CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT, tenant VARCHAR(20) NOT NULL, note TEXT)', "INSERT INTO orders (tenant, note) VALUES ('acme', 'an anvil'), ('zeta', 'a rope')"]
    }
  },
  // Called for each request: null, or an error with status 401, refuses it.
  authenticate: async (request) => {
    const { sub, tenant } = await request.jwtVerify<{ sub: string, tenant: string }>()
    const user = users.get(sub)
    if (user === undefined) return null
    return {
      name: user.name,
      permissions: user.mayWrite ? ['select', 'insert', 'update'] : ['select'],
      databases: { shop: { orders: { rows: { tenant: { $claim: '/tenant' } } } } },
      claims: { tenant }
    }
  }
})

const address = await app.listen({ port: Number(process.env['PORT'] ?? 3000) }).catch((error: NodeJS.ErrnoException) => {
  if (error.code !== 'EADDRINUSE') throw error
  process.stderr.write(`${error.message}; choose another port with the variable PORT\n`)
  process.exit(1)
})
process.stdout.write(`
curl ${address}/login -H 'Content-Type: application/json' -d '{"name": "ada", "password": "lovelace"}'
curl ${address}/api/shop/orders -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"verb": "select"}'
`)
