/** Decides whether one statement writes all rows of an insert, and what it does. */
import type { Column, Table } from '../catalog/catalog.ts'
import { type Engine, TRAITS } from '../catalog/traits.ts'
import { isComputedKey, knownKey, writtenColumns } from '../plan/insert-key.ts'
import { touchedBy } from '../plan/rule.ts'
import { findDefaulted } from '../plan/assignments.ts'
import { combine } from '../plan/filters/scope.ts'
import type { Assignment, Condition, Conflict, InsertPlan, PlannedRow } from '../plan/plan.ts'
import { isOneRow } from '../plan/write-options.ts'
import { factsOf } from '../plan/writes.ts'

/** Rows that one statement inserts. */
export interface RowBatch {
  readonly table: Table
  /** The columns that the statement names. */
  readonly columns: readonly Column[]
  readonly rows: readonly PlannedRow[]
  readonly conflict?: BatchConflict
  /** Whether dialects get a statement for a list of rows, so that an error may name the refused row. */
  readonly isList: boolean
}

/** The change of a row that exists, which stays as it is if nothing is written or assigned. */
export interface BatchConflict {
  readonly key: readonly Column[]
  /** The columns that get the values of the inserted row. */
  readonly written: readonly Column[]
  readonly assignments: readonly Assignment[]
  /** The column whose value in the existing row the statement reports. */
  readonly identity: Column | undefined
  /** The condition that the row that exists must satisfy. */
  readonly within: Condition | undefined
}

/** The columns that are written in a row that exists. */
export const changedColumns = ({
  written,
  assignments
}: Pick<BatchConflict, 'written' | 'assignments'>): readonly Column[] =>
  assignments.length === 0 ? written : [...written, ...assignments.map(({ column }) => column)]

/** The batch of some rows of a plan, whose statement is the same for each of them (`isCertain`), or of one row. */
export function toBatch (plan: InsertPlan, rows: readonly PlannedRow[], engine: Engine): RowBatch {
  const { table, conflict } = plan
  const [first] = rows as [PlannedRow, ...PlannedRow[]]
  if (isOneRow(plan)) return { table, columns: first.columns, rows, isList: false }
  const lists = columnsIn(rows)
  const columns = lists.size === 1 ? first.columns : [...new Set([...lists].flat())]
  if (conflict === undefined) return { table, columns, rows, isList: true }
  const number = numberIn(conflict, table)
  const areNew = rows.map((row) => isNew(row, number))
  if (!areNew.includes(false)) return { table, columns, rows, isList: true }
  const { key, set } = conflict
  const within = areNew.includes(true) ? beforeLast(number as Column, conflict.within) : conflict.within
  const written = set.kind === 'assignments' ? [] : writtenColumns(conflict, columns)
  const assigned = set.kind === 'assignments' ? set.assignments : []
  const identity =
    plan.isList && plan.isNumbered !== true ? undefined : findReported(table, isComputedKey(key, { columns }), engine)
  const { namesKey, hasDefault } = TRAITS[engine]
  const others = new Set(namesKey ? [] : [...key, ...written].filter((column) => !columns.includes(column)))
  // an insert without columns has no conflict clause
  if (!hasDefault && columns.length === 0) others.add(findDefaulted(table) as Column)
  return {
    table,
    columns: others.size === 0 ? columns : [...columns, ...others],
    rows,
    isList: true,
    conflict: {
      key,
      written,
      assignments: [...assigned, ...touchedBy(table, changedColumns({ written, assignments: assigned }))],
      identity,
      within
    }
  }
}

/**
 * The id that the statement reports of the row that exists: on MySQL and MariaDB a number that the database gives, and
 * any other one if it computes the key, by which the row could be found. SQLite reports ids of any type, also where
 * triggers may change the key.
 */
function findReported (table: Table, isComputed: boolean, engine: Engine): Column | undefined {
  const { identity } = table
  if (!TRAITS[engine].reportsNumbers) return isComputed || factsOf(table).seesChanged ? identity : undefined
  return identity?.autoIncrement === true || (isComputed && identity?.type.wholeNumbers === true) ? identity : undefined
}

/**
 * Whether one statement for all rows counts them, fires their triggers and writes them in order as one for each would.
 * Otherwise they are written one by one.
 */
export function isCertain (plan: InsertPlan, engine: Engine): boolean {
  const { table, rows, conflict } = plan
  // one statement tells totals only
  if (plan.afterWrite !== undefined || plan.outcomes === true) return false
  if (conflict === undefined && rows.length === 1) return true
  const number = conflict && numberIn(conflict, table)
  const { hasDefault, namesKey } = TRAITS[engine]
  if (needsSameColumns(plan, engine) && !haveSameColumns(rows, hasDefault ? number : undefined)) return false
  if (conflict === undefined || namesKey) return true
  const areNew = rows.map((row) => isNew(row, number))
  if (!areNew.includes(false)) return true
  // a table of whose last number nothing is known
  if (areNew.includes(true) && number?.type.maximum === undefined) return false
  const isAlone = (row: PlannedRow): boolean => isByKey(plan, row, engine) || isInsertedFirst(plan, row, engine)
  return !factsOf(table).hasHistory && !rows.some(isAlone)
}

/** The lists of columns that the rows have. */
function columnsIn (rows: readonly PlannedRow[]): ReadonlySet<readonly Column[]> {
  const lists = new Set<readonly Column[]>()
  for (const { columns } of rows) lists.add(columns)
  return lists
}

/** Whether rows have the same columns, apart from one. Those with the same ones usually share their list. */
function haveSameColumns (rows: readonly PlannedRow[], number: Column | undefined): boolean {
  const [first = [], ...others] = Array.from(columnsIn(rows), (columns) =>
    columns.filter((column) => column !== number))
  return others.every((list) => list.length === first.length && list.every((column, at) => column === first[at]))
}

/**
 * Whether all rows of a statement must have the same columns. MySQL has no DEFAULT for a required column, which a
 * trigger may fill if it is omitted. With `given`, the columns that are written to existing rows differ by row.
 */
function needsSameColumns ({ table, rows, conflict }: InsertPlan, engine: Engine): boolean {
  if (!TRAITS[engine].hasDefault || conflict?.set.kind === 'given') return true
  return (
    factsOf(table).fillsNew &&
    rows.some(({ columns }) => table.requiredColumns.some((column) => !columns.includes(column)))
  )
}

/**
 * Divides the rows so that the number of each one is known if the answer has it (`returning`), and otherwise that of
 * the first. Rows that one statement numbers have consecutive numbers, unless some of them already have a number,
 * exist, or are numbered by a trigger; a trigger of SQLite may insert rows in between.
 */
export function toParts (plan: InsertPlan): ReadonlyArray<readonly PlannedRow[]> {
  const { table, rows, conflict, key } = plan
  if (rows.length === 1) return [rows]
  const numbersByTrigger = factsOf(table).fillsNew
  const numbered = key?.find(({ autoIncrement }) => autoIncrement)
  if (numbered === undefined) {
    const isFirstAlone = conflict === undefined && table.identity?.autoIncrement === true && numbersByTrigger
    return isFirstAlone ? [rows.slice(0, 1), rows.slice(1)] : [rows]
  }
  const unknown = rows.filter((row) => knownKey(plan, row, numbered) === null)
  const isConsecutive = unknown.length === rows.length && conflict === undefined && !numbersByTrigger &&
    !factsOf(table).takesNumbers
  return unknown.length === 0 || isConsecutive ? [rows] : rows.map((row) => [row])
}

/**
 * Whether MySQL and MariaDB must look up the row by its key, because their statement would fire triggers or write
 * history although nothing changes, or miscount the row; because a trigger may hide the key by which the row is checked
 * afterwards; or because the server has no such statement.
 */
export function isByKey ({ table, conflict, afterWrite }: InsertPlan, row: PlannedRow, engine: Engine): boolean {
  if (conflict === undefined || TRAITS[engine].namesKey || isNew(row, numberIn(conflict, table))) return false
  if (table.traits?.upsert === 'byKey' || (afterWrite !== undefined && factsOf(table).fillsNew)) return true
  const isVersioned = factsOf(table).hasHistory
  if (writtenColumns(conflict, row.columns).length === 0) return isVersioned || factsOf(table).seesChanged
  return (!factsOf(table).fillsNew && isMiscounted(row, conflict)) ||
    ((isVersioned || factsOf(table).precedesChange) && !isComputedKey(conflict.key, row))
}

/**
 * Whether a row that is not looked up by its key is inserted before its upsert is tried, which then counts no row as
 * inserted: the server would miscount it, and only its statement has the values and the key that a trigger gives it.
 */
export const isInsertedFirst = ({ table, conflict }: InsertPlan, row: PlannedRow, engine: Engine): boolean =>
  conflict !== undefined && !TRAITS[engine].namesKey && factsOf(table).fillsNew && isMiscounted(row, conflict)

/**
 * The column of the named key in which the database gives a new number to a row that omits it, which is inserted;
 * undefined if a trigger may give it the number of a row that exists.
 */
const numberIn = ({ key }: Conflict, table: Table): Column | undefined =>
  factsOf(table).fillsNew ? undefined : key.find(({ autoIncrement }) => autoIncrement)

const isNew = ({ columns }: PlannedRow, number: Column | undefined): boolean =>
  number !== undefined && !columns.includes(number)

/** The largest `auto_increment_increment`, by at most which the last number is less than the largest of its type. */
const LARGEST_INCREMENT = 65_535n

/**
 * The condition on rows that an upsert of new rows beside others may update. With the last number in use, MySQL gives
 * that again, and would update its row.
 */
const beforeLast = (number: Column, within: Condition = combine('and', [])): Condition =>
  combine('and', [within, {
    kind: 'compare', column: number, operator: '<=', parameter: number.type.maximum as bigint - LARGEST_INCREMENT
  }])

/**
 * Whether the servers may count the row as inserted although it exists: they do so if the bytes of the new row differ
 * from those of the old one but the values do not. This occurs if NULL is written over NULL in a column with another
 * default, also by a BEFORE UPDATE trigger, and on MySQL if such a trigger undoes the change.
 */
function isMiscounted ({ columns, parameters }: PlannedRow, conflict: Conflict): boolean {
  const { set } = conflict
  if (set.kind === 'assignments') {
    return set.assignments.some(
      ({ column, parameter, operator }) => hidesDefault(column) && (operator !== undefined || parameter === null)
    )
  }
  const written = writtenColumns(conflict, columns)
  return columns.some((column, index) => parameters[index] === null && hidesDefault(column) && written.includes(column))
}

/** Whether NULL in the column differs from its default. */
const hidesDefault = ({ nullable, defaultText, defaultComputed }: Column): boolean =>
  nullable && (defaultText !== null || defaultComputed === true)
