import { mayFire } from '../catalog/catalog.ts'
import type { Outcome } from '../dialects/dialect.ts'
import { writesHidden } from '../plan/hidden.ts'
import type { RowCounts } from '../response/result.ts'
import { changedColumns, type RowBatch } from '../sql/row-batches.ts'

/** Converts an outcome to counts: an updated row counts twice in `changed`, three times with its history, and MySQL reports no duplicates for a single row. */
export function countsOf (batch: RowBatch, { changed, duplicates, insertId, untouched, existing }: Outcome): RowCounts {
  const { table, conflict, rows } = batch
  const updated = conflict === undefined ? 0 : duplicates ?? Number(changed > 1)
  const inserted = duplicates === undefined && updated === 1 ? 0 : changed - 2 * updated
  // a table with UPDATE triggers does not report the number of an unchanged row
  const isUnreported = changed === 0 && insertId === '0' && mayFire(table, 'update')
  return withoutHidden(batch, { inserted, updated, unchanged: rows.length - inserted - updated, insertId: isUnreported ? undefined : insertId, untouched, existing })
}

/** Counts unchanged rows as updated if a column is written that the grant does not see. */
export function withoutHidden ({ table, conflict }: RowBatch, counts: RowCounts): RowCounts {
  if (conflict === undefined || table.granted === undefined || !writesHidden(table, changedColumns(conflict))) return counts
  return { ...counts, updated: counts.updated + counts.unchanged, unchanged: 0 }
}

export function addCounts (total: RowCounts | undefined, counts: RowCounts): RowCounts {
  if (total === undefined) return counts
  return { inserted: total.inserted + counts.inserted, updated: total.updated + counts.updated, unchanged: total.unchanged + counts.unchanged, insertId: total.insertId }
}
