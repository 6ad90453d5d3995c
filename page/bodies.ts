/** The bodies that the page begins with, and those of its buttons. */
import { isObject, memberOf, parseJson, withMembers, type Json, type JsonObject } from './json.ts'
import type { Column, Relation, Table, Verb } from './table.ts'

/** Rows of a page. */
export const PAGE = 50
/** Rows that are counted at most: more are "10,000 or more". */
const COUNTED = 10_000
/** A table with more columns begins with the first ones: the others can be chosen. */
const MANY_COLUMNS = 60
const FIRST_COLUMNS = 30

/** The body that a table is opened with. */
export function firstBody (table: Table, verb: Verb = table.verbs[0] ?? 'select'): JsonObject {
  const { verbs, columns } = table
  if (verb !== 'select' || !verbs.includes('select')) return blankBody(verb)
  return {
    verb: 'select',
    ...columns.length > MANY_COLUMNS && { columns: columns.filter(({ isInvisible }) => isInvisible !== true).slice(0, FIRST_COLUMNS).map(({ name }) => name) },
    limit: PAGE,
    ...firstPosition(table),
    total: COUNTED
  }
}

export const firstPosition = ({ hasPositions }: Pick<Table, 'hasPositions'>): JsonObject => hasPositions ? { after: null } : { offset: 0 }

/** A write that the form completes. */
const blankBody = (verb: Verb): JsonObject => ({
  verb,
  ...(verb === 'insert' || verb === 'update') && { data: {} },
  ...(verb === 'update' || verb === 'delete') && { filters: {} }
})

/** The body of another verb, with the filters and the data that both have. */
export function changeVerb (table: Table, body: JsonObject, verb: Verb): JsonObject {
  const blank = firstBody(table, verb)
  const filters = memberOf(body, 'filters')
  return withMembers(blank, { ...filters !== undefined && verb !== 'insert' && { filters } })
}

/** The filters of one row: its primary key. Undefined if the row or the table has none. */
export function keyFilters ({ primaryKey }: Pick<Table, 'primaryKey'>, row: JsonObject): JsonObject | undefined {
  const values = primaryKey.map((name) => [name.startsWith('$') ? `$${name}` : name, memberOf(row, name)] as const)
  return values.length === 0 || values.some(([, value]) => value === undefined || value === null) ? undefined : Object.fromEntries(values) as JsonObject
}

/** The filters of several rows that show their keys. */
export function keysFilters (table: Pick<Table, 'primaryKey'>, rows: readonly JsonObject[]): JsonObject {
  const filters = rows.map((row) => keyFilters(table, row) as JsonObject)
  const [key, ...more] = Object.keys(filters[0] ?? {})
  return key !== undefined && more.length === 0 ? { [key]: { $in: filters.map((each) => each[key] as Json) } } : { $or: filters }
}

/** The filters of the rows that are related to a row. Undefined if there can be none, or if the row lacks the columns. */
export function relatedFilters ({ on }: Relation, row: JsonObject): JsonObject | undefined {
  const values = on.map(([own, other]) => [other.startsWith('$') ? `$${other}` : other, memberOf(row, own)] as const)
  return values.some(([, value]) => value === undefined || value === null) ? undefined : Object.fromEntries(values) as JsonObject
}

/** The filters of the rows of `other` that refer to those that `filters` of `table` select: of the columns of the foreign key, where the filters name no others, as the form shows them. */
export function referringFilters (table: Table, { on }: Relation, other: Table, filters: Json | undefined): JsonObject {
  const given = isObject(filters) ? Object.entries(filters) : []
  const own = given.map(([name, value]) => [on.find(([referred]) => referred === name)?.[1] ?? '$', value] as const)
  if (own.length > 0 && own.every(([name]) => !name.startsWith('$'))) return Object.fromEntries(own)
  const back = other.relations.find((relation) => relation.table === table.name && relation.on.every(([referring, referred]) => on.some((pair) => pair[0] === referred && pair[1] === referring)))
  const member = back === undefined ? { table: table.name, on: Object.fromEntries(on.map(([referred, referring]) => [referring, referred])) } : relatedMember(back)
  return { $some: { [back?.name ?? table.name]: { ...member, ...given.length > 0 && { filters: filters as JsonObject } } } }
}

/** How a member of `include`, `$some` or `$none` with the name of the relation says which rows it means. */
export const relatedMember = ({ name, table, on, isOnly }: Relation): JsonObject => ({ ...table !== name && { table }, ...!isOnly && { on: Object.fromEntries(on) } })

/** @returns undefined where the text is not a JSON object */
export function readBody (text: string): JsonObject | undefined {
  try {
    const body = parseJson(text)
    return isObject(body) ? body : undefined
  } catch {
    return undefined
  }
}

export const verbOf = (body: JsonObject | undefined): string => String(memberOf(body, 'verb') as Json | undefined)

/** The column that names rows of a table to a person. */
export function labelColumn ({ columns }: Table): Column | undefined {
  const texts = columns.filter(({ kind, members, takesNow, references }) => kind === 'text' && members === undefined && !takesNow.data && !takesNow.filters && references === undefined)
  return texts.find(({ name }) => /(^|_)(name|title|label)$/i.test(name)) ?? texts.find(({ isKey }) => !isKey) ?? texts[0]
}
