import type { Column } from '../catalog/catalog.ts'
import type { StatementResult } from '../dialects/dialect.ts'
import type { WriteOptions } from '../plan/plan.ts'
import { writesHidden } from '../plan/rule.ts'
import { type BatchConflict, changedColumns, type RowBatch } from '../sql/compile-insert.ts'
import type { Value } from '../types/column-type.ts'
import { ENVELOPE, type ResponseSink } from './response-sink.ts'

/** The outcome of the statement of a plan, and the additional facts of its response. */
export interface Result extends StatementResult {
  /** For a select with `total`: the number of rows that its condition selects, as digits. */
  readonly total?: string | undefined
  /** Of an insert. */
  readonly counts?: RowCounts
  /** What became of each row, in the order of `data`, if the response says that. */
  readonly outcomes?: readonly RowOutcome[] | undefined
  /** As JSON: of the first row of an insert, or of the only row of an upsert. */
  readonly id?: string
}

export interface RowCounts extends Pick<StatementResult, 'existingId' | 'untouched'> {
  readonly inserted: number
  readonly updated: number
  readonly unchanged: number
  /** The number that the database gave to the first row, or the number of the row that already existed. */
  readonly insertId: string | undefined
}

/**
 * An updated row counts twice in `changed`, three times with its history, and MySQL reports no duplicates for a single
 * row.
 */
export function countsOf (batch: RowBatch, result: StatementResult): RowCounts {
  const { table, conflict, rows } = batch
  const { changed, insertId, untouched, existingId } = result
  // MySQL's are read from the text of its reply
  const duplicates = conflict === undefined ? undefined : result.duplicates
  const updated = conflict === undefined ? 0 : duplicates ?? Number(changed > 1)
  const inserted = duplicates === undefined && updated === 1 ? 0 : changed - 2 * updated
  const counts = { inserted, updated, unchanged: rows.length - inserted - updated, insertId, untouched, existingId }
  return conflict === undefined ? counts : hideUnchanged({ table, conflict }, counts)
}

/** Counts unchanged rows as updated if a column is written that the grant does not see. */
export function hideUnchanged (
  { table, conflict }: Pick<RowBatch, 'table'> & { readonly conflict: BatchConflict },
  counts: RowCounts
): RowCounts {
  if (table.granted === undefined || !writesHidden(table, changedColumns(conflict))) return counts
  return { ...counts, updated: counts.updated + counts.unchanged, unchanged: 0 }
}

export function addCounts (total: RowCounts | undefined, counts: RowCounts): RowCounts {
  if (total === undefined) return counts
  return {
    inserted: total.inserted + counts.inserted,
    updated: total.updated + counts.updated,
    unchanged: total.unchanged + counts.unchanged,
    insertId: total.insertId
  }
}

export type RowOutcome = 'inserted' | 'updated' | 'unchanged'

/** Numbers of up to so many digits are the same in every type. */
const SHORT = 15

export function shownNumber (column: Column, insertId: string): string {
  return insertId.length <= SHORT ? insertId : column.type.storedJson(numberOf(column, insertId))
}

/** The number as a value of the column, because the database does not report whether it is signed. */
export function numberOf ({ type }: Column, insertId: string): Value {
  try {
    return type.read(insertId)
  } catch {
    return BigInt.asIntN(64, BigInt(insertId))
  }
}

/** `sink`: contains the rows that the write returns. */
export function finishWrite (
  { dryRun }: WriteOptions,
  members: string,
  sink: ResponseSink | undefined
): string | Buffer {
  const all = dryRun === true ? `${members},"dryRun":true` : members
  return sink === undefined ? `{"success":true,"data":{${all}}}` : sink.finishWrite(all)
}

const END = '}'

export function dataOf (response: string | Buffer): string | Buffer {
  return response.slice(ENVELOPE.length, -END.length)
}

/** `responses`: in the order of the operations. A string if all are short. */
export function respondToOperations (responses: ReadonlyArray<string | Buffer>, dryRun: boolean): string | Buffer {
  const parts: Array<string | Buffer> = [`${ENVELOPE}{"results":[`]
  for (const [index, response] of responses.entries()) {
    if (index > 0) parts.push(',')
    parts.push(dataOf(response))
  }
  parts.push(`]${dryRun ? ',"dryRun":true' : ''}}}`)
  if (parts.every((part) => typeof part === 'string')) return parts.join('')
  return Buffer.concat(parts.map((part) => typeof part === 'string' ? Buffer.from(part) : part))
}
