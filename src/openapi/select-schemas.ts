/** The rules for a select besides its fields: the names in orders, and the combinations of fields. */
import type { Column, Table } from '../catalog/catalog.ts'
import { MEMBER_NAME } from '../../schemas/body.ts'
import { findPageKey } from '../plan/page.ts'
import { NOT_OF_GROUPS } from '../request/fields.ts'
import { defining, requiring, type Schema } from './schema.ts'

/** Maximum number of further terms of `orderBy` as a text. An order of more columns is a list, or a text that the service accepts nevertheless. */
const MORE_TERMS = 2
const DIRECTION = '( +([Aa][Ss][Cc]|[Dd][Ee][Ss][Cc]))?'
/** A name of an aggregate or of a part of time, which is free. */
export const FREE_NAME = '[A-Za-z0-9_]{1,64}'

const IS_FREE = new RegExp(`^${FREE_NAME}$`)

/** A column of a member of `include`, whose name is free. */
const OF_MEMBER = `${MEMBER_NAME.source.slice(1, -1)}\\.[^, ]{1,64}`

/** Columns by which rows can be sorted and grouped. */
export const sortable = (table: Table): Column[] => [...table.columns.values()].filter(({ type }) => type.sortable)

/** Whether a text can name the column, which it cannot if the name has a comma, outer spaces, or a direction at its end. */
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
  return { anyOf: [{ type: 'string', pattern: orderPattern([...plainNames(table), FREE_NAME, ...hasMembers ? [OF_MEMBER] : []]) }, list], description }
}

/** The schema of `orderBy` for rows only: columns of the table. Undefined if rows cannot be sorted by any of them. */
export function rowOrderSchema (table: Table, { anyOf, description }: Schema): Schema | undefined {
  const names = sortable(table).map(({ name }) => name)
  const [, { items, ...list }] = anyOf as [Schema, Schema & { items: Schema }]
  const plain = plainNames(table)
  const listed = { ...list, items: { ...items, propertyNames: { enum: names } } }
  return names.length === 0 ? undefined : { anyOf: plain.length === 0 ? [listed] : [{ type: 'string', pattern: orderPattern(plain) }, listed], description }
}

/** Combinations of fields that the service refuses, without rules for `having`, because the names of aggregates are free. `include`: the rules of this field, if there is one. */
export function selectRules (table: Table, include: Schema | undefined): Schema {
  const key = findPageKey(table)
  const missing = new Set([...include === undefined ? ['include'] : [], ...key === undefined ? ['after'] : []])
  const notOfGroups = Object.fromEntries(NOT_OF_GROUPS.filter((field) => !missing.has(field)).map((field) => [field, false as const]))
  return {
    if: { anyOf: [requiring('groupBy'), requiring('aggregates')], additionalProperties: true },
    then: defining({ ...notOfGroups, ...include !== undefined && { orderBy: { pattern: orderPattern([...plainNames(table).filter((name) => !IS_FREE.test(name)), FREE_NAME]) } } }),
    else: include === undefined ? ofRows(table, false) : { if: requiring('include'), then: ofRows(table, true), else: ofRows(table, false) },
    dependentSchemas: {
      ...include !== undefined && { include },
      ...key !== undefined && {
        offset: defining({ after: false }),
        // without `orderBy`, the order is that of the key
        after: { anyOf: [requiring('orderBy'), defining({ after: { type: ['object', 'null'], maxProperties: key.length, additionalProperties: true } })], additionalProperties: true }
      }
    }
  }
}

/** An empty `enum` is not valid everywhere. */
export const oneOfNames = (names: readonly string[]): Schema => names.length === 0 ? { not: {} } : { enum: names }

const ofRows = (table: Table, hasMembers: boolean): Schema => defining({ orderBy: orderOfRows(table, hasMembers), having: false })

function orderOfRows (table: Table, hasMembers: boolean): Schema | false {
  const names = sortable(table).map(({ name }) => name)
  const plain = [...plainNames(table), ...hasMembers ? [OF_MEMBER] : []]
  if (names.length === 0 && !hasMembers) return false
  const text = plain.length > 0 ? { pattern: orderPattern(plain) } : { type: 'array' }
  // a member has an object with its column
  const ofColumns = { propertyNames: oneOfNames(names), additionalProperties: { type: 'string' } }
  return { ...text, items: hasMembers ? { anyOf: [ofColumns, { propertyNames: { pattern: MEMBER_NAME.source }, additionalProperties: { type: 'object', additionalProperties: true } }] } : ofColumns }
}
