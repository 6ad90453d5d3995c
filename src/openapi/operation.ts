/**
 * The parts that all documents share: the head, and operation objects (OpenAPI 3.1, section 4.8.10), one POST for each
 * path.
 */
import { STATUS_CODES } from 'node:http'
import { MAX_LIMIT } from '../../schemas/limits.ts'
import { RefusalSchema } from '../../schemas/responses.ts'
import * as errors from '../errors.ts'
import {
  at, catalogue, isTemporary, methodNotAllowed, pointer, rateLimited, toErrorBody, requestTimeout, type ServiceError,
  unauthenticated, withDetails
} from '../errors.ts'
import { TYPES_TEXT } from '../http/import-request.ts'
import { mediaTypeOf } from '../http/stream.ts'
import { OPTION_NAMES, OPTIONS } from '../imports/run-import.ts'
import { OPERATIONS_REQUEST, OPERATIONS_RESPONSE } from './request-schemas.ts'
import { pascalCase, refTo, type Schema } from './value-schema.ts'
import type { DocumentSettings } from './visible.ts'

// The media types of imports and the options in their query string, as all documents describe them.

/** The bodies of imports, by media type. */
const importBodies: Readonly<Record<string, Schema>> = {
  [mediaTypeOf('ndjson')]: {
    schema: {
      type: 'string',
      description: 'Inserts any number of rows: each line is a row as a JSON object. The options are in the query ' +
        'string, and the response has no `id`.'
    }
  },
  [mediaTypeOf('csv')]: {
    schema: { type: 'string', description: 'The same with rows of CSV (RFC 4180) after a line of names.' }
  }
}

/** Names the media types where bodies are not described. */
const IMPORTS =
  `Any number of rows may also be sent as ${Object.keys(importBodies).map((type) => `\`${type}\``).join(' or ')}, ` +
  'with options in the query string.'

/** The options as parameters of an operation. */
const importParameters: readonly Schema[] = OPTION_NAMES.map((name) => {
  const { description, choices }: { description: string, choices?: ReadonlyMap<string, unknown> } = OPTIONS[name]
  return {
    name,
    in: 'query',
    required: false,
    description: `Imports only. ${description}`,
    schema: { type: 'string', ...(choices !== undefined && { enum: [...choices.keys()] }) }
  }
})

const OK = 200
export const SUCCEEDED = 'The request succeeded.'
const REQUEST_ID_DESCRIPTION = 'Identifies the request in the log.'

const header = (type: string, description: string): Schema => ({ description, schema: { type } })
const REQUEST_ID = { 'x-request-id': header('string', REQUEST_ID_DESCRIPTION) }

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly parameters?: Readonly<Record<string, Schema>>
  /** Whether it can select, so that the method QUERY does so as well. OpenAPI 3.1 cannot describe this method. */
  readonly isQuery: boolean
  /**
   * What the operation says of imports: their bodies and parameters, or a text. Generated clients send a body as the
   * wrong one of several media types, and parameters change the arguments of their calls, so that the documents of
   * databases have a text.
   */
  readonly imports?: 'described' | 'named' | undefined
  readonly request: Schema
  readonly response: Schema
  /** Further media types of a successful response, by their names. */
  readonly responseTypes?: Readonly<Record<string, Schema>>
  readonly examples: Readonly<Record<string, Schema>>
  readonly refusals: Readonly<Record<string, Schema>>
}

export function createPathItem ({
  operationId,
  summary,
  description,
  tags,
  parameters,
  isQuery,
  imports,
  request,
  response,
  responseTypes = {},
  examples,
  refusals
}: Operation): Schema {
  const done: Schema = {
    description: SUCCEEDED,
    headers: REQUEST_ID,
    content: {
      'application/json': { schema: response },
      ...Object.fromEntries(Object.entries(responseTypes).map(([type, schema]) => [type, { schema }]))
    }
  }
  return {
    post: {
      operationId,
      summary,
      ...describeMethods(description, isQuery),
      tags,
      ...((parameters !== undefined || imports === 'described') && {
        parameters: [
          ...Object.entries(parameters ?? {}).map(([name, { description, ...schema }]) => ({
            name,
            in: 'path',
            required: true,
            description,
            schema
          })),
          ...(imports === 'described' ? importParameters : [])
        ]
      }),
      requestBody: {
        ...(imports === 'named' && { description: IMPORTS }),
        required: true,
        content: { 'application/json': { schema: request, examples }, ...(imports === 'described' && importBodies) }
      },
      responses: { [OK]: done, ...refusals }
    }
  }
}

/** What QUERY does on the path, as text and for programs. */
export function describeMethods (description: string | undefined, isQuery: boolean): Schema {
  const text = [description, isQuery ? QUERY : ''].filter(Boolean).join('\n\n')
  return { ...(text !== '' && { description: text }), ...(isQuery && { 'x-query': true }) }
}

const QUERY =
  'The method QUERY (RFC 10008) takes the bodies that only select. It may be repeated, and its response has an ' +
  '`ETag`, which the next request can send in `If-None-Match`.'

/** The path item of operations. `table`: a table to select from, for an example that can be sent unchanged. */
export function createOperationsItem (
  table: string | undefined,
  own: Pick<Operation, 'operationId' | 'tags' | 'parameters' | 'refusals'>
): Schema {
  const select = { table, verb: 'select', limit: 1 }
  return createPathItem({
    ...own,
    isQuery: table !== undefined,
    summary: 'Runs several operations in one transaction',
    description:
      'All of them happen, or none. The header `Idempotency-Key` makes a request have one effect and one response, ' +
      'however often it is sent.',
    request: refTo(OPERATIONS_REQUEST),
    response: refTo(OPERATIONS_RESPONSE),
    examples:
      table === undefined ? {} : { operations: { summary: 'two operations', value: { operations: [select, select] } } }
  })
}

/** The successful response in the form of a Fastify route schema. */
export function routeResponse (schema: Schema): Schema {
  return {
    [OK]: {
      description: SUCCEEDED,
      headers: { 'x-request-id': { type: 'string', description: REQUEST_ID_DESCRIPTION } },
      ...schema
    }
  }
}

const DESCRIPTION = [
  'Reads and changes rows of tables. Each table has one operation; the field `verb` of the body is select, insert, ' +
  'update or delete.',
  'A row has the columns that `columns` lists, or all but the invisible ones if `columns` is omitted. One schema ' +
  'describes both, so all its properties are optional.',
  '64-bit integers and decimals are exact: integers as JSON numbers of up to 20 digits, decimals as strings. See the ' +
  'schema of each column.'
].join('\n\n')

/** The license of this package does not apply to the described tables. */
const NOT_STATED = { name: 'Not stated', identifier: 'LicenseRef-not-stated' }

/** The top-level members of the document of a database, or of the interface. */
export function createHead (
  database: string | undefined,
  { prefix, info = {} }: Pick<DocumentSettings, 'prefix' | 'info'>
): Schema {
  const {
    title = 'Row Query',
    description = DESCRIPTION,
    // of the interface, not of the program
    version = '1.0.0',
    license = NOT_STATED,
    contact,
    termsOfService,
    servers = [{ url: prefix === '' ? '/' : prefix }]
  } = info
  return {
    openapi: '3.1.0',
    info: {
      title: database === undefined ? title : `${title}: ${database}`,
      version,
      description,
      license,
      ...(contact !== undefined && { contact }),
      ...(termsOfService !== undefined && { termsOfService })
    },
    servers,
    security: [{ token: [] }]
  }
}

/** `components.securitySchemes` of every document. */
export const securitySchemes: Schema = {
  token: { type: 'http', scheme: 'bearer', description: 'A token of the service: `Authorization: Bearer <token>`.' }
}

// Error responses: one for each status, with an example of each code as clients see it.

const examples: readonly ServiceError[] = [
  errors.invalidRequest('it could not be parsed'),
  errors.invalidJson('error at line 1 column 18'),
  at(['verb'], errors.invalidBody('"verb" must be one of select, insert, update, delete')),
  at(['filters'], errors.filtersRequired('delete')),
  at(['columns', 1], errors.columnNotFound('colour', 'table "products"')),
  at(['data', 'price'], errors.invalidValue('price', 'can have at most 2 digits after the decimal point')),
  at(['orderBy'], errors.invalidOrderBy('contains a column or a path twice')),
  at(['limit'], errors.limitOutOfRange(MAX_LIMIT)),
  at(['data', 'line_total'], errors.columnNotWritable('line_total', 'the database computes it')),
  withDetails(errors.missingColumn('"name"'), { path: pointer('data', 'name'), message: 'has no default' }),
  errors.invalidIdempotencyKey(),
  errors.unauthenticated('The token is not valid'),
  errors.permissionDenied('The token does not have the permission delete'),
  errors.originNotAllowed('https://other.example.com'),
  errors.databaseNotFound('shop'),
  errors.tableNotFound('products', 'shop'),
  errors.notFound(),
  errors.requestNotFound('orders_of_customer'),
  errors.methodNotAllowed('GET', 'POST'),
  errors.requestTimeout(),
  withDetails(errors.uniqueViolation(), { path: pointer('data', 'email'), message: 'unique key "email" on "email"' }),
  withDetails(errors.foreignKeyViolation(), {
    path: pointer('data', 'customer_id'),
    message: 'foreign key "orders_customer" on "customer_id"'
  }),
  errors.idempotencyInProgress(),
  at(['expect'], errors.expectationFailed('there are 0 rows in "products" for these filters, and 1 is expected')),
  errors.bodyTooLarge(),
  errors.unsupportedMediaType(TYPES_TEXT),
  errors.notNullViolation(),
  errors.checkViolation(),
  errors.valueOutOfRange(),
  errors.resultTooLarge(
    'the response would be larger than 50331648 bytes; request fewer rows, or name fewer "columns"'
  ),
  errors.unreadableValue('place', 'contains bytes that are not a geometry'),
  errors.unsupported('/dryRun', 'the engine of table "products" has no transactions, so that nothing can be undone'),
  errors.idempotencyKeyReused(),
  errors.writeRefused(),
  errors.brokenDefinition(),
  errors.rateLimited(),
  errors.headersTooLarge(),
  errors.internal(),
  errors.outcomeUnknown(),
  errors.databaseUnavailable(),
  errors.deadlock(),
  errors.lockTimeout(),
  errors.overloaded(),
  errors.keysUnavailable(),
  errors.queryTimeout()
]

const examplesByStatus: ReadonlyMap<number, readonly ServiceError[]> = Map.groupBy(
  examples,
  ({ statusCode }) => statusCode
)

export const REFUSAL = 'ErrorResponse'

/** The schema of an error response, with the list of all codes. */
export const refusalSchema: Schema = {
  ...RefusalSchema,
  properties: {
    ...RefusalSchema.properties,
    error: {
      ...RefusalSchema.properties.error,
      properties: {
        ...RefusalSchema.properties.error.properties,
        code: { type: 'string', enum: [...catalogue.keys()] }
      }
    }
  }
}

const RETRY_AFTER = { 'Retry-After': header('integer', 'Seconds to wait before a retry.') }

const headers = new Map<string, Schema>([
  [unauthenticated('').code, { 'WWW-Authenticate': header('string', 'The scheme Bearer (RFC 6750).') }],
  [methodNotAllowed('', '').code, { Allow: header('string', 'POST') }],
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

/** Responses by status. `schema`: the schema of an error response, or a reference to it. */
export function errorResponses (schema: Schema): Record<string, Schema> {
  return Object.fromEntries([...examplesByStatus].map(([status, errors]) => [status, {
    description: `${STATUS_CODES[status]}: ${errors.map(({ code }) => code).join(', ')}`,
    headers: headersOf(errors[0] as ServiceError),
    content: {
      'application/json': {
        schema,
        examples: Object.fromEntries(errors.map((error) => [error.code, { value: toErrorBody(error) }]))
      }
    }
  }]))
}

/** For `components.responses`. */
export function sharedResponses (schema: Schema): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(errorResponses(schema)).map(([status, response]) => [nameOf(Number(status)), response])
  )
}

/** References to the shared responses, by status. */
export const responseReferences: Record<string, Schema> = Object.fromEntries(
  [...examplesByStatus.keys()].map((status) => [status, { $ref: `#/components/responses/${nameOf(status)}` }])
)
