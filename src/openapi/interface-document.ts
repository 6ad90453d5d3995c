/** One path for all databases and tables, with a union of the verbs. */
import { Type } from '@sinclair/typebox'
import type { FastifyContextConfig } from 'fastify'
import { RESPONSES } from '../../schemas/responses.ts'
import { VERBS, type Verb } from '../../schemas/grants.ts'
import { mediaTypeOf } from '../http/stream.ts'
import type { DocumentSettings } from './visible.ts'
import { allOf } from '../in-pieces.ts'
import { Members, writeDocument, type DocumentText } from './database-document.ts'
import {
  errorResponses, REFUSAL, refusalSchema, createHead, createOperationsItem, createPathItem, describeMethods,
  routeResponse, securitySchemes
} from './operation.ts'
import { operationSchemas, requestName, requestOfAny, responseName, unions } from './request-schemas.ts'
import { pascalCase, refTo, type Schema } from './value-schema.ts'

/** The part of schema names that is a table's name in the document of a database. */
const NAME = 'Rows'

const examples: Readonly<Record<Verb, object>> = {
  select: { columns: ['id', 'name'], filters: { price: { $lt: '20.00' } }, orderBy: 'price DESC', limit: 10 },
  insert: { data: { name: 'Bell', price: '18.90' } },
  update: { data: { price: '17.90' }, filters: { id: 151 } },
  delete: { filters: { id: 151 } }
}

const text = {
  summary: 'Reads or changes rows of a table',
  description:
    'The field `verb` of the body selects the operation: select, insert, update or delete. Every request needs a token.'
}

/**
 * What the response to a select is where the header Accept asks for it. The documents of databases do not have these
 * media types: generators of clients would make the type of each response a union with a text.
 */
const STREAMS: Readonly<Record<string, Schema>> = {
  [mediaTypeOf('ndjson')]: {
    type: 'string',
    description: 'The response to a select with this media type in Accept comes row by row, without a limit unless ' +
      'one is given: each row as a JSON object, with a line feed.'
  },
  [mediaTypeOf('csv')]: { type: 'string', description: 'The same as CSV (RFC 4180), with a line of names.' }
}

const params = Type.Object({
  database: Type.String({ description: 'A database of the service.' }),
  table: Type.String({ description: 'A table or view of the database; names are case-sensitive.' })
})

/** A Fastify route schema, for @fastify/swagger. */
function routeSchema (operationId: string): Schema {
  const refusals = Object.entries(errorResponses(refusalSchema)).map(([status, { headers, ...response }]) => [
    status,
    response
  ])
  return {
    operationId,
    ...text,
    ...describeMethods(text.description, true),
    tags: ['rows'],
    params,
    body: { oneOf: VERBS.map((verb) => withoutNames(requestOfAny(verb))) },
    response: { ...routeResponse({ anyOf: VERBS.map((verb) => RESPONSES[verb]) }), ...Object.fromEntries(refusals) }
  }
}

/** OpenAPI 3.0, in which the document of a host app may be, does not have the keyword `propertyNames`. */
const withoutNames = (schema: Schema): Schema =>
  JSON.parse(JSON.stringify(schema, (keyword, value) => keyword === 'propertyNames' ? undefined : value))

declare module 'fastify' {
  interface FastifySchema {
    /** Excludes a route from the document of the host app. @fastify/swagger declares it too. */
    hide?: boolean
  }
}

export const operationIdOf = (prefix: string): string => `query${prefix === '' ? '' : pascalCase(prefix)}Rows`

/**
 * The route's `config` for @fastify/swagger. The operation id contains the prefix, because an app can register the
 * plugin several times.
 */
export function shownInHost (prefix: string): FastifyContextConfig & {
  swaggerTransform: (route: { url: string }) => { schema: Schema; url: string }
} {
  const operationId = operationIdOf(prefix)
  return { swaggerTransform: ({ url }: { url: string }) => ({ schema: routeSchema(operationId), url }) }
}

export function createInterfaceDocument ({ verbs, databases, settings }: {
  readonly verbs: readonly Verb[]
  /** Names of the databases that the grant may see. */
  readonly databases: readonly string[]
  readonly settings: DocumentSettings
}): DocumentText {
  const item = createPathItem({
    operationId: `query${NAME}`,
    ...text,
    tags: ['rows'],
    parameters: params.properties,
    isQuery: verbs.includes('select'),
    imports: verbs.includes('insert') ? 'described' : undefined,
    request: refTo(`${NAME}Request`),
    response: refTo(`${NAME}Response`),
    ...(verbs.includes('select') && { responseTypes: STREAMS }),
    examples: Object.fromEntries(verbs.map((verb) => [verb, { summary: verb, value: { verb, ...examples[verb] } }])),
    refusals: errorResponses(refTo(REFUSAL))
  })
  const operations = createOperationsItem(verbs.includes('select') ? 'products' : undefined, {
    operationId: 'runOperations',
    tags: ['rows'],
    parameters: { database: params.properties.database },
    refusals: errorResponses(refTo(REFUSAL))
  })
  const schemas = verbs.flatMap((verb): Array<[string, Schema]> => [
    [requestName(NAME, verb), requestOfAny(verb)],
    [responseName(NAME, verb), RESPONSES[verb]]
  ])
  const document = new Members()
  document.add({
    ...createHead(undefined, settings),
    tags: [{ name: 'rows', description: 'Rows of tables' }],
    'x-databases': databases,
    // a union of no verbs is no schema
    paths: verbs.length === 0 ? {} : { '/{database}': operations, '/{database}/{table}': item },
    components: {
      securitySchemes,
      schemas: {
        ...(verbs.length > 0 && {
          ...Object.fromEntries(schemas),
          ...operationSchemas(new Map(verbs.map((verb) => [verb, undefined])), settings.limits.operations),
          ...unions(NAME, verbs)
        }),
        [REFUSAL]: refusalSchema
      }
    }
  })
  return allOf(writeDocument(document))
}
