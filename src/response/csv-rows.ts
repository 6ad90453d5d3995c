/**
 * Writes rows as lines of CSV (RFC 4180) with the values of the JSON response: texts without their quotes, lists and
 * objects as JSON text, nothing for null. A JSON column is always its JSON text, so that the text "1" and the number 1
 * are two cells, and so are JSON's null and NULL.
 */
import type { Column } from '../catalog/catalog.ts'
import { afterLength, findStarts, readLength } from '../dialects/mysql/connection/packets.ts'
import type { Cells, JoinedCells } from '../plan/cells.ts'
import { PART, type LongWork } from '../in-pieces.ts'
import type { DriverValue, WireFormat } from '../types/column-type.ts'
import { isJson } from '../types/json-text.ts'
import { jsonParts, writeInParts, writeValue, type LongFormat } from './encode-row.ts'
import { type RowFormat, RowWriter } from './row-writer.ts'
import { Output } from './output.ts'

const [QUOTE, COMMA, SPACE, CR, LF, T, Z] = [0x22, 0x2c, 0x20, 0x0d, 0x0a, 0x54, 0x5a] as const
const [OPEN, NEXT, END] = ['"', ',', '\r\n'].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer]
/** Position of the space between day and time: `2026-11-20 10:15:00`. */
const BETWEEN_DAY_AND_TIME = 10
/** Room for longer values is limited to what the response may still have. */
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

  /**
   * `columns`: the columns of the response. `cells`: the positions of these and of the members; if omitted, the columns
   * are all cells. `isNative`: as for RowWriter.
   */
  constructor (columns: readonly Column[], cells: Cells | undefined, isNative: boolean) {
    this.#columns = columns
    this.#cells = cells
    const joined = (cells?.row.members ?? []) as readonly JoinedCells[]
    this.#members = joined.map((member) => ({
      cells: member,
      writer: new RowWriter({ cells: [], joined: [], links: [], row: member.row }, columns, isNative)
    }))
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
    output.reserve(
      Math.min(2 * (to - from), 2 * LONG * length + Math.max(0, output.maxBytes - output.length)) + AROUND * length
    )
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
      output.reserve(
        Math.min(2 * (to - at), 2 * LONG * length + Math.max(0, output.maxBytes - output.length)) + AROUND * length
      )
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
      return value === null ? '' : cellOf(column, writeValue(column, value))
    })
    for (const { cells: { presence }, writer } of this.#members) {
      cells.push(
        values[presence] === null ? '' : quoteText(this.#jsonOf((member) => writer.row(member, values)).toString())
      )
    }
    output.text(`${cells.join()}\r\n`)
  }

  * longRow (output: Output, values: ReadonlyArray<DriverValue | null>): LongWork {
    const from = this.#cells?.row.from ?? 0
    for (const [index, column] of this.#columns.entries()) {
      if (index > 0) output.raw(NEXT)
      const value = values[from + index] as DriverValue | null
      if (value !== null) yield * writeInParts(output, column, value, CSV_FORMAT)
      if (output.length === Infinity) return
    }
    for (const { cells: { presence }, writer } of this.#members) {
      output.raw(NEXT)
      if (values[presence] === null) continue
      const member = new Output()
      member.maxBytes = output.maxBytes - output.length
      yield * writer.longRow(member, values)
      if (member.length > member.maxBytes) return output.overflow()
      yield * writeQuotedParts(output, bytesIn(member))
      member.drop()
    }
    output.raw(END)
  }

  #writeMembers (output: Output, bytes: Buffer, from: number, to: number): void {
    if (this.#starts.length <= this.#count) this.#starts = new Uint32Array(this.#count + 1)
    findStarts(bytes, from, to, this.#starts)
    for (const { cells: { presence }, writer } of this.#members) {
      output.raw(NEXT)
      if (readLength(bytes, this.#starts[presence] as number) >= 0) {
        writeQuoted(
          output,
          this.#jsonOf((member) => writer.textRow(member, bytes, from, to))
        )
      }
    }
  }

  /** The JSON text of a member, which is an object: its cell needs quotes. */
  #jsonOf (write: (member: Output) => void): Buffer {
    const member = this.#member
    member.length = 0
    write(member)
    return member.bytes.subarray(0, member.length)
  }
}

/** Writes a value that cannot just be copied. */
function writeCell (output: Output, column: Column, bytes: Buffer, start: number, end: number): void {
  const { wireFormat } = column.type
  if (wireFormat === 'escaped') return writeQuoted(output, bytes, start, end)
  if (wireFormat === 'plain' || (wireFormat === 'json' && isJson(bytes, start, end))) {
    return writeJsonCell(output, bytes, start, end)
  }
  output.text(cellOf(column, writeValue(column, bytes.subarray(start, end))))
}

function writeJsonCell (output: Output, bytes: Buffer, start: number, end: number): void {
  output.reserve(end - start)
  if (copyPlain(output.bytes, output.length, bytes, start, end)) output.length += end - start
  else writeQuoted(output, bytes, start, end)
}

/** Whether JSON that begins with this byte is a number, true or false. */
const isNumberOrWord = (first: number): boolean =>
  first === 0x2d || (first >= 0x30 && first <= 0x39) || first === 0x74 || first === 0x66

/** Whether the cell has the bytes of the value, if none of them is special in CSV. */
const isPlain = (form: WireFormat | undefined, bytes: Buffer, start: number): boolean =>
  form === 'plain' ? isNumberOrWord(bytes[start] as number) : form !== undefined && form !== 'json'

/** Copies a value, and returns whether it needs no quotes; otherwise only a part of it is copied. */
function copyPlain (target: Buffer, position: number, bytes: Buffer, start: number, end: number): boolean {
  if (start === end || bytes[start] === SPACE || bytes[end - 1] === SPACE) return false
  for (let each = start; each < end; each++) {
    const byte = target[position++] = bytes[each] as number
    if (byte <= COMMA && (byte === QUOTE || byte === COMMA || byte === CR || byte === LF)) return false
  }
  return true
}

/** Writes a text in quotes. */
function writeQuoted (output: Output, bytes: Buffer, start = 0, end = bytes.length): void {
  output.reserve(2 * (end - start) + 2)
  output.byte(QUOTE)
  copyDoubled(output, bytes, start, end)
  output.byte(QUOTE)
}

/**
 * Copies a text; a quote in it is written twice (RFC 4180). Returns whether it has a character for which a cell needs
 * quotes.
 */
function copyDoubled (output: Output, bytes: Buffer, start: number, end: number): boolean {
  const { bytes: target } = output
  let isSpecial = false
  let to = output.length
  for (let each = start; each < end; each++) {
    const byte = target[to++] = bytes[each] as number
    if (byte > COMMA) continue
    if (byte === QUOTE) target[to++] = QUOTE
    isSpecial ||= byte === QUOTE || byte === COMMA || byte === CR || byte === LF
  }
  output.length = to
  return isSpecial
}

const CSV_FORMAT: LongFormat = {
  short: (output, column, json) => output.text(cellOf(column, json)),
  long: (output, { type: { holdsJson } }, value) =>
    writeQuotedParts(output, holdsJson === true ? jsonParts(value) : value.parts)
}

/** Writes a long text in quotes, and takes them away if it turns out to need none. */
function * writeQuotedParts (output: Output, parts: Iterable<string | Buffer>): LongWork {
  output.raw(OPEN)
  const start = output.length
  let isSpecial = false
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    output.reserve(2 * bytes.length)
    isSpecial = copyDoubled(output, bytes, 0, bytes.length) || isSpecial
    yield bytes.length
  }
  const { bytes, length } = output
  if (isSpecial || bytes[start] === SPACE || bytes[length - 1] === SPACE) return output.raw(OPEN)
  bytes.copyWithin(start - 1, start, length)
  output.length--
}

function * bytesIn ({ bytes, length }: Output): Generator<Buffer> {
  for (let from = 0; from < length; from += PART) yield bytes.subarray(from, Math.min(from + PART, length))
}

/** The cell for a value, from its JSON text. */
function cellOf ({ type: { holdsJson } }: Column, json: string): string {
  if (holdsJson === true) return quoteText(json)
  if (json.startsWith('"')) return quoteText(JSON.parse(json) as string)
  return json === 'null' ? '' : quoteText(json)
}

const SPECIAL = /^$|^ | $|[",\r\n]/

const quoteText = (text: string): string => SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text
