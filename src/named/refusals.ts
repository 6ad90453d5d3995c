/** The caller does not see the body of a named request: its errors become errors of parameters. */
import { brokenRequest, copyOf, type Detail, pointer, type ServiceError, withDetails, withReason } from '../errors.ts'
import { stepsOf } from '../json/plain-values.ts'
import type { Declared, NamedRequest } from './definition.ts'
import type { Place } from './places.ts'

interface Caused { readonly declared: Declared, readonly place: Place, readonly rest: readonly string[] }

/** The parameter whose place has the path, and the rest of the path; of an entry of a list, that of its key. */
function findCause ({ parameters }: NamedRequest, path: string): Caused | undefined {
  const steps = stepsOf(path)
  let ofEntry: Caused | undefined
  for (const declared of parameters.values()) {
    for (const place of declared.places) {
      const isWithin = place.path.every((step, index) => String(step) === steps[index])
      if (isWithin) return { declared, place, rest: steps.slice(place.path.length) }
      const isKey = place.isKey === true && pointer(...place.path.slice(0, -1)) === path
      if (isKey) ofEntry ??= { declared, place, rest: [] }
    }
  }
  return ofEntry
}

const pathOf = ({ declared, rest }: Caused): string => pointer(declared.name, ...rest)

/** About the parameter in place of its column. */
function messageOf ({ declared, place, rest }: Caused, message: string): string {
  const column = place.field === 'after' ? rest[0] : place.column
  const prefix = `Column "${column}": `
  const reason = column !== undefined && message.startsWith(prefix)
    ? message.slice(prefix.length)
    : SAFE.exec(message)?.[0] ?? 'this value is not accepted here'
  return `Parameter "${declared.name}": ${reason}`
}

/** The ends of messages that name a place in the body. */
const SAFE = new RegExp(`(${[
  'is longer than \\d+ characters',
  'must have at least one word, and at most \\d+ characters',
  'The filters contain more than \\d+ values in lists',
  'null is not a value here',
  'has no default',
  'the entry finds the same row as entry \\d+'
].join('|')})$`)

/** The details lead into the parameters or, what none of them has caused, into the body. */
export function toOwnRights (request: NamedRequest, error: ServiceError): ServiceError {
  return withDetails(copyOf(error), ...error.details.map((detail): Detail => {
    const cause = isUncurable(request, error) ? undefined : findCause(request, detail.path)
    return { ...detail, path: cause === undefined ? `/body${detail.path}` : pathOf(cause) }
  }))
}

/** Messages without the names of tables, columns, keys or values, by the codes whose own messages have them. */
const MESSAGES = new Map([
  ['INVALID_BODY', 'The request is not possible with these values'],
  ['INVALID_VALUE', 'A value is not accepted here'],
  ['FILTERS_REQUIRED', 'With these values, the request would change every row'],
  ['PERMISSION_DENIED', 'The caller may not do this'],
  ['EXPECTATION_FAILED', 'The rows are not those that the request expects'],
  ['RESULT_TOO_LARGE', 'The result is too large'],
  ['UNREADABLE_VALUE', 'A row cannot be read'],
  ['NOT_SUPPORTED', 'The service cannot do this']
])

/** Messages about the header Idempotency-Key, which is the caller's. */
const OF_HEADER = /^(A JWT without "sub" cannot use Idempotency-Key|The database has no table for idempotency keys;)/

/** Without a value that another one could replace. */
const UNCURABLE: ReadonlySet<string> = new Set([
  'DATABASE_NOT_FOUND', 'TABLE_NOT_FOUND', 'COLUMN_NOT_FOUND', 'COLUMN_NOT_WRITABLE', 'MISSING_COLUMN',
  'INVALID_ORDER_BY'
])

/** Columns that are missing because a call left their parameters out are not missing in the definition. */
const isUncurable = (request: NamedRequest, { code, details }: ServiceError): boolean => UNCURABLE.has(code) &&
  !(code === 'MISSING_COLUMN' && details.length > 0 && details.every(({ path }) => findCause(request, path)))

/**
 * With the rights of a role, an error names parameters only. `findMisfit`: why the definition does not fit the
 * database, whatever the values are.
 */
export function toRightsOfRole (
  request: NamedRequest,
  error: ServiceError,
  findMisfit: () => ServiceError | undefined
): ServiceError {
  const { code, statusCode } = error
  if (statusCode === 400 || statusCode === 404) {
    const misfit = isUncurable(request, error) ? error : code === 'FILTERS_REQUIRED' ? undefined : findMisfit()
    if (misfit !== undefined) return withReason(brokenRequest(), describeMisfit(request, misfit))
  }
  const details = error.details.flatMap((detail): Detail[] => {
    const cause = findCause(request, detail.path)
    return cause === undefined ? [] : [{ path: pathOf(cause), message: messageOf(cause, detail.message) }]
  })
  const template = OF_HEADER.test(error.message) ? undefined : MESSAGES.get(code)
  const reason = error.reason ?? (template === undefined ? undefined : error.message)
  const converted = copyOf(error)
  converted.message = (statusCode === 400 ? details[0]?.message : undefined) ?? template ?? error.message
  return withReason(withDetails(converted, ...details), reason)
}

/** At the default of a parameter that does not fit its place. */
export function describeMisfit (request: NamedRequest, error: ServiceError): string {
  const { code, message, details: [detail] } = error
  if (detail === undefined) return `${code}: ${message}`
  const cause = UNCURABLE.has(code) ? undefined : findCause(request, detail.path)
  const place = cause?.declared.default === undefined
    ? `/body${detail.path}`
    : pointer('parameters', cause.declared.name, 'default', ...cause.rest)
  return `${code} at ${place}: ${detail.message}`
}
