/** The schemas of column filters. Columns of the same kind of type share one schema. */
import type { Column } from '../catalog/catalog.ts'
import { operators } from '../plan/filters/operators.ts'
import type { ColumnType, Comparison } from '../types/column-type.ts'
import { anyOf, closedObject, membersOf, orNull, refTo, type Schema } from './schema.ts'

const LEVELS: readonly Comparison[] = ['none', 'equality', 'order', 'text']

const PATTERN: Schema = { type: 'string' }

/** Operators with an operand that is not a plain value of the column -> the schema of the operand. */
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

/** Returns the schema name of a column that cannot share a schema: ENUM and SET columns have their own members. */
export type OwnName = () => string

export interface FilterSchemas {
  /** Returns a reference to the filter schema of a column. */
  refTo (column: Column, ownName: OwnName): Schema
  /** All schemas that were referenced, by name. */
  readonly schemas: Readonly<Record<string, Schema>>
}

/** Name of the filter schema of a type; undefined if columns of the type do not share one. */
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

/** A filter is a plain value, null, a list of values (`$in`) or an object with operators. */
function filterOn (type: ColumnType): Schema {
  const value = valueOf(type)
  const level = LEVELS.indexOf(type.comparison)
  const usable = [...operators].filter(([, { needs }]) => LEVELS.indexOf(needs) <= level).map(([name]) => name)
  const own = closedObject(usable.map((name) => [name, operands.get(name)?.(value) ?? value]), { minProperties: 1 })
  if (level === 0) return { anyOf: [{ type: 'null' }, own] }
  // any JSON value is allowed, which includes objects with operators
  if (value['type'] === undefined && value['anyOf'] === undefined) return value
  return { anyOf: [...membersOf(value), { type: 'null' }, ...(type.structured ? [] : [{ ...listOf(value), minItems: 1 }]), own] }
}

/** The schema of values of this kind, without the bounds of a single column. */
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

/** Format -> the format that includes the values of all columns of the kind. */
const widest = new Map<unknown, string>([['int32', 'int64'], ['float', 'double']])
