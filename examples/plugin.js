// An app with the plugin: two databases, each with its own prefix and tokens.
import Fastify from 'fastify'
import rowQuery, { createToken, hashToken } from 'fastify-row-query'

const app = Fastify({ logger: true })

app.get('/', async () => ({ hello: 'world' }))

const clerk = process.env.CLERK_TOKEN ?? createToken()
app.register(rowQuery, {
  prefix: '/shop',
  databases: { shop: { url: process.env.SHOP_URL ?? 'sqlite:shop.db' } },
  tokens: [{ name: 'clerk', sha256: hashToken(clerk), permissions: ['select', 'insert', 'update'] }]
})

const auditor = process.env.AUDITOR_TOKEN ?? createToken()
app.register(rowQuery, {
  prefix: '/archive',
  databases: { archive: { url: process.env.ARCHIVE_URL ?? 'sqlite:archive.db', pool: { size: 2 } } },
  tokens: [{ name: 'auditor', sha256: hashToken(auditor), permissions: ['select'], databases: { archive: ['orders'] }, expires: '2999-01-01' }],
  rateLimit: { max: 600 }
})

await app.listen({ port: Number(process.env.PORT ?? 3000) })
