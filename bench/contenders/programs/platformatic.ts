/**
 * Platformatic DB on the same tables: no code, a configuration. Its cheapest check of a token (the admin secret), no GraphQL, no
 * log lines; its limit of rows raised to what is asked for.
 */
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** Installed by the first run only, so its types are not known here. */
interface PlatformaticDb {
  create (root: string, config: object): Promise<{ start (options: { listen: boolean }): Promise<string> }>
}

// it is installed beside the benchmark, not beside this file once that is compiled
const require = createRequire(process.env['PACKAGES'] as string)
const { create } = await import(pathToFileURL(require.resolve('@platformatic/db')).href) as PlatformaticDb

const app = await create(process.cwd(), {
  server: { hostname: '127.0.0.1', port: Number(process.env['PORT']), logger: { level: 'error' } },
  db: {
    connectionString: process.env['DATABASE_URL'],
    poolSize: 10,
    graphql: false,
    openapi: true,
    limit: { default: 100, max: 1000 }
  },
  authorization: { adminSecret: process.env['API_TOKEN'] },
  watch: false
})
await app.start({ listen: true })
