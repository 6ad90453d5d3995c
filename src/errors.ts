/**
 * Every error that the service can respond with, one per line: code, status, message. No other file names a status. A
 * test compares the list with `docs/errors.md`.
 *
 * Messages name what the client sent (a field, a column, a verb). They never contain messages of the database, which
 * may include values of other rows, SQL and hosts.
 */
import { createError } from '@fastify/error'

/** One cause of an error: where in the body (JSON Pointer, RFC 6901; of an import also the line) and why. */
export interface Detail { path: string, message: string, line?: number }

/** The rows of an import that were committed before an error, and the line in which they end. */
export interface Committed { readonly rows: number, readonly line: number }

/** The foreign keys that a write may have violated. */
export interface Violated {
  /** The table that was written. */
  readonly table: string
  readonly keys: ReadonlyArray<{ readonly name: string }>
  /** Set if rows refer to the written one: what happened to it and, if the database says so, the key. */
  readonly referring?: {
    readonly table: string
    readonly event: 'update' | 'delete'
    readonly key: { readonly table: string, readonly name: string } | undefined
  }
}

/** Base class of all errors of the service. plugins/errors.ts turns them into responses. */
export abstract class ServiceError extends Error {
  declare code: string
  declare statusCode: number
  declare details: readonly Detail[]
  /** The driver's code (`ECONNREFUSED`, `ER_LOCK_DEADLOCK`), for the log only. Never the driver's message. */
  declare reason?: string
  /** For an insert of several rows: the index of the row that the database refused, if it is known. */
  declare row?: number
  /** For an error of COMMIT: the index of the statement in the transaction that caused it, if it is known. */
  declare statement?: number
  /** Seconds after which a retry may succeed, if it is known. */
  declare retryAfter?: number
  /**
   * The catalog has caused the refusal, so that the request may be valid by now (`lookAgain`). Always so of some codes,
   * and set on other errors where they are made.
   */
  declare mayBeNew?: true
  /** Set on an INVALID_BODY that no other value of the field would avoid. */
  declare refusesField?: true
  /** For FOREIGN_KEY_VIOLATION: what its details may name more of (src/access/violated-keys.ts). */
  declare violated?: Violated
  /** For an import whose batches are committed one by one. */
  declare committed?: Committed
}

ServiceError.prototype.details = Object.freeze([])

/** Code -> status of every error below, for OpenAPI documents and tests. */
export const catalogue = new Map<string, number>()

/** An error that is always caused by the catalog. */
const BY_CATALOG = { mayBeNew: { value: true, writable: true } }

function define<Args extends unknown[] = []> (
  code: string,
  status: number,
  message: string,
  properties: PropertyDescriptorMap = {}
) {
  catalogue.set(code, status)
  // Only bugs capture a stack, because that costs more than the rest of a refusal.
  const Refusal = createError<Args>(code, message, status, ServiceError as unknown as ErrorConstructor, status === 500)
  // createError appends arguments without a placeholder to the message, and shows placeholders without an argument
  const placeholders = message.split('%').length - 1
  Object.defineProperty(Refusal, 'name', { value: ServiceError.name })
  Object.defineProperties(Refusal.prototype, properties)
  return (...args: Args): ServiceError => {
    const texts = Array.from({ length: placeholders }, (_, index) => shorten(args[index] ?? ''))
    const refusal = new Refusal(...texts as unknown[] as Args)
    refusal.name = ServiceError.name
    return refusal as unknown as ServiceError
  }
}

/** Characters of a message, or of a name in a path, that are kept at its beginning and at its end. */
const KEPT = 1000

/** Shortens what a client may make as long as a body. */
const shorten = <T>(given: T): T | string =>
  typeof given === 'string' && given.length > 2 * KEPT
    ? `${given.slice(0, KEPT)} … ${given.slice(-KEPT)}`.toWellFormed()
    : given

/**
 * For an INVALID_BODY or PERMISSION_DENIED: the database may have another definition by now, which would accept the
 * request.
 */
export function mayBeNew (refusal: ServiceError): ServiceError {
  refusal.mayBeNew = true
  return refusal
}

export const invalidRequest = define<[reason: string]>('INVALID_REQUEST', 400, 'The request is not valid HTTP: %s')
export const bodyIncomplete = (): ServiceError =>
  invalidRequest('the connection closed before the whole body arrived')
export const invalidJson = define<[reason: string]>('INVALID_JSON', 400, 'The body is not valid JSON: %s')
export const invalidBody = define<[reason: string]>('INVALID_BODY', 400, '%s')
export const tooManyConditions = (most: number): ServiceError =>
  invalidBody(`The filters contain more than ${most} conditions`)
export const filtersRequired = define<[verb: string]>(
  'FILTERS_REQUIRED',
  400,
  '%s requires "filters" that restrict the affected rows',
  BY_CATALOG
)
/** `hint`: the end of the message, such as the name that may be meant (`didYouMean`); so in the errors below. */
export const columnNotFound = define<[column: string, where: string, hint?: string]>(
  'COLUMN_NOT_FOUND',
  400,
  'Column "%s" does not exist in %s%s',
  BY_CATALOG
)
export const invalidValue = define<[column: string, reason: string]>(
  'INVALID_VALUE',
  400,
  'Column "%s": %s',
  BY_CATALOG
)
export const valueNotAllowed = define<[reason: string]>('INVALID_VALUE', 400, '%s', BY_CATALOG)
export const invalidOrderBy = define<[reason: string]>('INVALID_ORDER_BY', 400, '"orderBy" %s', BY_CATALOG)
export const limitOutOfRange = define<[max: number]>('LIMIT_OUT_OF_RANGE', 400, '"limit" must be from 1 to %d')
export const columnNotWritable = define<[column: string, reason: string]>(
  'COLUMN_NOT_WRITABLE',
  400,
  'Column "%s" cannot be written: %s',
  BY_CATALOG
)
export const missingColumn = define<[columns: string]>(
  'MISSING_COLUMN',
  400,
  '"data" is missing columns that have no default: %s',
  BY_CATALOG
)
export const unauthenticated = define<[reason: string]>('UNAUTHENTICATED', 401, '%s')
export const permissionDenied = define<[reason: string]>('PERMISSION_DENIED', 403, '%s')
export const originNotAllowed = define<[origin: string]>(
  'ORIGIN_NOT_ALLOWED',
  403,
  'Pages of %s may not send requests here'
)
export const databaseNotFound = define<[database: string, hint?: string]>(
  'DATABASE_NOT_FOUND',
  404,
  'Database "%s" does not exist%s'
)
export const tableNotFound = define<[table: string, database: string, hint?: string]>(
  'TABLE_NOT_FOUND',
  404,
  'Table "%s" does not exist in database "%s"%s',
  BY_CATALOG
)
export const notFound = define('NOT_FOUND', 404, 'There is nothing at this path')
export const requestNotFound = define<[name: string, hint?: string]>(
  'REQUEST_NOT_FOUND',
  404,
  'There is no request "%s" that the caller may call%s'
)
export const methodNotAllowed = define<[method: string, others: string]>(
  'METHOD_NOT_ALLOWED',
  405,
  'Method %s is not allowed here: use %s'
)
export const requestTimeout = define('REQUEST_TIMEOUT', 408, 'The request took too long to arrive')
export const expectationFailed = define<[reason: string]>('EXPECTATION_FAILED', 412, '"expect" does not hold: %s')
export const invalidIdempotencyKey = define(
  'INVALID_IDEMPOTENCY_KEY',
  400,
  'The header Idempotency-Key must have 1 to 255 visible ASCII characters'
)
export const idempotencyInProgress = define(
  'IDEMPOTENCY_IN_PROGRESS',
  409,
  'Another request with this Idempotency-Key has not ended'
)
export const idempotencyKeyReused = define(
  'IDEMPOTENCY_KEY_REUSED',
  422,
  'This Idempotency-Key was sent with another request before'
)
export const writeRefused = define('WRITE_REFUSED', 422, 'The application refused the write; nothing was changed')
export const uniqueViolation = define('UNIQUE_VIOLATION', 409, 'A row with the same unique value already exists')
export const foreignKeyViolation = define('FOREIGN_KEY_VIOLATION', 409, 'A foreign key does not allow this change')
export const bodyTooLarge = define('BODY_TOO_LARGE', 413, 'The body is larger than the limit')
/** The same code, for a body of many small chunks. */
export const bodyInPieces = define('BODY_TOO_LARGE', 413, 'The body arrives in too many small chunks: send larger ones')
export const unsupportedMediaType = define<[types: string]>(
  'UNSUPPORTED_MEDIA_TYPE',
  415,
  'Send the body in UTF-8, with the header Content-Type: %s'
)
export const notNullViolation = define('NOT_NULL_VIOLATION', 422, 'A column that is NOT NULL has no value', BY_CATALOG)
export const checkViolation = define('CHECK_VIOLATION', 422, 'A CHECK constraint of the table refused the row')
export const valueOutOfRange = define(
  'VALUE_OUT_OF_RANGE',
  422,
  'The database refused a value that does not fit its column'
)
/** The same code, for a statement or value that exceeds a limit of the database. */
export const statementTooLarge = define(
  'VALUE_OUT_OF_RANGE',
  422,
  'The request makes a value or a statement that is larger than the database accepts'
)
export const resultTooLarge = define<[reason: string]>('RESULT_TOO_LARGE', 422, 'The result is too large: %s')
/** The same code, for what a write changes. */
export const transactionTooLarge = define(
  'RESULT_TOO_LARGE',
  422,
  'The transaction is larger than the database accepts: change fewer or smaller rows at once; nothing was changed'
)
export const unreadableValue = define<[column: string, reason: string]>(
  'UNREADABLE_VALUE',
  422,
  'A row cannot be read: column "%s" %s'
)
export const notSupported = define<[reason: string]>('NOT_SUPPORTED', 422, '%s', BY_CATALOG)
export const brokenDefinition = define(
  'BROKEN_DEFINITION',
  422,
  'A definition in the database, such as a trigger, view or foreign key, names something that does not exist',
  BY_CATALOG
)
/** The same code, for a named request. */
export const brokenRequest = define(
  'BROKEN_DEFINITION',
  422,
  'The definition of this request does not fit the database; the log of the service has the reason',
  BY_CATALOG
)
export const rateLimited = define('RATE_LIMITED', 429, 'Too many requests: try again later')
export const headersTooLarge = define('HEADERS_TOO_LARGE', 431, 'The path and the headers are larger than the limit')
export const internal = define('INTERNAL', 500, 'Internal error: find it in the log by the request id')
export const outcomeUnknown = define(
  'OUTCOME_UNKNOWN',
  502,
  'The write failed partway, or the database did not confirm that it ended: the change may have been made, in full ' +
  'or in part'
)
export const databaseUnavailable = define(
  'DATABASE_UNAVAILABLE',
  503,
  'The database is not available; nothing was changed'
)
export const deadlock = define(
  'DEADLOCK',
  503,
  'The statement was rolled back because of a deadlock; nothing was changed'
)
export const lockTimeout = define('LOCK_TIMEOUT', 503, 'A row was locked for too long; nothing was changed')
export const overloaded = define(
  'OVERLOADED',
  503,
  'Too many requests are waiting for the database, or large bodies and responses use all memory that there is for ' +
  'them; nothing was changed'
)
/** The same code, for streams and imports. */
export const streamsBusy = define<[what: string]>(
  'OVERLOADED',
  503,
  'Too many %s of this caller or of all callers are running on this database; nothing was changed'
)
export const keysUnavailable = define(
  'KEYS_UNAVAILABLE',
  503,
  'The keys that verify the token are not available; nothing was changed'
)
export const queryTimeout = define('QUERY_TIMEOUT', 504, 'The statement took too long; nothing was changed')

/**
 * Whether a value is one of the errors above. An error that an app derives from ServiceError has no code and no status.
 */
export const isServiceError = (error: unknown): error is ServiceError =>
  error instanceof ServiceError && catalogue.has(error.code)

/** How many causes of an error are logged with it. */
const MAX_CAUSES = 10

/**
 * Returns the error, or one in its place if a property throws when it is read: an error of the host app, or its cause,
 * may have getters of its own.
 */
export function toReadable (error: Error): Error {
  try {
    if (isServiceError(error)) return error
    let each: unknown = error
    for (let count = 0; count < MAX_CAUSES && each instanceof Error; count++) {
      // those that are sent or logged
      for (const name of ['name', 'message', 'stack', 'code', 'statusCode', 'status', 'cause']) Reflect.get(each, name)
      for (const name in each) Reflect.get(each, name)
      each = each.cause
    }
    return error
  } catch {
    return new Error('the properties of an error of the app cannot be read')
  }
}

/** The error, or a copy of one that a hook or a caller has frozen. */
export const toWritable = (error: ServiceError): ServiceError => Object.isExtensible(error) ? error : copyOf(error)

/** A copy that can be changed, for an error that other requests may have got too. */
export function copyOf (error: ServiceError): ServiceError {
  const copy = Object.create(Object.getPrototypeOf(error) as object) as ServiceError
  for (const name of Object.getOwnPropertyNames(error)) {
    const enumerable = Object.prototype.propertyIsEnumerable.call(error, name)
    const value: unknown = Reflect.get(error, name)
    Object.defineProperty(copy, name, { value, enumerable, writable: true, configurable: true })
  }
  return copy
}

/** `committed`: what an import has committed, if the error may not say it. */
export function toErrorBody ({ code, message, details, ...rest }: ServiceError, committed = rest.committed) {
  return { success: false, data: {}, error: { code, message, ...(committed !== undefined && { committed }), details } }
}

export const isBug = ({ statusCode }: ServiceError): boolean => statusCode === 500
/** Whether the service or the database is at fault, not the client. */
export const isTrouble = ({ statusCode, code }: ServiceError): boolean =>
  statusCode >= 500 || code === 'BROKEN_DEFINITION'
/** Whether the request has no valid credentials. */
export const isUnauthenticated = ({ statusCode }: ServiceError): boolean => statusCode === 401
/** Whether a retry of the same request may succeed. Nothing was changed. */
export const isTemporary = ({ statusCode }: ServiceError): boolean => statusCode === 503

export function withDetails (error: ServiceError, ...details: Detail[]): ServiceError {
  error.details = details
  return error
}

/** The steps from the root of the body to a value. */
export type Path = ReadonlyArray<string | number>

/** Adds the place in the body, as steps or as a JSON Pointer, to an error as its only detail. */
export function at (path: Path | string, error: ServiceError): ServiceError {
  return withDetails(error, { path: typeof path === 'string' ? path : pointer(...path), message: error.message })
}

/**
 * NOT_SUPPORTED with its reason. `path`: the field that is not supported, as a JSON Pointer; empty for the request
 * itself.
 */
export function unsupported (path: string, message: string): ServiceError {
  return at(path, notSupported(message))
}

/** The database does not accept the text of a search. */
export const textRefused = (path: Path): ServiceError =>
  at(path, valueNotAllowed('The database does not accept the text of "$match": look at its operators and its length'))

export function withReason (error: ServiceError, reason: string | undefined): ServiceError {
  if (reason !== undefined) error.reason = reason
  return error
}

export function withRetryAfter (error: ServiceError, milliseconds: number): ServiceError {
  error.retryAfter = Math.max(1, Math.ceil(milliseconds / 1000))
  return error
}

/** A JSON Pointer (RFC 6901) from the root of the body. */
export function pointer (...steps: ReadonlyArray<string | number>): string {
  return steps.map((step) => '/' + String(shorten(step)).replaceAll('~', '~0').replaceAll('/', '~1')).join('')
}

// The name that a misspelt one may mean. The caller passes only names that it may show.

/** Longest name that is compared; MySQL's have at most 64 characters. */
const MAX_LENGTH = 100
/** Maximum number of insertions, deletions, replacements and exchanges of neighbours in a misspelt name. */
const MAX_DISTANCE = 3

/** Returns the end of an error message, `; did you mean "name"?`, or `otherwise` if no name is similar. */
export function didYouMean (name: string, names: Iterable<string>, otherwise = ''): string {
  const nearest = findNearest(name, names)
  return nearest === undefined ? otherwise : `; did you mean ${JSON.stringify(nearest)}?`
}

/**
 * Returns the name that is most similar to a misspelt one, whatever the letter case; undefined if none is similar. The
 * time is proportional to the number of known names and the length of the misspelt one.
 */
export function findNearest (name: string, names: Iterable<string>): string | undefined {
  if (name.length > MAX_LENGTH) return undefined
  const folded = name.toLowerCase()
  let nearest: string | undefined
  let most = Math.min(MAX_DISTANCE, Math.floor(name.length / 3))
  for (const candidate of names) {
    if (most < 0) break
    if (Math.abs(candidate.length - name.length) > most) continue
    const distance = distanceWithin(most, folded, candidate.toLowerCase())
    if (distance !== undefined) [nearest, most] = [candidate, distance - 1]
  }
  return nearest
}

/**
 * The distance of two texts (Damerau and Levenshtein, with exchanges of neighbours only) if it is at most `most`.
 * Computes only the cells around the diagonal that can be so small.
 */
function distanceWithin (most: number, one: string, other: string): number | undefined {
  const far = most + 1
  let before: number[] = []
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let line = 1; line <= one.length; line++) {
    const from = Math.max(1, line - most)
    const to = Math.min(other.length, line + most)
    const next: number[] = []
    next[from - 1] = from === 1 ? line : far
    let least = next[from - 1] as number
    for (let index = from; index <= to; index++) {
      const isSame = one[line - 1] === other[index - 1]
      const isExchanged = one[line - 1] === other[index - 2] && one[line - 2] === other[index - 1]
      const distance = Math.min(
        (row[index - 1] ?? far) + (isSame ? 0 : 1),
        (row[index] ?? far) + 1,
        (next[index - 1] ?? far) + 1,
        isExchanged ? (before[index - 2] ?? far) + 1 : far
      )
      next[index] = distance
      least = Math.min(least, distance)
    }
    if (least > most) return undefined
    ;[before, row] = [row, next]
  }
  const distance = row[other.length] ?? far
  return distance > most ? undefined : distance
}
