/** Checks written rows against the rules of a grant if the database computes some of their values. */
import { mayFillColumns } from '../catalog/catalog.ts'
import { TRAITS } from '../catalog/traits.ts'
import { refusesRow, noReferencedRow } from '../dialects/dialect.ts'
import { foreignKeyViolation, pointer, type ServiceError, unsupported, withDetails } from '../errors.ts'
import { isNull } from '../plan/filters/operators.ts'
import { combine } from '../plan/filters/scope.ts'
import { foreignKeyCheckOf } from '../plan/foreign-keys.ts'
import { mayChange, findInsertKey, knownKey } from '../plan/insert-key.ts'
import type {
  AfterWrite, Condition, ForeignKeyCheck, InsertPlan, Plan, PlannedRow, UpdatePlan
} from '../plan/plan.ts'
import { rowRefused } from '../plan/row-rules.ts'
import { numberOf, type Result, type RowCounts } from '../response/result.ts'
import { areTaken, conditionOf, givenKeys, hasKey, keyChanged, STEP, type Runner } from './runner.ts'

// Checks that the rows to which a write refers satisfy the rules of their table.

/**
 * Runs after the write, so that its rows may refer to each other, and before COMMIT. Refuses a row that does not
 * satisfy the rules like one that does not exist.
 * @throws FOREIGN_KEY_VIOLATION
 */
export async function checkForeignKeys (runner: Runner, plan: Plan): Promise<void> {
  for (const check of plan.foreignKeyChecks ?? []) await checkForeignKey(runner, plan, check)
}

const AFTER_WRITE = new Set([
  'PERMISSION_DENIED',
  'NOT_SUPPORTED',
  'RESULT_TOO_LARGE',
  'UNREADABLE_VALUE',
  'OVERLOADED'
])

/** Whether the service itself has refused a write, whose rows still exist. */
const isAfterWrite = (error: unknown): boolean => AFTER_WRITE.has((error as ServiceError).code)

/**
 * Checks the foreign keys of a write that was refused for another reason. The database may report a missing row before
 * that reason, and always does before the service checks the written rows, so a row that the grant does not see must
 * have the same answer.
 * @throws FOREIGN_KEY_VIOLATION; `error`, the reason why the write was refused
 */
export async function refuse (
  runner: Runner,
  plan: Plan,
  { error, checks = [] }: { readonly error: unknown; readonly checks: readonly ForeignKeyCheck[] | undefined }
): Promise<never> {
  const isUndone = refusesRow(error)
  if (!isUndone && !isAfterWrite(error)) throw error
  try {
    for (const check of checks) await checkForeignKey(runner, plan, check, isUndone)
  } catch (refusal) {
    throw isUndone || (refusal as ServiceError).code === 'FOREIGN_KEY_VIOLATION' ? refusal : error
  }
  throw error
}

/**
 * Removes the key from a violation that only the written values show. SQLite does not report the key, so the service
 * names none if triggers may write others, and a row that the grant does not see must have the same answer. The
 * position in `data` stays.
 */
function withoutKey (error: unknown): unknown {
  const { code, details } = error as ServiceError
  if (code !== 'FOREIGN_KEY_VIOLATION') return error
  const [, index] = /^\/data\/(\d+)(?:\/|$)/.exec(details[0]?.path ?? '') ?? []
  return atRow(foreignKeyViolation(), index === undefined ? undefined : Number(index))
}

/** `isUndone`: whether the write has failed, so that its own rows do not exist. @throws FOREIGN_KEY_VIOLATION */
async function checkForeignKey (runner: Runner, plan: Plan, check: ForeignKeyCheck, isUndone = false): Promise<void> {
  const { all, lookups, table } = check
  if (all !== undefined && Number(await runner.count(table, all, undefined, 'share')) === lookups.length) return
  for (const { condition, index, isOwn } of lookups) {
    if (isUndone && isOwn) continue
    if (!await runner.exists(table, condition, 'share')) throw atRow(refusalOf(plan, check), index)
  }
}

/** Names the key only if the grant sees its columns. */
const refusalOf = ({ table }: Plan, { key }: ForeignKeyCheck) =>
  noReferencedRow(table.foreignKeys.filter((each) => each === key))

/** A plan whose rows are looked up after the write. */
type CheckedPlan<P> = P & { readonly afterWrite: AfterWrite }

/** Whether the rows of a plan are looked up after the write. */
export const isCheckedAfterWrite = <P extends InsertPlan | UpdatePlan>(plan: P): plan is CheckedPlan<P> =>
  plan.afterWrite !== undefined

/**
 * Runs a write by `run`. If it is refused, checks the foreign keys that only the written rows show by the values of the
 * request. @throws FOREIGN_KEY_VIOLATION; what `run` throws
 */
export async function runWithCheck (
  runner: Runner,
  plan: InsertPlan | UpdatePlan,
  run: () => Promise<Result>
): Promise<Result> {
  if (!isCheckedAfterWrite(plan) || plan.afterWrite.foreignKeys.length === 0) return await run()
  const { given } = plan.afterWrite
  const refused = run().catch(async (error: unknown) => await refuse(runner, plan, { error, checks: given }))
  return await refused.catch((error: unknown) => {
    throw TRAITS[runner.engine].namesForeignKeys ? error : withoutKey(error)
  })
}

/** Names the row that an error is about. */
export function inRow (error: unknown, index: number | undefined): unknown {
  return refusesRow(error) || (error as ServiceError).code === 'PERMISSION_DENIED'
    ? atRow(error as ServiceError, index)
    : error
}

/** Adds the position of the row in `data`, if that is a list, to the details of a refusal. */
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
 * Called before a row is inserted. Returns a function that checks it when it has been written, before the next one is,
 * because triggers may number rows in any way, and a later row may hide the foreign key of an earlier one. Finds the
 * row by the key of the conflict; without a value for it, it is new.
 */
export async function watchRow (
  runner: Runner,
  plan: CheckedPlan<InsertPlan>,
  row: PlannedRow
): Promise<(counts: RowCounts) => Promise<void>> {
  const { isList, afterWrite, conflict } = plan
  const condition = conflict && conditionOf(conflict.key, row)
  const find = condition === undefined ? await watchNew(runner, plan, row) : () => condition
  return async ({ inserted, updated, insertId }) => {
    // a row that was neither inserted nor updated may not exist, because a trigger of SQLite has skipped it
    if (inserted + updated === 0) return
    // a row that exists keeps the columns that are not written, so their foreign keys are not checked
    const foreignKeys = afterWrite.foreignKeys.filter(({ from }) => inserted > 0 || mayChange(plan, row, from))
    try {
      await requireRows(runner, { ...plan, afterWrite: { ...afterWrite, foreignKeys } }, [find(insertId)])
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
  const wasTaken = mayFillColumns(table) && (await areTaken(runner, { table, key, keys: givenKeys(key, [row]) }))
  return (insertId) => hasKey(key, key.map((column) => {
    const value = knownKey({ table }, row, column) ?? (insertId === undefined ? undefined : numberOf(column, insertId))
    if (wasTaken || value === undefined) throw keyChanged('')
    return value
  }))
}

/**
 * Each condition selects one row, which must satisfy the rules, as must the rows that it refers to. These are checked
 * first, because the database has already refused rows that refer to missing ones.
 */
export async function requireRows (
  runner: Runner,
  plan: CheckedPlan<InsertPlan | UpdatePlan>,
  conditions: readonly Condition[]
): Promise<void> {
  const { table, afterWrite: { rules } } = plan
  await checkWrittenForeignKeys(runner, plan, conditions)
  for (let from = 0; from < conditions.length; from += STEP) {
    const step = conditions.slice(from, from + STEP)
    const found = await runner.count(table, combine('and', [combine('or', step), rules]), undefined, 'share')
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
      if (keys.length > 0) await checkForeignKey(runner, plan, foreignKeyCheckOf(foreignKey, keys))
    }
  }
}
