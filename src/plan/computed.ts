/** Finds out which values of a written row are not known before the write. */
import { mayFire, type Column, type Table, type TriggerEvent } from '../catalog/catalog.ts'
import type { InsertPlan, PlannedRow, UpdatePlan } from './plan.ts'

/** Whether the database may compute the value of one of these columns: it is generated, has ON UPDATE, or a trigger sets it. */
export function mayCompute (plan: InsertPlan | UpdatePlan, columns: readonly Column[]): boolean {
  const { verb, table } = plan
  const changes = verb === 'update' || plan.conflict !== undefined
  return columns.some(({ generated, onUpdate }) => generated || (changes && onUpdate === true)) ||
    (verb === 'insert' && mayReplace(table, 'insert')) || (changes && mayReplace(table, 'update'))
}

/** Whether a trigger may change the written row: a BEFORE trigger of MySQL, or one of SQLite that writes the table again, which for an insert must be an AFTER trigger. */
function mayReplace (table: Table, event: TriggerEvent): boolean {
  if (table.engine !== 'sqlite') return mayFire(table, event, 'before')
  return mayFire(table, event, event === 'insert' ? 'after' : undefined)
}

/** Whether the database computes a column of the key of a row, so that only its statement finds the row that exists. */
export const isComputedKey = (key: readonly Column[], { columns }: Pick<PlannedRow, 'columns'>): boolean =>
  key.some((column) => !columns.includes(column) && (column.generated || column.defaultComputed === true))

/** Whether an upsert writes some of these columns to a row that exists, and keeps the others. */
export function mayMix ({ rows, conflict }: InsertPlan, columns: readonly Column[]): boolean {
  if (conflict === undefined || conflict.set.kind === 'assignments' || columns.length === 1) return false
  const { key, set } = conflict
  // the row that exists has the same values in the columns of the key
  const mixes = (written: readonly Column[]): boolean =>
    columns.some((column) => written.includes(column) && !key.includes(column)) && columns.some((column) => !written.includes(column) && !key.includes(column))
  return set.kind === 'columns' ? mixes(set.columns) : rows.some((row: PlannedRow) => mixes(row.columns))
}

/** Whether new rows of an upsert get the default of one of these columns, while rows that exist keep its value. */
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
