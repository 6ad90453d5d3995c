/** Looks up written rows under the rules of a grant, where the database computes some of their values. */
import { MAX_LIMIT } from '../../schemas/body.ts'
import { mayFillColumns, mayFire, type Column, type Table } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import { keepsTransaction, type Executor, type Outcome } from '../dialects/dialect.ts'
import { notSupported, resultTooLarge, type ServiceError } from '../errors.ts'
import { combine } from '../plan/filters/constants.ts'
import { mayChange } from '../plan/computed.ts'
import { findInsertKey } from '../plan/insert-key.ts'
import { isNull } from '../plan/filters/operators.ts'
import type { Condition, Conflict, InsertPlan, Plan, PlannedRow, UpdatePlan, Written, WrittenReference } from '../plan/plan.ts'
import { referenceOf, textOf, toWritten } from '../plan/references.ts'
import { keyAfter } from '../plan/row-keys.ts'
import { rowRefused } from '../plan/rules.ts'
import type { Result, RowCounts } from '../response/result.ts'
import type { AnswerSink } from '../response/answer-sink.ts'
import type { Value } from '../types/column-type.ts'
import { countMatches } from './count-rows.ts'
import { isTaken, keyValue } from './insert.ts'
import { atRow, insertsRows, type RowsRun, type WatchRow } from './insert-rows.ts'
import { conditionOf } from './key-condition.ts'
import { KeyList } from './key-list.ts'
import { hasKey, readRows, STEP } from './read-rows.ts'
import { checkReference } from './references.ts'
import { runStatement } from './run-statement.ts'

type Run = (watchRow?: WatchRow) => Promise<Result>

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
  const wasTaken = mayFire(table, 'update') && assignments.some(({ column }) => key.includes(column)) && await areTakenByOthers(tx, { plan, database }, { key, before: list.keys, after })
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
  const own = new Set(before.map(textOf))
  for (let from = 0; from < after.length; from += STEP) {
    const list = new KeyList(key)
    await runStatement(tx, database, { verb: 'select', table, columns: key, condition: combine('or', after.slice(from, from + STEP)), order: [], limit: STEP }, list)
    if (list.keys.some((values) => !own.has(textOf(values)))) return true
  }
  return false
}

/** A row that was inserted, with the values of its key. */
interface InsertedRow { readonly result: Result, readonly values: readonly Value[] | undefined }

async function runRow (tx: Executor, execution: WrittenPlan<InsertPlan>, run: () => Promise<Result>): Promise<InsertedRow> {
  const check = await watchInsert(tx, execution)
  const result = await run()
  // a trigger of SQLite may leave the row out
  return { result, values: result.changed === 0 ? undefined : await check(result) }
}

/** Called before a row is inserted. Returns a function that looks the row up after that, and returns the values of its key. */
async function watchInsert (tx: Executor, { plan, database }: WrittenPlan<InsertPlan>): Promise<(outcome: Pick<Outcome, 'insertId'>) => Promise<readonly Value[]>> {
  const key = plan.written.key as readonly Column[]
  const wasTaken = mayFillColumns(plan.table) && await isTaken(tx, database, plan, key)
  return async (outcome) => {
    if (wasTaken) throw notSupported()
    const values = key.map((column): Value => {
      try {
        return keyValue(plan, column, outcome)
      } catch {
        throw notSupported() // a trigger has changed the key
      }
    })
    await requireRows(tx, { plan, database }, [hasKey(key, values)])
    return values
  }
}

/** One by one, as triggers may number the rows in any way. */
async function runList (tx: Executor, { plan, database }: WrittenPlan<RowsRun['plan']>, sink: AnswerSink | undefined): Promise<Result> {
  const { table, rows: { rows, isList }, written, returning } = plan
  const inserted: InsertedRow[] = []
  let last: readonly Column[] | undefined
  for (const row of rows) {
    const single = planSingle(table, row, written)
    const { key } = single.written
    if (sink !== undefined && last?.some((column, place) => column !== key[place]) === true) throw notSupported()
    last = key
    inserted.push(await runRow(tx, { plan: single, database }, () => runStatement(tx, database, single)).catch((error: unknown) => { throw isList ? inRow(error, row.index) : error }))
  }
  if (sink !== undefined && returning !== undefined) await readRows(tx, database, sink, { table, columns: returning, key: last as readonly Column[], keys: inserted.flatMap(({ values }) => values === undefined ? [] : [values]) })
  const insertId = inserted[0]?.result.insertId
  const changed = inserted.filter(({ values }) => values !== undefined).length
  return { rows: sink?.count ?? 0, changed, insertId, counts: { inserted: changed, updated: 0, unchanged: 0, insertId } }
}

/** Names the row that an error is about. */
function inRow (error: unknown, index: number | undefined): unknown {
  return keepsTransaction(error) || (error as ServiceError).code === 'PERMISSION_DENIED' ? atRow(error as ServiceError, index) : error
}

/** The insert of a row alone. @throws NOT_SUPPORTED if the values of no key are known */
function planSingle (table: Table, row: PlannedRow, written: Written) {
  const { assignments } = toWritten(row)
  const key = findInsertKey(table, assignments)
  if (key === undefined) throw notSupported()
  return { verb: 'insert' as const, table, assignments, written: { ...written, key } }
}

/** A row is found by the key of the conflict, or is new if it gives no value for that. */
async function runUpserts (tx: Executor, { plan, database }: WrittenPlan<RowsRun['plan']>, { conflict: { key, set }, run }: { conflict: Conflict, run: Run }): Promise<Result> {
  if (changesKey(key, set)) throw notSupported()
  const { table, rows: { isList }, written } = plan
  // a row that exists keeps what is not written, also where it could not be written: what it refers to is not checked
  const references = (row: PlannedRow) => written.references.filter(({ from }) => mayChange(plan, row, from))
  return await run(async (row) => {
    const condition = conditionOf(key, row)
    const check = condition === undefined
      ? await watchInsert(tx, { plan: planSingle(table, row, written), database })
      : async ({ inserted }: RowCounts): Promise<void> => await requireRows(tx, { plan: inserted > 0 ? plan : { ...plan, written: { ...written, references: references(row) } }, database }, [condition])
    // a row that was neither inserted nor updated may not be there: a trigger of SQLite has left it out
    return async (counts) => counts.inserted + counts.updated === 0 ? undefined : await check(counts).catch((error: unknown) => { throw isList ? inRow(error, row.index) : error })
  })
}

const changesKey = (key: readonly Column[], set: Conflict['set']): boolean => set.kind === 'assignments' && set.assignments.some(({ column }) => key.includes(column))

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
