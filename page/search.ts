/** One text that is searched in all texts of a table, and as the number of its key, the member `$or` of the filters; or its words in a full-text index, the member `$match`. */
import { isList, isObject, memberOf, withMembers, type Json, type JsonObject } from './json.ts'
import { firstPosition, relatedMember } from './bodies.ts'
import { IN_ANY_CASE, keyOf, readMatch, writeMatch } from './filter-rows.ts'
import { firstPage, readOrder } from './order.ts'
import type { Column, Table } from './table.ts'

/** Columns that are searched at most: a body has a limited number of conditions. */
const MAX_COLUMNS = 10

/** Names of rows of other tables that are searched at most: each asks the database for another table. */
const MAX_NAMES = 4

type Searched = Pick<Table, 'columns' | 'indexes' | 'primaryKey'> & Partial<Pick<Table, 'shownNames'>>

export interface Search {
  readonly text: string
  /** The columns of the full-text index; undefined for all texts. */
  readonly columns?: readonly string[] | undefined
}

const textsOf = ({ columns }: Searched): Column[] =>
  columns.filter(({ kind, members, operators, isBytes }) => kind === 'text' && members === undefined && !isBytes && operators.includes('$contains')).slice(0, MAX_COLUMNS)

/** The only column of the primary key, if it is an integer. */
const numberOf = ({ columns, primaryKey }: Searched): Column | undefined =>
  primaryKey.length === 1 ? columns.find(({ name, kind, operators }) => name === primaryKey[0] && kind === 'integer' && operators.includes('$eq')) : undefined

export const canSearch = (table: Searched): boolean => table.indexes.length > 0 || textsOf(table).length > 0 || numberOf(table) !== undefined || (table.shownNames?.() ?? []).length > 0

/** What a search of texts looks at. */
export const describeSearch = (table: Searched): string => `Search all texts${numberOf(table) === undefined ? '' : `, or ${numberOf(table)?.name ?? ''}`}`

/** Letters that every database makes lower case, where it can compare in any letter case. */
const isAscii = (text: string): boolean => /^[ -~]*$/.test(text)

/** How a text was looked for. */
export const describeCase = (text: string): string => isAscii(text) ? 'Letter case makes no difference.' : 'It was looked for as it is entered, in lower case, in upper case, and with capitals.'

/** The text as it was entered, in lower and in upper case, with a capital, and with one in each word, as names have: some databases compare bytes. */
function spellings (text: string): string[] {
  const lower = text.toLowerCase()
  return [...new Set([text, lower, text.toUpperCase(), ...[/^./u, /(?<![\p{L}\p{N}])\p{L}/gu].map((capitals) => lower.replace(capitals, (letter) => letter.toUpperCase()))])]
}

/** The conditions that a column contains the text: one that ignores letter case, or one for each spelling. */
const contains = (name: string, hasCase: boolean, text: string): JsonObject[] => hasCase && isAscii(text) && /[a-z]/i.test(text)
  ? [{ [keyOf(name)]: { $contains: text, ...IN_ANY_CASE } }]
  : spellings(text).map((spelling) => ({ [keyOf(name)]: { $contains: spelling } }))

function writeSearch (table: Searched, text: string): JsonObject[] {
  const key = numberOf(table)
  const isKey = key !== undefined && /^\d{1,15}$/.test(text) && Number(text) <= (key.maximum ?? Infinity)
  const texts = textsOf(table).flatMap(({ name, operators }) => contains(name, operators.includes('$case'), text))
  const names = (table.shownNames?.() ?? []).slice(0, MAX_NAMES).map(({ relation, column, hasCase }) => ({
    $some: { [relation.name]: { ...relatedMember(relation), filters: { $or: contains(column, hasCase, text) } } }
  }))
  return [...texts, ...isKey ? [{ [keyOf(key.name)]: Number(text) }] : [], ...names]
}

/** The text of the first condition, also of one about the name of another row. */
function textIn (condition: Json | undefined): string | undefined {
  const [key, value] = Object.entries(isObject(condition) ? condition : {})[0] ?? []
  if (key !== '$some') return typeof value === 'number' ? String(value) : memberOf(value, '$contains') as string | undefined
  const [member] = Object.values(isObject(value) ? value : {})
  const list = memberOf(memberOf(member, 'filters'), '$or')
  return isList(list) ? textIn(list[0]) : undefined
}

/** The text that filters search for; undefined if their `$or` and their `$match` say something else. */
export function readSearch (table: Searched, filters: Json | undefined): Search | undefined {
  const list = memberOf(filters, '$or')
  const text = isList(list) ? textIn(list[0]) : undefined
  if (typeof text === 'string' && JSON.stringify(list) === JSON.stringify(writeSearch(table, text))) return { text }
  const match = memberOf(filters, '$match')
  return match === undefined ? undefined : readMatch(match, table.indexes)
}

/** The filters with another search; without any, where its text is empty. Another `$or` stays, under `$and`. */
export function withSearch (table: Searched, filters: Json | undefined, { text, columns }: Search): JsonObject | undefined {
  const given = isObject(filters) ? filters : {}
  const before = readSearch(table, given)
  const match = readMatch(memberOf(given, '$match') ?? null, table.indexes)
  const other = before === undefined || before.columns !== undefined ? memberOf(given, '$or') : undefined
  const and = memberOf(given, '$and')
  const isOfTexts = text !== '' && columns === undefined
  const kept = isOfTexts && other !== undefined ? [...isList(and) ? and : [], { $or: other }] : and
  const words = text !== '' && columns !== undefined ? writeMatch({ columns, text, mode: match?.mode ?? 'any' }) : match === undefined ? memberOf(given, '$match') : undefined
  const changed = withMembers(given, { $or: isOfTexts ? writeSearch(table, text) : other, $and: kept, $match: words })
  return Object.keys(changed).length === 0 ? undefined : changed
}

/** The body with other filters, from its first page. An order by relevance needs words. */
export function withFilters (table: Pick<Table, 'hasPositions'>, body: JsonObject, filters: JsonObject | undefined): JsonObject {
  const changed = withMembers(firstPage(body), { filters })
  return isByRelevance(body) && memberOf(filters, '$match') === undefined ? byRelevance(table, changed, false) : changed
}

export const isByRelevance = (body: JsonObject): boolean => readOrder(body).some(({ name }) => name === '$match')

/** The order by relevance has no positions. */
export const byRelevance = (table: Pick<Table, 'hasPositions'>, body: JsonObject, isWanted: boolean): JsonObject =>
  withMembers(body, { orderBy: isWanted ? [{ $match: 'DESC' }] : undefined, after: undefined, offset: undefined, ...isWanted ? { offset: 0 } : firstPosition(table) })
