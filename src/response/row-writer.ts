/** Writes rows that have members, with the joined ones and with gaps into which lists are inserted later. */
import type { Column } from '../catalog/catalog.ts'
import { findStarts, readLength, skipValues } from '../dialects/mysql/connection/packets.ts'
import { getOrCreate } from '../get-or-create.ts'
import type { LongWork } from '../in-pieces.ts'
import type { Cells, JoinedCells, LinkCells, RowCells } from '../plan/cells.ts'
import type { DriverValue } from '../types/column-type.ts'
import { createRowLayout, type RowLayout, writeLongRow, writeRow, writeValue } from './encode-row.ts'
import { RelationValues, UNRELATED } from './relation-values.ts'
import type { Output } from './output.ts'

const CLOSE = 0x7d
/** Memory of a gap, in bytes, about. */
const GAP_SIZE = 64
const NULL = Buffer.from('null')

/** An offset in an output at which the rows of a member are inserted. */
export interface Gap {
  /** The number of bytes before it. */
  readonly at: number
  readonly link: LinkCells
  /** The number of the values by which rows are related (Links). */
  readonly valueId: number
}

/** The layouts of rows, by the columns of the statement and by their first cell. */
const memberLayouts = new WeakMap<readonly Column[], Map<number, RowLayout>>()

/** How a row is written. */
interface RowPart {
  readonly cells: RowCells
  readonly members: readonly MemberPart[]
  /** Created with the first row of a statement. */
  layout: RowLayout | undefined
}

type MemberPart =
  | { readonly kind: 'joined'; readonly before: Buffer; readonly cells: JoinedCells; readonly row: RowPart }
  /** `before` and `after`: the text around the related rows. `empty`: the text if there are none. */
  | {
    readonly kind: 'link'
    readonly before: Buffer
    readonly after: Buffer
    readonly empty: Buffer
    readonly cells: LinkCells
    readonly links: RelationValues
  }

export class RowWriter {
  readonly #row: RowPart
  readonly #parts: RowPart[] = []
  /** The first cell of the row, if no other cells follow the row, so that its values need not be found. */
  readonly #from: number | undefined
  /** The columns as the database has them now. */
  #columns: readonly Column[]
  #starts = new Uint32Array(0)
  /** The gaps in the order of the output. */
  readonly gaps: Gap[] = []
  readonly links: ReadonlyMap<LinkCells, RelationValues>

  /** `isNative`: as for Links. */
  constructor ({ cells, row, links }: Cells, columns: readonly Column[], isNative: boolean) {
    this.#columns = columns
    this.links = new Map(links.map((link) => [link, new RelationValues(link.member, isNative)]))
    this.#row = this.#partOf(row)
    this.#from = row.members.length === 0 && cells.length === row.columns.length ? row.from : undefined
  }

  #partOf (cells: RowCells): RowPart {
    const part: RowPart = {
      cells,
      members: cells.members.map((member) => this.#memberPartOf(member)),
      layout: undefined
    }
    this.#parts.push(part)
    return part
  }

  #memberPartOf (cells: JoinedCells | LinkCells): MemberPart {
    if (cells.kind === 'joined') {
      return { kind: 'joined', before: Buffer.from(`,"${cells.name}":`), cells, row: this.#partOf(cells.row) }
    }
    const { member } = cells
    const key = `,"${member.name}":`
    const [before, after, empty] =
      member.kind === 'many' ? [`${key}[`, ']', `${key}[]`] : [key, '', key + emptyComputed(member.columns)]
    return {
      kind: 'link',
      before: Buffer.from(before),
      after: Buffer.from(after),
      empty: Buffer.from(empty),
      cells,
      links: this.links.get(cells) as RelationValues
    }
  }

  /** Memory of the gaps and of the values by which rows are related, in bytes, about. */
  get size (): number {
    if (this.links.size === 0) return 0
    let size = this.gaps.length * GAP_SIZE
    for (const links of this.links.values()) size += links.size
    return size
  }

  /** `columns`: of all cells, also those before the row. */
  begin (columns: readonly Column[]): void {
    this.#columns = columns
    for (const part of this.#parts) part.layout = undefined
  }

  /** Removes all gaps but the first ones. */
  keepGaps (count: number): void {
    this.gaps.length = count
  }

  /** Removes all rows. */
  clear (): void {
    this.gaps.length = 0
    for (const links of this.links.values()) links.clear()
  }

  /** Writes a row of MySQL's text protocol. @throws UNREADABLE_VALUE */
  textRow (output: Output, bytes: Buffer, offset: number, end: number): void {
    if (this.#from !== undefined) {
      return writeRow(output, this.#layoutOf(this.#row), bytes, skipValues(bytes, offset, this.#from), end)
    }
    if (this.#starts.length <= this.#columns.length) this.#starts = new Uint32Array(this.#columns.length + 1)
    findStarts(bytes, offset, end, this.#starts)
    this.#writeText(output, bytes, this.#row)
  }

  #writeText (output: Output, bytes: Buffer, part: RowPart): void {
    const starts = this.#starts
    const { cells: { from, columns }, members } = part
    writeRow(output, this.#layoutOf(part), bytes, starts[from] as number, starts[from + columns.length] as number)
    if (members.length === 0 || output.length === Infinity) return
    output.length--
    for (let each = 0; each < members.length; each++) {
      const member = members[each] as MemberPart
      if (member.kind === 'link') {
        this.#addGap(output, member, member.links.idOfCells(bytes, starts, member.cells.links))
      } else if (beginMember(output, member, readLength(bytes, starts[member.cells.presence] as number) >= 0)) {
        this.#writeText(output, bytes, member.row)
      }
      if (output.length === Infinity) return
    }
    close(output)
  }

  /** Writes a row of values as a driver returns them. @throws UNREADABLE_VALUE */
  row (output: Output, values: ReadonlyArray<DriverValue | null>): void {
    this.#writeValues(output, values, this.#row)
  }

  #writeValues (output: Output, values: ReadonlyArray<DriverValue | null>, part: RowPart): void {
    const { cells: { from }, members } = part
    output.text(this.#layoutOf(part).cells.map(({ keyText, column }, index) => {
      const value = values[from + index] as DriverValue | null
      return keyText + (value === null ? 'null' : writeValue(column, value))
    }).join(''))
    for (const member of members) {
      if (member.kind === 'link') {
        this.#addGap(output, member, member.links.idOf(values, member.cells.links))
      } else if (beginMember(output, member, values[member.cells.presence] !== null)) {
        this.#writeValues(output, values, member.row)
      }
    }
    close(output)
  }

  /** Writes a long row of values, in parts. @throws UNREADABLE_VALUE */
  longRow (output: Output, values: ReadonlyArray<DriverValue | null>): LongWork {
    return this.#writeLong(output, values, this.#row)
  }

  * #writeLong (output: Output, values: ReadonlyArray<DriverValue | null>, part: RowPart): LongWork {
    const { cells: { from }, members } = part
    yield * writeLongRow(output, this.#layoutOf(part), values, from)
    if (members.length === 0 || output.length === Infinity) return
    output.length--
    for (const member of members) {
      if (member.kind === 'link') {
        this.#addGap(output, member, member.links.idOf(values, member.cells.links))
      } else if (beginMember(output, member, values[member.cells.presence] !== null)) {
        yield * this.#writeLong(output, values, member.row)
      }
      if (output.length === Infinity) return
    }
    close(output)
  }

  #addGap (output: Output, { cells, before, after, empty }: MemberPart & { kind: 'link' }, valueId: number): void {
    if (valueId === UNRELATED) return output.raw(empty)
    output.raw(before)
    this.gaps.push({ at: output.length, link: cells, valueId })
    output.raw(after)
  }

  #layoutOf (part: RowPart): RowLayout {
    if (part.layout === undefined) {
      const { from, columns: { length } } = part.cells
      part.layout = getOrCreate(
        getOrCreate(memberLayouts, this.#columns, () => new Map<number, RowLayout>()),
        from,
        () => createRowLayout(this.#columns.slice(from, from + length))
      )
    }
    return part.layout
  }
}

/** Returns whether the row of the member must be written. */
function beginMember (output: Output, { before }: MemberPart, isPresent: boolean): boolean {
  output.raw(before)
  if (!isPresent) output.raw(NULL)
  return isPresent
}

function close (output: Output): void {
  output.reserve(1)
  output.byte(CLOSE)
}

/** The member of a row without related rows: the values of its functions for no rows. */
const emptyComputed = (columns: ReadonlyArray<Pick<Column, 'name' | 'nullable'>>): string =>
  `{${columns.map(({ name, nullable }) => `${JSON.stringify(name)}:${nullable ? 'null' : '0'}`).join()}}`

// Writes rows as JSON objects: from bytes of MySQL's text protocol, or from values of a driver.

/** Writes the bytes of one row; the caller writes the text between rows. */
export interface RowFormat {
  /** `columns`: the columns of the next rows, as the database has them now. */
  begin (columns: readonly Column[]): void
  /**
   * A row of MySQL's text protocol (connection/packets.ts), in `bytes` from `from` to `to`. @throws UNREADABLE_VALUE
   */
  textRow (output: Output, bytes: Buffer, from: number, to: number): void
  /** A row of values as a driver returns them. @throws UNREADABLE_VALUE */
  row (output: Output, values: ReadonlyArray<DriverValue | null>): void
  /**
   * A long row of values, in parts. The output overflows if a value is larger than it may become. @throws
   * UNREADABLE_VALUE
   */
  longRow (output: Output, values: ReadonlyArray<DriverValue | null>): LongWork
}

export class JsonRows implements RowFormat {
  #columns: readonly Column[]
  /** Writes rows that have members. */
  readonly writer: RowWriter | undefined
  /**
   * Created with the first row, because the columns passed to `begin` are the same object for each select of one shape,
   * unlike those of a plan.
   */
  #layout: RowLayout | undefined

  constructor (columns: readonly Column[], writer?: RowWriter) {
    this.#columns = columns
    this.writer = writer
  }

  begin (columns: readonly Column[]): void {
    this.#columns = columns
    this.#layout = undefined
    this.writer?.begin(columns)
  }

  textRow (output: Output, bytes: Buffer, from: number, to: number): void {
    if (this.writer !== undefined) return this.writer.textRow(output, bytes, from, to)
    writeRow(output, this.#layout ??= layoutOf(this.#columns), bytes, from, to)
  }

  row (output: Output, values: ReadonlyArray<DriverValue | null>): void {
    if (this.writer !== undefined) return this.writer.row(output, values)
    const { cells: all } = this.#layout ??= layoutOf(this.#columns)
    const cells = all.map(({ keyText, column }, index) => {
      const value = values[index] as DriverValue | null
      return keyText + (value === null ? 'null' : writeValue(column, value))
    })
    output.text(cells.join('') + '}')
  }

  longRow (output: Output, values: ReadonlyArray<DriverValue | null>): LongWork {
    if (this.writer !== undefined) return this.writer.longRow(output, values)
    return writeLongRow(output, (this.#layout ??= layoutOf(this.#columns)), values)
  }
}

/** Whether one value is larger than the limit allows, which is found without writing it. `size`: that of all values. */
export function isBeyond (
  { maxBytes, length }: Output,
  values: ReadonlyArray<DriverValue | null>,
  size: number
): boolean {
  const left = maxBytes - length
  return size > left && values.some((value) => ((value as Uint8Array | null)?.length as number) > left)
}

/** The layouts by list of columns; requests without `columns` share the list of their table. */
const layouts = new WeakMap<readonly Column[], RowLayout>()

function layoutOf (columns: readonly Column[]): RowLayout {
  return getOrCreate(layouts, columns, () => createRowLayout(columns))
}
