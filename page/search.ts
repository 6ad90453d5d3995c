/** One text that is searched in all texts of a table: the member `$or` of the filters. */
import { isList, isObject, memberOf, withMembers, type Json, type JsonObject } from './json.ts'
import { keyOf } from './filter-rows.ts'
import type { Column, Table } from './table.ts'

/** Columns that are searched at most: a body has a limited number of conditions. */
const MAX_COLUMNS = 10

const searched = ({ columns }: Pick<Table, 'columns'>): Column[] =>
  columns.filter(({ kind, members, operators, isBytes }) => kind === 'text' && members === undefined && !isBytes && operators.includes('$contains')).slice(0, MAX_COLUMNS)

export const canSearch = (table: Pick<Table, 'columns'>): boolean => searched(table).length > 0

/** The text as it was entered, in lower and in upper case, and with a capital: some databases compare bytes. */
function spellings (text: string): string[] {
  const lower = text.toLowerCase()
  return [...new Set([text, lower, text.toUpperCase(), lower.replace(/^./u, (letter) => letter.toUpperCase())])]
}

const writeSearch = (table: Pick<Table, 'columns'>, text: string): JsonObject[] =>
  searched(table).flatMap(({ name }) => spellings(text).map((spelling) => ({ [keyOf(name)]: { $contains: spelling } })))

/** The text that filters search for; undefined if their `$or` says something else. */
export function readSearch (table: Pick<Table, 'columns'>, filters: Json | undefined): string | undefined {
  const list = memberOf(filters, '$or')
  const [first] = isList(list) ? list : []
  const text = isObject(first) ? memberOf(Object.values(first)[0], '$contains') : undefined
  return typeof text === 'string' && JSON.stringify(list) === JSON.stringify(writeSearch(table, text)) ? text : undefined
}

/** The filters with another text to search for; with an empty one, without any. Another `$or` stays, under `$and`. */
export function withSearch (table: Pick<Table, 'columns'>, filters: Json | undefined, text: string): JsonObject | undefined {
  const given = isObject(filters) ? filters : {}
  const other = readSearch(table, given) === undefined ? memberOf(given, '$or') : undefined
  const and = memberOf(given, '$and')
  const search = text === '' ? other : writeSearch(table, text)
  const kept = text === '' || other === undefined ? and : [...isList(and) ? and : [], { $or: other }]
  const changed = withMembers(given, { $or: search, $and: kept })
  return Object.keys(changed).length === 0 ? undefined : changed
}
