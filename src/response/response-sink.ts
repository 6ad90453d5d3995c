/**
 * Writes the rows of a select into its response as they arrive: the rows (json-rows.ts, member-rows.ts) and the text
 * around them (output.ts), within its memory (budget.ts).
 */
import type { Column } from '../catalog/catalog.ts'
import type { RowSink } from '../dialects/dialect.ts'
import { valuesIn } from '../dialects/mysql/packets.ts'
import { overloaded, resultTooLarge, type ServiceError } from '../errors.ts'
import { ResponseMemory, type MemoryBudget, UNLIMITED } from './budget.ts'
import { isLongRow, JsonRows, type RowFormat, type Values, writeRow } from './json-rows.ts'
import { type MemberRows, writeFragment } from './member-rows.ts'
import { afterRows, BEFORE_ROWS, Output } from './output.ts'

const COMMA = 0x2c
/** Bytes up to which a response is cheaper to send as a string. */
const SHORT_RESPONSE = 65_536

/** Reserves no memory before the first row. Whoever does not call `finish` must call `drop`, which frees it. */
export class ResponseSink implements RowSink {
  #output = new Output()
  readonly #rows: RowFormat
  /** Writes rows that have members. */
  readonly members: MemberRows | undefined
  /** Whether rows wait for lists. Such a response is half as large at most, because it is copied with them. */
  readonly #hasLists: boolean
  /** The bytes that wait to be inserted, and the further memory that this needs. */
  #held = 0
  #heldMemory = 0
  /** The maximum size of the response, in bytes. */
  readonly #maxBytes: number
  readonly #memory: ResponseMemory
  /** The maximum memory of any response, in bytes. */
  readonly #largest: number
  /** The bytes of the earlier parts, if it is a part of a larger response. */
  readonly #before: number
  /** The length up to which the reserved memory suffices, in bytes. */
  #room: number
  #refusal: ServiceError | undefined
  #isDropped = false
  /** The bytes, the number and the gaps of the rows to which the next select appends its own. */
  #keptLength = 0
  #keptCount = 0
  #keptGaps = 0
  count = 0

  /** `maxBytes`: the maximum size of the response; the budget may allow less. `members`: writes rows with members. */
  constructor (
    columns: readonly Column[],
    maxBytes: number,
    budget: MemoryBudget = UNLIMITED,
    members?: MemberRows
  ) {
    this.members = members
    this.#hasLists = members !== undefined && members.lists.size > 0
    this.#rows = members ?? new JsonRows(columns)
    this.#memory = new ResponseMemory(budget)
    this.#largest = budget.largest
    this.#before = budget.before
    this.#maxBytes = Math.min(maxBytes, this.#hasLists ? Math.floor(budget.largest / 2) : budget.largest)
    this.#room = Math.min(this.#maxBytes, SHORT_RESPONSE)
    this.#output.maxBytes = this.#maxBytes
  }

  begin (columns: readonly Column[]): void {
    this.#output.length = this.#keptLength
    this.#held = this.#heldMemory = 0
    this.members?.clear(this.#keptGaps)
    this.#rows.begin(columns)
    this.count = this.#keptCount
  }

  /** The maximum size of its rows, in bytes. */
  get maxBytes (): number {
    return this.#maxBytes
  }

  /** Appends the rows of the next select to the present ones. */
  keepRows (): void {
    this.#keptLength = this.#output.length
    this.#keptCount = this.count
    this.#keptGaps = this.members?.gaps.length ?? 0
  }

  /** Makes the rows of the next select the first ones. */
  forgetRows (): void {
    this.#keptLength = this.#keptCount = this.#keptGaps = 0
  }

  /** The number of rows that the next select does not replace. */
  get keptCount (): number {
    return this.#keptCount
  }

  get full (): boolean {
    return this.#isDropped || (this.#output.length + this.#waiting > this.#room && !this.#extend())
  }

  /** The memory of what waits to be inserted. */
  get #waiting (): number {
    return this.#hasLists ? this.#held + this.#heldMemory + (this.members as MemberRows).size : 0
  }

  overflow (): void {
    this.#refuse(
      resultTooLarge(
        `the answer would be larger than ${this.#before + this.#maxBytes} bytes; request fewer rows, or name fewer ` +
        '"columns"'
      )
    )
  }

  /** The reason why the response cannot be sent, if the sink is full. */
  get refusal (): ServiceError | undefined {
    return this.#refusal
  }

  /** Frees the memory, and takes no more rows. */
  drop (): void {
    this.#isDropped = true
    this.#output.drop()
    this.#memory.release()
  }

  #refuse (refusal: ServiceError): void {
    this.#refusal = refusal
    this.drop()
  }

  /** Reserves more memory; if there is none, rejects the response and returns false. */
  #extend (): boolean {
    const { length } = this.#output
    const waiting = this.#waiting
    if (length + this.#held > this.#maxBytes || length + waiting > this.#largest) this.overflow()
    else if (!this.#memory.extend(length + waiting, this.#maxBytes + waiting)) this.#refuse(overloaded())
    else {
      this.#room = Math.min(this.#maxBytes + waiting, this.#memory.taken)
      return true
    }
    return false
  }

  textRow (bytes: Buffer, offset: number, end: number): Promise<void> | undefined {
    if (isLongRow(end - offset)) return this.#take(valuesIn(bytes, offset, end))
    this.#separate()
    this.#rows.textRow(this.#output, bytes, offset, end)
    return undefined
  }

  row (values: Values): Promise<void> | undefined {
    return this.#take(values)
  }

  #take (values: Values): Promise<void> | undefined {
    this.#separate()
    return writeRow(this.#rows.values(this.#output, values), values, () => this.full)
  }

  /** Counts bytes that are inserted later, and the further memory that they take. */
  hold (bytes: number, memory: number): void {
    this.#held += bytes
    this.#heldMemory += memory
  }

  /** Inserts the lists into the rows that have them, when their rows have been read. */
  insertLists (): void {
    if (!this.#hasLists || this.full) return
    const { gaps } = this.members as MemberRows
    const output = this.#output
    // these are not part of the response any more, which is a copy
    this.#heldMemory += this.#held + output.length
    this.#held = 0
    this.#output = new Output()
    this.#output.maxBytes = this.#maxBytes
    const rows = { output, gaps, start: 0, end: output.length, gap: 0, gapEnd: gaps.length }
    const isWhole = writeFragment(this.#output, rows, () => this.full)
    output.recycle()
    if (!isWhole) return this.#output.drop()
    this.#heldMemory = 0
    this.members?.clear()
    this.#room = Math.min(this.#maxBytes, Math.max(this.#memory.taken, SHORT_RESPONSE))
  }

  /**
   * Returns the response; a short one as a string, which Node sends together with the headers. Nothing can be written
   * afterwards. `members`: further members after `count`, each preceded by a comma. @throws RESULT_TOO_LARGE,
   * OVERLOADED if they do not fit
   */
  finish (members = ''): Buffer | string {
    this.#output.text(afterRows(this.count, `"count":${this.count}${members}`))
    if (members !== '' && this.full) {
      const error = this.#refusal as ServiceError
      throw error
    }
    return this.#end()
  }

  /**
   * Returns the response to a write, with `members` after its rows. It cannot be rejected, because the write may be
   * committed.
   */
  finishWrite (members: string): Buffer | string {
    this.#output.text(afterRows(this.count, members))
    return this.#end()
  }

  #end (): Buffer | string {
    this.#memory.release()
    return this.#output.end(SHORT_RESPONSE)
  }

  #separate (): void {
    if (this.count++ === 0) return this.#output.text(BEFORE_ROWS)
    this.#output.reserve(1)
    this.#output.byte(COMMA)
  }
}
