/** The schemas of `groupBy`, `aggregates` and `having`. */
import type { TSchema } from '@sinclair/typebox'
import { groupsAnswer, GroupValueSchema } from '../../schemas/answer.ts'
import { AggregateSchema, PartSchema, RESULT_NAME, type BODIES } from '../../schemas/body.ts'
import type { Column, Table } from '../catalog/catalog.ts'
import { findAggregate } from '../plan/groups.ts'
import { closedObject, refTo, requiring, type Schema, type Schemas } from './schema.ts'
import { sortable } from './select-schemas.ts'
import { bare } from './value-schema.ts'

const VALUE = 'GroupValue'
export const GROUPS_RESPONSE = 'GroupsResponse'

/** The response to a select of groups, and its values, which all tables share because the names of aggregates are free. */
export const GROUPS: Schemas = { [GROUPS_RESPONSE]: groupsAnswer(refTo(VALUE) as unknown as TSchema), [VALUE]: GroupValueSchema }

/** The fields of a request for a table. `name`: the prefix of the table's schema names. */
export function groupFields (name: string, table: Table, { groupBy, aggregates, having }: typeof BODIES.select.properties): Schemas {
  const names = sortable(table).map((column) => column.name)
  const column = names.length < table.columns.size ? { type: 'string', enum: names } : refTo(`${name}Column`)
  const part = { type: 'object', additionalProperties: refTo(partName(name)), propertyNames: { pattern: RESULT_NAME }, minProperties: 1, maxProperties: 1 }
  return {
    groupBy: { ...bare(groupBy), items: hasParts(table) ? { anyOf: [column, part] } : column, uniqueItems: true, description: groupBy.description },
    aggregates: aggregatesField(name, aggregates),
    having: { type: 'object', additionalProperties: true, description: having.description }
  }
}

export function aggregatesField (name: string, { minProperties, maxProperties, description }: Schema): Schema {
  return { type: 'object', additionalProperties: refTo(`${name}Aggregate`), propertyNames: { pattern: RESULT_NAME }, minProperties, maxProperties, description: `${String(description)} A name consists of 1 to 64 letters, digits and _.` }
}

/** Whether rows can be grouped by a part of time. */
export const hasParts = (table: Table): boolean => [...table.columns.values()].some(({ type }) => type.parts !== undefined)

export const partName = (name: string): string => `${name}Part`

/** One part of time and its column. */
export function partSchema (columns: readonly Column[]): Schema {
  const { minProperties, maxProperties, description } = PartSchema
  return closedObject(Object.entries<Schema>(PartSchema.properties).map(([part, { description }]) =>
    [part, { type: 'string', enum: columns.filter(({ type }) => type.parts?.has(part) === true).map((column) => column.name), description }] as [string, Schema]).filter(([, { enum: names }]) => (names as string[]).length > 0), { minProperties, maxProperties, description })
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
