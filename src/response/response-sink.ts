/**
 * Writes the rows of a select into its response as they arrive: the rows (json-rows.ts, member-rows.ts), and the text
 * around them within its memory (output.ts).
 */
import type { Column } from '../catalog/catalog.ts'
import type { RowSink } from '../dialects/dialect.ts'
import { copyValues, valuesIn } from '../dialects/row-bytes.ts'
import { overloaded, resultTooLarge, type ServiceError, unsupported } from '../errors.ts'
import { cellsOf } from '../plan/members.ts'
import type { SelectPlan } from '../plan/plan.ts'
import type { DriverValue } from '../types/column-type.ts'
import { type MemoryBudget, ResponseMemory, UNLIMITED, afterRows, BEFORE_ROWS, Output } from './output.ts'
import { isLongRow, JsonRows, type RowFormat, type Values, writeRow, writeValue } from './json-rows.ts'
import { MemberRows, writeFragment } from './member-rows.ts'

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

/**
 * The position of the next page and the total number of rows, as members of the answer; empty if the request asked for
 * neither.
 */
export function pageMembers (
  { page, limit }: SelectPlan,
  { total }: { readonly total?: string | undefined },
  sink: ResponseSink
): string {
  const members = total === undefined ? '' : `,"total":${total}`
  if (!(sink instanceof PageSink)) return members
  const next = !sink.hasMore ? 'null' : page?.by === 'offset' ? String(page.offset + limit) : sink.position()
  return `,"next":${next}${members}`
}

/** The sink for the rows of a select. `maxBytes`: bytes that the response may have. */
export function createSelectSink (plan: SelectPlan, maxBytes: number, budget?: MemoryBudget): ResponseSink {
  const members = plan.members === undefined ? undefined : new MemberRows(cellsOf(plan))
  return plan.page === undefined
    ? new ResponseSink(plan.columns, maxBytes, budget, members)
    : new PageSink(plan, maxBytes, budget, members)
}

/** Takes the rows of a page, and one more that is not in the response but shows that another page follows. */
export class PageSink extends ResponseSink {
  readonly #plan: SelectPlan
  /** The columns as the database has them now. */
  #columns: readonly Column[] = []
  /** The last row of the page, if the position needs it. */
  #last: ReadonlyArray<DriverValue | null> = []
  #hasMore = false

  constructor (plan: SelectPlan, maxBytes: number, budget?: MemoryBudget, members?: MemberRows) {
    super(plan.columns, maxBytes, budget, members)
    this.#plan = plan
  }

  /** Twice the size of the response, because the row that is not in it may be as large. */
  override get maxBytes (): number {
    return super.maxBytes * 2
  }

  /** Whether there are rows after the page. */
  get hasMore (): boolean {
    return this.#hasMore
  }

  override begin (columns: readonly Column[]): void {
    this.#hasMore = false
    this.#columns = columns
    super.begin(columns)
  }

  override textRow (bytes: Buffer, offset: number, end: number): Promise<void> | undefined {
    if (this.#isBehind()) return undefined
    const taken = super.textRow(bytes, offset, end)
    if (this.#isLast()) this.#last = copyValues(bytes, offset, end)
    return taken
  }

  override row (values: ReadonlyArray<DriverValue | null>): Promise<void> | undefined {
    if (this.#isBehind()) return undefined
    const taken = super.row(values)
    if (this.#isLast()) this.#last = values
    return taken
  }

  /** The position of the last row as JSON. @throws UNREADABLE_VALUE; NOT_SUPPORTED if others may have it as well */
  position (): string {
    const { columns, order, page } = this.#plan
    const { hidden, nullableKey = [] } = page as Extract<SelectPlan['page'], { by: 'position' }>
    const planned = [...columns, ...hidden]
    const members = order.map((term) => {
      const index = planned.indexOf(term.column)
      const column = this.#columns[index] as Column
      const value = this.#last[index] as DriverValue | null
      if (value === null && nullableKey.includes(term.column)) {
        throw unsupported('/after', `the page ends with a row whose key "${column.name}" is NULL: use "offset"`)
      }
      const text = value === null ? 'null' : writeValue(column, value, column.type.positions?.write)
      return `${JSON.stringify(column.name)}:${text}`
    })
    return `{${members.join()}}`
  }

  /** Whether the page is already complete before this row. */
  #isBehind (): boolean {
    if (this.count < this.#plan.limit) return false
    this.#hasMore = true
    return true
  }

  /** Whether the row that was just taken is the last one of a complete page. */
  #isLast (): boolean {
    return this.count === this.#plan.limit && this.#plan.page?.by === 'position'
  }
}

// Sinks that read rows for the service itself, not for a response.

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

const toJson = (column: Column, value: DriverValue | null | undefined): string =>
  value === null || value === undefined ? 'null' : writeValue(column, value)

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
