/** What describe_table says of columns: short, because a model reads it. */
import type { Column, Table } from '../catalog/catalog.ts'
import { anyOf, membersOf, type Schema } from '../openapi/schema.ts'
import { findDefault, shownSchema } from '../openapi/value-schema.ts'
import { acceptsOperator, operators } from '../plan/filters/operators.ts'

/** The operators of filters by the name that columns refer to. */
export type OperatorSets = Readonly<Record<string, readonly string[]>>

/** Keywords that tell more than the declaration of the column. */
const KEPT = ['type', 'format', 'enum', 'contentEncoding', 'uniqueItems']
/** Formats of numbers, which the declaration tells. */
const NUMBERS = new Set<unknown>(['int32', 'int64', 'float', 'double', 'decimal'])

export function describeColumn (column: Column): Schema {
  const { name, type, declaration, nullable, generated, autoIncrement, comment } = column
  const fallback = findDefault(column)
  return {
    name,
    type: declaration,
    schema: shorten(column),
    nullable,
    ...fallback !== undefined && { default: fallback.value },
    ...fallback === undefined && column.defaultComputed === true && { defaultComputed: true },
    ...generated && { generated },
    ...autoIncrement && { autoIncrement },
    operators: setOf(column),
    ...!type.writable && { writable: false },
    ...comment !== '' && { comment }
  }
}

/** The name of the set of operators that filters accept for the column. */
const setOf = ({ type }: Column): string => type.readMember === undefined ? type.comparison : 'members'

export function operatorSets (columns: readonly Column[]): OperatorSets {
  return Object.fromEntries(columns.map((column) => [setOf(column), [...operators].filter(([, operator]) => acceptsOperator(operator, column.type)).map(([name]) => name)]))
}

/** The schema of the values that a select returns, without null, and with an example in place of a pattern. */
function shorten (column: Column): Schema {
  const { description, examples = [] } = column.type.schema as { description?: string, examples?: readonly unknown[] }
  const members = membersOf(shownSchema({ ...column, nullable: false }))
  const hasPattern = members.some((member) => member['pattern'] !== undefined && member['contentEncoding'] === undefined)
  return { ...anyOf(members.map(keepMost)), ...description !== undefined && { description }, ...hasPattern && examples.length > 0 && { example: examples[0] } }
}

function keepMost (schema: Schema): Schema {
  const kept = Object.fromEntries(KEPT.flatMap((key) => schema[key] === undefined || NUMBERS.has(schema[key]) ? [] : [[key, schema[key]]]))
  return { ...kept, ...typeof schema['items'] === 'object' && { items: keepMost(schema['items'] as Schema) } }
}

/** Columns that an insert must contain. */
export const requiredColumns = ({ requiredColumns, view }: Table): string[] => [...new Set([...requiredColumns.map(({ name }) => name), ...view?.given ?? []])]
