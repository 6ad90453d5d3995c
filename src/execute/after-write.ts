/** Checks written rows against the rules of a grant if the database computes some of their values. */
import { MAX_LIMIT } from '../../schemas/limits.ts'
import { type Column, mayFillColumns } from '../catalog/catalog.ts'
import { TRAITS } from '../catalog/traits.ts'
import { refusesRow, noReferencedRow } from '../dialects/dialect.ts'
import { foreignKeyViolation, resultTooLarge, type ServiceError, unsupported } from '../errors.ts'
import { isNull } from '../plan/filters/operators.ts'
import { combine } from '../plan/filters/scope.ts'
import { foreignKeyCheckOf } from '../plan/foreign-keys.ts'
import { mayChange, findInsertKey, knownKey } from '../plan/insert-key.ts'
import type {
  AfterWrite, Condition, Conflict, ForeignKeyCheck, InsertPlan, Plan, PlannedRow, UpdatePlan, WrittenForeignKey
} from '../plan/plan.ts'
import { keyAfter } from '../plan/row-keys.ts'
import { rowRefused } from '../plan/row-rules.ts'
import { numberOf, type Result, type RowCounts } from '../response/result.ts'
import type { Value } from '../types/column-type.ts'
import { atRow, type WatchRow } from './execute-insert.ts'
import { areTaken, conditionOf, givenKeys, hasKey, mayMoveKey, STEP, type Runner } from './runner.ts'

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
  const { all, lookups, table, columns } = check
  const lock = 'share'
  if (
    all !== undefined &&
    (await runner.countRead({ table, columns, condition: all, limit: lookups.length, lock })) === lookups.length
  ) { return }
  for (const { condition, index, isOwn } of lookups) {
    if (isUndone && isOwn) continue
    if (!await runner.exists({ table, columns, condition, lock })) throw atRow(refusalOf(plan, check), index)
  }
}

/** Names the key only if the grant sees its columns. */
const refusalOf = ({ table }: Plan, { key }: ForeignKeyCheck) =>
  noReferencedRow(table.foreignKeys.filter((each) => each === key))

type Run = (watchRow?: WatchRow) => Promise<Result>

/** A plan whose rows are looked up after the write. */
type CheckedPlan<P> = P & { readonly afterWrite: AfterWrite }

/** Whether the rows of a plan are looked up after the write. */
const isCheckedAfterWrite = (plan: InsertPlan | UpdatePlan): plan is CheckedPlan<InsertPlan | UpdatePlan> =>
  plan.afterWrite !== undefined

/**
 * Runs a write by `run`, and checks its rows if its plan has checks. @throws PERMISSION_DENIED if a row does not
 * satisfy the rules, FOREIGN_KEY_VIOLATION if it refers to one that does not, RESULT_TOO_LARGE, NOT_SUPPORTED: each
 * must undo the transaction
 */
export function runWithCheck (runner: Runner, plan: InsertPlan | UpdatePlan, run: Run): Promise<Result> {
  return isCheckedAfterWrite(plan) ? runAndCheck(runner, plan, run) : run()
}

async function runAndCheck (
  runner: Runner,
  plan: CheckedPlan<InsertPlan | UpdatePlan>,
  run: Run
): Promise<Result> {
  const { foreignKeys, given } = plan.afterWrite
  const running = plan.verb === 'update' ? runUpdate(runner, plan, run) : runInserts(runner, plan, run)
  if (foreignKeys.length === 0) return await running
  const refused = running.catch(async (error: unknown) => await refuse(runner, plan, { error, checks: given }))
  return await refused.catch((error: unknown) => {
    throw TRAITS[runner.engine].namesForeignKeys ? error : withoutKey(error)
  })
}

/** Locks the rows before the update, and finds them again by their keys. */
async function runUpdate (runner: Runner, plan: CheckedPlan<UpdatePlan>, run: Run): Promise<Result> {
  const { table, condition, assignments, afterWrite } = plan
  const key = afterWrite.key as readonly Column[]
  const before = await runner.keys({ table, columns: key, condition, limit: MAX_LIMIT + 1, lock: 'update' })
  if (before.length > MAX_LIMIT) {
    throw resultTooLarge(
      `the filters match more than ${MAX_LIMIT} rows, which is the most that can be checked after the write`
    )
  }
  const keys = before.map((values) => keyAfter(key, values, assignments))
  const after = keys.map((values) => hasKey(key, values))
  const wasTaken = mayMoveKey(plan, key) && await areTaken(runner, { table, key, keys, own: before })
  const result = await run().catch(async (error: unknown) => {
    if (!wasTaken && isAfterWrite(error)) await checkWrittenForeignKeys(runner, plan, after)
    throw error
  })
  if (wasTaken) {
    throw unsupported(
      '',
      `a trigger of table "${table.name}" has changed keys, so that the updated rows cannot be found to be checked`
    )
  }
  await requireRows(runner, plan, after)
  return result
}

/** Called before a row is inserted. Returns a function that looks up the inserted row by its key. */
async function watchInsert (
  runner: Runner,
  plan: CheckedPlan<InsertPlan>,
  row: PlannedRow
): Promise<(insertId: string | undefined) => Promise<void>> {
  const { table } = plan
  const key = findInsertKey(table, [row])
  if (key === undefined) {
    throw unsupported(
      '',
      `the new row of table "${table.name}" must be checked after the insert, and has no unique key whose values are ` +
      'known'
    )
  }
  const keyChanged = () =>
    unsupported(
      '',
      `a trigger of table "${table.name}" has changed the key of the new row, so that it cannot be found to be checked`
    )
  const wasTaken = mayFillColumns(table) && (await areTaken(runner, { table, key, keys: givenKeys(key, [row]) }))
  return async (insertId) => {
    if (wasTaken) throw keyChanged()
    const values = key.map((column): Value => {
      const known = knownKey({ table }, row, column)
      if (known === null && insertId === undefined) throw keyChanged()
      return known ?? numberOf(column, insertId as string)
    })
    await requireRows(runner, plan, [hasKey(key, values)])
  }
}

/** Names the row that an error is about. */
export function inRow (error: unknown, index: number | undefined): unknown {
  return refusesRow(error) || (error as ServiceError).code === 'PERMISSION_DENIED'
    ? atRow(error as ServiceError, index)
    : error
}

/**
 * Writes the rows singly, because triggers may number them in any way, and a later row may hide the foreign key of an
 * earlier one. Finds each row by the key of the conflict; a row without a value for it is new.
 */
async function runInserts (runner: Runner, plan: CheckedPlan<InsertPlan>, run: Run): Promise<Result> {
  const { isList, afterWrite, conflict } = plan
  if (conflict !== undefined && changesKey(conflict)) {
    throw unsupported(
      '/onConflict/set',
      'the written rows must be checked after the write, and "set" changes the key by which they are found'
    )
  }
  // a row that exists keeps the columns that are not written, so their foreign keys are not checked
  const foreignKeys = (row: PlannedRow) => afterWrite.foreignKeys.filter(({ from }) => mayChange(plan, row, from))
  return await run(async (row) => {
    const condition = conflict && conditionOf(conflict.key, row)
    const watched = condition === undefined ? await watchInsert(runner, plan, row) : undefined
    const check = async ({ inserted, insertId }: RowCounts): Promise<void> =>
      condition === undefined
        ? await watched?.(insertId)
        : await requireRows(
          runner,
          inserted > 0 ? plan : { ...plan, afterWrite: { ...afterWrite, foreignKeys: foreignKeys(row) } },
          [condition]
        )
    // a row that was neither inserted nor updated may not exist, because a trigger of SQLite has skipped it
    return async (counts) =>
      counts.inserted + counts.updated === 0
        ? undefined
        : await check(counts).catch((error: unknown) => {
          throw isList ? inRow(error, row.index) : error
        })
  })
}

const changesKey = ({ key, set }: Conflict): boolean =>
  set.kind === 'assignments' && set.assignments.some(({ column }) => key.includes(column))

/**
 * Each condition selects one row, which must satisfy the rules, as must the rows that it refers to. These are checked
 * first, because the database has already refused rows that refer to missing ones.
 */
async function requireRows (
  runner: Runner,
  plan: CheckedPlan<InsertPlan | UpdatePlan>,
  conditions: readonly Condition[]
): Promise<void> {
  const {
    table,
    afterWrite: { rules }
  } = plan
  await checkWrittenForeignKeys(runner, plan, conditions)
  for (let from = 0; from < conditions.length; from += STEP) {
    const step = conditions.slice(from, from + STEP)
    if (
      Number(await runner.count(table, combine('and', [combine('or', step), rules]), undefined, 'share')) !==
      step.length
    ) { throw rowRefused() }
  }
}

async function checkWrittenForeignKeys (
  runner: Runner,
  plan: CheckedPlan<InsertPlan | UpdatePlan>,
  conditions: readonly Condition[]
): Promise<void> {
  const { foreignKeys } = plan.afterWrite
  for (let from = 0; foreignKeys.length > 0 && from < conditions.length; from += STEP) {
    const step = conditions.slice(from, from + STEP)
    for (const foreignKey of foreignKeys) {
      await checkWrittenForeignKey(runner, plan, { foreignKey, rows: combine('or', step), limit: step.length })
    }
  }
}

/** A foreign key with NULL in one of its columns refers to no row. */
async function checkWrittenForeignKey (
  runner: Runner,
  plan: CheckedPlan<InsertPlan | UpdatePlan>,
  {
    foreignKey,
    rows,
    limit
  }: { readonly foreignKey: WrittenForeignKey; readonly rows: Condition; readonly limit: number }
): Promise<void> {
  const columns = foreignKey.from
  const keys = await runner.keys({
    table: plan.table,
    columns,
    condition: combine('and', [rows, ...columns.map((column) => isNull(column, true))]),
    limit
  })
  if (keys.length > 0) await checkForeignKey(runner, plan, foreignKeyCheckOf(foreignKey, keys))
}
