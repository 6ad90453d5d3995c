/** The schemas of a column's values, derived from the schema of its type. */
import type { Column } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { readDefault } from '../types/forms.ts'
import { anyOf, membersOf, orNull, plainText, requiring, type Schema } from './schema.ts'

/** The forms in which a value that looks like a form can be sent to a JSON column: `{"$eq": value}`; an update also takes `{"$merge": {…}}`. */
const JSON_FORMS = { maxProperties: 1, ...requiring('$eq') }
const JSON_CHANGES = { maxProperties: 1, anyOf: [requiring('$eq'), requiring('$merge', { type: 'object' })] }
const notLikeForm = (forms: Schema): Schema => ({ not: { type: 'object', minProperties: 1, propertyNames: { pattern: '^\\$' }, not: forms } })

/** The schema of values that insert and update accept. */
export function takenSchema (column: Column): Schema {
  const schema = ownSchema(column)
  return column.type.holdsJson === true ? { ...schema, ...notLikeForm(JSON_FORMS) } : schema
}

/** The schema of any JSON value that an update accepts. */
export function changedJson (column: Column): Schema {
  return { ...ownSchema(column), ...notLikeForm(JSON_CHANGES) }
}

function ownSchema (column: Column): Schema {
  return getOrCreate(known, column, () => describe(column, membersOf(column.type.schema)))
}

/** Cache: a document needs the schema of each column several times. */
const known = new WeakMap<Column, Schema>()

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

/** Replaces `default` by `x-default`, for the same reason as in insertSchema (table-schemas.ts). */
export function withoutDefault ({ default: fallback, ...schema }: Schema): Schema {
  return fallback === undefined ? schema : { ...schema, 'x-default': fallback }
}

function describe (column: Column, members: readonly Schema[]): Schema {
  const { nullable, declaration, type } = column
  const schema = anyOf(members.map(bare))
  const description = plainText([column.comment, type.schema.description].filter(Boolean).join('\n'))
  return { ...(nullable ? orNull(schema) : schema), ...(description !== '' && { description }), 'x-sql-type': declaration }
}

/** Returns the default of a column as JSON (`{ value: 0 }`) if it is a constant that the type accepts. */
export function findDefault ({ type, defaultText }: Column): { readonly value: unknown } | undefined {
  const value = defaultText === null ? undefined : readDefault(type, defaultText)
  const shown = value === undefined ? null : parseExactJson(type.echo(value))
  return shown === null ? undefined : { value: shown }
}
