/** The documents of a service: each made when first asked for, and kept while the catalog that it describes is. */
import type { Catalog } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import { VERBS } from '../../schemas/grant.ts'
import { seesDatabase, type Grant } from '../access/grant.ts'
import { getOrCreate } from '../get-or-create.ts'
import { createDatabaseDocument } from './database-document.ts'
import { createDocumentCache, type DocumentCache } from './document-cache.ts'
import type { DocumentText } from './document-text.ts'
import { createInterfaceDocument } from './interface-document.ts'
import { signatureOf, visibleTables } from './visible.ts'

/** Bytes of documents of one catalog that are kept; tokens that see the same share one. */
const KEPT = 64 * 2 ** 20

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
  const interfaces = createDocumentCache(KEPT)
  const byCatalog = new WeakMap<Catalog, DocumentCache>()
  return {
    ofInterface (grant) {
      const names = [...databases.keys()].filter((name) => seesDatabase(grant, name))
      const verbs = VERBS.filter((verb) => grant.permissions.has(verb))
      return interfaces(JSON.stringify([verbs, names]), async () => createInterfaceDocument({ verbs, databases: names, prefix }))
    },
    async ofDatabase (database, grant) {
      const catalog = await database.getCatalog()
      const cache = getOrCreate(byCatalog, catalog, () => createDocumentCache(KEPT))
      return await cache(signatureOf(grant, database.name), () => createDatabaseDocument({
        database: database.name,
        tables: visibleTables(catalog, grant, database.name),
        prefix
      }))
    }
  }
}
