/** The parts that all documents share: the head, and operation objects (OpenAPI 3.1, section 4.8.10), one POST for each path. */
import type { DocumentSettings } from './document-settings.ts'
import type { Schema } from './schema.ts'

/** Version of OpenAPI. */
const OPENAPI = '3.1.0'

/** Status of every successful response. */
const OK = 200

export const REQUEST_ID_DESCRIPTION = 'Identifies the request in the log.'

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  /** Schemas of path parameters by name; none if omitted. */
  readonly parameters?: Readonly<Record<string, Schema>>
  /** The schemas of the request body and of a successful response. */
  readonly request: Schema
  readonly answer: Schema
  /** Further media types of a successful response, with their schemas; none if omitted. */
  readonly others?: Readonly<Record<string, Schema>>
  /** Example requests by name. */
  readonly examples: Readonly<Record<string, Schema>>
  /** Error responses by status. */
  readonly refusals: Readonly<Record<string, Schema>>
}

/** Creates the path item of an operation. */
export function createPathItem ({ operationId, summary, description, tags, parameters, request, answer, others = {}, examples, refusals }: Operation): Schema {
  const done: Schema = {
    description: 'The request succeeded.',
    headers: { 'x-request-id': { description: REQUEST_ID_DESCRIPTION, schema: { type: 'string' } } },
    content: { 'application/json': { schema: answer }, ...Object.fromEntries(Object.entries(others).map(([type, schema]) => [type, { schema }])) }
  }
  return {
    post: {
      operationId,
      summary,
      ...(description !== undefined && { description }),
      tags,
      ...(parameters !== undefined && {
        parameters: Object.entries(parameters).map(([name, { description, ...schema }]) => ({ name, in: 'path', required: true, description, schema }))
      }),
      requestBody: { required: true, content: { 'application/json': { schema: request, examples } } },
      responses: { [OK]: done, ...refusals }
    }
  }
}

/** The successful response in the form of a Fastify route schema. */
export function routeResponse (schema: Schema): Schema {
  return { [OK]: { description: 'The request succeeded.', headers: { 'x-request-id': { type: 'string', description: REQUEST_ID_DESCRIPTION } }, ...schema } }
}

/** Version of the interface, not of the program. */
const VERSION = '1.0.0'

const DESCRIPTION = `Reads and changes rows of tables. Each table has one operation; the field \`verb\` of the body is select, insert, update or delete.

A row has the columns that \`columns\` lists, or all columns if \`columns\` is omitted. One schema describes both, so all its properties are optional.

64-bit integers and decimals are exact: integers as JSON numbers of up to 20 digits, decimals as strings. See the schema of each column.`

/** The license of this package does not apply to the described tables. */
const NOT_STATED = { name: 'Not stated', identifier: 'LicenseRef-not-stated' }

/** Creates the top-level members of the document of a database, or of the interface. */
export function createHead (database: string | undefined, { prefix, info = {} }: Pick<DocumentSettings, 'prefix' | 'info'>): Schema {
  const { title = 'Row Query', description = DESCRIPTION, version = VERSION, license = NOT_STATED, contact, termsOfService, servers = [{ url: prefix === '' ? '/' : prefix }] } = info
  return {
    openapi: OPENAPI,
    info: {
      title: database === undefined ? title : `${title}: ${database}`,
      version,
      description,
      license,
      ...contact !== undefined && { contact },
      ...termsOfService !== undefined && { termsOfService }
    },
    servers,
    security: [{ token: [] }]
  }
}

/** `components.securitySchemes` of every document. */
export const securitySchemes: Schema = {
  token: { type: 'http', scheme: 'bearer', description: 'A token of the service: `Authorization: Bearer <token>`.' }
}
