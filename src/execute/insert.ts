/**
 * Runs an insert or upsert. One statement is enough as long as the database accepts all rows. If not, the rows are divided
 * until the refused one is found. A row that collides in a key other than the named one is resolved by itself (resolve-row.ts).
 */
import { refusesRow, type Outcome } from '../dialects/dialect.ts'
import { pointer, ServiceError, withDetails } from '../errors.ts'
import { isOneRow, type InsertPlan, type PlannedRow } from '../plan/plan.ts'
import type { RowCounts, RowsResult } from '../response/result.ts'
import { toBatches, type RowBatch } from '../sql/row-batches.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { guardOf, requireWithin } from './conflict-rules.ts'
import { resolveRow } from './resolve-row.ts'
import { addCounts, countsOf } from './row-counts.ts'
import type { Runner } from './runner.ts'
import { mustReadId, readExistingId, readId } from './upserted-id.ts'

export interface InsertRun {
  readonly plan: InsertPlan
  readonly runner: Runner
  /** Called with each batch of rows that one statement has written. */
  readonly onBatch?: ((batch: RowBatch, counts: RowCounts) => void) | undefined
  readonly watchRow?: WatchRow | undefined
}

/** Called before each row of a plan with checks (`isChecked`) is written. The returned function is called after the write. */
export type WatchRow = (row: PlannedRow) => Promise<(counts: RowCounts) => Promise<unknown>>

/** How an insert runs by itself. `transact`: runs it in a transaction, which is retried after a deadlock. */
export interface InsertAlone {
  readonly record: RequestRecord | null | undefined
  readonly transact: () => Promise<Outcome & RowsResult>
}

/** Runs an insert by itself: as one statement if possible, otherwise in a transaction. @throws ServiceError, which names the row that was refused */
export async function executeInsert (insertRun: InsertRun, { record, transact }: InsertAlone): Promise<Outcome & RowsResult> {
  const { plan, runner } = insertRun
  const batches = toBatches(plan, runner.engine)
  const batch = batches[0] as RowBatch
  if (batches.length > 1 || batch.isSeparate === true || mustReadId(plan, runner.engine) || guardOf(insertRun) !== undefined) return await transact()
  record?.compiled()
  try {
    return resultOf(await runBatch(insertRun, batch))
  } catch (error) {
    const { code, row } = error as ServiceError
    if (row !== undefined) throw atRow(error as ServiceError, placeOf(batch.rows[row] as PlannedRow, plan))
    if (!isOneRow(plan) && (isOfRow(error) || code === 'DEADLOCK')) return await transact()
    throw error
  }
}

/** Runs the insert in a transaction. @throws ServiceError, which names the row that was refused and must undo the transaction */
export async function runInsert (insertRun: InsertRun): Promise<Outcome & RowsResult> {
  const { plan, runner } = insertRun
  await requireAllWithin(insertRun)
  const counts = await runBatches(insertRun, toBatches(plan, runner.engine))
  // the row that exists may have been inserted by a trigger
  if (counts.unchanged > 0) await requireAllWithin(insertRun)
  if (!mustReadId(plan, runner.engine)) return resultOf(counts)
  return { ...resultOf(counts), storedId: await readId(plan, counts, runner), existingId: await readExistingId(plan, counts, runner) }
}

async function requireAllWithin (insertRun: InsertRun): Promise<void> {
  const guard = guardOf(insertRun)
  if (guard === undefined) return
  const { plan, runner } = insertRun
  for (const row of plan.rows) {
    await requireWithin({ guard, row, table: plan.table }, runner).catch((error: unknown) => { throw isOfRow(error) ? atRow(error, placeOf(row, plan)) : error })
  }
}

const resultOf = (counts: RowCounts): Outcome & RowsResult => ({ rows: 0, changed: counts.inserted + counts.updated, insertId: counts.insertId, counts })

async function runBatch ({ runner, onBatch }: InsertRun, batch: RowBatch): Promise<RowCounts> {
  const counts = countsOf(batch, await runner.insert(batch))
  onBatch?.(batch, counts)
  return counts
}

async function runBatches (insertRun: InsertRun, batches: readonly RowBatch[]): Promise<RowCounts> {
  let total: RowCounts | undefined
  for (const batch of batches) {
    const check = insertRun.watchRow === undefined ? undefined : await insertRun.watchRow(batch.rows[0] as PlannedRow)
    const counts = await runDivided(insertRun, batch)
    if (check !== undefined) await check(counts)
    total = addCounts(total, counts)
  }
  return total as RowCounts
}

async function runDivided (insertRun: InsertRun, batch: RowBatch): Promise<RowCounts> {
  if (batch.isSeparate === true) return await runSingle(insertRun, batch)
  try {
    return await runBatch(insertRun, batch)
  } catch (error) {
    if (!isOfRow(error)) throw error
    const { plan, runner } = insertRun
    const { rows } = batch
    if (error.row !== undefined) throw atRow(error, placeOf(rows[error.row] as PlannedRow, plan))
    if (rows.length === 1) return await runSingle(insertRun, batch, error)
    const middle = Math.ceil(rows.length / 2)
    const halves = [rows.slice(0, middle), rows.slice(middle)]
    return await runBatches(insertRun, halves.flatMap((half) => toBatches({ ...plan, rows: half }, runner.engine)))
  }
}

/** Writes the only row of a batch by its key. `refusal`: why the statement of the batch was refused. */
async function runSingle ({ plan, runner, onBatch }: InsertRun, batch: RowBatch, refusal?: ServiceError): Promise<RowCounts> {
  const row = batch.rows[0] as PlannedRow
  try {
    if (batch.conflict === undefined) throw refusal
    if (refusal !== undefined && (refusal.code !== 'UNIQUE_VIOLATION' || runner.engine === 'sqlite')) throw refusal
    const counts = await resolveRow({ ...batch, conflict: batch.conflict }, runner)
    onBatch?.(batch, counts)
    return counts
  } catch (error) {
    throw isOfRow(error) ? atRow(error, placeOf(row, plan)) : error
  }
}

const placeOf = ({ index }: PlannedRow, { isList }: InsertPlan): number | undefined => isList ? index : undefined

/** Whether the database has refused a row, without which the transaction can continue. */
const isOfRow = (error: unknown): error is ServiceError => error instanceof ServiceError && refusesRow(error)

/** Adds the position of the row in `data`, if that is a list, to the details of a refusal. */
export function atRow (error: ServiceError, index: number | undefined): ServiceError {
  if (index === undefined) return error
  const row = pointer('data', index)
  const { details } = error
  if (details.length === 0) return withDetails(error, { path: row, message: error.message })
  return withDetails(error, ...details.map(({ path, message }) => ({ path: row + path.replace(/^\/data/, ''), message })))
}
