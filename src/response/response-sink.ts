/**
 * Rows are written as they arrive (json-rows.ts, member-rows.ts), with the text around them, within the memory of the
 * response (budget.ts).
 */
import type { Column } from '../catalog/catalog.ts'
import type { RowSink } from '../dialects/dialect.ts'
import { copyValues, valuesIn } from '../dialects/packets.ts'
import { overloaded, resultTooLarge, type ServiceError, unsupported } from '../errors.ts'
import type { Cells } from '../plan/members.ts'
import type { Page, SelectPlan } from '../plan/plan.ts'
import type { DriverValue } from '../types/column-type.ts'
import { type MemoryBudget, ResponseMemory, UNLIMITED } from './budget.ts'
import { Output } from './output.ts'
import { isLongRow, JsonRows, type Values, writeRow, writeValue } from './json-rows.ts'
import { MemberRows, writeFragment } from './member-rows.ts'

export const ENVELOPE = '{"success":true,"data":'

const BEFORE_ROWS = `${ENVELOPE}{"rows":[`

/** `members`: what follows the rows in the data, such as `"count":2`. */
const afterRows = (count: number, members: string): string => `${count === 0 ? BEFORE_ROWS : ''}],${members}}}`

const COMMA = 0x2c
/** Up to so many bytes are cheaper to send as a string. */
const SHORT_RESPONSE = 65_536
/** Up to so many bytes take no memory of the budget. */
const UNRESERVED = 65_536

/** Reserves no memory for a short response. Whoever does not call `finish` must call `drop`, which frees it. */
export class ResponseSink implements RowSink {
  #output = new Output()
  readonly #rows: JsonRows
  /** The same, if they wait for lists. Such a response is half as large at most, because it is copied with them. */
  readonly rowsWithLists: MemberRows | undefined
  /** Bytes that wait to be inserted, and the further memory that this needs. */
  #held = 0
  #heldMemory = 0
  /** The maximum size of the response, in bytes. */
  readonly #maxBytes: number
  readonly #budget: MemoryBudget
  /** Undefined for an unreserved response. */
  #memory: ResponseMemory | undefined
  /** The reserved memory suffices up to this length, in bytes. */
  #room: number
  #refusal: ServiceError | undefined
  #isDropped = false
  /** The bytes, the number and the gaps of the rows to which the next select appends its own. */
  #keptLength = 0
  #keptCount = 0
  #keptGaps = 0
  count = 0
  /** The select of a page, which reads one more row than the response has: it shows that another page follows. */
  readonly #page: SelectPlan | undefined
  /** The columns as the database has them now, and the last row of the page, for the position. */
  #columns: readonly Column[] = []
  #last: Values = []
  #hasMore = false

  /** `maxBytes`: of the response; the budget may allow less. */
  constructor (columns: readonly Column[], maxBytes: number, { budget = UNLIMITED, cells, page }: {
    readonly budget?: MemoryBudget
    readonly cells?: Cells | undefined
    readonly page?: SelectPlan | undefined
  } = {}) {
    const members = cells && new MemberRows(cells)
    this.#rows = members ?? new JsonRows({ from: 0, columns })
    this.rowsWithLists = cells === undefined || cells.links.length === 0 ? undefined : members
    this.#page = page
    this.#budget = budget
    const { largest } = budget
    this.#maxBytes = Math.min(maxBytes, this.rowsWithLists === undefined ? largest : Math.floor(largest / 2))
    this.#room = Math.min(this.#maxBytes, UNRESERVED)
    this.#output.maxBytes = this.#maxBytes
  }

  begin (columns: readonly Column[]): void {
    this.#output.length = this.#keptLength
    this.#held = this.#heldMemory = 0
    this.rowsWithLists?.clear(this.#keptGaps)
    this.#rows.begin(columns)
    this.#columns = columns
    this.#hasMore = false
    this.count = this.#keptCount
  }

  /** Of its rows: twice for a page, because the row that is not in it may be as large. */
  get maxBytes (): number {
    return this.#page === undefined ? this.#maxBytes : 2 * this.#maxBytes
  }

  /** The next select appends its rows. */
  keepRows (): void {
    this.#keptLength = this.#output.length
    this.#keptCount = this.count
    this.#keptGaps = this.rowsWithLists?.gaps.length ?? 0
  }

  /** The next select begins again. */
  clear (): void {
    this.#keptLength = this.#keptCount = this.#keptGaps = 0
  }

  /** Rows that the next select does not replace. */
  get keptCount (): number {
    return this.#keptCount
  }

  get full (): boolean {
    const waiting = this.rowsWithLists === undefined ? 0 : this.#waiting
    return this.#isDropped || (this.#output.length + waiting > this.#room && !this.#extend())
  }

  /** What waits to be inserted; 0 without lists. */
  get #waiting (): number {
    return this.#held + this.#heldMemory + (this.rowsWithLists?.size ?? 0)
  }

  overflow (): void {
    const most = this.#budget.before + this.#maxBytes
    this.#refuse(
      resultTooLarge(`the response would be larger than ${most} bytes; request fewer rows, or name fewer "columns"`)
    )
  }

  /** Why a full sink cannot send its response. */
  get refusal (): ServiceError | undefined {
    return this.#refusal
  }

  /** Frees the memory, and takes no more rows. */
  drop (): void {
    this.#isDropped = true
    this.#output.drop()
    this.#memory?.release()
  }

  #refuse (refusal: ServiceError): void {
    this.#refusal = refusal
    this.drop()
  }

  /** Refuses the response if there is no more memory, and returns false. */
  #extend (): boolean {
    const { length } = this.#output
    const waiting = this.#waiting
    const memory = this.#memory ??= new ResponseMemory(this.#budget)
    if (length + this.#held > this.#maxBytes || length + waiting > this.#budget.largest) this.overflow()
    else if (!memory.extend(length + waiting, this.#maxBytes + waiting)) this.#refuse(overloaded())
    else {
      this.#room = Math.min(this.#maxBytes + waiting, memory.taken)
      return true
    }
    return false
  }

  textRow (bytes: Buffer, offset: number, end: number, count: number): Promise<void> | undefined {
    if (isLongRow(end - offset)) return this.row(valuesIn(bytes, offset, end, count))
    if (this.#page !== undefined && this.#isBehind(this.#page)) return undefined
    if (this.count++ === 0) this.#output.text(BEFORE_ROWS)
    else this.#output.byte(COMMA)
    this.#rows.textRow(this.#output, bytes, offset, end)
    if (this.count === this.#page?.limit) this.#last = copyValues(bytes, offset, end, count)
    return undefined
  }

  row (values: Values): Promise<void> | undefined {
    if (this.#page !== undefined && this.#isBehind(this.#page)) return undefined
    if (this.count++ === 0) this.#output.text(BEFORE_ROWS)
    else this.#output.byte(COMMA)
    if (this.count === this.#page?.limit) this.#last = values
    return writeRow(this.#rows.values(this.#output, values), values, () => this.full)
  }

  /** The page is already complete before this row. */
  #isBehind ({ limit }: SelectPlan): boolean {
    if (this.count < limit) return false
    this.#hasMore = true
    return true
  }

  /** Bytes that are inserted later, and the further memory that they take. */
  hold (bytes: number, memory: number): void {
    this.#held += bytes
    this.#heldMemory += memory
  }

  /** Inserts the lists into the rows that have them, when their rows have been read. */
  insertLists (): void {
    if (this.rowsWithLists === undefined || this.full) return
    const { gaps } = this.rowsWithLists
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
    this.rowsWithLists.clear()
    this.#room = Math.min(this.#maxBytes, Math.max(this.#memory?.taken ?? 0, UNRESERVED))
  }

  /**
   * A short response is a string, which Node sends together with the headers. Nothing can be written afterwards.
   * `fields`: further ones after `count`, each preceded by a comma. @throws RESULT_TOO_LARGE, OVERLOADED if they do not
   * fit
   */
  finish (fields = ''): Buffer | string {
    this.#output.text(afterRows(this.count, `"count":${this.count}${fields}`))
    if (fields !== '' && this.full) {
      const error = this.#refusal as ServiceError
      throw error
    }
    return this.#end()
  }

  /** `fields`: after the rows. The response cannot be refused, because the write may be committed. */
  finishWrite (fields: string): Buffer | string {
    this.#output.text(afterRows(this.count, fields))
    return this.#end()
  }

  #end (): Buffer | string {
    this.#memory?.release()
    return this.#output.end(SHORT_RESPONSE)
  }

  /** The next page as a field of the response; empty if the request did not ask for it. @throws as #position */
  next (): string {
    const { page, limit } = this.#page ?? {}
    if (page === undefined || limit === undefined) return ''
    if (!this.#hasMore) return ',"next":null'
    return `,"next":${page.by === 'offset' ? page.offset + limit : this.#position(this.#page as SelectPlan, page)}`
  }

  /** Of the last row, as JSON. @throws UNREADABLE_VALUE; NOT_SUPPORTED if others may have it as well */
  #position ({ columns, order }: SelectPlan, { orderOnly, nullableKey }: Extract<Page, { by: 'position' }>): string {
    const planned = [...columns, ...orderOnly]
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
}

export class RowCounter implements RowSink {
  readonly maxBytes: number = Infinity
  readonly full = false
  count = 0

  begin (): void { this.count = 0 }

  textRow (bytes: Buffer, from: number, to: number, count: number): undefined {
    this.row(copyValues(bytes, from, to, count))
  }

  row (_values: Values): undefined { this.count++ }

  overflow (): void {}
}

/** `maxBytes`: that the rows may have. */
export class LastRow extends RowCounter {
  override readonly maxBytes: number
  values: Values | undefined

  constructor (maxBytes = 1024) {
    super()
    this.maxBytes = maxBytes
  }

  override row (values: Values): undefined {
    super.row(values)
    this.values = values
  }

  override overflow (): void {
    throw resultTooLarge(`the rows are larger than ${this.maxBytes} bytes`)
  }
}
