/** The indexes of a table. */
import type { Index, IndexPart } from '../../catalog/catalog.ts'
import { isLogicError, type SqliteError } from './errors.ts'
import { quoted } from './statements.ts'

/** Runs a query; rows are objects, and whole numbers are JavaScript numbers. @throws SqliteError */
export type Ask = (sql: string, ...parameters: string[]) => Promise<object[]>

/** A part of an index; `column` is null for an expression. */
export interface IndexRow { table: string, key: string, isUnique: number, origin: 'c' | 'u' | 'pk', column: string | null, collation: string, isDescending: number }

/** Column -> collation, in upper case. */
export type Collations = ReadonlyMap<string, string>

const BINARY = 'BINARY'

export interface TableWithColumns { readonly name: string, readonly sql: string, readonly columns: ReadonlyArray<{ readonly name: string }> }

/** The indexes, that of the primary key first. `rows`: the rows of the table. */
export function toIndexes (rows: readonly IndexRow[], collations: Collations): Index[] {
  const [primary, others] = [rows.filter(({ origin }) => origin === 'pk'), rows.filter(({ origin }) => origin !== 'pk')]
  const named = [...primary.length > 0 ? [['PRIMARY', primary] as const] : [], ...Map.groupBy(others, (row) => row.key)]
  return named.map(([name, parts]) => ({ name, unique: parts[0]?.isUnique === 1, ordered: true, parts: parts.map((part) => toPart(part, collations)) }))
}

/** A part with a collation other than its column's counts as an expression, because values that one of them distinguishes may be equal in the other. */
function toPart ({ column, collation, isDescending }: IndexRow, collations: Collations): IndexPart {
  const isOfColumn = column !== null && collation.toUpperCase() === collations.get(column)
  return { column: isOfColumn ? column : null, descending: isDescending === 1, prefix: false }
}

/**
 * The collations of the columns, without those that cannot be read, such as one that SQLite does not know. SQLite shows the collation of a column only in the program of a statement that
 * sorts by it, such as `k(2,NOCASE,B)`, in which B is BINARY.
 */
export async function loadCollations (ask: Ask, { name: table, sql, columns }: TableWithColumns): Promise<Collations> {
  if (!/\bcollate\b/i.test(sql)) return new Map(columns.map(({ name }) => [name, BINARY]))
  const names = columns.map(({ name }) => name)
  try {
    return await collationsOf(ask, table, names)
  } catch (error) {
    if (!isLogicError(error as SqliteError)) throw error
  }
  const known: Array<readonly [string, string]> = []
  for (const name of names) known.push(...await collationsOf(ask, table, [name]).catch(() => new Map()))
  return new Map(known)
}

async function collationsOf (ask: Ask, table: string, columns: readonly string[]): Promise<Collations> {
  const order = columns.map((name) => '+' + quoted(name)).join()
  const program = await ask(`explain select 1 from ${quoted(table)} order by ${order}`) as Array<{ opcode: string, p4: string | null }>
  const sorter = program.find(({ opcode }) => opcode === 'SorterOpen')?.p4 ?? ''
  const collations = /^k\(\d+,(.*)\)$/.exec(sorter)?.[1]?.split(',') ?? []
  if (collations.length !== columns.length) return new Map()
  return new Map(columns.map((name, index) => [name, collations[index] === 'B' ? BINARY : (collations[index] as string).toUpperCase()]))
}
