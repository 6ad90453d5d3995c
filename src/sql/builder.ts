/** Builds statements on the tables of users with Kysely, from nodes of the catalog's names. */
import {
  type AliasableExpression, ColumnNode, ColumnUpdateNode, createQueryId, createSelectQueryBuilder, DeleteQueryBuilder,
  DeleteQueryNode, type Expression, expressionBuilder, ExpressionWrapper, InsertQueryBuilder, InsertQueryNode,
  type InsertQueryNodeProps, JoinNode, type JoinType, MysqlQueryCompiler, NOOP_QUERY_EXECUTOR, type OperationNode,
  type OperationNodeSource, PrimitiveValueListNode, type QueryCompiler, QueryCreator, ReferenceNode,
  type RootOperationNode, SelectionNode, type SelectQueryBuilder, SelectQueryNode, sql, SqliteQueryCompiler, TableNode,
  UpdateQueryBuilder, UpdateQueryNode, ValuesNode
} from 'kysely'
import type { Column, Table } from '../catalog/catalog.ts'
import type { Engine } from '../catalog/traits.ts'
import type { Parameter } from '../types/column-type.ts'
import type { Template } from './statement.ts'

// Kysely without a connection: it builds and compiles, and the dialects execute. It would take `a.b` and `x as y`
// apart, and an object with the columns `2` and `1` has them in another order. So the names of tables, columns and
// indexes of the catalog, and of no request, become nodes, and its types know no table here: a name as a text does not
// compile. Around such nodes, `sql` is for what it has no method for, or only one that needs an alias.

export type BuiltStatement = Pick<Template, 'sql' | 'pieces' | 'slots'>

type NoTables = Record<never, never>

/** Operators and the like, of expressions. */
export const eb = expressionBuilder<NoTables, never>()

export const expression = <T>(node: OperationNode): AliasableExpression<T> =>
  new ExpressionWrapper<NoTables, never, T>(node)

const nodeOf = (column: string, table: string | undefined): ReferenceNode =>
  ReferenceNode.create(ColumnNode.create(column), table === undefined ? undefined : TableNode.create(table))

/** `table`: its name in the statement. */
export const reference = (column: string, table?: string): AliasableExpression<Parameter> =>
  expression(nodeOf(column, table))

export const tableNamed = (name: string): AliasableExpression<object> => expression(TableNode.create(name))

/** A column of an insert or update, with its new value. */
export interface Change {
  readonly column: Expression<unknown>
  readonly value: Expression<unknown>
}

export const toUpdates = (changes: readonly Change[]): ColumnUpdateNode[] =>
  changes.map(({ column, value }) => ColumnUpdateNode.create(column.toOperationNode(), value.toOperationNode()))

export type Select = SelectQueryBuilder<NoTables, never, object>

/** Without a connection. */
const unbound = () => ({ queryId: createQueryId(), executor: NOOP_QUERY_EXECUTOR })

/** More rows than a table has. Only with a limit is a derived table always read before what is joined to it. */
export const EVERY_ROW = sql.lit(Number.MAX_SAFE_INTEGER)

/** A column of a select without an alias, which the methods of Kysely take as text. */
export const selection = (column: string, table?: string): SelectionNode =>
  SelectionNode.create(nodeOf(column, table))

export const selectFrom = (
  from: OperationNodeSource,
  { selections = [], joins = [] }: {
    readonly selections?: readonly SelectionNode[]
    readonly joins?: readonly JoinNode[]
  } = {}
): Select =>
  createSelectQueryBuilder({
    ...unbound(),
    queryNode: {
      ...SelectQueryNode.createFrom([from.toOperationNode()]),
      ...selections.length > 0 && { selections },
      ...joins.length > 0 && { joins }
    }
  })

export const join = (type: JoinType, table: OperationNodeSource, on: OperationNodeSource): JoinNode =>
  JoinNode.createWithOn(type, table.toOperationNode(), on.toOperationNode())

/** One row, of NULL in place of its values; of defaults, without a list of columns, if `columns` is undefined. */
export const insertInto = (
  { name }: Table,
  columns: readonly Column[] | undefined,
  rest: InsertQueryNodeProps
): InsertQueryBuilder<NoTables, never, unknown> =>
  new InsertQueryBuilder({
    ...unbound(),
    queryNode: InsertQueryNode.cloneWith(InsertQueryNode.create(TableNode.create(name)), {
      ...columns === undefined
        ? { defaultValues: true }
        : {
            columns: columns.map((column) => ColumnNode.create(column.name)),
            values: ValuesNode.create([PrimitiveValueListNode.create(columns.map(() => null))])
          },
      ...rest
    })
  })

export const updateTable = (
  target: OperationNodeSource,
  changes: readonly Change[]
): UpdateQueryBuilder<NoTables, never, never, unknown> =>
  new UpdateQueryBuilder({
    ...unbound(),
    queryNode: UpdateQueryNode.cloneWithUpdates(UpdateQueryNode.create([target.toOperationNode()]), toUpdates(changes))
  })

export const deleteFrom = (table: OperationNodeSource): DeleteQueryBuilder<NoTables, never, unknown> =>
  new DeleteQueryBuilder({ ...unbound(), queryNode: DeleteQueryNode.create([table.toOperationNode()]) })

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

export function build (query: { toOperationNode (): RootOperationNode }, engine: Engine): BuiltStatement {
  const { sql: text, parameters } = compilers[engine].compileQuery(query.toOperationNode(), createQueryId())
  const pieces = text.split(PLACEHOLDER)
  return { sql: pieces.join('?'), pieces, slots: parameters as Template['slots'] }
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
