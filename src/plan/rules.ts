/** Applies the rules of a grant to a plan: every plan that leaves this room is under them. */
import type { Column, GrantedAccess, Rule } from '../catalog/catalog.ts'
import { permissionDenied, pointer, withDetails, type ServiceError } from '../errors.ts'
import { getOrCreate } from '../get-or-create.ts'
import { combine } from './filters/constants.ts'
import type { Assignment, Condition, ForeignKeyCheck, InsertPlan, Plan, PlannedRow, UpdatePlan } from './plan.ts'
import { divideParents, planForeignKeyChecks, refuseUnchecked, toWritten } from './foreign-keys.ts'
import { onlyValueOf, planRules, satisfies } from './rule.ts'
import { withCheckAfterWrite } from './after-write.ts'

/**
 * Adds the rules to the condition of the plan, and checks that the rows that it writes satisfy them. `granted` is that of the plan's table.
 * @throws PERMISSION_DENIED
 */
export function applyRules (plan: Plan, granted: GrantedAccess): Plan {
  const { rules } = granted
  switch (plan.verb) {
    case 'select':
    case 'delete': return Object.freeze({ ...plan, condition: within(rules, plan.condition) })
    case 'update': {
      checkUpdate(rules, plan.assignments)
      return withForeignKeyChecks({ ...plan, condition: within(rules, plan.condition) }, granted, (known) => planForeignKeyChecks('update', [plan], known))
    }
    case 'insert': {
      const completed = completeRows(plan, rules)
      return withForeignKeyChecks(completed, granted, (known) => rowForeignKeyChecks(completed, known))
    }
  }
}

/** The rules come first: their columns are usually the first ones of an index. */
export const within = (rules: readonly Rule[], condition: Condition): Condition => combine('and', [planRules(rules), condition])

/** `planKnown`: plans the checks of the foreign keys whose values are known before the write. */
function withForeignKeyChecks<P extends InsertPlan | UpdatePlan> (plan: P, granted: GrantedAccess, planKnown: (known: GrantedAccess) => readonly ForeignKeyCheck[]): P {
  refuseUnchecked(plan, granted)
  const { known, computed, foreignKeys } = divideParents(plan, granted)
  const foreignKeyChecks = planKnown(known)
  // a row of an upsert that exists keeps what is not written
  const given = plan.verb === 'insert' && plan.conflict !== undefined ? [] : computed.parents.flatMap((parent) => planGiven(() => planKnown({ ...computed, parents: [parent] })))
  return Object.freeze(withCheckAfterWrite(foreignKeyChecks.length === 0 ? plan : { ...plan, foreignKeyChecks, inTransaction: true }, granted.rules, { foreignKeys, given }))
}

/** None if the values are not known before the write. */
function planGiven (plan: () => readonly ForeignKeyCheck[]): readonly ForeignKeyCheck[] {
  try {
    return plan()
  } catch (error) {
    if ((error as ServiceError).code === 'PERMISSION_DENIED') return []
    throw error
  }
}

/** A column that is not written keeps satisfying its rule; one that is written is tested alone. The result of a form is not known. */
function checkUpdate (rules: readonly Rule[], assignments: readonly Assignment[]): void {
  for (const rule of rules) {
    const written = assignments.find(({ column }) => column === rule.column)
    if (written !== undefined && (written.form !== undefined || !satisfies(rule, written.parameter))) throw rowRefused()
  }
}

/** A row of an insert with the values that rules give to columns which it leaves out; undefined if it does not satisfy them. */
function completeRow (rules: readonly Rule[], assignments: readonly Assignment[]): Assignment[] | undefined {
  const completed = [...assignments]
  for (const rule of rules) {
    if (rule.column.generated) continue
    const written = assignments.find(({ column }) => column === rule.column)
    const parameter = written === undefined ? onlyValueOf(rule) : written.parameter
    if (parameter === undefined || !satisfies(rule, parameter)) return undefined
    if (written === undefined) completed.push({ column: rule.column, parameter })
  }
  return completed
}

function completeRows (plan: InsertPlan, rules: readonly Rule[]): InsertPlan {
  const { conflict } = plan
  if (conflict?.set.kind === 'assignments') checkUpdate(rules, conflict.set.assignments)
  const completed = new Map<string, readonly Column[]>()
  const rows = plan.rows.map((row): PlannedRow => {
    const assignments = completeRow(rules, toWritten(row).assignments)
    if (assignments === undefined) throw firstRefused(plan, rules)
    const columns = assignments.map(({ column }) => column)
    return { ...row, columns: getOrCreate(completed, JSON.stringify(columns.map(({ name }) => name)), () => columns), parameters: assignments.map(({ parameter }) => parameter) }
  })
  return { ...plan, rows, conflict: conflict === undefined || rules.length === 0 ? conflict : { ...conflict, within: planRules(rules) } }
}

/** Names the first row of the request, since those of an upsert are sorted. */
function firstRefused ({ isList, rows }: InsertPlan, rules: readonly Rule[]): ServiceError {
  const refused = rows.filter((row) => completeRow(rules, toWritten(row).assignments) === undefined)
  const error = rowRefused()
  return isList ? withDetails(error, { path: pointer('data', Math.min(...refused.map(({ index }) => index))), message: error.message }) : error
}

/** What the rows refer to, and what a row that exists will refer to. */
function rowForeignKeyChecks ({ isList, rows, conflict }: InsertPlan, granted: GrantedAccess): ForeignKeyCheck[] {
  if (granted.parents.length === 0) return []
  const written = rows.map(toWritten).map((row) => isList ? row : { assignments: row.assignments })
  const changed = conflict?.set.kind === 'assignments' ? [conflict.set] : []
  return [...planForeignKeyChecks('insert', written, granted), ...planForeignKeyChecks('update', changed, granted)]
}

/** The message does not name the column: the grant may not see it. */
export const rowRefused = () => permissionDenied('The row would not satisfy the rules of the grant')
