import { createCatalog, type Catalog, type Table } from '../../src/catalog/catalog.ts'
import { resolveSettings } from '../../src/config/settings.ts'
import type { DatabaseConfig } from '../../src/databases/open.ts'
import { openDialect } from '../../src/databases/open.ts'

/** Loads the catalog of a database as the service does. */
export async function loadCatalog (url: string): Promise<Catalog> {
  const [config] = resolveSettings({ databases: { shop: { url } } }).databases
  const dialect = await openDialect(config as DatabaseConfig)
  try {
    return createCatalog(await dialect.introspect(), 0)
  } finally {
    await dialect.close()
  }
}

/** Loads one table of the catalog. */
export async function loadTable (url: string, name: string): Promise<Table> {
  return (await loadCatalog(url)).tables.get(name) as Table
}
