import type { Verb } from '../../schemas/grants.ts'
import type { Column } from '../catalog/catalog.ts'
import { getOrCreate } from '../bounded-map.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { readDefault } from '../types/update-operators.ts'

// Plain objects, derived from those of TypeBox.

/** A JSON Schema (2020-12), or another object of an OpenAPI document. */
export interface Schema { readonly [keyword: string]: unknown }

export type Schemas = Readonly<Record<string, Schema>>

export function refTo (name: string): Schema {
  return { $ref: `#/components/schemas/${name}` }
}

/** The schema itself if it is no union. */
export function membersOf (schema: Schema): readonly Schema[] {
  return (schema['anyOf'] as Schema[] | undefined) ?? [schema]
}

/** A single member is returned itself. */
export function anyOf (members: readonly Schema[]): Schema {
  return members.length === 1 ? members[0] as Schema : { anyOf: members }
}

/** The field `verb` distinguishes them. */
export function unionByVerb (verbs: readonly Verb[], nameOf: (verb: Verb) => string): Schema {
  const references = verbs.map((verb) => [verb, refTo(nameOf(verb))] as const)
  const mapping = Object.fromEntries(references.map(([verb, { $ref }]) => [verb, $ref]))
  return { oneOf: references.map(([, reference]) => reference), discriminator: { propertyName: 'verb', mapping } }
}

/** A schema without a type already allows null. */
export function orNull (schema: Schema): Schema {
  if (schema['anyOf'] !== undefined) return { ...schema, anyOf: [...membersOf(schema), { type: 'null' }] }
  if (schema['type'] === undefined) return schema
  const members = schema['enum'] as unknown[] | undefined
  return {
    ...schema,
    type: [...new Set([schema['type'], 'null'].flat())],
    ...(members !== undefined && { enum: [...members, null] })
  }
}

export function closedObject (properties: Iterable<readonly [string, Schema]>, rest: Schema = {}): Schema {
  // fromEntries also creates a property called `__proto__`
  return { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false, ...rest }
}

/**
 * Escapes HTML, links and images in a text of the database, such as a comment, for descriptions, which are Markdown
 * (CommonMark). Other characters stay unescaped: generators copy descriptions into comments of source code.
 */
export function plainText (text: string): string {
  return text.replace(/<(?=[A-Za-z/!?])/g, '&lt;').replace(/\](?=[([:])/g, ']\\')
}

/**
 * An object whose keys all begin with `$` is read as operators: a JSON value that looks so is only sent in one,
 * `{"$eq": value}`, and in an update `{"$merge": {…}}`.
 */
export const notLikeOperator = (...operators: Schema[]): Schema => ({
  not: { type: 'object', minProperties: 1, propertyNames: { pattern: '^\\$' }, not: anyOf(operators) }
})
const EQUAL = { required: ['$eq'], properties: { $eq: {} }, maxProperties: 1 }
export const DEFAULT = 'Default'
export const DEFAULT_FORM: Schema = {
  type: 'object',
  properties: { $default: { type: 'boolean', enum: [true] } },
  additionalProperties: false,
  required: ['$default'],
  description: 'The default of the column, which the database computes.'
}
export const hasDefault = ({ optional, autoIncrement }: Column): boolean => optional && !autoIncrement
const MERGE = { required: ['$merge'], properties: { $merge: { type: 'object' } }, maxProperties: 1 }

/** What a write accepts for the column. */
export function takenSchema (column: Column, verb: 'insert' | 'update'): Schema {
  const schema = ownSchema(column)
  if (column.type.holdsJson !== true) return schema
  if (verb === 'insert') return { ...schema, ...notLikeOperator(EQUAL) }
  return { ...schema, ...notLikeOperator(EQUAL, MERGE, ...hasDefault(column) ? [DEFAULT_FORM] : []) }
}

function ownSchema (column: Column): Schema {
  return getOrCreate(schemasByColumn, column, () => describe(column, membersOf(column.type.schema)))
}

/** Cache: a document needs the schema of each column several times. */
const schemasByColumn = new WeakMap<Column, Schema>()

/** The schema of values that a select returns, without the `writeOnly` members of the union. */
export function shownSchema (column: Column): Schema {
  const members = membersOf(column.type.schema)
  const shown = members.filter(isShown)
  return shown.length < members.length ? describe(column, shown) : ownSchema(column)
}

/** The same for a type, without the annotations of a column. */
export function shownOf (schema: Schema): Schema {
  return anyOf(membersOf(schema).filter(isShown).map(bare))
}

const isShown = (member: Schema): boolean => member['writeOnly'] !== true

/** Returns the schema without annotations of the type. */
export function bare ({ title, examples, description, writeOnly, ...schema }: Schema): Schema {
  return schema
}

const INT32 = 2 ** 31 - 1
const ANY = '^(.*)$'

/**
 * Converts a schema of TypeBox to what generators of clients support: `enum` for constants, `additionalProperties` for
 * free names, the format of large integers, and `x-default` for `default`, for the same reason as in insertSchema
 * (table-schemas.ts). `forTool`: keeps defaults, and lists names of properties that begin with `$` as `propertyNames`,
 * because the APIs of some models refuse them.
 */
export function toDocument (schema: Schema, forTool = false): Schema {
  const {
    default: fallback, const: constant, anyOf, items, properties = {}, patternProperties, additionalProperties: more,
    ...rest
  } = schema as {
    readonly [keyword: string]: unknown
    readonly maximum?: number
    readonly anyOf?: readonly Schema[]
    readonly items?: Schema
    readonly properties?: Schemas
    readonly patternProperties?: Schemas
  }
  const convert = (each: Schema): Schema => toDocument(each, forTool)
  const constants = anyOf?.map((each) => each['const']) ?? [undefined]
  if (!constants.includes(undefined)) return { ...rest, type: 'string', enum: constants }
  const [[pattern, values] = []] = Object.entries(patternProperties ?? {})
  const names = Object.keys(properties)
  const areNamed = !forTool || names.every((name) => /^[\w.-]{1,64}$/.test(name))
  return {
    ...rest,
    ...(fallback !== undefined && { [forTool ? 'default' : 'x-default']: fallback }),
    ...(constant !== undefined && { enum: [constant] }),
    ...(!forTool && (rest.maximum ?? 0) > INT32 && { format: 'int64' }),
    ...(anyOf !== undefined && { anyOf: anyOf.map(convert) }),
    ...(items !== undefined && { items: convert(items) }),
    ...(names.length > 0 && (areNamed
      ? { properties: Object.fromEntries(Object.entries(properties).map(([name, each]) => [name, convert(each)])) }
      : { propertyNames: { enum: names } })),
    ...(values !== undefined
      ? { additionalProperties: convert(values), ...(pattern !== ANY && { propertyNames: { pattern } }) }
      : typeof more === 'object'
        ? { additionalProperties: convert(more as Schema) }
        : more !== undefined && areNamed && { additionalProperties: more })
  }
}

function describe (column: Column, members: readonly Schema[]): Schema {
  const { nullable, declaration, type } = column
  const schema = anyOf(members.map(bare))
  const description = plainText([column.comment, type.schema.description].filter(Boolean).join('\n'))
  return {
    ...(nullable ? orNull(schema) : schema),
    ...(description !== '' && { description }),
    'x-sql-type': declaration
  }
}

/** As JSON (`{ value: 0 }`) if it is a constant that the type accepts. */
export function findDefault ({ type, defaultText }: Column): { readonly value: unknown } | undefined {
  const value = defaultText === null ? undefined : readDefault(type, defaultText)
  const shown = value === undefined ? null : parseExactJson(type.storedJson(value))
  return shown === null ? undefined : { value: shown }
}

// Names of schemas and operations that are valid identifiers in the languages of generated clients.

/** In Pascal case: `order_items` -> `OrderItems`, `2024 täglich` -> `2024Taglich`. */
export function joinWords (text: string): string {
  const words = text.normalize('NFKD').replace(/\p{M}/gu, '')
    .replace(/([a-z\d])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$3 $2')
    .match(/[A-Za-z\d]+/g) ?? []
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1).toLowerCase()).join('')
}

/** In Pascal case, beginning with a letter: `2024_logs` -> `Table2024Logs`. */
export function pascalCase (text: string): string {
  const name = joinWords(text)
  return /^[A-Z]/.test(name) ? name : 'Table' + name
}

export interface Names {
  /** Reserves the name with each ending; adds a number if the name is in use. */
  take (name: string, endings?: readonly string[]): string
}

/** The names of one document. They are case-insensitive, because some generators write one file for each name. */
export function createNames (taken: readonly string[]): Names {
  const used = new Set(taken.map((name) => name.toLowerCase()))
  // the last number of each name, because hundreds of tables with names without Latin letters would get the same name
  const numbers = new Map<string, number>()
  return {
    take (name, endings = ['']) {
      for (let number = numbers.get(name) ?? 1; ; number++) {
        const candidate = number === 1 ? name : `${name}${number}`
        const all = endings.map((ending) => (candidate + ending).toLowerCase())
        if (all.some((each) => used.has(each))) continue
        for (const each of all) used.add(each)
        numbers.set(name, number)
        return candidate
      }
    }
  }
}
