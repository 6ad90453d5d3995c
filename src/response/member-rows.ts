/** Takes the rows of a member, which are put into the rows that they are related to when all of them are there. */
import type { Column } from '../catalog/catalog.ts'
import type { RowSink } from '../dialects/dialect.ts'
import { copyValue } from '../dialects/mysql/length-encoded.ts'
import { cellsOfMember, type LinkCells } from '../plan/cells.ts'
import type { DriverValue } from '../types/column-type.ts'
import { Output } from './output.ts'
import { RowWriter, type Gap } from './row-writer.ts'

/** The answer that the rows become a part of. */
export interface WholeAnswer extends Pick<RowSink, 'limit' | 'full' | 'overflow'> {
  /** Counts bytes that become a part of it. */
  hold (bytes: number): void
}

/** The related rows of one number: the first one and their count. */
interface Group { first: number, count: number }

export class MemberRows implements RowSink {
  readonly #answer: WholeAnswer
  readonly #output = new Output()
  readonly writer: RowWriter
  /** Where each row begins, and its first gap; then the end. */
  readonly #starts: number[] = []
  readonly #firstGaps: number[] = []
  readonly #groups = new Map<number, Group>()
  /** Bytes that the answer has been told of. */
  #counted = 0
  /** What is there before the rows of the statement that runs. */
  #kept = { rows: 0, gaps: 0, bytes: 0 }
  /** The number to which the first cell of a row belongs. */
  #placeOf: (value: DriverValue) => number = Number
  /** The number of the last row of the statement that runs, and how many rows it has sent. */
  #last: number | undefined
  #seen = 0
  readonly #perPlace: number

  constructor (link: LinkCells, answer: WholeAnswer, isNative: boolean) {
    this.#answer = answer
    this.writer = new RowWriter(cellsOfMember(link.member), link.member.columns, isNative)
    this.#output.limit = answer.limit
    this.#perPlace = link.member.kind === 'many' ? link.member.limit : 1
  }

  get limit (): number { return this.#answer.limit }

  get rows (): number { return this.#starts.length }

  /** Rows of the statement that runs. */
  get count (): number { return this.#seen }

  get full (): boolean {
    this.#answer.hold(this.#output.length - this.#counted)
    this.#counted = this.#output.length
    return this.#answer.full
  }

  overflow (): void { this.#answer.overflow() }

  /** The rows of the next statement come behind those that are there. `placeOf`: the number that its first cell stands for; the cell itself if omitted. */
  expect (placeOf: (value: DriverValue) => number = (value) => Number(String(value))): void {
    this.#kept = { rows: this.#starts.length, gaps: this.writer.gaps.length, bytes: this.#output.length }
    this.#placeOf = placeOf
  }

  begin (columns: readonly Column[]): void {
    this.#cut(this.#kept.rows)
    this.#last = undefined
    this.#seen = 0
    this.writer.begin(columns)
  }

  textRow (bytes: Buffer, offset: number, end: number): void {
    if (this.#add(copyValue(bytes, offset) as Buffer)) this.writer.textRow(this.#output, bytes, offset, end)
  }

  row (values: ReadonlyArray<DriverValue | null>): void {
    if (!this.#add(values[0] as DriverValue)) return
    const left = this.#output.limit - this.#output.length
    if (values.some((value) => (value as Uint8Array | null)?.length as number > left)) return this.#output.overflow()
    this.writer.row(this.#output, values)
  }

  /** Returns whether the row is one of those that are asked for. */
  #add (value: DriverValue): boolean {
    this.#seen++
    const place = this.#placeOf(value)
    const isNext = place === this.#last
    this.#last = place
    if (isNext) {
      const group = this.#groups.get(place) as Group
      if (group.count === this.#perPlace) return false
      group.count++
    } else this.#groups.set(place, { first: this.#starts.length, count: 1 })
    this.#starts.push(this.#output.length)
    this.#firstGaps.push(this.writer.gaps.length)
    return true
  }

  /** Whether all rows that are asked for may be there for a number, if the statement that has run was cut off behind its last row. Removes those of a number that has only a part. */
  hasAll (place: number): boolean {
    const group = this.#groups.get(place)
    if (group === undefined) return false
    if (place !== this.#last || group.count === this.#perPlace) return true
    this.#cut(group.first)
    return false
  }

  #cut (rows: number): void {
    if (rows >= this.#starts.length) return
    this.#output.length = this.#starts[rows] as number
    this.writer.keepGaps(this.#firstGaps[rows] as number)
    this.#starts.length = this.#firstGaps.length = rows
    for (const [place, { first }] of this.#groups) if (first >= rows) this.#groups.delete(place)
  }

  /** Calls `visit` with each of the rows of a number: its bytes, and the gaps in it. Stops, and returns false, where it returns false. */
  each (place: number, visit: (row: Fragment) => boolean): boolean {
    const { first, count } = this.#groups.get(place) ?? { first: 0, count: 0 }
    for (let row = first; row < first + count; row++) {
      const end = this.#starts[row + 1] ?? this.#output.length
      const gaps = this.writer.gaps.slice(this.#firstGaps[row], this.#firstGaps[row + 1])
      if (!visit({ bytes: this.#output.bytes, start: this.#starts[row] as number, end, gaps })) return false
    }
    return true
  }

  /** Frees the memory. */
  free (): void {
    this.#output.recycle()
  }
}

/** A part of an output with gaps. */
export interface Fragment {
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
  readonly gaps: readonly Gap[]
}

/** What a member is for a row without related ones: the values of its functions for no rows. */
export const emptyComputed = (columns: ReadonlyArray<Pick<Column, 'name' | 'nullable'>>): string =>
  `{${columns.map(({ name, nullable }) => `${JSON.stringify(name)}:${nullable ? 'null' : '0'}`).join()}}`
