/** The OpenAPI documents of a service. Each is created on its first request and cached as long as its catalog is current. */
import type { Catalog } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import { VERBS } from '../../schemas/grant.ts'
import { seesDatabase, type Grant } from '../access/grant.ts'
import { getOrCreate } from '../get-or-create.ts'
import { createDatabaseDocument } from './database-document.ts'
import { createDocumentCache, type DocumentCache } from './document-cache.ts'
import type { DocumentSettings } from './document-settings.ts'
import type { DocumentText } from './document-text.ts'
import { createInterfaceDocument } from './interface-document.ts'
import { createTurns } from './turns.ts'
import { cacheKeyOf, visibleTables } from './visible.ts'

/** Maximum bytes of cached documents for each catalog. Grants with the same rights share a document. */
const MAX_CACHED_BYTES = 64 * 2 ** 20
/** Maximum bytes of a document, so that the cache has two of them at least. */
const MAX_BYTES = MAX_CACHED_BYTES / 2
/** Maximum number of documents that are created at once, and that wait, because each takes many times its size while it is created and every grant can have its own. */
const MAX_MADE = { running: 2, waiting: 100 }

export interface Documents {
  /** Describes the interface, limited to the permissions of the grant. */
  ofInterface (grant: Grant): Promise<DocumentText>
  /** Describes the tables that the grant may see. @throws DATABASE_UNAVAILABLE if no catalog could be read yet, OVERLOADED if too many documents are being made, RESULT_TOO_LARGE */
  ofDatabase (database: Database, grant: Grant): Promise<DocumentText>
}

export interface DocumentsOptions {
  readonly databases: ReadonlyMap<string, Database>
  readonly settings: DocumentSettings
}

export function createDocuments ({ databases, settings }: DocumentsOptions): Documents {
  const interfaces = createDocumentCache(MAX_CACHED_BYTES)
  const takeTurn = createTurns(MAX_MADE)
  const byCatalog = new WeakMap<Catalog, DocumentCache>()
  return {
    ofInterface (grant) {
      const names = [...databases.keys()].filter((name) => seesDatabase(grant, name))
      const verbs = VERBS.filter((verb) => grant.permissions.has(verb))
      return interfaces(JSON.stringify([verbs, names]), async () => createInterfaceDocument({ verbs, databases: names, settings }))
    },
    async ofDatabase (database, grant) {
      const catalog = await database.getCatalog()
      const cache = getOrCreate(byCatalog, catalog, () => createDocumentCache(MAX_CACHED_BYTES))
      return await cache(cacheKeyOf(catalog, grant, database.name), () => takeTurn(() => createDatabaseDocument({
        database: database.name,
        tables: visibleTables(catalog, grant, database.name),
        settings,
        maxBytes: MAX_BYTES
      })))
    }
  }
}
