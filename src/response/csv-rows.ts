/** Writes rows as lines of CSV (RFC 4180) with the values of the JSON answer: texts without their quotes, lists and objects as JSON text, nothing for null. */
import type { Column } from '../catalog/catalog.ts'
import { afterLength, findStarts, readLength } from '../dialects/mysql/length-encoded.ts'
import type { Cells, JoinedCells } from '../plan/cells.ts'
import type { DriverValue, WireFormat } from '../types/column-type.ts'
import { writeValue } from './encode-row.ts'
import type { RowFormat } from './json-rows.ts'
import { Output } from './output.ts'
import { RowWriter } from './row-writer.ts'

const [QUOTE, COMMA, SPACE, CR, LF, T, Z] = [0x22, 0x2c, 0x20, 0x0d, 0x0a, 0x54, 0x5a] as const
/** Position of the space between day and time: `2026-11-20 10:15:00`. */
const BETWEEN_DAY_AND_TIME = 10
/** Room for longer values is limited to what the answer may still have. */
const LONG = 512
/** Maximum number of bytes around the value of a cell: two quotes, a comma or the end of the line, a Z. */
const AROUND = 5

/** The positions of the columns of the row and its members in the cells of a statement. */
export type CsvCells = Pick<Cells, 'row'>

/** A member, written as the JSON text of its row. */
interface CsvMember { readonly cells: JoinedCells, readonly writer: RowWriter }

export class CsvRows implements RowFormat {
  #columns: readonly Column[]
  readonly #cells: CsvCells | undefined
  readonly #members: readonly CsvMember[]
  readonly #names: readonly string[]
  #starts = new Uint32Array(0)
  /** The number of all cells of a row. */
  #count = 0
  readonly #member = new Output()

  /** `columns`: the columns of the answer. `cells`: the positions of these and of the members; if omitted, the columns are all cells. `isNative`: as for RowWriter. */
  constructor (columns: readonly Column[], cells: Cells | undefined, isNative: boolean) {
    this.#columns = columns
    this.#cells = cells
    const joined = (cells?.row.members ?? []) as readonly JoinedCells[]
    this.#members = joined.map((member) => ({ cells: member, writer: new RowWriter({ cells: [], joined: [], links: [], row: member.row }, columns, isNative) }))
    this.#names = [...columns, ...joined].map(({ name }) => name)
  }

  begin (columns: readonly Column[]): void {
    const { from, columns: { length } } = this.#cells?.row ?? { from: 0, columns }
    this.#count = columns.length
    this.#columns = this.#cells === undefined ? columns : columns.slice(from, from + length)
    for (const { writer } of this.#members) writer.begin(columns)
  }

  /** Writes the line of names. */
  writeHead (output: Output): void {
    output.text(`${this.#names.map(quoteText).join()}\r\n`)
  }

  endChunk (): void {}

  textRow (output: Output, bytes: Buffer, from: number, to: number): void {
    const columns = this.#columns
    const { length } = columns
    output.reserve(Math.min(2 * (to - from), 2 * LONG * length + Math.max(0, output.maxBytes - output.length)) + AROUND * length)
    // in local variables, because it runs for every value
    let target = output.bytes
    let position = output.length
    let at = from
    for (let index = 0; index < length; index++) {
      if (index > 0) target[position++] = COMMA
      const size = readLength(bytes, at)
      at = afterLength(bytes, at)
      if (size < 0) continue
      const start = at
      at += size
      if (size > LONG && size > output.maxBytes - position) return output.overflow()
      const form = (columns[index] as Column).type.wireFormat
      if (isPlain(form, bytes, start) && copyPlain(target, position, bytes, start, at)) {
        position += size
        if (form === 'moment' || form === 'instant') target[position - size + BETWEEN_DAY_AND_TIME] = T
        if (form === 'instant') target[position++] = Z
        continue
      }
      output.length = position
      writeCell(output, columns[index] as Column, bytes, start, at)
      output.reserve(Math.min(2 * (to - at), 2 * LONG * length + Math.max(0, output.maxBytes - output.length)) + AROUND * length)
      target = output.bytes
      position = output.length
    }
    output.length = position
    if (this.#members.length > 0) this.#writeMembers(output, bytes, from, to)
    output.reserve(2)
    output.byte(CR)
    output.byte(LF)
  }

  row (output: Output, values: ReadonlyArray<DriverValue | null>): void {
    const from = this.#cells?.row.from ?? 0
    const cells = this.#columns.map((column, index) => {
      const value = values[from + index] as DriverValue | null
      return value === null ? '' : cellOf(writeValue(column, value))
    })
    for (const { cells: { presence }, writer } of this.#members) {
      cells.push(values[presence] === null ? '' : this.#textOf((member) => writer.row(member, values)))
    }
    output.text(`${cells.join()}\r\n`)
  }

  #writeMembers (output: Output, bytes: Buffer, from: number, to: number): void {
    if (this.#starts.length <= this.#count) this.#starts = new Uint32Array(this.#count + 1)
    findStarts(bytes, from, to, this.#starts)
    for (const { cells: { presence }, writer } of this.#members) {
      const isPresent = readLength(bytes, this.#starts[presence] as number) >= 0
      output.text(`,${isPresent ? this.#textOf((member) => writer.textRow(member, bytes, from, to)) : ''}`)
    }
  }

  #textOf (write: (member: Output) => void): string {
    const member = this.#member
    member.length = 0
    write(member)
    return quoteText(member.bytes.toString('utf8', 0, member.length))
  }
}

/** Writes a value that cannot just be copied. The caller reserves room for twice its bytes and two quotes. */
function writeCell (output: Output, column: Column, bytes: Buffer, start: number, end: number): void {
  if (column.type.wireFormat === 'escaped') return writeQuoted(output, bytes, start, end)
  output.text(cellOf(writeValue(column, bytes.subarray(start, end))))
}

/** Whether JSON that begins with this byte is a number, true or false. */
const isNumberOrWord = (first: number): boolean => first === 0x2d || (first >= 0x30 && first <= 0x39) || first === 0x74 || first === 0x66

/** Whether the cell has the bytes of the value, if none of them is special in CSV. */
const isPlain = (form: WireFormat | undefined, bytes: Buffer, start: number): boolean => form === 'plain' ? isNumberOrWord(bytes[start] as number) : form !== undefined && form !== 'json'

/** Copies a value, and returns whether it needs no quotes; otherwise only a part of it is copied. */
function copyPlain (target: Buffer, position: number, bytes: Buffer, start: number, end: number): boolean {
  if (start === end || bytes[start] === SPACE || bytes[end - 1] === SPACE) return false
  for (let each = start; each < end; each++) {
    const byte = target[position++] = bytes[each] as number
    if (byte <= COMMA && (byte === QUOTE || byte === COMMA || byte === CR || byte === LF)) return false
  }
  return true
}

/** Writes a text in quotes; a quote in it is written twice (RFC 4180). */
function writeQuoted (output: Output, bytes: Buffer, start: number, end: number): void {
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

/** The cell for a value, from its JSON text. */
function cellOf (json: string): string {
  if (json.startsWith('"')) return quoteText(JSON.parse(json) as string)
  return json === 'null' ? '' : quoteText(json)
}

const SPECIAL = /^$|^ | $|[",\r\n]/

const quoteText = (text: string): string => SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text
