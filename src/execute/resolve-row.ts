/**
 * Writes a row of an upsert by its key: updates the row that exists, or inserts it. That is necessary for a row that collides in another key
 * than the named one: the server may have met that key first although the row collides in the named key as well. If it does not, the insert fails.
 */
import type { Column } from '../catalog/catalog.ts'
import type { Database } from '../databases/database.ts'
import type { Executor } from '../dialects/dialect.ts'
import { combine } from '../plan/filters/constants.ts'
import type { Assignment, PlannedRow } from '../plan/plan.ts'
import { compileRows } from '../sql/insert-rows.ts'
import type { BatchConflict, RowBatch } from '../sql/row-batches.ts'
import type { Parameter } from '../types/column-type.ts'
import { KEEP, REPORT_ID, TO_DEFAULT } from '../types/forms.ts'
import { conditionOf } from './key-condition.ts'
import type { RowCounts } from '../response/result.ts'
import { countsOf, withoutHidden } from './row-counts.ts'
import { runStatement } from './run-statement.ts'

interface Collision {
  /** Has one row. */
  readonly batch: RowBatch & { readonly conflict: BatchConflict }
  readonly database: Database
  readonly run: Executor['run']
}

/** @throws ServiceError */
export async function resolveRow ({ batch, database, run }: Collision): Promise<RowCounts> {
  const { table, conflict, rows } = batch
  const sameKey = conditionOf(conflict.key, rows[0] as PlannedRow)
  const condition = sameKey === undefined || conflict.within === undefined ? sameKey : combine('and', [sameKey, conflict.within])
  if (condition !== undefined) {
    const update = await runStatement({ run }, database, { verb: 'update', table, assignments: assignmentsOf(batch), condition })
    if (update.matched !== 0) return withoutHidden(batch, { inserted: 0, updated: update.changed, unchanged: 1 - update.changed, insertId: update.insertId })
  }
  const { conflict: _, ...plain } = batch
  return countsOf(plain, await run(compileRows(plain, database.dialect.engine, database.statements)))
}

/** What is written to the row that exists, if only to find out whether it does. */
function assignmentsOf ({ table, rows, conflict: { key, identity, written, assignments } }: Collision['batch']): Assignment[] {
  const { columns, parameters } = rows[0] as PlannedRow
  const given = written.map((column): Assignment => {
    const index = columns.indexOf(column)
    return index < 0 ? { column, parameter: null, form: TO_DEFAULT } : { column, parameter: parameters[index] as Parameter }
  })
  const changes = [...given, ...assignments]
  if (identity !== undefined && changes.every(({ column }) => column !== identity)) return [{ column: identity, parameter: null, form: REPORT_ID }, ...changes]
  if (changes.length > 0) return changes
  return [{ column: [...key, ...table.columnList].find(({ generated }) => !generated) as Column, parameter: null, form: KEEP }]
}
