/**
 * Writes a row of an upsert by its key: updates the row that exists, or inserts it. This is necessary for a row that collides in a key other than the
 * named one: the server may have checked that key first although the row also collides in the named key. If it does not, the insert fails. Other rows
 * are written like this because the statement of an upsert would do more than requested (`isSeparate`).
 */
import type { ServiceError } from '../errors.ts'
import { combine } from '../plan/filters/constants.ts'
import type { Assignment, Condition, PlannedRow } from '../plan/plan.ts'
import type { BatchConflict, RowBatch } from '../sql/row-batches.ts'
import type { Parameter } from '../types/column-type.ts'
import { TO_DEFAULT } from '../types/forms.ts'
import { conditionOf } from './key-condition.ts'
import type { RowCounts } from '../response/result.ts'
import { countsOf, withoutHidden } from './row-counts.ts'
import type { Runner } from './runner.ts'

/** A batch of one row. */
type Upsert = RowBatch & { readonly conflict: BatchConflict }

/** @throws ServiceError */
export async function resolveRow (batch: Upsert, runner: Runner): Promise<RowCounts> {
  const { table, conflict, rows } = batch
  const sameKey = conditionOf(conflict.key, rows[0] as PlannedRow)
  const condition = sameKey === undefined || conflict.within === undefined ? sameKey : combine('and', [sameKey, conflict.within])
  // without a lock, because locking a row that does not exist prevents others from inserting theirs
  const isThere = condition !== undefined && await runner.count(table, condition, 1) !== '0'
  const counts = isThere ? await changeRow(batch, runner, condition) : undefined
  if (counts !== undefined) return counts
  const { conflict: _, ...plain } = batch
  try {
    return countsOf(plain, await runner.insert(plain))
  } catch (error) {
    // another client may have inserted the row in the meantime
    const changed = condition === undefined || (error as ServiceError).code !== 'UNIQUE_VIOLATION' ? undefined : await changeRow(batch, runner, condition)
    if (changed === undefined) throw error
    return changed
  }
}

/**
 * Writes the row that exists, or only locks it if nothing is written; undefined if there is none. Reads its number first, because an update that may
 * run a trigger does not report it.
 */
async function changeRow (batch: Upsert, runner: Runner, condition: Condition): Promise<RowCounts | undefined> {
  const { table, conflict: { key, identity } } = batch
  const assignments = assignmentsOf(batch)
  const isIdle = assignments.length === 0
  const numbered = assignments.some(({ column }) => column === identity) ? undefined : identity
  let insertId: string | undefined
  if (isIdle || numbered !== undefined) {
    const [found] = await runner.keys({ table, columns: numbered === undefined ? key : [numbered], condition, limit: 1, lock: isIdle ? 'share' : 'update' })
    if (found === undefined) return undefined
    if (numbered !== undefined) insertId = String(found[0])
  }
  if (isIdle) return { inserted: 0, updated: 0, unchanged: 1, insertId }
  const update = await runner.run({ verb: 'update', table, assignments, condition })
  return update.matched === 0 ? undefined : withoutHidden(batch, { inserted: 0, updated: update.changed, unchanged: 1 - update.changed, insertId })
}

/** The values that are written to the row that exists. */
function assignmentsOf ({ rows, conflict: { written, assignments } }: Upsert): Assignment[] {
  const { columns, parameters } = rows[0] as PlannedRow
  const given = written.map((column): Assignment => {
    const index = columns.indexOf(column)
    return index < 0 ? { column, parameter: null, form: TO_DEFAULT } : { column, parameter: parameters[index] as Parameter }
  })
  return [...given, ...assignments]
}
