/** Connects tables by the names that their foreign keys and triggers contain. */
import { findIgnoringCase, type ForeignKey, type TableFacts } from './catalog.ts'
import { withWrittenTables, type FindTable } from './triggers.ts'

/**
 * Replaces the names in foreign keys by those of the tables and columns, so that others can compare them, and adds the
 * tables that triggers write. A name is decided among all tables: `Docs` is never `docs` if both exist. `ignoresCase`:
 * whether the names of tables are the same in any letter case. The names of a table that does not exist, or that the
 * account does not see, stay as they are.
 */
export function linkTables (tables: readonly TableFacts[], ignoresCase: boolean): readonly TableFacts[] {
  const byName = new Map(tables.map((table) => [table.name, table]))
  const find: FindTable = (name) => ignoresCase ? findIgnoringCase(byName, name) : byName.get(name)
  const link = (table: TableFacts): TableFacts => ({ ...table, foreignKeys: table.foreignKeys.map((key) => linkKey(key, table, find)) })
  return withWrittenTables(tables.map((table) => table.foreignKeys.length === 0 ? table : link(table)), find)
}

function linkKey (key: ForeignKey, table: TableFacts, find: FindTable): ForeignKey {
  const parent = find(key.referencedTable)
  const columns = namesIn(table, key.columns)
  if (parent === undefined) return { ...key, columns }
  return { ...key, columns, referencedTable: parent.name, referencedColumns: namesIn(parent, key.referencedColumns) }
}

function namesIn ({ columns }: TableFacts, names: readonly string[]): readonly string[] {
  const byName = new Map(columns.map(({ name }) => [name, name]))
  return names.map((name) => findIgnoringCase(byName, name) ?? name)
}
