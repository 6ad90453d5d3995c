/**
 * The rules of a grant. Values of the request are tested here. A row that exists is tested by the database: an update
 * or delete has the rules in its condition, an upsert in `Conflict.condition`, for its statement
 * (src/sql/compile-insert.ts), which fails or, on SQLite, leaves the row as it is, or for its look-up; the row is then
 * refused (src/execute/execute-insert.ts). Values that the database computes are tested after the write
 * (src/execute/after-write.ts).
 */
import type { Column, GrantedAccess, Rule } from '../catalog/catalog.ts'
import { at, permissionDenied, type ServiceError, unsupported } from '../errors.ts'
import { getOrCreate } from '../bounded-map.ts'
import type {
  AfterWrite, Assignment, DeletePlan, ForeignKeyCheck, InsertPlan, PlannedRow, SelectPlan, UpdatePlan
} from './plan.ts'
import { divideParents, planForeignKeyChecks, refuseUnchecked, toWritten } from './foreign-keys.ts'
import { findInsertKey, keepsKey } from './insert-key.ts'
import { mayCompute, factsOf } from './writes.ts'
import { TO_DEFAULT } from '../types/update-operators.ts'
import { findUpdateKey } from './row-keys.ts'
import { onlyValueOf, planRules, satisfies, within } from './rule.ts'

/** Adds the rules to the condition of a plan that writes no values. */
export function restrictRows<P extends SelectPlan | DeletePlan> (plan: P, { rules }: GrantedAccess): P {
  const restricted: P = { ...plan, condition: within(rules, plan.condition) }
  return Object.freeze(restricted)
}

/** The values must satisfy the rules. @throws PERMISSION_DENIED */
export function restrictUpdate (plan: UpdatePlan, granted: GrantedAccess): UpdatePlan {
  checkUpdate(granted.rules, plan.assignments)
  return withForeignKeyChecks({ ...plan, condition: within(granted.rules, plan.condition) }, granted, (known) =>
    planForeignKeyChecks('update', [plan], known)
  )
}

/** Adds the values that the rules give; the rows must satisfy them. @throws PERMISSION_DENIED */
export function restrictInsert (plan: InsertPlan, granted: GrantedAccess): InsertPlan {
  const completed = completeRows(plan, granted.rules)
  return withForeignKeyChecks(completed, granted, (known) => rowForeignKeyChecks(completed, known))
}

/** `planKnown`: for values that are known before the write. */
function withForeignKeyChecks<P extends InsertPlan | UpdatePlan> (
  plan: P,
  granted: GrantedAccess,
  planKnown: (known: GrantedAccess) => readonly ForeignKeyCheck[]
): P {
  refuseUnchecked(plan, granted)
  const { beforeWrite, afterWrite, foreignKeys } = divideParents(plan, granted)
  const foreignKeyChecks = [...planKnown(beforeWrite), ...checksOfGiven(plan, afterWrite)]
  // an upsert may keep values of a row that exists, so the values of the request alone do not show its foreign key
  const ofRequest =
    plan.verb === 'insert' && plan.conflict !== undefined
      ? []
      : afterWrite.parents.flatMap((parent) => planGiven(() => planKnown({ ...afterWrite, parents: [parent] })))
  return Object.freeze(
    withCheckAfterWrite(
      foreignKeyChecks.length === 0 ? plan : { ...plan, foreignKeyChecks, inTransaction: true },
      granted.rules,
      { foreignKeys, ofRequest }
    )
  )
}

/**
 * For an upsert, where a row that exists may get or keep other values: MySQL looks for their parents first, so that one
 * which the grant does not see must be refused as well.
 */
function checksOfGiven (plan: InsertPlan | UpdatePlan, { parents, ...granted }: GrantedAccess): ForeignKeyCheck[] {
  if (plan.verb !== 'insert' || plan.conflict === undefined || factsOf(plan.table).altersNew) return []
  const rows = plan.rows.map(toWritten).map((row) => plan.isList ? row : { assignments: row.assignments })
  return parents.flatMap((parent) =>
    [...planGiven(() => planForeignKeyChecks('given', rows, { ...granted, parents: [parent] }))])
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

/**
 * Columns that are not written keep satisfying their rules. The result of an update operator is unknown, so it is
 * refused.
 */
function checkUpdate (rules: readonly Rule[], assignments: readonly Assignment[]): void {
  for (const rule of rules) {
    const written = assignments.find(({ column }) => column === rule.column)
    // a default is checked when it is written
    if (written === undefined || written.operator === TO_DEFAULT) continue
    if (written.operator !== undefined || !satisfies(rule, written.parameter)) throw rowRefused()
  }
}

/** Adds the values that rules give to omitted columns; undefined if the row does not satisfy the rules. */
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
  const except = new Set(
    rules.map(({ column }) => column).filter((column) => plan.rows.some(({ columns }) => !columns.includes(column)))
  )
  const rows = plan.rows.map((row): PlannedRow => {
    const assignments = completeRow(rules, toWritten(row).assignments)
    if (assignments === undefined) throw plan.isList ? at(['data', row.index], rowRefused()) : rowRefused()
    const columns = assignments.map(({ column }) => column)
    return {
      ...row,
      columns: getOrCreate(completed, JSON.stringify(columns.map(({ name }) => name)), () => columns),
      parameters: assignments.map(({ parameter }) => parameter)
    }
  })
  return {
    ...plan,
    rows,
    conflict:
      conflict === undefined || rules.length === 0
        ? conflict
        : {
            ...conflict,
            set: conflict.set.kind === 'given' ? { kind: 'given', except } : conflict.set,
            condition: planRules(rules)
          }
  }
}

/** Checks the foreign keys of new rows, and of rows that exist once they are updated. */
function rowForeignKeyChecks ({ isList, rows, conflict }: InsertPlan, granted: GrantedAccess): ForeignKeyCheck[] {
  if (granted.parents.length === 0) return []
  const written = rows.map(toWritten).map((row) => isList ? row : { assignments: row.assignments })
  const changed = conflict?.set.kind === 'assignments' ? [conflict.set] : []
  return [...planForeignKeyChecks('insert', written, granted), ...planForeignKeyChecks('update', changed, granted)]
}

/** The message does not name the column, because the grant may not see it. */
export const rowRefused = () => permissionDenied('The row would not satisfy the rules of the grant')

// Only the written rows show whether they satisfy the rules of a grant if the database computes some values.

/**
 * `foreignKeys`: only the written rows show their values. `ofRequest`: the same with the values of the request. @throws
 * NOT_SUPPORTED if the rows could not be found again, or the write could not be undone
 */
function withCheckAfterWrite<P extends InsertPlan | UpdatePlan> (
  plan: P,
  rules: readonly Rule[],
  { foreignKeys, ofRequest }: Pick<AfterWrite, 'foreignKeys' | 'ofRequest'>
): P {
  if (
    foreignKeys.length === 0 &&
    (rules.length === 0 || !mayCompute(plan, rules.map(({ column }) => column)))
  ) return plan
  const { table } = plan
  const key = plan.verb === 'update' ? findUpdateKey(table, plan.assignments) : undefined
  if ((plan.verb === 'update' ? key === undefined : !isFoundAgain(plan)) || !factsOf(table).hasTransactions) {
    throw unsupported(
      '',
      `the rows of table "${table.name}" must be checked after the write, which needs transactions and a unique key ` +
      'whose values are known'
    )
  }
  return {
    ...plan,
    ...(key && { key }),
    afterWrite: { rules: planRules(rules), foreignKeys, ofRequest },
    inTransaction: true
  }
}

/** Whether rows can be found after they were inserted; for an upsert by the key of the conflict. */
function isFoundAgain ({ table, rows, conflict }: InsertPlan): boolean {
  if (conflict === undefined) return rows.every((row) => findInsertKey(table, [row]) !== undefined)
  if (keepsKey(conflict)) return true
  throw unsupported(
    '/onConflict/set',
    'the written rows must be checked after the write, and "set" changes the key by which they are found'
  )
}
