import type { Column } from '../catalog/catalog.ts'
import { afterLength, notWhole, readLength, skipValues } from '../dialects/packets.ts'
import { type LongWork, PART } from '../in-pieces.ts'
import { LINE_ENDS, onOneLine } from '../json/exact-json.ts'
import { type Cells, cellsOf, type JoinedCells, type RowCells } from '../plan/members.ts'
import type { SelectPlan } from '../plan/plan.ts'
import { isJson } from '../types/json-text.ts'
import {
  BETWEEN_DAY_AND_TIME, type CellFormat, jsonParts, JsonRows, type RowFormat, type Target, type Values, writeValue,
  writeValues
} from './json-rows.ts'
import { MemberRows } from './member-rows.ts'
import { Output } from './output.ts'

const [QUOTE, COMMA, SPACE, CR, LF, T, Z] = [0x22, 0x2c, 0x20, 0x0d, 0x0a, 0x54, 0x5a] as const

/** The formats of streams. Another one also needs its description (src/openapi/interface-document.ts). */
export type StreamFormat = 'ndjson' | 'csv'

export interface StreamRows extends RowFormat {
  writeHead (output: Output): void
  /** Called with each chunk of whole rows before it is passed on. */
  endChunk (output: Output): void
}

/** The members of the plan must not be lists. */
export function createStreamRows (plan: SelectPlan, format: StreamFormat): StreamRows {
  const cells = cellsOf(plan)
  if (format === 'csv') return new CsvRows(cells)
  const rows = cells.row.members.length === 0 ? new JsonRows(cells.row) : new MemberRows(cells)
  return new NdjsonRows(rows, hasJson(plan))
}

const LINE_END_BYTES = LINE_ENDS.map((character) => Buffer.from(character))

/**
 * Readers end a line at these characters too. In JSON text that has been written they are rare, and Node finds them at
 * a hundredth of the cost of writing a row.
 */
function escapeLineEnds (output: Output): void {
  const bytes = output.bytes.subarray(0, output.length)
  if (!LINE_END_BYTES.some((each) => bytes.includes(each))) return
  const text = onOneLine(bytes.toString())
  output.length = 0
  output.text(text)
}

/** JSON text may have line feeds between its parts. */
const hasJson = ({ columns, members = [] }: Pick<SelectPlan, 'columns' | 'members'>): boolean =>
  columns.some(({ type }) => type.holdsJson === true) ||
  members.some((member) => hasJson(member.kind === 'computed' ? { columns: member.columns } : member))

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
  output.byte(LF)
}

function joinLines (bytes: Buffer, from: number, to: number): void {
  for (let each = from; each < to; each++) if (bytes[each] === LF || bytes[each] === CR) bytes[each] = SPACE
}

/** Room for longer values is limited to what the response may still have. */
const LONG = 512
/** Most bytes around the value of a cell: a comma, a Z, the end of the line. */
const AROUND = 4

const SPECIAL = /^$|^ | $|[",\r\n]/
const quote = (text: string): string => SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text

/**
 * CSV (RFC 4180) with the values of the JSON response: texts without their quotes, lists and objects as JSON text,
 * nothing for null. A JSON column is always its JSON text, so that the text "1" and the number 1 are two cells, and so
 * are JSON's null and NULL.
 */
export class CsvRows implements StreamRows {
  readonly #row: RowCells
  #columns: readonly Column[]
  /** The number of values behind those of its columns. */
  #behind = 0
  readonly #joined: readonly JoinedCells[]
  readonly #members: MemberRows
  readonly #member = new Output()

  constructor (cells: Pick<Cells, 'row' | 'links'>) {
    this.#row = cells.row
    this.#columns = cells.row.columns
    this.#joined = cells.row.members as readonly JoinedCells[]
    this.#members = new MemberRows(cells)
  }

  begin (columns: readonly Column[]): void {
    this.#columns = columns.slice(0, this.#row.columns.length)
    this.#behind = columns.length - this.#columns.length
    this.#members.begin(columns)
  }

  writeHead (output: Output): void {
    output.text(`${[...this.#row.columns, ...this.#joined].map(({ name }) => quote(name)).join()}\r\n`)
  }

  endChunk (): void {}

  textRow (output: Output, bytes: Buffer, from: number, to: number): void {
    const columns = this.#columns
    const around = AROUND * columns.length
    const room = LONG * columns.length + Math.max(0, output.maxBytes - output.length)
    output.reserve(Math.min(to - from, room) + around)
    // in local variables, because it runs for every value
    let target = output.bytes
    let position = output.length
    let at = from
    for (let index = 0; index < columns.length; index++) {
      if (index > 0) target[position++] = COMMA
      const size = readLength(bytes, at)
      const start = at = afterLength(bytes, at)
      if (size < 0) continue
      if (size > LONG) {
        if (size > to - at) throw notWhole()
        if (size > output.maxBytes - position) return output.overflow()
      }
      at += size
      const column = columns[index] as Column
      const { type: { wireFormat: form } } = column
      const isText = form !== undefined && (form !== 'json' || isJson(bytes, start, at))
      if (isText && copyPlain(target, position, bytes, start, at)) {
        position += size
        if (form === 'moment' || form === 'instant') target[position - size + BETWEEN_DAY_AND_TIME] = T
        if (form === 'instant') target[position++] = Z
        continue
      }
      output.length = position
      if (isText) copyQuoted(output, bytes, start, at)
      else output.text(CELLS.short(column, writeValue(column, bytes.subarray(start, at))))
      output.reserve(Math.min(to - at, room) + around)
      target = output.bytes
      position = output.length
    }
    if ((this.#behind === 0 ? at : skipValues(bytes, at, this.#behind)) !== to) throw notWhole()
    output.length = position
    if (this.#joined.length > 0) this.#writeMembers(output, bytes, from, to)
    output.byte(CR)
    output.byte(LF)
  }

  #writeMembers (output: Output, bytes: Buffer, from: number, to: number): void {
    const members = this.#members
    members.readRow(bytes, from, to)
    for (const { presence, row } of this.#joined) {
      output.text(',')
      if (members.at(presence) === null) continue
      this.#member.length = 0
      members.writeRow(this.#member, row)
      copyQuoted(output, this.#member.bytes, 0, this.#member.length)
    }
  }

  * values (output: Output, values: Values): LongWork {
    const cells = this.#columns.map((column, index) => ({ column, keyText: index > 0 ? ',' : '' }))
    yield * writeValues(output, cells, values, CELLS)
    for (const { presence, row } of this.#joined) {
      output.text(',')
      if (values[presence] === null) continue
      output.text('"')
      yield * this.#members.writeValues(new Quoted(output), values, row)
      output.text('"')
    }
    output.text('\r\n')
  }
}

/** Copies a value, and returns whether it needs no quotes; otherwise only a part of it is copied. */
function copyPlain (target: Buffer, position: number, bytes: Buffer, start: number, end: number): boolean {
  if (start === end || bytes[start] === SPACE || bytes[end - 1] === SPACE) return false
  for (let each = start; each < end; each++) {
    const byte = target[position++] = bytes[each] as number
    if (byte <= COMMA && (byte === QUOTE || byte === COMMA || byte === CR || byte === LF)) return false
  }
  return true
}

/** Copies a value in quotes, with those in it doubled. */
function copyQuoted (output: Output, bytes: Buffer, start: number, end: number): void {
  output.reserve(2 * (end - start) + 2)
  const { bytes: target } = output
  let to = output.length
  target[to++] = QUOTE
  for (let each = start; each < end; each++) {
    const byte = target[to++] = bytes[each] as number
    if (byte === QUOTE) target[to++] = QUOTE
  }
  target[to++] = QUOTE
  output.length = to
}

/** Doubles the quotes of what is written into a cell. */
class Quoted implements Target {
  readonly #output: Output

  constructor (output: Output) {
    this.#output = output
  }

  get maxBytes (): number { return this.#output.maxBytes }

  get length (): number { return this.#output.length }

  reserve (count: number): void { this.#output.reserve(count) }

  text (text: string): void { this.#output.text(text.replaceAll('"', '""')) }

  part (part: string | Buffer): void { this.text(String(part)) }

  overflow (): void { this.#output.overflow() }
}

const CELLS: CellFormat<Output> = {
  nothing: '',
  short ({ type: { holdsJson } }, json) {
    if (holdsJson !== true && json.startsWith('"')) return quote(JSON.parse(json) as string)
    return json === 'null' && holdsJson !== true ? '' : quote(json)
  },
  /** Quotes are taken away again if the value needs none. */
  * long (output, { type: { holdsJson } }, value) {
    output.text('"')
    const start = output.length
    const quoted = new Quoted(output)
    let isSpecial = false
    for (const part of holdsJson === true ? jsonParts(value) : value.parts) {
      const text = String(part)
      isSpecial ||= /[",\r\n]/.test(text)
      quoted.text(text)
      yield text.length
    }
    const { bytes, length } = output
    if (isSpecial || bytes[start] === SPACE || bytes[length - 1] === SPACE) return output.text('"')
    bytes.copyWithin(start - 1, start, length)
    output.length--
  }
}
