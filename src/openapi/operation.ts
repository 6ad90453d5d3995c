/** The operation objects of a document (OpenAPI 3.1, section 4.8.10): one POST operation for each path. */
import type { Schema } from './schema.ts'

/** The version of OpenAPI that documents are written in. */
export const OPENAPI = '3.1.0'

/** The status of every successful answer. */
const OK = 200

const REQUEST_ID = 'Finds the request in the log.'

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  /** Schemas of path parameters by name; none if left out. */
  readonly parameters?: Readonly<Record<string, Schema>>
  /** The schemas of the request body and of a successful answer. */
  readonly request: Schema
  readonly answer: Schema
  /** Example requests by name. */
  readonly examples: Readonly<Record<string, Schema>>
  /** Responses to refused requests, by status. */
  readonly refusals: Readonly<Record<string, Schema>>
}

/** The path item of an operation. */
export function createPathItem ({ operationId, summary, description, tags, parameters, request, answer, examples, refusals }: Operation): Schema {
  const done: Schema = {
    description: 'Done.',
    headers: { 'x-request-id': { description: REQUEST_ID, schema: { type: 'string' } } },
    content: { 'application/json': { schema: answer } }
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

/** The same successful answer in the form of a Fastify route schema. */
export function routeResponse (schema: Schema): Schema {
  return { [OK]: { description: 'Done.', headers: { 'x-request-id': { type: 'string', description: REQUEST_ID } }, ...schema } }
}

/** Of the interface, which all databases share; not of the program. */
const VERSION = '1.0.0'

const DESCRIPTION = `Reads and changes rows of tables through one operation for each table; \`verb\` in the body says which of the four verbs it is.

A row has the columns that were asked for, all of them where \`columns\` was left out. Its schema is the same either way, so that every property may be left out.

Whole numbers of 64 bits and decimals are exact: the former in the text of the answer, the latter as strings. See the schema of each column.`

/** `prefix`: where the service is on its host. */
export function createHead (title: string, prefix: string): Schema {
  return {
    openapi: OPENAPI,
    info: {
      title,
      version: VERSION,
      description: DESCRIPTION,
      // who describes tables with this program does not license them by it
      license: { name: 'Not stated', identifier: 'LicenseRef-not-stated' }
    },
    servers: [{ url: prefix === '' ? '/' : prefix }],
    security: [{ token: [] }]
  }
}

/** The parts of `components` that every operation needs. */
export const securitySchemes: Schema = {
  token: { type: 'http', scheme: 'bearer', description: 'A token of the service: `Authorization: Bearer <token>`.' }
}
