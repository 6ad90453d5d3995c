/**
 * How the rows of two tables can be related: by foreign keys in either direction, and by the types of their columns.
 */
import { RELATED_TEXT } from '../types/column-type.ts'
import { type Column, findIgnoringCase, type ForeignKey, type Table, type TableFacts } from './catalog.ts'
import { type FindTable, withWrittenTables } from './triggers.ts'

/** Two columns whose equal values relate rows. */
export interface Pair {
  /** The column of the first table, whose rows are already known. */
  readonly column: Column
  readonly other: Column
}

/**
 * Both columns are of the same kind, which can relate rows. Columns of SQLite's views have no collation, so the
 * collation of the other column counts.
 */
export function canRelate (column: Column, other: Column): boolean {
  const kind = column.type.relatedAs
  return kind !== undefined && kind === other.type.relatedAs && haveCollation(kind, column, other)
}

/** Whether the database compares both columns of a row as each of them is compared with values. */
export function canCompare (column: Column, other: Column): boolean {
  const [kind, otherKind] = [column, other].map(({ type }) => type.comparedAs ?? type.relatedAs)
  return kind !== undefined && kind === otherKind && haveCollation(kind, column, other)
}

/** Kinds of texts begin with the same word. */
const haveCollation = (kind: string, { collation }: Column, other: Column): boolean =>
  !kind.startsWith(RELATED_TEXT) || collation === undefined || other.collation === undefined ||
  collation === other.collation

export type Relations = ReadonlyArray<readonly Pair[]>

/**
 * The relations by foreign keys of either table, as far as the grant sees their columns. Equal relations count once; a
 * key of a table to itself gives two relations. A view has none, also if a broken foreign key of SQLite names it.
 */
export function relationsBetween (table: Table, other: Table): Relations {
  if (table.kind === 'view' || other.kind === 'view') return []
  const from = keysTo(table, other).flatMap((key) => pairsOf(table, key.columns, other, key.referencedColumns))
  const to = keysTo(other, table).flatMap((key) => pairsOf(table, key.referencedColumns, other, key.columns))
  return [...from, ...to].filter(
    (pairs, index, all) => !all.slice(0, index).some((before) => isSameRelation(before, pairs))
  )
}

export function isSameRelation (one: readonly Pair[], two: readonly Pair[]): boolean {
  return (
    one.length === two.length &&
    one.every(({ column, other }) => two.some((pair) => pair.column === column && pair.other === other))
  )
}

const keysTo = ({ foreignKeys }: Table, { name }: Table): ForeignKey[] =>
  foreignKeys.filter(({ referencedTable }) => referencedTable === name)

function pairsOf (
  table: Table,
  names: readonly string[],
  other: Table,
  otherNames: readonly string[]
): Array<readonly Pair[]> {
  const pairs = names.flatMap((name, index): Pair[] => {
    const [column, related] = [table.columns.get(name), other.columns.get(otherNames[index] ?? '')]
    return column !== undefined && related !== undefined && canRelate(column, related)
      ? [{ column, other: related }]
      : []
  })
  return pairs.length === names.length && pairs.length > 0 ? [pairs] : []
}

// Tables are connected by the names in foreign keys and triggers.

/**
 * Replaces the names in foreign keys by the names of the tables and columns, so that they can be compared, and adds the
 * tables that triggers write. A name is looked up among all tables: `Docs` is never `docs` if both exist.
 * `ignoresCase`: whether the names of tables ignore letter case. The names of a table that does not exist, or that the
 * account does not see, stay as they are.
 */
export function linkTables (tables: readonly TableFacts[], ignoresCase: boolean): readonly TableFacts[] {
  const byName = new Map(tables.map((table) => [table.name, table]))
  const find: FindTable = (name) => ignoresCase ? findIgnoringCase(byName, name) : byName.get(name)
  const link = (table: TableFacts): TableFacts => ({
    ...table,
    foreignKeys: table.foreignKeys.map((key) => linkKey(key, table, find))
  })
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
