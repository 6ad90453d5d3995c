/** The kinds of engines by their SQL: `mysql` are MySQL, MariaDB and those that speak its protocol. */
export type Engine = 'mysql' | 'sqlite'

/**
 * What the kinds of engines do differently. Each fact is stated once, here, and named where the program depends on it.
 * What servers of one kind do differently is in `ServerTraits` (catalog.ts).
 */
export interface Traits {
  // Triggers

  /** Whether a BEFORE trigger may set columns of the row; that of SQLite may only write the table again. */
  readonly triggersSetColumns: boolean
  /** Whether a BEFORE trigger may leave out a row without an error (`raise(ignore)`). */
  readonly triggersSkipRows: boolean
  /** Whether rows that a trigger inserts into the table take numbers between those of one statement. */
  readonly triggersTakeNumbers: boolean

  // Inserts

  /** Whether DEFAULT may stand in place of a single value. */
  readonly hasDefault: boolean
  /**
   * Whether an upsert names the key by which it finds a row (ON CONFLICT). ON DUPLICATE KEY UPDATE finds a row by any
   * unique key, and can only refer to columns that the insert names.
   */
  readonly namesKey: boolean
  /** Whether an insert reports an AUTO_INCREMENT number, and an upsert that of the row that it has found. */
  readonly reportsNumbers: boolean
  /** Whether the distance of numbers is a setting (`auto_increment_increment`). */
  readonly numbersInSteps: boolean

  // Updates and deletes

  /** Whether they have LIMIT, and report how many rows they have matched. */
  readonly limitsChanges: boolean
  /** Whether an update can join its table with a list of values, from which the join begins. */
  readonly joinsChanges: boolean
  /** Whether they find rows by a full-text index; otherwise a select must find them. */
  readonly searchesInWrites: boolean

  // Selects

  /** Whether a select can lock its rows; a transaction of SQLite locks the file. */
  readonly locksRows: boolean
  /** Whether a statement can name the index that it uses. */
  readonly namesIndexes: boolean
  /** Whether `a > ? or (a = ? and b > ?)` reads a range of an index on `(a, b)`. */
  readonly findsRangeInOr: boolean
  /** Whether all rows of an `in (…)` are sorted, so that each value costs the same as if it were alone. */
  readonly readsListsAtOnce: boolean
  /** Whether an aggregate can have FILTER. */
  readonly filtersAggregates: boolean
  /** Whether `$match` can have its mode `boolean`. */
  readonly hasBooleanSearch: boolean
  /** Whether a comparison converts a text to a number, so that `abc` equals 0 in a column whose type has changed. */
  readonly convertsCompared: boolean
  /** Whether values come as JavaScript values, not as text, and equal a column as parameters without a cast. */
  readonly sendsValues: boolean

  // Sessions

  /** Whether one writer excludes all others. */
  readonly hasOneWriter: boolean
  /** Whether a refused statement is always undone as a whole; SQLite has `raise(fail)`. */
  readonly undoesRefused: boolean
  /** Whether a violation names its foreign key. */
  readonly namesForeignKeys: boolean
  /** Whether its clock is that of this machine. */
  readonly usesLocalClock: boolean
}

export const TRAITS: Readonly<Record<Engine, Traits>> = {
  mysql: {
    triggersSetColumns: true,
    triggersSkipRows: false,
    triggersTakeNumbers: false,
    hasDefault: true,
    namesKey: false,
    reportsNumbers: true,
    numbersInSteps: true,
    limitsChanges: true,
    joinsChanges: true,
    searchesInWrites: false,
    locksRows: true,
    namesIndexes: true,
    findsRangeInOr: true,
    readsListsAtOnce: true,
    filtersAggregates: false,
    hasBooleanSearch: true,
    convertsCompared: true,
    sendsValues: false,
    hasOneWriter: false,
    undoesRefused: true,
    namesForeignKeys: true,
    usesLocalClock: false
  },
  sqlite: {
    triggersSetColumns: false,
    triggersSkipRows: true,
    triggersTakeNumbers: true,
    hasDefault: false,
    namesKey: true,
    reportsNumbers: false,
    numbersInSteps: false,
    limitsChanges: false,
    joinsChanges: false,
    searchesInWrites: true,
    locksRows: false,
    namesIndexes: false,
    findsRangeInOr: false,
    readsListsAtOnce: false,
    filtersAggregates: true,
    hasBooleanSearch: false,
    convertsCompared: false,
    sendsValues: true,
    hasOneWriter: true,
    undoesRefused: false,
    namesForeignKeys: false,
    usesLocalClock: true
  }
}
