/** Describes the first error that the schema finds in the fields of a body or member. */
import type { TObject, TSchema } from '@sinclair/typebox'
import { ValueErrorType } from '@sinclair/typebox/errors'
import { fieldNamed } from '../../schemas/fields.ts'
import { type Verb, VERBS } from '../../schemas/grants.ts'
import { MAX_COLUMNS, MAX_LIMIT, MAX_ROWS } from '../../schemas/limits.ts'
import {
  at, didYouMean, filtersRequired, invalidBody, invalidOrderBy, limitOutOfRange, type Path, type ServiceError,
  valueNotAllowed
} from '../errors.ts'
import { hasMany, isObject, objectKeys } from '../json/exact-json.ts'

/** A body with a verb: the schemas by verbs, and where fields of a whole transaction are not allowed, for messages. */
export interface BodyKind { readonly schemas: Readonly<Record<Verb, TObject>>, readonly ofWhole?: string }

export interface Checked {
  readonly schema: TObject
  readonly path?: Path
  /** Set if the object has a verb. */
  readonly verb?: Verb
  /** Continues the message `"field" must be …` of fields that are not fields of bodies. */
  readonly expected?: Readonly<Record<string, string>> | undefined
  readonly kind?: BodyKind
}

export interface Violation {
  readonly steps: readonly string[]
  readonly type: ValueErrorType
  /** The schema of the innermost object. */
  readonly violated: TSchema
}

/** Returns the error, not thrown. */
export function describeViolation (
  given: Readonly<Record<string, unknown>>,
  { steps, type, violated }: Violation,
  checked: Checked
): ServiceError {
  const { schema, path = [], verb, expected } = checked
  const [field] = steps as [string]
  const place = [...path, ...steps]
  const { properties, required = [] } = schema
  if (!Object.hasOwn(properties, field)) return refuseField(place, describeUnknown(field, checked))
  if (!Object.hasOwn(given, field)) {
    return verb !== undefined && field === 'filters'
      ? at(place, filtersRequired(verb))
      : refuse(place, `"${field}" is required${verb === undefined ? '' : ` to ${verb}`}`)
  }
  const value = given[field]
  const hint = type === ValueErrorType.ObjectAdditionalProperties
    ? didYouMean(steps.at(-1) as string, Object.keys(violated['properties'] ?? {}))
    : ''
  // serializers of some languages send null for fields that are not set
  const unset = value === null && !required.includes(field) ? '; leave it out instead of sending null' : ''
  const form = expected?.[field] ?? expectedOf(field, properties[field] as TSchema)
  return findOwnError(field, value, { place, type }) ?? refuse(place, `"${field}" must be ${form}${hint}${unset}`)
}

function describeUnknown (field: string, { schema, verb, kind }: Checked): string {
  const refused = `"${field}" is not allowed`
  if (kind?.ofWhole !== undefined && fieldNamed(field)?.in.operations !== undefined) return `${refused} ${kind.ofWhole}`
  const verbs = VERBS.filter((each) => kind !== undefined && Object.hasOwn(kind.schemas[each].properties, field))
  if (verbs.length > 0) return `${refused} with ${verb}; it is a field of ${verbs.join(', ')}`
  const [where, of] = verb === undefined ? ['here', ''] : [`with ${verb}`, ` of ${verb}`]
  const fields = Object.keys(schema.properties)
  return `${refused} ${where}${didYouMean(field, fields, `; the fields${of} are ${fields.join(', ')}`)}`
}

/** The error of a wrong field that has a code or a message of its own, not thrown. */
function findOwnError (
  field: string,
  value: unknown,
  { place, type }: { readonly place: Path, readonly type: ValueErrorType }
): ServiceError | undefined {
  switch (field) {
    case 'limit':
      return type === ValueErrorType.IntegerMinimum || type === ValueErrorType.IntegerMaximum
        ? at(place, limitOutOfRange(MAX_LIMIT))
        : undefined
    case 'orderBy':
      if (!Array.isArray(value)) return undefined
      if (value.length > MAX_COLUMNS) return at(place, invalidOrderBy(`contains more than ${MAX_COLUMNS} columns`))
      return value.every(isObject) ? at(place, invalidOrderBy(ORDER_TERMS)) : undefined
    case 'data':
      return isObject(value) ? refuse(place, '"data" must not be empty') : findListError(value)
    case 'onConflict':
      return findSetError(value)
    case 'expect':
      return hasNow(value)
        ? at(place, valueNotAllowed('"$now" is not allowed in "expect", which counts rows'))
        : undefined
  }
}

const ORDER_TERMS =
  'must be a list of objects with one column each, such as {"<column>": "DESC"} or {"<member>": {"<column>": ' +
  '"DESC"}}; the direction is ASC or DESC, also with NULLS FIRST or NULLS LAST'

const hasNow = (expect: unknown): boolean => isObject(expect) && !hasMany(expect) &&
  [expect, ...Object.values(expect)].some((each) => isObject(each) && Object.hasOwn(each, '$now'))

function findListError (data: unknown): ServiceError | undefined {
  if (!Array.isArray(data)) return undefined
  if (data.length === 0 || data.length > MAX_ROWS) return refuse(['data'], `"data" must have 1 to ${MAX_ROWS} rows`)
  return refuse(['data', data.findIndex((row) => !isObject(row))], 'a row must be an object of column values')
}

/** Finds an error in `set` of `onConflict` that its schema does not find, or not clearly. */
function findSetError (onConflict: unknown): ServiceError | undefined {
  const set = isObject(onConflict) ? onConflict['set'] : undefined
  if (JSON.isRawJSON(set)) {
    return refuse(['onConflict', 'set'], '"set" must be a list of column names or an object of column values')
  }
  return isObject(set) && objectKeys(set).length === 0
    ? refuse(
      ['onConflict', 'set'],
      '"set" must not be an empty object; an empty list leaves existing rows as they are'
    )
    : undefined
}

// The expected form of a field, for messages: derived from its schema.

const EXPECTED_TYPES = new Map<unknown, string>([
  ['boolean', 'true or false'],
  ['integer', 'a whole number'],
  ['number', 'a number'],
  ['string', 'a string'],
  ['object', 'an object']
])

/** Continues the sentence `"field" must be …`. */
function expectedOf (field: string, schema: TSchema): string {
  const { expected } = fieldNamed(field) ?? {}
  if (expected !== undefined) return expected
  const {
    type,
    anyOf = [],
    minItems = 0,
    maxItems
  } = schema as { type?: unknown; anyOf?: ReadonlyArray<{ const?: unknown }>; minItems?: number; maxItems?: number }
  if (anyOf.length > 0 && anyOf.every((each) => each.const !== undefined)) {
    return `one of ${anyOf.map((each) => each.const).join(', ')}`
  }
  if (type === 'array') {
    return maxItems === undefined ? `a list of ${field}` : `a list of ${minItems} to ${maxItems} ${field}`
  }
  return EXPECTED_TYPES.get(type) ?? 'what the OpenAPI document says'
}

export const refuse = (path: Path, message: string): ServiceError => at(path, invalidBody(message))

/** INVALID_BODY for a field that may not stand there, whatever its value. */
export const refuseField = (path: Path, message: string): ServiceError =>
  Object.assign(refuse(path, message), { refusesField: true as const })
