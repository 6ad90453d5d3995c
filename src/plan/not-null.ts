/**
 * Refuses null for NOT NULL columns, as the database should. MySQL would store the next AUTO_INCREMENT number instead or, with some
 * settings, the current time in a TIMESTAMP column.
 */
import type { Column } from '../catalog/catalog.ts'
import { at, notNullViolation, type Path } from '../errors.ts'
import type { Assignment, InsertPlan, Plan, PlannedRow } from './plan.ts'

/** Called when the plan is complete, because refusals of the database come after those of the service. @throws NOT_NULL_VIOLATION */
export function refuseNulls (plan: Plan): void {
  if (plan.verb === 'update') refuseIn(plan.assignments, ['data'])
  if (plan.verb === 'insert') refuseInRows(plan)
}

function refuseIn (assignments: readonly Assignment[], path: Path): void {
  for (const { column, parameter, form } of assignments) {
    if (parameter === null && form === undefined && !column.nullable) throw at([...path, column.name], notNullViolation())
  }
}

/** Names the first refused row in the order of the request, because the rows of an upsert are sorted. */
function refuseInRows ({ isList, rows, conflict }: InsertPlan): void {
  let first: { readonly index: number, readonly column: Column } | undefined
  for (const row of rows) {
    const column = findNull(row)
    if (column !== undefined && (first === undefined || row.index < first.index)) first = { index: row.index, column }
  }
  if (first !== undefined) throw at([...isList ? ['data', first.index] : ['data'], first.column.name], notNullViolation())
  if (conflict?.set.kind === 'assignments') refuseIn(conflict.set.assignments, ['onConflict', 'set'])
}

function findNull ({ columns, parameters }: PlannedRow): Column | undefined {
  for (let place = 0; place < parameters.length; place++) {
    if (parameters[place] === null && !(columns[place] as Column).nullable) return columns[place]
  }
  return undefined
}
