/**
 * Hides the effect of writes to columns that a grant does not see. Neither the counts nor the rows of an answer may show whether such a column had the
 * written value before, so every matched row counts as updated.
 */
import type { Column, Table } from '../catalog/catalog.ts'
import { readMoment } from '../types/moment.ts'
import type { Assignment, UpdatePlan } from './plan.ts'
import { onlyValueOf } from './rule.ts'

/** Whether one of the written columns is hidden. A column with an equality rule is not, because its value is the same in all rows of the grant. */
export function writesHidden ({ columns, granted }: Table, written: readonly Column[]): boolean {
  return granted !== undefined && written.some((column) => !columns.has(column.name) && !granted.rules.some((rule) => rule.column === column && onlyValueOf(rule) !== undefined))
}

/**
 * The additional assignments if a hidden column is written: the server sets columns with ON UPDATE CURRENT_TIMESTAMP only if a value changes, and
 * `returning` would show that.
 */
export function touchedBy (table: Table, written: readonly Column[]): Assignment[] {
  if (!writesHidden(table, written)) return []
  return table.columnList.flatMap((column): Assignment[] => {
    const { moment } = column.type
    return column.onUpdate !== true || moment === undefined || written.includes(column) ? [] : [{ column, parameter: readMoment(true, moment, 'data') }]
  })
}

/** Adds these assignments to an update. */
export function withTouched (plan: UpdatePlan): UpdatePlan {
  if (plan.table.granted === undefined) return plan
  const touched = touchedBy(plan.table, plan.assignments.map(({ column }) => column))
  return touched.length === 0 ? plan : Object.freeze({ ...plan, assignments: [...plan.assignments, ...touched] })
}
