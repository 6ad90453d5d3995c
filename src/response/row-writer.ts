/** Writes rows that have members: with the joined ones, and with the places where lists are inserted later. */
import type { Column } from '../catalog/catalog.ts'
import { copyValue, findStarts, readLength } from '../dialects/mysql/length-encoded.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { Cells, JoinedCells, LinkCells, RowCells } from '../plan/cells.ts'
import type { DriverValue } from '../types/column-type.ts'
import { createRowLayout, writeRow, writeValue, type RowLayout } from './encode-row.ts'
import { Links } from './links.ts'
import type { Output } from './output.ts'

const CLOSE = 0x7d

/** A place in an output where the rows of a member are inserted. */
export interface Gap {
  /** Bytes before it. */
  readonly at: number
  readonly link: LinkCells
  /** The number of the values by which rows are related (Links). */
  readonly place: number
}

/** By the columns of a statement: the layouts of its rows, by their first cell. */
const layouts = new WeakMap<readonly Column[], Map<number, RowLayout>>()

export class RowWriter {
  readonly #cells: Cells
  /** The columns as the database has them now. */
  #columns: readonly Column[]
  #layouts: Map<number, RowLayout> | undefined
  #starts = new Uint32Array(0)
  /** In the order of the output. */
  readonly gaps: Gap[] = []
  readonly links: ReadonlyMap<LinkCells, Links>

  /** `isNative`: as for Links. */
  constructor (cells: Cells, columns: readonly Column[], isNative: boolean) {
    this.#cells = cells
    this.#columns = columns
    this.links = new Map(cells.links.map((link) => [link, new Links(link.member, isNative)]))
  }

  /** `columns`: of all cells, also those before the row. */
  begin (columns: readonly Column[]): void {
    this.#columns = columns
    this.#layouts = undefined
  }

  /** Forgets the gaps behind the first ones. */
  keepGaps (count: number): void {
    this.gaps.length = count
  }

  /** Forgets all rows. */
  clear (): void {
    this.gaps.length = 0
    for (const links of this.links.values()) links.clear()
  }

  /** Writes a row of MySQL's text protocol. @throws UNREADABLE_VALUE */
  textRow (output: Output, bytes: Buffer, offset: number, end: number): void {
    if (this.#starts.length <= this.#columns.length) this.#starts = new Uint32Array(this.#columns.length + 1)
    findStarts(bytes, offset, end, this.#starts)
    this.#writeText(output, bytes, this.#cells.row)
  }

  #writeText (output: Output, bytes: Buffer, row: RowCells): void {
    const starts = this.#starts
    writeRow(output, this.#layoutOf(row), bytes, starts[row.from] as number, starts[row.from + row.columns.length] as number)
    if (row.members.length === 0 || output.length === Infinity) return
    output.length--
    for (const member of row.members) {
      if (member.kind === 'link') this.#addGap(output, member, member.links.map((cell) => copyValue(bytes, starts[cell] as number)))
      else if (beginMember(output, member, readLength(bytes, starts[member.presence] as number) >= 0)) this.#writeText(output, bytes, member.row)
      if (output.length === Infinity) return
    }
    close(output)
  }

  /** Writes a row of values as a driver returns them. @throws UNREADABLE_VALUE */
  row (output: Output, values: ReadonlyArray<DriverValue | null>): void {
    this.#writeValues(output, values, this.#cells.row)
  }

  #writeValues (output: Output, values: ReadonlyArray<DriverValue | null>, row: RowCells): void {
    const { cells } = this.#layoutOf(row)
    output.text(cells.map(({ keyText, column }, index) => {
      const value = values[row.from + index] as DriverValue | null
      return keyText + (value === null ? 'null' : writeValue(column, value))
    }).join(''))
    for (const member of row.members) {
      if (member.kind === 'link') this.#addGap(output, member, member.links.map((cell) => values[cell] as DriverValue | null))
      else if (beginMember(output, member, values[member.presence] !== null)) this.#writeValues(output, values, member.row)
    }
    close(output)
  }

  #addGap (output: Output, link: LinkCells, values: ReadonlyArray<DriverValue | null>): void {
    this.gaps.push({ at: output.length, link, place: (this.links.get(link) as Links).placeOf(values) })
  }

  #layoutOf ({ from, columns: { length } }: RowCells): RowLayout {
    this.#layouts ??= getOrCreate(layouts, this.#columns, () => new Map<number, RowLayout>())
    return getOrCreate(this.#layouts, from, () => createRowLayout(this.#columns.slice(from, from + length)))
  }
}

/** Returns whether the row of the member is to be written. */
function beginMember (output: Output, { name }: JoinedCells, isPresent: boolean): boolean {
  output.text(`,"${name}":${isPresent ? '' : 'null'}`)
  return isPresent
}

function close (output: Output): void {
  output.reserve(1)
  output.byte(CLOSE)
}
