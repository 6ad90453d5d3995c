/**
 * Runs an insert of several rows, and an upsert. One statement is enough as long as the database accepts all rows. If not, the rows are divided
 * until the one that was refused is found. A row that collides in another key than the named one is resolved by itself (resolve-row.ts).
 */
import { keepsTransaction, type Executor, type Outcome } from '../dialects/dialect.ts'
import type { Database } from '../databases/database.ts'
import { pointer, ServiceError, withDetails } from '../errors.ts'
import type { InsertPlan, Plan, PlannedRow, RowsPlan } from '../plan/plan.ts'
import { compileRows } from '../sql/insert-rows.ts'
import { toBatches, type RowBatch } from '../sql/row-batches.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import { guardOf, requireWithin } from './conflict-rules.ts'
import { resolveRow } from './resolve-row.ts'
import type { RowCounts, RowsResult } from '../response/result.ts'
import { addCounts, countsOf } from './row-counts.ts'
import { mustReadId, readId } from './upserted-id.ts'

export interface RowsRun {
  readonly plan: InsertPlan & { readonly rows: RowsPlan }
  readonly database: Database
  readonly record?: RequestRecord | null | undefined
  /** Called with each batch of rows that one statement has written. */
  readonly onBatch?: ((batch: RowBatch, counts: RowCounts) => void) | undefined
  readonly watchRow?: WatchRow | undefined
}

/** Called before each row of a plan whose rows are checked (`isChecked`) is written. What it returns is called after that. */
export type WatchRow = (row: PlannedRow) => Promise<(counts: RowCounts) => Promise<unknown>>

type Run = Executor['run']

/** Whether a plan inserts a list, or a row that may exist. */
export const insertsRows = (plan: Plan): plan is RowsRun['plan'] => plan.verb === 'insert' && plan.rows !== undefined

/**
 * Runs an insert by itself: as one statement (`run`) if possible, otherwise in a transaction (`transact`), which is also tried again after a
 * deadlock. @throws ServiceError, which names the row that was refused
 */
export async function executeRows (rowsRun: RowsRun, run: Run, transact: () => Promise<Outcome & RowsResult>): Promise<Outcome & RowsResult> {
  const { plan, database: { dialect }, record } = rowsRun
  const [batch, ...others] = toBatches(plan.rows, plan.table, dialect.engine) as [RowBatch, ...RowBatch[]]
  if (others.length > 0 || batch.isSeparate === true || mustReadId(plan, dialect.engine) || guardOf(rowsRun) !== undefined) return await transact()
  record?.compiled()
  try {
    return resultOf(await runBatch(rowsRun, batch, run))
  } catch (error) {
    const { code, row } = error as ServiceError
    if (row !== undefined) throw atRow(error as ServiceError, placeOf(batch.rows[row] as PlannedRow, plan.rows))
    if (isOfRow(error) || code === 'DEADLOCK') return await transact()
    throw error
  }
}

/** Runs the insert in a transaction. @throws ServiceError, which names the row that was refused */
export async function runRows (rowsRun: RowsRun, run: Run): Promise<Outcome & RowsResult> {
  const { plan, database, record } = rowsRun
  record?.compiled()
  await requireAllWithin(rowsRun, run)
  const counts = await runBatches(rowsRun, toBatches(plan.rows, plan.table, database.dialect.engine), run)
  // a trigger may have inserted the row that exists
  if (counts.unchanged > 0) await requireAllWithin(rowsRun, run)
  if (!mustReadId(plan, database.dialect.engine)) return resultOf(counts)
  return { ...resultOf(counts), storedId: await readId(plan, counts, database, run) }
}

async function requireAllWithin (rowsRun: RowsRun, run: Run): Promise<void> {
  const guard = guardOf(rowsRun)
  if (guard === undefined) return
  const { rows } = rowsRun.plan
  for (const row of rows.rows) {
    await requireWithin({ guard, row }, rowsRun, run).catch((error: unknown) => { throw isOfRow(error) ? atRow(error, placeOf(row, rows)) : error })
  }
}

const resultOf = (counts: RowCounts): Outcome & RowsResult => ({ rows: 0, changed: counts.inserted + counts.updated, insertId: counts.insertId, counts })

function runBatch ({ database, onBatch }: RowsRun, batch: RowBatch, run: Run): Promise<RowCounts> {
  return run(compileRows(batch, database.dialect.engine, database.statements)).then((outcome) => {
    const counts = countsOf(batch, outcome)
    onBatch?.(batch, counts)
    return counts
  })
}

async function runBatches (rowsRun: RowsRun, batches: readonly RowBatch[], run: Run): Promise<RowCounts> {
  let total: RowCounts | undefined
  for (const batch of batches) {
    const check = rowsRun.watchRow === undefined ? undefined : await rowsRun.watchRow(batch.rows[0] as PlannedRow)
    const counts = await runDivided(rowsRun, batch, run)
    if (check !== undefined) await check(counts)
    total = addCounts(total, counts)
  }
  return total as RowCounts
}

async function runDivided (rowsRun: RowsRun, batch: RowBatch, run: Run): Promise<RowCounts> {
  if (batch.isSeparate === true) return await runSingle(rowsRun, batch, run)
  try {
    return await runBatch(rowsRun, batch, run)
  } catch (error) {
    if (!isOfRow(error)) throw error
    const { plan } = rowsRun
    const { rows } = batch
    if (error.row !== undefined) throw atRow(error, placeOf(rows[error.row] as PlannedRow, plan.rows))
    if (rows.length === 1) return await runSingle(rowsRun, batch, run, error)
    const middle = Math.ceil(rows.length / 2)
    const halves = [rows.slice(0, middle), rows.slice(middle)]
    return await runBatches(rowsRun, halves.flatMap((half) => toBatches({ ...plan.rows, rows: half }, plan.table, rowsRun.database.dialect.engine)), run)
  }
}

/** Writes the only row of a batch by its key. `refusal`: why the statement of the batch was refused. */
async function runSingle ({ plan: { rows }, database, onBatch }: RowsRun, batch: RowBatch, run: Run, refusal?: ServiceError): Promise<RowCounts> {
  const row = batch.rows[0] as PlannedRow
  try {
    if (batch.conflict === undefined) throw refusal
    if (refusal !== undefined && (refusal.code !== 'UNIQUE_VIOLATION' || database.dialect.engine === 'sqlite')) throw refusal
    const counts = await resolveRow({ batch: { ...batch, conflict: batch.conflict }, database, run })
    onBatch?.(batch, counts)
    return counts
  } catch (error) {
    throw isOfRow(error) ? atRow(error, placeOf(row, rows)) : error
  }
}

const placeOf = ({ index }: PlannedRow, { isList }: RowsPlan): number | undefined => isList ? index : undefined

/** Whether the database has refused a row: a transaction can go on without it. */
const isOfRow = (error: unknown): error is ServiceError => error instanceof ServiceError && keepsTransaction(error)

/** Adds the position of the row in `data`, if that is a list, to the details of a refusal. */
export function atRow (error: ServiceError, index: number | undefined): ServiceError {
  if (index === undefined) return error
  const row = pointer('data', index)
  const { details } = error
  if (details.length === 0) return withDetails(error, { path: row, message: error.message })
  return withDetails(error, ...details.map(({ path, message }) => ({ path: row + path.replace(/^\/data/, ''), message })))
}
