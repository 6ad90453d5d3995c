/** Runs an insert of rows, or an upsert, that returns them. */
import { mayFillColumns, mayFire, type Column } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { Executor, Outcome } from '../dialects/dialect.ts'
import { givenValue } from '../plan/insert-key.ts'
import type { Conflict, PlannedRow } from '../plan/plan.ts'
import { settled } from '../plan/moments.ts'
import { storedKey } from '../plan/row-keys.ts'
import { CountSink } from '../response/count-sink.ts'
import type { RowCounts, RowsResult } from '../response/result.ts'
import { numberOf } from '../response/insert-id.ts'
import type { AnswerSink } from '../response/answer-sink.ts'
import { compileStep } from '../sql/compile.ts'
import type { RowBatch } from '../sql/row-batches.ts'
import type { Value } from '../types/column-type.ts'
import { areTaken, keyChanged } from './inserted-keys.ts'
import { runRows, type RowsRun, type WatchRow } from './insert-rows.ts'
import { conditionOf } from './key-condition.ts'
import { KeyList } from './key-list.ts'
import { readRows, withinRules } from './read-rows.ts'
import { addCounts } from './row-counts.ts'
import { runStatement } from './run-statement.ts'

/** A plan that has the columns to return and the key of the rows. */
export type ReturningPlan = RowsRun['plan'] & { readonly returning: readonly Column[], readonly key: readonly Column[] }

export interface RowsReturning {
  readonly plan: ReturningPlan
  readonly database: Database
  readonly sink: AnswerSink
  readonly watchRow?: WatchRow | undefined
}

/** @throws NOT_SUPPORTED if a trigger has changed the key of a row; ServiceError */
export async function insertReturning (tx: Executor, { plan, database, sink, watchRow }: RowsReturning): Promise<Outcome & RowsResult> {
  const { table, rows, returning, key } = plan
  const numbered = key.find(({ autoIncrement }) => autoIncrement)
  const given = rows.rows.flatMap((row) => numbered === undefined || givenValue(row, numbered) !== null ? [valuesOf(key, row)] : [])
  const wasTaken = rows.conflict === undefined && mayFillColumns(table) && await areTaken(tx, database, { table, key, keys: given })
  const numbers = new Numbers()
  const untouched = new Set<PlannedRow>()
  const onBatch = (batch: RowBatch, { insertId, untouched: places = [] }: RowCounts): void => {
    numbers.note(batch, insertId)
    for (const place of places) untouched.add(batch.rows[place] as PlannedRow)
  }
  let result: Outcome & RowsResult | undefined
  let counts: RowCounts | undefined
  for (const part of numbered === undefined ? [rows.rows] : rows.isNumbered === true ? rows.rows.map((row) => [row]) : divide(plan, numbered)) {
    result = await runRows({ plan: { ...plan, rows: { ...rows, rows: part } }, database, watchRow, onBatch }, (statement, sink) => tx.run(statement, sink))
    counts = addCounts(counts, result.counts as RowCounts)
    if (rows.isNumbered === true && result.counts?.inserted === 0 && (database.dialect.engine === 'sqlite' || (result.counts.insertId === undefined && !mayFillColumns(table)))) numbers.set(part[0] as PlannedRow, await readNumber(tx, plan, database, part[0] as PlannedRow), result.counts.updated > 0)
  }
  if (wasTaken) throw keyChanged()
  const step = numbers.needStep ? await readStep(tx, plan, database) : 1n
  const written = rows.rows.filter((row) => !untouched.has(row) || (rows.conflict !== undefined && (rows.isNumbered !== true || numbers.has(row)))).sort((a, b) => a.index - b.index)
  const keys = written.map((row) => key.map((column) => (rows.isNumbered === true ? null : storedValue(row, column)) ?? numbers.valueOf(row, column, step)))
  await readRows(tx, database, sink, { table, columns: returning, key, keys, optional: new Set(written.flatMap((row, place) => untouched.has(row) ? [place] : [])) })
  const { inserted, updated, insertId } = counts as RowCounts
  return { ...result as Outcome & RowsResult, rows: sink.count, changed: inserted + updated, insertId, counts: counts as RowCounts }
}

const valuesOf = (key: readonly Column[], row: PlannedRow): Value[] => key.map((column) => givenValue(row, column) as Value)

/** The value that the request gives a column, as it is stored. */
function storedValue (row: PlannedRow, column: Column): Value | null {
  const given = givenValue(row, column)
  return given === null ? null : storedKey(column, settled(given) as Value)
}

/**
 * Divides the rows so that the number of each one is known. Rows that one statement numbers have consecutive numbers, unless some of them have
 * a number already, exist, or are numbered by a trigger; a trigger of SQLite may insert rows in between.
 */
function divide ({ table, rows: { rows, conflict } }: ReturningPlan, numbered: Column): ReadonlyArray<readonly PlannedRow[]> {
  const single = conflict !== undefined || mayFillColumns(table) || (table.engine === 'sqlite' && mayFire(table, 'insert'))
  const parts: PlannedRow[][] = []
  let wasGiven: boolean | undefined
  for (const row of rows) {
    const isGiven = givenValue(row, numbered) !== null
    if (isGiven === wasGiven && (isGiven || !single)) parts.at(-1)?.push(row)
    else parts.push([row])
    wasGiven = isGiven
  }
  return parts
}

/** The numbers that the database gave to rows. */
class Numbers {
  readonly #places = new Map<PlannedRow, { readonly first: string | undefined, readonly offset: number }>()
  /** Whether a statement has given several numbers. */
  needStep = false

  note ({ rows }: RowBatch, first: string | undefined): void {
    this.needStep ||= rows.length > 1
    for (const [offset, row] of rows.entries()) this.#places.set(row, { first, offset })
  }

  /** The number of a row that exists; undefined if it does not. @throws NOT_SUPPORTED if a row that was updated cannot be found */
  set (row: PlannedRow, number: string | undefined, wasUpdated: boolean): void {
    if (number === undefined && wasUpdated) throw keyChanged()
    this.#places.set(row, { first: number, offset: 0 })
  }

  has (row: PlannedRow): boolean {
    return this.#places.get(row)?.first !== undefined
  }

  /** @throws NOT_SUPPORTED if a trigger of SQLite has changed the key of the row */
  valueOf (row: PlannedRow, column: Column, step: bigint): Value {
    const { first, offset } = this.#places.get(row) ?? { first: undefined, offset: 0 }
    if (first === undefined) throw keyChanged()
    return numberOf(column, String(BigInt(first) + BigInt(offset) * step))
  }
}

/** The number of the row that exists in the named key; undefined if there is none. */
async function readNumber (tx: Executor, { table, rows: { conflict }, key }: ReturningPlan, database: Database, row: PlannedRow): Promise<string | undefined> {
  const list = new KeyList(key)
  const condition = conditionOf((conflict as Conflict).key, row)
  if (condition !== undefined) await runStatement(tx, database, { verb: 'select', table, columns: key, condition: withinRules(table, condition), order: [], limit: 1 }, list)
  const [number] = list.keys[0] ?? []
  return number === undefined ? undefined : String(number)
}

/** The distance of the numbers that a session gives to rows: not 1 in clusters where several servers are written to. */
async function readStep (tx: Executor, { table, key }: ReturningPlan, { dialect }: Database): Promise<bigint> {
  if (dialect.engine === 'sqlite' || key.every(({ autoIncrement }) => !autoIncrement)) return 1n
  const sink = new CountSink()
  await tx.run(compileStep(table), sink)
  return BigInt(sink.digits)
}
