/**
 * Keeps compiled statements by table and by the shape of their plan (shape.ts), within one bound for all tables of the process. A table
 * belongs to one database, so statements of two engines never meet; what is kept of a table is forgotten with it.
 */
import type { CompiledStatement } from './statement.ts'

/** How many statements were kept already, and how many were built. */
export interface StatementCounts { kept: number, built: number }

/** Longer texts are not kept: a list of ten thousand values is rarely sent twice in the same length. */
const MAX_LENGTH = 10_000
/** Statements of one table, so that one with ever new shapes does not drive out those of the others. */
const MAX_PER_TABLE = 100

export type KeptStatement = Pick<CompiledStatement, 'sql' | 'pieces'>

/** The kept statements of one table, the last used at the end. */
export interface TableStatements<T extends KeptStatement> {
  get (key: string): T | undefined
  set (key: string, statement: T): void
}

export interface StatementCache<T extends KeptStatement> {
  /** A place for the statements of a table. The caller keeps it, and drops it with the table. */
  forTable (table: object): TableStatements<T>
  /** The memory that all kept statements take, about, in bytes. */
  readonly bytes: number
  readonly size: number
}

/** The statements of one table as the cache sees them: nothing in it leads to the table, so that the table can be collected. */
interface Shelf<T> { readonly statements: WeakRef<Map<string, T>>, bytes: number, size: number }

/** Above `limit` bytes the table that was not used for longest loses its statements, those not used for longest first. */
export function createStatementCache<T extends KeptStatement> (limit: number): StatementCache<T> {
  /** The table used last at the end. */
  const shelves = new Set<Shelf<T>>()
  let bytes = 0

  const count = (shelf: Shelf<T>, change: number, size: number): void => {
    bytes += change
    shelf.bytes += change
    shelf.size += size
  }
  const remove = (shelf: Shelf<T>): void => {
    count(shelf, -shelf.bytes, -shelf.size)
    shelves.delete(shelf)
  }
  const forget = (shelf: Shelf<T>, statements: Map<string, T>, key: string): void => {
    count(shelf, -sizeOf(key, statements.get(key) as T), -1)
    statements.delete(key)
  }
  const touch = (shelf: Shelf<T>): void => {
    shelves.delete(shelf)
    shelves.add(shelf)
  }
  const collected = new FinalizationRegistry<Shelf<T>>(remove)
  const shrink = (): void => {
    for (const shelf of shelves) {
      const statements = shelf.statements.deref() ?? new Map<string, T>()
      for (const key of statements.keys()) {
        if (bytes <= limit) return
        forget(shelf, statements, key)
      }
      remove(shelf)
    }
  }

  return {
    get bytes () { return bytes },
    get size () { return Array.from(shelves).reduce((sum, { size }) => sum + size, 0) },
    forTable (table) {
      const statements = new Map<string, T>()
      const shelf: Shelf<T> = { statements: new WeakRef(statements), bytes: 0, size: 0 }
      collected.register(table, shelf)
      return {
        get (key) {
          const found = statements.get(key)
          // While half of the room is free, the order of use does not matter.
          if (found === undefined || (bytes <= limit / 2 && statements.size <= MAX_PER_TABLE / 2)) return found
          statements.delete(key)
          statements.set(key, found)
          touch(shelf)
          return found
        },
        set (key, statement) {
          if (statement.sql.length > MAX_LENGTH) return
          statements.set(key, statement)
          count(shelf, sizeOf(key, statement), 1)
          if (statements.size > MAX_PER_TABLE) forget(shelf, statements, statements.keys().next().value as string)
          touch(shelf)
          shrink()
        }
      }
    }
  }
}

/** As V8 stores them: marks of columns need two bytes a character, the pieces are strings of their own, and the map has an entry. */
function sizeOf (key: string, { sql, pieces }: KeptStatement): number {
  return 250 + 2 * key.length + 2 * sql.length + 40 * pieces.length
}
