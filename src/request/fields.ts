/** The fields of bodies and members: their descriptions in messages, and a faster check. */
import { Kind, TypeRegistry, type TArray, type TSchema } from '@sinclair/typebox'
import { ValueErrorType } from '@sinclair/typebox/errors'
import { MAX_LIMIT } from '../../schemas/body.ts'
import { BOUNDS } from '../../schemas/filters.ts'
import { at, invalidOrderBy, limitOutOfRange, type Path, type ServiceError } from '../errors.ts'
import { AGGREGATES, GROUP_BY } from './field-combinations.ts'
import { formOf } from './field-form.ts'
import { isObject } from '../json/exact-json.ts'

const INCLUDE = 'an object of at least one member, such as {"<name>": {"table": "<table>"}}'

/** The expected form of fields, for messages, if their schemas do not describe it well. */
const FORMS: ReadonlyMap<string, string> = new Map([
  ['filters', 'an object of filters'],
  ['data', 'an object of column values'],
  ['onConflict', 'an object with "key", a list of column names without repeats, and optionally "set", such a list or an object of column values'],
  ['columns', 'a list of column names, not empty and without repeats; leave it out for all columns'],
  ['orderBy', 'a string or a list of objects'],
  ['groupBy', GROUP_BY],
  ['aggregates', AGGREGATES],
  ['having', 'an object of filters'],
  ['after', 'null or an object of column values'],
  ['offset', 'a whole number from 0'],
  ['total', 'true or a whole number from 1'],
  ['returning', '"*", or a list of column names, not empty and without repeats'],
  ['expect', `a whole number from 0, or an object of ${BOUNDS.join(', ')} and such numbers`],
  ['include', INCLUDE],
  ['table', 'the name of a table'],
  ['on', 'an object of columns: of this table to those of the other table']
])

/** Says what a field must be, for messages. */
export const describeForm = (field: string, schema: TSchema): string => `"${field}" must be ${FORMS.get(field) ?? formOf(field, schema)}`

/** The requirement for a list of terms, for messages. */
const ORDER_TERMS = 'must be a list of objects with one column each, such as {"<column>": "DESC"} or {"<member>": {"<column>": "DESC"}}; the direction is ASC or DESC'

/** Whether `orderBy` is a list of objects, valid or not. */
function isListOfTerms ({ orderBy }: { orderBy?: unknown }): boolean {
  return Array.isArray(orderBy) && orderBy.every(isObject)
}

/** A value of a body or member that does not match its schema. */
export interface WrongField {
  readonly field: string
  readonly path: Path | string
  readonly type: ValueErrorType
}

/** Returns the error of a wrong field whose errors have a code of their own, not thrown. `fields`: the body or member. */
export function findOwnError ({ field, path, type }: WrongField, fields: { readonly orderBy?: unknown }): ServiceError | undefined {
  if (field === 'limit' && (type === ValueErrorType.IntegerMinimum || type === ValueErrorType.IntegerMaximum)) return at(path, limitOutOfRange(MAX_LIMIT))
  return field === 'orderBy' && isListOfTerms(fields) ? at(path, invalidOrderBy(ORDER_TERMS)) : undefined
}

/** TypeBox's kind of a list of different strings. */
const NAMES = 'RowQueryNames'

TypeRegistry.Set<TArray>(NAMES, ({ minItems = 0, maxItems = Infinity }, value) => Array.isArray(value) && value.length >= minItems &&
  value.length <= maxItems && value.every((item) => typeof item === 'string') && new Set(value).size === value.length)

/**
 * Replaces the kind of such lists, because TypeBox finds repeats by a hash of each item with integers of 64 bits, which takes a fifth of the
 * time of a request for the names of eight columns.
 */
export function withNames<T extends TSchema> (schema: T): T {
  const isNames = schema['uniqueItems'] === true && (schema as unknown as TArray).items[Kind] === 'String'
  const entries = Reflect.ownKeys(schema).map((key) => [key, replaceIn(schema[key as string])])
  return { ...Object.fromEntries(entries), ...(isNames && { [Kind]: NAMES }) }
}

const replaceIn = (value: unknown): unknown => Array.isArray(value) ? value.map(replaceIn) : isObject(value) ? withNames(value as unknown as TSchema) : value
