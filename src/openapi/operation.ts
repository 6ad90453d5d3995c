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
