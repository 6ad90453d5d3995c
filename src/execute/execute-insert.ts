/**
 * One statement if that is certain to do what one statement for each row would, and the database accepts all rows;
 * otherwise row by row.
 */
import { traitsOf } from '../catalog/catalog.ts'
import { refusesRow } from '../dialects/dialect.ts'
import type { ServiceError } from '../errors.ts'
import type { InsertPlan, PlannedRow } from '../plan/plan.ts'
import { isPlainRow } from '../plan/write-options.ts'
import { whyOneByOne, writesOf } from '../plan/writes.ts'
import { addCounts, type Result, type RowCounts, type RowOutcome } from '../response/result.ts'
import { toBatch, toParts } from '../sql/row-batches.ts'
import { atRow, isCheckedAfterWrite, watchRow } from './after-write.ts'
import { idOf, newId } from './inserted-id.ts'
import type { Runner } from './runner.ts'
import { type InsertRun, listIndexOf, writeBatch, writeRow } from './write-row.ts'
import { hasMoment } from '../types/column-type.ts'

/** Moments have values, so that its keys are known. @throws VALUE_OUT_OF_RANGE */
export async function bindMoments (plan: InsertPlan, runner: Runner): Promise<InsertPlan> {
  const { conflict } = plan
  const rows = plan.rows.some(({ parameters }) => hasMoment(parameters)) ? await bindRows(plan, runner) : plan.rows
  if (conflict?.set.kind !== 'assignments') return rows === plan.rows ? plan : { ...plan, rows }
  const assignments = await runner.bindAssignments(conflict.set.assignments)
  return { ...plan, rows, conflict: { ...conflict, set: { ...conflict.set, assignments } } }
}

async function bindRows (plan: InsertPlan, runner: Runner): Promise<PlannedRow[]> {
  const rows: PlannedRow[] = []
  for (const row of plan.rows) {
    const parameters = await runner.bind(row.parameters).catch((error: unknown) => {
      throw atRow(error as ServiceError, listIndexOf(row, plan))
    })
    rows.push({ ...row, parameters })
  }
  return rows
}

/** One statement is not certain to do what one for each row would. `plan`: whose rows have ways. */
export function mayNeedSeveral (plan: InsertPlan): boolean {
  const { table, rows, isList, conflict } = plan
  if (whyOneByOne(plan, rows) !== undefined || toParts(plan).length > 1) return true
  if (conflict === undefined) return false
  return (!isList && writesOf(plan, rows[0] as PlannedRow).readsId) ||
    (conflict.within !== undefined && traitsOf(table).namesKey)
}

/** By one statement. @throws ServiceError, which names the row that was refused if it is known */
export async function insertAtOnce (plan: InsertPlan, runner: Runner): Promise<Result> {
  try {
    const result = resultOf(plan, await writeBatch({ plan, runner }, toBatch(plan, plan.rows)), runner)
    return result instanceof Promise ? await result : result
  } catch (error) {
    const { row } = error as ServiceError
    throw row === undefined ? error : atRow(error as ServiceError, listIndexOf(plan.rows[row] as PlannedRow, plan))
  }
}

/** The statement of several rows was refused, or undone, without the row that it was for. */
export const mayAcceptOneByOne = (plan: InsertPlan, error: unknown): boolean =>
  (error as ServiceError).row === undefined &&
  !isPlainRow(plan) &&
  (refusesRow(error) || (error as ServiceError).code === 'DEADLOCK')

/** @throws ServiceError, which names the row that was refused and must undo the transaction */
export async function runInsert (insertRun: InsertRun): Promise<Result> {
  const { plan, runner } = insertRun
  let total: RowCounts | undefined
  const outcomes: RowOutcome[] | undefined = plan.outcomes === true ? [] : undefined
  for (const part of toParts(plan)) total = addCounts(total, await runTogether(insertRun, part, outcomes))
  const result = await resultOf(plan, total as RowCounts, runner)
  return outcomes === undefined ? result : { ...result, outcomes }
}

function resultOf (plan: InsertPlan, counts: RowCounts, runner: Runner): Result | Promise<Result> {
  const { inserted, updated } = counts
  const result = { rows: 0, changed: inserted + updated, counts }
  const { table, rows, isList, conflict } = plan
  if (conflict === undefined) return { ...result, id: newId(table, rows[0] as PlannedRow, counts) }
  return isList ? { ...result, id: 'null' } : idOf(plan, counts, runner).then((id) => ({ ...result, id }))
}

/**
 * Writes rows by one statement if that is certain and not refused, else one by one. `outcomes`: takes what became of
 * each row, by its position in `data`. @throws ServiceError
 */
async function runTogether (
  insertRun: InsertRun,
  rows: readonly PlannedRow[],
  outcomes: RowOutcome[] | undefined
): Promise<RowCounts> {
  const { plan } = insertRun
  if (whyOneByOne(plan, rows) !== undefined) return await runOneByOne(insertRun, rows, outcomes)
  try {
    return await writeBatch(insertRun, toBatch(plan, rows))
  } catch (error) {
    if (!refusesRow(error)) throw error
    if (error.row !== undefined) throw atRow(error, listIndexOf(rows[error.row] as PlannedRow, plan))
    return await runOneByOne(insertRun, [...rows].sort((a, b) => a.index - b.index))
  }
}

async function runOneByOne (
  insertRun: InsertRun,
  rows: readonly PlannedRow[],
  outcomes?: RowOutcome[]
): Promise<RowCounts> {
  const { plan, runner } = insertRun
  let total: RowCounts | undefined
  for (const row of rows) {
    const write = (runner: Runner): Promise<RowCounts> => writeRow({ ...insertRun, runner }, row)
    const counts = isCheckedAfterWrite(plan)
      ? await runner.writeAndCheck(write, await watchRow(runner, plan, row))
      : await write(runner)
    if (outcomes !== undefined) outcomes[row.index] = outcomeOf(counts)
    total = addCounts(total, counts)
  }
  return total as RowCounts
}

const outcomeOf = ({ inserted, updated }: RowCounts): RowOutcome =>
  inserted > 0 ? 'inserted' : updated > 0 ? 'updated' : 'unchanged'
