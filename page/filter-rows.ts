/** The filters of a body as rows of a form: a column, an operator and its operand. What the form has no row for stays as it is written. */
import { relatedMember } from './bodies.ts'
import { isEqual, isList, isObject, memberOf, type Json, type JsonObject } from './json.ts'
import type { Column, Relation, Table } from './table.ts'
import { readAgo, UNITS, writeAgo } from './values.ts'

/** `operand` is undefined until something was entered. `key`: of filters that have no row, such as `$or`. */
export type FilterRow = Condition | Related | { readonly key: string, readonly value: Json }
/** Filters by rows of another table: `filters` are those of that table. `least`: how many rows must pass, if more than one. */
export interface Related { readonly relation: Relation, readonly operator: RelatedOperator, readonly filters: JsonObject | undefined, readonly least?: number }
export interface Condition { readonly column: string, readonly operator: string, readonly operand: Json | undefined }

/** Operators as a person reads them. Those without `$` are of the form alone; others of the document have their name as text. */
export const OPERATORS: ReadonlyMap<string, string> = new Map([
  ['$contains', 'contains'], ['$startsWith', 'starts with'], ['$eq', 'is'], ['$ne', 'is not'], ['$in', 'is one of'], ['$nin', 'is none of'], ['$has', 'has'],
  ['$gt', '>'], ['$gte', '≥'], ['$lt', '<'], ['$lte', '≤'], ['$between', 'is between'], ['last', 'is in the last'], ['before', 'is older than'], ['$like', 'is like'], ['$nlike', 'is not like'],
  ['$is', 'is exactly'], ['null', 'is NULL'], ['notNull', 'is not NULL']
])

export const RELATED_OPERATORS = { $some: 'has', $none: 'has no' } as const
export type RelatedOperator = keyof typeof RELATED_OPERATORS
const isRelatedOperator = (key: string): key is RelatedOperator => Object.hasOwn(RELATED_OPERATORS, key)

/** The operators that a column offers: those with a text, then those that have only a name. */
export function operatorsOf ({ operators, takesNow }: Column): string[] {
  const read = [...OPERATORS.keys()].filter((operator) => {
    if (operator === 'null' || operator === 'notNull') return operators.includes('$null')
    if (operator === 'last' || operator === 'before') return takesNow.filters
    return operators.includes(operator)
  })
  return [...read, ...operators.filter((operator) => operator !== '$null' && !OPERATORS.has(operator))]
}

/** The one that a new row begins with: what people mean mostly. */
export const firstOperatorOf = (column: Column): string => {
  const offered = operatorsOf(column)
  const wanted = column.references === undefined && !column.isKey && column.members === undefined && column.kind === 'text' ? ['$contains', '$gte', '$eq'] : ['$has', '$eq']
  // times have no $contains
  return (column.takesNow.filters && offered.includes('last') ? 'last' : wanted.find((operator) => offered.includes(operator))) ?? offered[0] ?? '$eq'
}

export const needsOperand = (operator: string): boolean => operator !== 'null' && operator !== 'notNull'

/** The key of a column in filters. */
export const keyOf = (column: string): string => column.startsWith('$') ? `$${column}` : column

function readCondition (column: string, operator: string, operand: Json): FilterRow {
  if (operator === '$null' && typeof operand === 'boolean') return { column, operator: operand ? 'null' : 'notNull', operand: undefined }
  if (operator === '$lt' && readAgo(operand) !== undefined) return { column, operator: 'before', operand }
  if ((operator === '$eq') && operand === null) return { column, operator: 'null', operand: undefined }
  return { column, operator, operand }
}

/** A member of `$some` or `$none`. */
const writeRelated = ({ relation, operator, filters, least = 1 }: Related): JsonObject => ({
  ...relatedMember(relation), ...filters !== undefined && { filters }, ...operator === '$some' && least > 1 && { count: { $gte: least } }
})

/** The rows of the members of `$some` or `$none`; undefined if one of them is written otherwise than the form would. */
function readRelated (operator: RelatedOperator, members: Json, relations: readonly Relation[]): Related[] | undefined {
  if (!isObject(members)) return undefined
  const rows = Object.entries(members).flatMap(([name, member]): Related[] => {
    const relation = relations.find((each) => each.name === name)
    const filters = memberOf(member, 'filters')
    if (relation === undefined || (filters !== undefined && !isObject(filters))) return []
    const least = memberOf(memberOf(member, 'count'), '$gte')
    const row: Related = { relation, operator, filters, ...typeof least === 'number' && { least } }
    return isEqual(member, writeRelated(row)) ? [row] : []
  })
  return rows.length > 0 && rows.length === Object.keys(members).length ? rows : undefined
}

const isNow = (value: Json | undefined): boolean => memberOf(value, '$now') === true

export function readFilters (filters: Json | undefined, { columns, relations }: Pick<Table, 'columns' | 'relations'>): FilterRow[] {
  if (!isObject(filters)) return []
  const byKey = new Map(columns.map((column) => [keyOf(column.name), column]))
  return Object.entries(filters).flatMap(([key, value]): FilterRow[] => {
    const column = byKey.get(key)
    if (column === undefined) return (isRelatedOperator(key) ? readRelated(key, value, relations) : undefined) ?? [{ key, value }]
    const last = isObject(value) && Object.keys(value).length === 2 && isNow(memberOf(value, '$lte')) ? memberOf(value, '$gte') : undefined
    if (last !== undefined && readAgo(last) !== undefined) return [{ column: column.name, operator: 'last', operand: last }]
    if (isObject(value) && Object.keys(value).some((operator) => column.operators.includes(operator))) {
      return Object.entries(value).map(([operator, operand]) => readCondition(column.name, operator, operand))
    }
    if (isList(value) && column.kind !== 'json' && column.kind !== 'list') return [{ column: column.name, operator: '$in', operand: value }]
    return [readCondition(column.name, '$eq', value)]
  })
}

/** One condition as members of an object of operators; undefined if nothing was entered. */
function writeCondition (operator: string, operand: Json | undefined): JsonObject | undefined {
  if (operator === 'null' || operator === 'notNull') return { $null: operator === 'null' }
  if (operand === undefined) return undefined
  // a time in the future is not in the last days
  if (operator === 'last') return { $gte: operand, $lte: { $now: true } }
  if (operator === 'before') return { $lt: operand }
  return { [operator]: operand }
}

/** The filters of rows; undefined if there are none. Two conditions with the same operator on a column, or on the same related rows, need `$and`. */
export function writeFilters (rows: readonly FilterRow[]): JsonObject | undefined {
  const filters = new Map<string, Json>()
  const and: Json[] = []
  for (const row of rows) {
    if ('key' in row) {
      if (filters.has(row.key)) and.push({ [row.key]: row.value })
      else filters.set(row.key, row.value)
      continue
    }
    if ('relation' in row) {
      const { relation, operator } = row
      const members = filters.get(operator) ?? {}
      const member = { [relation.name]: writeRelated(row) }
      if (isObject(members) && memberOf(members, relation.name) === undefined) filters.set(operator, { ...members, ...member })
      else and.push({ [operator]: member })
      continue
    }
    const condition = writeCondition(row.operator, row.operand)
    if (condition === undefined) continue
    const key = keyOf(row.column)
    const before = filters.get(key)
    const isTaken = Object.keys(condition).some((operator) => memberOf(before, operator) !== undefined)
    if (before !== undefined && (!isObject(before) || isTaken || row.operator === 'last' || isNow(memberOf(before, '$lte')))) and.push({ [key]: simplify(condition) })
    else filters.set(key, before === undefined ? condition : { ...before as JsonObject, ...condition })
  }
  for (const [key, value] of filters) if (rows.some((row) => 'column' in row && keyOf(row.column) === key)) filters.set(key, simplify(value as JsonObject))
  if (and.length > 0) filters.set('$and', [...(isList(filters.get('$and')) ? filters.get('$and') as readonly Json[] : []), ...and])
  return filters.size === 0 ? undefined : Object.fromEntries(filters)
}

/** `{"$eq": 1}` is written as `1`, `{"$null": true}` as `null`, if no object or list is meant. */
function simplify (condition: JsonObject): Json {
  const [[operator, operand] = [], ...more] = Object.entries(condition)
  if (more.length > 0) return condition
  if (operator === '$null' && operand === true) return null
  return operator === '$eq' && (operand === null || typeof operand !== 'object' || !(isObject(operand) || isList(operand))) ? operand as Json : condition
}

/** What a row begins with when its column or its operator changes: the operand is kept where it has the same form. */
export function changeOperator (operand: Json | undefined, operator: string): Json | undefined {
  if (operator === 'last' || operator === 'before') return readAgo(operand) === undefined ? writeAgo({ count: 30, unit: UNITS[1] }) : operand
  if (readAgo(operand) !== undefined) return undefined
  const takesList = operator === '$in' || operator === '$nin'
  if (operator === '$between') return isList(operand) && operand.length === 2 ? operand : undefined
  if (takesList) return operand === undefined || isList(operand) ? operand : [operand]
  return isList(operand) ? operand[0] : operand
}

/** Whether rows say the same as the filters of a body. */
export const saysSame = (rows: readonly FilterRow[], filters: Json | undefined): boolean => isEqual(writeFilters(rows), filters)
