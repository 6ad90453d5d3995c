import type { TSchema } from '@sinclair/typebox'
import { Value, type ValueError, ValueErrorType, ValuePointer } from '@sinclair/typebox/value'
import { didYouMean, pointer } from './errors.ts'
import { isObject } from './json/exact-json.ts'
import { stepsOf } from './json/plain-values.ts'

/**
 * An invalid configuration. The message has one line for each error, which names the setting and does not contain its
 * value.
 */
export class ConfigError extends Error {
  readonly code = 'ROW_QUERY_INVALID_CONFIG'
  readonly errors: readonly string[]

  constructor (errors: readonly string[]) {
    const lines = errors.map(toLine)
    super(lines.join('\n'))
    this.name = 'ConfigError'
    this.errors = lines
  }
}

/** A name in a file can have line breaks. */
const toLine = (text: string): string =>
  text.replace(/[\p{Cc}\u2028\u2029]/gu, (control) => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`)

/**
 * Checks a value against a schema and returns one line for each invalid setting, such as `databases.shop.pool.size:
 * must be an integer …`. `names` has the names of settings that do not come from the configuration file, such as `PORT`
 * for `port`.
 */
export function findConfigErrors (
  schema: TSchema,
  value: unknown,
  names: ReadonlyMap<string, string> = new Map()
): string[] {
  const bySetting = new Map<string, string>()
  for (const { path, ...error } of errorsOf(schema, value)) {
    const setting = settingOf(path)
    const name = stepsOf(path).at(-1) ?? ''
    if (!bySetting.has(setting)) bySetting.set(setting, `${names.get(setting) ?? setting}: ${describe(error, name)}`)
  }
  return [...bySetting.values()]
}

/** If a value fits no member of a union, returns the errors of the only member with its JSON type. */
function * errorsOf (
  schema: TSchema,
  value: unknown,
  parent = ''
): Generator<Pick<ValueError, 'path' | 'type' | 'schema'>> {
  for (const error of Value.Errors(schema, value)) {
    const path = parent + error.path
    const members =
      error.type === ValueErrorType.Union
        ? (error.schema['anyOf'] as TSchema[]).filter(({ type }) => type === typeOf(error.value))
        : []
    if (members.length === 1 && typeof error.value === 'object') {
      yield * errorsOf(members[0] as TSchema, error.value, path)
    } else {
      for (const each of pathsOf(error, value)) yield { path: parent + each, type: error.type, schema: error.schema }
    }
  }
}

/** TypeBox names the first key of a record that its pattern refuses: returns the paths of all of them. */
function pathsOf ({ path, type, schema: { patternProperties } }: ValueError, value: unknown): string[] {
  if (type !== ValueErrorType.ObjectAdditionalProperties || patternProperties === undefined) return [path]
  const [pattern] = Object.keys(patternProperties as object)
  const record = path.slice(0, path.lastIndexOf('/'))
  return Object.keys(ValuePointer.Get(value, record) as object).filter((name) => !RegExp(pattern as string).test(name))
    .map((name) => record + pointer(name))
}

const typeOf = (value: unknown): string => value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value

/** Such as `databases.shop.url`. */
function settingOf (path: string): string {
  return stepsOf(path).join('.') || 'configuration'
}

function describe ({ type, schema }: Pick<ValueError, 'type' | 'schema'>, name: string): string {
  if (type === ValueErrorType.ObjectAdditionalProperties) return describeUnknown(schema, name)
  if (type === ValueErrorType.StringPattern && schema.description !== undefined) return `must be ${schema.description}`
  const rule = type === ValueErrorType.ObjectRequiredProperty ? 'is required' : `must be ${formOf(schema)}`
  return schema.description === undefined ? rule : `${rule} (${schema.description})`
}

/** An unknown setting, or an invalid key of a record. */
function describeUnknown ({ properties, description }: TSchema, name: string): string {
  if (properties === undefined) return `is not a valid name (${description})`
  const names = Object.keys(properties)
  return `is not a setting${didYouMean(name, names, `; the settings are ${names.join(', ')}`)}`
}

const forms = {
  boolean: () => 'true or false',
  integer: ({ minimum, maximum }: TSchema) =>
    maximum === undefined ? `an integer of at least ${minimum}` : `an integer from ${minimum} to ${maximum}`,
  number: () => 'a number',
  null: () => 'null',
  string: ({ const: literal, minLength = 0, maxLength }: TSchema) => {
    if (literal !== undefined) return JSON.stringify(literal)
    if (maxLength !== undefined) return `a string of ${minLength} to ${maxLength} characters`
    return minLength > 0 ? 'a string that is not empty' : 'a string'
  },
  array: ({ minItems = 0, uniqueItems }: TSchema) =>
    `a list${minItems > 0 ? ' that is not empty' : ''}${uniqueItems === true ? ', without duplicates' : ''}`,
  object: ({ minProperties = 0, maxProperties }: TSchema) => {
    if (maxProperties !== undefined) return `an object of at most ${maxProperties} entries`
    return minProperties > 0 ? 'an object that is not empty' : 'an object'
  }
}

function formOf (schema: TSchema): string {
  if (schema['anyOf'] !== undefined) return (schema['anyOf'] as TSchema[]).map(formOf).join(' or ')
  return forms[schema['type'] as keyof typeof forms](schema)
}

/**
 * Returns what `make` returns. If it throws, throws the error that `toError` makes instead, because the message may
 * contain a secret.
 */
export function orThrow<T> (make: () => T, toError: (error: Error) => Error): T {
  try {
    return make()
  } catch (error) {
    throw toError(error as Error)
  }
}

/** The text of a file in UTF-8, without a byte order mark (RFC 8259, section 8.1). @throws Error if it is none */
export const decodeUtf8 = (bytes: Uint8Array): string => orThrow(
  () => new TextDecoder('utf-8', { fatal: true }).decode(bytes), () => new Error('is not UTF-8 text')
)

export function succeeds (make: () => unknown): boolean {
  try {
    make()
    return true
  } catch {
    return false
  }
}

/**
 * Returns a list with the result of `make`. If `make` throws, adds `begin` and the message to `errors`, and returns an
 * empty list.
 */
export function collect<T> (errors: string[], begin: string, make: () => T): T[] {
  try {
    return [make()]
  } catch (error) {
    errors.push(begin + (error as Error).message)
    return []
  }
}

// Invalid settings are left out, so that the rest is checked as well and all errors are reported at once.

/** Settings with named or numbered entries, each of which is left out alone. */
const LISTS = ['tokens', 'jwt']
const RECORDS = ['databases', 'roles', 'requests']

/**
 * Leaves out the settings at the beginning of the lines of `errors`: settings, entries of records, and entries of
 * lists, which become undefined so that the others keep their indexes.
 */
export function withoutInvalid (
  config: Readonly<Record<string, unknown>>,
  errors: readonly string[]
): Record<string, unknown> {
  if (errors.length === 0) return config
  const isInvalid = (setting: string): boolean =>
    errors.some((line) => line.startsWith(`${setting}:`) || line.startsWith(`${setting}.`))
  return Object.fromEntries(
    Object.entries(config).flatMap(([name, value]): Array<[string, unknown]> => {
      if (!isInvalid(name)) return [[name, value]]
      if (LISTS.includes(name) && Array.isArray(value)) {
        return [[name, value.map((entry, index) => (isInvalid(`${name}.${index}`) ? undefined : entry))]]
      }
      if (RECORDS.includes(name) && isObject(value)) {
        return [[name, Object.fromEntries(Object.entries(value).filter(([key]) => !isInvalid(`${name}.${key}`)))]]
      }
      return []
    })
  )
}
