import type { Catalog, Table } from './catalog/catalog.ts'
import { createCatalog } from './catalog/catalog.ts'
import { createCatalogStore } from './catalog/store.ts'
import type { Dialect } from './dialects/dialect.ts'
import { tableNotFound } from './errors.ts'

/** A configured database: its name in paths, its connection and what is known of its tables. */
export interface Database {
  readonly name: string
  readonly dialect: Dialect
  /** @throws TABLE_NOT_FOUND; DATABASE_UNAVAILABLE while the catalog could not be read even once */
  getTable (name: string): Promise<Table>
  /** All that is known of its tables. @throws DATABASE_UNAVAILABLE while the catalog could not be read even once */
  getCatalog (): Catalog | Promise<Catalog>
  /** Reads the catalog again now. */
  refresh (): Promise<Catalog>
  close (): Promise<void>
}

export interface DatabaseSettings {
  name: string
  dialect: Dialect
  /** Milliseconds between background refreshes of the catalog. */
  refreshInterval: number
  onRefreshError: (error: unknown, database: string) => void
}

export function createDatabase ({ name, dialect, refreshInterval, onRefreshError }: DatabaseSettings): Database {
  const store = createCatalogStore({
    load: async () => createCatalog(await dialect.introspect(), Date.now()),
    interval: refreshInterval,
    onError: (error) => onRefreshError(error, name)
  })
  return {
    name,
    dialect,
    async getTable (table) {
      const catalog = await store.current()
      const found = catalog.tables.get(table)
      if (found === undefined) throw tableNotFound(table, name)
      return found
    },
    getCatalog: store.current,
    refresh: store.refresh,
    async close () {
      store.stop()
      await dialect.close()
    }
  }
}
