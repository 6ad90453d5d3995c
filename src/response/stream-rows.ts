/** The writers of the formats of streams. */
import type { Column } from '../catalog/catalog.ts'
import { type LongWork, PART } from '../in-pieces.ts'
import { escapeOf, LINE_ENDS } from '../json/exact-json.ts'
import { cellsOf } from '../plan/cells.ts'
import type { SelectPlan } from '../plan/plan.ts'
import { CsvRows } from './csv-rows.ts'
import type { Output } from './output.ts'
import { JsonRows, type RowFormat, type Values } from './json-rows.ts'
import { MemberRows } from './member-rows.ts'

/** The formats of streams. Another one also needs its description (src/openapi/interface-document.ts). */
export type StreamFormat = 'ndjson' | 'csv'

// Escapes the characters at which readers end a line in JSON text that has been written.

const ESCAPES = LINE_ENDS.map((character) => {
  return { bytes: Buffer.from(character), escape: Buffer.from(escapeOf(character)) }
})

const BEYOND_ASCII = 0x80

/** Escapes them in the whole output. They are rare, and Node finds them at a hundredth of the cost of writing a row. */
function escapeLineEnds (output: Output): void {
  const { length } = output
  const text = output.bytes.subarray(0, length)
  let longer = 0
  for (const { bytes, escape } of ESCAPES) {
    for (let at = text.indexOf(bytes); at !== -1; at = text.indexOf(bytes, at + bytes.length)) {
      longer += escape.length - bytes.length
    }
  }
  if (longer === 0) return
  output.reserve(longer)
  output.length = length + longer
  // from the end, so that nothing is overwritten before it has been moved
  const { bytes: target } = output
  for (let from = length, to = output.length; from < to;) {
    const isAscii = (target[from - 1] as number) < BEYOND_ASCII
    const found = isAscii ? undefined : ESCAPES.find(({ bytes }) => endsWith(target, from, bytes))
    if (found === undefined) target[--to] = target[--from] as number
    else {
      to -= found.escape.length
      from -= found.bytes.length
      target.set(found.escape, to)
    }
  }
}

function endsWith (target: Buffer, end: number, bytes: Buffer): boolean {
  for (let back = 1; back <= bytes.length; back++) if (target[end - back] !== bytes[bytes.length - back]) return false
  return true
}

/** Writes lines. */
export interface StreamRows extends RowFormat {
  /** Writes the text before the first row. */
  writeHead (output: Output): void
  /** Called with each chunk of whole rows before it is passed on. */
  endChunk (output: Output): void
}

/** Creates the writer of the rows of a plan, whose members must not be lists. */
export function createStreamRows (plan: SelectPlan, format: StreamFormat): StreamRows {
  const { columns, members } = plan
  const cells = members === undefined ? undefined : cellsOf(plan)
  if (format === 'csv') return new CsvRows(columns, cells)
  return new NdjsonRows(cells === undefined ? new JsonRows(columns) : new MemberRows(cells), hasJson(plan))
}

/** Whether a row may contain the JSON text of a column, which may have line feeds between its parts. */
const hasJson = ({ columns, members = [] }: Pick<SelectPlan, 'columns' | 'members'>): boolean =>
  columns.some(({ type }) => type.holdsJson === true) ||
  members.some((member) => hasJson(member.kind === 'computed' ? { columns: member.columns } : member))

const [LF, CR, SPACE] = [0x0a, 0x0d, 0x20] as const

class NdjsonRows implements StreamRows {
  readonly #rows: RowFormat
  readonly #hasJson: boolean

  constructor (rows: RowFormat, hasJson: boolean) {
    this.#rows = rows
    this.#hasJson = hasJson
  }

  begin (columns: readonly Column[]): void {
    this.#rows.begin(columns)
  }

  writeHead (): void {}

  endChunk (output: Output): void {
    escapeLineEnds(output)
  }

  textRow (output: Output, bytes: Buffer, from: number, to: number): void {
    const { length } = output
    this.#rows.textRow(output, bytes, from, to)
    endLine(output, this.#hasJson ? length : undefined)
  }

  * values (output: Output, values: Values): LongWork {
    const start = output.length
    yield * this.#rows.values(output, values)
    if (output.length === Infinity) return
    for (let from = start; this.#hasJson && from < output.length; from += PART) {
      joinLines(output.bytes, from, Math.min(from + PART, output.length))
      if (from > start) yield PART
    }
    endLine(output, undefined)
  }
}

/**
 * Ends a line. `start`: the beginning of a row that may contain line feeds, which are between the parts of a JSON text,
 * because its strings escape them.
 */
function endLine (output: Output, start: number | undefined): void {
  if (output.length === Infinity) return // the row is too large
  if (start !== undefined) joinLines(output.bytes, start, output.length)
  output.reserve(1)
  output.byte(LF)
}

function joinLines (bytes: Buffer, from: number, to: number): void {
  for (let each = from; each < to; each++) if (bytes[each] === LF || bytes[each] === CR) bytes[each] = SPACE
}
