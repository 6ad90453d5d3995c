/**
 * Platformatic DB on the same tables, by configuration only: its cheapest token check (the admin secret), no GraphQL, no
 * log lines, and a row limit that is high enough for the workloads.
 */
import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'

/** Only the first run installs the package, so its types are not available. */
interface PlatformaticDb {
  create (root: string, config: object): Promise<{ start (options: { listen: boolean }): Promise<string> }>
}

// The package is installed in bench/, not next to the compiled file.
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
