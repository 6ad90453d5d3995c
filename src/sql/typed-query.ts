/**
 * Fixed queries of the service itself, on the catalogs of the engines and on its own tables. Their types know the tables and columns, so that a
 * wrong column does not compile. Statements on the tables of users, which have no such types, are in kysely-builder.ts.
 */
import { createQueryId, MysqlQueryCompiler, NOOP_QUERY_EXECUTOR, QueryCreator, SqliteQueryCompiler, type QueryCompiler, type RootOperationNode } from 'kysely'
import type { Engine } from './statement.ts'

const compilers: Readonly<Record<Engine, QueryCompiler>> = { mysql: new MysqlQueryCompiler(), sqlite: new SqliteQueryCompiler() }

/** Builds queries on the tables of `Tables`; `textOf` returns the SQL of one. */
export const queriesOn = <Tables>() => new QueryCreator<Tables>({ executor: NOOP_QUERY_EXECUTOR })

/** The SQL of a query, with a `?` for each value. */
export const textOf = (query: { toOperationNode (): RootOperationNode }, engine: Engine): string => compilers[engine].compileQuery(query.toOperationNode(), createQueryId()).sql
