/** Takes the rows of a member, and inserts them into the rows that they are related to when all have arrived. */
import type { Column } from '../catalog/catalog.ts'
import type { RowSink } from '../dialects/dialect.ts'
import { afterLength, readLength, valuesIn } from '../dialects/mysql/connection/packets.ts'
import { cellsOfMember, type LinkCells } from '../plan/cells.ts'
import { inPieces } from '../in-pieces.ts'
import type { DriverValue } from '../types/column-type.ts'
import { isLongRow, sizeOf } from './encode-row.ts'
import { isBeyond, RowWriter, type Gap } from './row-writer.ts'
import type { RelationValues } from './relation-values.ts'
import { Output } from './output.ts'

const COMMA = 0x2c
/** Memory of a group, in bytes, about. */
const GROUP_SIZE = 128
/** The number of bytes of a first cell that are compared with the previous row. */
const COMPARED = 32

/** The response into which the rows are inserted. */
export interface WholeResponse extends Pick<RowSink, 'maxBytes' | 'full' | 'overflow'> {
  /** Counts bytes that become a part of it, and the memory that is needed until it is complete. */
  hold (bytes: number, memory: number): void
}

/** The related rows of one value id, which are consecutive and separated by commas. */
interface Group extends Mark { count: number, end: number, gapsEnd: number }

/** A state of the rows. */
interface Mark { readonly rows: number, readonly bytes: number, readonly gaps: number }

/** A part of an output with its gaps, which are those of `gaps` from `gap` up to but without `gapsEnd`. */
export interface Fragment {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  readonly gaps: readonly Gap[]
  readonly gap: number
  readonly gapsEnd: number
}

export class MemberRows implements RowSink {
  readonly #response: WholeResponse
  readonly #output = new Output()
  readonly writer: RowWriter
  readonly #groups = new Map<number, Group>()
  /** The number of rows so far. */
  rows = 0
  /** Reported to the response: the bytes of rows, and the memory that is needed to insert them. */
  #countedBytes = 0
  #countedMemory = 0
  /** The state before the rows of the running statement. */
  #kept: Mark = { rows: 0, bytes: 0, gaps: 0 }
  /** Gives the value id if the first cell of a row is its value; otherwise the cell is the value id. */
  #values: RelationValues | undefined
  /**
   * The value id of the last row of the running statement, its group, the bytes of its first cell, and the number of
   * rows so far.
   */
  #last: number | undefined
  #group: Group | undefined
  readonly #lastCell = new Uint8Array(COMPARED)
  #lastLength = -1
  #seen = 0
  readonly #perValue: number

  constructor (link: LinkCells, response: WholeResponse, isNative: boolean) {
    this.#response = response
    this.writer = new RowWriter(cellsOfMember(link.member), link.member.columns, isNative)
    this.#output.maxBytes = response.maxBytes
    this.#perValue = link.member.kind === 'many' ? link.member.limit : 1
  }

  get maxBytes (): number { return this.#response.maxBytes }

  /** The number of rows of the running statement. */
  get count (): number { return this.#seen }

  get full (): boolean {
    const bytes = this.#output.length
    const memory = this.writer.size + this.#groups.size * GROUP_SIZE
    this.#response.hold(bytes - this.#countedBytes, memory - this.#countedMemory)
    this.#countedBytes = bytes
    this.#countedMemory = memory
    return this.#response.full
  }

  overflow (): void { this.#response.overflow() }

  /**
   * Prepares for the next statement, whose rows are appended. `values`: set if the first cell is a value; otherwise it
   * is the number of the values.
   */
  expect (values?: RelationValues): void {
    this.#kept = this.#mark()
    this.#values = values
  }

  #mark (): Mark {
    return { rows: this.rows, bytes: this.#output.length, gaps: this.writer.gaps.length }
  }

  begin (columns: readonly Column[]): void {
    this.#cut(this.#kept)
    this.#last = this.#group = undefined
    this.#lastLength = -1
    this.#seen = 0
    this.writer.begin(columns)
  }

  textRow (bytes: Buffer, offset: number, end: number): Promise<void> | undefined {
    const length = readLength(bytes, offset)
    const start = afterLength(bytes, offset)
    if (!this.#isLast(bytes, start, length)) {
      this.#setLast(
        this.#values?.getIdOfBytes(bytes, start, start + length) ??
          Number(bytes.toString('latin1', start, start + length))
      )
      this.#keep(bytes, start, length)
    }
    if (!this.#add()) return undefined
    if (isLongRow(end - offset)) return this.#takeLong(valuesIn(bytes, offset, end))
    this.writer.textRow(this.#output, bytes, offset, end)
    this.#close()
    return undefined
  }

  row (values: ReadonlyArray<DriverValue | null>): Promise<void> | undefined {
    const first = values[0] as DriverValue
    this.#setLast(this.#values?.getId(first) ?? Number(String(first)))
    if (!this.#add()) return undefined
    const size = sizeOf(values)
    if (isLongRow(size)) return this.#takeLong(values)
    if (isBeyond(this.#output, values, size)) this.#output.overflow()
    else this.writer.row(this.#output, values)
    this.#close()
    return undefined
  }

  async #takeLong (values: ReadonlyArray<DriverValue | null>): Promise<void> {
    await inPieces(this.writer.longRow(this.#output, values), () => this.full)
    this.#close()
  }

  /**
   * Whether the first cell has the same bytes as that of the previous row, because the rows of a number are
   * consecutive.
   */
  #isLast (bytes: Buffer, start: number, length: number): boolean {
    if (length !== this.#lastLength) return false
    for (let each = 0; each < length; each++) if (bytes[start + each] !== this.#lastCell[each]) return false
    return true
  }

  #keep (bytes: Buffer, start: number, length: number): void {
    this.#lastLength = length > COMPARED ? -1 : length
    for (let each = 0; each < this.#lastLength; each++) this.#lastCell[each] = bytes[start + each] as number
  }

  #setLast (valueId: number): void {
    if (valueId !== this.#last) this.#group = undefined
    this.#last = valueId
  }

  /** Prepares the next row. Returns whether the row was requested. */
  #add (): boolean {
    this.#seen++
    if (this.#group === undefined) {
      this.#group = { ...this.#mark(), count: 0, end: 0, gapsEnd: 0 }
      this.#groups.set(this.#last as number, this.#group)
    } else {
      if (this.#group.count === this.#perValue) return false
      this.#output.reserve(1)
      this.#output.byte(COMMA)
    }
    this.rows++
    this.#group.count++
    return true
  }

  /** Ends a written row. */
  #close (): void {
    const group = this.#group as Group
    group.end = this.#output.length
    group.gapsEnd = this.writer.gaps.length
  }

  /**
   * Whether all requested rows of a number have arrived, although the statement was cut off after its last row. Removes
   * the rows of an incomplete number.
   */
  hasAll (valueId: number): boolean {
    const group = this.#groups.get(valueId)
    if (group === undefined) return false
    if (valueId !== this.#last || group.count === this.#perValue) return true
    this.#cut(group)
    return false
  }

  #cut ({ rows, bytes, gaps }: Mark): void {
    if (rows >= this.rows) return
    this.rows = rows
    this.#output.length = bytes
    this.writer.keepGaps(gaps)
    for (const [valueId, group] of this.#groups) if (group.rows >= rows) this.#groups.delete(valueId)
  }

  /** The rows of a number, with commas between them; undefined if it has none. */
  find (valueId: number): Fragment | undefined {
    const group = this.#groups.get(valueId)
    return (
      group && {
        bytes: this.#output.bytes,
        start: group.bytes,
        end: group.end,
        gaps: this.writer.gaps,
        gap: group.gaps,
        gapsEnd: group.gapsEnd
      }
    )
  }

  /** Frees the memory. */
  free (): void {
    this.#output.recycle()
  }
}
