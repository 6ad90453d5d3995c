/** Sinks that read rows for the service itself, not for an answer. */
import type { RowSink } from '../dialects/dialect.ts'
import { copyValues } from '../dialects/mysql/length-encoded.ts'
import type { DriverValue } from '../types/column-type.ts'

/** Counts rows. */
export class RowCounter implements RowSink {
  readonly limit: number = Infinity
  readonly full = false
  count = 0

  begin (): void { this.count = 0 }

  textRow (bytes: Buffer, from: number, to: number): void { this.row(copyValues(bytes, from, to)) }

  row (_values: ReadonlyArray<DriverValue | null>): void { this.count++ }

  overflow (): void {}
}

/** Takes the one row of a count. */
export class CountSink extends RowCounter {
  override readonly limit = 1024
  /** The number as digits. */
  digits = '0'

  override row (values: ReadonlyArray<DriverValue | null>): void {
    super.row(values)
    this.digits = String(values[0])
  }
}
