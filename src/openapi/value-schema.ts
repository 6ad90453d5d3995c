/** The schemas of a column's values, derived from the schema of its type. */
import type { Column } from '../catalog/catalog.ts'
import { parseExactJson } from '../request/exact-json.ts'
import { getOrCreate } from '../get-or-create.ts'
import { anyOf, membersOf, orNull, plainText, type Schema } from './schema.ts'

/** The schema of values that insert and update accept. */
export function takenSchema (column: Column): Schema {
  return getOrCreate(known, column, () => describe(column, membersOf(column.type.schema)))
}

/** Cache: a document needs the schema of each column several times. */
const known = new WeakMap<Column, Schema>()

/** The schema of values that a select returns: without the members of the union that are `writeOnly`. */
export function shownSchema (column: Column): Schema {
  const members = membersOf(column.type.schema)
  const shown = members.filter(isShown)
  return shown.length < members.length ? describe(column, shown) : takenSchema(column)
}

/** The same of a type, without the annotations of a column. */
export function shownOf (schema: Schema): Schema {
  return anyOf(membersOf(schema).filter(isShown).map(bare))
}

const isShown = (member: Schema): boolean => member['writeOnly'] !== true

/** Returns the schema without annotations of the type. */
export function bare ({ title, examples, description, writeOnly, ...schema }: Schema): Schema {
  return schema
}

function describe (column: Column, members: readonly Schema[]): Schema {
  const { nullable, declaration, type } = column
  const schema = anyOf(members.map(bare))
  const description = plainText([column.comment, type.schema.description].filter(Boolean).join('\n'))
  return { ...(nullable ? orNull(schema) : schema), ...(description !== '' && { description }), 'x-sql-type': declaration }
}

/** Returns the default of a column as JSON (`{ value: 0 }`) if it is a constant that the type accepts. */
export function findDefault ({ defaultText, type }: Column): { readonly value: unknown } | undefined {
  if (defaultText === null) return undefined
  for (const parse of [(text: string): unknown => text, parseExactJson]) {
    try {
      return { value: parseExactJson(type.echo(type.read(parse(defaultText)))) }
    } catch {} // the type does not accept it in this form
  }
  return undefined
}
