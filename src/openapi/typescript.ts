/** Writes tables as TypeScript interfaces, for this package and for Kysely. */
import type { Catalog, Column, Table } from '../catalog/catalog.ts'
import { createNames, pascalCase } from './names.ts'
import { membersOf, type Schema } from './schema.ts'
import { isOptional, isWritable } from './table-schemas.ts'
import { shownSchema, takenSchema } from './value-schema.ts'

/** Names that the file uses for other purposes. */
const OWN = ['DB', 'Column', 'Int64', 'Json', 'Array']

const head = (database: string): string => `/** The tables of the database ${quoted(database)} as the service shows them. Made by \`row-query types\`: not to be changed by hand. */

/** What a select gives, an insert takes and an update takes. Kysely takes it for its ColumnType. */
export interface Column<Select, Insert, Update> {
  readonly __select__: Select
  readonly __insert__: Insert
  readonly __update__: Update
}

/** A whole number of 64 bits: a bigint beyond what a number holds exactly. */
export type Int64 = number | bigint

/** A value of a JSON column. */
export type Json = object | string | number | bigint | boolean | null
`

/** Returns the text of the file. */
export function writeTypes (database: string, { tables }: Catalog): string {
  const names = createNames(OWN)
  const named = Array.from(tables.values(), (table) => ({ table, name: names.take(pascalCase(table.name)) }))
  const list = named.map(({ table, name }) => `  ${keyOf(table.name)}: ${name}\n`)
  return `${head(database)}\n${named.map(({ table, name }) => `${writeTable(name, table)}\n`).join('')}export interface DB {\n${list.join('')}}\n`
}

function writeTable (name: string, table: Table): string {
  const columns = Array.from(table.columns.values(), (column) => writeColumn(table, column, table.kind === 'table' && isWritable(column)))
  return `${comment(table.comment, '')}export interface ${name} {\n${columns.join('')}}\n`
}

function writeColumn (table: Table, column: Column, writable: boolean): string {
  const taken = writable ? typeOf(takenSchema(column)) : 'never'
  const optional = writable && isOptional(table, column) ? ' | undefined' : ''
  return `${comment(column.comment, '  ')}  ${keyOf(column.name)}: Column<${typeOf(shownSchema(column))}, ${taken}${optional}, ${taken}>\n`
}

/** Returns the TypeScript type for the schema of a column. */
function typeOf (schema: Schema): string {
  return [...new Set(membersOf(schema).flatMap(typesOf))].join(' | ')
}

function typesOf (schema: Schema): string[] {
  const { type, enum: members } = schema as { type?: string | string[], enum?: unknown[] }
  if (type === undefined) return ['Json']
  if (members !== undefined) return members.map((member) => member === null ? 'null' : quoted(member as string))
  return [type].flat().map((each) => written[each]?.(schema) ?? each)
}

/** JSON Schema types with another name in TypeScript. */
const written: Readonly<Record<string, (schema: Schema) => string>> = {
  // schemas of 64-bit integers have no maximum (src/types/integer.ts)
  integer: ({ maximum }) => maximum === undefined ? 'Int64' : 'number',
  array: ({ items }) => `Array<${typeOf(items as Schema)}>`,
  object: ({ properties }) => `{ type: ${typeOf((properties as { type: Schema }).type)}, [member: string]: unknown }`
}

const keyOf = (name: string): string => /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)

/** Returns a string literal in single quotes. */
function quoted (text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

function comment (text: string, indent: string): string {
  return text === '' ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/').replace(/\s+/g, ' ')} */\n`
}
