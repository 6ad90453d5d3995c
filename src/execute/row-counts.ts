import type { Outcome } from '../dialects/dialect.ts'
import type { RowBatch } from '../sql/row-batches.ts'

/** What became of the rows. */
export interface RowCounts {
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  /** The number that the database gave the first row, or that the row has which was there before. */
  readonly insertId: string | undefined
}

/** What an insert of rows adds to the outcome of its statements. */
export interface RowsResult {
  readonly counts?: RowCounts
  /** The id of the row, as JSON, where it had to be read. */
  readonly storedId?: string | undefined
}

/** An updated row counts twice in what changed; for a single row MySQL reports no duplicates. */
export function countsOf ({ rows, conflict }: RowBatch, { changed, duplicates, insertId }: Outcome): RowCounts {
  const updated = conflict === undefined ? 0 : duplicates ?? Number(changed === 2)
  const inserted = changed - 2 * updated
  return { inserted, updated, unchanged: rows.length - inserted - updated, insertId }
}

export function addCounts (total: RowCounts | undefined, counts: RowCounts): RowCounts {
  if (total === undefined) return counts
  return { inserted: total.inserted + counts.inserted, updated: total.updated + counts.updated, unchanged: total.unchanged + counts.unchanged, insertId: total.insertId }
}
