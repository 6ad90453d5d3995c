/**
 * Writes the tables of docs/configuration.md and docs/configuration-reference.md from the schemas of the settings (`npm run docs`). Each stands between two
 * comments, of which the first names the table.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TSchema, Type } from '@sinclair/typebox'
import { ConfigSchema, TokenSchema } from '../schemas/options.ts'
import { ServerSchema } from '../schemas/server-settings.ts'
import { ALIASES, FLAGS, type Variable, VARIABLES } from '../src/config/variables.ts'

const DOCS = join(import.meta.dirname, '../docs')

const code = (text: unknown): string => `\`${text}\``

type Row = readonly string[]

function tableOf (headings: Row, rows: readonly Row[]): string {
  // an empty cell is one space wide
  const lines = [headings, ...rows].map((cells) => '|' + cells.map((cell) => cell === '' ? ' |' : ` ${cell} |`).join(''))
  return lines.toSpliced(1, 0, `|${'---|'.repeat(headings.length)}`).join('\n')
}

/** The unit that the document says for all settings. */
const UNIT = /, in (milliseconds|bytes)$/

/** What a role has like a token. */
const OF_TOKENS = new Set(Object.keys(TokenSchema.properties).map((key) => `roles.<name>.${key}`))

/** What docs/grants.md, docs/jwt.md, docs/named-requests.md and OpenAPI say of the settings within these. */
const ELSEWHERE = new Set(['tokens.<n>.databases', 'jwt', 'requests.<name>.parameters', 'openapiInfo'])

/** The rows of a setting and of the settings that it contains. `name`: its path, '' for all settings. */
function rowsOf (name: string, schema: TSchema, required: boolean): Row[] {
  const { type, items, description } = schema
  const { properties, patternProperties, required: needed = [] } = objectOf(schema)
  const [record] = Object.values<TSchema>(patternProperties ?? {})
  const children = [
    ...Object.entries<TSchema>(properties ?? {}).map(([key, child]): [string, TSchema, boolean] => [key, child, needed.includes(key)]),
    ...(record !== undefined ? [['<name>', record, false] as const] : []),
    ...(type === 'array' && items.type === 'object' ? [['<n>', items, false] as const] : [])
  ]
  // a group that is always there has no row, only its settings
  const isGroup = typeof schema.default === 'object' && !Array.isArray(schema.default)
  const own = description === undefined || isGroup ? [] : [[code(name), required ? 'required' : defaultOf(schema), allowed(schema), description.replace(UNIT, '')]]
  if (OF_TOKENS.has(name)) return []
  return ELSEWHERE.has(name) ? own : [...own, ...children.flatMap(([key, child, isNeeded]) => rowsOf(name === '' ? key : `${name}.${key}`, child, isNeeded))]
}

/** Of a union, the object. */
const objectOf = (schema: TSchema): TSchema =>
  schema['anyOf']?.find((each: TSchema) => each['properties'] !== undefined || each['patternProperties'] !== undefined) ?? schema

const defaultOf = ({ default: fallback }: TSchema): string => fallback === undefined || fallback.length === 0 ? '' : code(fallback)

const TYPES = new Map([['boolean', 'boolean'], ['string', 'string'], ['number', 'number'], ['null', '`null`'], ['array', 'list'], ['object', 'object']])

/** @throws Error for a schema that this function does not know, so that no setting loses a cell */
function allowed (schema: TSchema): string {
  const { type, minimum, maximum, anyOf } = schema
  if (anyOf?.every((each: TSchema) => each.const !== undefined)) return anyOf.map((each: TSchema) => code(each.const)).join(', ')
  if (anyOf !== undefined) return anyOf.map((each: TSchema) => each.const === undefined ? allowed(each) : code(JSON.stringify(each.const))).join(' or ')
  if (type === 'integer') return maximum === undefined ? `${minimum} or more` : `${minimum}–${maximum}`
  if (schema['const'] !== undefined) return code(JSON.stringify(schema['const']))
  const text = TYPES.get(type) ?? (type === undefined ? 'any' : undefined)
  if (text === undefined) throw new Error(`no text for ${JSON.stringify(schema)}`)
  return text
}

function settings (schema: TSchema): string {
  return tableOf(['setting', 'default', 'allowed', 'meaning'], rowsOf('', schema, true))
}

/** The variables that no setting describes. */
const OTHERS: readonly Row[] = [
  ['`DATABASE_URL`', '', 'URL of a further database, with the name in the URL', 'the demo, if the file has no databases'],
  ['`API_TOKEN`', '', 'a further token, of at least 32 characters, for all databases', 'for the demo, one is created and printed'],
  ['`API_TOKEN_PERMISSIONS`', '', 'permissions of `API_TOKEN`, such as `select,insert`', '`select,insert,update,delete`'],
  ['`ROW_QUERY_CONFIG`', '`--config`', 'path of the configuration file', '']
]

/** The row of a setting that has a flag or a short variable. */
function shortRowOf ([name, { path, schema }]: readonly [string, Variable]): Row {
  const flag = FLAGS.get(name)
  const mayBeEmpty = schema['pattern'] !== undefined && new RegExp(schema['pattern']).test('')
  return [code(ALIASES.get(name) ?? name), flag === undefined ? '' : code(flag), `${code(path.join('.'))}${mayBeEmpty ? '; may be empty' : ''}`, defaultOf(schema)]
}

const GUIDE_TABLES: ReadonlyMap<string, string> = new Map([
  ['variables and flags', tableOf(['variable', 'flag', 'meaning', 'default'], [...OTHERS, ...[...VARIABLES].filter(([name]) => FLAGS.has(name) || ALIASES.has(name)).map(shortRowOf)])]
])

const REFERENCE_TABLES: ReadonlyMap<string, string> = new Map([
  ['settings of the plugin', settings(Type.Omit(ConfigSchema, Object.keys(ServerSchema.properties)))],
  ['settings of the server', settings(ServerSchema)]
])

/** The documents with tables, by their names in docs/. */
export const TABLES: ReadonlyMap<string, ReadonlyMap<string, string>> = new Map([
  ['configuration.md', GUIDE_TABLES],
  ['configuration-reference.md', REFERENCE_TABLES]
])

/** @throws Error if the document has no place for a table */
export function writeTables (document: string, tables: ReadonlyMap<string, string>): string {
  return [...tables].reduce((text, [name, table]) => {
    const start = `<!-- ${name}, by npm run docs -->\n`
    const from = text.indexOf(start)
    const to = text.indexOf('<!-- end -->', from)
    if (from < 0 || to < 0) throw new Error(`no place for the table: ${name}`)
    return `${text.slice(0, from)}${start}\n${table}\n\n${text.slice(to)}`
  }, document)
}

if (process.argv[1] === import.meta.filename) {
  for (const [name, tables] of TABLES) writeFileSync(join(DOCS, name), writeTables(readFileSync(join(DOCS, name), 'utf8'), tables))
}
