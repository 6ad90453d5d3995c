/**
 * Runs an insert: by one statement if that is certain to do what one statement for each row would, and the database
 * accepts all rows; otherwise row by row. The database may refuse a row because it collides in a key other than the
 * named one, or because another client was faster: then another attempt may write it (`attempt`).
 *
 * Two clients that insert the same key: a plain insert is refused; the statement of an upsert waits for the other
 * client, and updates its row; a look-up that found no row, and whose insert is then refused, updates it
 * (`changeOrInsert`). A deadlock of an upsert or a list runs again as a transaction (`insertAtOnce`). SQLite has one
 * writer, so none of this occurs.
 */
import { type Column, type Table, traitsOf } from '../catalog/catalog.ts'
import { TRAITS } from '../catalog/traits.ts'
import { refusesRow, uniqueViolationOf } from '../dialects/dialect.ts'
import type { ServiceError } from '../errors.ts'
import { combine } from '../plan/filters/scope.ts'
import { knownKey, whyNumbersApart } from '../plan/insert-key.ts'
import {
  type Assignment, type Condition, type InsertPlan, isUpsert, type PlannedRow, type Returned
} from '../plan/plan.ts'
import { isPlainRow } from '../plan/write-options.ts'
import { decisionOf, factsOf, wayOf, whyOneByOne } from '../plan/writes.ts'
import type { ResponseSink } from '../response/response-sink.ts'
import {
  addCounts, countsOf, hideUnchanged, numberOf, type Result, type RowCounts, type RowOutcome
} from '../response/result.ts'
import { type BatchConflict, type RowBatch, toBatch } from '../sql/compile-insert.ts'
import { compileNumber } from '../sql/statement-cache.ts'
import { hasMoment, type Parameter, type Value } from '../types/column-type.ts'
import { TO_DEFAULT } from '../types/update-operators.ts'
import { atRow, isCheckedAfterWrite, watchRow } from './after-write.ts'
import { lookUpNumber, newId, selectsId, upsertedId } from './inserted-id.ts'
import { areTaken, conditionOf, givenKeys, keyChanged, readRows, type Runner } from './runner.ts'

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

/** One statement is not certain to do what one for each row would, or further statements follow it. */
export function mayNeedSeveral (plan: InsertPlan): boolean {
  const { table, rows, isList } = plan
  if (whyOneByOne(plan, rows) !== undefined || whyNumbersApart(plan) !== undefined) return true
  if (!isUpsert(plan)) return false
  return (!isList && selectsId(plan)) || (plan.conflict.condition !== undefined && leavesOutside(table))
}

/**
 * By one statement. `transact`: runs the plan in a transaction, where its rows may be written one by one. @throws
 * ServiceError, which names the row that was refused if it is known
 */
export async function insertAtOnce (
  plan: InsertPlan,
  runner: Runner,
  transact: () => Promise<Result>
): Promise<Result> {
  try {
    const result = resultOf(plan, await writeBatch({ plan, runner }, toBatch(plan, plan.rows)), runner)
    return result instanceof Promise ? await result : result
  } catch (error) {
    const { row, code } = error as ServiceError
    if (row !== undefined) throw atRow(error as ServiceError, listIndexOf(plan.rows[row] as PlannedRow, plan))
    // a transaction runs again after a deadlock, and row by row says which one is refused
    if (!isPlainRow(plan) && (code === 'DEADLOCK' || refusesRow(error))) return await transact()
    throw error
  }
}

interface InsertRun {
  readonly plan: InsertPlan
  readonly runner: Runner
  readonly onBatch?: ((batch: RowBatch, counts: RowCounts) => Promise<void>) | undefined
}

function toParts (plan: InsertPlan): ReadonlyArray<readonly PlannedRow[]> {
  const { rows } = plan
  switch (whyNumbersApart(plan)?.rows) {
    case undefined: return [rows]
    case 'first': return [rows.slice(0, 1), rows.slice(1)]
    case 'all': return rows.map((row) => [row])
  }
}

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
  if (isList) return { ...result, id: 'null' }
  return upsertedId({ ...plan, conflict }, counts, runner).then((id) => ({ ...result, id }))
}

/**
 * Writes rows by one statement if that is certain and not refused, else one by one. `outcomes`: takes what became of
 * each row, by its position in `data`.
 */
async function runTogether (
  insertRun: InsertRun,
  rows: readonly PlannedRow[],
  outcomes: RowOutcome[] | undefined
): Promise<RowCounts> {
  const { plan } = insertRun
  // one row by its attempts, which begin with the same statement
  if (rows.length === 1 || whyOneByOne(plan, rows) !== undefined) {
    return await runOneByOne(insertRun, rows, outcomes)
  }
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

/** @throws ServiceError, which names the row that was refused */
async function writeRow (insertRun: InsertRun, row: PlannedRow): Promise<RowCounts> {
  try {
    return await attempt(insertRun, row)
  } catch (error) {
    throw refusesRow(error) ? atRow(error, listIndexOf(row, insertRun.plan)) : error
  }
}

/**
 * Writes one row in its way (src/plan/writes.ts), and in another one if the database refuses it. The statement knows
 * what a trigger makes of the row, a look-up finds the row that has the named key: each may succeed where the other has
 * failed. Neither is tried twice.
 */
function attempt (insertRun: InsertRun, row: PlannedRow): Promise<RowCounts> {
  const { plan } = insertRun
  const { looksUpRefused, looksUpOutOfRange, guardsRefused } = decisionOf(plan, row)
  const batch = toBatch(plan, [row])
  const lookUp = (): Promise<RowCounts> => lookUpRow(insertRun, batch as UpsertBatch)
  // the server may have checked another unique key before the named one, in which the row may collide too
  const isLookedUp: Reason = (code) => isTaken(code)
    ? looksUpRefused
    : code === 'VALUE_OUT_OF_RANGE' && looksUpOutOfRange
  const guarded = (isThere = false): Promise<RowCounts> =>
    orElse(writeBatch(insertRun, batch, isThere), isLookedUp, lookUp)
  switch (wayOf(plan, row).way) {
    case 'insert': return writeBatch(insertRun, batch)
    case 'guarded': return guarded()
    // the statement would do more than requested: it runs only for a row that is found, by look-up or refused insert
    case 'look-up':
      return orElse(lookUp(), (code) => guardsRefused && isTaken(code), () => writeBatch(insertRun, batch, true))
    // the statement might count a row that exists as inserted
    case 'insert-first': {
      const { conflict: _, ...plain } = batch
      return orElse(writeBatch(insertRun, plain), isTaken, () => guarded(true))
    }
  }
}

type Reason = (code: ServiceError['code']) => boolean

const isTaken: Reason = (code) => code === 'UNIQUE_VIOLATION'

const orElse = (
  running: Promise<RowCounts>,
  isReason: Reason,
  next: () => Promise<RowCounts>
): Promise<RowCounts> => running.catch((error: unknown) => {
  if (isReason((error as ServiceError).code)) return next()
  throw error
})

type UpsertBatch = RowBatch & { readonly conflict: BatchConflict }

async function lookUpRow ({ runner, onBatch }: InsertRun, batch: UpsertBatch): Promise<RowCounts> {
  const counts = await changeOrInsert(batch, runner)
  await onBatch?.(batch, counts)
  return counts
}

/** Updates the row that exists by key and rules, or inserts the row. */
async function changeOrInsert (batch: UpsertBatch, runner: Runner): Promise<RowCounts> {
  const { conflict, ...plain } = batch
  const sameKey = conditionOf(conflict.key, batch.rows[0] as PlannedRow)
  const condition = sameKey && conflict.condition ? combine('and', [sameKey, conflict.condition]) : sameKey
  // without a lock, which the servers add at SERIALIZABLE only, because locking a row that does not exist prevents
  // others from inserting theirs; what it reads may be older, but the statements after it write current rows
  const isThere = condition !== undefined && await runner.exists(batch.table, condition)
  const changed = isThere ? await changeRow(batch, runner, condition) : undefined
  if (changed !== undefined) return changed
  try {
    return countsOf(plain, await runner.insert(plain))
  } catch (error) {
    // another client may have inserted the row in the meantime
    const isFaster = condition !== undefined && isTaken((error as ServiceError).code)
    const changed = isFaster ? await changeRow(batch, runner, condition) : undefined
    if (changed === undefined) throw error
    return changed
  }
}

/**
 * Writes the row that exists, or only locks it if nothing is written; undefined if there is none. Reads its number
 * first, because an update does not report it.
 */
async function changeRow (batch: UpsertBatch, runner: Runner, condition: Condition): Promise<RowCounts | undefined> {
  const { table, conflict: { key, reported } } = batch
  const assignments = assignmentsOf(batch)
  const isIdle = assignments.length === 0
  const numberColumn = assignments.some(({ column }) => column === reported) ? undefined : reported
  let insertId: string | undefined
  if (isIdle || numberColumn !== undefined) {
    const [found] = await runner.keys({
      table,
      columns: numberColumn === undefined ? key : [numberColumn],
      condition,
      limit: 1,
      lock: isIdle ? 'share' : 'update'
    })
    if (found === undefined) return undefined
    if (numberColumn !== undefined) insertId = String(found[0])
  }
  if (isIdle) return { inserted: 0, updated: 0, unchanged: 1, insertId }
  const update = await runner.run({ verb: 'update', table, assignments, condition })
  if (update.matched === 0) return undefined
  // a trigger may have given the row another number, or another key
  if (numberColumn !== undefined && factsOf(table).precedesChange) {
    const [found] = await runner.keys({ table, columns: [numberColumn], condition, limit: 1 })
    if (found !== undefined) insertId = String(found[0])
    else if (key.includes(numberColumn)) insertId = undefined
  }
  return hideUnchanged(batch, { inserted: 0, updated: update.changed, unchanged: 1 - update.changed, insertId })
}

function assignmentsOf ({ rows, conflict: { written, assignments } }: UpsertBatch): Assignment[] {
  const { columns, parameters } = rows[0] as PlannedRow
  const ofRow = written.map((column): Assignment => {
    const index = columns.indexOf(column)
    return index < 0
      ? { column, parameter: null, operator: TO_DEFAULT }
      : { column, parameter: parameters[index] as Parameter }
  })
  return [...ofRow, ...assignments]
}

/** `isThere`: the only row of the batch exists, so that it is not counted as inserted. */
async function writeBatch ({ runner, onBatch }: InsertRun, batch: RowBatch, isThere = false): Promise<RowCounts> {
  const result = await runner.insert(batch)
  const counts = countsOf(batch, isThere && result.changed === 1 ? { ...result, changed: 0 } : result)
  if (batch.conflict?.condition !== undefined && leavesOutside(batch.table)) {
    await refuseOutside(batch as UpsertBatch, counts, runner)
  }
  if (onBatch !== undefined) await onBatch(batch, counts)
  return counts
}

/** SQLite leaves a row that does not satisfy the rules of a grant as it is; the statement of others refuses it. */
const leavesOutside = (table: Table): boolean => traitsOf(table).namesKey

/**
 * Looks up the rows that the statement has left as they are, and refuses those outside of the rules.
 * @throws UNIQUE_VIOLATION with the index of the row, as the statement of other engines does
 */
async function refuseOutside (
  { table, rows, conflict: { key, condition } }: UpsertBatch,
  { untouched }: RowCounts,
  runner: Runner
): Promise<void> {
  // never undefined: without them, the rules of the grant would not be tested
  for (const row of untouched as readonly number[]) {
    const sameKey = conditionOf(key, rows[row] as PlannedRow)
    if (sameKey === undefined || !await runner.exists(table, sameKey)) continue
    if (await runner.exists(table, combine('and', [sameKey, condition as Condition]))) continue
    const unique = table.uniqueKeys.find(
      ({ columns }) => columns.length === key.length && key.every(({ name }) => columns.includes(name))
    )
    throw Object.assign(uniqueViolationOf(unique), { row })
  }
}

/** The position of a row in `data`, if that is a list. */
const listIndexOf = ({ index }: PlannedRow, { isList }: InsertPlan): number | undefined => isList ? index : undefined

// `returning`: the rows are read again by their keys, and by numbers of the database where the request gives none.

export type ReturningPlan = InsertPlan & { readonly returning: Returned, readonly key: readonly Column[] }

/** @throws NOT_SUPPORTED if a trigger has changed the key of a row */
export async function insertReturning (plan: ReturningPlan, runner: Runner, sink: ResponseSink): Promise<Result> {
  const { table, rows, conflict, returning, key, isFoundByNumber = false } = plan
  const numberColumn = key.find(({ autoIncrement }) => autoIncrement)
  const wasTaken =
    conflict === undefined &&
    factsOf(table).fillsNew &&
    (await areTaken(runner, { table, key, keys: givenKeys(key, rows) }))
  /** The database gave them. */
  const numbers = new Map<PlannedRow, Value>()
  const untouched = new Set<PlannedRow>()
  const onBatch = async (batch: RowBatch, counts: RowCounts): Promise<void> => {
    const { rows } = batch
    const { inserted, updated, insertId, untouched: indexes = [] } = counts
    for (const index of batch.conflict === undefined && inserted === 0 ? rows.keys() : indexes) {
      untouched.add(rows[index] as PlannedRow)
    }
    const [row] = rows as [PlannedRow]
    if (numberColumn === undefined || knownKey(plan, row, numberColumn) !== null) return
    const read = isFoundByNumber && isUpsert(plan) ? await lookUpNumber({ ...plan, rows }, counts, runner) : undefined
    if (read === 'null' && updated > 0) throw keyChanged('/returning')
    const first = read ?? insertId
    if (first === undefined || first === 'null') return
    const step = rows.length > 1 ? await readStep(runner, table) : 1n
    for (const [offset, row] of rows.entries()) {
      numbers.set(row, numberOf(numberColumn, offset === 0 ? first : String(BigInt(first) + BigInt(offset) * step)))
    }
  }
  const result = await runInsert({ plan, runner, onBatch })
  if (wasTaken && result.changed > 0) throw keyChanged('/returning')
  const inOrder: PlannedRow[] = []
  for (const row of rows) inOrder[row.index] = row
  const written = inOrder
    .filter((row) => !untouched.has(row) || (conflict !== undefined && (!isFoundByNumber || numbers.has(row))))
  const keys = written.map((row) => key.map((column) => {
    const value = knownKey(plan, row, column) ?? numbers.get(row)
    if (value === undefined) throw keyChanged('/returning')
    return value
  }))
  await readRows(runner, sink, {
    table,
    ...returning,
    key,
    keys,
    optional: untouched.size === 0
      ? undefined
      : new Set(written.flatMap((row, index) => (untouched.has(row) ? [index] : [])))
  })
  return { ...result, rows: sink.count }
}

/** Between numbers of rows in a session: not 1 in clusters with several writable servers. */
async function readStep (runner: Runner, table: Table): Promise<bigint> {
  return TRAITS[runner.engine].numbersInSteps ? BigInt(await runner.number(compileNumber('step', table))) : 1n
}
