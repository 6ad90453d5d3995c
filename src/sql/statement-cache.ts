/** Statements that were built, by table and by the shape of their plan (shape.ts), with one bound for all tables of the process. */

/** The text of a statement: whole, with `?` as its placeholders, and cut into the pieces between them. */
export interface Statement {
  readonly sql: string
  readonly pieces: readonly string[]
}

/** Longer texts are not kept: a list of ten thousand values is rarely sent twice in the same length. */
const MAX_LENGTH = 10_000
/** Statements of one table: one that is asked in ever new ways must not drive out those of the others. */
const MAX_PER_TABLE = 100

/** What is kept of one table, the statement used last at the end. */
export interface TableStatements {
  get (key: string): Statement | undefined
  set (key: string, statement: Statement): void
}

export interface StatementCache {
  /** A place for the statements of a table; what is in it is forgotten with the table. */
  forTable (table: object): TableStatements
  /** About what all of it takes of the heap. */
  readonly bytes: number
  readonly size: number
}

type Place = Map<string, Statement>

/** Above `limit` bytes the table that was not used for longest loses its statements, those not used for longest first. */
export function createStatementCache (limit: number): StatementCache {
  /** The table used last at the end. Nothing here leads to a table, so that one can be collected. */
  const places = new Set<Place>()
  let bytes = 0

  const forget = (place: Place, key: string): void => {
    const { sql, pieces } = place.get(key) as Statement
    bytes -= sizeOf(key, sql, pieces)
    place.delete(key)
  }
  const touch = (place: Place): void => {
    places.delete(place)
    places.add(place)
  }
  const collected = new FinalizationRegistry<Place>((place) => {
    for (const key of place.keys()) forget(place, key)
    places.delete(place)
  })
  const shrink = (): void => {
    for (const place of places) {
      for (const key of place.keys()) {
        if (bytes <= limit) return
        forget(place, key)
      }
      places.delete(place)
    }
  }

  return {
    get bytes () { return bytes },
    get size () { return Array.from(places).reduce((sum, { size }) => sum + size, 0) },
    forTable (table) {
      const place: Place = new Map()
      collected.register(table, place)
      return {
        get (key) {
          const found = place.get(key)
          // While half of the room is free, nothing has to be told from what was used last.
          if (found === undefined || (bytes <= limit / 2 && place.size <= MAX_PER_TABLE / 2)) return found
          place.delete(key)
          place.set(key, found)
          touch(place)
          return found
        },
        set (key, statement) {
          if (statement.sql.length > MAX_LENGTH) return
          place.set(key, statement)
          bytes += sizeOf(key, statement.sql, statement.pieces)
          if (place.size > MAX_PER_TABLE) forget(place, place.keys().next().value as string)
          touch(place)
          shrink()
        }
      }
    }
  }
}

/** As V8 keeps them: marks of columns need two bytes a character, the pieces are strings of their own, and there is a place in a map. */
function sizeOf (key: string, sql: string, pieces: readonly string[]): number {
  return 250 + 2 * key.length + 2 * sql.length + 40 * pieces.length
}
