// The same with types: a misspelt option does not compile.
import Fastify, { type FastifyInstance } from 'fastify'
import rowQuery, { createToken, hashToken, type PluginOptions } from 'fastify-row-query'

const token = process.env['TOKEN'] ?? createToken()

const options: PluginOptions = {
  prefix: '/api',
  databases: { shop: { url: process.env['SHOP_URL'] ?? 'sqlite:shop.db', statementTimeout: 5000 } },
  tokens: [{ name: 'reports', sha256: hashToken(token), permissions: ['select'] }],
  limits: { filterConditions: 50 }
}

const app: FastifyInstance = Fastify({ logger: true })
app.register(rowQuery, options)
await app.listen({ port: Number(process.env['PORT'] ?? 3000) })
