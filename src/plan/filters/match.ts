/** Plans `$match`: full text in the columns of one index of words. */
import { MATCH_LENGTH, MATCH_MODES } from '../../../schemas/filters.ts'
import { baseTable, type Column, type Index, OF_RESULT, type Table, traitsOf } from '../../catalog/catalog.ts'
import { at, invalidBody, mayBeNew, type Path, pointer, unsupported, valueNotAllowed } from '../../errors.ts'
import { isObject, objectKeys } from '../../json/exact-json.ts'
import { ValueRefused } from '../../types/column-type.ts'
import { computedDoubleType } from '../../types/float.ts'
import { isLonger, readString } from '../../types/text.ts'
import { getColumn, withStandIn } from '../columns.ts'
import type { Condition, DeletePlan, Match, Relevance, UpdatePlan } from '../plan.ts'
import { type Hole, StandIn } from '../holes.ts'
import { findSearchKey } from '../row-keys.ts'
import { countCondition, type FilterScope, leavesOf } from './scope.ts'

type Mode = typeof MATCH_MODES[number]

/** @throws INVALID_BODY, COLUMN_NOT_FOUND, INVALID_VALUE, NOT_SUPPORTED */
export function planMatch (value: unknown, scope: FilterScope, path: Path): Match {
  if (scope.isSearchable !== true || scope.relating === undefined) {
    throw refuse(path, 'is not allowed here: "$match" is a filter of the rows that the request selects or changes')
  }
  const { relating: { table } } = scope
  const { columns, text, mode } = readForm(value, path)
  countCondition(scope, path)
  scope.counted.isSearch = true
  const named = columns.map((name, index) => getColumn(table, name, [...path, 'columns', index]))
  const index = indexesOfWords(table).find(({ parts }) =>
    parts.length === named.length && named.every(({ name }) => parts.some(({ column }) => column === name))
  )
  if (index === undefined) throw at([...path, 'columns'], mayBeNew(invalidBody(describeIndexes(table))))
  const textPath = [...path, 'text']
  const words = withStandIn(text, named[0] as Column, scope.standIns, textPath)
  const parameter = readText(words, textPath, (read) => toSearch(read, mode, table))
  if (mode === 'boolean' && !traitsOf(table).hasBooleanSearch) {
    throw unsupported(pointer(...path, 'mode'), 'SQLite has no boolean mode: use "any" or "all"')
  }
  const rowid = index.fullText.rowid === null ? undefined : baseTable(table).columns.get(index.fullText.rowid)
  return {
    kind: 'match',
    index,
    columns: index.parts.map(({ column }) => table.columns.get(column as string) as Column),
    parameter,
    rowid,
    path: textPath
  }
}

/** The full-text indexes whose columns the table shows. */
export function indexesOfWords ({ indexes }: Table): ReadonlyArray<Index & Required<Pick<Index, 'fullText'>>> {
  return indexes.filter((index) => index.fullText !== undefined) as never
}

function describeIndexes (table: Table): string {
  const lists = indexesOfWords(table).map(({ parts }) => JSON.stringify(parts.map(({ column }) => column)))
  const what = traitsOf(table).hasBooleanSearch ? 'a FULLTEXT index on' : 'an FTS5 table with'
  const present = lists.length === 0 ? 'there is none' : `there are those of ${lists.join(', ')}`
  return `"$match" needs ${what} exactly these columns of "${table.name}"; ${present}`
}

const FIELDS = new Set(['columns', 'text', 'mode'])

function readForm (
  value: unknown,
  path: Path
): { readonly columns: readonly string[], readonly text: unknown, readonly mode: Mode } {
  if (!isObject(value)) throw refuse(path, 'must be an object such as {"columns": ["title"], "text": "red shoes"}')
  const { columns, text, mode = 'any' } = value as Readonly<Record<string, unknown>>
  const unknown = objectKeys(value).find((name) => !FIELDS.has(name))
  if (unknown !== undefined) {
    throw refuse([...path, unknown], `is not a field of "$match"; use ${[...FIELDS].join(', ')}`)
  }
  if (!isNames(columns)) {
    throw refuse([...path, 'columns'], 'must be a list of column names, not empty and without repeats')
  }
  if (text === undefined) throw refuse([...path, 'text'], 'is missing: the text to search for')
  if (!isMode(mode)) throw refuse([...path, 'mode'], `must be one of ${MATCH_MODES.join(', ')}`)
  return { columns, text, mode }
}

const isNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.length > 0 && value.every((name) => typeof name === 'string') &&
  new Set(value).size === value.length

const isMode = (value: unknown): value is Mode => MATCH_MODES.includes(value as Mode)

/** Reads the text, and converts it to the language of the engine. @throws INVALID_VALUE */
function readText (given: unknown, path: Path, toSearch: (text: string) => string): string | Hole {
  const name = `"${path.join('.')}"`
  const read = (value: unknown): string => {
    const text = readString(value)
    if (!isLonger(text, MATCH_LENGTH) && LETTER.test(text)) return toSearch(text)
    throw at(path, valueNotAllowed(`${name} must have at least one word, and at most ${MATCH_LENGTH} characters`))
  }
  try {
    return given instanceof StandIn ? given.read(read) : read(given)
  } catch (error) {
    throw error instanceof ValueRefused ? at(path, valueNotAllowed(`${name}: ${error.message}`)) : error
  }
}

const LETTER = /[\p{L}\p{Nd}]/u
/** What is between the characters that part a word. */
const WORDS = /[\p{L}\p{M}\p{Nd}_']+/gu

/** The text in the language of the engine. A word of which a character parts it is a phrase. */
function toSearch (text: string, mode: Mode, table: Table): string {
  if (mode === 'boolean') return text
  const phrases = text.split(/\s+/u)
    .map((word) => (word.match(WORDS) ?? []).filter((part) => LETTER.test(part)).join(' '))
    .filter((phrase) => phrase !== '')
    .map((phrase) => `"${phrase}"`)
  if (!traitsOf(table).hasBooleanSearch) return phrases.join(mode === 'all' ? ' AND ' : ' OR ')
  return phrases.map((phrase) => mode === 'all' ? `+${phrase}` : phrase).join(' ')
}

const refuse = (path: Path, reason: string) => at(path, invalidBody(`"${path.join('.')}" ${reason}`))

export const matchesIn = (condition: Condition): readonly Match[] =>
  leavesOf(condition).filter((leaf) => leaf.kind === 'match')

/** A condition in one of these is not required of every row, even as the only one. */
const NOT_REQUIRED = ['$or', '$not']

/** Every row must pass them. */
function requiredMatches (condition: Condition): readonly Match[] {
  if (condition.kind === 'and') return condition.conditions.flatMap(requiredMatches)
  return condition.kind === 'match' && !NOT_REQUIRED.some((name) => condition.path.includes(name)) ? [condition] : []
}

/** The relevance for the only search that all rows must pass; undefined if there is none, or several. */
export function findRelevance (condition: Condition): Relevance | undefined {
  const [match, another] = requiredMatches(condition)
  if (match === undefined || another !== undefined) return undefined
  return { ...OF_RESULT, name: '$match', type: RELEVANCE, declaration: 'double', nullable: false, match }
}

const RELEVANCE = computedDoubleType()

/**
 * Refuses a search without a key by which the write finds its rows on MySQL and MariaDB (src/sql/compile-write.ts). To
 * be called when all else is planned. @throws NOT_SUPPORTED
 */
export function requireSearchKey ({ table, condition }: UpdatePlan | DeletePlan): void {
  const [match] = matchesIn(condition)
  if (match === undefined || traitsOf(table).searchesInWrites || findSearchKey(table) !== undefined) return
  throw unsupported(
    pointer(...match.path.slice(0, -1)),
    `table "${table.name}" has no unique key of NOT NULL columns, which a write needs to find the rows of "$match"`
  )
}
