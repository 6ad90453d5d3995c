/** JSON Schemas as a document has them: plain objects, made by spreading those of TypeBox. */

/** A JSON Schema (2020-12), or another object of an OpenAPI document. */
export interface Schema { readonly [keyword: string]: unknown }

export type Schemas = Readonly<Record<string, Schema>>

/** A reference to a schema of the document. */
export function refTo (name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** What a schema says its value may be: the members of a union, or itself. */
export function membersOf (schema: Schema): readonly Schema[] {
  return (schema['anyOf'] as Schema[] | undefined) ?? [schema]
}

/** Any of several; one alone is itself. */
export function anyOf (members: readonly Schema[]): Schema {
  return members.length === 1 ? members[0] as Schema : { anyOf: members }
}

/** The same or null. A schema without a type takes null already. */
export function orNull (schema: Schema): Schema {
  if (schema['anyOf'] !== undefined) return { ...schema, anyOf: [...membersOf(schema), { type: 'null' }] }
  if (schema['type'] === undefined) return schema
  const members = schema['enum'] as unknown[] | undefined
  return { ...schema, type: [schema['type'], 'null'], ...(members !== undefined && { enum: [...members, null] }) }
}

/** An object that has these properties and no others. */
export function closedObject (properties: Iterable<readonly [string, Schema]>, rest: Schema = {}): Schema {
  // fromEntries makes a property of every name, `__proto__` included
  return { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false, ...rest }
}

/**
 * The text with what would become HTML, a link or a picture written so that it is shown as it stands. Everything else is left:
 * generators put descriptions into comments of programs, where escapes are read by people.
 */
export function plainText (text: string): string {
  return text.replace(/<(?=[A-Za-z/!?])/g, '&lt;').replace(/\](?=[([:])/g, ']\\')
}
