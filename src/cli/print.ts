import { VERBS } from '../../schemas/grants.ts'
import { baseTable, mayFire, type Column, type Table } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { DatabaseConfig } from '../databases/open.ts'
import { CREATE } from '../idempotency/keys-table.ts'
import { parseExactJson } from '../json/exact-json.ts'
import type { NamedRequest } from '../named/definition.ts'
import type { DocumentText } from '../openapi/database-document.ts'
import { isOptional } from '../openapi/table-schemas.ts'
import {
  createNames, membersOf, pascalCase, type Schema, shownOf, shownSchema, takenSchema
} from '../openapi/value-schema.ts'
import { visibleTables, findRelatedTables, writableColumns, type VisibleTable } from '../openapi/visible.ts'
import { rowKeysOf } from '../plan/row-keys.ts'
import { chooseDatabase, readCatalog, requireDatabase } from './one-database.ts'

/**
 * `row-query openapi [database] [--token name]`: prints the document of the interface or of a database, for a token
 * with all permissions or a named one. @throws ConfigError
 */
export async function openapi (args: string[]): Promise<number> {
  const { databases, database, requests, settings, grant } = chooseDatabase('openapi', args)
  const document = requests !== undefined
    ? await describeNamed(requests, databases, { settings, grant })
    : database === undefined
      ? (await import('../openapi/interface-document.ts')).createInterfaceDocument({
          verbs: VERBS.filter((verb) => grant.permissions.has(verb)),
          databases: databases.map(({ name }) => name),
          settings
        })
      : await (await import('../openapi/database-document.ts')).createDatabaseDocument({
        database: database.name,
        tables: visibleTables(await readCatalog(database), grant, database.name),
        settings
      })
  process.stdout.write(`${JSON.stringify(parseExactJson(String(document.bytes)), undefined, 2)}\n`)
  return 0
}

/** The document of named requests, with the present catalogs of their databases. */
async function describeNamed (
  requests: ReadonlyMap<string, NamedRequest>,
  configured: readonly DatabaseConfig[],
  { settings, grant }: Pick<ReturnType<typeof chooseDatabase>, 'settings' | 'grant'>
): Promise<DocumentText> {
  const used = new Set(Array.from(requests.values(), ({ database }) => database))
  const databases = new Map<string, Pick<Database, 'catalog'>>()
  for (const config of configured.filter(({ name }) => used.has(name))) {
    databases.set(config.name, { catalog: await readCatalog(config) })
  }
  const [{ NamedRequests }, { createNamedDocument }] =
    await Promise.all([import('../named/call.ts'), import('../openapi/named-requests.ts')])
  const named = new NamedRequests({ databases: databases as Map<string, Database>, limits: settings.limits }, requests)
  return createNamedDocument(named, grant, settings)
}

/**
 * `row-query types [database] [--token name]`: prints TypeScript interfaces for its tables, or for what a token sees of
 * them. @throws ConfigError
 */
export async function types (args: string[]): Promise<number> {
  const { database, grant } = requireDatabase('types', args)
  process.stdout.write(writeTypes(database.name, visibleTables(await readCatalog(database), grant, database.name)))
  return 0
}

/**
 * `row-query keys [database]`: prints the statement that creates the table for idempotency keys. @throws ConfigError
 */
export async function keys (args: string[]): Promise<number> {
  const { database } = requireDatabase('keys', args)
  process.stdout.write(CREATE[database.address.engine])
  return 0
}

/** The file uses them for other purposes. */
const OWN = ['DB', 'Relations', 'Column', 'Int64', 'Json', 'Array']

const head = (database: string): string =>
  `/** The tables of the database ${quoted(database)} as the service shows them. ` +
  `Made by \`row-query types\`: not to be changed by hand. */

/** The types of a column in a select, an insert, an update and a sum. Kysely accepts it as its ColumnType. */
export interface Column<Select, Insert, Update, Sum = never> {
  readonly __select__: Select
  readonly __insert__: Insert
  readonly __update__: Update
  readonly __sum__?: Sum
}

/** A whole number of 64 bits: a bigint beyond what a number holds exactly. */
export type Int64 = number | bigint

/** A value of a JSON column. */
export type Json = object | string | number | bigint | boolean | null
`

export function writeTypes (database: string, tables: readonly VisibleTable[]): string {
  const names = createNames(OWN)
  const named = tables.map(({ table, verbs }) => ({ table, verbs, name: names.take(pascalCase(table.name)) }))
  const list = named.map(({ table, name }) => `  ${keyOf(table.name)}: ${name}\n`)
  const interfaces = named.map((each) => `${writeTable(each)}\n`).join('')
  const db = `export interface DB {\n${list.join('')}  readonly [relations]?: Relations\n}\n`
  return `${head(database)}\n${interfaces}${writeRelations(tables)}\n${db}`
}

/**
 * Writes the keys and relations for the types of related rows. Their name is a symbol, so that it is not a table here
 * or for Kysely.
 */
function writeRelations (tables: readonly VisibleTable[]): string {
  const related = findRelatedTables(tables)
  const lines = tables.filter(({ table }) => table.kind === 'table').map(({ table }) => {
    const relations = (related.get(table) ?? []).map(
      ({ other, on }) =>
        `${keyOf(other.name)}: { ` +
        `${on.map(({ column, other }) => `${keyOf(column.name)}: ${quoted(other.name)}`).join(', ')} }`
    )
    return `  ${keyOf(table.name)}: { keys: ${keysOf(table)}, id: ${idOf(table)}, ` +
      `related: {${relations.length === 0 ? '' : ` ${relations.join(', ')} `}} }\n`
  })
  return 'declare const relations: unique symbol\n\n/** The unique keys of each table, ' +
    'the column whose value is `id` of an insert, and the tables that it is ' +
    `related to by one relation only: its columns to theirs. */\ninterface Relations {\n${lines.join('')}}\n`
}

/** The unique keys whose columns can be named. */
function keysOf (table: Table): string {
  const keys = rowKeysOf(table).filter((key) => key.every((column) => table.columns.get(column.name) === column))
  return [...new Set(keys.map((key) => `[${key.map(({ name }) => quoted(name)).join(', ')}]`))].join(' | ') || 'never'
}

/** The column whose value is `id` of an insert; null if there is none, and besides it if the value may be unknown. */
function idOf (table: Table): string {
  const { identity } = table
  if (identity === undefined || table.columns.get(identity.name) !== identity) return 'null'
  const isCertain = (identity.autoIncrement || !isOptional(table, identity)) && !mayFire(table, 'insert')
  return quoted(identity.name) + (isCertain ? '' : ' | null')
}

/**
 * Writes the interface of a table. A hidden column is `never` in selects, and a column that cannot be written is
 * `never` in writes. An invisible one may be undefined, because a row has it only if the request names it.
 */
function writeTable ({ name, table, verbs }: VisibleTable & { readonly name: string }): string {
  const [insertable, updatable] = (['insert', 'update'] as const).map(
    (verb) => new Set(verbs.includes(verb) ? writableColumns(table, verb) : [])
  ) as [Set<Column>, Set<Column>]
  const columns = baseTable(table).columnList.filter(
    (column) => table.columns.has(column.name) || insertable.has(column) || updatable.has(column)
  )
  const lines = columns.map((column) => {
    const taken = typeOf(takenSchema(column, 'insert'))
    const shown = table.columns.has(column.name)
      ? `${typeOf(shownSchema(column))}${column.invisible === true ? ' | undefined' : ''}`
      : 'never'
    const inserted = insertable.has(column) ? `${taken}${isOptional(table, column) ? ' | undefined' : ''}` : 'never'
    return `${comment(column.comment, '  ')}  ${keyOf(column.name)}: Column<${shown}, ${inserted}, ` +
      `${updatable.has(column) ? taken : 'never'}${shown === 'never' ? '' : sumOf(column)}>\n`
  })
  return `${comment(table.comment, '')}export interface ${name} {\n${lines.join('')}}\n`
}

function sumOf ({ type: { totals } }: Column): string {
  return totals === undefined ? '' : `, ${typeOf(shownOf(totals().sum.type.schema))}`
}

function typeOf (schema: Schema): string {
  return [...new Set(membersOf(schema).flatMap(typesOf))].join(' | ')
}

function typesOf (schema: Schema): string[] {
  const { type, enum: members } = schema as { type?: string | string[], enum?: unknown[] }
  if (type === undefined) return ['Json']
  if (members !== undefined) return members.map((member) => member === null ? 'null' : quoted(member as string))
  return [type].flat().map((each) => written[each]?.(schema) ?? each)
}

/** JSON Schema types with another name in TypeScript. */
const written: Readonly<Record<string, (schema: Schema) => string>> = {
  // schemas of 64-bit integers have no maximum (src/types/exact-numbers.ts)
  integer: ({ maximum }) => maximum === undefined ? 'Int64' : 'number',
  array: ({ items }) => `Array<${typeOf(items as Schema)}>`,
  object: ({ properties }) => `{ type: ${typeOf((properties as { type: Schema }).type)}, [member: string]: unknown }`
}

const keyOf = (name: string): string => /^[A-Za-z_$][\w$]*$/.test(name) ? name : quoted(name)

function quoted (text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}

function comment (text: string, indent: string): string {
  return text === '' ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/').replace(/\s+/g, ' ')} */\n`
}
