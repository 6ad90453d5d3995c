/** Looks up written rows under the rules of a grant, where the database computes some of their values. */
import { MAX_LIMIT } from '../../schemas/body.ts'
import { mayFillColumns, type Column, type Table } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import { keepsTransaction, type Executor, type Outcome } from '../dialects/dialect.ts'
import { notSupported, resultTooLarge, type ServiceError } from '../errors.ts'
import { combine } from '../plan/filters/constants.ts'
import { findInsertKey } from '../plan/insert-key.ts'
import { isNull } from '../plan/filters/operators.ts'
import type { Assignment, Condition, Conflict, InsertPlan, Plan, PlannedRow, UpdatePlan, Written, WrittenReference } from '../plan/plan.ts'
import { referenceOf } from '../plan/references.ts'
import { keyAfter } from '../plan/row-keys.ts'
import { rowRefused } from '../plan/rules.ts'
import type { Result, RowCounts } from '../response/result.ts'
import type { AnswerSink } from '../response/answer-sink.ts'
import type { Value } from '../types/column-type.ts'
import { countMatches } from './count-rows.ts'
import { isTaken, keyValue } from './insert.ts'
import { atRow, insertsRows, type AroundRow, type RowsRun } from './insert-rows.ts'
import { conditionOf } from './key-condition.ts'
import { KeyList } from './key-list.ts'
import { hasKey, readRows } from './read-rows.ts'
import { checkReference } from './references.ts'
import { runStatement } from './run-statement.ts'

type Run = (aroundRow?: AroundRow) => Promise<Result>

/** A plan whose rows are looked up after the write. */
interface WrittenPlan<P> { readonly plan: P & { readonly written: Written }, readonly database: Database }

export interface WrittenExecution {
  readonly plan: Plan
  readonly database: Database
  /** For `returning`. */
  readonly sink: AnswerSink | undefined
}

/**
 * Runs a write by `run`. @throws PERMISSION_DENIED if a row does not satisfy the rules, FOREIGN_KEY_VIOLATION if it refers to one that does not,
 * RESULT_TOO_LARGE, NOT_SUPPORTED: each must undo the transaction
 */
export async function runWritten (tx: Executor, { plan, database, sink }: WrittenExecution, run: Run): Promise<Result> {
  if (plan.verb === 'update') return await runUpdate(tx, { plan: plan as WrittenPlan<UpdatePlan>['plan'], database }, run)
  if (!insertsRows(plan)) return (await runRow(tx, { plan: plan as WrittenPlan<InsertPlan>['plan'], database }, run)).result
  const rowsPlan = { plan: plan as WrittenPlan<RowsRun['plan']>['plan'], database }
  return plan.rows.conflict === undefined ? await runList(tx, rowsPlan, sink) : await runUpserts(tx, rowsPlan, { conflict: plan.rows.conflict, run })
}

/** The rows are locked before, and found again by their keys. */
async function runUpdate (tx: Executor, { plan, database }: WrittenPlan<UpdatePlan>, run: Run): Promise<Result> {
  const { table, condition, assignments, written } = plan
  const key = written.key as readonly Column[]
  const list = new KeyList(key)
  await runStatement(tx, database, { verb: 'select', table, columns: key, condition, order: [], limit: MAX_LIMIT + 1, lock: 'update' }, list)
  if (list.count > MAX_LIMIT) throw resultTooLarge(`the filters match more than ${MAX_LIMIT} rows, which is the most that can be checked after the write`)
  const after = list.keys.map((values) => hasKey(key, keyAfter(key, values, assignments)))
  const wasTaken = assignments.some(({ column }) => key.includes(column)) && await areTakenByOthers(tx, { plan, database }, { key, before: list.keys, after })
  const result = await run()
  if (wasTaken) throw notSupported()
  await requireRows(tx, { plan, database }, after)
  return result
}

interface ChangedKeys { readonly key: readonly Column[], readonly before: ReadonlyArray<readonly Value[]>, readonly after: readonly Condition[] }

/**
 * Whether rows that an update does not change have the keys that it gives. If it succeeds all the same, a BEFORE UPDATE trigger has changed the
 * keys, and the rows that are found by them are others.
 */
async function areTakenByOthers (tx: Executor, { plan: { table }, database }: WrittenPlan<UpdatePlan>, { key, before, after }: ChangedKeys): Promise<boolean> {
  const toText = (values: readonly Value[]): string => JSON.stringify(values.map((value) => Buffer.isBuffer(value) ? value.toString('base64') : String(value)))
  const own = new Set(before.map(toText))
  for (let from = 0; from < after.length; from += STEP) {
    const list = new KeyList(key)
    await runStatement(tx, database, { verb: 'select', table, columns: key, condition: combine('or', after.slice(from, from + STEP)), order: [], limit: STEP }, list)
    if (list.keys.some((values) => !own.has(toText(values)))) return true
  }
  return false
}

/** A row that was inserted, with the values of its key. */
interface InsertedRow<R> { readonly result: R, readonly values: readonly Value[] }

/** Inserts a row by `run`. */
async function runRow<R extends Pick<Outcome, 'insertId'>> (tx: Executor, { plan, database }: WrittenPlan<InsertPlan>, run: () => Promise<R>): Promise<InsertedRow<R>> {
  const key = plan.written.key as readonly Column[]
  const wasTaken = mayFillColumns(plan.table) && await isTaken(tx, database, plan, key)
  const result = await run()
  if (wasTaken) throw notSupported()
  const values = key.map((column): Value => {
    try {
      return keyValue(plan, column, result)
    } catch {
      throw notSupported() // a trigger has changed the key
    }
  })
  await requireRows(tx, { plan, database }, [hasKey(key, values)])
  return { result, values }
}

/** One by one, as triggers may number the rows in any way. */
async function runList (tx: Executor, { plan, database }: WrittenPlan<RowsRun['plan']>, sink: AnswerSink | undefined): Promise<Result> {
  const { table, rows: { rows, isList }, written, returning } = plan
  const inserted: Array<InsertedRow<Result>> = []
  let last: readonly Column[] | undefined
  for (const { index, columns, parameters } of rows) {
    const single = planSingle(table, { columns, parameters }, written)
    const { key } = single.written
    if (sink !== undefined && last?.some((column, place) => column !== key[place]) === true) throw notSupported()
    last = key
    const row = await runRow(tx, { plan: single, database }, () => runStatement(tx, database, single)).catch((error: unknown) => { throw isList ? inRow(error, index) : error })
    inserted.push(row)
  }
  if (sink !== undefined && returning !== undefined) await readRows(tx, database, sink, { table, columns: returning, key: last as readonly Column[], keys: inserted.map(({ values }) => values) })
  const insertId = inserted[0]?.result.insertId
  return { rows: sink?.count ?? 0, changed: rows.length, insertId, counts: { inserted: rows.length, updated: 0, unchanged: 0, insertId } }
}

/** Names the row that an error is about. */
function inRow (error: unknown, index: number | undefined): unknown {
  return keepsTransaction(error) || (error as ServiceError).code === 'PERMISSION_DENIED' ? atRow(error as ServiceError, index) : error
}

/** The insert of a row alone. @throws NOT_SUPPORTED if the values of no key are known */
function planSingle (table: Table, { columns, parameters }: Pick<PlannedRow, 'columns' | 'parameters'>, written: Written) {
  const assignments = columns.map((column, place): Assignment => ({ column, parameter: parameters[place] ?? null }))
  const key = findInsertKey(table, assignments)
  if (key === undefined) throw notSupported()
  return { verb: 'insert' as const, table, assignments, written: { ...written, key } }
}

/** A row is found by the key of the conflict, or is new if it gives no value for that. */
async function runUpserts (tx: Executor, { plan, database }: WrittenPlan<RowsRun['plan']>, { conflict: { key, set }, run }: { conflict: Conflict, run: Run }): Promise<Result> {
  if (changesKey(key, set)) throw notSupported()
  const { table, rows: { isList }, written } = plan
  return await run(async (row, write) => {
    const condition = conditionOf(key, row)
    let isWritten = false
    const writeRow = async (): Promise<RowCounts> => {
      const counts = await write()
      isWritten = true
      return counts
    }
    try {
      if (condition === undefined) return (await runRow(tx, { plan: planSingle(table, row, written), database }, writeRow)).result
      const counts = await writeRow()
      await requireRows(tx, { plan, database }, [condition])
      return counts
    } catch (error) {
      throw isList && isWritten ? inRow(error, row.index) : error
    }
  })
}

const changesKey = (key: readonly Column[], set: Conflict['set']): boolean => set.kind === 'assignments' && set.assignments.some(({ column }) => key.includes(column))

/** Conditions in one count. */
const STEP = 100

/** Each condition selects one row, which must satisfy the rules, as must the rows that it refers to. */
async function requireRows (tx: Executor, execution: WrittenPlan<InsertPlan | UpdatePlan>, conditions: readonly Condition[]): Promise<void> {
  const { plan: { table, written: { rules, references } }, database } = execution
  for (let from = 0; from < conditions.length; from += STEP) {
    const step = conditions.slice(from, from + STEP)
    const any = combine('or', step)
    const count = await countMatches(tx, database, { table, condition: combine('and', [any, rules]), limit: undefined })
    if (Number(count) !== step.length) throw rowRefused()
    for (const reference of references) await requireReferred(tx, execution, { reference, rows: any, limit: step.length })
  }
}

interface Referring { readonly reference: WrittenReference, readonly rows: Condition, readonly limit: number }

/** A key with NULL in one of its columns refers to nothing. */
async function requireReferred (tx: Executor, execution: WrittenPlan<InsertPlan | UpdatePlan>, { reference, rows, limit }: Referring): Promise<void> {
  const { plan: { table }, database } = execution
  const columns = reference.from
  const list = new KeyList(columns)
  await runStatement(tx, database, { verb: 'select', table, columns, condition: combine('and', [rows, ...columns.map((column) => isNull(column, true))]), order: [], limit }, list)
  if (list.count > 0) await checkReference(tx, execution, referenceOf(reference, list.keys))
}
