import type { Column, Table } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'

/** Marks differ from the characters that stand for operators in a shape. A table has 4096 columns at most. */
const MARKS: readonly string[] = Array.from({ length: 4096 }, (_, index) => String.fromCharCode(0x100 + index))

export type Mark = (column: Column) => string

const known = new WeakMap<Table, Mark>()

/** Gives each column of a table one character. Rules of a grant can be on columns that it does not see: the columns are those of the catalog's table. */
export function marksOf (table: Table): Mark {
  const base = table.granted?.base ?? table
  return getOrCreate(known, base, () => {
    const marks = new Map(base.columnList.map((column, index): [Column, string] => [column, MARKS[index] as string]))
    return (column) => marks.get(column) as string
  })
}
