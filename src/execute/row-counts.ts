import type { Outcome } from '../dialects/dialect.ts'
import type { RowCounts } from '../response/result.ts'
import type { RowBatch } from '../sql/row-batches.ts'

/** An updated row counts twice in what changed; for a single row MySQL reports no duplicates. */
export function countsOf (batch: RowBatch, { changed, duplicates, insertId }: Outcome): RowCounts {
  const { conflict, rows } = batch
  const updated = conflict === undefined ? 0 : duplicates ?? Number(changed === 2)
  const inserted = changed - 2 * updated
  return { inserted, updated, unchanged: rows.length - inserted - updated, insertId }
}

export function addCounts (total: RowCounts | undefined, counts: RowCounts): RowCounts {
  if (total === undefined) return counts
  return { inserted: total.inserted + counts.inserted, updated: total.updated + counts.updated, unchanged: total.unchanged + counts.unchanged, insertId: total.insertId }
}
