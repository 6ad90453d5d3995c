/** Builds statements with Kysely, by placeholders in place of names. */
import {
  type AliasedRawBuilder, createQueryId, type Expression, type IdentifierNode, MysqlQueryCompiler,
  NOOP_QUERY_EXECUTOR, OperationNodeTransformer, type QueryCompiler, QueryCreator, type RawBuilder,
  type RootOperationNode, sql, type SqlBool, SqliteQueryCompiler
} from 'kysely'
import { baseTable, type Column, type Index, type Table } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import type { Parameter } from '../types/column-type.ts'
import type { Template } from './statement.ts'

// Kysely without a connection: it builds and compiles, and the dialects execute. Queries are written with tokens: `n1`
// for the name of the table with index 1, `c1x0`, `c1x1`, … for its columns and `i1x0`, `i1x1`, … for its indexes; a
// transformer replaces them with the quoted identifiers of the catalog, so that no text of a request can become an
// identifier. Kysely's own references would split names that contain dots, spaces, quotes or " as ".

export type BuiltStatement = Pick<Template, 'sql' | 'pieces' | 'slots'>

export type ColumnToken = `c${number}x${number}`
/** Any table of any database, for Kysely. */
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

type Sql = RawBuilder<unknown>
type Relate = <T>(equality: Expression<T>) => Expression<T>

export interface TableTokens {
  readonly token: (column: Column) => string
  /** The token for a subquery, in which the table must be named. */
  readonly outer: (column: Column) => string
  readonly indexToken: (index: Index) => string
  /** The token in a subquery on this table alone. */
  readonly bare: (column: Column) => string
  /** Rows are found before their virtual columns are read (src/plan/guard.ts). */
  readonly isGuarded: boolean
  /** A table of a subquery. */
  readonly isInner?: true
  /** Set where related rows are found by lists, which MySQL reads once, or looks up for each row if these are few. */
  readonly usesLists?: true
  /** Adds a table of a subquery. `index`: finds its rows. */
  readonly add: (table: Table, index: Index | undefined) => TableTokens & {
    readonly from: (first?: FirstFound) => Sql
    /** Marks an equality of two tables as selective. */
    readonly relate: Relate
    readonly lock: Sql
  }
}

/** A condition that rows satisfy before anything else of them is read, and the key that finds them then. */
export interface FirstFound {
  readonly where: Expression<SqlBool>
  readonly key: readonly Column[]
  readonly index: Index
}

/** More rows than a table has. Only with a limit is a derived table always read before what is joined to it. */
export const EVERY_ROW = sql.lit(Number.MAX_SAFE_INTEGER)

/** Tables are named by their indexes. */
export interface StatementBuilder {
  readonly db: QueryCreator<Rows>
  readonly build: (query: { toOperationNode (): RootOperationNode }) => BuiltStatement
  /** One table has its own name; several have the aliases `t0`, `t1`, … */
  readonly isAlone: boolean
  readonly at: (index: number) => TableTokens
  /** A table for FROM. `forced`: the index by which its rows are found. */
  readonly from: (index: number, forced?: Index, first?: FirstFound) => AliasedRawBuilder<Rows['t'], 't'>
  readonly relate: Relate
}

/** Builds a statement on one table, whose conditions can have subqueries on others. */
export interface TableBuilder extends StatementBuilder, Omit<TableTokens, 'token'> {
  readonly token: (column: Column) => ColumnToken
}

const TOKEN = /^([nci])(\d+)(?:x(\d+))?$/
const db = new QueryCreator<Rows>({ executor: NOOP_QUERY_EXECUTOR })
/** SQLite has no index that can be forced safely, and takes the one that was defined last if two seem equally good. */
const rarely: Relate = <T>(equality: Expression<T>) => sql<T>`likelihood(${equality}, 0.000001)`

/**
 * A table can occur several times. Uses the columns of the catalog's tables, because the rules of a grant can test
 * columns that the grant does not show. `lock`: the lock on rows that subqueries find.
 */
export function statementBuilder (
  engine: Engine,
  seen: readonly Table[],
  { lock = sql``, isGuarded = false, isAlone = seen.length === 1 && !isGuarded }: {
    readonly lock?: Sql | undefined
    readonly isAlone?: boolean
    readonly isGuarded?: boolean | undefined
  } = {}
): StatementBuilder {
  const tables = seen.map(baseTable)
  const own = isAlone ? tables[0] : undefined
  const { namesIndexes } = TRAITS[engine]
  const relate: Relate = namesIndexes ? (equality) => equality : rarely
  // no alias may have the name of the table
  const prefix = own !== undefined && /^t\d+$/i.test(own.name) ? 't_' : 't'
  const aliasOf = (index: number): string => index === 0 && own !== undefined ? 't' : `${prefix}${index}`
  const indexToken = (index: number) => (each: Index): string =>
    `i${index}x${(tables[index] as Table).indexes.indexOf(each)}`
  const at = (index: number): TableTokens => {
    const bare = (column: Column): string => `c${index}x${(tables[index] as Table).columnList.indexOf(column)}`
    const outer = (column: Column): string => `${aliasOf(index)}.${bare(column)}`
    const token = index === 0 && own !== undefined && !isGuarded ? bare : outer
    return { token, outer, bare, isGuarded, indexToken: indexToken(index), add }
  }
  const fromFirst = (index: number, { where, key, index: unique }: FirstFound): AliasedRawBuilder<Rows['t'], 't'> => {
    const { bare, outer, indexToken } = at(index)
    const found = `g${index}`
    const name = sql.table(`n${index}`)
    const keys = sql.join(key.map((column) => sql.ref(bare(column))))
    const pairs = key.map((column) => sql`${sql.ref(outer(column))} = ${sql.ref(`${found}.${bare(column)}`)}`)
    // an order by relevance needs the index of words
    const words = (tables[index] as Table).indexes.filter(({ fullText }) => fullText !== undefined)
    const hint = sql`force index (${sql.join([unique, ...words].map((each) => sql.id(indexToken(each))))})`
    return sql<Rows['t']>`((select ${keys} from ${name} where ${where} limit ${EVERY_ROW}${lock})`.as<'t'>(
      sql`${sql.id(found)} straight_join ${name} as ${sql.id(aliasOf(index))} ${hint} on ${sql.join(pairs, sql` and `)})`
    )
  }
  const from: StatementBuilder['from'] = (index, forced, first) => {
    if (first !== undefined) return fromFirst(index, first)
    const isForced = forced !== undefined && namesIndexes
    const hint = isForced ? sql` force index (${sql.id(indexToken(index)(forced))})` : sql``
    // Kysely has no hints, but accepts any expression as an alias
    return sql<Rows['t']>`${sql.table(`n${index}`)}`.as<'t'>(sql`${sql.id(aliasOf(index))}${hint}`)
  }
  const add: TableTokens['add'] = (table, forced) => {
    const index = tables.push(baseTable(table)) - 1
    return { ...at(index), from: (first) => sql`${from(index, forced, first)}`, relate, lock, isInner: true }
  }
  const names = new Names((token) => {
    if (token === 't') return own?.name
    const [, kind, index, part] = TOKEN.exec(token) ?? []
    const table = tables[Number(index)]
    switch (kind) {
      case 'n': return table?.name
      case 'c': return table?.columnList[Number(part)]?.name
      case 'i': return table?.indexes[Number(part)]?.name
      default: return undefined
    }
  })
  return { db, build: (query) => compile(query, names, engine), isAlone, at, from, relate }
}

/** `t` stands for the table. */
export function builderFor (
  engine: Engine,
  table: Table,
  options: { readonly lock?: Sql | undefined, readonly isGuarded?: boolean | undefined } = {}
): TableBuilder {
  const builder = statementBuilder(engine, [table], { ...options, isAlone: true })
  return { ...builder, ...builder.at(0) as TableBuilder }
}

function compile (
  query: { toOperationNode (): RootOperationNode },
  names: Names,
  engine: Engine
): BuiltStatement {
  const node = names.transformNode(query.toOperationNode())
  const { sql, parameters } = compilers[engine].compileQuery(node, createQueryId())
  const pieces = sql.split(PLACEHOLDER)
  return { sql: pieces.join('?'), pieces, slots: parameters as Template['slots'] }
}

/** `nameOf` returns undefined for the service's own ones. */
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

// Fixed queries of the service itself, on the catalogs of the engines and on its own tables. Their types know the
// tables and columns, so that a wrong column does not compile. Statements on the tables of users, which have no such
// types, are above.

const queryCompilers: Readonly<Record<Engine, QueryCompiler>> = {
  mysql: new MysqlQueryCompiler(),
  sqlite: new SqliteQueryCompiler()
}

export const queriesOn = <Tables>() => new QueryCreator<Tables>({ executor: NOOP_QUERY_EXECUTOR })

/** The SQL of a query, with a `?` for each value. */
export const textOf = (query: { toOperationNode(): RootOperationNode }, engine: Engine): string =>
  queryCompilers[engine].compileQuery(query.toOperationNode(), createQueryId()).sql
