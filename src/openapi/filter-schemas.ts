/** The schemas of column filters. Columns with the same bounds share one schema. */
import type { FilterOperator, OperandForm } from '../../schemas/filters.ts'
import type { Column } from '../catalog/catalog.ts'
import { acceptsOperator, operators } from '../plan/filters/operators.ts'
import { NOW } from '../types/moment.ts'
import type { DocumentLimits } from './document-settings.ts'
import { anyOf, closedObject, membersOf, orNull, refTo, type Schema } from './schema.ts'
import { bare } from './value-schema.ts'

/** The schemas and limits that operands depend on, in addition to the operator. */
interface Operands {
  /** A value of the column. */
  readonly value: Schema
  /** The same, or the present time for a column of time. */
  readonly compared: Schema
  /** The same, and null if the column may be NULL. */
  readonly orNull: Schema
  readonly comparedOrNull: Schema
  readonly pattern: Schema
  /** Maximum length of a list. */
  readonly maxItems: number
}

/** The schema of an operand by its form. */
const operandSchemas: Readonly<Record<OperandForm, (operands: Operands, bounds: { readonly minItems?: number }) => Schema>> = {
  compared: ({ compared }) => compared,
  comparedOrNull: ({ comparedOrNull }) => comparedOrNull,
  valueOrNull: ({ orNull }) => orNull,
  values: ({ orNull: items, maxItems }, bounds) => ({ type: 'array', items, ...bounds, maxItems }),
  pair: ({ compared: items }) => ({ type: 'array', items, minItems: 2, maxItems: 2 }),
  pattern: ({ pattern }) => pattern,
  boolean: () => ({ type: 'boolean' }),
  // a value of a SET is a list of its members
  members: ({ value: { items }, maxItems }, bounds) => ({ anyOf: [items as Schema, { type: 'array', items, ...bounds, maxItems }] })
}

/** Returns the schema name of a column that cannot share a schema: ENUM and SET columns have their own members. */
export type OwnName = () => string

export interface FilterSchemas {
  /** Returns a reference to the filter schema of a column. */
  refTo (column: Column, ownName: OwnName): Schema
  /** All schemas that were referenced, by name. */
  readonly schemas: Readonly<Record<string, Schema>>
}

/** Name of the filter schema of a column; undefined if columns of its type do not share one. */
export function nameOfFilter ({ nullable, type: { schema: { title }, holdsJson } }: Column): string | undefined {
  return title === undefined ? undefined : `${nullable && holdsJson !== true ? 'Nullable' : ''}${title}Filter`
}

export function createFilterSchemas (limits: DocumentLimits): FilterSchemas {
  const schemas: Record<string, Schema> = {}
  return {
    schemas,
    refTo (column, ownName) {
      const name = nameOfFilter(column) ?? ownName()
      schemas[name] ??= filterOn(column, limits)
      return refTo(name)
    }
  }
}

/** Whether the column can have a filter. Values of unknown types cannot be compared, so a NOT NULL column of such a type has no filter. */
export function canFilter ({ type, nullable }: Column): boolean {
  return type.comparison !== 'none' || nullable
}

function operandSchema ({ operand, minItems }: FilterOperator, given: Operands): Schema {
  return operandSchemas[operand](given, minItems === undefined ? {} : { minItems })
}

/** An object whose keys all begin with `$` is read as operators, not as a JSON value. */
const LIKE_OPERATORS: Schema = { type: 'object', minProperties: 1, propertyNames: { pattern: '^\\$' } }

/**
 * A filter is a plain value, null, a list of values (`$in`) or an object with operators. A NOT NULL column is not compared with null, because the
 * result is known, and an update whose filters are always true is refused.
 */
function filterOn ({ type, nullable }: Column, { values: maxItems, pattern: maxLength }: DocumentLimits): Schema {
  const value = anyOf(membersOf(type.schema).map(bare))
  const pattern = { type: 'string', maxLength, ...type.readPattern !== undefined && { pattern: '^[^\\u0000]*$' } }
  const ifNull = (schema: Schema): Schema => nullable ? orNull(schema) : schema
  const compared = type.moment?.isComparable === true ? anyOf([...membersOf(value), refTo(NOW)]) : value
  const given: Operands = { value, compared, orNull: ifNull(value), comparedOrNull: ifNull(compared), pattern, maxItems }
  const usable = [...operators].filter(([, operator]) => acceptsOperator(operator, type) && (operator.needs !== 'none' || nullable))
  const own = closedObject(usable.map(([name, operator]) => [name, operandSchema(operator, given)]), { minProperties: 1 })
  if (type.comparison === 'none') return { anyOf: [{ type: 'null' }, own] }
  // any JSON value is allowed, which includes objects with operators
  if (type.holdsJson === true) return { not: { ...LIKE_OPERATORS, not: own }, description: 'Any JSON value, or an object of operators.' }
  return { anyOf: [...membersOf(compared), ...nullable ? [{ type: 'null' }] : [], ...type.structured ? [] : [{ type: 'array', items: given.orNull, minItems: 1, maxItems }], own] }
}
