/**
 * Decides how rows are written. Only this file reads what the triggers of a table, its history and its engine do to
 * written rows: the rest of the program reads `factsOf` of the table, and `writesOf` of the rows of an insert.
 */
import { mayFillColumns, mayFire, statementTable, type Table, traitsOf } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'

/** What happens to the rows of a table that are written, whatever the request. */
export interface WriteFacts {
  /** Whether a trigger may set columns of a new row before it is stored, its key among them. */
  readonly fillsNew: boolean
  /** Whether a trigger may leave out a new row without an error. */
  readonly skipsNew: boolean
  /** Whether a trigger runs for each new row. */
  readonly seesNew: boolean
  /** Whether a stored new row may have other values than the statement gave, by a trigger. */
  readonly altersNew: boolean
  /** Whether rows that triggers insert take numbers between those of the rows of one statement. */
  readonly takesNumbers: boolean
  /** Whether a trigger runs for each row that an update finds. */
  readonly seesChanged: boolean
  /** Whether one of them runs before the row is changed. */
  readonly precedesChange: boolean
  /** Whether a changed row may have other values than the statement gave, by a trigger. */
  readonly altersChanged: boolean
  /** Whether a trigger may keep a row that is deleted, without an error. */
  readonly keepsDeleted: boolean
  /** Whether also an update that changes no value writes a row of the history, and counts. */
  readonly hasHistory: boolean
  /** Whether a write can be undone. */
  readonly hasTransactions: boolean
}

/** The facts of each table. Those of a grant are those of the table that grants share. */
const facts = new WeakMap<Table, WriteFacts>()

export const factsOf = (table: Table): WriteFacts => getOrCreate(facts, statementTable(table), () => findFacts(table))

/** A BEFORE trigger of MySQL sets columns; one of SQLite writes the table again, for a new row an AFTER trigger. */
function findFacts (table: Table): WriteFacts {
  const { triggersSetColumns, triggersSkipRows, triggersTakeNumbers } = traitsOf(table)
  return Object.freeze({
    fillsNew: mayFillColumns(table),
    skipsNew: triggersSkipRows && mayFire(table, 'insert', 'before'),
    seesNew: mayFire(table, 'insert'),
    altersNew: mayFire(table, 'insert', triggersSetColumns ? 'before' : 'after'),
    takesNumbers: triggersTakeNumbers && mayFire(table, 'insert'),
    seesChanged: mayFire(table, 'update'),
    precedesChange: mayFire(table, 'update', 'before'),
    altersChanged: mayFire(table, 'update', triggersSetColumns ? 'before' : undefined),
    keepsDeleted: triggersSkipRows && mayFire(table, 'delete', 'before'),
    hasHistory: table.versioned === true,
    hasTransactions: table.transactional
  })
}
