/** Builds statements with Kysely, by placeholders in place of names. */
import {
  createQueryId, type IdentifierNode, MysqlQueryCompiler, NOOP_QUERY_EXECUTOR, OperationNodeTransformer,
  type QueryCompiler, QueryCreator, type RootOperationNode, SqliteQueryCompiler, type Expression, type RawBuilder, sql
} from 'kysely'
import { baseTable, type Column, type Index, statementTable, type Table } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { Parameter } from '../types/column-type.ts'
import type { Template } from './statement.ts'

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
}

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
    indexToken: (index) => `i${base.indexes.indexOf(index)}`
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

// The tables of a statement with several tables. The table with index 1 has the alias `t1`, and the tokens of its
// columns are `c1x0`, `c1x1`, … The same table can occur several times, with an index and an alias for each.

/** The tokens of the columns of one table. */
export interface TableTokens {
  readonly token: (column: Column) => string
  /** The token for a subquery, in which the table must be named. */
  readonly outer: (column: Column) => string
  readonly indexToken: (index: Index) => string
  /** Set for a table of a subquery. */
  readonly isInner?: true
  /** Adds another table to the statement, for a subquery. `index`: the index by which its rows are found. */
  readonly add: (table: Table, index: Index | undefined) => TableTokens & {
    readonly from: Sql
    /** Marks an equality of two tables as selective for the optimizer. */
    readonly relate: Relate
    /** The clause that locks the found rows. */
    readonly lock: Sql
  }
}

type Sql = RawBuilder<unknown>
type Relate = (equality: Expression<unknown>) => Expression<unknown>

const TOKEN = /^([nci])(\d+)(?:x(\d+))?$/

class AliasedTables {
  readonly #tables: Array<Table | undefined>
  readonly #alias: string
  /** Whether a statement can name the index by which rows are found. */
  readonly #canForce: boolean
  readonly #lock: Sql
  readonly relate: Relate
  readonly add: TableTokens['add'] = (table, forced) => {
    const index = this.#tables.push(baseTable(table)) - 1
    return {
      ...this.at(index),
      from: this.from(index, forced),
      relate: this.relate,
      lock: this.#lock,
      isInner: true
    }
  }

  /** `own`: a table without an index, whose name no alias may have. `lock`: the lock on rows that subqueries find. */
  constructor (
    engine: Engine,
    {
      tables = [],
      own,
      lock = sql``
    }: { readonly tables?: readonly Table[]; readonly own?: Table; readonly lock?: Sql | undefined }
  ) {
    this.#canForce = TRAITS[engine].namesIndexes
    this.relate = this.#canForce ? (equality) => equality : rarely
    this.#tables = own === undefined ? tables.map(baseTable) : [undefined]
    this.#alias = own !== undefined && /^t\d+$/i.test(own.name) ? 't_' : 't'
    this.#lock = lock
  }

  /** The identifier that a token stands for. */
  nameOf (token: string): string | undefined {
    const [, kind, index, part] = TOKEN.exec(token) ?? []
    const table = this.#tables[Number(index)]
    switch (kind) {
      case 'n':
        return table?.name
      case 'c':
        return table?.columnList[Number(part)]?.name
      case 'i':
        return table?.indexes[Number(part)]?.name
      default:
        return undefined
    }
  }

  /** The tokens of the columns of a table, with its alias. */
  at (index: number): TableTokens {
    const token = (column: Column): string =>
      `${this.#alias}${index}.c${index}x${(this.#tables[index] as Table).columnList.indexOf(column)}`
    return { token, outer: token, indexToken: (each) => this.#indexToken(index, each), add: this.add }
  }

  /** A table with its alias, for FROM. */
  from (index: number, forced?: Index): Sql {
    const named = sql`${sql.table(`n${index}`)} as ${sql.id(`${this.#alias}${index}`)}`
    return forced === undefined || !this.#canForce
      ? named
      : sql`${named} force index (${sql.id(this.#indexToken(index, forced))})`
  }

  #indexToken (index: number, each: Index): string {
    return `i${index}x${(this.#tables[index] as Table).indexes.indexOf(each)}`
  }
}

/** SQLite has no index that can be forced safely, and takes the one that was defined last if two seem equally good. */
const rarely: Relate = (equality) => sql`likelihood(${equality}, 0.000001)`

/** Builds statements on several tables, which `at` and `from` name by index. */
export interface SeveralTables extends Pick<AliasedTables, 'at' | 'from' | 'relate'> {
  readonly build: TableBuilder['build']
}

/** `lock`: the lock on rows that subqueries find. */
export function severalTables (engine: Engine, seen: readonly Table[], lock?: RawBuilder<unknown>): SeveralTables {
  const aliased = new AliasedTables(engine, { tables: seen, lock })
  return {
    build: createBuild(engine, (token) => aliased.nameOf(token)),
    at: (index) => aliased.at(index),
    from: (index, forced) => aliased.from(index, forced),
    relate: aliased.relate
  }
}

/** Builds one statement of a table, whose conditions can have subqueries on other tables. */
export type StatementBuilder = TableBuilder & Pick<TableTokens, 'outer' | 'add'>

/** `lock`: the lock on rows that subqueries find. */
export function statementBuilder (engine: Engine, table: Table, lock?: RawBuilder<unknown>): StatementBuilder {
  const builder = builderFor(engine, table)
  const own = nameIn(baseTable(table))
  const others = new AliasedTables(engine, { own: table, lock })
  return {
    ...builder,
    build: createBuild(engine, (token) => own(token) ?? others.nameOf(token)),
    outer: (column) => `t.${builder.token(column)}`,
    add: others.add
  }
}
