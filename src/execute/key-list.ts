import type { Column } from '../catalog/catalog.ts'
import { resultTooLarge, unsupported } from '../errors.ts'
import { parseExactJson } from '../json/exact-json.ts'
import { RowCounter } from '../response/count-sink.ts'
import type { DriverValue, Value } from '../types/column-type.ts'

/** Maximum size of the keys of a write, in bytes: enough for a thousand keys of the size that an index allows. */
const MAX_BYTES = 4 * 1024 * 1024

/** Keeps the keys of rows as parameters of later statements. */
export class KeyList extends RowCounter {
  override readonly maxBytes = MAX_BYTES
  readonly #columns: readonly Column[]
  readonly keys: Value[][] = []

  constructor (columns: readonly Column[]) {
    super()
    this.#columns = columns
  }

  override begin (): void {
    super.begin()
    this.keys.length = 0
  }

  /** Keeps the values as they are, because a value that a select returns finds its row as a parameter. @throws NOT_SUPPORTED for NULL, which identifies no row */
  override row (values: ReadonlyArray<DriverValue | null>): undefined {
    super.row(values)
    this.keys.push(this.#columns.map((column, index) => readKey(column, values[index] as DriverValue | null)))
  }

  override overflow (): void {
    throw resultTooLarge(`the keys of the rows are larger than ${MAX_BYTES} bytes`)
  }
}

function readKey ({ type }: Column, value: DriverValue | null): Value {
  const { read, write } = type.positions ?? type
  try {
    if (value !== null) return read(parseExactJson(write(value)))
  } catch { /* the value cannot be read */ }
  throw unsupported('/returning', 'a row has no key that identifies it')
}
