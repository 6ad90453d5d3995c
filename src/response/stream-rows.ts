/** The writers of the formats of streams. */
import type { Column } from '../catalog/catalog.ts'
import type { SelectPlan } from '../plan/plan.ts'
import { cellsOf } from '../plan/cells.ts'
import type { StreamFormat } from '../request/stream-formats.ts'
import { PART, type LongWork } from '../in-pieces.ts'
import type { DriverValue } from '../types/column-type.ts'
import { CsvRows } from './csv-rows.ts'
import { escapeLineEnds } from './line-ends.ts'
import { JsonRows, type RowFormat } from './json-rows.ts'
import type { Output } from './output.ts'
import { RowWriter } from './row-writer.ts'

/** Writes lines. */
export interface StreamRows extends RowFormat {
  /** Writes the text before the first row. */
  writeHead (output: Output): void
  /** Called with each chunk of whole rows before it is passed on. */
  endChunk (output: Output): void
}

/** Creates the writer of the rows of a plan, whose members must not be lists. */
export function createStreamRows (plan: SelectPlan, format: StreamFormat): StreamRows {
  const { columns, members, table: { engine } } = plan
  const cells = members === undefined ? undefined : cellsOf(plan)
  const isNative = engine === 'sqlite'
  if (format === 'csv') return new CsvRows(columns, cells, isNative)
  return new NdjsonRows(columns, cells && new RowWriter(cells, columns, isNative), hasJson(plan))
}

/** Whether a row may contain the JSON text of a column, which may have line feeds between its parts. */
const hasJson = ({ columns, members = [] }: Pick<SelectPlan, 'columns' | 'members'>): boolean =>
  columns.some(({ type }) => type.holdsJson === true) || members.some((member) => hasJson(member.kind === 'computed' ? { columns: member.columns } : member))

const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20] as const

class NdjsonRows extends JsonRows implements StreamRows {
  readonly #hasJson: boolean

  constructor (columns: readonly Column[], writer: RowWriter | undefined, hasJson: boolean) {
    super(columns, writer)
    this.#hasJson = hasJson
  }

  writeHead (): void {}

  endChunk (output: Output): void {
    escapeLineEnds(output)
  }

  override textRow (output: Output, bytes: Buffer, from: number, to: number): void {
    const { length } = output
    super.textRow(output, bytes, from, to)
    endLine(output, this.#hasJson ? length : undefined)
  }

  override row (output: Output, values: ReadonlyArray<DriverValue | null>): void {
    const { length } = output
    super.row(output, values)
    endLine(output, this.#hasJson ? length : undefined)
  }

  override * longRow (output: Output, values: ReadonlyArray<DriverValue | null>): LongWork {
    const start = output.length
    yield * super.longRow(output, values)
    if (output.length === Infinity) return
    for (let from = start; this.#hasJson && from < output.length; from += PART) {
      joinLines(output.bytes, from, Math.min(from + PART, output.length))
      yield PART
    }
    endLine(output, undefined)
  }
}

/** Ends a line. `start`: the beginning of a row that may contain line feeds, which are between the parts of a JSON text, because its strings escape them. */
function endLine (output: Output, start: number | undefined): void {
  if (output.length === Infinity) return // the row is too large
  if (start !== undefined) joinLines(output.bytes, start, output.length)
  output.reserve(1)
  output.byte(LF)
}

function joinLines (bytes: Buffer, from: number, to: number): void {
  for (let each = from; each < to; each++) if (bytes[each] === LF || bytes[each] === CR) bytes[each] = SPACE
}
