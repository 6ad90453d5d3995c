/** Rows -> the whole answer to a select, as bytes. Fed by the MySQL dialect's own command with rows as they came, or with values. */
import type { Column } from '../catalog/catalog.ts'
import { obtain } from '../obtain.ts'
import type { DriverValue } from '../types/column-type.ts'
import { createRowLayout, writeRow, writeValue, type RowLayout } from './cells.ts'
import { Output } from './output.ts'

const HEAD = '{"success":true,"data":{"rows":['
const COMMA = 0x2c
/** Bytes up to which an answer is cheaper to send as a string. */
const SHORT_ANSWER = 65_536

export class RowWriter {
  #output = new Output()
  #layout: RowLayout
  #limit: number
  count = 0

  /** `limit`: bytes that the answer may have. */
  constructor (columns: readonly Column[], limit: number) {
    this.#layout = layoutOf(columns)
    this.#limit = limit
    this.#output.text(HEAD)
  }

  /** To be called before the first row where the columns turn out to be others. */
  useColumns (columns: readonly Column[]): void {
    this.#layout = layoutOf(columns)
  }

  /** Whether the answer has become larger than it may. Checked after each row. */
  get isTooLarge (): boolean {
    return this.#output.length > this.#limit
  }

  /** Nobody waits for the answer any more: forgets what was written, and is too large from the next row on. */
  drop (): void {
    this.#output = new Output()
    this.#limit = -1
  }

  /** A row of MySQL's text protocol, which stands in `bytes` from `offset` to `end`. @throws UNREADABLE_VALUE */
  textRow (bytes: Buffer, offset: number, end: number): void {
    this.#begin()
    writeRow(this.#output, this.#layout, bytes, offset, end)
  }

  /** A row of values as a driver gives them. @throws UNREADABLE_VALUE */
  row (values: ReadonlyArray<DriverValue | null>): void {
    this.#begin()
    const cells = this.#layout.cells.map(({ keyText, column }, index) => {
      const value = values[index] as DriverValue | null
      return keyText + (value === null ? 'null' : writeValue(column, value))
    })
    this.#output.text(cells.join('') + '}')
  }

  /** The answer. A short one as a string: Node sends that together with the headers, in one write. */
  finish (): Buffer | string {
    this.#output.text(`],"count":${this.count}}}`)
    return this.#output.end(SHORT_ANSWER)
  }

  #begin (): void {
    if (this.count++ === 0) return
    this.#output.reserve(1)
    this.#output.byte(COMMA)
  }
}

/** The same list of columns is asked for again and again where a request names none. */
const layouts = new WeakMap<readonly Column[], RowLayout>()

function layoutOf (columns: readonly Column[]): RowLayout {
  return obtain(layouts, columns, () => createRowLayout(columns))
}
