/** A select in one line, as a person reads it. */
import { isList, isObject, memberOf, writeLine, type Json, type JsonObject } from './json.ts'
import { MATCH_MODES, needsOperand, OPERATORS, otherColumnOf, pathOf, readFilters, RELATED_OPERATORS, type FilterRow } from './filter-rows.ts'
import { readOrder } from './order.ts'
import { isGrouped } from './rows.ts'
import { readSearch } from './search.ts'
import type { Table } from './table.ts'
import { readAgo } from './values.ts'

const plain = (value: Json | undefined, operator = ''): string => {
  const other = otherColumnOf(value)
  if (other !== undefined) return other
  const ago = readAgo(value)
  if (ago !== undefined) return `${ago.count} ${ago.unit}${operator.startsWith('$') ? ' ago' : ''}`
  return typeof value === 'string' ? value : isList(value) ? value.map((each) => plain(each)).join(', ') : value === undefined ? '' : writeLine(value)
}

function describeFilter (row: FilterRow): string {
  if ('key' in row) return `${row.key} ${writeLine(row.value)}`
  if ('relation' in row) return `${RELATED_OPERATORS[row.operator]} ${row.relation.name}`
  if ('text' in row) return `${row.columns.join(', ')} has ${MATCH_MODES.get(row.mode) ?? row.mode} “${row.text}”`
  return [row.column, ...row.path === undefined ? [] : [pathOf(row.path)], OPERATORS.get(row.operator) ?? row.operator, ...needsOperand(row.operator) ? [plain(row.operand, row.operator)] : []].join(' ')
}

export function summarize (table: Table, body: JsonObject): string {
  const found = readSearch(table, memberOf(body, 'filters'))
  const search = found?.columns === undefined ? found?.text : undefined
  const rows = readFilters(memberOf(body, 'filters'), table).filter((row) => search === undefined || !('key' in row) || row.key !== '$or')
  const filters = [...search === undefined ? [] : [`“${search}” in any text`], ...rows.map(describeFilter)]
  const [columns, include, groupBy, limit] = ['columns', 'include', 'groupBy', 'limit'].map((name) => memberOf(body, name))
  const order = readOrder(body).map(({ name, descends, nulls = '' }) => name === '$match' ? 'relevance' : [name, descends ? '↓' : '', nulls.toLowerCase()].filter((word) => word !== '').join(' '))
  return [
    filters.length === 0 ? 'all rows' : filters.join(' and '),
    ...isGrouped(body) ? [`in groups${isList(groupBy) ? ` by ${groupBy.map((group) => isObject(group) ? Object.keys(group)[0] : group).join(', ')}` : ''}`] : [],
    ...order.length > 0 ? [`by ${order.join(', ')}`] : [],
    ...isList(columns) ? [`${columns.length} of ${table.columns.length} columns`] : [],
    ...isObject(include) ? [`with ${Object.keys(include).join(', ')}`] : [],
    ...typeof limit === 'number' ? [`${limit} a page`] : []
  ].join(' · ')
}
