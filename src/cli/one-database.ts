/** Used by commands that print something about one database. */
import { parseArgs } from 'node:util'
import { createCatalog, type Catalog } from '../catalog/catalog.ts'
import { loadConfig } from '../config/load.ts'
import { ConfigError } from '../config/config-errors.ts'
import { splitConfig } from '../config/server-settings.ts'
import { resolveSettings, type DatabaseConfig } from '../config/settings.ts'
import { createShop } from '../demo/shop.ts'
import { openOnce, reasonOf } from './one-connection.ts'

interface Chosen {
  readonly databases: readonly DatabaseConfig[]
  /** The database that was named, if any. */
  readonly database: DatabaseConfig | undefined
  /** The path prefix of the service. */
  readonly prefix: string
}

/** `[name] [--config path]`. @throws ConfigError */
export function chooseDatabase (args: string[]): Chosen {
  const { values, positionals } = parseArgs({ args, options: { config: { type: 'string' } }, allowPositionals: true })
  const { config, demo } = loadConfig(process.env, values)
  const { server: { prefix }, options } = splitConfig(config)
  if (demo !== undefined) createShop(demo.path)
  const { databases } = resolveSettings(options)
  const [name, ...others] = positionals
  const database = databases.find((each) => each.name === name)
  if (others.length > 0) throw new ConfigError([`only one database is allowed, not ${positionals.join(', ')}`])
  if (name !== undefined && database === undefined) throw new ConfigError([`"${name}" is not configured; the databases are ${namesOf(databases)}`])
  return { databases, database, prefix }
}

export function namesOf (databases: readonly DatabaseConfig[]): string {
  return databases.map(({ name }) => name).join(', ')
}

/** @throws ConfigError if the database does not answer */
export async function readCatalog (config: DatabaseConfig): Promise<Catalog> {
  const dialect = await openOnce(config)
  const refuse = (error: unknown): never => { throw new ConfigError([`databases.${config.name}: does not answer (${reasonOf(error)})`]) }
  try {
    return createCatalog(await dialect.introspect().catch(refuse), Date.now())
  } finally {
    await dialect.close()
  }
}
