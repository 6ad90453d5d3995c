/** The filters of a body as rows of a form: a column, an operator and its operand. What the form has no row for stays as it is written. */
import { relatedMember } from './bodies.ts'
import { isEqual, isList, isObject, memberOf, type Json, type JsonObject } from './json.ts'
import type { Column, Relation, Table } from './table.ts'
import { DAYS, readAgo, UNITS, writeAgo } from './values.ts'

/** `operand` is undefined until something was entered. `key`: of filters that have no row, such as `$or`. */
export type FilterRow = Condition | Related | Match | { readonly key: string, readonly value: Json }
/** Filters by rows of another table: `filters` are those of that table. `least`: how many rows must pass, if more than one. */
export interface Related { readonly relation: Relation, readonly operator: RelatedOperator, readonly filters: JsonObject | undefined, readonly least?: number }
/** `path`: of a value inside a JSON column, as it was entered. `isInAnyCase`: the letter case of texts makes no difference. */
export interface Condition { readonly column: string, readonly operator: string, readonly operand: Json | undefined, readonly path?: string, readonly isInAnyCase?: true }
/** Words of a full-text index: `columns` are its own. */
export interface Match { readonly columns: readonly string[], readonly text: string, readonly mode: string }

/** Operators as a person reads them. Those without `$` are of the form alone; others of the document have their name as text. */
export const OPERATORS: ReadonlyMap<string, string> = new Map([
  ['$contains', 'contains'], ['$startsWith', 'starts with'], ['$eq', 'is'], ['$ne', 'is not'], ['$in', 'is one of'], ['$nin', 'is none of'], ['$has', 'has'],
  ['$gt', '>'], ['$gte', '≥'], ['$lt', '<'], ['$lte', '≤'], ['$between', 'is between'], ['last', 'is in the last'], ['before', 'is older than'], ['$like', 'is like'], ['$nlike', 'is not like'],
  ['$is', 'is exactly'], ['null', 'is NULL'], ['notNull', 'is not NULL'], ['exists', 'is there'], ['missing', 'is not there'], ['$at', 'at the path']
])

/** How words are searched. */
export const MATCH_MODES: ReadonlyMap<string, string> = new Map([['any', 'any word of'], ['all', 'every word of'], ['boolean', 'by operators of the server:']])

export const RELATED_OPERATORS = { $some: 'has', $none: 'has no' } as const
export type RelatedOperator = keyof typeof RELATED_OPERATORS
const isRelatedOperator = (key: string): key is RelatedOperator => Object.hasOwn(RELATED_OPERATORS, key)

/** Stands beside operators of texts, where it says that letter case makes no difference. */
export const IN_ANY_CASE = { $case: 'ignore' } as const
const CASED = ['$contains', '$startsWith', '$eq', '$ne', '$in', '$nin', '$like', '$nlike']
export const mayIgnoreCase = ({ operators }: Column, operator: string): boolean => operators.includes('$case') && CASED.includes(operator)

/** Those that may compare with a column of the same row. */
const COMPARISONS = ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte']

/** The column of the same row that an operand names. */
export const otherColumnOf = (operand: Json | undefined): string | undefined => {
  const name = memberOf(operand, '$column')
  return typeof name === 'string' ? name : undefined
}
export const mayCompareColumns = ({ columnOperators }: Column, operator: string): boolean => columnOperators?.includes(operator) === true

/** The operators that a column offers: those with a text, then those that have only a name. */
export const operatorsOf = ({ operators, takesNow }: Column): string[] => offer(operators, takesNow.filters)
export const pathOperatorsOf = ({ pathOperators }: Column): string[] => offer(pathOperators, false)

function offer (operators: readonly string[], takesNow: boolean): string[] {
  const read = [...OPERATORS.keys()].filter((operator) => {
    if (operator === 'null' || operator === 'notNull') return operators.includes('$null')
    if (operator === 'exists' || operator === 'missing') return operators.includes('$exists')
    if (operator === 'last' || operator === 'before') return takesNow
    return operators.includes(operator)
  })
  return [...read, ...operators.filter((operator) => !['$null', '$exists', '$case'].includes(operator) && !OPERATORS.has(operator))]
}

/** The one that a new row begins with: what people mean mostly. */
export const firstOperatorOf = (column: Column): string => {
  const offered = operatorsOf(column)
  if (offered.includes('$at')) return '$at'
  const wanted = column.references === undefined && !column.isKey && column.members === undefined && column.kind === 'text' ? ['$contains', '$gte', '$eq'] : ['$has', '$eq']
  // times have no $contains
  return (column.takesNow.filters && offered.includes('last') ? 'last' : wanted.find((operator) => offered.includes(operator))) ?? offered[0] ?? '$eq'
}

/** A condition on a column with nothing entered. */
export const blankCondition = ({ name }: Column, operator: string): Condition =>
  operator === '$at' ? { column: name, operator: '$eq', operand: undefined, path: '' } : { column: name, operator, operand: undefined }

export const needsOperand = (operator: string): boolean => !FLAGS.has(operator)
/** Operators of the form without an operand, as the body has them. */
const FLAGS: ReadonlyMap<string, JsonObject> = new Map([['null', { $null: true }], ['notNull', { $null: false }], ['exists', { $exists: true }], ['missing', { $exists: false }]])

/** The key of a column in filters. */
export const keyOf = (column: string): string => column.startsWith('$') ? `$${column}` : column

function readCondition (column: string, operator: string, operand: Json): Condition {
  if (operator === '$null' && typeof operand === 'boolean') return { column, operator: operand ? 'null' : 'notNull', operand: undefined }
  if (operator === '$exists' && typeof operand === 'boolean') return { column, operator: operand ? 'exists' : 'missing', operand: undefined }
  if (operator === '$lt' && readAgo(operand) !== undefined) return { column, operator: 'before', operand }
  if ((operator === '$eq') && operand === null) return { column, operator: 'null', operand: undefined }
  return { column, operator, operand }
}

/** The conditions of `$at`, one for each path and operator; undefined if the form cannot write them. */
function readPaths (column: Column, paths: Json): Condition[] | undefined {
  const rows = (isObject(paths) ? Object.entries(paths) : []).map(([path, value]): Condition[] => {
    const operators = isObject(value) ? Object.entries(value) : isList(value) ? [] : [['$eq', value] as const]
    const isKnown = path.startsWith('$') && operators.every(([operator]) => column.pathOperators.includes(operator))
    return isKnown ? operators.map(([operator, operand]) => ({ ...readCondition(column.name, operator, operand), path })) : []
  })
  return rows.length === 0 || rows.some((each) => each.length === 0) ? undefined : rows.flat()
}

/** A path that does not begin with `$` begins with a name. */
export const pathOf = (entered: string): string => entered.startsWith('$') ? entered : `$.${entered}`

export function readMatch (value: Json, indexes: ReadonlyArray<readonly string[]>): Match | undefined {
  const [columns, text, mode] = [memberOf(value, 'columns'), memberOf(value, 'text'), memberOf(value, 'mode') ?? MATCH_MODES.keys().next().value as string]
  if (!isList(columns) || typeof text !== 'string' || typeof mode !== 'string') return undefined
  const match = { columns: columns as string[], text, mode }
  const isKnown = indexes.some((index) => index.length === columns.length && index.every((name) => columns.includes(name)))
  return isKnown && isEqual(writeMatch(match), value) ? match : undefined
}

export const writeMatch = ({ columns, text, mode }: Match): JsonObject => ({ columns, text, ...mode !== 'any' && { mode } })

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

export function readFilters (filters: Json | undefined, { columns, relations, indexes }: Pick<Table, 'columns' | 'relations' | 'indexes'>): FilterRow[] {
  if (!isObject(filters)) return []
  const byKey = new Map(columns.map((column) => [keyOf(column.name), column]))
  return Object.entries(filters).flatMap(([key, value]): FilterRow[] => {
    const column = byKey.get(key)
    const match = key === '$match' ? readMatch(value, indexes) : undefined
    if (match !== undefined) return [match]
    if (column === undefined) return (isRelatedOperator(key) ? readRelated(key, value, relations) : undefined) ?? [{ key, value }]
    const last = isObject(value) && Object.keys(value).length === 2 && isNow(memberOf(value, '$lte')) ? memberOf(value, '$gte') : undefined
    if (last !== undefined && readAgo(last) !== undefined) return [{ column: column.name, operator: 'last', operand: last }]
    // a column of the same row that the form does not offer
    if (isObject(value) && Object.entries(value).some(([operator, operand]) => otherColumnOf(operand) !== undefined && !mayCompareColumns(column, operator))) return [{ key, value }]
    if (isObject(value) && memberOf(value, '$case') === IN_ANY_CASE.$case) {
      const rows = Object.entries(value).filter(([operator]) => operator !== '$case').map(([operator, operand]): Condition => ({ column: column.name, operator, operand, isInAnyCase: true }))
      return rows.length > 0 && rows.every(({ operator }) => mayIgnoreCase(column, operator)) ? rows : [{ key, value }]
    }
    if (isObject(value) && Object.keys(value).some((operator) => column.operators.includes(operator))) {
      return Object.entries(value).flatMap(([operator, operand]) => (operator === '$at' ? readPaths(column, operand) : undefined) ?? readCondition(column.name, operator, operand))
    }
    if (isList(value) && column.kind !== 'json' && column.kind !== 'list') return [{ column: column.name, operator: '$in', operand: value }]
    return [readCondition(column.name, '$eq', value)]
  })
}

/** One condition as members of an object of operators; undefined if nothing was entered. */
function writeCondition ({ operator, operand, path, isInAnyCase }: Condition): JsonObject | undefined {
  if (path !== undefined) {
    const condition = path === '' ? undefined : writeCondition({ column: '', operator, operand })
    return condition && { $at: { [pathOf(path)]: condition } }
  }
  const flag = FLAGS.get(operator)
  if (flag !== undefined) return flag
  if (operand === undefined) return undefined
  // a time in the future is not in the last days
  if (operator === 'last') return { $gte: operand, $lte: { $now: true } }
  if (operator === 'before') return { $lt: operand }
  return { [operator]: operand, ...isInAnyCase === true && IN_ANY_CASE }
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
    if ('text' in row) {
      if (row.text === '') continue
      if (filters.has('$match')) and.push({ $match: writeMatch(row) })
      else filters.set('$match', writeMatch(row))
      continue
    }
    const condition = writeCondition(row)
    if (condition === undefined) continue
    const key = keyOf(row.column)
    const before = filters.get(key)
    const isApart = row.operator === 'last' || isNow(memberOf(before, '$lte')) || memberOf(before, '$case') !== memberOf(condition, '$case')
    const both = before === undefined ? condition : isObject(before) && !isApart ? merge(before, condition) : undefined
    if (both === undefined) and.push({ [key]: simplify(condition) })
    else filters.set(key, both)
  }
  for (const [key, value] of filters) if (rows.some((row) => 'column' in row && keyOf(row.column) === key)) filters.set(key, simplify(value as JsonObject))
  if (and.length > 0) filters.set('$and', [...(isList(filters.get('$and')) ? filters.get('$and') as readonly Json[] : []), ...and])
  return filters.size === 0 ? undefined : Object.fromEntries(filters)
}

/** All of two conditions on a column; undefined if both have the same operator. `level` 1: the paths of `$at`. */
function merge (before: JsonObject, condition: JsonObject, level = 0): JsonObject | undefined {
  const merged = new Map(Object.entries(before))
  for (const [key, value] of Object.entries(condition)) {
    const taken = merged.get(key)
    const hasMembers = level === 1 || (level === 0 && key === '$at')
    const both = taken === undefined || key === '$case' ? value : hasMembers && isObject(taken) && isObject(value) ? merge(taken, value, level + 1) : undefined
    if (both === undefined) return undefined
    merged.set(key, both)
  }
  return Object.fromEntries(merged)
}

/** `{"$eq": 1}` is written as `1`, `{"$null": true}` as `null`, if no object or list is meant. */
function simplify (condition: JsonObject): Json {
  const paths = memberOf(condition, '$at')
  if (isObject(paths)) return { ...condition, $at: Object.fromEntries(Object.entries(paths).map(([path, value]) => [path, isObject(value) ? simplify(value) : value])) }
  const [[operator, operand] = [], ...more] = Object.entries(condition)
  if (more.length > 0) return condition
  if (operator === '$null' && operand === true) return null
  return operator === '$eq' && (operand === null || typeof operand !== 'object' || !(isObject(operand) || isList(operand))) ? operand as Json : condition
}

/** What a row begins with when its column or its operator changes: the operand is kept where it has the same form. */
export function changeOperator (operand: Json | undefined, operator: string): Json | undefined {
  if (operator === 'last' || operator === 'before') return readAgo(operand) === undefined ? writeAgo({ count: DAYS, unit: UNITS[1] }) : operand
  if (readAgo(operand) !== undefined) return undefined
  if (otherColumnOf(operand) !== undefined) return COMPARISONS.includes(operator) ? operand : undefined
  const takesList = operator === '$in' || operator === '$nin'
  if (operator === '$between') return isList(operand) && operand.length === 2 ? operand : undefined
  if (takesList) return operand === undefined || isList(operand) ? operand : [operand]
  return isList(operand) ? operand[0] : operand
}

/** Whether rows say the same as the filters of a body. */
export const saysSame = (rows: readonly FilterRow[], filters: Json | undefined): boolean => isEqual(writeFilters(rows), filters)
