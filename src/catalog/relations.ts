/** How the rows of two tables can be related: by foreign keys in either direction, and by the types of their columns. */
import { RELATED_TEXT } from '../types/column-type.ts'
import { findIgnoringCase, type Column, type ForeignKey, type Table } from './catalog.ts'

/** Two columns whose equal values relate rows. */
export interface Pair {
  /** Of the table whose rows are there. */
  readonly column: Column
  /** Of the table that is related to it. */
  readonly other: Column
}

/** Whether columns are of a kind that relates rows, and of the same one. The view of SQLite has no collations: the other table's one counts. */
export function canRelate (column: Column, other: Column): boolean {
  const kind = column.type.relatedAs
  if (kind === undefined || kind !== other.type.relatedAs) return false
  return kind !== RELATED_TEXT || column.collation === undefined || other.collation === undefined || column.collation === other.collation
}

/**
 * The relations of a table to another one by foreign keys of either of them, as far as both tables show their columns. Equal ones count once; a key of
 * a table to itself counts as two.
 */
export function relationsBetween (table: Table, other: Table): ReadonlyArray<readonly Pair[]> {
  const from = keysTo(table, other).flatMap((key) => pairsOf(table, key.columns, other, key.referencedColumns))
  const to = keysTo(other, table).flatMap((key) => pairsOf(table, key.referencedColumns, other, key.columns))
  return [...from, ...to].filter((pairs, index, all) => !all.slice(0, index).some((before) => isSameRelation(before, pairs)))
}

/** Whether two relations have the same pairs, in any order. */
export function isSameRelation (one: readonly Pair[], two: readonly Pair[]): boolean {
  return one.length === two.length && one.every(({ column, other }) => two.some((pair) => pair.column === column && pair.other === other))
}

const keysTo = ({ foreignKeys }: Table, { name }: Table): ForeignKey[] =>
  foreignKeys.filter(({ referencedTable }) => findIgnoringCase(new Map([[name, name]]), referencedTable) !== undefined)

function pairsOf (table: Table, names: readonly string[], other: Table, otherNames: readonly string[]): Array<readonly Pair[]> {
  const pairs = names.flatMap((name, place): Pair[] => {
    const [column, related] = [findIgnoringCase(table.columns, name), findIgnoringCase(other.columns, otherNames[place] ?? '')]
    return column !== undefined && related !== undefined && canRelate(column, related) ? [{ column, other: related }] : []
  })
  return pairs.length === names.length && pairs.length > 0 ? [pairs] : []
}
