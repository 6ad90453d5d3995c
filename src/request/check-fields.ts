/**
 * Checks the fields of a body or member: each by the compiled schema, and which stand beside each other by the rows of
 * schemas/fields.ts.
 */
import { Kind, type TArray, type TObject, type TSchema, TypeRegistry } from '@sinclair/typebox'
import { type TypeCheck, TypeCompiler } from '@sinclair/typebox/compiler'
import { Errors, type ValueError, type ValueErrorIterator, ValueErrorType } from '@sinclair/typebox/errors'
import { type Field, FIELDS } from '../../schemas/fields.ts'
import type { Verb } from '../../schemas/grants.ts'
import { getOrCreate } from '../bounded-map.ts'
import type { Path, ServiceError } from '../errors.ts'
import { hasMany, isObject, objectKeys } from '../json/exact-json.ts'
import { stepsOf } from '../json/plain-values.ts'
import { type Checked, describeViolation, refuse, refuseField, type Violation } from './field-errors.ts'

/** Compiled when they are first used. */
const checks = new WeakMap<TObject, TypeCheck<TObject>>()

/** Finds the first error of an object of fields by its schema, not thrown. */
export function findFieldError (given: Readonly<Record<string, unknown>>, checked: Checked): ServiceError | undefined {
  const violation = findViolation(given, checked.schema)
  return violation && describeViolation(given, violation, checked)
}

function findViolation (given: Readonly<Record<string, unknown>>, schema: TObject): Violation | undefined {
  const { properties, required = [] } = schema
  if (hasMany(given)) {
    const missing = required.find((name) => !Object.hasOwn(given, name))
    const field = missing ?? objectKeys(given).find((name) => !Object.hasOwn(properties, name)) as string
    return { steps: [field], type: ValueErrorType.ObjectAdditionalProperties, violated: schema }
  }
  const check = getOrCreate(checks, schema, () => compileFields(schema))
  if (check.Check(given)) return undefined
  const { path, type, schema: violated } = firstError(check, given)
  return { steps: stepsOf(path), type, violated }
}

// Compiles the schemas with kinds of our own in place of some of TypeBox's, which take fewer steps for the same result,
// and none for each key of an object with many.

/** A list of different strings, whose repeats TypeBox finds by a hash of each item with integers of 64 bits. */
const NAMES = 'RowQueryNames'
/** An object of any keys and values, each of which TypeBox would look at. */
const VALUES = 'RowQueryValues'
/** A list of such objects, for each of which TypeBox would look their kind up. */
const ROWS = 'RowQueryRows'
/** An object of few keys. TypeBox would list the keys of one with many several times. */
const FEW = 'RowQueryFew'

/** `plain`: the schema that TypeBox checks, whose errors say where in the list they are. */
type Names = TArray & { readonly plain: TSchema }
type Few = TSchema & { readonly inner: TypeCheck<TSchema> }

TypeRegistry.Set<TObject>(VALUES, ({ minProperties = 0 }, value) =>
  isObject(value) && (minProperties === 0 || objectKeys(value).length >= minProperties))

TypeRegistry.Set<TArray>(ROWS, ({ minItems = 0, maxItems = Infinity }, value) =>
  Array.isArray(value) && value.length >= minItems && value.length <= maxItems && value.every(isObject))

TypeRegistry.Set<Few>(FEW, ({ inner }, value) => !isCrowd(value) && inner.Check(value))

TypeRegistry.Set<Names>(
  NAMES,
  ({ minItems = 0, maxItems = Infinity }, value) =>
    Array.isArray(value) &&
    value.length >= minItems &&
    value.length <= maxItems &&
    value.every((item) => typeof item === 'string') &&
    new Set(value).size === value.length
)

/** Whether the keys of a value must not be listed again. */
const isCrowd = (value: unknown): boolean => isObject(value) && hasMany(value)

/** The object itself may have many keys, which the caller has looked at. */
const compileFields = (schema: TObject): TypeCheck<TObject> => TypeCompiler.Compile(withOwnKinds(schema))

/** The first error of a value that the compiled schema refuses, at the innermost place that there is one. */
function firstError (check: TypeCheck<TSchema>, value: unknown): ValueError {
  let path = ''
  for (let errors: ValueErrorIterator | undefined = check.Errors(value); ;) {
    const error = errors.First() as ValueError
    path += error.path
    errors = errorsWithin(error)
    if (errors === undefined) return { ...error, path }
  }
}

function errorsWithin ({ schema, value }: ValueError): ValueErrorIterator | undefined {
  if (schema[Kind] === NAMES) return Errors((schema as Names).plain, [], value)
  return schema[Kind] === FEW && !isCrowd(value) ? (schema as Few).inner.Errors(value) : undefined
}

function withOwnKinds<T extends TSchema> (schema: T): T {
  return Object.fromEntries(Reflect.ownKeys(schema).map((key) => [key, replaceIn(schema[key as string])])) as T
}

function replaceIn (value: unknown): unknown {
  if (Array.isArray(value)) return value.map(replaceIn)
  if (!isObject(value)) return value
  const schema = value as unknown as TSchema
  const inner = withOwnKinds(schema)
  if (schema['uniqueItems'] === true && (schema as unknown as TArray).items[Kind] === 'String') {
    return { ...inner, [Kind]: NAMES, plain: schema }
  }
  if (schema['type'] === 'array' && isAny(schema['items'])) return { ...inner, [Kind]: ROWS }
  if (schema['type'] !== 'object') return inner
  return isOpen(schema) ? { ...inner, [Kind]: VALUES } : { ...inner, [Kind]: FEW, inner: TypeCompiler.Compile(inner) }
}

/** Objects of any size with any keys and values. */
const isAny = (schema: TSchema): boolean =>
  schema['type'] === 'object' && isOpen(schema) && schema['minProperties'] === undefined

/** Any key with any value is allowed. */
function isOpen ({ additionalProperties, patternProperties = {} }: TSchema): boolean {
  const [values] = Object.values(patternProperties as Readonly<Record<string, TSchema>>)
  return additionalProperties === true || values?.[Kind] === 'Unknown'
}

// Which fields stand beside each other.

type Fields = Readonly<Record<string, unknown>>

/** What a row says of its field and others. A field that is false is the same as none. */
interface Rule {
  readonly field: string
  /** The rule is about members of `include`, and the field is one of the body. */
  readonly isOfBody?: true
  /** They are not allowed with the field. */
  readonly excludes?: readonly string[]
  /** The field needs one of them. */
  readonly oneOf?: readonly string[]
  /** The field is there if this one is a list, and only then. */
  readonly list?: string
  readonly why?: string | undefined
}

const rows = Object.entries<Field>(FIELDS)

/**
 * Verb or member -> its rules; of those that exclude fields, those that exclude fewer come first. A request has none of
 * the fields of a select in a transaction.
 */
const RULES: ReadonlyMap<string, readonly Rule[]> = Map.groupBy<string, Rule & { readonly place: string }>([
  ...rows.flatMap(([field, { excludesOfMembers: excludes }]) =>
    excludes === undefined ? [] : [{ place: 'member', field, excludes, isOfBody: true as const }]),
  ...rows
    .flatMap(([field, { excludes = {} }]) =>
      Object.entries(excludes).map(([place, names]) => ({ place, field, excludes: names })))
    .sort((one, other) => one.excludes.length - other.excludes.length),
  ...rows.flatMap(([field, { withList = {}, requires = {} }]) => [
    ...Object.entries(withList).map(([place, { field: list, why }]) => ({ place, field, list, why })),
    ...Object.entries(requires).map(([place, others]) => ({ place, field, ...others }))
  ])
], ({ place }) => place === 'selectInTransaction' ? 'select' : place)

/** INVALID_BODY for fields that do not go together, not thrown. `body`: that of a member. */
export function findConflict (
  place: Verb | 'member',
  fields: object,
  body = fields,
  path?: Path
): ServiceError | undefined {
  const rules = RULES.get(place) as readonly Rule[]
  for (let index = 0; index < rules.length; index++) {
    const { field, isOfBody, excludes, oneOf, list, why } = rules[index] as Rule
    const value = ((isOfBody === true ? body : fields) as Fields)[field]
    const isThere = value !== undefined && value !== false
    if (list !== undefined && Array.isArray((fields as Fields)[list]) !== isThere) {
      return refuse([field], isThere
        ? `"${field}" is only allowed with a list in "${list}"`
        : `"${field}" is required with a list in "${list}": ${why}`)
    }
    if (!isThere) continue
    const excluded = excludes?.find((name) => Object.hasOwn(fields, name))
    if (excluded !== undefined) {
      const message = isOfBody === true
        ? `"${excluded}" of a member is not allowed beside "${field}" of the request`
        : `"${excluded}" is not allowed with "${field}"`
      return refuseField([...path ?? [], excluded], message)
    }
    if (oneOf?.every((name) => (fields as Fields)[name] === undefined) === true) {
      return refuse([field], `"${field}" requires "${oneOf.join('" or "')}"${why === undefined ? '' : `: ${why}`}`)
    }
  }
  return undefined
}
