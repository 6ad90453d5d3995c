/** Rows -> the whole answer to a select, as bytes. Fed cell by cell by the MySQL dialect's own command, or row by row. */
import type { Column } from '../catalog/catalog.ts'
import type { ByteForm, DriverValue } from '../types/column-type.ts'
import { Output } from './output.ts'

const HEAD = '{"success":true,"data":{"rows":['
const QUOTE = 0x22
const BACKSLASH = 0x5c
const FIRST_PRINTABLE = 0x20
const NULL = Buffer.from('null')
const T = 0x54
const Z = 0x5a
/** Where the space between day and time stands: `2026-11-20 10:15:00`. */
const BETWEEN_DAY_AND_TIME = 10
/** Texts longer than this are escaped by the platform, which is faster on them than a loop. */
const LONG_TEXT = 512

/** How a cell's bytes become JSON; anything else by the type's own `write`. */
type CellWriter = (output: Output, bytes: Buffer, start: number, end: number) => void

const writers: Readonly<Record<ByteForm, CellWriter>> = {
  plain: (output, bytes, start, end) => output.copy(bytes, start, end),
  quoted: writeQuoted,
  text: writeText,
  moment: (output, bytes, start, end) => {
    const at = output.length + 1 + BETWEEN_DAY_AND_TIME
    writeQuoted(output, bytes, start, end)
    output.bytes[at] = T
  },
  instant: (output, bytes, start, end) => {
    writers.moment(output, bytes, start, end)
    output.reserve(1)
    output.bytes[output.length - 1] = Z
    output.byte(QUOTE)
  }
}

function writeQuoted (output: Output, bytes: Buffer, start: number, end: number): void {
  output.reserve(end - start + 2)
  output.byte(QUOTE)
  output.copy(bytes, start, end)
  output.byte(QUOTE)
}

/** UTF-8 in quotes. Most texts need no escape and are copied; the others are left to JSON.stringify. */
function writeText (output: Output, bytes: Buffer, start: number, end: number): void {
  if (end - start > LONG_TEXT || needsEscape(bytes, start, end)) output.text(JSON.stringify(bytes.toString('utf8', start, end)))
  else writeQuoted(output, bytes, start, end)
}

function needsEscape (bytes: Buffer, start: number, end: number): boolean {
  for (let index = start; index < end; index++) {
    const byte = bytes[index] as number
    if (byte < FIRST_PRINTABLE || byte === QUOTE || byte === BACKSLASH) return true
  }
  return false
}

export class RowWriter {
  readonly #output = new Output()
  readonly #columns: readonly Column[]
  /** `{"id":` for the first column, `,"name":` for the next ones. */
  readonly #keys: readonly Buffer[]
  readonly #cells: readonly CellWriter[]
  readonly #limit: number
  count = 0

  /** `limit`: bytes that the answer may have. */
  constructor (columns: readonly Column[], limit: number) {
    const { keys, cells } = layoutOf(columns)
    this.#columns = columns
    this.#keys = keys
    this.#cells = cells
    this.#limit = limit
    this.#output.text(HEAD)
  }

  /** Whether the answer has become larger than it may. Checked after each row. */
  get isTooLarge (): boolean {
    return this.#output.length > this.#limit
  }

  /** The cell of a column, as bytes from MySQL's text protocol. Cells of a row come in order. */
  cell (index: number, bytes: Buffer, start: number, end: number): void {
    this.#key(index)
    const write = this.#cells[index] as CellWriter
    write(this.#output, bytes, start, end)
  }

  nullCell (index: number): void {
    this.#key(index)
    this.#output.copy(NULL, 0, NULL.length)
  }

  endRow (): void {
    this.#output.text('}')
    this.count++
  }

  /** A whole row of values as a driver gives them. */
  row (values: ReadonlyArray<DriverValue | null>): void {
    for (const [index, value] of values.entries()) {
      if (value === null) this.nullCell(index)
      else {
        this.#key(index)
        this.#output.text((this.#columns[index] as Column).type.write(value))
      }
    }
    this.endRow()
  }

  finish (): Buffer {
    this.#output.text(`],"count":${this.count}}}`)
    return this.#output.toBuffer()
  }

  #key (index: number): void {
    if (index === 0 && this.count > 0) this.#output.text(',')
    const key = this.#keys[index] as Buffer
    this.#output.copy(key, 0, key.length)
  }
}

interface Layout { readonly keys: readonly Buffer[], readonly cells: readonly CellWriter[] }

/** The same list of columns is asked for again and again where a request names none. */
const layouts = new WeakMap<readonly Column[], Layout>()

function layoutOf (columns: readonly Column[]): Layout {
  const layout = layouts.get(columns) ?? {
    keys: columns.map(({ name }, index) => Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`)),
    cells: columns.map(({ type }): CellWriter => type.byteForm === undefined
      ? (output, bytes, start, end) => output.text(type.write(bytes.subarray(start, end)))
      : writers[type.byteForm])
  }
  layouts.set(columns, layout)
  return layout
}
