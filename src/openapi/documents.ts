/** The documents of a service: each made when first asked for, and kept while the catalog that it describes is. */
import type { Catalog } from '../catalog/catalog.ts'
import type { Database } from '../database.ts'
import { seesDatabase, VERBS, type Grant } from '../grant.ts'
import { createDatabaseDocument } from './database-document.ts'
import type { DocumentText } from './document-text.ts'
import { createInterfaceDocument } from './interface-document.ts'
import { signatureOf, visibleTables } from './visible.ts'

/** Documents of one catalog that are kept; tokens that see the same share one. */
const KEPT = 16

export interface Documents {
  /** The interface with what the grant may do. */
  ofInterface (grant: Grant): Promise<DocumentText>
  /** The tables that the grant may see. @throws DATABASE_UNAVAILABLE while there is no catalog */
  ofDatabase (database: Database, grant: Grant): Promise<DocumentText>
}

export interface DocumentsOptions {
  readonly databases: ReadonlyMap<string, Database>
  readonly prefix: string
}

export function createDocuments ({ databases, prefix }: DocumentsOptions): Documents {
  const interfaces = createCache()
  const byCatalog = new WeakMap<Catalog, Cache>()
  return {
    ofInterface (grant) {
      const names = [...databases.keys()].filter((name) => seesDatabase(grant, name))
      const verbs = VERBS.filter((verb) => grant.permissions.has(verb))
      return interfaces(JSON.stringify([verbs, names]), () => createInterfaceDocument({ verbs, databases: names, prefix }))
    },
    async ofDatabase (database, grant) {
      const catalog = await database.getCatalog()
      const cache = byCatalog.get(catalog) ?? createCache()
      byCatalog.set(catalog, cache)
      return await cache(signatureOf(grant, database.name), () => createDatabaseDocument({
        database: database.name,
        tables: visibleTables(catalog, grant, database.name),
        prefix
      }))
    }
  }
}

type Cache = (key: string, make: () => Promise<DocumentText>) => Promise<DocumentText>

/** Those who ask while a document is being made wait for the same one; the one that was asked for longest ago goes first. */
function createCache (): Cache {
  const kept = new Map<string, Promise<DocumentText>>()
  return (key, make) => {
    const document = kept.get(key) ?? make()
    kept.delete(key)
    kept.set(key, document)
    const [oldest] = kept.keys()
    if (kept.size > KEPT) kept.delete(oldest as string)
    return document
  }
}
