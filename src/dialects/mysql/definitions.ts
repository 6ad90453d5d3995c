/**
 * Compares the column definitions of each result with the plan: the catalog may be a minute old, and a text that is
 * written like a number could inject JSON into the response. They are parsed only if they differ from the last expected
 * ones.
 */
import { createHash } from 'node:crypto'
import type { Column, Table, TableFacts } from '../../catalog/catalog.ts'
import type { Statement } from '../../sql/statement.ts'
import { unknownType } from '../../types/text.ts'
import { valueClass, type ColumnDefinition } from '../../types/value-classes.ts'
import { PacketReader } from '../packets.ts'

export interface Definitions {
  readonly columns: readonly Column[]
  /** Whether the definition in `bytes` from `from` to `end`, of the column at `index`, is as expected. */
  isExpectedIn (index: number, bytes: Buffer, from: number, end: number): boolean
}

/** Length of the fixed fields at the end: character set, length, type, flags, decimals and two unused bytes. */
const FIXED = 12
/** Number of strings before the name: catalog, schema, table alias, table. */
const BEFORE_NAME = 4

/**
 * `sources`: the tables of the columns, if not all belong to `table`; `expected`: the classes that the server may send
 * for a column.
 */
export function createDefinitions ({ table, sources, columns: planned, expected, differences }: {
  readonly table: Table
  readonly sources?: readonly Table[] | undefined
  readonly columns: readonly Column[]
  readonly expected: (column: Column) => ReadonlySet<string> | undefined
  readonly differences: KnownDifferences
}): Definitions {
  let columns = planned
  /** The length and the fixed fields of each column's definition. */
  const lengths = new Uint32Array(planned.length)
  const fixed = new Uint8Array(planned.length * FIXED)

  const isExpected = (index: number, definition: ColumnDefinition): boolean => {
    const column = planned[index] as Column
    const sent = valueClass(definition)
    const classes = expected(column)
    if (classes === undefined || classes.has(sent)) {
      if (columns[index] !== column) columns = columns.with(index, column)
      return true
    }
    if (!differences.isKnown(sources?.[index] ?? table, column.origin ?? column, sent)) return false
    columns = columns.with(index, { ...column, type: unknownType(column.declaration) })
    return true
  }

  return {
    get columns () {
      return columns
    },
    isExpectedIn (index, bytes, from, end) {
      if (lengths[index] === end - from) {
        const at = end - FIXED
        const begin = index * FIXED
        let same = 0
        while (same < FIXED && bytes[at + same] === fixed[begin + same]) same++
        if (same === FIXED) return true
      }
      if (!isExpected(index, readDefinition(bytes, from, end))) return false
      lengths[index] = end - from
      bytes.copy(fixed, index * FIXED, end - FIXED, end)
      return true
    }
  }
}

/** Parses the packet of a definition. MariaDB has additional metadata before the length of the fixed fields. */
export function readDefinition (
  bytes: Buffer,
  from: number,
  end: number
): ColumnDefinition & { readonly name: string } {
  const at = end - FIXED
  const extra = new Map<number, string>()
  const reader = new PacketReader(bytes, from)
  for (let string = 0; string < BEFORE_NAME; string++) reader.skip()
  const name = reader.text()
  // the name without an alias
  reader.skip()
  if (reader.at < at - 1) {
    reader.length()
    while (reader.at < at - 1) {
      const kind = bytes[reader.at++] as number
      extra.set(kind, reader.text())
    }
  }
  return {
    name,
    charset: bytes.readUInt16LE(at),
    length: bytes.readUInt32LE(at + 2),
    type: bytes[at + 6] as number,
    flags: bytes.readUInt16LE(at + 7),
    extendedType: extra.get(0) ?? '',
    format: extra.get(1) ?? ''
  }
}

/**
 * Differences between information_schema and the results of the server that remain after the catalog was read again.
 * The values of such a column are texts.
 */
export interface Differences {
  /** Whether the difference is known for values of this class. If not, the catalog must be read again. */
  isKnown (table: Table, column: Column, sent: string): boolean
  /** A late replica may send the previous type of a column, which must not be recorded. */
  readonly ofReplicas: KnownDifferences
  /** Compares the differences found before `since` with a catalog that was read later. */
  review (tables: readonly TableFacts[], since: number): void
}

export type KnownDifferences = Pick<Differences, 'isKnown'>

const MAX_DIFFERENCES = 1000

export function createDifferences (): Differences {
  const met = new Map<
    string,
    {
      readonly table: string
      readonly column: string
      readonly declaration: string
      readonly metAt: number
      isKnown: boolean
    }
  >()
  const keyOf = ({ name: table }: Table, { name: column, declaration }: Column, sent: string): string =>
    JSON.stringify([table, column, declaration, sent])
  return {
    ofReplicas: { isKnown: (table, column, sent) => met.get(keyOf(table, column, sent))?.isKnown === true },
    isKnown (table, column, sent) {
      const key = keyOf(table, column, sent)
      const difference = met.get(key)
      if (difference !== undefined) return difference.isKnown
      if (met.size >= MAX_DIFFERENCES) met.clear()
      met.set(key, {
        table: table.name,
        column: column.name,
        declaration: column.declaration,
        metAt: performance.now(),
        isKnown: false
      })
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

/** How long a confirmation is valid, in milliseconds. */
const TRUST = 1000

/** Definitions by the pieces of a statement, which remain the same object while the statement is cached. */
export type KnownStatements = WeakMap<readonly string[], Definitions>

/** Undefined without columns, as for a statement that begins a transaction. */
export function definitionsOf (
  cache: KnownStatements,
  statement: Statement,
  differences: KnownDifferences
): Definitions | undefined {
  if (statement.columns.length === 0) return undefined
  return cache.get(statement.pieces) ?? define(cache, statement, differences)
}

function define (
  cache: KnownStatements,
  { pieces, table, sources, columns, isUnion }: Statement,
  differences: KnownDifferences
): Definitions {
  const expected = isUnion === true ? inUnion : inResult
  const definitions = createDefinitions({ table, sources, columns, differences, expected })
  cache.set(pieces, definitions)
  return definitions
}

const inResult = ({ type }: Column): ReadonlySet<string> | undefined => type.selectedAs ?? type.sentAs

/** Classes that a UNION returns as texts. */
const TEXTS_IN_UNION = ['enum', 'set', 'json']

function inUnion (column: Column): ReadonlySet<string> | undefined {
  const classes = inResult(column)
  return classes !== undefined && TEXTS_IN_UNION.some((each) => classes.has(each))
    ? new Set([...classes, 'text'])
    : classes
}

export interface Confirmation {
  /** When it was asked, by `performance.now()`. */
  readonly since: number
  /** A hash of the definitions. */
  readonly shown: string
}

/** The flag of a definition (MySQL manual, "Column Definition Flags"). */
const NOT_NULL = 1

export class TableDefinitions implements Definitions {
  readonly columns = []
  readonly #hash = createHash('sha1')
  readonly #table: Table
  readonly #differences: KnownDifferences

  constructor (table: Table, differences: KnownDifferences) {
    this.#table = table
    this.#differences = differences
  }

  isExpectedIn (_index: number, bytes: Buffer, from: number, end: number): boolean {
    const definition = readDefinition(bytes, from, end)
    const column = this.#table.columns.get(definition.name)
    const classes = column?.type.sentAs
    const isView = this.#table.kind === 'view'
    // the execution of a view decides whether its columns can be NULL
    if (!isView) this.#hash.update(bytes.subarray(from, end))
    if (column === undefined || classes === undefined) return true
    const sent = valueClass(definition)
    const nullable = isView ? column.nullable : (definition.flags & NOT_NULL) === 0
    if (classes.has(sent) && nullable === column.nullable) return true
    return this.#differences.isKnown(this.#table, column, nullable === column.nullable ? sent : `${sent} ${nullable}`)
  }

  /** A hash of all definitions. With another one the table has changed: a length, digits, a key, a column. */
  shown (): string {
    return this.#hash.digest('base64')
  }
}

const NONE: readonly Statement[] = []

/** Those that must run before a statement, because the confirmations of the last second do not include their tables. */
export function missingConfirmations (
  confirmed: Pick<WeakMap<Table, Confirmation>, 'get'>,
  confirmations: readonly Statement[]
): readonly Statement[] {
  const oldest = performance.now() - TRUST
  let missing = NONE
  for (let index = 0; index < confirmations.length; index++) {
    const confirmation = confirmations[index] as Statement
    const since = confirmed.get(confirmation.table)?.since ?? -Infinity
    if (since <= oldest) missing = [...missing, confirmation]
  }
  return missing
}
