import type { Catalog } from '../catalog/catalog.ts'
import { BrokenDefinitions } from './broken-definitions.ts'
import { createCatalog } from '../catalog/catalog.ts'
import { createCatalogStore } from '../catalog/store.ts'
import type { Dialect } from '../dialects/dialect.ts'
import type { StatementCounts } from '../sql/statement-cache.ts'

/** A configured database: its name in paths, its dialect and its catalog. */
export interface Database {
  readonly name: string
  readonly dialect: Dialect
  readonly statements: StatementCounts
  /** Bytes that an answer may have. */
  readonly resultLimit: number
  /** Tables with a broken trigger, view or routine. */
  readonly broken: BrokenDefinitions
  /** A promise only until the catalog has been read. @throws DATABASE_UNAVAILABLE until the catalog has been read */
  getCatalog (): Catalog | Promise<Catalog>
  /** The catalog without reading it; undefined until it has been read. */
  latestCatalog (): Catalog | undefined
  /** Reads the catalog again. */
  refresh (): Promise<Catalog>
  close (): Promise<void>
}

export interface DatabaseSettings {
  name: string
  dialect: Dialect
  resultLimit: number
  /** Milliseconds between background refreshes of the catalog. */
  refreshInterval: number
  onRefreshError: (error: unknown, database: string) => void
}

export function createDatabase ({ name, dialect, resultLimit, refreshInterval, onRefreshError }: DatabaseSettings): Database {
  const store = createCatalogStore({
    load: async () => createCatalog(await dialect.introspect(), Date.now()),
    interval: refreshInterval,
    onError: (error) => onRefreshError(error, name)
  })
  return {
    name,
    dialect,
    statements: { kept: 0, built: 0 },
    resultLimit,
    broken: new BrokenDefinitions(),
    getCatalog: store.current,
    latestCatalog: store.latest,
    refresh: store.refresh,
    async close () {
      store.stop()
      await dialect.close()
    }
  }
}
