/** Writes rows as JSON objects: from bytes of MySQL's text protocol, or from values of a driver. */
import type { Column } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { LongWork } from '../in-pieces.ts'
import type { DriverValue } from '../types/column-type.ts'
import { createRowLayout, writeLongRow, writeRow, writeValue, type RowLayout } from './encode-row.ts'
import type { Output } from './output.ts'
import type { RowWriter } from './row-writer.ts'

/** Writes the bytes of one row; the caller writes the text between rows. */
export interface RowFormat {
  /** `columns`: the columns of the next rows, as the database has them now. */
  begin (columns: readonly Column[]): void
  /** A row of MySQL's text protocol (mysql/length-encoded.ts), in `bytes` from `from` to `to`. @throws UNREADABLE_VALUE */
  textRow (output: Output, bytes: Buffer, from: number, to: number): void
  /** A row of values as a driver returns them. @throws UNREADABLE_VALUE */
  row (output: Output, values: ReadonlyArray<DriverValue | null>): void
  /** A long row of values, in parts. The output overflows if a value is larger than it may become. @throws UNREADABLE_VALUE */
  longRow (output: Output, values: ReadonlyArray<DriverValue | null>): LongWork
}

export class JsonRows implements RowFormat {
  #columns: readonly Column[]
  /** Writes rows that have members. */
  readonly writer: RowWriter | undefined
  /** Created with the first row, because the columns passed to `begin` are the same object for each select of one shape, unlike those of a plan. */
  #layout: RowLayout | undefined

  constructor (columns: readonly Column[], writer?: RowWriter) {
    this.#columns = columns
    this.writer = writer
  }

  begin (columns: readonly Column[]): void {
    this.#columns = columns
    this.#layout = undefined
    this.writer?.begin(columns)
  }

  textRow (output: Output, bytes: Buffer, from: number, to: number): void {
    if (this.writer !== undefined) return this.writer.textRow(output, bytes, from, to)
    writeRow(output, this.#layout ??= layoutOf(this.#columns), bytes, from, to)
  }

  row (output: Output, values: ReadonlyArray<DriverValue | null>): void {
    if (this.writer !== undefined) return this.writer.row(output, values)
    const { cells: all } = this.#layout ??= layoutOf(this.#columns)
    const cells = all.map(({ keyText, column }, index) => {
      const value = values[index] as DriverValue | null
      return keyText + (value === null ? 'null' : writeValue(column, value))
    })
    output.text(cells.join('') + '}')
  }

  longRow (output: Output, values: ReadonlyArray<DriverValue | null>): LongWork {
    if (this.writer !== undefined) return this.writer.longRow(output, values)
    return writeLongRow(output, (this.#layout ??= layoutOf(this.#columns)), values)
  }
}

/** Whether one value is larger than the limit allows, which is found without writing it. `size`: that of all values. */
export function isBeyond ({ maxBytes, length }: Output, values: ReadonlyArray<DriverValue | null>, size: number): boolean {
  const left = maxBytes - length
  return size > left && values.some((value) => (value as Uint8Array | null)?.length as number > left)
}

/** The layouts by list of columns; requests without `columns` share the list of their table. */
const layouts = new WeakMap<readonly Column[], RowLayout>()

function layoutOf (columns: readonly Column[]): RowLayout {
  return getOrCreate(layouts, columns, () => createRowLayout(columns))
}
