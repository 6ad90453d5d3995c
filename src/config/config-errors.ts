import type { TSchema } from '@sinclair/typebox'
import { Value, ValueErrorType, type ValueError } from '@sinclair/typebox/value'

/** A configuration that cannot be used. Its message has one line for each mistake, naming the setting and never a secret. */
export class ConfigError extends Error {
  readonly code = 'ROW_QUERY_INVALID_CONFIG'
  readonly errors: readonly string[]

  constructor (errors: readonly string[]) {
    super(errors.join('\n'))
    this.name = 'ConfigError'
    this.errors = errors
  }
}

/**
 * What a value has wrong by its schema, a line for each place: `databases.shop.pool.size: must be a whole number …`.
 * `names` gives what a person knows a setting by, where that is not its place: `PORT` for `port`.
 */
export function findConfigErrors (schema: TSchema, value: unknown, names: ReadonlyMap<string, string> = new Map()): string[] {
  const byPlace = new Map<string, string>()
  for (const { path, ...error } of Value.Errors(schema, value)) {
    const place = placeOf(path)
    if (!byPlace.has(place)) byPlace.set(place, `${names.get(place) ?? place}: ${describe(error)}`)
  }
  return [...byPlace.values()]
}

/** A JSON Pointer as people write it: `databases.shop.url`. */
function placeOf (path: string): string {
  return path.slice(1).split('/').map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~')).join('.') || 'configuration'
}

function describe ({ type, schema }: Pick<ValueError, 'type' | 'schema'>): string {
  if (type === ValueErrorType.ObjectAdditionalProperties) return strange(schema)
  const rule = type === ValueErrorType.ObjectRequiredProperty ? 'is required' : `must be ${formOf(schema)}`
  return schema.description === undefined ? rule : `${rule} (${schema.description})`
}

/** Names that are not known, or in a record not allowed. */
function strange ({ properties, description }: TSchema): string {
  return properties === undefined ? `has a name that is not allowed (${description})` : `is no setting; there are ${Object.keys(properties).join(', ')}`
}

const forms = {
  boolean: () => 'true or false',
  integer: ({ minimum, maximum }: TSchema) => maximum === undefined ? `a whole number of at least ${minimum}` : `a whole number from ${minimum} to ${maximum}`,
  string: ({ const: literal, minLength = 0, maxLength }: TSchema) => {
    if (literal !== undefined) return JSON.stringify(literal)
    if (maxLength !== undefined) return `text of ${minLength} to ${maxLength} characters`
    return minLength > 0 ? 'text, not empty' : 'text'
  },
  array: ({ minItems = 0, uniqueItems }: TSchema) => `a list${minItems > 0 ? ', not empty' : ''}${uniqueItems === true ? ', without repeats' : ''}`,
  object: ({ minProperties = 0 }: TSchema) => minProperties > 0 ? 'an object, not empty' : 'an object'
}

/** What a schema of ours takes, in words. */
function formOf (schema: TSchema): string {
  if (schema['anyOf'] !== undefined) return (schema['anyOf'] as TSchema[]).map(formOf).join(' or ')
  return forms[schema['type'] as keyof typeof forms](schema)
}

/** Where JSON is not valid, as far as it is known. Only the place: the rest of a parser's message quotes the file, in which there are secrets. */
export function placeOfSyntaxError ({ message }: SyntaxError): string {
  const [place] = /line \d+ column \d+/.exec(message) ?? []
  return place === undefined ? '' : `, ${place}`
}
