/** Writes the rows of a select into its answer as they arrive: as bytes of MySQL's text protocol, or as values of a driver. */
import type { Column } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { RowSink } from '../dialects/dialect.ts'
import type { DriverValue } from '../types/column-type.ts'
import { UNLIMITED, type AnswerBudget } from './budget.ts'
import { overloaded, resultTooLarge, type ServiceError } from '../errors.ts'
import { createRowLayout, writeRow, writeValue, type RowLayout } from './encode-row.ts'
import { Output } from './output.ts'

/** What stands before the data of every answer. */
export const ENVELOPE = '{"success":true,"data":'
const HEAD = `${ENVELOPE}{"rows":[`
const COMMA = 0x2c
/** Bytes up to which an answer is cheaper to send as a string. */
const SHORT_ANSWER = 65_536
/** Bytes of the budget that are taken at a time. */
const STEP = 1_048_576

/** Takes no memory before the first row. `drop` gives back what `finish` has not. */
export class AnswerSink implements RowSink {
  readonly #output = new Output()
  #columns: readonly Column[]
  /** Created with the first row: `begin` is called with columns that are the same object for each select of one shape, those of a plan are not. */
  #layout: RowLayout | undefined
  /** Bytes that the answer may have. */
  readonly #limit: number
  readonly #budget: AnswerBudget
  /** Bytes up to which no more of the budget has to be taken. */
  #room: number
  /** Bytes of the budget that this answer has taken. */
  #taken = 0
  #refusal: ServiceError | undefined
  #isDropped = false
  /** What is there before the rows of the next select. */
  #keptLength = 0
  #keptCount = 0
  count = 0

  /** `limit`: bytes that the answer may have, if there is so much memory for answers. */
  constructor (columns: readonly Column[], limit: number, budget = UNLIMITED) {
    this.#columns = columns
    this.#budget = budget
    this.#limit = Math.min(limit, budget.largest)
    this.#room = Math.min(this.#limit, SHORT_ANSWER)
    this.#output.limit = this.#limit
  }

  begin (columns: readonly Column[]): void {
    this.#columns = columns
    this.#layout = undefined
    this.#output.length = this.#keptLength
    this.count = this.#keptCount
  }

  /** Bytes that its rows may have. */
  get limit (): number {
    return this.#limit
  }

  /** The rows of the next select come behind those that are there. */
  keepRows (): void {
    this.#keptLength = this.#output.length
    this.#keptCount = this.count
  }

  /** The rows of the next select are the first ones. */
  forgetRows (): void {
    this.#keptLength = this.#keptCount = 0
  }

  /** Rows that the next select does not replace. */
  get keptCount (): number {
    return this.#keptCount
  }

  get full (): boolean {
    return this.#isDropped || (this.#output.length > this.#room && !this.#extend())
  }

  overflow (): void {
    this.#refuse(resultTooLarge(`the answer would be larger than ${this.#limit} bytes; request fewer rows or columns`))
  }

  /** Why the answer cannot be sent, if the sink is full. */
  get refusal (): ServiceError | undefined {
    return this.#refusal
  }

  /** Frees the memory, and takes no more rows. */
  drop (): void {
    this.#isDropped = true
    this.#output.drop()
    this.#release()
  }

  #refuse (refusal: ServiceError): void {
    this.#refusal = refusal
    this.drop()
  }

  #release (): void {
    this.#budget.give(this.#taken)
    this.#taken = 0
  }

  /** Takes more of the budget; false, and no answer, where there is no more. */
  #extend (): boolean {
    const { length } = this.#output
    const more = Math.max(Math.min(STEP, this.#limit - this.#taken), length - this.#taken)
    if (length > this.#limit) this.overflow()
    else if (!this.#budget.take(more, this.#taken + more)) this.#refuse(overloaded())
    else {
      this.#taken += more
      this.#room = Math.min(this.#limit, this.#taken)
      return true
    }
    return false
  }

  textRow (bytes: Buffer, offset: number, end: number): void {
    this.#separate()
    writeRow(this.#output, this.#layout ??= layoutOf(this.#columns), bytes, offset, end)
  }

  row (values: ReadonlyArray<DriverValue | null>): void {
    this.#separate()
    if (this.#isBeyond(values)) return
    const { cells: all } = this.#layout ??= layoutOf(this.#columns)
    const cells = all.map(({ keyText, column }, index) => {
      const value = values[index] as DriverValue | null
      return keyText + (value === null ? 'null' : writeValue(column, value))
    })
    this.#output.text(cells.join('') + '}')
  }

  /**
   * The answer. A short one as a string: Node sends it together with the headers, in one write. Nothing can be written after it.
   * `members`: what the answer has behind `count`, each with a comma before it. @throws RESULT_TOO_LARGE, OVERLOADED if they do not fit
   */
  finish (members = ''): Buffer | string {
    this.#output.text(`${this.count === 0 ? HEAD : ''}],"count":${this.count}${members}}}`)
    if (members !== '' && this.full) {
      const error = this.#refusal as ServiceError
      throw error
    }
    return this.#end()
  }

  /** The answer to a write, with `members` behind its rows. It is not refused any more: what was written may be committed. */
  finishWrite (members: string): Buffer | string {
    this.#output.text(`${this.count === 0 ? HEAD : ''}],${members}}}`)
    return this.#end()
  }

  #end (): Buffer | string {
    this.#release()
    return this.#output.end(SHORT_ANSWER)
  }

  /** Whether one value has more bytes than the limit leaves. It is not written to find that out. */
  #isBeyond (values: ReadonlyArray<DriverValue | null>): boolean {
    const left = this.#limit - this.#output.length
    if (!values.some((value) => (value as Uint8Array | null)?.length as number > left)) return false
    this.#output.overflow()
    return true
  }

  #separate (): void {
    if (this.count++ === 0) return this.#output.text(HEAD)
    this.#output.reserve(1)
    this.#output.byte(COMMA)
  }
}

/** By list of columns: requests that name none share the list of their table. */
const layouts = new WeakMap<readonly Column[], RowLayout>()

function layoutOf (columns: readonly Column[]): RowLayout {
  return getOrCreate(layouts, columns, () => createRowLayout(columns))
}
