import type { RowSink } from '../dialects/dialect.ts'
import type { DriverValue } from '../types/column-type.ts'
import { copyCells } from './cells.ts'

/** Takes the one row of a count. */
export class CountSink implements RowSink {
  readonly limit = 1024
  readonly full = false
  count = 0
  /** The number as digits. */
  digits = '0'

  begin (): void { this.count = 0 }

  textRow (bytes: Buffer, from: number, to: number): void { this.row(copyCells(bytes, from, to)) }

  row (values: ReadonlyArray<DriverValue | null>): void {
    this.digits = String(values[0])
    this.count++
  }

  overflow (): void {}
}
