/** Adds the tables of databases to the document of a host app, by a `transformObject` for @fastify/swagger. */
import createError from '@fastify/error'
import { seesDatabase } from '../access/grant.ts'
import { toGrant, type HostGrant } from '../access/host-grant.ts'
import { createDatabaseDocumentNow } from './database-document.ts'
import type { DocumentsOptions } from './documents.ts'
import { operationIdOf } from './interface-document.ts'
import { pascalCase } from './names.ts'
import { securitySchemes, type Operation } from './operation.ts'
import type { Schema, Schemas } from './schema.ts'
import { visibleTables } from './visible.ts'

/** The parts of a document of @fastify/swagger that are used here. */
interface HostDocument {
  readonly openapi?: string
  readonly paths?: object
  readonly tags?: readonly object[]
  readonly components?: object
}

/** The option `transformObject` of @fastify/swagger. Its type depends on versions of other packages. */
type SwaggerDocument = { readonly openapiObject: object } | { readonly swaggerObject: object }
export type TransformObject = (document: SwaggerDocument) => any

/** Returns the document with the presently known tables that the grant sees. @throws Error if the grant or the version of the document is not valid */
export type AddTables = (grant: HostGrant, document: SwaggerDocument) => object

const WrongVersion = createError('ROW_QUERY_HOST_DOCUMENT', 'Tables can only be added to a document of OpenAPI 3.1: register @fastify/swagger with openapi: { openapi: "3.1.0" }')

type PathItem = { readonly post: Operation & { readonly tags: readonly string[] } }

export function createAddTables ({ databases, settings }: DocumentsOptions): AddTables {
  return (given, document) => {
    const grant = toGrant(given, 'swaggerTables() was called with')
    const host = ('openapiObject' in document ? document.openapiObject : {}) as HostDocument
    if (host.openapi?.startsWith('3.1') !== true) throw new WrongVersion()
    return [...databases.values()].filter(({ name }) => seesDatabase(grant, name)).reduce((whole, database) => {
      const catalog = database.latestCatalog()
      if (catalog === undefined) return whole
      const tables = visibleTables(catalog, grant, database.name)
      const text = String(createDatabaseDocumentNow({ database: database.name, tables, settings }).bytes)
      return addTables(whole, text, { database: database.name, prefix: settings.prefix })
    }, host)
  }
}

/** Adds tables under names that begin with the path prefix and the database, because an app can register the plugin several times. */
function addTables (host: HostDocument, text: string, { database, prefix }: { database: string, prefix: string }): HostDocument {
  const own = `${prefix === '' ? '' : pascalCase(prefix)}${pascalCase(database)}`
  const renamed = text.replace(/"#\/components\/(schemas|responses)\//g, `$&${own}`)
  const { paths, tags, components } = JSON.parse(renamed) as { paths: Record<string, PathItem>, tags: Array<{ name: string }>, components: { schemas: Schemas, responses?: Schemas } }
  const rename = (schemas: Schemas = {}): Schemas => Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [own + name, schema]))
  const tagOf = (name: string): string => `${database}.${name}`
  const scheme = `${own}Token`
  const base = basePath(host, prefix)
  const added = Object.entries(paths).map(([path, { post }]) => {
    const operationId = post.operationId.replace(/^query/, `query${own}`).replace(/^run.*(?=Operations$)/, `run${own}`)
    return [base + path, { post: { ...post, operationId, tags: post.tags.map(tagOf), security: [{ [scheme]: [] }] } }]
  })
  const { schemas, responses, securitySchemes: schemes, ...others } = (host.components ?? {}) as { schemas?: Schemas, responses?: Schemas, securitySchemes?: Schemas }
  return {
    ...host,
    tags: [...host.tags ?? [], ...tags.map((tag) => ({ ...tag, name: tagOf(tag.name) }))],
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
  const generic = Object.entries(paths ?? {}).find(([, item]) => (item as Partial<PathItem>).post?.operationId === operationIdOf(prefix))
  return generic === undefined ? prefix : generic[0].replace(/\/\{database\}\/\{table\}$/, '')
}
