import type { RowSink } from '../dialects/dialect.ts'

/** Counts rows without reading them. */
export class RowCounter implements RowSink {
  readonly limit = Infinity
  readonly full = false
  count = 0

  begin (): void { this.count = 0 }
  textRow (): void { this.count++ }
  row (): void { this.count++ }
  overflow (): void {}
}
