/**
 * Builds statements about several tables: the table at place 1 has the alias `t1` in the statement, its columns are the tokens `c1x0`, `c1x1`, … The same
 * table can be at several places.
 */
import { sql, type RawBuilder } from 'kysely'
import type { Column, Index, Table } from '../catalog/catalog.ts'
import { createBuild, type ColumnToken, type TableBuilder } from './kysely-builder.ts'
import type { Engine } from './statement.ts'

export interface SeveralTables {
  readonly build: TableBuilder['build']
  /** The tokens of the columns of the table at a place, with its alias. */
  readonly at: (place: number) => Pick<TableBuilder, 'token'>
  /** The table at a place with its alias, for FROM. */
  readonly from: (place: number, forced?: Index) => RawBuilder<unknown>
}

const TOKEN = /^([nci])(\d+)(?:x(\d+))?$/

export function severalTables (engine: Engine, seen: readonly Table[]): SeveralTables {
  // rules of a grant can be on columns that it does not see
  const tables = seen.map((table) => table.view?.base ?? table)
  const nameOf = (token: string): string | undefined => {
    const [, kind, place, part] = TOKEN.exec(token) ?? []
    const table = tables[Number(place)]
    switch (kind) {
      case 'n': return table?.name
      case 'c': return table?.columnList[Number(part)]?.name
      case 'i': return table?.indexes[Number(part)]?.name
      default: return undefined
    }
  }
  return {
    build: createBuild(engine, nameOf),
    at: (place) => ({ token: (column: Column) => `t${place}.c${place}x${(tables[place] as Table).columnList.indexOf(column)}` as ColumnToken }),
    from: (place, forced) => {
      const named = sql`${sql.table(`n${place}`)} as ${sql.id(`t${place}`)}`
      return forced === undefined ? named : sql`${named} force index (${sql.id(`i${place}x${(tables[place] as Table).indexes.indexOf(forced)}`)})`
    }
  }
}
