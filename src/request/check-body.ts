/** Request bodies: parsed without changing numbers, then checked against the schema of the route. */
import type { TObject } from '@sinclair/typebox'
import {
  BODIES, type Body, type DeleteBody, IN_TRANSACTION, OPERATIONS, operationsBody, type UpdateBody
} from '../../schemas/body.ts'
import { MAX_CELLS, MAX_COLUMNS, MAX_INCLUDE } from '../../schemas/limits.ts'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import { at, filtersRequired, invalidBody, invalidJson, pointer, type ServiceError, withDetails } from '../errors.ts'
import {
  findSyntaxError, hasMany, isObject, lookOver, objectKeys, parseExactJson, repeatsKey
} from '../json/exact-json.ts'
import { findConflict, findFieldError } from './check-fields.ts'
import { findGroupsError } from './check-groups.ts'
import { type BodyLimits, findInMembers } from './check-members.ts'
import { type BodyKind, refuse } from './field-errors.ts'

export type FindBodyError = (body: unknown) => ServiceError | undefined

/** Returns INVALID_JSON, not thrown. `hasFields`: its members are fields, not values of columns. */
export function parseBody (text: string, hasFields = true, overview = lookOver(text)): unknown {
  try {
    const body = parseExactJson(text, overview)
    if (repeatsKey(overview, body)) return invalidJson('a key appears twice in one object')
    return hasFields ? clampNumbers(body) : body
  } catch (error) {
    return invalidJson(error instanceof RangeError ? 'the nesting is too deep' : describeSyntax(text))
  }
}

function describeSyntax (text: string): string {
  const position = findSyntaxError(text)
  if (text.trim() === '') return 'the body is empty'
  return position === undefined ? 'it cannot be parsed' : `error at ${position}`
}

/**
 * Makes the numbers of a body and its members (`limit`, `expect`) ordinary numbers, because only values of columns need
 * their text. Leaves the `id` of a JSON-RPC message, which is answered as it came. Members below `level` and objects of
 * many keys, which are refused later (check-fields.ts), stay as they are.
 */
export function clampNumbers (body: unknown, level = MAX_INCLUDE.levels): unknown {
  if (typeof body !== 'object' || body === null || hasMany(body)) return body
  const fields = Object.keys(body)
  for (let index = 0; index < fields.length; index++) {
    const field = fields[index] as string
    const value = (body as Readonly<Record<string, unknown>>)[field]
    if (JSON.isRawJSON(value)) {
      if (field !== 'id') Object.defineProperty(body, field, { value: toNumber(value.rawJSON) })
    } else if (field === 'expect') clampNumbers(value)
    else if (field === 'include' && isObject(value) && level >= 0 && !hasMany(value)) {
      for (const member of Object.values(value)) clampNumbers(member, level - 1)
    }
  }
  return body
}

/**
 * Makes infinity finite, so that 1e400 is a number out of range and not a value of another type. A fraction that is too
 * small for a double becomes NaN instead of a whole number.
 */
export function toNumber (text: string): number {
  const number = Math.max(-Number.MAX_VALUE, Math.min(Number.MAX_VALUE, Number(text)))
  return Number.isInteger(number) && !isWhole(text) ? NaN : number
}

/**
 * Whether the text of a JSON number is a whole number: its last digit other than 0 is before the point, after the
 * exponent has moved the point.
 */
function isWhole (text: string): boolean {
  const [digits, exponent = '0'] = text.replace(/^-/, '').toLowerCase().split('e') as [string, string?]
  const [whole, fraction = ''] = digits.split('.') as [string, string?]
  let last = whole.length + fraction.length
  for (const all = whole + fraction; last > 0 && all[last - 1] === '0';) last--
  return last === 0 || last <= whole.length + Number(exponent)
}

const BODY_KINDS = {
  request: { name: 'The body', schemas: BODIES },
  inTransaction: {
    name: 'The body',
    schemas: IN_TRANSACTION,
    ofWhole: 'in a transaction; it is an option of the whole'
  },
  operation: {
    name: 'An operation',
    schemas: OPERATIONS,
    ofWhole: 'in an operation; it belongs beside "operations"'
  }
} as const satisfies Readonly<Record<string, BodyKind & { readonly name: string }>>

export function createBodyCheck (limits: BodyLimits, kindName: keyof typeof BODY_KINDS = 'request'): FindBodyError {
  const { name, ...kind } = BODY_KINDS[kindName]
  const byVerb = new Map<unknown, TObject>(Object.entries(kind.schemas))
  return (given) => {
    if (!isObject(given)) return invalidBody(`${name} must be a JSON object`)
    const verb = given['verb'] as Verb
    const schema = byVerb.get(verb)
    if (schema === undefined) return at('/verb', invalidBody(`"verb" must be one of ${VERBS.join(', ')}`))
    const body = given as unknown as Body
    return findFieldError(given, { schema, verb, kind }) ??
      findCombinationError(body) ??
      (isOfOneTable(body, limits.conditions) ? undefined : findInMembers(body, limits))
  }
}

/** INVALID_BODY or FILTERS_REQUIRED, not thrown. */
function findCombinationError (body: Body): ServiceError | undefined {
  const { verb } = body
  const emptiness = verb === 'update' || verb === 'delete' ? findEmptyFilters(body) : undefined
  const error = emptiness ?? findConflict(verb, body)
  if (error !== undefined) return error
  if (verb === 'select') {
    const { groupBy, aggregates } = body
    return groupBy === undefined && aggregates === undefined ? undefined : findGroupsError(groupBy, aggregates)
  }
  return verb !== 'delete' && Array.isArray(body.data) && hasTooManyCells(body.data)
    ? refuse(['data'], `"data" must have at most ${MAX_CELLS} values: rows times the columns that any of them names`)
    : undefined
}

/** The keys of a list count as filters. The planner finds filters that are not empty and restrict nothing. */
const findEmptyFilters = (body: UpdateBody | DeleteBody): ServiceError | undefined =>
  objectKeys(body.filters).length > 0 || (body.verb === 'update' && Array.isArray(body.data))
    ? undefined
    : at('/filters', filtersRequired(body.verb))

/** Rows with more names than a table has columns are refused for one of the names. */
function hasTooManyCells (rows: readonly object[]): boolean {
  const names = new Set<string>()
  const most = Math.min(MAX_CELLS / rows.length, MAX_COLUMNS)
  for (const row of rows) {
    if (hasMany(row) && objectKeys(row).length > most) return objectKeys(row).length * rows.length > MAX_CELLS
    for (const name in row) names.add(name)
    if (names.size > most) break
  }
  return rows.length * names.size > MAX_CELLS
}

/**
 * Whether a body is about the columns of its table alone, as most are: without members and groups, and with at most so
 * many conditions, none of which begins like a combinator.
 */
export function isOfOneTable (body: Body, conditions = Infinity): boolean {
  if (body.include !== undefined) return false
  if (body.verb === 'insert') return true
  if (body.verb === 'select' && (body.groupBy !== undefined || body.aggregates !== undefined)) return false
  if (body.filters === undefined) return true
  const keys = objectKeys(body.filters)
  for (const key of keys) if (key.startsWith('$')) return false
  return keys.length <= conditions
}

/** First its own fields, then each operation like the body of a request to its table. `most`: operations. */
export function createOperationsCheck (limits: BodyLimits, most: number): FindBodyError {
  const schema = operationsBody(most)
  const findBodyError = createBodyCheck(limits, 'operation')
  return (body) => {
    if (!isObject(body)) return invalidBody('The body must be a JSON object')
    const error = findFieldError(body, { schema })
    if (error !== undefined) return error
    for (const [index, operation] of (body['operations'] as readonly unknown[]).entries()) {
      const error = findBodyError(clampNumbers(operation))
      if (error !== undefined) return inOperation(index, error)
    }
  }
}

export function inOperation (index: number, error: ServiceError): ServiceError {
  const { details, message } = error
  const path = pointer('operations', index)
  return withDetails(
    error,
    ...(details.length === 0
      ? [{ path, message }]
      : details.map((detail) => ({ ...detail, path: path + detail.path })))
  )
}
