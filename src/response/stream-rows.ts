/** The formats of streams. */
import type { SelectPlan } from '../plan/plan.ts'
import { cellsOf } from '../plan/cells.ts'
import type { DriverValue } from '../types/column-type.ts'
import { CsvRows } from './csv-rows.ts'
import { JsonRows, type RowFormat } from './json-rows.ts'
import type { Output } from './output.ts'
import { RowWriter } from './row-writer.ts'

export type StreamFormat = 'ndjson' | 'csv'

/** The header Content-Type of each format. */
export const CONTENT_TYPES: Readonly<Record<StreamFormat, string>> = {
  ndjson: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8; header=present'
}

/** Writes lines. */
export interface StreamRows extends RowFormat {
  /** What stands before the first row. */
  writeHead (output: Output): void
}

/** The rows of a plan without members that are lists. */
export function createStreamRows (plan: SelectPlan, format: StreamFormat): StreamRows {
  const { columns, members, table: { engine } } = plan
  const cells = members === undefined ? undefined : cellsOf(plan)
  const isNative = engine === 'sqlite'
  if (format === 'csv') return new CsvRows(columns, cells, isNative)
  return new NdjsonRows(columns, cells && new RowWriter(cells, columns, isNative))
}

const LF = 0x0a

class NdjsonRows extends JsonRows implements StreamRows {
  writeHead (): void {}

  override textRow (output: Output, bytes: Buffer, from: number, to: number): void {
    super.textRow(output, bytes, from, to)
    endLine(output)
  }

  override row (output: Output, values: ReadonlyArray<DriverValue | null>): void {
    super.row(output, values)
    endLine(output)
  }
}

function endLine (output: Output): void {
  if (output.length === Infinity) return // the row is too large
  output.reserve(1)
  output.byte(LF)
}
