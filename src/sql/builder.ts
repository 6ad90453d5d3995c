/**
 * Builds statements with Kysely, by placeholders in place of names, and caches them.
 *
 * Compiled statements are cached by table and by statement key (statement-key.ts), with one limit for all tables of the
 * process. A table belongs to one database, so statements of two engines are never mixed. The statements of a table are
 * dropped with it.
 */
import {
  createQueryId, type IdentifierNode, MysqlQueryCompiler, NOOP_QUERY_EXECUTOR, OperationNodeTransformer,
  type QueryCompiler, QueryCreator, type RootOperationNode, SqliteQueryCompiler
} from 'kysely'
import { baseTable, type Column, type Index, statementTable, type Table } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { Parameter } from '../types/column-type.ts'
import type { Engine, Template } from './statement.ts'

/** How many statements were found in the cache, and how many were built. */
export interface StatementCounts { cached: number, built: number }

/** Longer texts are not cached, because a list of ten thousand values is rarely sent twice with the same length. */
const MAX_LENGTH = 10_000
/** Maximum number of statements of a table, so that a table with ever new keys does not displace those of others. */
const MAX_PER_TABLE = 100

export type CachedStatement = Pick<Template, 'sql' | 'pieces'>

/** The cached statements of one table. */
interface TableStatements<T extends CachedStatement> {
  get (key: string): T | undefined
  set (key: string, statement: T): void
}

interface StatementCache<T extends CachedStatement> {
  /** Creates the cache of a table, which the caller keeps and drops with the table. */
  forTable (table: object): TableStatements<T>
  /** The approximate memory of all cached statements, in bytes. */
  readonly bytes: number
  readonly size: number
}

/** The statements of one table in the cache, without a strong reference to the table, so that it can be collected. */
interface Shelf<T> { readonly statements: WeakRef<Map<string, T>>, bytes: number, size: number }

/** Above `limit` bytes, the least recently used table loses its statements, the least recently used first. */
export function createStatementCache<T extends CachedStatement> (limit: number): StatementCache<T> {
  /** The tables, the most recently used at the end. */
  const shelves = new Set<Shelf<T>>()
  let bytes = 0

  const count = (shelf: Shelf<T>, change: number, size: number): void => {
    bytes += change
    shelf.bytes += change
    shelf.size += size
  }
  const remove = (shelf: Shelf<T>): void => {
    count(shelf, -shelf.bytes, -shelf.size)
    shelves.delete(shelf)
  }
  const forget = (shelf: Shelf<T>, statements: Map<string, T>, key: string): void => {
    count(shelf, -sizeOf(key, statements.get(key) as T), -1)
    statements.delete(key)
  }
  const touch = (shelf: Shelf<T>): void => {
    shelves.delete(shelf)
    shelves.add(shelf)
  }
  const collected = new FinalizationRegistry<Shelf<T>>(remove)
  const shrink = (): void => {
    for (const shelf of shelves) {
      const statements = shelf.statements.deref() ?? new Map<string, T>()
      for (const key of statements.keys()) {
        if (bytes <= limit) return
        forget(shelf, statements, key)
      }
      remove(shelf)
    }
  }

  return {
    get bytes () { return bytes },
    get size () { return Array.from(shelves).reduce((sum, { size }) => sum + size, 0) },
    forTable (table) {
      const statements = new Map<string, T>()
      const shelf: Shelf<T> = { statements: new WeakRef(statements), bytes: 0, size: 0 }
      collected.register(table, shelf)
      return {
        get (key) {
          const found = statements.get(key)
          // the order of use does not matter while half of the room is free
          if (found === undefined || (bytes <= limit / 2 && statements.size <= MAX_PER_TABLE / 2)) return found
          statements.delete(key)
          statements.set(key, found)
          touch(shelf)
          return found
        },
        set (key, statement) {
          if (statement.sql.length > MAX_LENGTH) return
          statements.set(key, statement)
          count(shelf, sizeOf(key, statement), 1)
          if (statements.size > MAX_PER_TABLE) forget(shelf, statements, statements.keys().next().value as string)
          touch(shelf)
          shrink()
        }
      }
    }
  }
}

/**
 * Estimates the memory in V8: two bytes per character because of the column keys, a string for each piece, and an entry
 * of the map.
 */
function sizeOf (key: string, { sql, pieces }: CachedStatement): number {
  return 250 + 2 * key.length + 2 * sql.length + 40 * pieces.length
}

// Kysely without a connection: it builds and compiles, and the dialects execute. Queries are written with the aliases
// `t` for the table, `c0`, `c1`, … for its columns and `i0`, `i1`, … for its indexes; a transformer replaces them with
// the quoted identifiers of the catalog, so that no text of a request can become an identifier. Kysely's own references
// would split names that contain dots, spaces, quotes or " as ".

/** A statement that Kysely has built. */
export type BuiltStatement = Pick<Template, 'sql' | 'pieces' | 'slots'>

export type ColumnToken = `c${number}`
/** The type that Kysely has for any table of any database. */
export interface Rows { t: Record<ColumnToken, Parameter> }

/**
 * The placeholder while a statement is built. Identifiers may contain `?`, but no engine allows this character in them.
 */
const PLACEHOLDER = '\0'

class MysqlPieces extends MysqlQueryCompiler {
  protected override getCurrentParameterPlaceholder (): string { return PLACEHOLDER }
}

class SqlitePieces extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder (): string { return PLACEHOLDER }
}

const compilers: Readonly<Record<Engine, QueryCompiler>> = { mysql: new MysqlPieces(), sqlite: new SqlitePieces() }

/** Builds the statements of one table. */
export interface TableBuilder {
  readonly db: QueryCreator<Rows>
  /** Compiles a query of `db`. */
  readonly build: (query: { toOperationNode (): RootOperationNode }) => BuiltStatement
  /** The alias of a column. */
  readonly token: (column: Column) => ColumnToken
  /** The alias of an index. */
  readonly indexToken: (index: Index) => `i${number}`
  /** The cached statements of the table by statement key (statement-key.ts). */
  readonly statementCache: TableStatements<Template>
}

/**
 * The cache for all tables of all databases, with its approximate size in bytes: some ten thousand usual statements.
 */
export const statementCache = createStatementCache<Template>(16 * 1024 * 1024)

/** The builders, created once for each table and dropped with it. */
const builders: Readonly<Record<Engine, WeakMap<Table, TableBuilder>>> = { mysql: new WeakMap(), sqlite: new WeakMap() }

export function builderFor (engine: Engine, table: Table): TableBuilder {
  const shared = statementTable(table)
  return getOrCreate(builders[engine], shared, () => createBuilder(engine, shared))
}

/**
 * Uses the columns of the catalog's table, because the rules of a grant can test columns that the grant does not show.
 */
function createBuilder (engine: Engine, table: Table): TableBuilder {
  const base = baseTable(table)
  const indexes = new Map(base.columnList.map((column, index): [Column, number] => [column, index]))
  const token = (column: Column): ColumnToken => `c${indexes.get(column) as number}`
  const build = createBuild(engine, nameIn(base))
  const db = new QueryCreator<Rows>({ executor: NOOP_QUERY_EXECUTOR })
  return {
    db,
    build,
    token,
    indexToken: (index) => `i${base.indexes.indexOf(index)}`,
    statementCache: statementCache.forTable(table)
  }
}

/**
 * Returns a function that compiles a query. `nameOf`: the identifier of an alias; undefined for the service's own
 * identifiers.
 */
export function createBuild (engine: Engine, nameOf: (token: string) => string | undefined): TableBuilder['build'] {
  const names = new Names(nameOf)
  return (query) => {
    const { sql, parameters } = compilers[engine].compileQuery(
      names.transformNode(query.toOperationNode()),
      createQueryId()
    )
    const pieces = sql.split(PLACEHOLDER)
    return { sql: pieces.join('?'), pieces, slots: parameters as Template['slots'] }
  }
}

/** Replaces aliases with the identifiers of the catalog. */
class Names extends OperationNodeTransformer {
  readonly #nameOf: (token: string) => string | undefined

  constructor (nameOf: (token: string) => string | undefined) {
    super()
    this.#nameOf = nameOf
  }

  protected override transformIdentifier (node: IdentifierNode): IdentifierNode {
    return { ...node, name: this.#nameOf(node.name) ?? node.name }
  }
}

/** Returns the identifiers of aliases in the statements of one table. */
export const nameIn = (table: Table) => (token: string): string | undefined => {
  const index = Number(token.slice(1))
  switch (token.charAt(0)) {
    case 't': return token === 't' ? table.name : undefined
    case 'c': return table.columnList[index]?.name
    case 'i': return table.indexes[index]?.name
    default: return undefined
  }
}

// Fixed queries of the service itself, on the catalogs of the engines and on its own tables. Their types know the
// tables and columns, so that a wrong column does not compile. Statements on the tables of users, which have no such
// types, are above.

const queryCompilers: Readonly<Record<Engine, QueryCompiler>> = {
  mysql: new MysqlQueryCompiler(),
  sqlite: new SqliteQueryCompiler()
}

/** Builds queries on the tables of `Tables`; `textOf` returns the SQL of one. */
export const queriesOn = <Tables>() => new QueryCreator<Tables>({ executor: NOOP_QUERY_EXECUTOR })

/** The SQL of a query, with a `?` for each value. */
export const textOf = (query: { toOperationNode(): RootOperationNode }, engine: Engine): string =>
  queryCompilers[engine].compileQuery(query.toOperationNode(), createQueryId()).sql
