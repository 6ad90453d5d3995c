/** Rows -> the whole answer to a select, as bytes. Fed by the MySQL dialect's own command with rows as they came, or with values. */
import type { Column } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { DriverValue } from '../types/column-type.ts'
import { giveMemory, largestAnswer, takeMemory } from './budget.ts'
import { overloaded, resultTooLarge, type ServiceError } from '../errors.ts'
import { createRowLayout, writeRow, writeValue, type RowLayout } from './encode-row.ts'
import { Output } from './output.ts'

const HEAD = '{"success":true,"data":{"rows":['
const COMMA = 0x2c
/** Bytes up to which an answer is cheaper to send as a string. */
const SHORT_ANSWER = 65_536
/** Bytes of the budget that are taken at a time. */
const STEP = 1_048_576

export class RowWriter {
  readonly #output = new Output()
  #layout: RowLayout
  readonly #limit: number
  /** Bytes up to which nothing has to be asked. */
  #room: number
  /** Bytes of the budget that this answer has. */
  #taken = 0
  #refusal: ServiceError | undefined
  count = 0

  /** `limit`: bytes that the answer may have. */
  constructor (columns: readonly Column[], limit: number) {
    this.#layout = layoutOf(columns)
    this.#limit = Math.min(limit, largestAnswer())
    this.#room = Math.min(this.#limit, SHORT_ANSWER)
    this.#output.limit = this.#limit
    this.#output.text(HEAD)
  }

  /** To be called before the first row where the columns turn out to be others. */
  useColumns (columns: readonly Column[]): void {
    this.#layout = layoutOf(columns)
  }

  /** Whether the answer has become larger than it may, or than there is memory for. Checked after each row. */
  get isTooLarge (): boolean {
    return this.#refusal !== undefined || (this.#output.length > this.#room && !this.#extend())
  }

  /** Why it is too large. */
  get refusal (): ServiceError {
    return this.#refusal ?? resultTooLarge(this.#limit)
  }

  /** Nobody waits for the answer any more: forgets what was written, and is too large from now on. */
  drop (refusal = overloaded()): void {
    this.#refusal = refusal
    this.#output.drop()
    this.release()
  }

  /** Gives its part of the budget back: the answer is ready, or there will be none. */
  release (): void {
    giveMemory(this.#taken)
    this.#taken = 0
  }

  /** Takes more of the budget; false, and no answer, where there is no more. */
  #extend (): boolean {
    const { length } = this.#output
    const more = Math.max(Math.min(STEP, this.#limit - this.#taken), length - this.#taken)
    if (length > this.#limit) this.drop(resultTooLarge(this.#limit))
    else if (!takeMemory(more, this.#taken + more)) this.drop(overloaded())
    else {
      this.#taken += more
      this.#room = Math.min(this.#limit, this.#taken)
      return true
    }
    return false
  }

  /** A row of MySQL's text protocol, which stands in `bytes` from `offset` to `end`. @throws UNREADABLE_VALUE */
  textRow (bytes: Buffer, offset: number, end: number): void {
    this.#begin()
    writeRow(this.#output, this.#layout, bytes, offset, end)
  }

  /** A row of values as a driver gives them. @throws UNREADABLE_VALUE */
  row (values: ReadonlyArray<DriverValue | null>): void {
    this.#begin()
    if (this.#isBeyond(values)) return
    const cells = this.#layout.cells.map(({ keyText, column }, index) => {
      const value = values[index] as DriverValue | null
      return keyText + (value === null ? 'null' : writeValue(column, value))
    })
    this.#output.text(cells.join('') + '}')
  }

  /** The answer. A short one as a string: Node sends that together with the headers, in one write. */
  finish (): Buffer | string {
    this.#output.text(`],"count":${this.count}}}`)
    this.release()
    return this.#output.end(SHORT_ANSWER)
  }

  /** Whether a value alone has more bytes than the limit leaves: it is not written out to find that. */
  #isBeyond (values: ReadonlyArray<DriverValue | null>): boolean {
    const left = this.#limit - this.#output.length
    if (!values.some((value) => (value as Uint8Array | null)?.length as number > left)) return false
    this.#output.overflow()
    return true
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
  return getOrCreate(layouts, columns, () => createRowLayout(columns))
}
