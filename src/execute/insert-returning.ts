/** Runs an insert, or an upsert, that returns its rows. */
import { type Column, mayFillColumns, mayFire, traitsOf } from '../catalog/catalog.ts'
import { TRAITS } from '../catalog/traits.ts'
import type { StatementResult } from '../dialects/dialect.ts'
import type { Conflict, InsertPlan, PlannedRow, Returned } from '../plan/plan.ts'
import { withinRules } from '../plan/rule.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import { addCounts, numberOf, type RowCounts, type RowsResult } from '../response/result.ts'
import { compileStep } from '../sql/compile.ts'
import type { RowBatch } from '../sql/row-batches.ts'
import type { Value } from '../types/column-type.ts'
import { type InsertRun, runInsert } from './execute-insert.ts'
import { areTaken, conditionOf, givenKeys, keyChanged, knownKey, readRows } from './read-rows.ts'
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
  const numbers = new Numbers()
  const untouched = new Set<PlannedRow>()
  const onBatch = (batch: RowBatch, { inserted, insertId, untouched: indexes = [] }: RowCounts): void => {
    numbers.note(batch, insertId)
    for (const index of batch.conflict === undefined && inserted === 0 ? batch.rows.keys() : indexes) {
      untouched.add(batch.rows[index] as PlannedRow)
    }
  }
  let result: (StatementResult & RowsResult) | undefined
  let counts: RowCounts | undefined
  for (const part of numbered === undefined
    ? [rows]
    : isNumbered
      ? rows.map((row) => [row])
      : divide(plan, numbered)) {
    result = await runInsert({ ...insertRun, plan: { ...plan, rows: part }, onBatch })
    counts = addCounts(counts, result.counts as RowCounts)
    const row = part[0] as PlannedRow
    const isReported = TRAITS[runner.engine].reportsNumbers &&
      (result.counts?.insertId !== undefined || mayFillColumns(table))
    if (isNumbered && result.counts?.inserted === 0 && !isReported) {
      numbers.set(row, await readNumber(runner, plan, row), result.counts.updated > 0)
    }
  }
  const { inserted, updated, insertId } = counts as RowCounts
  if (wasTaken && inserted > 0) throw keyChanged()
  const step = numbers.needStep ? await readStep(runner, plan) : 1n
  const written = rows
    .filter((row) => !untouched.has(row) || (conflict !== undefined && (!isNumbered || numbers.has(row))))
    .sort((a, b) => a.index - b.index)
  const keys = written.map((row) =>
    key.map((column) => (isNumbered ? null : knownKey(plan, row, column)) ?? numbers.valueOf(row, column, step))
  )
  await readRows(runner, sink, {
    table,
    ...returning,
    key,
    keys,
    optional: new Set(written.flatMap((row, index) => (untouched.has(row) ? [index] : [])))
  })
  return {
    ...(result as StatementResult & RowsResult),
    rows: sink.count,
    changed: inserted + updated,
    insertId,
    counts: counts as RowCounts
  }
}

/**
 * Divides the rows so that the number of each one is known. Rows that one statement numbers have consecutive numbers,
 * unless some of them already have a number, exist, or are numbered by a trigger; a trigger of SQLite may insert rows
 * in between.
 */
function divide (plan: ReturningPlan, numbered: Column): ReadonlyArray<readonly PlannedRow[]> {
  const { table, rows, conflict } = plan
  const single =
    conflict !== undefined ||
    mayFillColumns(table) ||
    (traitsOf(table).triggersTakeNumbers && mayFire(table, 'insert'))
  const parts: PlannedRow[][] = []
  let wasKnown: boolean | undefined
  for (const row of rows) {
    const isKnown = knownKey(plan, row, numbered) !== null
    if (isKnown === wasKnown && (isKnown || !single)) parts.at(-1)?.push(row)
    else parts.push([row])
    wasKnown = isKnown
  }
  return parts
}

/** The numbers that the database gave to rows. */
class Numbers {
  readonly #ids = new Map<PlannedRow, { readonly first: string | undefined, readonly offset: number }>()
  /** Whether a statement has given several numbers. */
  needStep = false

  note ({ rows }: RowBatch, first: string | undefined): void {
    this.needStep ||= rows.length > 1
    for (const [offset, row] of rows.entries()) this.#ids.set(row, { first, offset })
  }

  /**
   * Sets the number of a row; undefined if it does not exist. @throws NOT_SUPPORTED if a row that was updated cannot be
   * found
   */
  set (row: PlannedRow, number: string | undefined, wasUpdated: boolean): void {
    if (number === undefined && wasUpdated) throw keyChanged()
    this.#ids.set(row, { first: number, offset: 0 })
  }

  has (row: PlannedRow): boolean {
    return this.#ids.get(row)?.first !== undefined
  }

  /** @throws NOT_SUPPORTED if a trigger of SQLite has changed the key of the row */
  valueOf (row: PlannedRow, column: Column, step: bigint): Value {
    const { first, offset } = this.#ids.get(row) ?? { first: undefined, offset: 0 }
    if (first === undefined) throw keyChanged()
    return numberOf(column, String(BigInt(first) + BigInt(offset) * step))
  }
}

/** The number of the row that exists in the named key; undefined if there is none. */
async function readNumber (
  runner: Runner,
  { table, conflict, key }: ReturningPlan,
  row: PlannedRow
): Promise<string | undefined> {
  const condition = conditionOf((conflict as Conflict).key, row)
  const keys =
    condition === undefined
      ? []
      : await runner.keys({ table, columns: key, condition: withinRules(table, condition), limit: 1 })
  const [number] = keys[0] ?? []
  return number === undefined ? undefined : String(number)
}

/**
 * The distance between the numbers that a session gives to rows, which is not 1 in clusters with several writable
 * servers.
 */
async function readStep (runner: Runner, { table, key }: ReturningPlan): Promise<bigint> {
  return !TRAITS[runner.engine].numbersInSteps || key.every(({ autoIncrement }) => !autoIncrement)
    ? 1n
    : BigInt(await runner.number(compileStep(table)))
}
