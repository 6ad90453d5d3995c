/**
 * The OpenAPI documents of a service. Each is created on its first request and cached as long as its catalog is
 * current.
 */
import { hash } from 'node:crypto'
import createError from '@fastify/error'
import { VERBS } from '../../schemas/grants.ts'
import { type Grant, seesDatabase, type HostGrant, toGrant } from '../access/grant.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import { isServiceError, overloaded, resultTooLarge } from '../errors.ts'
import { getOrCreate } from '../bounded-map.ts'
import type { NamedRequests } from '../named/call.ts'
import { createDatabaseDocument, createDatabaseDocumentNow, type DocumentText } from './database-document.ts'
import { createInterfaceDocument, operationIdOf } from './interface-document.ts'
import { createNamedDocument } from './named-requests.ts'
import { type Operation, securitySchemes } from './operation.ts'
import { pascalCase, type Schema, type Schemas } from './value-schema.ts'
import { cacheKeyOf, type DocumentSettings, visibleTables } from './visible.ts'

// A bounded cache of documents, because the document of a large database has megabytes and every grant can have its
// own.

/** Calls `make` if it is neither cached nor being made. */
type DocumentCache = (key: string, make: () => Promise<DocumentText>) => Promise<DocumentText>

const { code: TOO_LARGE } = resultTooLarge('')
/** The memory of a refusal, in bytes, about. */
const REFUSAL_SIZE = 8192

interface Entry { readonly document: Promise<DocumentText>, bytes: number }

/**
 * `limit`: bytes of all documents together; the newest document is kept whatever its size. Concurrent calls with one
 * key share one `make`. The least recently used document is removed first. A failed `make` is not cached, unless the
 * document is too large: finding that out takes as long as making one.
 */
export function createDocumentCache (limit: number): DocumentCache {
  const entries = new Map<string, Entry>()
  let bytes = 0

  const drop = (key: string, entry: Entry): void => {
    entries.delete(key)
    bytes -= entry.bytes
  }

  const start = (key: string, make: () => Promise<DocumentText>): Entry => {
    const entry: Entry = { document: make(), bytes: 0 }
    const keep = (size: number): void => {
      entry.bytes = size
      bytes += size
      // documents that are still being made have no size yet and stay
      for (const [oldest, each] of entries) if (bytes > limit && each !== entry && each.bytes > 0) drop(oldest, each)
    }
    entry.document.then((made) => keep(made.bytes.length), (error: Error) => {
      if (isServiceError(error) && error.code === TOO_LARGE) keep(REFUSAL_SIZE)
      else drop(key, entry)
    })
    return entry
  }

  return (name, make) => {
    // for some grants, the key contains the names of all columns
    const key = hash('sha256', name)
    const entry = entries.get(key) ?? start(key, make)
    entries.delete(key)
    entries.set(key, entry)
    return entry.document
  }
}

/** Limits how many run at once to `running`, while up to `waiting` others wait in the order of their arrival. */
export function createTurns (
  { running, waiting }: { readonly running: number, readonly waiting: number }
): <T>(work: () => Promise<T>) => Promise<T> {
  const queue: Array<() => void> = []
  let free = running
  return async (work) => {
    if (free > 0) free--
    else if (queue.length >= waiting) throw overloaded()
    else await new Promise<void>((resolve) => { queue.push(resolve) })
    try {
      return await work()
    } finally {
      const next = queue.shift()
      if (next === undefined) free++
      else next()
    }
  }
}

/** Bytes of cached documents for each catalog. Grants with the same rights share a document. */
const MAX_CACHED_BYTES = 64 * 2 ** 20
/** Bytes of a document, so that the cache has two of them at least. */
const MAX_BYTES = MAX_CACHED_BYTES / 2
/**
 * Documents that are created at once, and that wait, because each takes many times its size while it is created and
 * every grant can have its own.
 */
const MAX_MADE = { running: 2, waiting: 100 }

export interface DocumentsOptions {
  readonly databases: ReadonlyMap<string, Database>
  readonly settings: DocumentSettings
}

export function createDocuments ({ databases, settings }: DocumentsOptions): {
  /** Describes the interface, limited to the permissions of the grant. */
  ofInterface (grant: Grant): Promise<DocumentText>
  /**
   * Describes the tables that the grant may see. @throws DATABASE_UNAVAILABLE if no catalog could be read yet,
   * OVERLOADED if too many documents are being made, RESULT_TOO_LARGE
   */
  ofDatabase (database: Database, grant: Grant): Promise<DocumentText>
  /** Describes the named requests that the grant may call and that fit the catalogs. @throws OVERLOADED */
  ofNamed (named: NamedRequests, grant: Grant): Promise<DocumentText>
} {
  const interfaces = createDocumentCache(MAX_CACHED_BYTES)
  const takeTurn = createTurns(MAX_MADE)
  const byCatalog = new WeakMap<Catalog, DocumentCache>()
  return {
    ofInterface (grant) {
      const names = [...databases.keys()].filter((name) => seesDatabase(grant, name))
      const verbs = VERBS.filter((verb) => grant.permissions.has(verb))
      return interfaces(JSON.stringify([verbs, names]), async () =>
        createInterfaceDocument({ verbs, databases: names, settings })
      )
    },
    ofNamed: (named, grant) => takeTurn(async () => {
      await Promise.all(Array.from(databases.values(), async (database) => {
        await database.getCatalog().catch(() => undefined)
      }))
      return createNamedDocument(named, grant, settings)
    }),
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

/** The used parts of a document of @fastify/swagger. */
interface HostDocument {
  readonly openapi?: string
  readonly paths?: object
  readonly tags?: readonly object[]
  readonly components?: object
}

/** The option `transformObject` of @fastify/swagger. Its type depends on versions of other packages. */
type SwaggerDocument = { readonly openapiObject: object } | { readonly swaggerObject: object }
export type TransformObject = (document: SwaggerDocument) => any

/**
 * Returns the document with the presently known tables that the grant sees. @throws Error if the grant or the version
 * of the document is not valid
 */
export type AddTables = (grant: HostGrant, document: SwaggerDocument) => object

const WrongVersion = createError(
  'ROW_QUERY_HOST_DOCUMENT',
  'Tables can only be added to a document of OpenAPI 3.1: register @fastify/swagger with openapi: { openapi: "3.1.0" }'
)

interface PathItem { readonly post: Operation }

export function createAddTables ({ databases, settings }: DocumentsOptions): AddTables {
  return (given, document) => {
    const grant = toGrant(given, 'swaggerTables() was called with')
    const host = ('openapiObject' in document ? document.openapiObject : {}) as HostDocument
    if (host.openapi?.startsWith('3.1') !== true) throw new WrongVersion()
    const seen = [...databases.values()].filter(({ name }) => seesDatabase(grant, name))
    return seen.reduce((whole, { name: database, catalog }) => {
      if (catalog === undefined) return whole
      const tables = visibleTables(catalog, grant, database)
      const text = String(createDatabaseDocumentNow({ database, tables, settings }).bytes)
      return addTables(whole, text, { database, prefix: settings.prefix })
    }, host)
  }
}

/**
 * Adds tables under names that begin with the path prefix and the database, because an app can register the plugin
 * several times.
 */
function addTables (
  host: HostDocument,
  text: string,
  { database, prefix }: { database: string; prefix: string }
): HostDocument {
  const scope = `${prefix === '' ? '' : pascalCase(prefix)}${pascalCase(database)}`
  const renamed = text.replace(/"#\/components\/(schemas|responses)\//g, `$&${scope}`)
  const { paths, tags, components } = JSON.parse(renamed) as {
    paths: Record<string, PathItem>
    tags: Array<{ name: string }>
    components: { schemas: Schemas; responses?: Schemas }
  }
  const rename = (schemas: Schemas = {}): Schemas =>
    Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [scope + name, schema]))
  const tagOf = (name: string): string => `${database}.${name}`
  const scheme = `${scope}Token`
  const base = basePath(host, prefix)
  const added = Object.entries(paths).map(([path, { post }]) => {
    const operationId = post.operationId.replace(/^query/, `query${scope}`)
      .replace(/^run.*(?=Operations$)/, `run${scope}`)
    return [base + path, { post: { ...post, operationId, tags: post.tags.map(tagOf), security: [{ [scheme]: [] }] } }]
  })
  const {
    schemas,
    responses,
    securitySchemes: schemes,
    ...others
  } = (host.components ?? {}) as { schemas?: Schemas; responses?: Schemas; securitySchemes?: Schemas }
  return {
    ...host,
    tags: [...(host.tags ?? []), ...tags.map((tag) => ({ ...tag, name: tagOf(tag.name) }))],
    paths: { ...host.paths, ...Object.fromEntries(added) },
    components: {
      ...others,
      schemas: { ...schemas, ...rename(components.schemas) },
      responses: { ...responses, ...rename(components.responses) },
      securitySchemes: { ...schemes, [scheme]: securitySchemes['token'] as Schema }
    }
  }
}

/** The prefix in the document of the host, from which @fastify/swagger removes the path of a server. */
function basePath ({ paths }: HostDocument, prefix: string): string {
  const generic = Object.entries(paths ?? {}).find(
    ([, item]) => (item as Partial<PathItem>).post?.operationId === operationIdOf(prefix)
  )
  return generic === undefined ? prefix : generic[0].replace(/\/\{database\}\/\{table\}$/, '')
}
