/**
 * Kysely without a connection: it builds and compiles, the dialects execute. Queries are written against the table
 * `t` with columns `c0`, `c1`, …; a transformer puts the catalog's identifiers in their place, whole and quoted.
 * Names with dots, spaces, quotes or " as " in them, which Kysely's own references would take apart, are thus names
 * like any other, and no text of a request can become an identifier.
 */
import {
  DummyDriver, Kysely, MysqlAdapter, MysqlQueryCompiler, OperationNodeTransformer, SqliteAdapter, SqliteQueryCompiler,
  type DialectAdapter, type IdentifierNode, type QueryCompiler
} from 'kysely'
import type { Column, Table } from '../catalog/catalog.ts'
import type { Parameter } from '../types/column-type.ts'

/** A compiled statement: its text with a placeholder for each parameter, and those parameters in order. */
export interface Query {
  readonly sql: string
  readonly parameters: readonly Parameter[]
}

/** SQL dialects that queries are compiled for. */
export type Engine = 'mysql' | 'sqlite'

export type ColumnToken = `c${number}`
/** Any table of any database, as Kysely sees it. */
export interface Rows { t: Record<ColumnToken, Parameter> }

type Parts = Readonly<{ adapter: new () => DialectAdapter, compiler: new () => QueryCompiler }>

const parts: Readonly<Record<Engine, Parts>> = {
  mysql: { adapter: MysqlAdapter, compiler: MysqlQueryCompiler },
  sqlite: { adapter: SqliteAdapter, compiler: SqliteQueryCompiler }
}

/** A builder for one table; `token` gives the name that a column has in it. */
export interface TableBuilder {
  readonly db: Kysely<Rows>
  readonly token: (column: Column) => ColumnToken
}

/** Made once for each table and forgotten with it. */
const known = new WeakMap<Table, TableBuilder>()

export function builderFor (engine: Engine, table: Table): TableBuilder {
  const builder = known.get(table) ?? createBuilder(engine, table)
  known.set(table, builder)
  return builder
}

function createBuilder (engine: Engine, table: Table): TableBuilder {
  const { adapter: Adapter, compiler: Compiler } = parts[engine]
  const tokens = new Map([...table.columns.values()].map((column, index): [Column, ColumnToken] => [column, `c${index}`]))
  const names = new Map<string, string>([['t', table.name], ...[...tokens].map(([column, token]): [string, string] => [token, column.name])])
  const db = new Kysely<Rows>({
    dialect: {
      createAdapter: () => new Adapter(),
      createDriver: () => new DummyDriver(),
      createIntrospector: () => { throw new Error('the catalog introspects') },
      createQueryCompiler: () => new Compiler()
    },
    plugins: [{
      transformQuery: ({ node }) => new Names(names).transformNode(node),
      transformResult: async ({ result }) => result
    }]
  })
  return { db, token: (column) => tokens.get(column) as ColumnToken }
}

/** Puts the identifiers of one table in the place of the tokens; any other is one of our own. */
class Names extends OperationNodeTransformer {
  readonly #names: ReadonlyMap<string, string>

  constructor (names: ReadonlyMap<string, string>) {
    super()
    this.#names = names
  }

  protected override transformIdentifier (node: IdentifierNode): IdentifierNode {
    return { ...node, name: this.#names.get(node.name) ?? node.name }
  }
}
