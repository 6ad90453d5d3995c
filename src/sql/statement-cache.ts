/**
 * Caches compiled statements by table and by the shape of their plan (shape.ts), with one limit for all tables of the
 * process. A table belongs to one database, so statements of two engines are never mixed. The statements of a table are
 * dropped with it.
 */
import type { CompiledStatement } from './statement.ts'

/** How many statements were found in the cache, and how many were built. */
export interface StatementCounts { kept: number, built: number }

/** Longer texts are not cached, because a list of ten thousand values is rarely sent twice with the same length. */
const MAX_LENGTH = 10_000
/** Maximum number of statements of a table, so that a table with ever new shapes does not displace those of others. */
const MAX_PER_TABLE = 100

export type KeptStatement = Pick<CompiledStatement, 'sql' | 'pieces'>

/** The cached statements of one table. */
export interface TableStatements<T extends KeptStatement> {
  get (key: string): T | undefined
  set (key: string, statement: T): void
}

export interface StatementCache<T extends KeptStatement> {
  /** Creates the cache of a table, which the caller keeps and drops with the table. */
  forTable (table: object): TableStatements<T>
  /** The approximate memory of all cached statements, in bytes. */
  readonly bytes: number
  readonly size: number
}

/** The statements of one table in the cache, without a strong reference to the table, so that it can be collected. */
interface Shelf<T> { readonly statements: WeakRef<Map<string, T>>, bytes: number, size: number }

/** Above `limit` bytes, the least recently used table loses its statements, the least recently used first. */
export function createStatementCache<T extends KeptStatement> (limit: number): StatementCache<T> {
  /** The tables, the most recently used at the end. */
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
          // the order of use does not matter while half of the room is free
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

/**
 * Estimates the memory in V8: two bytes per character because of the marks, a string for each piece, and an entry of
 * the map.
 */
function sizeOf (key: string, { sql, pieces }: KeptStatement): number {
  return 250 + 2 * key.length + 2 * sql.length + 40 * pieces.length
}
