/** Every error of the catalogue as responses of a document: one for each status, with an example of each code. */
import { STATUS_CODES } from 'node:http'
import { RefusalSchema } from '../../schemas/answer.ts'
import { catalogue, isTemporary, methodNotAllowed, rateLimited, refusalOf, requestTimeout, unauthenticated, type ServiceError } from '../errors.ts'
import { examplesByStatus } from './error-examples.ts'
import { pascalCase } from './names.ts'
import type { Schema } from './schema.ts'

/** The schema of a refusal with the codes there are. */
export const refusalSchema: Schema = {
  ...RefusalSchema,
  properties: {
    ...RefusalSchema.properties,
    error: { ...RefusalSchema.properties.error, properties: { ...RefusalSchema.properties.error.properties, code: { type: 'string', enum: [...catalogue.keys()] } } }
  }
}

const header = (type: string, description: string): Schema => ({ description, schema: { type } })

const REQUEST_ID = { 'x-request-id': header('string', 'Finds the request in the log.') }
const RETRY_AFTER = { 'Retry-After': header('integer', 'Seconds after which to try again.') }

/** Headers that come with a refusal, by its code. */
const headers = new Map<string, Schema>([
  [unauthenticated('').code, { 'WWW-Authenticate': header('string', 'The scheme Bearer, as RFC 6750 says.') }],
  [methodNotAllowed('').code, { Allow: header('string', 'POST') }],
  [requestTimeout().code, RETRY_AFTER],
  [rateLimited().code, {
    ...RETRY_AFTER,
    'RateLimit-Limit': header('integer', 'Requests in a window.'),
    'RateLimit-Remaining': header('integer', 'Requests that are left of them.'),
    'RateLimit-Reset': header('integer', 'Seconds to the next window.')
  }]
])

function headersOf (error: ServiceError): Schema {
  return { ...(isTemporary(error) ? RETRY_AFTER : headers.get(error.code)), ...REQUEST_ID }
}

/** The name of a status as a name of a response: 404 -> NotFound. */
function nameOf (status: number): string {
  return pascalCase(STATUS_CODES[status] as string)
}

/** Status -> a response; `schema` stands in it for that of a refusal. */
export function errorResponses (schema: Schema): Record<string, Schema> {
  return Object.fromEntries([...examplesByStatus].map(([status, errors]) => {
    return [status, {
      description: `${STATUS_CODES[status]}: ${errors.map(({ code }) => code).join(', ')}`,
      headers: headersOf(errors[0] as ServiceError),
      content: { 'application/json': { schema, examples: Object.fromEntries(errors.map((error) => [error.code, { value: refusalOf(error) }])) } }
    }]
  }))
}

/** The same for `components.responses`, by name. */
export function sharedResponses (schema: Schema): Record<string, Schema> {
  return Object.fromEntries(Object.entries(errorResponses(schema)).map(([status, response]) => [nameOf(Number(status)), response]))
}

/** Status -> a reference to the shared response. */
export const responseReferences: Record<string, Schema> =
  Object.fromEntries([...examplesByStatus.keys()].map((status) => [status, { $ref: `#/components/responses/${nameOf(status)}` }]))
