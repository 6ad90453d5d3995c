/** Rows -> the whole answer to a select, as bytes. Fed cell by cell by the MySQL dialect's own command, or row by row. */
import type { Column } from '../catalog/catalog.ts'
import type { DriverValue } from '../types/column-type.ts'
import { writers, type CellWriter } from './cells.ts'
import { Output } from './output.ts'

const HEAD = '{"success":true,"data":{"rows":['
const NULL = Buffer.from('null')
const CLOSE = 0x7d
/** Bytes up to which an answer is cheaper to send as a string. */
const SHORT_ANSWER = 16_384

export class RowWriter {
  readonly #output = new Output()
  readonly #columns: readonly Column[]
  /** `{"id":` for the first column, `,"name":` for the next ones. */
  readonly #keys: readonly Buffer[]
  /** `,{"id":` for the first column of every row but the first. */
  readonly #nextRow: Buffer
  readonly #cells: readonly CellWriter[]
  readonly #limit: number
  count = 0

  /** `limit`: bytes that the answer may have. */
  constructor (columns: readonly Column[], limit: number) {
    const { keys, nextRow, cells } = layoutOf(columns)
    this.#columns = columns
    this.#keys = keys
    this.#nextRow = nextRow
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
    this.#output.reserve(1)
    this.#output.byte(CLOSE)
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

  /** The answer. A short one as a string: Node sends that together with the headers, in one write. */
  finish (): Buffer | string {
    this.#output.text(`],"count":${this.count}}}`)
    const bytes = this.#output.toBuffer()
    return bytes.length <= SHORT_ANSWER ? bytes.toString() : bytes
  }

  #key (index: number): void {
    const key = index === 0 && this.count > 0 ? this.#nextRow : this.#keys[index] as Buffer
    this.#output.copy(key, 0, key.length)
  }
}

interface Layout { readonly keys: readonly Buffer[], readonly nextRow: Buffer, readonly cells: readonly CellWriter[] }

/** The same list of columns is asked for again and again where a request names none. */
const layouts = new WeakMap<readonly Column[], Layout>()

function layoutOf (columns: readonly Column[]): Layout {
  const layout = layouts.get(columns) ?? createLayout(columns)
  layouts.set(columns, layout)
  return layout
}

function createLayout (columns: readonly Column[]): Layout {
  const keys = columns.map(({ name }, index) => Buffer.from(`${index === 0 ? '{' : ','}${JSON.stringify(name)}:`))
  return {
    keys,
    nextRow: Buffer.concat([Buffer.from(','), ...keys.slice(0, 1)]),
    cells: columns.map(({ type }): CellWriter => type.byteForm === undefined
      ? (output, bytes, start, end) => output.text(type.write(bytes.subarray(start, end)))
      : writers[type.byteForm])
  }
}
