/** Sinks that read rows for the service itself, not for an answer. */
import type { RowSink } from '../dialects/dialect.ts'
import type { Column } from '../catalog/catalog.ts'
import { copyValues } from '../dialects/mysql/connection/packets.ts'
import { resultTooLarge } from '../errors.ts'
import type { DriverValue } from '../types/column-type.ts'
import { writeValue } from './encode-row.ts'

/** Counts rows. */
export class RowCounter implements RowSink {
  readonly maxBytes: number = Infinity
  readonly full = false
  count = 0

  begin (): void { this.count = 0 }

  textRow (bytes: Buffer, from: number, to: number): undefined { this.row(copyValues(bytes, from, to)) }

  row (_values: ReadonlyArray<DriverValue | null>): undefined { this.count++ }

  overflow (): void {}
}

/** Takes the one row of a count. */
export class CountSink extends RowCounter {
  override readonly maxBytes = 1024
  /** The number as digits. */
  digits = '0'

  override row (values: ReadonlyArray<DriverValue | null>): undefined {
    super.row(values)
    this.digits = String(values[0])
  }
}

/** Reads values as JSON. `maxBytes`: bytes that the rows may have. */
abstract class JsonSink extends RowCounter {
  override readonly maxBytes: number

  constructor (maxBytes: number) {
    super()
    this.maxBytes = maxBytes
  }

  override overflow (): void {
    throw resultTooLarge(`the rows are larger than ${this.maxBytes} bytes`)
  }
}

const toJson = (column: Column, value: DriverValue | null | undefined): string => value === null || value === undefined ? 'null' : writeValue(column, value)

/** Keeps the value of the first column of the last row as JSON. */
export class ValueSink extends JsonSink {
  readonly #column: Column
  json: string | undefined

  constructor (column: Column, maxBytes: number) {
    super(maxBytes)
    this.#column = column
  }

  override row (values: ReadonlyArray<DriverValue | null>): undefined {
    super.row(values)
    this.json = toJson(this.#column, values[0])
  }
}

/** Compares rows with the first one. */
export class EqualSink extends JsonSink {
  readonly #columns: readonly Column[]
  #first: string | undefined
  areEqual = true

  constructor (columns: readonly Column[], maxBytes: number) {
    super(maxBytes)
    this.#columns = columns
  }

  override row (values: ReadonlyArray<DriverValue | null>): undefined {
    super.row(values)
    const text = this.#columns.map((column, index) => toJson(column, values[index])).join()
    this.areEqual &&= text === (this.#first ??= text)
  }
}
