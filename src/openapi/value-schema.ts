/** The schema of a column's values, out of that of its type. */
import type { Column } from '../catalog/catalog.ts'
import { parseExactJson } from '../request/exact-json.ts'
import { getOrCreate } from '../get-or-create.ts'
import { anyOf, membersOf, orNull, plainText, type Schema } from './schema.ts'

/** What insert and update take. */
export function takenSchema (column: Column): Schema {
  return getOrCreate(known, column, () => describe(column, membersOf(column.type.schema)))
}

/** Asked for several times of each column. */
const known = new WeakMap<Column, Schema>()

/** What a select shows: not what a type merely takes as well, which its schema marks as `writeOnly`. */
export function shownSchema (column: Column): Schema {
  const members = membersOf(column.type.schema)
  const shown = members.filter((member) => member['writeOnly'] !== true)
  return shown.length < members.length ? describe(column, shown) : takenSchema(column)
}

/** The schema of a type without what is said of the type and not of its values. */
export function bare ({ title, examples, description, writeOnly, ...schema }: Schema): Schema {
  return schema
}

function describe (column: Column, members: readonly Schema[]): Schema {
  const { nullable, declaration, type } = column
  const schema = anyOf(members.map(bare))
  const description = plainText([column.comment, type.schema.description].filter(Boolean).join('\n'))
  return { ...(nullable ? orNull(schema) : schema), ...(description !== '' && { description }), 'x-sql-type': declaration }
}

/** The default of a column as JSON, if it is a constant that the type takes: `{ value: 0 }`. */
export function findDefault ({ defaultText, type }: Column): { readonly value: unknown } | undefined {
  if (defaultText === null) return undefined
  for (const parse of [(text: string): unknown => text, parseExactJson]) {
    try {
      return { value: parseExactJson(type.echo(type.read(parse(defaultText)))) }
    } catch {} // not in this form
  }
  return undefined
}
