import { baseTable, type Column, type Table } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'

/** The marks, which differ from the characters for operators in a shape. A table has at most 4096 columns. */
const MARKS: readonly string[] = Array.from({ length: 4096 }, (_, index) => String.fromCharCode(0x100 + index))

export type Mark = (column: Column) => string

const known = new WeakMap<Table, Mark>()

/** Gives each column of the catalog's table one character, because rules can be on columns that the grant does not see. */
export function marksOf (table: Table): Mark {
  const base = baseTable(table)
  return getOrCreate(known, base, () => {
    const marks = new Map(base.columnList.map((column, index): [Column, string] => [column, MARKS[index] as string]))
    return (column) => marks.get(column) as string
  })
}
