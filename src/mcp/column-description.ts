/** The descriptions of columns in describe_table, which are short because a model reads them. */
import type { Column } from '../catalog/catalog.ts'
import { anyOf, membersOf, type Schema } from '../openapi/schema.ts'
import { findDefault, shownSchema } from '../openapi/value-schema.ts'
import { acceptsOperator, operators } from '../plan/filters/operators.ts'

/** Keywords that say more than the declaration of the column. */
const KEPT = ['type', 'format', 'enum', 'contentEncoding', 'uniqueItems']
/** Formats of numbers, which the declaration already shows. */
const NUMBERS = new Set<unknown>(['int32', 'int64', 'float', 'double', 'decimal'])

export interface ColumnsDescription {
  readonly columns: readonly Schema[]
  /** The operators that filters accept, by the names that columns refer to; `default` applies to columns without a name. */
  readonly operators: Readonly<Record<string, readonly string[]>>
}

export function describeColumns (columns: readonly Column[]): ColumnsDescription {
  const sets = Map.groupBy(columns, setOf)
  const [usual] = Array.from(sets).sort(([, one], [, other]) => other.length - one.length)[0] ?? []
  return {
    columns: columns.map((column) => ({ ...describe(column), ...setOf(column) !== usual && { operators: setOf(column) } })),
    operators: Object.fromEntries(Array.from(sets, ([name, [column]]) => [name === usual ? 'default' : name, operatorsOf(column as Column)]))
  }
}

/** The name of the set of operators that filters accept for the column. */
const setOf = ({ type }: Column): string => type.readMember === undefined ? type.comparison : 'members'

const operatorsOf = ({ type }: Column): string[] => [...operators].filter(([, operator]) => acceptsOperator(operator, type)).map(([name]) => name)

function describe (column: Column): Schema {
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
    ...!type.writable && { writable: false },
    ...comment !== '' && { comment }
  }
}

/** The schema of the values that a select returns, without null, and with an example in place of a pattern. */
function shorten (column: Column): Schema {
  const { moment, schema } = column.type
  const { description, examples = [] } = schema as { description?: string, examples?: readonly unknown[] }
  const members = membersOf(shownSchema({ ...column, nullable: false }))
  const hasPattern = members.some((member) => member['pattern'] !== undefined && member['contentEncoding'] === undefined)
  const { format, ...kept } = anyOf(members.map(keepMost))
  return { ...kept, ...!hasPattern && format !== undefined && { format }, ...description !== undefined && moment === undefined && { description }, ...hasPattern && examples.length > 0 && { example: examples[0] } }
}

function keepMost (schema: Schema): Schema {
  const kept = Object.fromEntries(KEPT.flatMap((key) => schema[key] === undefined || NUMBERS.has(schema[key]) ? [] : [[key, schema[key]]]))
  return { ...kept, ...typeof schema['items'] === 'object' && { items: keepMost(schema['items'] as Schema) } }
}
