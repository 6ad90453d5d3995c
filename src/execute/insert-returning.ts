/** Runs an insert, or an upsert, that returns its rows. */
import { type Column, mayFillColumns, type Table } from '../catalog/catalog.ts'
import { TRAITS } from '../catalog/traits.ts'
import type { StatementResult } from '../dialects/dialect.ts'
import { knownKey } from '../plan/insert-key.ts'
import type { InsertPlan, PlannedRow, Returned } from '../plan/plan.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import { numberOf, type RowCounts, type RowsResult } from '../response/result.ts'
import { compileStep } from '../sql/compile.ts'
import type { RowBatch } from '../sql/row-batches.ts'
import type { Value } from '../types/column-type.ts'
import { type InsertRun, readId, runInsert } from './execute-insert.ts'
import { areTaken, givenKeys, keyChanged, readRows } from './read-rows.ts'
import type { Runner } from './runner.ts'

/** A plan that has the columns to return and the key of the rows. */
type ReturningPlan = InsertPlan & { readonly returning: Returned, readonly key: readonly Column[] }

/** @throws NOT_SUPPORTED if a trigger has changed the key of a row; ServiceError */
export async function insertReturning (
  insertRun: InsertRun,
  sink: ResponseSink
): Promise<StatementResult & RowsResult> {
  const { runner } = insertRun
  const plan = insertRun.plan as ReturningPlan
  const { table, rows, conflict, returning, key, isNumbered = false } = plan
  const numbered = key.find(({ autoIncrement }) => autoIncrement)
  const wasTaken =
    conflict === undefined &&
    mayFillColumns(table) &&
    (await areTaken(runner, { table, key, keys: givenKeys(key, rows) }))
  /** The numbers that the database gave to rows. */
  const numbers = new Map<PlannedRow, Value>()
  const untouched = new Set<PlannedRow>()
  const onBatch = async (batch: RowBatch, counts: RowCounts): Promise<void> => {
    const { rows } = batch
    const { inserted, updated, insertId, untouched: indexes = [] } = counts
    for (const index of batch.conflict === undefined && inserted === 0 ? rows.keys() : indexes) {
      untouched.add(rows[index] as PlannedRow)
    }
    const [row] = rows as [PlannedRow]
    if (numbered === undefined || knownKey(plan, row, numbered) !== null) return
    const read = isNumbered && inserted === 0 ? await readId({ ...plan, rows }, counts, runner) : undefined
    if (read === 'null' && updated > 0) throw keyChanged()
    const first = read ?? insertId
    if (first === undefined || first === 'null') return
    const step = rows.length > 1 ? await readStep(runner, table) : 1n
    for (const [offset, row] of rows.entries()) {
      numbers.set(row, numberOf(numbered, String(BigInt(first) + BigInt(offset) * step)))
    }
  }
  const result = await runInsert({ ...insertRun, onBatch })
  if (wasTaken && result.changed > 0) throw keyChanged()
  const written = rows
    .filter((row) => !untouched.has(row) || (conflict !== undefined && (!isNumbered || numbers.has(row))))
    .sort((a, b) => a.index - b.index)
  const keys = written.map((row) => key.map((column) => {
    const value = knownKey(plan, row, column) ?? numbers.get(row)
    if (value === undefined) throw keyChanged()
    return value
  }))
  await readRows(runner, sink, {
    table,
    ...returning,
    key,
    keys,
    optional: new Set(written.flatMap((row, index) => (untouched.has(row) ? [index] : [])))
  })
  return { ...result, rows: sink.count }
}

/**
 * The distance between the numbers that a session gives to rows, which is not 1 in clusters with several writable
 * servers.
 */
async function readStep (runner: Runner, table: Table): Promise<bigint> {
  return TRAITS[runner.engine].numbersInSteps ? BigInt(await runner.number(compileStep(table))) : 1n
}
