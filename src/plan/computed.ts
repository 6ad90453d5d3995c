/** Which values of a written row only the database knows before the write. */
import { mayFire, type Column, type Table, type TriggerEvent } from '../catalog/catalog.ts'
import type { InsertPlan, PlannedRow, UpdatePlan } from './plan.ts'

/** Whether the database may compute what one of these columns has after the write: it is generated, has ON UPDATE, or a trigger sets it. */
export function mayCompute (plan: InsertPlan | UpdatePlan, columns: readonly Column[]): boolean {
  const { verb, table } = plan
  const changes = verb === 'update' || plan.conflict !== undefined
  return columns.some(({ generated, onUpdate }) => generated || (changes && onUpdate === true)) ||
    (verb === 'insert' && mayReplace(table, 'insert')) || (changes && mayReplace(table, 'update'))
}

/** Whether a trigger may change the row that is written. Only BEFORE triggers of MySQL can, and those of SQLite that write the table again, of an insert the AFTER triggers. */
function mayReplace (table: Table, event: TriggerEvent): boolean {
  if (table.engine !== 'sqlite') return mayFire(table, event, 'before')
  return mayFire(table, event, event === 'insert' ? 'after' : undefined)
}

/** Whether an upsert writes some of these columns to a row that exists, and leaves others as they are there. */
export function mayMix ({ rows, conflict }: InsertPlan, columns: readonly Column[]): boolean {
  if (conflict === undefined || conflict.set.kind === 'assignments' || columns.length === 1) return false
  const { key, set } = conflict
  // the row that exists has the same values in the columns of the key
  const mixes = (written: readonly Column[]): boolean =>
    columns.some((column) => written.includes(column) && !key.includes(column)) && columns.some((column) => !written.includes(column) && !key.includes(column))
  return set.kind === 'columns' ? mixes(set.columns) : rows.some((row: PlannedRow) => mixes(row.columns))
}

/** Whether rows of an upsert get one of these columns by its default if they are new, and keep what they have if they exist. */
export function mayDefault ({ rows, conflict }: InsertPlan, columns: readonly Column[]): boolean {
  const defaulted = columns.filter(({ defaultText, defaultComputed }) => defaultText !== null || defaultComputed === true)
  return conflict !== undefined && defaulted.some((column) => rows.some((row) => !row.columns.includes(column)))
}

/** Whether an upsert may write one of these columns to a row that exists. */
export function mayChange (plan: InsertPlan, row: PlannedRow, columns: readonly Column[]): boolean {
  const { conflict } = plan
  if (conflict === undefined || mayCompute(plan, columns)) return true
  const { key, set } = conflict
  switch (set.kind) {
    case 'given': return row.columns.some((column) => columns.includes(column) && !key.includes(column))
    case 'columns': return set.columns.some((column) => columns.includes(column))
    case 'assignments': return set.assignments.some(({ column }) => columns.includes(column))
  }
}
