/**
 * The cache of the introspected schema: each configured database with its tables, columns and keys
 * (src/databases/catalog-cache.ts), so that requests are planned without asking the database. Also opens the databases,
 * and closes them with the app.
 */
import type { FastifyInstance } from 'fastify'
import fp from 'fastify-plugin'
import type { Database, WriteHook } from '../src/databases/database.ts'
import { openDatabases, type DatabaseConfig } from '../src/databases/open.ts'
import type { ResponseBudget } from '../src/response/budget.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** The configured databases by name. `getCatalog` of each answers from the cache. */
    rowQueryDatabases: ReadonlyMap<string, Database>
  }
}

/**
 * Waits a few seconds for each catalog. Afterwards requests wait for it, or get a 503. @throws ConfigError if a SQLite
 * file cannot be opened
 */
export default fp(
  async function schemaCache (app: FastifyInstance, { databases: configs, budget, onWrite }: {
    readonly databases: readonly DatabaseConfig[]
    readonly budget: ResponseBudget
    /** Called in the transaction of each write. */
    readonly onWrite: WriteHook | undefined
  }) {
    const databases = await openDatabases(configs, { log: app.log, budget, onWrite })
    app.decorate('rowQueryDatabases', databases)
    app.addHook('onClose', async () => {
      await Promise.all(Array.from(databases.values(), (database) => database.close()))
    })
  },
  { name: 'row-query-schema-cache' }
)
