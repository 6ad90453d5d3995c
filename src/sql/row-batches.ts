import { type Column, type Table, traitsOf } from '../catalog/catalog.ts'
import { knownKey } from '../plan/insert-key.ts'
import { updateTimesOf } from '../plan/rule.ts'
import { findDefaulted } from '../plan/assignments.ts'
import { combine } from '../plan/filters/scope.ts'
import type { Assignment, Condition, InsertPlan, PlannedRow } from '../plan/plan.ts'
import { factsOf, waysOf, writtenColumns } from '../plan/writes.ts'

/** One statement inserts them. */
export interface RowBatch {
  readonly table: Table
  /** The statement names them. */
  readonly columns: readonly Column[]
  readonly rows: readonly PlannedRow[]
  readonly conflict?: BatchConflict
  /** Dialects get a statement for a list of rows: an error may name the refused row. */
  readonly isList: boolean
}

/** The row that exists stays as it is if nothing is written or assigned. */
export interface BatchConflict {
  readonly key: readonly Column[]
  /** The columns that get the values of the inserted row. */
  readonly written: readonly Column[]
  readonly assignments: readonly Assignment[]
  /** The statement reports its value in the existing row. */
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

/** The statement is the same for each row (`whyOneByOne`), or of one row. */
export function toBatch (plan: InsertPlan, rows: readonly PlannedRow[]): RowBatch {
  const { table, conflict, isList } = plan
  const [first] = rows as [PlannedRow, ...PlannedRow[]]
  if (conflict === undefined && !isList) return { table, columns: first.columns, rows, isList: false }
  const ways = waysOf(plan, rows)
  const columns = ways.length === 1 ? first.columns : [...new Set(ways.flatMap(({ columns }) => columns))]
  const upserts = ways.filter(({ way }) => way !== 'insert')
  if (conflict === undefined || upserts.length === 0) return { table, columns, rows, isList: true }
  const { key, set } = conflict
  const within = upserts.length < ways.length ? beforeLast(ways[0]?.number as Column, conflict.within) : conflict.within
  const written = set.kind === 'assignments' ? [] : writtenColumns(conflict, columns)
  const assigned = set.kind === 'assignments' ? set.assignments : []
  // a list whose rows are told by their numbers has a statement for each
  const identity = isList && plan.isFoundByNumber !== true ? undefined : upserts[0]?.reported
  const { namesKey, hasDefault } = traitsOf(table)
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
      assignments: table.granted === undefined
        ? assigned
        : [...assigned, ...updateTimesOf(table, changedColumns({ written, assignments: assigned }))],
      identity,
      within
    }
  }
}

/**
 * The number of each row is known if the response has it (`returning`), and otherwise the number of the first row. Rows
 * that one statement numbers have consecutive numbers, unless some of them already have a number, exist, or are
 * numbered by a trigger; a trigger of SQLite may insert rows in between.
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

/** The largest `auto_increment_increment`, by at most which the last number is less than the largest of its type. */
const LARGEST_INCREMENT = 65_535n

/** With the last number in use, MySQL gives that again, and would update its row. */
const beforeLast = (number: Column, within: Condition = combine('and', [])): Condition =>
  combine('and', [within, {
    kind: 'compare', column: number, operator: '<=', parameter: number.type.maximum as bigint - LARGEST_INCREMENT
  }])
