/**
 * Writes rows as lines of CSV (RFC 4180) with the values of the JSON response: texts without their quotes, lists and
 * objects as JSON text, nothing for null. A JSON column is always its JSON text, so that the text "1" and the number 1
 * are two cells, and so are JSON's null and NULL.
 */
import type { Column } from '../catalog/catalog.ts'
import { afterLength, readLength } from '../dialects/mysql/packets.ts'
import type { LongWork } from '../in-pieces.ts'
import type { Cells, JoinedCells } from '../plan/cells.ts'
import { isJson } from '../types/json-text.ts'
import {
  type CellFormat, jsonParts, type RowFormat, type Target, type Values, writeValue, writeValues
} from './json-rows.ts'
import { MemberRows } from './member-rows.ts'
import { Output } from './output.ts'

const [QUOTE, COMMA, SPACE, CR, LF, T, Z] = [0x22, 0x2c, 0x20, 0x0d, 0x0a, 0x54, 0x5a] as const
/** Position of the space between day and time: `2026-11-20 10:15:00`. */
const BETWEEN_DAY_AND_TIME = 10
/** Room for longer values is limited to what the response may still have. */
const LONG = 512
/** Maximum number of bytes around the value of a cell: a comma, a Z, the end of the line. */
const AROUND = 4

/** A cell that needs quotes. */
const SPECIAL = /^$|^ | $|[",\r\n]/
const quote = (text: string): string => SPECIAL.test(text) ? `"${text.replaceAll('"', '""')}"` : text

export class CsvRows implements RowFormat {
  #columns: readonly Column[]
  readonly #cells: Cells | undefined
  readonly #joined: readonly JoinedCells[]
  readonly #members: MemberRows | undefined
  /** The JSON text of a member. */
  readonly #member = new Output()
  readonly #names: readonly string[]

  /**
   * `columns`: the columns of the response. `cells`: the positions of these and of the members; if omitted, the columns
   * are all cells.
   */
  constructor (columns: readonly Column[], cells?: Cells) {
    this.#columns = columns
    this.#cells = cells
    this.#joined = (cells?.row.members ?? []) as readonly JoinedCells[]
    this.#members = cells && new MemberRows(cells)
    this.#names = [...columns, ...this.#joined].map(({ name }) => name)
  }

  begin (columns: readonly Column[]): void {
    const { from, columns: { length } } = this.#cells?.row ?? { from: 0, columns }
    this.#columns = this.#cells === undefined ? columns : columns.slice(from, from + length)
    this.#members?.begin(columns)
  }

  /** Writes the line of names. */
  writeHead (output: Output): void {
    output.text(`${this.#names.map(quote).join()}\r\n`)
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
    for (let index = 0, at = from; index < columns.length; index++) {
      if (index > 0) target[position++] = COMMA
      const size = readLength(bytes, at)
      const start = at = afterLength(bytes, at)
      if (size < 0) continue
      at += size
      if (size > LONG && size > output.maxBytes - position) return output.overflow()
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
    output.length = position
    if (this.#members !== undefined) this.#writeMembers(this.#members, output, bytes, from, to)
    output.reserve(2)
    output.byte(CR)
    output.byte(LF)
  }

  #writeMembers (members: MemberRows, output: Output, bytes: Buffer, from: number, to: number): void {
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
    yield * writeValues(output, cells, values, CELLS, this.#cells?.row.from)
    for (const { presence, row } of this.#joined) {
      output.text(',')
      if (values[presence] === null) continue
      output.text('"')
      yield * (this.#members as MemberRows).writeValues(new Quoted(output), values, row)
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
  /** Writes it in quotes, and takes them away if it turns out to need none. */
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
