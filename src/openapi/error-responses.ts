/** Every error of the catalogue as responses of a document: one for each status, with an example of each code. */
import { STATUS_CODES } from 'node:http'
import { RefusalSchema } from '../../schemas/answer.ts'
import { catalogue, isTemporary, rateLimited, refusalOf, unauthenticated, type ServiceError } from '../errors.ts'
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

/** Headers that come with a refusal, by its code. */
const headers = new Map<string, Schema>([
  [unauthenticated('').code, { 'WWW-Authenticate': { description: 'RFC 6750', schema: { type: 'string' } } }],
  [rateLimited().code, { 'Retry-After': { description: 'Seconds', schema: { type: 'integer' } } }]
])

function headersOf (error: ServiceError): Schema | undefined {
  return isTemporary(error) ? headers.get(rateLimited().code) : headers.get(error.code)
}

/** The name of a status as a name of a response: 404 -> NotFound. */
function nameOf (status: number): string {
  return pascalCase(STATUS_CODES[status] as string)
}

/** Status -> a response; `schema` stands in it for that of a refusal. */
export function errorResponses (schema: Schema): Record<string, Schema> {
  return Object.fromEntries([...examplesByStatus].map(([status, errors]) => {
    const found = headersOf(errors[0] as ServiceError)
    return [status, {
      description: `${STATUS_CODES[status]}: ${errors.map(({ code }) => code).join(', ')}`,
      ...(found !== undefined && { headers: found }),
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
