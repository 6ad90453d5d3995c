/** Request bodies: parsed without changing numbers, then checked against the schema of the route. */
import type { TObject, TProperties, TSchema } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { Errors, ValueErrorType } from '@sinclair/typebox/errors'
import { type Body, BodySchema, OperationsBodySchema, propertiesOf } from '../../schemas/body.ts'
import { fieldsIn, verbsWith } from '../../schemas/fields.ts'
import { MAX_INCLUDE } from '../../schemas/limits.ts'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import {
  at, filtersRequired, invalidBody, invalidJson, pointer, type ServiceError, valueNotAllowed, withDetails, didYouMean
} from '../errors.ts'
import { isObject, lookOver, parseExactJson, repeatsKey, findSyntaxError } from '../json/exact-json.ts'
import { stepsOf } from '../json/plain-values.ts'
import {
  findAggregateError, findIncludeError, findRelatedError, describeExpected, findCombinationError, findExcluded,
  findOwnError, findRowsError, withNames
} from './check-fields.ts'

/** Returns the first error of a parsed body. */
export type FindBodyError = (body: unknown) => ServiceError | undefined

/** @returns the parsed body, or INVALID_JSON (not thrown) */
export function parseBody (text: string): unknown {
  try {
    const overview = lookOver(text)
    const body = parseExactJson(text, overview)
    return repeatsKey(overview, body) ? invalidJson('a key appears twice in one object') : clampNumbers(body)
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
 * Makes the numbers of the body itself (`limit`, `expect`) ordinary numbers, because only values of columns need their
 * text. Leaves the `id` of a JSON-RPC message, which is answered as it came.
 */
export function clampNumbers (body: unknown): unknown {
  if (typeof body !== 'object' || body === null) return body
  for (const [field, value] of Object.entries(body)) {
    if (JSON.isRawJSON(value)) {
      if (field !== 'id') Object.defineProperty(body, field, { value: toNumber(value.rawJSON) })
    } else if (field === 'expect') clampNumbers(value)
    else if (field === 'include') clampMembers(value, 0)
  }
  return body
}

/** The same for members, which have fields like the body. Deeper members are refused later (check-fields.ts). */
function clampMembers (include: unknown, level: number): void {
  if (!isObject(include) || level > MAX_INCLUDE.levels) return
  for (const member of Object.values(include)) {
    if (!isObject(member)) continue
    const { limit, include: inner } = member as { limit?: unknown, include?: unknown }
    if (JSON.isRawJSON(limit)) Object.defineProperty(member, 'limit', { value: toNumber(limit.rawJSON) })
    clampMembers(inner, level + 1)
  }
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

/** Compiled once, when the first route needs it. */
let compiled: TypeCheck<typeof BodySchema> | undefined

const byVerb: ReadonlyMap<unknown, TObject> = new Map(
  BodySchema.anyOf.map((variant) => [variant.properties.verb.const, variant])
)

/** Returns the function that finds the first error of a body. `depth`: the setting `limits.depth`. */
export function createBodyCheck (depth: number): FindBodyError {
  const check = (compiled ??= TypeCompiler.Compile(withNames(BodySchema)))
  return (body) => {
    if (check.Check(body)) {
      return hasEmptyFilters(body)
        ? at('/filters', filtersRequired(body.verb))
        : (findCombinationError(body) ?? findInMembers(body, depth))
    }
    if (!isObject(body)) return invalidBody('The body must be a JSON object')
    const { verb } = body as { verb?: unknown }
    const expected = byVerb.get(verb)
    return expected === undefined
      ? at('/verb', invalidBody(`"verb" must be one of ${VERBS.join(', ')}`))
      : describe(expected, body, verb as string)
  }
}

/** Checks the members of a body that is otherwise valid. */
function findInMembers (body: Body, depth: number): ServiceError | undefined {
  const error = (body.verb === 'insert' ? undefined : findRelatedError(body.filters, ['filters'], depth)) ??
    (body.verb === 'select' ? findAggregateError(body.aggregates, depth) : undefined)
  if (error !== undefined || body.verb === 'delete' || body.include === undefined) return error
  const isGrouped = body.verb === 'select' && body.groupBy !== undefined
  return findIncludeError(body.include, { depth, isReturned: body.verb !== 'select', isGrouped })
}

/** Whether required filters are empty. The planner finds others that restrict nothing. */
function hasEmptyFilters (body: Body): boolean {
  if (body.verb !== 'update' && body.verb !== 'delete') return false
  // the keys of a list count as filters
  return Object.keys(body.filters).length === 0 && !(body.verb === 'update' && Array.isArray(body.data))
}

function describe (schema: TObject, body: object, verb: string): ServiceError {
  const [first] = Errors(schema, [], body)
  const { path, type, schema: violated } = first as { path: string, type: ValueErrorType, schema: TSchema }
  const steps = stepsOf(path)
  const field = steps[0] as string
  if (!Object.hasOwn(schema.properties, field)) {
    return at(path, invalidBody(`"${field}" is not allowed with ${verb}${describeOther(schema, field, verb)}`))
  }
  if (!Object.hasOwn(body, field)) {
    return at(path, field === 'filters' ? filtersRequired(verb) : invalidBody(`"${field}" is required to ${verb}`))
  }
  const ownError = findOwnError({ field, path, type }, body)
  if (ownError !== undefined) return ownError
  if (field === 'data' && verb === 'update' && isEmpty((body as { data?: unknown }).data)) {
    return at(path, invalidBody('"data" must not be empty'))
  }
  if (field === 'expect' && hasNow((body as { expect?: unknown }).expect)) {
    return at(path, valueNotAllowed('"$now" is not allowed in "expect", which counts rows'))
  }
  const rowsError = verb === 'insert' || verb === 'update' ? findRowsError(body) : undefined
  // serializers of some languages send null for fields that are not set
  const isUnset =
    (body as Readonly<Record<string, unknown>>)[field] === null && schema.required?.includes(field) !== true
  return (
    rowsError ??
    at(
      path,
      invalidBody(
        describeExpected(field, schema.properties[field] as TSchema) +
        (type === ValueErrorType.ObjectAdditionalProperties
          ? didYouMean(steps.at(-1) as string, Object.keys(violated['properties'] ?? {}))
          : '') +
        (isUnset ? '; leave it out instead of sending null' : '')
      )
    )
  )
}

const isEmpty = (value: unknown): boolean => isObject(value) && Object.keys(value).length === 0

/** Whether `expect` has the present time in place of a number. */
function hasNow (expect: unknown): boolean {
  return (
    isObject(expect) &&
    (Object.hasOwn(expect, '$now') ||
      Object.values(expect).some((bound) => isObject(bound) && Object.hasOwn(bound, '$now')))
  )
}

/** Names the verbs that have a field which this verb does not have. */
function describeOther ({ properties }: TObject, field: string, verb: string): string {
  const verbs = verbsWith(field)
  if (verbs.length > 0) return `; it is a field of ${verbs.join(', ')}`
  const fields = Object.keys(properties)
  return didYouMean(field, fields, `; the fields of ${verb} are ${fields.join(', ')}`)
}

// Checks the body of a request with several operations: first its own fields, then each operation like the body of a
// request to its table.

type Fields = Readonly<Record<string, unknown>>

interface FieldCheck {
  readonly isValid: (value: unknown) => boolean
  /** What the field must be, for messages. */
  readonly requirement: string
}

type FieldChecks = ReadonlyMap<string, FieldCheck>

const compileFields = (properties: TProperties): FieldChecks =>
  new Map(Object.entries(properties).map(([field, schema]) => {
    const check = TypeCompiler.Compile(schema)
    return [field, { isValid: (value) => check.Check(value), requirement: describeExpected(field, schema) }]
  }))

const mustBe = (field: string, { requirement }: FieldCheck): ServiceError => at([field], invalidBody(requirement))

/** The additional fields of each operation, and of a select in a transaction. */
const required = compileFields(fieldsIn('operation'))
const optional = compileFields(fieldsIn('selectInTransaction'))

/** Fields of the whole request that single requests also have: `dryRun`. */
const ofWholeOnly = Object.keys(fieldsIn('operations')).filter((field) => verbsWith(field).length > 0)

/** `findBodyError`: the check of bodies of single requests. `most`: the maximum number of operations. */
export function createOperationsCheck (findBodyError: FindBodyError, most: number): FindBodyError {
  const checks = compileFields(propertiesOf(most))
  return (body) => {
    if (!isObject(body)) return invalidBody('The body must be a JSON object')
    for (const [field, value] of Object.entries(body)) {
      const check = checks.get(field)
      if (check === undefined) {
        const hint = didYouMean(field, checks.keys(), `; the fields are ${[...checks.keys()].join(', ')}`)
        return at([field], invalidBody(`"${field}" is not allowed here${hint}`))
      }
      if (!check.isValid(value)) return mustBe(field, check)
    }
    const missing = OperationsBodySchema.required?.find((field) => !Object.hasOwn(body, field))
    if (missing !== undefined) return at([missing], invalidBody(`"${missing}" is required`))
    const { operations } = body as { operations: readonly unknown[] }
    for (const [index, operation] of operations.entries()) {
      const error = findError(operation, findBodyError)
      if (error !== undefined) return inOperation(index, error)
    }
  }
}

function findError (operation: unknown, findBodyError: FindBodyError): ServiceError | undefined {
  if (!isObject(operation)) return invalidBody('An operation must be a JSON object')
  const fields = clampNumbers(operation) as Fields
  for (const [field, check] of required) if (!check.isValid(fields[field])) return mustBe(field, check)
  return findErrorInTransaction(without(fields, required), {
    findBodyError,
    ofWhole: 'in an operation; it belongs beside "operations"'
  })
}

const without = (fields: Fields, left: FieldChecks): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([field]) => !left.has(field)))

/**
 * Finds the first error in the body of a request in a transaction, which may have `lock` but not `dryRun`. `ofWhole`:
 * where `dryRun` is not allowed, for the message.
 */
export function findErrorInTransaction (
  fields: Fields,
  { findBodyError, ofWhole }: { readonly findBodyError: FindBodyError; readonly ofWhole: string }
): ServiceError | undefined {
  const given = Object.keys(fields).filter((field) => optional.has(field))
  const body = given.length === 0 ? fields : without(fields, optional)
  const wholeOnly = ofWholeOnly.find((field) => Object.hasOwn(body, field))
  if (wholeOnly !== undefined) return at([wholeOnly], invalidBody(`"${wholeOnly}" is not allowed ${ofWhole}`))
  const error = findBodyError(body)
  if (error !== undefined) return error
  const verb = body['verb'] as Verb
  for (const field of given) {
    const check = optional.get(field) as FieldCheck
    if (verb !== 'select') {
      return at([field], invalidBody(`"${field}" is not allowed with ${verb}; it is a field of select`))
    }
    if (!check.isValid(fields[field])) return mustBe(field, check)
  }
  return findExcluded('selectInTransaction', fields)
}

/** Adds the index of the operation to the details of an error. */
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
