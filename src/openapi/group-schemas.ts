/** The schemas of `groupBy`, `aggregates` and `having`. */
import type { TSchema } from '@sinclair/typebox'
import { groupsAnswer, GroupValueSchema } from '../../schemas/answer.ts'
import { AggregateSchema, type BODIES } from '../../schemas/body.ts'
import type { Column, Table } from '../catalog/catalog.ts'
import { findAggregate } from '../plan/groups.ts'
import { closedObject, refTo, type Schema, type Schemas } from './schema.ts'
import { FREE_NAME, sortable } from './select-schemas.ts'
import { bare } from './value-schema.ts'

const VALUE = 'GroupValue'
const AGGREGATE_NAME = `^${FREE_NAME}$`
export const GROUPS_RESPONSE = 'GroupsResponse'

/** The response to a select of groups, and its values: all tables share them, because the names of aggregates are free. */
export const GROUPS: Schemas = { [GROUPS_RESPONSE]: groupsAnswer(refTo(VALUE) as unknown as TSchema), [VALUE]: GroupValueSchema }

/** The fields of a request for a table. `name`: the prefix of the table's schema names. */
export function groupFields (name: string, table: Table, { groupBy, aggregates, having }: typeof BODIES.select.properties): Schemas {
  const { minProperties, maxProperties, description } = aggregates
  const names = sortable(table).map((column) => column.name)
  return {
    groupBy: { ...bare(groupBy), items: names.length < table.columns.size ? { type: 'string', enum: names } : refTo(`${name}Column`), description: groupBy.description },
    aggregates: { type: 'object', additionalProperties: refTo(`${name}Aggregate`), propertyNames: { pattern: AGGREGATE_NAME }, minProperties, maxProperties, description: `${String(description)} A name consists of 1 to 64 letters, digits and _.` },
    having: { type: 'object', additionalProperties: true, description: having.description }
  }
}

/** One function and its column. */
export function aggregateSchema (columns: readonly Column[]): Schema {
  const functions = Object.entries<Schema>(AggregateSchema.properties).flatMap(([call, { description }]): Array<[string, Schema]> => {
    const names = columns.filter(({ type }) => findAggregate(call, type) !== undefined).map((column) => column.name)
    const operands = call === '$count' ? [...names, '*'] : names
    return operands.length === 0 ? [] : [[call, { type: 'string', enum: operands, description }]]
  })
  return closedObject(functions, { minProperties: 1, maxProperties: 1, description: AggregateSchema.description })
}
