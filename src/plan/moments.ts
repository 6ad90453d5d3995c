/**
 * The moments of a plan (`{"$now": …}`). A plan of one statement leaves them to the database. For several statements
 * the service reads the clock first, so that all of them see the same moment. It binds the clock to the plan of a
 * write, so that the written keys are known, and to the statements of a select as they run (src/sql/statement.ts).
 */
import type { Column } from '../catalog/catalog.ts'
import { valueOutOfRange, withDetails, pointer } from '../errors.ts'
import type { Parameter } from '../types/column-type.ts'
import { isMoment, valueAt, type Clock } from '../types/moment.ts'
import { leavesOf, mapLeaves } from './filters/scope.ts'
import {
  isComputed, type Assignment, type Compared, type Condition, type InsertPlan, type Member, type PlannedRow,
  type Returned
} from './plan.ts'

/** Whether a condition of rows, of aggregates or of members at any level names a moment. */
export function filtersByMoment ({
  condition,
  columns,
  members = []
}: {
  readonly condition: Condition
  readonly columns: readonly Column[]
  readonly members?: readonly Member[]
}): boolean {
  return (
    namesMoment(condition) ||
    columns.some((column) => isComputed(column) && column.condition !== undefined && namesMoment(column.condition)) ||
    members.some(filtersByMoment)
  )
}

/** Whether members of the rows that a write returns are selected by a moment. */
export const returnsByMoment = (returning: Returned | undefined): boolean =>
  returning?.members?.some(filtersByMoment) === true

export const assignsMoment = (assignments: readonly Assignment[]): boolean =>
  assignments.some(({ parameter }) => isMoment(parameter))

export function givesMoment ({ rows, conflict }: InsertPlan): boolean {
  return (
    (conflict?.set.kind === 'assignments' && assignsMoment(conflict.set.assignments)) ||
    rows.some(({ parameters }) => parameters.some(isMoment))
  )
}

export function namesMoment (condition: Condition): boolean {
  return leavesOf(condition).some((leaf) => {
    switch (leaf.kind) {
      case 'compare': return isMoment(leaf.parameter)
      case 'between': return isMoment(leaf.low) || isMoment(leaf.high)
      case 'exists': return namesMoment(leaf.condition)
      default: return false
    }
  })
}

/** The assignments with values in place of moments. @throws VALUE_OUT_OF_RANGE for one that its column cannot hold */
export const bindAssignments = (assignments: readonly Assignment[], clock: Clock): Assignment[] =>
  assignments.map((each) => ({ ...each, parameter: bindParameter(each.parameter, clock) }))

function bindParameter (parameter: Assignment['parameter'], clock: Clock): Parameter {
  if (!isMoment(parameter)) return parameter
  const value = valueAt(parameter, clock)
  if (value === undefined) throw valueOutOfRange()
  return value
}

/** The plan with values in place of moments. @throws VALUE_OUT_OF_RANGE for one that its column cannot hold */
export function bindRows (plan: InsertPlan, clock: Clock): InsertPlan {
  const { conflict } = plan
  const bound =
    conflict?.set.kind === 'assignments'
      ? { ...conflict, set: { ...conflict.set, assignments: bindAssignments(conflict.set.assignments, clock) } }
      : conflict
  return {
    ...plan,
    conflict: bound,
    rows: plan.rows.map((row) => (row.parameters.some(isMoment) ? bindRow(row, plan, clock) : row))
  }
}

function bindRow (row: PlannedRow, { isList }: InsertPlan, clock: Clock): PlannedRow {
  try {
    return { ...row, parameters: row.parameters.map((parameter) => bindParameter(parameter, clock)) }
  } catch {
    const error = valueOutOfRange()
    throw isList ? withDetails(error, { path: pointer('data', row.index), message: error.message }) : error
  }
}

/** The condition with values in place of moments. */
export function bindCondition (condition: Condition, clock: Clock): Condition {
  const bind = (compared: Compared): Compared => isMoment(compared) ? valueAt(compared, clock) ?? null : compared
  return mapLeaves(condition, (leaf) => {
    switch (leaf.kind) {
      case 'compare': return { ...leaf, parameter: bind(leaf.parameter) }
      case 'between': return { ...leaf, low: bind(leaf.low), high: bind(leaf.high) }
      case 'exists': return { ...leaf, condition: bindCondition(leaf.condition, clock) }
      default: return leaf
    }
  })
}

/** A value of a plan to which the clock has been bound. @throws if it is a moment or missing */
export function boundValue (parameter: Parameter | Compared | undefined): Parameter {
  if (parameter === undefined || isMoment(parameter)) throw new Error('no clock has been bound to a moment')
  return parameter
}
