/** The unique indexes of a table. SQLite chooses indexes itself, so the others are not needed. */
import type { Index, IndexPart } from '../../catalog/catalog.ts'
import { quoted } from './statements.ts'

/** Runs a query; rows are objects, and whole numbers are JavaScript numbers. @throws SqliteError */
export type Ask = (sql: string, ...parameters: string[]) => Promise<object[]>

/** A part of a unique index; `column` is null for an expression. */
export interface UniqueRow { table: string, key: string, origin: 'c' | 'u' | 'pk', column: string | null, collation: string }

/** Column -> collation; BINARY for those that are missing. */
type Collations = ReadonlyMap<string, string>

const BINARY = 'BINARY'

export interface IndexedTable { readonly name: string, readonly sql: string, readonly columns: ReadonlyArray<{ readonly name: string }> }

/** The unique indexes besides that of the primary key. */
export async function loadIndexes (ask: Ask, table: IndexedTable, rows: readonly UniqueRow[]): Promise<Index[]> {
  const others = Map.groupBy(rows.filter(({ origin }) => origin !== 'pk'), (row) => row.key)
  const collations: Collations = others.size > 0 && /\bcollate\b/i.test(table.sql) ? await collationsOf(ask, table) : new Map()
  return Array.from(others, ([name, parts]) => ({ name, unique: true, ordered: true, parts: parts.map((part) => toPart(part, collations)) }))
}

/** A part with another collation than its column counts as an expression: values that it distinguishes may be equal for the column. */
function toPart ({ column, collation }: UniqueRow, collations: Collations): IndexPart {
  const isOfColumn = column !== null && collation.toUpperCase() === (collations.get(column) ?? BINARY)
  return { column: isOfColumn ? column : null, descending: false, prefix: false }
}

/** SQLite shows the collation of a column only in the program of a statement that sorts by it: `k(2,NOCASE,B)`, where B is BINARY. */
async function collationsOf (ask: Ask, { name: table, columns }: IndexedTable): Promise<Collations> {
  const program = await ask(`explain select 1 from ${quoted(table)} order by ${columns.map(({ name }) => '+' + quoted(name)).join()}`) as Array<{ opcode: string, p4: string | null }>
  const sorter = program.find(({ opcode }) => opcode === 'SorterOpen')?.p4 ?? ''
  const collations = /^k\(\d+,(.*)\)$/.exec(sorter)?.[1]?.split(',') ?? []
  return new Map(collations.map((collation, index) => [columns[index]?.name ?? '', collation === 'B' ? BINARY : collation.toUpperCase()]))
}
