/**
 * Runs an insert or upsert: as one statement if that is certain to do what one statement for each row would, and the
 * database accepts all rows; otherwise row by row.
 */
import { type Column, type Table, traitsOf } from '../catalog/catalog.ts'
import { TRAITS } from '../catalog/traits.ts'
import { refusesRow, uniqueViolationOf } from '../dialects/dialect.ts'
import { ServiceError } from '../errors.ts'
import { combine } from '../plan/filters/scope.ts'
import { type Assignment, boundValue, type Condition, type InsertPlan, type PlannedRow } from '../plan/plan.ts'
import { withinRules } from '../plan/rule.ts'
import { isOneRow } from '../plan/write-options.ts'
import { factsOf, isComputedKey, wayOf, whyOneByOne, writesOf } from '../plan/writes.ts'
import { writeValue } from '../response/cells.ts'
import {
  addCounts, countsOf, numberOf, type Result, type RowCounts, type RowOutcome, shownNumber, withoutHidden
} from '../response/result.ts'
import { compileLastId } from '../sql/statement-cache.ts'
import { type BatchConflict, type RowBatch, toBatch, toParts } from '../sql/row-batches.ts'
import type { RequestRecord } from '../telemetry/record.ts'
import type { Parameter, Value } from '../types/column-type.ts'
import { hasMoment } from '../types/moment.ts'
import { TO_DEFAULT } from '../types/update-operators.ts'
import { atRow, isCheckedAfterWrite, watchRow } from './after-write.ts'
import { conditionOf, hasKey, readKey, type Runner } from './runner.ts'

// Writes a row of an upsert by its key: updates the row that exists, or inserts it. This is necessary for a row that
// collides in a key other than the named one: the server may have checked that key first although the row also collides
// in the named key. If it does not, the insert fails. Other rows are written like this because the statement of an
// upsert would do more than requested (`isByKey`).

/** A batch of one row. */
type Upsert = RowBatch & { readonly conflict: BatchConflict }

/** @throws ServiceError */
async function resolveRow (batch: Upsert, runner: Runner): Promise<RowCounts> {
  const { table, conflict, rows } = batch
  const sameKey = conditionOf(conflict.key, rows[0] as PlannedRow)
  const condition =
    sameKey === undefined || conflict.within === undefined ? sameKey : combine('and', [sameKey, conflict.within])
  // without a lock, because locking a row that does not exist prevents others from inserting theirs
  const isThere = condition !== undefined && await runner.exists(table, condition)
  const counts = isThere ? await changeRow(batch, runner, condition) : undefined
  if (counts !== undefined) return counts
  const { conflict: _, ...plain } = batch
  try {
    return countsOf(plain, await runner.insert(plain))
  } catch (error) {
    // another client may have inserted the row in the meantime
    const changed =
      condition === undefined || (error as ServiceError).code !== 'UNIQUE_VIOLATION'
        ? undefined
        : await changeRow(batch, runner, condition)
    if (changed === undefined) throw error
    return changed
  }
}

/**
 * Writes the row that exists, or only locks it if nothing is written; undefined if there is none. Reads its number
 * first, because an update that may run a trigger does not report it.
 */
async function changeRow (batch: Upsert, runner: Runner, condition: Condition): Promise<RowCounts | undefined> {
  const { table, conflict: { key, identity } } = batch
  const assignments = assignmentsOf(batch)
  const isIdle = assignments.length === 0
  const numbered = assignments.some(({ column }) => column === identity) ? undefined : identity
  let insertId: string | undefined
  if (isIdle || numbered !== undefined) {
    const [found] = await runner.keys({
      table,
      columns: numbered === undefined ? key : [numbered],
      condition,
      limit: 1,
      lock: isIdle ? 'share' : 'update'
    })
    if (found === undefined) return undefined
    if (numbered !== undefined) insertId = String(found[0])
  }
  if (isIdle) return { inserted: 0, updated: 0, unchanged: 1, insertId }
  const update = await runner.run({ verb: 'update', table, assignments, condition })
  if (update.matched === 0) return undefined
  // a trigger may have given the row another number, or another key
  if (numbered !== undefined && factsOf(table).precedesChange) {
    const [found] = await runner.keys({ table, columns: [numbered], condition, limit: 1 })
    if (found !== undefined) insertId = String(found[0])
  }
  return withoutHidden(batch, { inserted: 0, updated: update.changed, unchanged: 1 - update.changed, insertId })
}

/** The values that are written to the row that exists. */
function assignmentsOf ({ rows, conflict: { written, assignments } }: Upsert): Assignment[] {
  const { columns, parameters } = rows[0] as PlannedRow
  const given = written.map((column): Assignment => {
    const index = columns.indexOf(column)
    return index < 0
      ? { column, parameter: null, operator: TO_DEFAULT }
      : { column, parameter: parameters[index] as Parameter }
  })
  return [...given, ...assignments]
}

/**
 * Looks up the rows that an upsert of SQLite has left as they are, which it does with a row that does not satisfy the
 * rules of a grant (src/sql/compile-insert.ts). Such a row is refused as MySQL's statement refuses it.
 * @throws UNIQUE_VIOLATION with the index of the row
 */
async function requireWithin (
  { batch: { table, rows, conflict }, within }: { readonly batch: RowBatch, readonly within: Condition },
  { untouched = [] }: RowCounts,
  runner: Runner
): Promise<void> {
  const { key } = conflict as BatchConflict
  for (const row of untouched) {
    const sameKey = conditionOf(key, rows[row] as PlannedRow)
    if (sameKey === undefined || !await runner.exists(table, sameKey)) continue
    if (await runner.exists(table, combine('and', [sameKey, within]))) continue
    const unique = table.uniqueKeys.find(
      ({ columns }) => columns.length === key.length && key.every(({ name }) => columns.includes(name))
    )
    throw Object.assign(uniqueViolationOf(unique), { row })
  }
}

// Finds the id of the row of an insert.

/** The id as JSON of the first row that was inserted; null if it is not certain. */
function newId (table: Table, { columns, parameters }: PlannedRow, { inserted, insertId }: RowCounts): string {
  const { identity } = table
  // a trigger of SQLite may skip the row, or change its key afterwards
  if (identity === undefined || inserted === 0 || insertId === undefined) return 'null'
  const index = columns.indexOf(identity)
  const given = index < 0 ? null : boundValue(parameters[index])
  // a BEFORE INSERT trigger may set the key, and the database only reports the value of an AUTO_INCREMENT column
  if (given !== null && !factsOf(table).fillsNew) return identity.type.storedJson(given)
  return identity.autoIncrement ? shownNumber(identity, insertId) : 'null'
}

/**
 * The id as JSON of the only row of an upsert as it is after the statement; null if it is not certain. @throws
 * ServiceError
 */
async function idOf (plan: InsertPlan, counts: RowCounts, runner: Runner): Promise<string> {
  const { table, table: { identity }, rows, isList, conflict } = plan
  if (conflict === undefined || identity === undefined || isList) return 'null'
  const { readsId } = writesOf(plan, rows[0] as PlannedRow)
  const stored = readsId ? await readStoredId(plan, counts, runner) : undefined
  if (stored !== undefined) return stored
  const { inserted, insertId } = counts
  const row = rows[0] as PlannedRow
  if (inserted > 0) return newId(table, row, counts)
  const index = row.columns.indexOf(identity)
  const given = index < 0 ? null : boundValue(row.parameters[index])
  const known = given === null ? 'null' : identity.type.storedJson(given)
  const { key, set } = conflict
  const assigned = set.kind === 'assignments' ? set.assignments.find(({ column }) => column === identity) : undefined
  if (assigned !== undefined) {
    return assigned.operator === undefined && assigned.parameter !== null
      ? identity.type.storedJson(boundValue(assigned.parameter) as Value)
      : 'null'
  }
  const isWritten = set.kind === 'columns' ? set.columns.includes(identity) : set.kind === 'given'
  if (!isWritten || index < 0) {
    if (identity.autoIncrement && insertId !== undefined) return shownNumber(identity, insertId)
    const existing = readsId ? await readExistingId(plan, counts, runner) : undefined
    if (existing !== undefined) return existing
  }
  // a row that was found by another key has another id, and a BEFORE INSERT trigger may have made it the key of another
  // row
  const isOfRow = isWritten || key.includes(identity)
  return isOfRow && (identity.autoIncrement || !factsOf(table).fillsNew) ? known : 'null'
}

/**
 * Returns the id as JSON of the row that existed, if its key has been computed, so that only the statement has found
 * it. @throws ServiceError
 */
async function readExistingId (plan: InsertPlan, counts: RowCounts, runner: Runner): Promise<string | undefined> {
  const { table, table: { identity }, rows, conflict } = plan
  const { inserted, existing, insertId } = counts
  if (inserted > 0 || identity === undefined || !isComputedKey(conflict?.key ?? [], rows[0] as PlannedRow)) {
    return undefined
  }
  if (!TRAITS[runner.engine].reportsNumbers) {
    return existing === undefined || existing === null ? undefined : writeValue(identity, existing)
  }
  // no table reports a number that it has not given
  const isReported = identity.autoIncrement && insertId !== undefined
  if (isReported || identity.type.wholeNumbers !== true) return undefined
  return shownNumber(identity, await runner.number(compileLastId(table)))
}

/**
 * Returns the id as JSON of the row as it is now, or null if it is not found; undefined if the id is reported, or if
 * only the statement has found the row. @throws ServiceError
 */
async function readStoredId (
  { table, rows, conflict }: InsertPlan,
  counts: RowCounts,
  runner: Runner
): Promise<string | undefined> {
  const { inserted, insertId } = counts
  const { identity } = table
  const row = rows[0] as PlannedRow
  if (conflict === undefined || identity === undefined) return undefined
  // a BEFORE INSERT trigger may have changed the key
  const isReported = insertId !== undefined || factsOf(table).fillsNew
  if (TRAITS[runner.engine].reportsNumbers && identity.autoIncrement && isReported) return undefined
  const { key, set } = conflict
  const changes = inserted > 0 || set.kind !== 'assignments' ? [] : set.assignments
  if (changes.some(({ column, operator }) => operator !== undefined && key.includes(column))) return undefined
  const written = {
    columns: [...changes.map(({ column }) => column), ...row.columns],
    parameters: [...changes.map(({ parameter }) => parameter), ...row.parameters]
  }
  const condition = isComputedKey(key, written) ? undefined : conditionOf(key, written)
  const readNumber = async (condition: Condition | undefined): Promise<string | undefined> =>
    condition && await runner.value({ table, column: identity, condition: withinRules(table, condition) })
  return condition && ((await readNumber(condition)) ?? (await readNumber(byNumber(identity, counts))) ?? 'null')
}

/** The condition of the row with the number that was reported: SQLite's triggers may have given it another key. */
function byNumber (identity: Column, { inserted, insertId, existing = null }: RowCounts): Condition | undefined {
  const isNew = inserted > 0
  if (isNew ? !identity.autoIncrement || insertId === undefined : existing === null) return undefined
  return hasKey([identity], [isNew ? numberOf(identity, insertId as string) : readKey(identity, existing)])
}

/** Returns the id as JSON of the row of an upsert; undefined if it is reported. @throws ServiceError */
export const readId = async (plan: InsertPlan, counts: RowCounts, runner: Runner): Promise<string | undefined> =>
  await readStoredId(plan, counts, runner) ?? await readExistingId(plan, counts, runner)

/** The plan with values in place of moments, so that its keys are known. @throws VALUE_OUT_OF_RANGE */
export async function bindMoments (plan: InsertPlan, runner: Runner): Promise<InsertPlan> {
  const { conflict } = plan
  const rows = [...plan.rows]
  for (const [index, row] of rows.entries()) {
    if (!hasMoment(row.parameters)) continue
    const parameters = await runner.bind(row.parameters).catch((error: unknown) => {
      throw atRow(error as ServiceError, listIndexOf(row, plan))
    })
    rows[index] = { ...row, parameters }
  }
  if (conflict?.set.kind !== 'assignments') return { ...plan, rows }
  const assignments = await runner.bindAssignments(conflict.set.assignments)
  return { ...plan, rows, conflict: { ...conflict, set: { ...conflict.set, assignments } } }
}

export interface InsertRun {
  readonly plan: InsertPlan
  readonly runner: Runner
  /** Called with each batch of rows that one statement has written. */
  readonly onBatch?: ((batch: RowBatch, counts: RowCounts) => Promise<void>) | undefined
}

/**
 * Runs an insert by itself: as one statement if possible, otherwise in a transaction. @throws ServiceError, which names
 * the row that was refused
 */
export async function executeInsert (
  insertRun: InsertRun,
  { record, transact }: {
    readonly record: RequestRecord | null | undefined
    readonly transact: () => Promise<Result>
  }
): Promise<Result> {
  const { plan, runner } = insertRun
  if (mayNeedSeveral(plan)) return await transact()
  record?.compiled()
  try {
    const result = resultOf(plan, await runBatch(insertRun, toBatch(plan, plan.rows)), runner)
    return result instanceof Promise ? await result : result
  } catch (error) {
    const { code, row } = error as ServiceError
    if (row !== undefined) throw atRow(error as ServiceError, listIndexOf(plan.rows[row] as PlannedRow, plan))
    if (!isOneRow(plan) && (isOfRow(error) || code === 'DEADLOCK')) return await transact()
    throw error
  }
}

/** Whether an insert may need several statements. */
function mayNeedSeveral (plan: InsertPlan): boolean {
  const { table, rows, isList, conflict, writes } = plan
  if (writes.size === 0) return false
  if (whyOneByOne(plan, rows) !== undefined || toParts(plan).length > 1) return true
  if (conflict === undefined) return false
  return (!isList && writesOf(plan, rows[0] as PlannedRow).readsId) ||
    (conflict.within !== undefined && traitsOf(table).namesKey)
}

/**
 * Runs the insert in a transaction. @throws ServiceError, which names the row that was refused and must undo the
 * transaction
 */
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
  const { table, rows, conflict } = plan
  if (conflict === undefined) return { ...result, id: newId(table, rows[0] as PlannedRow, counts) }
  return idOf(plan, counts, runner).then((id) => ({ ...result, id }))
}

/** Runs the statement of a row that exists, which is not counted as inserted. */
async function runExisting (batch: RowBatch, runner: Runner): Promise<RowCounts> {
  const result = await runner.insert(batch)
  return countsOf(batch, result.changed === 1 ? { ...result, changed: 0 } : result)
}

/** `isThere`: whether the only row of the batch exists. */
async function runBatch ({ runner, onBatch }: InsertRun, batch: RowBatch, isThere = false): Promise<RowCounts> {
  const counts = isThere ? await runExisting(batch, runner) : countsOf(batch, await runner.insert(batch))
  const { within } = batch.conflict ?? {}
  if (within !== undefined) await requireWithin({ batch, within }, counts, runner)
  if (onBatch !== undefined) await onBatch(batch, counts)
  return counts
}

/**
 * Writes rows: by one statement if that is certain and not refused, else one by one. `outcomes`: takes what became of
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
    return await runBatch(insertRun, toBatch(plan, rows))
  } catch (error) {
    if (!isOfRow(error)) throw error
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
    const counts = isCheckedAfterWrite(plan)
      ? await runner.writeAndCheck((runner) => runRow({ ...insertRun, runner }, row), await watchRow(runner, plan, row))
      : await runRow(insertRun, row)
    if (outcomes !== undefined) outcomes[row.index] = outcomeOf(counts)
    total = addCounts(total, counts)
  }
  return total as RowCounts
}

const outcomeOf = ({ inserted, updated }: RowCounts): RowOutcome =>
  inserted > 0 ? 'inserted' : updated > 0 ? 'updated' : 'unchanged'

/**
 * Writes a row by its key if its statement might do more than requested, or is refused where the values that a trigger
 * sets cannot be the reason.
 */
async function runRow (insertRun: InsertRun, row: PlannedRow): Promise<RowCounts> {
  const { plan, runner, onBatch } = insertRun
  const batch = toBatch(plan, [row])
  const writes = writesOf(plan, row)
  const resolve = async (): Promise<RowCounts> => {
    const counts = await resolveRow(batch as Upsert, runner).catch((error: unknown) => {
      if ((error as ServiceError).code !== 'UNIQUE_VIOLATION' || !writes.hidesKey) throw error
      return runExisting(batch, runner)
    })
    await onBatch?.(batch, counts)
    return counts
  }
  try {
    const { way } = wayOf(plan, row)
    if (way === 'look-up') return await resolve()
    const isFirst = way === 'insert-first'
    if (isFirst) {
      const { conflict: _, ...plain } = batch
      const counts = await runBatch(insertRun, plain).catch((error: unknown) => {
        if ((error as ServiceError).code !== 'UNIQUE_VIOLATION') throw error
      })
      if (counts !== undefined) return counts
    }
    return await runBatch(insertRun, batch, isFirst).catch(async (error: unknown) => {
      const { code } = error as ServiceError
      const isOther = code === 'UNIQUE_VIOLATION' && writes.looksUpRefused
      const lacksNumber = code === 'VALUE_OUT_OF_RANGE' && writes.takesNumber
      if (batch.conflict === undefined || (!isOther && !lacksNumber)) throw error
      return await resolve()
    })
  } catch (error) {
    throw isOfRow(error) ? atRow(error, listIndexOf(row, plan)) : error
  }
}

const listIndexOf = ({ index }: PlannedRow, { isList }: InsertPlan): number | undefined => isList ? index : undefined

/** Whether the database has refused a row, without which the transaction can continue. */
const isOfRow = (error: unknown): error is ServiceError => error instanceof ServiceError && refusesRow(error)
