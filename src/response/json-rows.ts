/** Writes rows as JSON objects: from bytes of MySQL's text protocol, or from values of a driver. */
import type { Column } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { DriverValue } from '../types/column-type.ts'
import { createRowLayout, writeRow, writeValue, type RowLayout } from './encode-row.ts'
import type { Output } from './output.ts'
import type { RowWriter } from './row-writer.ts'

/** Writes the bytes of one row. What stands between rows is left to the caller. */
export interface RowFormat {
  /** `columns`: those of the next rows, as the database has them now. */
  begin (columns: readonly Column[]): void
  /** A row of MySQL's text protocol (mysql/length-encoded.ts), in `bytes` from `from` to `to`. @throws UNREADABLE_VALUE */
  textRow (output: Output, bytes: Buffer, from: number, to: number): void
  /** A row of values as a driver returns them. @throws UNREADABLE_VALUE */
  row (output: Output, values: ReadonlyArray<DriverValue | null>): void
}

export class JsonRows implements RowFormat {
  #columns: readonly Column[]
  /** Writes rows that have members. */
  readonly writer: RowWriter | undefined
  /** Created with the first row: `begin` is called with columns that are the same object for each select of one shape, those of a plan are not. */
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
}

/** Whether one value has more bytes than the limit leaves. It is not written to find that out. */
export function isBeyond ({ maxBytes, length }: Output, values: ReadonlyArray<DriverValue | null>): boolean {
  const left = maxBytes - length
  return values.some((value) => (value as Uint8Array | null)?.length as number > left)
}

/** By list of columns: requests that name none share the list of their table. */
const layouts = new WeakMap<readonly Column[], RowLayout>()

function layoutOf (columns: readonly Column[]): RowLayout {
  return getOrCreate(layouts, columns, () => createRowLayout(columns))
}
