import { getDatabase } from '../access/authorize.ts'
import type { Grant } from '../access/grant.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import { isServiceError, resultTooLarge } from '../errors.ts'
import { isObject } from '../json/exact-json.ts'
import {
  readArguments, readLimit, readText, refuse, type Arguments, type Tool, databasesOf, holdsAnywhere, usableTables,
  type ToolOptions
} from './tool.ts'

const LIMIT = { fallback: 100, most: 1000 }
const NAMES = ['database', 'contains', 'limit', 'after'] as const

/** An entry of the list. */
interface Listed {
  readonly database: string
  readonly table: string
  readonly kind: 'table' | 'view'
  readonly comment: string
  readonly verbs: readonly string[]
}

/** The table after which a page of the list begins. */
interface Position { readonly database: string, readonly table: string }

export function createListTables (options: ToolOptions): Tool {
  return {
    title: 'List tables',
    description:
      'Lists the databases and the tables and views in them that you can use, each with its comment and its verbs ' +
      '(the names of the tools that work with it). Call it first.\n' +
      '"contains": only tables whose name or comment contains this text. If "next" is not null there are more: ' +
      'send it back as "after". Then call describe_table.',
    isReadOnly: true,
    isUsable: (grant) => options.verbs.some((verb) => holdsAnywhere(grant, options.databases, verb)),
    inputSchema: (grant) => ({
      type: 'object',
      properties: {
        database: { type: 'string', enum: databasesOf(grant, options), description: 'Only tables of this database.' },
        contains: {
          type: 'string',
          description: 'Only tables whose name or comment contains this text, in any case.'
        },
        limit: {
          type: 'integer',
          minimum: 1,
          maximum: LIMIT.most,
          default: LIMIT.fallback,
          description: `Tables to return at most; ${LIMIT.fallback} if left out.`
        },
        after: {
          type: 'object',
          properties: { database: { type: 'string' }, table: { type: 'string' } },
          required: ['database', 'table'],
          additionalProperties: false,
          description: '"next" of the page before.'
        }
      },
      additionalProperties: false
    }),
    run: async (args, { grant }) => await listTables(options, grant, args)
  }
}

/** Lists a page of as many tables as fit into a result. @throws INVALID_BODY, LIMIT_OUT_OF_RANGE, DATABASE_NOT_FOUND */
async function listTables (options: ToolOptions, grant: Grant, args: Arguments): Promise<string> {
  const { database: asked, contains: given, limit: most, after: position } = readArguments(args, NAMES)
  const name = readText('database', asked)
  const contains = (readText('contains', given) ?? '').toLowerCase()
  const limit = readLimit(most, LIMIT)
  const after = readPosition(position)
  const searched = name === undefined ? databasesOf(grant, options) : [getDatabase(options.databases, grant, name).name]
  if (after !== undefined && !searched.includes(after.database)) {
    throw refuse('after', '"after" must be "next" of the page before, with the same arguments')
  }
  const unavailable: string[] = []
  const shown: string[] = []
  let last: Listed | undefined
  let room = options.resultLimit - Buffer.byteLength(JSON.stringify(searched)) - RESERVED
  let hasMore = false
  for await (const table of tablesOf(options, grant, { searched, after, unavailable })) {
    const { comment } = table
    if (!`${table.table}\n${comment}`.toLowerCase().includes(contains)) continue
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
    readonly after: Position | undefined
    /** Collects the names of databases whose catalog cannot be read. */
    readonly unavailable: string[]
  }
): AsyncGenerator<Listed> {
  const databases = after === undefined ? searched : searched.slice(searched.indexOf(after.database))
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

function readPosition (value: unknown): Position | undefined {
  if (value === undefined || value === null) return undefined
  if (!isObject(value) || typeof value['database'] !== 'string' || typeof value['table'] !== 'string') {
    throw refuse('after', '"after" must be "next" of the page before')
  }
  return value as unknown as Position
}

/** The tables of a catalog, sorted by name. */
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
