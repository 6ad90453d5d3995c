/** The kinds of engines by their SQL: `mysql` are MySQL, MariaDB and those that speak its protocol. */
export type Engine = 'mysql' | 'sqlite'

/**
 * What the kinds of engines do differently, each fact with the kind for which it is true. Each fact is stated once,
 * here, and named where the program depends on it. What servers of one kind do differently is in `ServerTraits`
 * (catalog.ts).
 */
const TRUE_FOR = {
  /** By a BEFORE trigger, which on SQLite may only write the table again. */
  triggersSetColumns: 'mysql',
  /** Whether a BEFORE trigger may leave out a row without an error (`raise(ignore)`). */
  triggersSkipRows: 'sqlite',
  /** Rows that a trigger inserts into the table take numbers between the numbers of one statement. */
  triggersTakeNumbers: 'sqlite',

  /** Whether DEFAULT may stand in place of a single value. */
  hasDefault: 'mysql',
  /**
   * By ON CONFLICT, an upsert names the key by which it finds a row. ON DUPLICATE KEY UPDATE finds a row by any unique
   * key, and can only refer to columns that the insert names.
   */
  namesKey: 'sqlite',
  /** AUTO_INCREMENT: of an insert, or of the row that an upsert has found. */
  reportsNumbers: 'mysql',
  /** Whether the distance of numbers is a setting (`auto_increment_increment`). */
  numbersInSteps: 'mysql',

  /** Whether they have LIMIT, and report how many rows they have matched. */
  limitsChanges: 'mysql',
  /** Whether an update can join its table with a list of values, from which the join begins. */
  joinsChanges: 'mysql',
  /** Whether they find rows by a full-text index; otherwise a select must find them. */
  searchesInWrites: 'sqlite',

  /** Whether a select can lock its rows; a transaction of SQLite locks the file. */
  locksRows: 'mysql',
  namesIndexes: 'mysql',
  /** `a > ? or (a = ? and b > ?)` reads a range of an index on `(a, b)`. */
  findsRangeInOr: 'mysql',
  /** All rows of an `in (…)` are sorted: each value costs the same as if it were alone. */
  readsListsAtOnce: 'mysql',
  filtersAggregates: 'sqlite',
  /** The mode `boolean` of `$match`. */
  hasBooleanSearch: 'mysql',
  /** A comparison converts a text to a number, so that `abc` equals 0 in a column whose type has changed. */
  convertsCompared: 'mysql',
  /** Values come as JavaScript values, not as text, and equal a column as parameters without a cast. */
  sendsValues: 'sqlite',

  hasOneWriter: 'sqlite',
  /** A refused statement is always undone as a whole; SQLite has `raise(fail)`. */
  undoesRefused: 'mysql',
  namesForeignKeys: 'mysql',
  /** Checks can wait for the end of the transaction; MySQL only has statements without checks. */
  defersForeignKeys: 'sqlite',
  /** The clock of this machine. */
  usesLocalClock: 'sqlite'
} as const satisfies Record<string, Engine>

type Traits = Readonly<Record<keyof typeof TRUE_FOR, boolean>>

const traitsOf = (engine: Engine): Traits =>
  Object.fromEntries(Object.entries(TRUE_FOR).map(([trait, having]) => [trait, having === engine])) as Traits

export const TRAITS: Readonly<Record<Engine, Traits>> = { mysql: traitsOf('mysql'), sqlite: traitsOf('sqlite') }
