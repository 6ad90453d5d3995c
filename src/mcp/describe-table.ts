import { type TObject, Type } from '@sinclair/typebox'
import { DEFAULT_LIMIT, MAX_COLUMNS, MAX_LIMIT } from '../../schemas/limits.ts'
import { closed } from '../../schemas/server-settings.ts'
import { type Access, getAccess, getDatabase, unseenTable } from '../access/authorize.ts'
import type { Grant } from '../access/grant.ts'
import type { Catalog, Column, Table } from '../catalog/catalog.ts'
import { relationsBetween } from '../catalog/relations.ts'
import type { Database } from '../databases/database.ts'
import { lookAgain } from '../databases/stale-catalog.ts'
import { brokenDefinition, isServiceError, resultTooLarge, withReason } from '../errors.ts'
import { isOptional } from '../openapi/table-schemas.ts'
import { anyOf, membersOf, type Schema, findDefault, shownSchema } from '../openapi/value-schema.ts'
import { type VisibleTable, visibleTables, writableColumns } from '../openapi/visible.ts'
import { getColumn } from '../plan/columns.ts'
import { indexesOfWords } from '../plan/filters/match.ts'
import { acceptsOperator, operators } from '../plan/filters/operators.ts'
import { isOne } from '../plan/relation.ts'
import {
  type Arguments, databasesOf, describeArguments, holdsAnywhere, PATH, readArguments, refuse, type Tool,
  type ToolOptions, usableTables
} from './tool.ts'

// The descriptions of columns in describe_table, which are short because a model reads them.

/** Keywords that say more than the declaration of the column. */
const KEPT = ['type', 'format', 'enum', 'contentEncoding', 'uniqueItems']
/** Formats of numbers, which the declaration already shows. */
const NUMBERS = new Set<unknown>(['int32', 'int64', 'float', 'double', 'decimal'])

function describeColumns (columns: readonly Column[]): {
  readonly columns: readonly Schema[]
  /**
   * The operators that filters accept, by the names that columns refer to; `default` applies to columns without a name.
   */
  readonly operators: Readonly<Record<string, readonly string[]>>
} {
  const sets = Map.groupBy(columns, setOf)
  const [usual] = Array.from(sets).sort(([, one], [, other]) => other.length - one.length)[0] ?? []
  return {
    columns: columns.map((column) => ({
      ...describeColumn(column),
      ...(setOf(column) !== usual && { operators: setOf(column) })
    })),
    operators: Object.fromEntries(
      Array.from(sets, ([name, [column]]) => [name === usual ? 'default' : name, operatorsOf(column as Column)])
    )
  }
}

/** The name of the set of operators that filters accept for the column. */
const setOf = ({ type }: Column): string => {
  if (type.inside !== undefined) return 'json'
  return type.readMember === undefined ? type.comparison : 'members'
}

const operatorsOf = ({ type }: Column): string[] => [
  ...[...operators].filter(([, operator]) => acceptsOperator(operator, type)).map(([name]) => name),
  ...type.comparison === 'text' ? ['$case'] : []
]

function describeColumn (column: Column): Schema {
  const { name, type, declaration, nullable, generated, autoIncrement, invisible, comment } = column
  const fallback = findDefault(column)
  return {
    name,
    type: declaration,
    schema: shorten(column),
    nullable,
    ...fallback !== undefined && { default: fallback.value },
    ...fallback === undefined && column.defaultComputed === true && { defaultComputed: true },
    ...generated && { generated },
    ...autoIncrement && { autoIncrement },
    ...invisible && { invisible },
    ...!type.writable && { writable: false },
    ...comment !== '' && { comment }
  }
}

/** The schema of the values that a select returns, without null, and with an example in place of a pattern. */
function shorten (column: Column): Schema {
  const { moment, schema } = column.type
  const { description, examples = [] } = schema as { description?: string, examples?: readonly unknown[] }
  const members = membersOf(shownSchema({ ...column, nullable: false }))
  const hasPattern = members.some(
    (member) => member['pattern'] !== undefined && member['contentEncoding'] === undefined
  )
  const { format, ...kept } = anyOf(members.map(keepMost))
  return {
    ...kept,
    ...(!hasPattern && format !== undefined && { format }),
    ...(description !== undefined && moment === undefined && { description }),
    ...(hasPattern && examples.length > 0 && { example: examples[0] })
  }
}

function keepMost (schema: Schema): Schema {
  const keywords = Object.fromEntries(
    KEPT.flatMap((key) => (schema[key] === undefined || NUMBERS.has(schema[key]) ? [] : [[key, schema[key]]]))
  )
  return { ...keywords, ...typeof schema['items'] === 'object' && { items: keepMost(schema['items'] as Schema) } }
}

/** The arguments of a tool that tells of tables; undefined if the grant may use none. */
const describeUsable = (schema: TObject, grant: Grant, options: ToolOptions): Schema | undefined =>
  options.verbs.some((verb) => holdsAnywhere(grant, options.databases, verb))
    ? describeArguments(schema, grant, options)
    : undefined

const DESCRIBE_ARGUMENTS = Type.Object({
  ...PATH,
  columns: Type.Optional(Type.Array(Type.String(), {
    minItems: 1,
    maxItems: MAX_COLUMNS,
    uniqueItems: true,
    description: 'Only these columns, for a very wide table.'
  }))
}, closed)

export function createDescribeTable (options: ToolOptions): Tool {
  return {
    title: 'Describe table',
    description:
      'Describes a table or view: its columns (SQL type, JSON schema of their values, whether they can be null, ' +
      'default, comment), the operators that filters accept ("default", or the set that a column names), its keys, ' +
      'the columns that $match searches, ' +
      'its relations to other tables ("table" and "on" as "include" of select takes them) and its verbs. A view has ' +
      'none: it needs "on" there, with any columns.\n' +
      'Call it before you read or change rows of a table: names are case-sensitive.',
    isReadOnly: true,
    inputSchema: (grant) => describeUsable(DESCRIBE_ARGUMENTS, grant, options),
    run: async (args, { grant }) => await describe(options, grant, args)
  }
}

/**
 * @throws INVALID_BODY, DATABASE_NOT_FOUND, TABLE_NOT_FOUND, BROKEN_DEFINITION, COLUMN_NOT_FOUND, RESULT_TOO_LARGE;
 * DATABASE_UNAVAILABLE until the catalog has been read
 */
async function describe (options: ToolOptions, grant: Grant, args: Arguments): Promise<string> {
  const { columns, ...path } = readArguments(args, DESCRIBE_ARGUMENTS)
  const access = getAccess(options.databases, grant, path)
  const description = await lookAgain(access.database, async ({ catalog, getCatalog }) =>
    describeTable(options, access, catalog ?? await getCatalog(), columns)
  )
  const text = JSON.stringify(description)
  if (Buffer.byteLength(text) > options.resultLimit) {
    throw resultTooLarge(`the description would be larger than ${options.resultLimit} bytes; name fewer "columns"`)
  }
  return text
}

function describeTable (
  { verbs: tools }: ToolOptions,
  access: Access,
  catalog: Catalog,
  names: readonly string[] | undefined
): object {
  const { grant, database: { name: database }, tableName } = access
  const visible = usableTables(catalog, grant, { database, verbs: tools }).find(({ table }) => table.name === tableName)
  if (visible === undefined) {
    const reason = catalog.broken?.get(tableName)
    throw reason === undefined
      ? unseenTable({ grant, database, catalog }, tableName)
      : withReason(brokenDefinition(), reason)
  }
  const { table, verbs } = visible
  const { name, kind, comment, primaryKey, uniqueKeys } = table
  const [inserted, updated] = (['insert', 'update'] as const).map((verb) =>
    verbs.includes(verb) ? writableColumns(table, verb) : []) as [Column[], Column[]]
  const limited = limitedTo(table, updated)
  const unseen = new Map(
    [...inserted, ...updated].filter(({ name }) => !table.columns.has(name)).map((column) => [column.name, column])
  )
  const columns = names?.flatMap((each, index) => unseen.has(each) ? [] : getColumn(table, each, ['columns', index]))
  const writeOnly = names?.flatMap((each) => unseen.get(each) ?? []) ?? [...unseen.values()]
  const searches = indexesOfWords(table).map(({ parts }) => parts.map(({ column }) => column))
  return {
    database,
    table: name,
    kind,
    comment,
    verbs,
    ...describeColumns(columns ?? table.columnList),
    ...(writeOnly.length > 0 && { writeOnlyColumns: describeColumns(writeOnly).columns }),
    primaryKey,
    uniqueKeys: uniqueKeys.map((key) => key.columns),
    ...(searches.length > 0 && { search: searches }),
    ...(verbs.includes('insert') && {
      insert: {
        required: inserted.filter((column) => !isOptional(table, column)).map((column) => column.name),
        ...limitedTo(table, inserted)
      }
    }),
    ...(verbs.includes('update') && limited.columns !== undefined && { update: limited }),
    // also to tables that no tool reads by itself, because filters and members do
    relations: visibleTables(catalog, grant, database).flatMap((other) => relationsTo(table, other))
  }
}

/** The names of the writable columns, if the descriptions of the columns do not already show them. */
function limitedTo ({ columnList }: Table, writable: readonly Column[]): { readonly columns?: readonly string[] } {
  const usual = columnList.filter(({ generated, type }) => !generated && type.writable)
  return usual.length === writable.length && usual.every((column) => writable.includes(column))
    ? {}
    : { columns: writable.map(({ name }) => name) }
}

function relationsTo (table: Table, { table: other, verbs }: VisibleTable): object[] {
  if (!verbs.includes('select')) return []
  return relationsBetween(table, other).map((pairs) => ({
    table: other.name,
    on: Object.fromEntries(pairs.map(({ column, other: related }) => [column.name, related.name])),
    rows: isOne(other, pairs) ? 'one' : 'many'
  }))
}

const LIST_ARGUMENTS = Type.Object({
  database: Type.Optional(Type.String({ description: 'Only tables of this database.' })),
  contains: Type.Optional(Type.String({
    description: 'Only tables whose name or comment contains this text, in any case.'
  })),
  limit: Type.Optional(Type.Integer({
    minimum: 1,
    maximum: MAX_LIMIT,
    default: DEFAULT_LIMIT,
    description: `Tables to return at most; ${DEFAULT_LIMIT} if left out.`
  })),
  after: Type.Optional(Type.Union([
    Type.Object({ database: Type.String(), table: Type.String() }, closed),
    Type.Null()
  ], { description: '"next" of the page before.' }))
}, closed)

interface Listed extends Pick<Table, 'kind' | 'comment'> {
  readonly database: string
  readonly table: string
  readonly verbs: readonly string[]
}

export function createListTables (options: ToolOptions): Tool {
  return {
    title: 'List tables',
    description:
      'Lists the databases and the tables and views in them that you can use, each with its comment and its verbs ' +
      '(the names of the tools that work with it). Call it first.\n' +
      '"contains": only tables whose name or comment contains this text. If "next" is not null there are more: ' +
      'send it back as "after". Then call describe_table.',
    isReadOnly: true,
    inputSchema: (grant) => describeUsable(LIST_ARGUMENTS, grant, options),
    run: async (args, { grant }) => await listTables(options, grant, args)
  }
}

/** Lists a page of as many tables as fit into a result. @throws INVALID_BODY, LIMIT_OUT_OF_RANGE, DATABASE_NOT_FOUND */
async function listTables (options: ToolOptions, grant: Grant, args: Arguments): Promise<string> {
  const { database: name, contains = '', limit = DEFAULT_LIMIT, after = null } =
    readArguments(args, LIST_ARGUMENTS, { after: '"next" of the page before' })
  const part = contains.toLowerCase()
  const searched = name === undefined ? databasesOf(grant, options) : [getDatabase(options.databases, grant, name).name]
  if (after !== null && !searched.includes(after.database)) {
    throw refuse('after', '"after" must be "next" of the page before, with the same arguments')
  }
  const unavailable: string[] = []
  const shown: string[] = []
  let last: Listed | undefined
  let room = options.resultLimit - Buffer.byteLength(JSON.stringify(searched)) - RESERVED
  let hasMore = false
  for await (const table of tablesOf(options, grant, { searched, after, unavailable })) {
    const { comment } = table
    if (!`${table.table}\n${comment}`.toLowerCase().includes(part)) continue
    const text = JSON.stringify({
      ...table,
      comment: comment.length > MAX_COMMENT ? `${comment.slice(0, MAX_COMMENT)}…` : comment
    })
    room -= Buffer.byteLength(text) + 1
    if (room < 0 && last === undefined) throw resultTooLarge('name a "database"')
    hasMore = shown.length === limit || room < 0
    if (hasMore) break
    shown.push(text)
    last = table
  }
  const next = hasMore && last !== undefined ? { database: last.database, table: last.table } : null
  const rest = { databases: searched, count: shown.length, next, ...unavailable.length > 0 && { unavailable } }
  return `{"tables":[${shown.join()}],${JSON.stringify(rest).slice(1)}`
}

/** The tables after a position, by database and sorted by name. */
async function * tablesOf (
  options: ToolOptions,
  grant: Grant,
  { searched, after, unavailable }: {
    readonly searched: readonly string[]
    /** The table after which the page begins. */
    readonly after: { readonly database: string, readonly table: string } | null
    /** Collects the names of databases whose catalog cannot be read. */
    readonly unavailable: string[]
  }
): AsyncGenerator<Listed> {
  const databases = after === null ? searched : searched.slice(searched.indexOf(after.database))
  // at the same time, because each waits for its database if that does not answer
  const catalogs = databases.map((database) => readCatalog(options.databases.get(database) as Database))
  // a page may end before all of them are awaited
  for (const catalog of catalogs) catalog.catch(() => {})
  for (const [index, database] of databases.entries()) {
    const catalog = await catalogs[index]
    if (catalog === undefined) unavailable.push(database)
    else {
      for (const table of findTables(options, grant, { database, catalog })) {
        if (database !== after?.database || table.table > after.table) yield table
      }
    }
  }
}

/** Bytes of a result that are reserved for everything except the tables and the names of databases. */
const RESERVED = 700
/** Maximum length of a comment, in characters; describe_table shows the whole comment. */
const MAX_COMMENT = 200

function findTables (
  options: ToolOptions,
  grant: Grant,
  { database, catalog }: { readonly database: string; readonly catalog: Catalog }
): Listed[] {
  const tables = usableTables(catalog, grant, { database, verbs: options.verbs })
  return tables
    .map(({ table: { name: table, kind, comment }, verbs }) => ({ database, table, kind, comment, verbs }))
    .sort((one, other) => (one.table < other.table ? -1 : 1))
}

/** Reads a catalog; undefined while it cannot be read. */
async function readCatalog ({ getCatalog }: Database): Promise<Catalog | undefined> {
  try {
    return await getCatalog()
  } catch (error) {
    if (isServiceError(error)) return undefined
    throw error
  }
}
