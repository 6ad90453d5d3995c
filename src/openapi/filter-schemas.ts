/** What stands beside a column's name in `filters`: one schema for each kind of type, shared by all columns of that kind. */
import type { Column } from '../catalog/catalog.ts'
import { operators } from '../plan/filters/operators.ts'
import type { ColumnType, Comparison } from '../types/column-type.ts'
import { anyOf, closedObject, membersOf, orNull, refTo, type Schema } from './schema.ts'

const LEVELS: readonly Comparison[] = ['none', 'equality', 'order', 'text']

const PATTERN: Schema = { type: 'string' }

/** Operators whose operand is not a value of the column: what it is instead. */
const operands = new Map<string, (value: Schema) => Schema>([
  ['$eq', orNull],
  ['$is', orNull],
  ['$ne', orNull],
  ['$in', listOf],
  ['$nin', listOf],
  ['$between', (value) => ({ type: 'array', items: value, minItems: 2, maxItems: 2 })],
  ['$like', () => PATTERN],
  ['$nlike', () => PATTERN],
  ['$startsWith', () => PATTERN],
  ['$contains', () => PATTERN],
  ['$null', () => ({ type: 'boolean' })]
])

function listOf (value: Schema): Schema {
  return { type: 'array', items: orNull(value) }
}

/** The name that the schema has where its type does not say one: ENUMs and SETs have members of their own. */
export type OwnName = () => string

export interface FilterSchemas {
  /** A reference to what a filter on the column may be. */
  refTo (column: Column, ownName: OwnName): Schema
  /** All that were referred to, by name. */
  readonly schemas: Readonly<Record<string, Schema>>
}

/** The name that all types of one kind share. */
export function nameOfFilter ({ schema: { title } }: ColumnType): string | undefined {
  return title === undefined ? undefined : `${title}Filter`
}

export function createFilterSchemas (): FilterSchemas {
  const schemas: Record<string, Schema> = {}
  return {
    schemas,
    refTo ({ type }, ownName) {
      const name = nameOfFilter(type) ?? ownName()
      schemas[name] ??= filterOn(type)
      return refTo(name)
    }
  }
}

/** A plain value, a list of them where that means `$in`, or operators. */
function filterOn (type: ColumnType): Schema {
  const value = valueOf(type)
  const level = LEVELS.indexOf(type.comparison)
  const usable = [...operators].filter(([, { needs }]) => LEVELS.indexOf(needs) <= level).map(([name]) => name)
  const own = closedObject(usable.map((name) => [name, operands.get(name)?.(value) ?? value]), { minProperties: 1 })
  if (level === 0) return { anyOf: [{ type: 'null' }, own] }
  // any JSON value: operators among them
  if (value['type'] === undefined && value['anyOf'] === undefined) return value
  return { anyOf: [...membersOf(value), { type: 'null' }, ...(type.structured ? [] : [{ ...listOf(value), minItems: 1 }]), own] }
}

/** A value of the kind: without the bounds of one column. */
function valueOf ({ schema }: ColumnType): Schema {
  return anyOf(membersOf(schema).map(kindOf))
}

function kindOf ({ type, format, contentEncoding, items, ...rest }: Schema): Schema {
  return {
    ...(type !== undefined && { type }),
    ...(format !== undefined && { format: widest.get(format) ?? format }),
    ...(contentEncoding !== undefined && { contentEncoding }),
    ...(items !== undefined && { items }),
    ...(rest['enum'] !== undefined && { enum: rest['enum'] })
  }
}

/** The format that takes the values of every column of the kind. */
const widest = new Map<unknown, string>([['int32', 'int64'], ['float', 'double']])
