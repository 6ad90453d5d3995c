/** The kinds of engines by their SQL: `mysql` are MySQL, MariaDB and those that speak its protocol. */
export type Engine = 'mysql' | 'sqlite'

/**
 * What the kinds of engines do differently, each fact with the kind for which it is true. Each fact is stated once,
 * here, and named where the program depends on it. What servers of one kind do differently is in `ServerTraits`
 * (catalog.ts).
 */
const TRUE_FOR = {
  // Triggers

  /** Whether a BEFORE trigger may set columns of the row; that of SQLite may only write the table again. */
  triggersSetColumns: 'mysql',
  /** Whether a BEFORE trigger may leave out a row without an error (`raise(ignore)`). */
  triggersSkipRows: 'sqlite',
  /** Whether rows that a trigger inserts into the table take numbers between those of one statement. */
  triggersTakeNumbers: 'sqlite',

  // Inserts

  /** Whether DEFAULT may stand in place of a single value. */
  hasDefault: 'mysql',
  /**
   * Whether an upsert names the key by which it finds a row (ON CONFLICT). ON DUPLICATE KEY UPDATE finds a row by any
   * unique key, and can only refer to columns that the insert names.
   */
  namesKey: 'sqlite',
  /** Whether an insert reports an AUTO_INCREMENT number, and an upsert that of the row that it has found. */
  reportsNumbers: 'mysql',
  /** Whether the distance of numbers is a setting (`auto_increment_increment`). */
  numbersInSteps: 'mysql',

  // Updates and deletes

  /** Whether they have LIMIT, and report how many rows they have matched. */
  limitsChanges: 'mysql',
  /** Whether an update can join its table with a list of values, from which the join begins. */
  joinsChanges: 'mysql',
  /** Whether they find rows by a full-text index; otherwise a select must find them. */
  searchesInWrites: 'sqlite',

  // Selects

  /** Whether a select can lock its rows; a transaction of SQLite locks the file. */
  locksRows: 'mysql',
  /** Whether a statement can name the index that it uses. */
  namesIndexes: 'mysql',
  /** Whether `a > ? or (a = ? and b > ?)` reads a range of an index on `(a, b)`. */
  findsRangeInOr: 'mysql',
  /** Whether all rows of an `in (…)` are sorted, so that each value costs the same as if it were alone. */
  readsListsAtOnce: 'mysql',
  /** Whether an aggregate can have FILTER. */
  filtersAggregates: 'sqlite',
  /** Whether `$match` can have its mode `boolean`. */
  hasBooleanSearch: 'mysql',
  /** Whether a comparison converts a text to a number, so that `abc` equals 0 in a column whose type has changed. */
  convertsCompared: 'mysql',
  /** Whether values come as JavaScript values, not as text, and equal a column as parameters without a cast. */
  sendsValues: 'sqlite',

  // Sessions

  /** Whether one writer excludes all others. */
  hasOneWriter: 'sqlite',
  /** Whether a refused statement is always undone as a whole; SQLite has `raise(fail)`. */
  undoesRefused: 'mysql',
  /** Whether a violation names its foreign key. */
  namesForeignKeys: 'mysql',
  /** Whether a transaction may check its foreign keys at its end; MySQL only has statements without checks. */
  defersForeignKeys: 'sqlite',
  /** Whether its clock is that of this machine. */
  usesLocalClock: 'sqlite'
} as const satisfies Record<string, Engine>

type Traits = Readonly<Record<keyof typeof TRUE_FOR, boolean>>

const traitsOf = (engine: Engine): Traits =>
  Object.fromEntries(Object.entries(TRUE_FOR).map(([trait, having]) => [trait, having === engine])) as Traits

export const TRAITS: Readonly<Record<Engine, Traits>> = { mysql: traitsOf('mysql'), sqlite: traitsOf('sqlite') }
