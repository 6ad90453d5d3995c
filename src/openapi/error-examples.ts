/** An example of each error, as clients see it. */
import * as errors from '../errors.ts'
import { at, pointer, withDetails, type ServiceError } from '../errors.ts'
import { MAX_LIMIT } from '../../schemas/body.ts'

const examples: readonly ServiceError[] = [
  errors.invalidRequest('it could not be parsed'),
  errors.invalidJson('error at line 1 column 18'),
  at(['verb'], errors.invalidBody('"verb" must be one of select, insert, update, delete')),
  at(['filters'], errors.filtersRequired('delete')),
  at(['columns', 1], errors.columnNotFound('colour', 'table "products"')),
  at(['data', 'price'], errors.invalidValue('price', 'can have at most 2 digits after the decimal point')),
  at(['orderBy'], errors.invalidOrderBy('contains a column twice')),
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
  errors.methodNotAllowed('GET'),
  errors.requestTimeout(),
  withDetails(errors.uniqueViolation(), { path: pointer('data', 'email'), message: 'unique key "email" on "email"' }),
  withDetails(errors.foreignKeyViolation(), { path: pointer('data', 'customer_id'), message: 'foreign key "orders_customer" on "customer_id"' }),
  errors.idempotencyInProgress(),
  at(['expect'], errors.expectationFailed('there are 0 rows in "products" for these filters, and 1 is expected')),
  errors.bodyTooLarge(),
  errors.unsupportedMediaType(),
  errors.notNullViolation(),
  errors.checkViolation(),
  errors.valueOutOfRange(),
  errors.resultTooLarge('the answer would be larger than 50331648 bytes; request fewer rows, or name fewer "columns"'),
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

/** HTTP status -> examples of its errors. */
export const examplesByStatus: ReadonlyMap<number, readonly ServiceError[]> = Map.groupBy(examples, ({ statusCode }) => statusCode)
