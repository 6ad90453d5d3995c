/** Operations -> paths of a document, by @fastify/swagger: out of routes that are declared for it and never called. */
import Fastify from 'fastify'
import type { Schema } from './schema.ts'

/** The version of OpenAPI that documents are written in. */
export const OPENAPI = '3.1.0'

export interface Operation {
  /** The path as a Fastify route has it. */
  readonly url: string
  /** What @fastify/swagger takes in a route's schema. */
  readonly schema: Schema
  /** Example requests by name. Beside the schema: @fastify/swagger would read the names of columns in them as keywords. */
  readonly examples: Readonly<Record<string, Schema>>
  /** Responses by status that are references, which a route's schema cannot have. */
  readonly responses?: Readonly<Record<string, Schema>>
}

/** The status of every answer that is no refusal. */
const OK = 200

/** The response to a request that was done, for a route's schema. */
export function doneResponse (schema: Schema): Schema {
  return { [OK]: { description: 'Done.', headers: { 'x-request-id': { type: 'string', description: 'Finds the request in the log.' } }, ...schema } }
}

interface Described {
  post: Schema & { requestBody: { content: Record<string, Schema> }, responses: Record<string, Schema> }
}

export async function describeOperations (operations: readonly Operation[]): Promise<Record<string, Schema>> {
  const { default: swagger } = await import('@fastify/swagger') // when it is needed: it takes its time to load
  const app = Fastify()
  app.setValidatorCompiler(() => () => true)
  app.setSerializerCompiler(() => JSON.stringify)
  await app.register(swagger, { openapi: { openapi: OPENAPI }, stripBasePath: false })
  for (const { url, schema } of operations) app.post(url, { schema }, () => {})
  await app.ready()
  const described = Object.entries(app.swagger().paths as unknown as Record<string, Described>)
  await app.close()
  return Object.fromEntries(described.map(([path, { post }], index) => [path, { post: withRest(post, operations[index] as Operation) }]))
}

function withRest (operation: Described['post'], { examples, responses }: Operation): Schema {
  const { 'application/json': json, ...others } = operation.requestBody.content
  return {
    ...operation,
    requestBody: { ...operation.requestBody, content: { 'application/json': { ...json, examples }, ...others } },
    responses: { ...operation.responses, ...responses }
  }
}
