/**
 * The column definitions that come before the rows of each result, held against the columns that the plan was made for: the catalog may be a
 * minute old, and a text that is read as a number would leave its cell as JSON. One statement gets the same bytes each time, so they are
 * parsed only where they differ from the last ones that were found to be as expected.
 */
import type { Column, Table, TableFacts } from '../../../catalog/catalog.ts'
import { unknownType } from '../../../types/text.ts'
import { valueClass, type ColumnDefinition } from '../../../types/value-classes.ts'

/** The definitions of one statement. */
export interface Definitions {
  /** What the values are to be written as. */
  readonly columns: readonly Column[]
  /** Whether the definition that stands in `bytes` from `from` to `end`, of the column at `index`, is as expected. */
  isExpectedIn (index: number, bytes: Buffer, from: number, end: number): boolean
  /** The same of a definition that was parsed. */
  isExpected (index: number, definition: ColumnDefinition): boolean
}

/** Of a definition the fields of a fixed length, at its end: character set, length, type, flags, decimals and two bytes of nothing. */
const FIXED = 12
/** The strings before them: catalog, schema, table, its own name, the column's name, its own. */
const STRINGS = 6

export interface DefinitionsOptions {
  readonly table: Table
  readonly columns: readonly Column[]
  /** Classes of values that may come for a column. */
  readonly expected: (column: Column) => ReadonlySet<string> | undefined
  readonly differences: KnownDifferences
}

export function createDefinitions ({ table, columns: planned, expected, differences }: DefinitionsOptions): Definitions {
  let columns = planned
  /** Of each column the length of its definition, and the fixed fields of it. */
  const lengths = new Uint32Array(planned.length)
  const fixed = new Uint8Array(planned.length * FIXED)

  const isSame = (index: number, bytes: Buffer, from: number, end: number): boolean => {
    if (lengths[index] !== end - from) return false
    for (let each = 0, at = end - FIXED, known = index * FIXED; each < FIXED; each++) if (bytes[at + each] !== fixed[known + each]) return false
    return true
  }

  const isExpected = (index: number, definition: ColumnDefinition): boolean => {
    const column = planned[index] as Column
    const sent = valueClass(definition)
    const classes = expected(column)
    if (classes === undefined || classes.has(sent)) {
      if (columns[index] !== column) columns = columns.with(index, column)
      return true
    }
    if (!differences.isKnown(table, column, sent)) return false
    columns = columns.with(index, { ...column, type: unknownType(column.declaration) })
    return true
  }

  return {
    get columns () { return columns },
    isExpected,
    isExpectedIn (index, bytes, from, end) {
      if (isSame(index, bytes, from, end)) return true
      if (!isExpected(index, readDefinition(bytes, from, end))) return false
      lengths[index] = end - from
      bytes.copy(fixed, index * FIXED, end - FIXED, end)
      return true
    }
  }
}

/** What the packet of a definition says. MariaDB puts what it knows besides before the length of the fixed fields. */
export function readDefinition (bytes: Buffer, from: number, end: number): ColumnDefinition {
  const at = end - FIXED
  const extra = new Map<number, string>()
  let each = from
  for (let string = 0; string < STRINGS; string++) each = endOfString(bytes, each)
  if (each < at - 1) {
    for (each += sizeOfLength(bytes, each); each < at - 1;) {
      const kind = bytes[each] as number
      const next = endOfString(bytes, each + 1)
      extra.set(kind, bytes.toString('latin1', each + 1 + sizeOfLength(bytes, each + 1), next))
      each = next
    }
  }
  return {
    charset: bytes.readUInt16LE(at),
    length: bytes.readUInt32LE(at + 2),
    type: bytes[at + 6] as number,
    flags: bytes.readUInt16LE(at + 7),
    extendedType: extra.get(0) ?? '',
    format: extra.get(1) ?? ''
  }
}

const TWO_BYTES = 0xfc
/** How many bytes the length of a string takes. None of these strings has 64 KB. */
const sizeOfLength = (bytes: Buffer, at: number): number => bytes[at] === TWO_BYTES ? 3 : 1

function endOfString (bytes: Buffer, at: number): number {
  return bytes[at] === TWO_BYTES ? at + 3 + bytes.readUInt16LE(at + 1) : at + 1 + (bytes[at] as number)
}

/**
 * Differences between information_schema and what the server sends that reading the catalog again has not settled. Such a column is
 * shown as a text, as one whose type is not known.
 */
export interface Differences {
  /** Whether it is one, for a column that is sent as values of that class. If not, the catalog is to be read again. */
  isKnown (table: Table, column: Column, sent: string): boolean
  /** For results of replicas: one that is late may send what its table was before, which must not count as settled. */
  readonly ofReplicas: KnownDifferences
  /** Compares those that were met before `since` with a catalog that was read from then on. */
  review (tables: readonly TableFacts[], since: number): void
}

export type KnownDifferences = Pick<Differences, 'isKnown'>

interface Difference { readonly table: string, readonly column: string, readonly declaration: string, readonly metAt: number, isKnown: boolean }

/** More are forgotten together. */
const MAX_DIFFERENCES = 1000

export function createDifferences (): Differences {
  const met = new Map<string, Difference>()
  const keyOf = ({ name: table }: Table, { name: column, declaration }: Column, sent: string): string => JSON.stringify([table, column, declaration, sent])
  return {
    ofReplicas: { isKnown: (table, column, sent) => met.get(keyOf(table, column, sent))?.isKnown === true },
    isKnown (table, column, sent) {
      const key = keyOf(table, column, sent)
      const found = met.get(key)
      if (found !== undefined) return found.isKnown
      if (met.size >= MAX_DIFFERENCES) met.clear()
      met.set(key, { table: table.name, column: column.name, declaration: column.declaration, metAt: performance.now(), isKnown: false })
      return false
    },
    review (tables, since) {
      if (met.size === 0) return
      const byName = new Map(tables.map((table) => [table.name, table.columns]))
      for (const [key, difference] of met) {
        if (difference.metAt > since) continue
        const column = byName.get(difference.table)?.find(({ name }) => name === difference.column)
        if (column?.declaration === difference.declaration) difference.isKnown = true
        else met.delete(key)
      }
    }
  }
}
