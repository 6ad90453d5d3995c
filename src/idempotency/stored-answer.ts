import type { RowSink } from '../dialects/dialect.ts'
import type { DriverValue } from '../types/column-type.ts'

/** Takes the only row of a select from the table of keys. */
export class StoredAnswer implements RowSink {
  readonly limit = Infinity
  readonly full = false
  count = 0
  #values: readonly Buffer[] = []

  begin (): void {
    this.count = 0
    this.#values = []
  }

  textRow (bytes: Buffer, from: number, to: number): void {
    const values: Buffer[] = []
    for (let at = from; at < to;) {
      const [start, end] = cellAt(bytes, at)
      values.push(Buffer.from(bytes.subarray(start, end)))
      at = end
    }
    this.row(values)
  }

  row (values: ReadonlyArray<DriverValue | null>): void {
    this.count++
    this.#values = values.map((value) => Buffer.from(value as Uint8Array ?? ''))
  }

  overflow (): void {}

  /** The hash of the request. */
  get request (): Buffer {
    return this.#values[0] as Buffer
  }

  get answer (): Buffer {
    return this.#values[1] as Buffer
  }
}

/** Where a cell begins and ends (MySQL manual, "Protocol::LengthEncodedString"). NULL is an empty one. */
function cellAt (bytes: Buffer, at: number): [start: number, end: number] {
  const first = bytes[at] as number
  if (first < 0xfb) return [at + 1, at + 1 + first]
  if (first === 0xfb) return [at + 1, at + 1]
  const size = first === 0xfc ? 2 : first === 0xfd ? 3 : 6
  const start = at + 1 + (size === 6 ? 8 : size)
  return [start, start + bytes.readUIntLE(at + 1, size)]
}
