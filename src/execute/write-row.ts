/**
 * Writes one row of an insert in its way (src/plan/writes.ts), and in another one if the database refuses it: because
 * it collides in a key other than the named one, or because another client was faster.
 */
import { refusesRow, uniqueViolationOf } from '../dialects/dialect.ts'
import type { ServiceError } from '../errors.ts'
import { combine } from '../plan/filters/scope.ts'
import type { Assignment, Condition, InsertPlan, PlannedRow, Writes } from '../plan/plan.ts'
import { factsOf, wayOf, writesOf } from '../plan/writes.ts'
import { countsOf, type RowCounts, withoutHidden } from '../response/result.ts'
import { type BatchConflict, type RowBatch, toBatch } from '../sql/row-batches.ts'
import type { Parameter } from '../types/column-type.ts'
import { TO_DEFAULT } from '../types/update-operators.ts'
import { atRow } from './after-write.ts'
import { conditionOf, type Runner } from './runner.ts'

export interface InsertRun {
  readonly plan: InsertPlan
  readonly runner: Runner
  readonly onBatch?: ((batch: RowBatch, counts: RowCounts) => Promise<void>) | undefined
}

/** An attempt to write a row. `mayFollow`: whether the next one may write a row that the database has refused. */
interface Attempt {
  readonly write: (insertRun: InsertRun, batch: RowBatch) => Promise<RowCounts>
  readonly mayFollow: (code: ServiceError['code'], writes: Writes) => boolean
}

const isTaken = (code: ServiceError['code']): boolean => code === 'UNIQUE_VIOLATION'

const STATEMENT: Attempt = {
  write: writeBatch,
  mayFollow: (code, { looksUpRefused, looksUpOutOfRange }) =>
    (isTaken(code) && looksUpRefused) || (code === 'VALUE_OUT_OF_RANGE' && looksUpOutOfRange)
}
/** The same for a row that exists, also by the key that a trigger has given it. */
const EXISTING: Attempt = { ...STATEMENT, write: (insertRun, batch) => writeBatch(insertRun, batch, true) }
const INSERT: Attempt = {
  write: (insertRun, { conflict: _, ...plain }) => writeBatch(insertRun, plain),
  mayFollow: isTaken
}
const LOOK_UP: Attempt = { write: lookUp, mayFollow: (code, { hidesKey }) => isTaken(code) && hidesKey }

/** The attempts of each way, one after the other. */
const ATTEMPTS: Readonly<Record<Writes['way'], readonly Attempt[]>> = {
  insert: [STATEMENT],
  guarded: [STATEMENT, LOOK_UP, EXISTING],
  'insert-first': [INSERT, EXISTING, LOOK_UP, EXISTING],
  'look-up': [LOOK_UP, EXISTING]
}

/** The row is alone in its batch. @throws ServiceError, which names the row that was refused */
export async function writeRow (insertRun: InsertRun, row: PlannedRow): Promise<RowCounts> {
  const { plan } = insertRun
  const batch = toBatch(plan, [row])
  const attempts = ATTEMPTS[wayOf(plan, row).way]
  for (let count = 0; ; count++) {
    const { write, mayFollow } = attempts[count] as Attempt
    try {
      return await write(insertRun, batch)
    } catch (error) {
      const isLast = count === attempts.length - 1
      if (isLast || !mayFollow((error as ServiceError).code, writesOf(plan, row))) {
        throw refusesRow(error) ? atRow(error, listIndexOf(row, plan)) : error
      }
    }
  }
}

// Writing a row of an upsert by its key is necessary for a row that collides in a key other than the named one: the
// server may have checked that key first although the row also collides in the named key. If it does not, the insert
// fails. Other rows are written like this because the statement of an upsert would do more than requested.

type Upsert = RowBatch & { readonly conflict: BatchConflict }

async function lookUp ({ runner, onBatch }: InsertRun, batch: RowBatch): Promise<RowCounts> {
  const counts = await resolveRow(batch as Upsert, runner)
  await onBatch?.(batch, counts)
  return counts
}

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
 * first, because an update does not report it.
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

/** `isThere`: the only row of the batch exists, so that it is not counted as inserted. */
export async function writeBatch (
  { runner, onBatch }: InsertRun,
  batch: RowBatch,
  isThere = false
): Promise<RowCounts> {
  const result = await runner.insert(batch)
  const counts = countsOf(batch, isThere && result.changed === 1 ? { ...result, changed: 0 } : result)
  const { within } = batch.conflict ?? {}
  if (within !== undefined) await requireWithin({ batch, within }, counts, runner)
  if (onBatch !== undefined) await onBatch(batch, counts)
  return counts
}

/** The position of a row in `data`, if that is a list. */
export const listIndexOf = ({ index }: PlannedRow, { isList }: InsertPlan): number | undefined =>
  isList ? index : undefined
