/** The rules for a select besides its fields: the names in orders, and the combinations of fields. */
import type { TSchema } from '@sinclair/typebox'
import { groupsResponse, GroupValueSchema } from '../../schemas/responses.ts'
import { AggregateSchema, FIELDS, MEMBER_NAME, PartSchema, RESULT_NAME } from '../../schemas/fields.ts'
import type { FilterOperator, OperandForm } from '../../schemas/filters.ts'
import type { Column, Table } from '../catalog/catalog.ts'
import { acceptsOperator, operators } from '../plan/filters/operators.ts'
import { findAggregate } from '../plan/groups.ts'
import { findPageKey } from '../plan/page-after.ts'
import { NOW } from '../types/moment.ts'
import {
  anyOf, bare, closedObject, defining, membersOf, orNull, refTo, requiring, type Schema, type Schemas
} from './value-schema.ts'
import type { DocumentLimits } from './visible.ts'

/**
 * Maximum number of further terms of `orderBy` as a text. An order of more columns is a list, or a text that the
 * service accepts nevertheless.
 */
const MORE_TERMS = 2
const DIRECTION = '( +([Aa][Ss][Cc]|[Dd][Ee][Ss][Cc]))?'
/** A name of an aggregate or of a part of time, which is free. */
const FREE_NAME = '[A-Za-z0-9_]{1,64}'

const IS_FREE = new RegExp(`^${FREE_NAME}$`)

/** A column of a member of `include`, whose name is free. */
const OF_MEMBER = `${MEMBER_NAME.source.slice(1, -1)}\\.[^, ]{1,64}`

/** Columns by which rows can be sorted and grouped. */
export const sortable = (table: Table): Column[] => [...table.columns.values()].filter(({ type }) => type.sortable)

/**
 * Whether a text can name the column, which it cannot if the name has a comma, outer spaces, or a direction at its end.
 */
const isPlain = (name: string): boolean => name.trim() === name && name !== '' && !/,|\s(asc|desc)$/i.test(name)

/** The pattern of an order by these names, which are regular expressions. */
function orderPattern (names: readonly string[]): string {
  const term = `(${names.join('|')})${DIRECTION}`
  return `^${term}( *, *${term}){0,${MORE_TERMS}}$`
}

const escape = (name: string): string => name.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')
const plainNames = (table: Table): string[] => sortable(table).map(({ name }) => name).filter(isPlain).map(escape)

/** `orderBy`: the columns of the table, the names of aggregates, or columns of members. */
export function orderSchema (table: Table, { anyOf, description }: Schema, hasMembers: boolean): Schema {
  const [, list] = anyOf as [Schema, Schema]
  return {
    anyOf: [
      { type: 'string', pattern: orderPattern([...plainNames(table), FREE_NAME, ...(hasMembers ? [OF_MEMBER] : [])]) },
      list
    ],
    description
  }
}

/** The schema of `orderBy` for rows only: columns of the table. Undefined if rows cannot be sorted by any of them. */
export function rowOrderSchema (table: Table, { anyOf, description }: Schema): Schema | undefined {
  const names = sortable(table).map(({ name }) => name)
  const [, { items, ...list }] = anyOf as [Schema, Schema & { items: Schema }]
  const plain = plainNames(table)
  const listed = { ...list, items: { ...items, propertyNames: { enum: names } } }
  return names.length === 0
    ? undefined
    : {
        anyOf: plain.length === 0 ? [listed] : [{ type: 'string', pattern: orderPattern(plain) }, listed],
        description
      }
}

/**
 * Combinations of fields that the service refuses, without rules for `having`, because the names of aggregates are
 * free. `include`: the rules of this field, if there is one.
 */
export function selectRules (table: Table, include: Schema | undefined): Schema {
  const key = findPageKey(table)
  const missing = new Set([...include === undefined ? ['include'] : [], ...key === undefined ? ['after'] : []])
  const notOfGroups = Object.fromEntries(
    FIELDS.groupBy.excludes.select.filter((field) => !missing.has(field)).map((field) => [field, false as const])
  )
  return {
    if: { anyOf: [requiring('groupBy'), requiring('aggregates')], additionalProperties: true },
    then: defining({
      ...notOfGroups,
      ...(include !== undefined && {
        orderBy: { pattern: orderPattern([...plainNames(table).filter((name) => !IS_FREE.test(name)), FREE_NAME]) }
      })
    }),
    else:
      include === undefined
        ? ofRows(table, false)
        : { if: requiring('include'), then: ofRows(table, true), else: ofRows(table, false) },
    dependentSchemas: {
      ...(include !== undefined && { include }),
      ...(key !== undefined && {
        offset: defining({ after: false }),
        // without `orderBy`, the order is that of the key
        after: {
          anyOf: [
            requiring('orderBy'),
            defining({ after: { type: ['object', 'null'], maxProperties: key.length, additionalProperties: true } })
          ],
          additionalProperties: true
        }
      })
    }
  }
}

/** An empty `enum` is not valid everywhere. */
export const oneOfNames = (names: readonly string[]): Schema => names.length === 0 ? { not: {} } : { enum: names }

const ofRows = (table: Table, hasMembers: boolean): Schema =>
  defining({ orderBy: orderOfRows(table, hasMembers), having: false })

function orderOfRows (table: Table, hasMembers: boolean): Schema | false {
  const names = sortable(table).map(({ name }) => name)
  const plain = [...plainNames(table), ...hasMembers ? [OF_MEMBER] : []]
  if (names.length === 0 && !hasMembers) return false
  const text = plain.length > 0 ? { pattern: orderPattern(plain) } : { type: 'array' }
  // a member has an object with its column
  const ofColumns = { propertyNames: oneOfNames(names), additionalProperties: { type: 'string' } }
  return {
    ...text,
    items: hasMembers
      ? {
          anyOf: [
            ofColumns,
            {
              propertyNames: { pattern: MEMBER_NAME.source },
              additionalProperties: { type: 'object', additionalProperties: true }
            }
          ]
        }
      : ofColumns
  }
}

// The schemas of `groupBy`, `aggregates` and `having`.

const VALUE = 'GroupValue'
export const GROUPS_RESPONSE = 'GroupsResponse'

/**
 * The response to a select of groups, and its values, which all tables share because the names of aggregates are free.
 */
export const GROUPS: Schemas = {
  [GROUPS_RESPONSE]: groupsResponse(refTo(VALUE) as unknown as TSchema),
  [VALUE]: GroupValueSchema
}

/** `name`: the prefix of the table's schema names. */
export function groupBySchema (name: string, table: Table, schema: Schema): Schema {
  const names = sortable(table).map((column) => column.name)
  const column = names.length < table.columns.size ? { type: 'string', enum: names } : refTo(`${name}Column`)
  const part = {
    type: 'object',
    additionalProperties: refTo(partName(name)),
    propertyNames: { pattern: RESULT_NAME },
    minProperties: 1,
    maxProperties: 1
  }
  return {
    ...bare(schema),
    items: hasParts(table) ? { anyOf: [column, part] } : column,
    uniqueItems: true,
    description: schema['description']
  }
}

export function aggregatesField (name: string, { minProperties, maxProperties, description }: Schema): Schema {
  return {
    type: 'object',
    additionalProperties: refTo(`${name}Aggregate`),
    propertyNames: { pattern: RESULT_NAME },
    minProperties,
    maxProperties,
    description: `${String(description)} A name consists of 1 to 64 letters, digits and _.`
  }
}

/** Whether rows can be grouped by a part of time. */
export const hasParts = (table: Table): boolean =>
  [...table.columns.values()].some(({ type }) => type.parts !== undefined)

export const partName = (name: string): string => `${name}Part`

/** One part of time and its column. */
export function partSchema (columns: readonly Column[]): Schema {
  const { minProperties, maxProperties, description } = PartSchema
  return closedObject(
    Object.entries<Schema>(PartSchema.properties)
      .map(
        ([part, { description }]) =>
          [
            part,
            {
              type: 'string',
              enum: columns.filter(({ type }) => type.parts?.has(part) === true).map((column) => column.name),
              description
            }
          ] as [string, Schema]
      )
      .filter(([, { enum: names }]) => (names as string[]).length > 0),
    { minProperties, maxProperties, description }
  )
}

/** One function and its column, and filters. `name`: the prefix of the table's schema names. */
export function aggregateSchema (name: string, columns: readonly Column[]): Schema {
  const { filters, ...calls } = AggregateSchema.properties
  const functions = Object.entries<Schema>(calls).flatMap(([call, { description }]): Array<[string, Schema]> => {
    const names = columns.filter(({ type }) => findAggregate(call, type) !== undefined).map((column) => column.name)
    const operands = call === '$count' ? [...names, '*'] : names
    return operands.length === 0 ? [] : [[call, { type: 'string', enum: operands, description }]]
  })
  return closedObject([...functions, ['filters', { ...refTo(`${name}Filters`), description: filters.description }]], {
    minProperties: 1,
    maxProperties: 2,
    description: AggregateSchema.description,
    if: requiring('filters'),
    then: { minProperties: 2 },
    else: { maxProperties: 1 }
  })
}

// The schemas of column filters. Columns with the same bounds share one schema.

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
const operandSchemas: Readonly<
  Record<OperandForm, (operands: Operands, bounds: { readonly minItems?: number }) => Schema>
> = {
  compared: ({ compared }) => compared,
  comparedOrNull: ({ comparedOrNull }) => comparedOrNull,
  valueOrNull: ({ orNull }) => orNull,
  values: ({ orNull: items, maxItems }, bounds) => ({ type: 'array', items, ...bounds, maxItems }),
  pair: ({ compared: items }) => ({ type: 'array', items, minItems: 2, maxItems: 2 }),
  pattern: ({ pattern }) => pattern,
  boolean: () => ({ type: 'boolean' }),
  // a value of a SET is a list of its members
  members: ({ value: { items }, maxItems }, bounds) => ({
    anyOf: [items as Schema, { type: 'array', items, ...bounds, maxItems }]
  })
}

/** Returns the schema name of a column that cannot share a schema: ENUM and SET columns have their own members. */
type OwnName = () => string

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

/**
 * Whether the column can have a filter. Values of unknown types cannot be compared, so a NOT NULL column of such a type
 * has no filter.
 */
export function canFilter ({ type, nullable }: Column): boolean {
  return type.comparison !== 'none' || nullable
}

function operandSchema ({ operand, minItems }: FilterOperator, given: Operands): Schema {
  return operandSchemas[operand](given, minItems === undefined ? {} : { minItems })
}

/** An object whose keys all begin with `$` is read as operators, not as a JSON value. */
const LIKE_OPERATORS: Schema = { type: 'object', minProperties: 1, propertyNames: { pattern: '^\\$' } }

/**
 * A filter is a plain value, null, a list of values (`$in`) or an object with operators. A NOT NULL column is not
 * compared with null, because the result is known, and an update whose filters are always true is refused.
 */
function filterOn ({ type, nullable }: Column, { values: maxItems, pattern: maxLength }: DocumentLimits): Schema {
  const value = anyOf(membersOf(type.schema).map(bare))
  const pattern = { type: 'string', maxLength, ...type.readPattern !== undefined && { pattern: '^[^\\u0000]*$' } }
  const ifNull = (schema: Schema): Schema => nullable ? orNull(schema) : schema
  const compared = type.moment?.isComparable === true ? anyOf([...membersOf(value), refTo(NOW)]) : value
  const given: Operands = {
    value,
    compared,
    orNull: ifNull(value),
    comparedOrNull: ifNull(compared),
    pattern,
    maxItems
  }
  const usable = [...operators].filter(
    ([, operator]) => acceptsOperator(operator, type) && (operator.needs !== 'none' || nullable)
  )
  const own = closedObject(
    usable.map(([name, operator]) => [name, operandSchema(operator, given)]),
    { minProperties: 1 }
  )
  if (type.comparison === 'none') return { anyOf: [{ type: 'null' }, own] }
  // any JSON value is allowed, which includes objects with operators
  if (type.holdsJson === true) {
    return { not: { ...LIKE_OPERATORS, not: own }, description: 'Any JSON value, or an object of operators.' }
  }
  return {
    anyOf: [
      ...membersOf(compared),
      ...(nullable ? [{ type: 'null' }] : []),
      ...(type.structured ? [] : [{ type: 'array', items: given.orNull, minItems: 1, maxItems }]),
      own
    ]
  }
}
