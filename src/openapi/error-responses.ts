/** The error responses of a document: one for each status, with an example of each code. */
import { STATUS_CODES } from 'node:http'
import { RefusalSchema } from '../../schemas/answer.ts'
import { catalogue, isTemporary, methodNotAllowed, rateLimited, refusalOf, requestTimeout, unauthenticated, type ServiceError } from '../errors.ts'
import { examplesByStatus } from './error-examples.ts'
import { pascalCase } from './names.ts'
import { REQUEST_ID_DESCRIPTION } from './operation.ts'
import type { Schema } from './schema.ts'

/** Name of the schema of an error response. */
export const REFUSAL = 'ErrorResponse'

/** The schema of an error response, with the list of all codes. */
export const refusalSchema: Schema = {
  ...RefusalSchema,
  properties: {
    ...RefusalSchema.properties,
    error: { ...RefusalSchema.properties.error, properties: { ...RefusalSchema.properties.error.properties, code: { type: 'string', enum: [...catalogue.keys()] } } }
  }
}

const header = (type: string, description: string): Schema => ({ description, schema: { type } })

const REQUEST_ID = { 'x-request-id': header('string', REQUEST_ID_DESCRIPTION) }
const RETRY_AFTER = { 'Retry-After': header('integer', 'Seconds to wait before a retry.') }

/** Additional headers of an error response, by error code. */
const headers = new Map<string, Schema>([
  [unauthenticated('').code, { 'WWW-Authenticate': header('string', 'The scheme Bearer (RFC 6750).') }],
  [methodNotAllowed('').code, { Allow: header('string', 'POST') }],
  [requestTimeout().code, RETRY_AFTER],
  [rateLimited().code, {
    ...RETRY_AFTER,
    'RateLimit-Limit': header('integer', 'Maximum requests in a window.'),
    'RateLimit-Remaining': header('integer', 'Remaining requests in the current window.'),
    'RateLimit-Reset': header('integer', 'Seconds until the next window.')
  }]
])

function headersOf (error: ServiceError): Schema {
  return { ...(isTemporary(error) ? RETRY_AFTER : headers.get(error.code)), ...REQUEST_ID }
}

/** Name of the shared response of a status: 404 -> NotFound. */
function nameOf (status: number): string {
  return pascalCase(STATUS_CODES[status] as string)
}

/** Creates the responses by status. `schema`: the schema of an error response, or a reference to it. */
export function errorResponses (schema: Schema): Record<string, Schema> {
  return Object.fromEntries([...examplesByStatus].map(([status, errors]) => {
    return [status, {
      description: `${STATUS_CODES[status]}: ${errors.map(({ code }) => code).join(', ')}`,
      headers: headersOf(errors[0] as ServiceError),
      content: { 'application/json': { schema, examples: Object.fromEntries(errors.map((error) => [error.code, { value: refusalOf(error) }])) } }
    }]
  }))
}

/** Creates the responses by name, for `components.responses`. */
export function sharedResponses (schema: Schema): Record<string, Schema> {
  return Object.fromEntries(Object.entries(errorResponses(schema)).map(([status, response]) => [nameOf(Number(status)), response]))
}

/** References to the shared responses, by status. */
export const responseReferences: Record<string, Schema> =
  Object.fromEntries([...examplesByStatus.keys()].map((status) => [status, { $ref: `#/components/responses/${nameOf(status)}` }]))
