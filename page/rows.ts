/** What the rows of an answer consist of. */
import { isList, isObject, memberOf, type JsonObject } from './json.ts'
import type { Table } from './table.ts'

export const isGrouped = (body: JsonObject | undefined): boolean => memberOf(body, 'groupBy') !== undefined || memberOf(body, 'aggregates') !== undefined

/** The columns of the rows, in the order of the request. An object of JavaScript would move names such as "1" to its beginning. */
export function columnsOf (table: Table | undefined, body: JsonObject | undefined, rows: readonly JsonObject[]): string[] {
  const [groupBy, aggregates, include] = [memberOf(body, 'groupBy'), memberOf(body, 'aggregates'), memberOf(body, 'include')]
  const groups = (isList(groupBy) ? groupBy : []).map((entry) => typeof entry === 'string' ? entry : Object.keys(entry as object)[0] ?? '')
  const list = memberOf(body, 'columns') ?? memberOf(body, 'returning')
  const own = isGrouped(body) ? [...groups, ...Object.keys(isObject(aggregates) ? aggregates : {})] : isList(list) ? list as string[] : (table?.columns ?? []).map(({ name }) => name)
  const known = [...own, ...Object.keys(isObject(include) ? include : {})]
  const [first = {}] = rows
  return [...known.filter((name) => Object.hasOwn(first, name)), ...Object.keys(first).filter((name) => !known.includes(name))]
}
