/**
 * Checks written rows against the rules of a grant if the database computes some of their values, and their foreign
 * keys to tables with rules. Sent values are checked by src/plan/row-rules.ts, the existing row of an upsert by its
 * statement.
 */
import { baseTable, type Column, type Table, traitsOf } from '../catalog/catalog.ts'
import { refusesRow, noReferencedRow, type Transaction } from '../dialects/dialect.ts'
import { runWithoutForeignKeys } from '../dialects/transaction-commands.ts'
import { foreignKeyViolation, pointer, type ServiceError, unsupported, withDetails } from '../errors.ts'
import { isNull } from '../plan/filters/operators.ts'
import { combine } from '../plan/filters/scope.ts'
import { foreignKeyCheckOf, toWritten } from '../plan/foreign-keys.ts'
import { findInsertKey, knownKey } from '../plan/insert-key.ts'
import { decisionOf, factsOf, isComputedKey, knownDefault, mayChange } from '../plan/writes.ts'
import {
  type AfterWrite, type Condition, type ForeignKeyCheck, type InsertPlan, isUpsert, type Lookup, type Plan,
  type PlannedRow, type UpdatePlan, type UpsertPlan
} from '../plan/plan.ts'
import { rowRefused } from '../plan/row-rules.ts'
import { numberOf, type Result, type RowCounts } from '../response/result.ts'
import type { Value } from '../types/column-type.ts'
import { areTaken, conditionOf, givenKeys, hasKey, keyChanged, type Repeat, STEP, type Runner } from './runner.ts'
import { boundValue } from '../plan/holes.ts'

interface Checked {
  /** The checks of the plan if omitted. */
  readonly checks?: readonly ForeignKeyCheck[] | undefined
  /** Whether the write has failed, so that its own rows do not exist. */
  readonly isUndone?: boolean
  /** The position in `data` of the last row that was written or refused. */
  readonly last?: number
}

/**
 * Runs after the write, so that its rows may refer to each other, and before COMMIT. A row that does not satisfy the
 * rules is refused like one that does not exist: the first one in the order of `data`.
 * @throws FOREIGN_KEY_VIOLATION
 */
export async function checkForeignKeys (
  runner: Runner,
  plan: Plan,
  { checks = plan.foreignKeyChecks ?? [], isUndone = false, last = Infinity }: Checked = {}
): Promise<void> {
  const lookups: Array<Lookup & { readonly check: ForeignKeyCheck }> = []
  for (const check of checks) {
    const { all, table, lookups: each } = check
    if (all !== undefined && Number(await runner.count(table, all, undefined, 'share')) === each.length) continue
    for (const lookup of each) {
      if ((lookup.index ?? 0) <= last && !(isUndone && lookup.isOwn)) lookups.push({ ...lookup, check })
    }
  }
  for (const { check, condition, index } of lookups.sort((a, b) => (a.index ?? 0) - (b.index ?? 0))) {
    if (!await runner.exists(check.table, condition, 'share')) throw atRow(refusalOf(plan, check), index)
  }
}

const AFTER_WRITE = new Set([
  'PERMISSION_DENIED',
  'NOT_SUPPORTED',
  'RESULT_TOO_LARGE',
  'UNREADABLE_VALUE',
  'BROKEN_DEFINITION',
  'OVERLOADED'
])

/** The service itself, or a trigger, has refused the write, whose rows still exist. */
const isAfterWrite = (error: unknown): boolean => AFTER_WRITE.has((error as ServiceError).code)

/**
 * Checks the foreign keys of a write that was refused for another reason, up to the refused row. The database may
 * report a missing row before that reason, and always does before the service checks the written rows, so a row that
 * the grant does not see must have the same response.
 * @throws FOREIGN_KEY_VIOLATION; `error`, the reason why the write was refused
 */
export async function refuse (
  error: unknown,
  check: (refused: Required<Omit<Checked, 'checks'>>) => Promise<void>
): Promise<never> {
  const isUndone = refusesRow(error)
  if (!isUndone && !isAfterWrite(error)) throw error
  try {
    await check({ isUndone, last: rowOf(error) ?? Infinity })
  } catch (refusal) {
    throw isUndone || (refusal as ServiceError).code === 'FOREIGN_KEY_VIOLATION' ? refusal : error
  }
  throw error
}

/** The position in `data` of the row that an error is about. */
function rowOf (error: unknown): number | undefined {
  const [, index] = /^\/data\/(\d+)(?:\/|$)/.exec((error as ServiceError).details[0]?.path ?? '') ?? []
  return index === undefined ? undefined : Number(index)
}

/** MySQL has an order of its own for several violations that only the written values show. */
const namesForeignKey = (table: Table): boolean =>
  traitsOf(table).namesForeignKeys && baseTable(table).foreignKeys.length === 1

/**
 * Removes the key from a violation that only the written values show. A row that the grant does not see must have the
 * same response as one that the database misses. The position in `data` stays.
 */
function withoutKey (error: unknown): unknown {
  if ((error as ServiceError).code !== 'FOREIGN_KEY_VIOLATION') return error
  return atRow(foreignKeyViolation(), rowOf(error))
}

/** Names the key only if the grant sees its columns. */
const refusalOf = ({ table }: Plan, { key }: ForeignKeyCheck) =>
  noReferencedRow(table, table.foreignKeys.filter((each) => each === key))

type CheckedPlan<P> = P & { readonly afterWrite: AfterWrite }

export const isCheckedAfterWrite = <P extends InsertPlan | UpdatePlan>(plan: P): plan is CheckedPlan<P> =>
  plan.afterWrite !== undefined

/** Only the written rows show the values of some foreign keys to tables with rules. */
const computesForeignKeys = (plan: Plan): boolean =>
  (plan.afterWrite?.foreignKeys.length ?? 0) > 0 ||
  (plan.verb === 'update' && plan.keyed?.entries.some(({ update }) => computesForeignKeys(update)) === true)

/**
 * A write that refers to no row is refused by the database, often before other reasons; one that refers to a row which
 * the grant does not see is refused by the service, after them, and after it has looked for the written row. If only
 * that shows the key, the refused write is run again without foreign keys, checked like any other, and undone: what it
 * is refused for then comes first. Undefined for a plan without such keys.
 */
export const findRepeat = (tx: Transaction, plan: Plan): Repeat | undefined => computesForeignKeys(plan)
  ? (use) => runWithoutForeignKeys(tx, use, traitsOf(plan.table).defersForeignKeys)
  : undefined

/**
 * If a running write is refused, checks the foreign keys that only the written rows show by the values of the request.
 * @throws FOREIGN_KEY_VIOLATION; the errors of the write
 */
export function withCheck (
  runner: Runner,
  plan: InsertPlan | UpdatePlan,
  running: Promise<Result>
): Promise<Result> {
  const { afterWrite } = plan
  if (afterWrite === undefined || afterWrite.foreignKeys.length === 0) return running
  const refused = running.catch((error: unknown) => refuse(error, async (rows) => {
    if (plan.verb === 'update' || !isUpsert(plan)) {
      return await checkForeignKeys(runner, plan, { checks: afterWrite.ofRequest, ...rows })
    }
    const row = plan.isList ? plan.rows.find(({ index }) => index === rows.last) : plan.rows[0]
    if (row !== undefined) await checkUpserted(runner, { ...plan, afterWrite }, row)
  }))
  return refused.catch((error: unknown) => { throw namesForeignKey(plan.table) ? error : withoutKey(error) })
}

/**
 * Checks the foreign keys of a row of an upsert that was refused, which has the other values of the row that exists.
 * Values that the database computes are not known.
 */
async function checkUpserted (runner: Runner, plan: CheckedPlan<UpsertPlan>, row: PlannedRow): Promise<void> {
  const { table, isList, conflict, afterWrite: { foreignKeys } } = plan
  const { key, set, condition: required } = conflict
  if (isComputedKey(key, row)) return
  const sameKey = conditionOf(key, row)
  const condition = sameKey && combine('and', [sameKey, ...required === undefined ? [] : [required]])
  const isThere = condition !== undefined && await runner.exists(table, condition)
  const { written } = decisionOf(plan, row)
  const changed = isThere && set.kind === 'assignments' ? set.assignments : toWritten(row).assignments
  const valueOf = (column: Column): Value | null | undefined => {
    const { operator, parameter } = changed.find((each) => each.column === column) ??
      { parameter: knownDefault(column) }
    return operator === undefined && parameter !== undefined ? boundValue(parameter) : undefined
  }
  for (const foreignKey of foreignKeys) {
    const kept = isThere ? foreignKey.from.filter((column) => !written.includes(column)) : []
    const notNull = kept.map((column) => isNull(column, true))
    const [stored] = kept.length === 0 || condition === undefined
      ? [[]]
      : await runner.keys({ table, columns: kept, condition: combine('and', [condition, ...notNull]), limit: 1 })
    const values = foreignKey.from.map((column) =>
      kept.includes(column) ? stored?.[kept.indexOf(column)] : valueOf(column))
    if (!values.every((value) => value != null)) continue
    const checks = [foreignKeyCheckOf(foreignKey, [values])]
    await checkForeignKeys(runner, plan, { checks }).catch((error: unknown) => {
      throw isList ? inRow(error, row.index) : error
    })
  }
}

export function inRow (error: unknown, index: number | undefined): unknown {
  return refusesRow(error) || (error as ServiceError).code === 'PERMISSION_DENIED'
    ? atRow(error as ServiceError, index)
    : error
}

/** Adds the position in `data`, if that is a list. */
export function atRow (error: ServiceError, index: number | undefined): ServiceError {
  if (index === undefined) return error
  const row = pointer('data', index)
  const { details } = error
  if (details.length === 0) return withDetails(error, { path: row, message: error.message })
  return withDetails(
    error,
    ...details.map(({ path, message }) => ({ path: row + path.replace(/^\/data/, ''), message }))
  )
}

/**
 * Called before the insert. Returns a function that checks the row when it has been written, before the next one is,
 * because triggers may number rows in any way, and a later row may overwrite an earlier one. Finds the
 * row by the key of the conflict; without a value for it, it is new.
 */
export async function watchRow (
  runner: Runner,
  plan: CheckedPlan<InsertPlan>,
  row: PlannedRow
): Promise<(counts: RowCounts) => Promise<void>> {
  const { table, isList, afterWrite, conflict } = plan
  const condition = conflict && conditionOf(conflict.key, row)
  const find = condition === undefined ? await watchNew(runner, plan, row) : () => condition
  const mayMove = factsOf(table).fillsNew
  const wasThere = condition !== undefined && mayMove &&
    await runner.exists(table, combine('and', [condition, afterWrite.rules]))
  return async ({ inserted, updated, insertId }) => {
    // a row that was neither inserted nor updated may not exist, because a trigger of SQLite has skipped it
    if (inserted + updated === 0) return
    const isNew = inserted > 0
    // a row that exists keeps the columns that are not written, so their foreign keys are not checked
    const foreignKeys = afterWrite.foreignKeys.filter(({ from }) => isNew || mayChange(plan, row, from))
    try {
      if (isNew && wasThere) throw keyChanged('')
      const written = { ...plan, afterWrite: { ...afterWrite, foreignKeys } }
      await requireRows(runner, written, [find(insertId)], { areNew: isNew && mayMove })
    } catch (error) {
      throw isList ? inRow(error, row.index) : error
    }
  }
}

/** Returns a function that finds the new row by a key, if no trigger has changed that. */
async function watchNew (
  runner: Runner,
  { table }: InsertPlan,
  row: PlannedRow
): Promise<(insertId: string | undefined) => Condition> {
  const key = findInsertKey(table, [row])
  if (key === undefined) {
    throw unsupported(
      '',
      `the new row of table "${table.name}" must be checked after the insert, and has no unique key whose values are ` +
      'known'
    )
  }
  const wasTaken = factsOf(table).fillsNew && (await areTaken(runner, { table, key, keys: givenKeys(key, [row]) }))
  return (insertId) => hasKey(key, key.map((column) => {
    const value = knownKey({ table }, row, column) ?? (insertId === undefined ? undefined : numberOf(column, insertId))
    if (wasTaken || value === undefined) throw keyChanged('')
    return value
  }))
}

/**
 * Each condition selects one row, which must satisfy the rules, as must the rows that it refers to. These are checked
 * first, because the database has already refused rows that refer to missing ones. `areNew`: whether no row had these
 * keys, and a trigger may have given the written rows others. The snapshot of the transaction then shows the rows that
 * it has written itself, and none that another client has inserted with such a key meanwhile.
 */
export async function requireRows (
  runner: Runner,
  plan: CheckedPlan<InsertPlan | UpdatePlan>,
  conditions: readonly Condition[],
  { areNew }: { readonly areNew: boolean }
): Promise<void> {
  const { table, afterWrite: { rules } } = plan
  await checkWrittenForeignKeys(runner, plan, conditions)
  for (let from = 0; from < conditions.length; from += STEP) {
    const step = conditions.slice(from, from + STEP)
    const condition = combine('and', [combine('or', step), rules])
    const found = await runner.count(table, condition, undefined, areNew ? undefined : 'share')
    if (Number(found) !== step.length) throw rowRefused()
  }
}

async function checkWrittenForeignKeys (
  runner: Runner,
  plan: CheckedPlan<InsertPlan | UpdatePlan>,
  conditions: readonly Condition[]
): Promise<void> {
  const { table, afterWrite: { foreignKeys } } = plan
  for (let from = 0; foreignKeys.length > 0 && from < conditions.length; from += STEP) {
    const step = conditions.slice(from, from + STEP)
    for (const foreignKey of foreignKeys) {
      const columns = foreignKey.from
      // a foreign key with NULL in one of its columns refers to no row
      const condition = combine('and', [combine('or', step), ...columns.map((column) => isNull(column, true))])
      const keys = await runner.keys({ table, columns, condition, limit: step.length })
      if (keys.length > 0) await checkForeignKeys(runner, plan, { checks: [foreignKeyCheckOf(foreignKey, keys)] })
    }
  }
}
