/** The expected form of a field, for messages: derived from its schema. */
import type { TSchema } from '@sinclair/typebox'

const FORMS = new Map<unknown, string>([['boolean', 'true or false'], ['integer', 'a whole number'], ['number', 'a number'], ['string', 'a string'], ['object', 'an object']])

/** Continues the sentence `"field" must be …`. */
export function formOf (field: string, schema: TSchema): string {
  const { type, anyOf = [], minItems = 0, maxItems } = schema as { type?: unknown, anyOf?: ReadonlyArray<{ const?: unknown }>, minItems?: number, maxItems?: number }
  if (anyOf.length > 0 && anyOf.every((each) => each.const !== undefined)) return `one of ${anyOf.map((each) => each.const).join(', ')}`
  if (type === 'array') return maxItems === undefined ? `a list of ${field}` : `a list of ${minItems} to ${maxItems} ${field}`
  return FORMS.get(type) ?? 'what the OpenAPI document says'
}
