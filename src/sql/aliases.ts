/**
 * Kysely without a connection: it builds and compiles, the dialects execute. Queries are written against the table
 * `t` with columns `c0`, `c1`, …; a transformer puts the catalog's identifiers in their place, whole and quoted.
 * Names with dots, spaces, quotes or " as " in them, which Kysely's own references would take apart, are thus names
 * like any other, and no text of a request can become an identifier.
 */
import {
  createQueryId, MysqlQueryCompiler, NOOP_QUERY_EXECUTOR, OperationNodeTransformer, QueryCreator, SqliteQueryCompiler, type IdentifierNode, type QueryCompiler,
  type RootOperationNode
} from 'kysely'
import type { Column, Table } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { Parameter } from '../types/column-type.ts'
import { createStatementCache, type Statement, type TableStatements } from './statement-cache.ts'

/** A statement with its parameters in the order of its placeholders. */
export interface Query extends Statement {
  readonly parameters: readonly Parameter[]
}

/** SQL dialects that queries are compiled for. */
export type Engine = 'mysql' | 'sqlite'

export type ColumnToken = `c${number}`
/** Any table of any database, as Kysely sees it. */
export interface Rows { t: Record<ColumnToken, Parameter> }

/** Marks are none of the characters that say what is done with a column. A table has 4096 columns at most. */
const MARKS: readonly string[] = Array.from({ length: 4096 }, (_, place) => String.fromCharCode(0x100 + place))

/** Stands for a parameter while a statement is built. No identifier can hold it in either engine, as one may hold `?`. */
const PLACEHOLDER = '\0'

class MysqlPieces extends MysqlQueryCompiler {
  protected override getCurrentParameterPlaceholder (): string { return PLACEHOLDER }
}

class SqlitePieces extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder (): string { return PLACEHOLDER }
}

const compilers: Readonly<Record<Engine, QueryCompiler>> = { mysql: new MysqlPieces(), sqlite: new SqlitePieces() }

/** A builder for one table; `token` gives the name that a column has in it. */
export interface TableBuilder {
  readonly db: QueryCreator<Rows>
  /** What Kysely makes of what was built. */
  readonly toQuery: (built: { toOperationNode (): RootOperationNode }) => Query
  readonly token: (column: Column) => ColumnToken
  /** One character for a column, which stands for no other of its table. */
  readonly mark: (column: Column) => string
  /** Statements built before, by shape (shape.ts). */
  readonly statements: TableStatements
}

/** About so many bytes of statements are kept for all tables of all databases: some ten thousand of usual ones. */
export const statementCache = createStatementCache(16 * 1024 * 1024)

/** Made once for each table and forgotten with it. */
const known = new WeakMap<Table, TableBuilder>()

export function builderFor (engine: Engine, table: Table): TableBuilder {
  return getOrCreate(known, table, () => createBuilder(engine, table))
}

function createBuilder (engine: Engine, table: Table): TableBuilder {
  const places = new Map(table.columnList.map((column, index): [Column, number] => [column, index]))
  const token = (column: Column): ColumnToken => `c${places.get(column) as number}`
  const names = new Names(table)
  const toQuery: TableBuilder['toQuery'] = (built) => {
    const { sql, parameters } = compilers[engine].compileQuery(names.transformNode(built.toOperationNode()), createQueryId())
    const pieces = sql.split(PLACEHOLDER)
    return { sql: pieces.join('?'), pieces, parameters: parameters as Parameter[] }
  }
  const db = new QueryCreator<Rows>({ executor: NOOP_QUERY_EXECUTOR })
  return { db, toQuery, token, mark: (column) => MARKS[places.get(column) as number] as string, statements: statementCache.forTable(table) }
}

/** Puts the identifiers of one table in the place of the tokens; any other is one of our own. */
class Names extends OperationNodeTransformer {
  readonly #table: Table

  constructor (table: Table) {
    super()
    this.#table = table
  }

  protected override transformIdentifier (node: IdentifierNode): IdentifierNode {
    return { ...node, name: this.#nameOf(node.name) ?? node.name }
  }

  #nameOf (token: string): string | undefined {
    return token === 't' ? this.#table.name : token.startsWith('c') ? this.#table.columnList[Number(token.slice(1))]?.name : undefined
  }
}
