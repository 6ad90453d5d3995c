import type { RawBuilder } from 'kysely'
import { baseTable, type Table } from '../catalog/catalog.ts'
import { builderFor, createBuild, nameIn, type TableBuilder } from './kysely-builder.ts'
import { PlacedTables, type TableTokens } from './placed-tables.ts'
import type { Engine } from './statement.ts'

/** Builds statements about several tables that have places. */
export interface SeveralTables extends Pick<PlacedTables, 'at' | 'from' | 'relate'> {
  readonly build: TableBuilder['build']
}

export function severalTables (engine: Engine, seen: readonly Table[]): SeveralTables {
  const placed = new PlacedTables(engine, { tables: seen })
  return { build: createBuild(engine, (token) => placed.nameOf(token)), at: (place) => placed.at(place), from: (place, forced) => placed.from(place, forced), relate: placed.relate }
}

/** Builds one statement of a table, whose conditions can have subqueries on other tables. */
export type StatementBuilder = TableBuilder & Pick<TableTokens, 'outer' | 'add'>

/** `lock`: the lock on rows that subqueries find. */
export function statementBuilder (engine: Engine, table: Table, lock?: RawBuilder<unknown>): StatementBuilder {
  const builder = builderFor(engine, table)
  const own = nameIn(baseTable(table))
  const others = new PlacedTables(engine, { own: table, lock })
  return { ...builder, build: createBuild(engine, (token) => own(token) ?? others.nameOf(token)), outer: (column) => `t.${builder.token(column)}`, add: others.add }
}
