/** JSON Schemas of a document: plain objects, derived from those of TypeBox. */
import type { Verb } from '../../schemas/grant.ts'

/** A JSON Schema (2020-12), or another object of an OpenAPI document. */
export interface Schema { readonly [keyword: string]: unknown }

export type Schemas = Readonly<Record<string, Schema>>

/** A reference to a schema of the document. */
export function refTo (name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** Returns the members of a union, or the schema itself. */
export function membersOf (schema: Schema): readonly Schema[] {
  return (schema['anyOf'] as Schema[] | undefined) ?? [schema]
}

/** Returns a union of the members; a single member is returned itself. */
export function anyOf (members: readonly Schema[]): Schema {
  return members.length === 1 ? members[0] as Schema : { anyOf: members }
}

/** Returns a union of the schemas with these names, which the field `verb` distinguishes. */
export function unionByVerb (verbs: readonly Verb[], nameOf: (verb: Verb) => string): Schema {
  const references = verbs.map((verb) => [verb, refTo(nameOf(verb))] as const)
  const mapping = Object.fromEntries(references.map(([verb, { $ref }]) => [verb, $ref]))
  return { oneOf: references.map(([, reference]) => reference), discriminator: { propertyName: 'verb', mapping } }
}

/** Returns the schema with null allowed. A schema without a type already allows null. */
export function orNull (schema: Schema): Schema {
  if (schema['anyOf'] !== undefined) return { ...schema, anyOf: [...membersOf(schema), { type: 'null' }] }
  if (schema['type'] === undefined) return schema
  const members = schema['enum'] as unknown[] | undefined
  return { ...schema, type: [...new Set([schema['type'], 'null'].flat())], ...(members !== undefined && { enum: [...members, null] }) }
}

/** Returns the schema of an object that has no other properties. */
export function closedObject (properties: Iterable<readonly [string, Schema]>, rest: Schema = {}): Schema {
  // fromEntries also creates a property called `__proto__`
  return { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false, ...rest }
}

/** A condition: the object has the property. It defines the property, because Redocly reports undefined required properties as errors. */
export function requiring (name: string, schema: Schema = {}): Schema {
  return { required: [name], ...defining({ [name]: schema }) }
}

/** A condition on some properties of an object. */
export function defining (properties: Readonly<Record<string, Schema | false>>): Schema {
  return { properties, additionalProperties: true }
}

/**
 * Escapes HTML, links and images in a text of the database, such as a comment, for descriptions, which are Markdown (CommonMark).
 * Other characters stay unescaped: generators copy descriptions into comments of source code.
 */
export function plainText (text: string): string {
  return text.replace(/<(?=[A-Za-z/!?])/g, '&lt;').replace(/\](?=[([:])/g, ']\\')
}
