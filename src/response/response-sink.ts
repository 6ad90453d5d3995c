/**
 * Writes the rows of a select into its response as they arrive: the rows (row-writer.ts) and the text around them
 * (output.ts), within its memory (budget.ts).
 */
import type { Column } from '../catalog/catalog.ts'
import type { RowSink } from '../dialects/dialect.ts'
import { valuesIn } from '../dialects/mysql/connection/packets.ts'
import { overloaded, resultTooLarge, type ServiceError } from '../errors.ts'
import { inPieces } from '../in-pieces.ts'
import type { LinkCells } from '../plan/cells.ts'
import type { DriverValue } from '../types/column-type.ts'
import { ResponseMemory, type MemoryBudget, UNLIMITED } from './budget.ts'
import { isLongRow, sizeOf } from './encode-row.ts'
import { isBeyond, JsonRows, type RowWriter } from './row-writer.ts'
import type { Fragment, MemberRows } from './member-rows.ts'
import { afterRows, BEFORE_ROWS, Output } from './output.ts'

// Inserts the rows of members into the gaps of the rows that they are related to.

type RowsByMember = ReadonlyMap<LinkCells, MemberRows>

/** Writes a fragment with its gaps filled. Stops and returns false if the output takes no more. */
function writeFragment (
  output: Output,
  { bytes, start, end, gaps, gap, gapsEnd }: Fragment,
  rows: RowsByMember,
  isFull: () => boolean
): boolean {
  let from = start
  for (let next = gap; next < gapsEnd; next++) {
    const { at, link, valueId } = gaps[next] as Fragment['gaps'][number]
    copy(output, bytes, from, at)
    from = at
    const related = rows.get(link)?.find(valueId)
    if (related !== undefined && (isFull() || !writeFragment(output, related, rows, isFull))) return false
  }
  copy(output, bytes, from, end)
  return !isFull()
}

/** The number of bytes up to which a loop is faster. */
const SHORT = 64

function copy (output: Output, bytes: Buffer, from: number, to: number): void {
  const length = to - from
  // the same rows may be related to many others
  if (output.length + length > output.maxBytes) return output.overflow()
  output.reserve(length)
  const { bytes: target, length: at } = output
  if (length > SHORT) bytes.copy(target, at, from, to)
  else for (let each = 0; each < length; each++) target[at + each] = bytes[from + each] as number
  output.length = at + length
}

const COMMA = 0x2c
/** Bytes up to which a response is cheaper to send as a string. */
const SHORT_RESPONSE = 65_536

/** Reserves no memory before the first row. Whoever does not call `finish` must call `drop`, which frees it. */
export class ResponseSink implements RowSink {
  #output = new Output()
  readonly #rows: JsonRows
  /** Bytes of the rows of members that have been read and wait to be inserted. */
  #held = 0
  /** Memory that is needed to insert them, in bytes. */
  #insertMemory = 0
  /** Whether the rows of members are being inserted. */
  #isInserting = false
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
  /** The bytes and the number of the rows to which the next select appends its own. */
  #keptLength = 0
  #keptCount = 0
  count = 0

  /** `maxBytes`: the maximum size of the response; the budget may allow less. `writer`: writes rows with members. */
  constructor (
    columns: readonly Column[],
    maxBytes: number,
    budget: MemoryBudget = UNLIMITED,
    writer?: RowWriter
  ) {
    this.#rows = new JsonRows(columns, writer)
    this.#memory = new ResponseMemory(budget)
    this.#largest = budget.largest
    this.#before = budget.before
    this.#maxBytes = Math.min(maxBytes, largestOf(budget, writer))
    this.#room = Math.min(this.#maxBytes, SHORT_RESPONSE)
    this.#output.maxBytes = this.#maxBytes
  }

  /** Writes rows that have members. */
  get writer (): RowWriter | undefined {
    return this.#rows.writer
  }

  begin (columns: readonly Column[]): void {
    this.#output.length = this.#keptLength
    this.#held = this.#insertMemory = 0
    this.writer?.clear()
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
  }

  /** Makes the rows of the next select the first ones. */
  forgetRows (): void {
    this.#keptLength = this.#keptCount = 0
  }

  /** The number of rows that the next select does not replace. */
  get keptCount (): number {
    return this.#keptCount
  }

  get full (): boolean {
    return (
      this.#isDropped || (this.#output.length + this.#held + this.#memoryToInsert() > this.#room && !this.#extend())
    )
  }

  #memoryToInsert (): number {
    return this.writer === undefined ? 0 : this.#insertMemory + this.writer.size
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
    const maxBytes = this.#isInserting ? this.#maxBytes + this.#held : this.#maxBytes
    const length = this.#output.length + this.#held
    const insertMemory = this.#memoryToInsert()
    if (length > maxBytes || length + insertMemory > this.#largest) this.overflow()
    else if (!this.#memory.extend(length + insertMemory, maxBytes + insertMemory)) this.#refuse(overloaded())
    else {
      this.#room = Math.min(maxBytes + insertMemory, this.#memory.taken)
      return true
    }
    return false
  }

  textRow (bytes: Buffer, offset: number, end: number): Promise<void> | undefined {
    this.#separate()
    if (isLongRow(end - offset)) return this.#takeLong(valuesIn(bytes, offset, end))
    this.#rows.textRow(this.#output, bytes, offset, end)
    return undefined
  }

  row (values: ReadonlyArray<DriverValue | null>): Promise<void> | undefined {
    this.#separate()
    const size = sizeOf(values)
    if (isLongRow(size)) return this.#takeLong(values)
    if (isBeyond(this.#output, values, size)) this.#output.overflow()
    else this.#rows.row(this.#output, values)
    return undefined
  }

  #takeLong (values: ReadonlyArray<DriverValue | null>): Promise<void> {
    return inPieces(this.#rows.longRow(this.#output, values), () => this.full)
  }

  /** Counts the bytes of rows of members, which are inserted later, and the memory that the insertion needs. */
  hold (bytes: number, memory: number): void {
    this.#held += bytes
    this.#insertMemory += memory
  }

  /** Inserts the rows of members into the rows that they are related to. */
  insertMembers (rows: RowsByMember): void {
    if (this.writer === undefined || this.full) return
    const before = this.#output
    const { bytes, length: end } = before
    this.#held += end
    this.#isInserting = true
    this.#output = new Output()
    this.#output.maxBytes = this.#maxBytes
    const { gaps } = this.writer
    writeFragment(this.#output, { bytes, start: 0, end, gaps, gap: 0, gapsEnd: gaps.length }, rows, () => this.full)
    before.recycle()
    if (this.full) return this.#output.drop()
    this.writer.clear()
    this.#held = this.#insertMemory = 0
    this.#isInserting = false
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
 * The size of the largest possible response; half of the budget with members, because the response is copied while
 * their rows are inserted.
 */
const largestOf = ({ largest }: MemoryBudget, writer: RowWriter | undefined): number =>
  writer !== undefined && writer.links.size > 0 ? Math.floor(largest / 2) : largest
