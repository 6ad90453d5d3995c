/** The limits of bodies that no setting changes, and the bounds of those that a setting may change. */

/** Number of rows that a select returns if it does not say, and the most that it can ask for. */
export const DEFAULT_LIMIT = 100
export const MAX_LIMIT = 1000

/** Maximum number of rows of an insert, and of its values: rows times the columns that any of them names. */
export const MAX_ROWS = 1000
export const MAX_CELLS = 100_000

/** Columns of a MySQL table. */
export const MAX_COLUMNS = 4096

/** The database needs memory for each of them. */
export const MAX_AGGREGATES = 100

/** Levels of `include` and members that settings can allow. */
export const MAX_INCLUDE = { levels: 10, members: 50 }

/** Default and maximum of the setting `limits.operations`. */
export const DEFAULT_OPERATIONS = 100
export const MAX_OPERATIONS = 1000
