/** Writes the rows of a select into its answer as they arrive: as bytes of MySQL's text protocol, or as values of a driver. */
import type { Column } from '../catalog/catalog.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { RowSink } from '../dialects/dialect.ts'
import type { DriverValue } from '../types/column-type.ts'
import { UNLIMITED, type AnswerBudget } from './budget.ts'
import { overloaded, resultTooLarge, type ServiceError } from '../errors.ts'
import { createRowLayout, writeRow, writeValue, type RowLayout } from './encode-row.ts'
import { writeFragment, type RowsByMember } from './insert-members.ts'
import { Output } from './output.ts'
import type { RowWriter } from './row-writer.ts'

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
  #output = new Output()
  #columns: readonly Column[]
  /** Writes rows that have members. */
  readonly writer: RowWriter | undefined
  /** Bytes of rows of members, which are not in the answer yet. */
  #held = 0
  /** Whether these rows are being put into the answer. */
  #isInserting = false
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
  constructor (columns: readonly Column[], limit: number, budget = UNLIMITED, writer?: RowWriter) {
    this.#columns = columns
    this.writer = writer
    this.#budget = budget
    // while the rows of members are put into those of the answer, both are there
    this.#limit = Math.min(limit, writer !== undefined && writer.links.size > 0 ? Math.floor(budget.largest / 2) : budget.largest)
    this.#room = Math.min(this.#limit, SHORT_ANSWER)
    this.#output.limit = this.#limit
  }

  begin (columns: readonly Column[]): void {
    this.#columns = columns
    this.#layout = undefined
    this.#output.length = this.#keptLength
    if (this.writer !== undefined) {
      this.#held = 0
      this.writer.clear()
      this.writer.begin(columns)
    }
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
    return this.#isDropped || (this.#output.length + this.#held > this.#room && !this.#extend())
  }

  overflow (): void {
    this.#refuse(resultTooLarge(`the answer would be larger than ${this.#limit} bytes; request fewer rows, or name fewer "columns"`))
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
    const limit = this.#isInserting ? this.#limit + this.#held : this.#limit
    const length = this.#output.length + this.#held
    const more = Math.max(Math.min(STEP, limit - this.#taken), length - this.#taken)
    if (length > limit) this.overflow()
    else if (!this.#budget.take(more, this.#taken + more)) this.#refuse(overloaded())
    else {
      this.#taken += more
      this.#room = Math.min(limit, this.#taken)
      return true
    }
    return false
  }

  textRow (bytes: Buffer, offset: number, end: number): void {
    this.#separate()
    if (this.writer !== undefined) return this.writer.textRow(this.#output, bytes, offset, end)
    writeRow(this.#output, this.#layout ??= layoutOf(this.#columns), bytes, offset, end)
  }

  row (values: ReadonlyArray<DriverValue | null>): void {
    this.#separate()
    if (this.#isBeyond(values)) return
    if (this.writer !== undefined) return this.writer.row(this.#output, values)
    const { cells: all } = this.#layout ??= layoutOf(this.#columns)
    const cells = all.map(({ keyText, column }, index) => {
      const value = values[index] as DriverValue | null
      return keyText + (value === null ? 'null' : writeValue(column, value))
    })
    this.#output.text(cells.join('') + '}')
  }

  /** Counts bytes of rows of members, which are put into the answer later. */
  hold (bytes: number): void {
    this.#held += bytes
  }

  /** Puts the rows of members into their places. */
  insertMembers (rows: RowsByMember): void {
    if (this.writer === undefined || this.full) return
    const before = this.#output
    const { bytes, length: end } = before
    this.#held += end
    this.#isInserting = true
    this.#output = new Output()
    this.#output.limit = this.#limit
    writeFragment(this.#output, { bytes, start: 0, end, gaps: this.writer.gaps }, rows, () => this.full)
    before.recycle()
    if (this.full) return this.#output.drop()
    this.#held = 0
    this.#isInserting = false
    this.#room = Math.min(this.#limit, Math.max(this.#taken, SHORT_ANSWER))
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
